package discover

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/constraint/formula"
)

// A form is how a relation is written: a text with places for indices of x, so that relations of one form whose
// indices go up by steps can be written as a family. Relations of one form are equal but for at.
type form struct {
	text string // @0, @1, … stand for indices, @0+3 for an index and 3
	name string // of a family's component
	at   []int
}

// An index is base + Σ step·name.
type index struct {
	base  int
	steps []int
}

var indexNames = []string{"i", "j"}

func (x index) add(n int) string {
	var b strings.Builder
	for k, step := range x.steps {
		if step == 0 {
			continue
		}
		if b.Len() > 0 && step > 0 {
			b.WriteByte('+')
		}
		switch step {
		case 1:
		case -1:
			b.WriteByte('-')
		default:
			fmt.Fprintf(&b, "%d*", step)
		}
		b.WriteString(indexNames[k])
	}
	if c := x.base + n; b.Len() == 0 {
		return strconv.Itoa(c)
	} else if c != 0 {
		fmt.Fprintf(&b, "%+d", c)
	}
	return b.String()
}

var placed = regexp.MustCompile(`@(\d)(\+\d+)?`)

// write puts indices into a text.
func write(text string, at []index) string {
	return placed.ReplaceAllStringFunc(text, func(place string) string {
		plus, _ := strconv.Atoi(place[2:]) // 0 if nothing is there
		return at[place[1]-'0'].add(plus)
	})
}

// relation makes a relation of a form.
func relation(kind string, value float64, text, name string, at ...int) *Relation {
	fixed := make([]index, len(at))
	for k, a := range at {
		fixed[k] = index{base: a}
	}
	r := &Relation{Kind: kind, Value: value, Expr: write(text, fixed), Name: name, form: form{text, name, at}}
	if len(at) > 0 {
		r.Name += strings.ReplaceAll(fmt.Sprint(at), " ", ",")
	}
	return r
}

// number writes a number that formulas read back as it is.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// numbers writes a list.
func numbers(v []float64) string {
	out := make([]string, len(v))
	for k := range v {
		out[k] = number(v[k])
	}
	return strings.Join(out, ", ")
}

// A Family is relations that are written as one component.
type Family struct {
	formula.Component
	Members []int // in the list of relations
}

// Families writes relations as few components: those of one form and kind whose indices go up by steps stand together.
func Families(relations []Relation) []Family {
	var out []Family
	done := make([]bool, len(relations))
	for i, r := range relations {
		if done[i] {
			continue
		}
		group := []int{i}
		for k := i + 1; k < len(relations); k++ {
			if a, b := r.form, relations[k].form; !done[k] && len(a.at) > 0 && a.text == b.text &&
				len(a.at) == len(b.at) && r.Exact == relations[k].Exact {
				group = append(group, k)
			}
		}
		slices.SortStableFunc(group, func(a, b int) int {
			return slices.Compare(relations[a].form.at, relations[b].form.at)
		})
		for _, k := range group {
			done[k] = true
		}
		for len(group) > 0 {
			f, used := longestRun(relations, group)
			out, group = append(out, f), group[used:]
		}
	}
	distinctNames(out)
	return out
}

// longestRun writes the longest run at the beginning of a group as a family, if it is of three or more.
func longestRun(relations []Relation, group []int) (f Family, used int) {
	at := func(k int) []int { return relations[group[k]].form.at }
	first := relations[group[0]]
	single := Family{formula.Component{Name: first.Name, Expr: first.Expr}, group[:1]}
	if len(group) < 3 {
		return single, 1
	}
	if f, ok := triangle(relations, group); ok {
		return f, len(group)
	}
	inner := difference(at(0), at(1))
	steady := func(from int) (n int) { // how many from there go up by that step
		for n = 1; from+n < len(group) && slices.Equal(difference(at(from+n-1), at(from+n)), inner); n++ {
		}
		return n
	}
	length := steady(0)
	// As many runs as are alike, and go up by one step, are two ranges.
	runs, outer := 1, []int(nil)
	for (runs+1)*length <= len(group) && steady(runs*length) >= length {
		step := difference(at((runs-1)*length), at(runs*length))
		if outer != nil && !slices.Equal(step, outer) {
			break
		}
		runs, outer = runs+1, step
	}
	total := runs * length
	if total < 3 {
		return single, 1
	}
	places := make([]index, len(inner))
	ranges := fmt.Sprintf("i in 0..%d", length-1)
	label := "i"
	if runs > 1 {
		ranges, label = fmt.Sprintf("i in 0..%d, j in 0..%d", runs-1, length-1), "i, j"
	}
	for k := range places {
		places[k] = index{at(0)[k], []int{inner[k]}}
		if runs > 1 {
			places[k].steps = []int{outer[k], inner[k]}
		}
	}
	return Family{formula.Component{Name: first.form.name + "[" + label + "]", For: ranges,
		Expr: write(first.form.text, places)}, group[:total]}, total
}

// triangle writes a group that is all pairs of evenly spaced indices as a family.
func triangle(relations []Relation, group []int) (f Family, ok bool) {
	first := relations[group[0]].form
	n := 2
	for n*(n-1)/2 < len(group) {
		n++
	}
	if len(first.at) != 2 || n*(n-1)/2 != len(group) {
		return f, false
	}
	base, step := first.at[0], first.at[1]-first.at[0]
	k := 0
	for a := range n {
		for b := a + 1; b < n; b++ {
			if at := relations[group[k]].form.at; at[0] != base+step*a || at[1] != base+step*b {
				return f, false
			}
			k++
		}
	}
	return Family{formula.Component{Name: first.name + "[i, j]", For: fmt.Sprintf("i in 0..%d, j in i+1..%d", n-2, n-1),
		Expr: write(first.text, []index{{base, []int{step, 0}}, {base, []int{0, step}}})}, group}, true
}

func difference(a, b []int) []int {
	out := make([]int, len(a))
	for k := range out {
		out[k] = b[k] - a[k]
	}
	return out
}

// distinctNames gives components different names: beside a family no other has its stem.
func distinctNames(families []Family) {
	taken := map[string]bool{} // stems, and whole names of what is no family
	shared := map[string]bool{}
	for i := range families {
		f := &families[i]
		stem, rest, has := strings.Cut(f.Name, "[")
		if has {
			rest = "[" + rest
		}
		free := func(stem string) bool {
			if f.For != "" {
				return !taken[stem]
			}
			return !shared[stem] && !taken[stem+rest+"!"]
		}
		name := stem
		for n := 2; !free(name); n++ {
			name = fmt.Sprintf("%s_%d", stem, n)
		}
		f.Name = name + rest
		taken[name], taken[name+rest+"!"] = true, true
		if f.For != "" {
			shared[name] = true
		}
	}
}
