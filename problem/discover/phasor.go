package discover

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/dense"
)

// Relations that are linear in functions of columns: cosines and sines of angles, such as a wind's components or a
// linkage's loop, and products of complex numbers, such as the powers that go into the buses of a grid.

// A phasor is a complex number that one or two columns tell: m e^{ia}, e^{ia} where there is no m, or e + if.
type phasor struct {
	m, a   int     // columns; −1: none
	radian float64 // in the unit of a; 0: the number is e + if, with e in column m and f in a
}

// A feature is a function of a row, and how it is written.
type feature struct {
	text  string
	value func(x []float64) float64
}

func column(j int) feature {
	return feature{fmt.Sprintf("x[%d]", j), func(x []float64) float64 { return x[j] }}
}

// angle writes an angle, a difference of two if b is not negative.
func (z phasor) angle(b int) string {
	text := fmt.Sprintf("x[%d]", z.a)
	if b >= 0 {
		text += fmt.Sprintf(" - x[%d]", b)
	}
	if z.radian != 1 {
		text = "radians(" + text + ")"
	}
	return text
}

// parts are the real and the imaginary part of a phasor.
func (z phasor) parts() []feature {
	if z.radian == 0 {
		return []feature{column(z.m), column(z.a)}
	}
	factor, size := "", func(x []float64) float64 { return 1 }
	if z.m >= 0 {
		factor, size = fmt.Sprintf("x[%d]*", z.m), func(x []float64) float64 { return x[z.m] }
	}
	return []feature{
		{factor + "cos(" + z.angle(-1) + ")", func(x []float64) float64 { return size(x) * math.Cos(x[z.a]*z.radian) }},
		{factor + "sin(" + z.angle(-1) + ")", func(x []float64) float64 { return size(x) * math.Sin(x[z.a]*z.radian) }}}
}

// times are the real and the imaginary part of z w̄.
func (z phasor) times(w phasor) []feature {
	switch {
	case z.radian == 0 && z == w:
		return []feature{{fmt.Sprintf("(x[%d]^2 + x[%d]^2)", z.m, z.a), func(x []float64) float64 {
			return x[z.m]*x[z.m] + x[z.a]*x[z.a]
		}}}
	case z.radian == 0:
		return []feature{
			{fmt.Sprintf("(x[%d]*x[%d] + x[%d]*x[%d])", z.m, w.m, z.a, w.a), func(x []float64) float64 {
				return x[z.m]*x[w.m] + x[z.a]*x[w.a]
			}},
			{fmt.Sprintf("(x[%d]*x[%d] - x[%d]*x[%d])", z.a, w.m, z.m, w.a), func(x []float64) float64 {
				return x[z.a]*x[w.m] - x[z.m]*x[w.a]
			}}}
	case z == w && z.m < 0:
		return nil
	case z == w:
		return []feature{{fmt.Sprintf("x[%d]^2", z.m), func(x []float64) float64 { return x[z.m] * x[z.m] }}}
	}
	factor := ""
	if z.m >= 0 {
		factor = fmt.Sprintf("x[%d]*x[%d]*", z.m, w.m)
	}
	of := func(f func(float64) float64) func(x []float64) float64 {
		return func(x []float64) float64 {
			v := f((x[z.a] - x[w.a]) * z.radian)
			if z.m >= 0 {
				v *= x[z.m] * x[w.m]
			}
			return v
		}
	}
	return []feature{{factor + "cos(" + z.angle(w.a) + ")", of(math.Cos)},
		{factor + "sin(" + z.angle(w.a) + ")", of(math.Sin)}}
}

// angleName matches names of angles.
var angleName = regexp.MustCompile(`(?i)(ang|theta|phi|psi|dir|deg|rad|azim|bearing|heading|phase|yaw|^va|^wd|[θφψδ])`)

// mostAngles is of how many columns at most each may be an angle without a name that says so.
const mostAngles = 12

// Ranges of angles, in radians: a function of a narrower one is a polynomial to many digits, and of columns that are not
// called angles wide ones alone are taken for such.
const (
	narrow = 0.01
	wide   = 0.5
)

// radians returns the radians in a unit that angles of a size may be in.
func radians(size float64) []float64 {
	switch {
	case size <= 2*math.Pi+1e-6:
		return []float64{1, math.Pi / 180}
	case size <= 720:
		return []float64{math.Pi / 180}
	}
	return nil
}

// phasors looks for linear relations between columns, and cosines and sines of columns that may be angles: of each with
// another column as a length, of all of them, and of columns that are numbered alike.
func (s *search) phasors() {
	const most = 40
	if s.D > MaxDim/10 || len(s.varies) < 2 {
		return
	}
	all := map[float64][]phasor{}
	for _, j := range s.varies {
		named := s.Names != nil && angleName.MatchString(s.Names[j])
		if !named && s.D > mostAngles {
			continue
		}
		width := s.columns[j].Max - s.columns[j].Min
		for _, unit := range radians(max(math.Abs(s.columns[j].Min), math.Abs(s.columns[j].Max))) {
			if width*unit < narrow || !named && width*unit < wide {
				continue
			}
			if all[unit] = append(all[unit], phasor{-1, j, unit}); s.D > most {
				continue
			}
			for _, m := range s.varies {
				if m != j && s.together(m, j) {
					s.complex([]phasor{{m, j, unit}}, false)
				}
			}
		}
	}
	for _, unit := range []float64{1, math.Pi / 180} {
		if list := all[unit]; len(list) > 0 && len(list) <= mostAngles {
			s.complex(list, len(list) <= 4)
		}
	}
	for _, list := range s.numbered() {
		if len(list) <= most {
			s.complex(list, true)
		}
	}
}

// together reports whether the names of two columns have the same number, or one of them has none.
func (s *survey) together(i, j int) bool {
	if s.Names == nil {
		return true
	}
	a, b := numeral.FindString(s.Names[i]), numeral.FindString(s.Names[j])
	return a == b || a == "" || b == ""
}

var numeral = regexp.MustCompile(`\d+`)

// numbered returns lists of phasors of columns that have the same numbers in their names, or without names lie in
// blocks of one length.
func (s *survey) numbered() (out [][]phasor) {
	groups, stems := map[string]map[int]int{}, []string(nil)
	put := func(stem string, number, j int) {
		if groups[stem] == nil {
			groups[stem], stems = map[int]int{}, append(stems, stem)
		}
		groups[stem][number] = j
	}
	for j, name := range s.Names {
		if at := numeral.FindStringIndex(name); at != nil {
			n, _ := strconv.Atoi(name[at[0]:at[1]])
			put(name[:at[0]]+"#"+name[at[1]:], n, j)
		}
	}
	for _, blocks := range []int{2, 4} {
		for j := 0; s.Names == nil && s.D%blocks == 0 && s.D >= 2*blocks && j < s.D; j++ {
			n := s.D / blocks
			put(fmt.Sprint(blocks, "#", j/n), j%n, j)
		}
	}
	for a, p := range stems {
	next:
		for b, q := range stems {
			var list []phasor
			least, size := 0.0, 0.0
			for _, n := range slices.Sorted(maps.Keys(groups[p])) {
				m, j, has := groups[p][n], 0, false
				if j, has = groups[q][n]; !has {
					continue next
				}
				least = min(least, s.columns[m].Min)
				size = max(size, math.Abs(s.columns[j].Min), math.Abs(s.columns[j].Max))
				list = append(list, phasor{m, j, 0})
			}
			if a == b || len(list) < 2 || len(groups[p]) != len(groups[q]) {
				continue
			}
			units := radians(size)
			if least < 0 || size < narrow { // no lengths, or no angles
				units = nil
			}
			if a < b {
				units = append(slices.Clone(units), 0)
			}
			for _, unit := range units {
				of := slices.Clone(list)
				for k := range of {
					of[k].radian = unit
				}
				out = append(out, of)
			}
		}
	}
	return out
}

// complex looks for relations that are linear in the parts of phasors, and with products in those of products of two.
func (s *search) complex(list []phasor, products bool) {
	var parts, pairs []feature
	own := map[int]bool{}
	for i, z := range list {
		own[z.m], own[z.a] = true, true
		if z.radian != 0 {
			parts = append(parts, z.parts()...)
		}
		for _, w := range list[:i] {
			pairs = append(pairs, z.times(w)...)
		}
	}
	var others, columns []feature
	for _, j := range s.varies {
		columns = append(columns, column(j))
		if !own[j] {
			others = append(others, column(j))
		}
	}
	lengths := list[0].m >= 0
	if parts != nil {
		if s.features(slices.Concat(parts, columns)); products && !lengths {
			s.features(slices.Concat(parts, pairs, columns))
		}
	}
	for _, z := range list {
		if products && lengths {
			var of []feature
			for _, w := range list {
				of = append(of, z.times(w)...)
			}
			s.features(append(of, others...))
		}
	}
}

// features looks for relations that are linear in functions of a row: such as hold to round-off, or to the decimals of
// the numbers.
func (s *search) features(list []feature) {
	const least, gap = 400, 1e4
	rows := some(s.fit, max(2*(len(list)+spare), least))
	phi := make([]float64, 0, len(rows)*len(list))
	var of []feature
	for _, f := range list { // by columns, for those that vary
		v, least, largest := make([]float64, len(rows)), math.Inf(1), math.Inf(-1)
		for k, i := range rows {
			v[k] = f.value(s.row(i))
			least, largest = min(least, v[k]), max(largest, v[k])
		}
		if largest-least > 1e-9*max(math.Abs(least), math.Abs(largest)) {
			of, phi = append(of, f), append(phi, v...)
		}
	}
	p := len(of)
	if p < 2 {
		return
	}
	across := make([]float64, len(phi))
	for k := range of {
		for i := range rows {
			across[i*p+k] = phi[k*len(rows)+i]
		}
	}
	f, ok := combine(across, p, 4*s.rounding(s.varies))
	found, tolerance := f.exact, 1e-6
	if !ok || len(found) > 0 && !f.clear && f.gap < gap {
		return
	}
	if len(found) == 0 {
		if found, tolerance = f.alike, 0.02; len(found) > 2 {
			return
		}
	}
	pivots := echelon(found, f.sd)
	var plain [][]float64
	for i, direction := range found {
		a := coefficients(direction, f.sd, max(1e-9, tolerance))
		dense.Scaled(a, 1/a[pivots[i]], a)
		plain = append(plain, a)
	}
	var out []*Relation
	for _, a := range plainest(plain, f.sd, tolerance) {
		var last *Relation
		unit := make([]float64, p)
		dense.Scaled(unit, 1/max(slices.Max(a), -slices.Min(a)), a)
		ways := [][]float64{lead(unit)}
		if q, ok := decimal(a, s.coefficientError(s.varies)); ok {
			ways = append(ways, q)
		}
		for _, way := range ways {
			for _, round := range []bool{false, true} {
				last = s.line(of, way, round, last)
			}
		}
		out = append(out, last)
	}
	s.offerAll(out)
}

// line writes a sum of functions that is a constant.
func (s *search) line(list []feature, a []float64, round bool, alt *Relation) *Relation {
	var b strings.Builder
	spread := 0.0
	for k, f := range list {
		if a[k] == 0 {
			continue
		}
		sign := " + "
		if a[k] < 0 {
			sign = " - "
		}
		if b.Len() == 0 {
			sign = strings.Trim(sign, " +")
		}
		b.WriteString(sign)
		if c := math.Abs(a[k]); c != 1 {
			b.WriteString(number(c) + "*")
		}
		b.WriteString(f.text)
		spread += math.Abs(a[k] * f.value(s.row(s.fit[0])))
	}
	value := s.constant(s.sorted(func(x []float64) (sum float64) {
		for k, f := range list {
			if a[k] != 0 {
				sum += a[k] * f.value(x)
			}
		}
		return sum
	}), spread, true, round)
	plain := Relation{Kind: Linear, Value: value}
	for _, v := range a {
		plain.Terms = append(plain.Terms, Term{Coefficient: v, Columns: []int{0}})
	}
	return &Relation{Kind: Formula, Name: "relation", Expr: b.String() + " = " + number(value), Value: value, alt: alt,
		only: true, few: plain.plain()}
}
