package discover

import (
	"fmt"
	"maps"
	"math"
	"math/cmplx"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/dense"
)

// Relations that are linear in functions of columns: cosines and sines of angles, such as a wind's components or a
// linkage's loop, and products of complex numbers, such as the powers that go into the buses of a grid.

// A phasor is a complex number of one or two columns: m e^{ia}, e^{ia} where m is negative, or m + ia.
type phasor struct {
	m, a   int     // columns
	radian float64 // in the unit of a; 0: the number is m + ia
}

func (z phasor) value(x []float64) complex128 {
	switch {
	case z.radian == 0:
		return complex(x[z.m], x[z.a])
	case z.m < 0:
		return cmplx.Rect(1, x[z.a]*z.radian)
	}
	return cmplx.Rect(x[z.m], x[z.a]*z.radian)
}

// A feature is a function of a row, and how it is written.
type feature struct {
	text  string
	value func(x []float64) float64
}

func column(j int) feature {
	return feature{fmt.Sprintf("x[%d]", j), func(x []float64) float64 { return x[j] }}
}

// parts are the real and the imaginary part of a phasor, or of its product with the conjugate of another one.
func (z phasor) parts(w *phasor) []feature {
	v, size, angle := z.value, fmt.Sprintf("x[%d]*", z.m), fmt.Sprintf("x[%d]", z.a)
	re, im := strings.Trim(size, "*"), angle
	if w != nil {
		v = func(x []float64) complex128 { return z.value(x) * cmplx.Conj(w.value(x)) }
		size, angle = size+fmt.Sprintf("x[%d]*", w.m), angle+fmt.Sprintf(" - x[%d]", w.a)
		re = fmt.Sprintf("(x[%d]*x[%d] + x[%d]*x[%d])", z.m, w.m, z.a, w.a)
		im = fmt.Sprintf("(x[%d]*x[%d] - x[%d]*x[%d])", z.a, w.m, z.m, w.a)
	}
	if z.radian != 0 {
		if z.m < 0 {
			size = ""
		}
		if z.radian != 1 {
			angle = "radians(" + angle + ")"
		}
		re, im = size+"cos("+angle+")", size+"sin("+angle+")"
	}
	out := []feature{{re, func(x []float64) float64 { return real(v(x)) }},
		{im, func(x []float64) float64 { return imag(v(x)) }}}
	if w != nil && z == *w {
		if out = out[:1]; z.radian != 0 {
			out[0].text = fmt.Sprintf("x[%d]^2", z.m)
		}
	}
	return out
}

// angleName matches what columns of angles are called.
var angleName = regexp.MustCompile(`(?i)(ang|theta|phi|psi|dir|deg|rad|azim|bearing|heading|phase|yaw|^va|^wd|[θφψδ])`)

const (
	mostAngles = 12 // columns that may be angles although no name says so
	// Least ranges of angles, in radians: functions of narrower ones are polynomials to many digits. Columns that are
	// not called angles must be wide.
	narrow = 0.01
	wide   = 0.5
)

// units returns the radians in the units that angles between two numbers may be in.
func units(least, most, width float64) (out []float64) {
	for _, u := range []struct{ radian, reach float64 }{{1, 2*math.Pi + 1e-6}, {math.Pi / 180, 720}} {
		if max(-least, most) <= u.reach && (most-least)*u.radian >= width {
			out = append(out, u.radian)
		}
	}
	return out
}

// phasors looks for linear relations between columns, and cosines and sines of columns that may be angles: of each with
// another column as a length, of all of them, and of columns that are numbered alike.
func (s *search) phasors() {
	const most = 40
	if len(s.varies) < 2 || s.D > MaxDim/10 {
		return
	}
	number := func(j int) string { return numeral.FindString(s.name(j)) }
	all := map[float64][]phasor{}
	for _, j := range s.varies {
		width := narrow
		if !angleName.MatchString(s.name(j)) {
			if width = wide; s.D > mostAngles {
				continue
			}
		}
		for _, unit := range units(s.columns[j].Min, s.columns[j].Max, width) {
			all[unit] = append(all[unit], phasor{-1, j, unit})
			for _, m := range s.varies {
				if a, b := number(m), number(j); m != j && s.D <= most && (a == b || a == "" || b == "") {
					s.complex([]phasor{{m, j, unit}}, false)
				}
			}
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(all)) {
		if list := all[unit]; len(list) <= mostAngles {
			s.complex(list, len(list) <= 4)
		}
	}
	for _, list := range s.numbered() {
		if len(list) <= most {
			s.complex(list, true)
		}
	}
}

func (s *survey) name(j int) string {
	if s.Names == nil {
		return ""
	}
	return s.Names[j]
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
	for j := range s.D {
		if at := numeral.FindStringIndex(s.name(j)); at != nil {
			n, _ := strconv.Atoi(s.Names[j][at[0]:at[1]])
			put(s.Names[j][:at[0]]+"#"+s.Names[j][at[1]:], n, j)
		}
		for _, blocks := range []int{2, 4} {
			if n := s.D / blocks; s.Names == nil && s.D%blocks == 0 && n > 1 {
				put(fmt.Sprint(blocks, "#", j/n), j%n, j)
			}
		}
	}
	for a, p := range stems {
	pairs:
		for b, q := range stems {
			if a == b || len(groups[p]) < 2 || len(groups[p]) != len(groups[q]) {
				continue
			}
			var list []phasor
			length, least, most := 0.0, 0.0, 0.0
			for _, n := range slices.Sorted(maps.Keys(groups[p])) {
				j, has := groups[q][n]
				if !has {
					continue pairs
				}
				c := s.columns[j]
				length, least, most = min(length, s.columns[groups[p][n]].Min), min(least, c.Min), max(most, c.Max)
				list = append(list, phasor{groups[p][n], j, 0})
			}
			var of []float64
			if a < b {
				of = append(of, 0)
			}
			if length >= 0 {
				of = append(of, units(least, most, narrow)...)
			}
			for _, unit := range of {
				for k := range list {
					list[k].radian = unit
				}
				out = append(out, slices.Clone(list))
			}
		}
	}
	return out
}

// complex looks for relations that are linear in the parts of phasors, and with products in those of products of two.
func (s *search) complex(list []phasor, products bool) {
	var parts, pairs, columns, others []feature
	own := map[int]bool{}
	for i, z := range list {
		own[z.m], own[z.a] = true, true
		parts = append(parts, z.parts(nil)...)
		for k := range i {
			pairs = append(pairs, z.parts(&list[k])...)
		}
	}
	for _, j := range s.varies {
		if columns = append(columns, column(j)); !own[j] {
			others = append(others, column(j))
		}
	}
	lengths := list[0].m >= 0
	if lengths {
		columns = others
	}
	if list[0].radian != 0 {
		s.features(slices.Concat(parts, columns))
	}
	if products && !lengths {
		s.features(slices.Concat(parts, pairs, columns))
		for i, m := range s.varies {
			for _, j := range s.varies[:i+1] {
				text := strings.Replace(fmt.Sprintf("x[%d]*x[%d]", j, m), fmt.Sprintf("x[%d]*x[%[1]d]", m),
					fmt.Sprintf("x[%d]^2", m), 1)
				pairs = append(pairs, feature{text, func(x []float64) float64 { return x[j] * x[m] }})
			}
			for _, z := range list {
				if z.m = m; m != z.a {
					pairs = append(pairs, z.parts(nil)...)
				}
			}
		}
		s.features(slices.Concat(parts, pairs, columns))
	}
	for _, z := range list {
		if products && lengths {
			of := slices.Clone(others)
			for k := range list {
				of = append(of, z.parts(&list[k])...)
			}
			s.features(of)
		}
	}
}

// features looks for relations that are linear in functions of a row: such as hold to round-off, or to the decimals of
// the numbers.
func (s *search) features(list []feature) {
	const fewest = 400
	gap := 1e4 // beyond which no smooth function is near to a sum of others by chance
	if s.rounding(s.varies) > Roundoff/100 {
		gap = 300 // what rounding leaves is far more than that
	}
	rows := some(s.fit, max(2*(len(list)+spare), fewest))
	list = slices.DeleteFunc(list, func(f feature) bool { // what does not vary
		least, most := math.Inf(1), math.Inf(-1)
		for _, i := range rows {
			v := f.value(s.row(i))
			least, most = min(least, v), max(most, v)
		}
		return !(most-least > 1e-9*max(math.Abs(least), math.Abs(most)))
	})
	p, phi := len(list), []float64(nil)
	for _, i := range rows {
		for _, f := range list {
			phi = append(phi, f.value(s.row(i)))
		}
	}
	if p < 2 {
		return
	}
	f, ok := combine(phi, p, 4*s.rounding(s.varies))
	found, tolerance, clear := f.exact, max(1e-6, min(roughly, 1/f.gap)), f.clear || f.gap >= gap
	if len(found) == 0 && len(f.alike) <= 2 {
		found, tolerance, clear = f.alike, roughly, false
	} else if !clear {
		return
	}
	if !ok {
		return
	}
	var out []*Relation
	for _, a := range plainest(found, f.sd, tolerance) {
		unit := make([]float64, p)
		dense.Scaled(unit, 1/max(slices.Max(a), -slices.Min(a)), a)
		last := s.line(list, positiveFirst(unit), false, s.line(list, unit, true, nil))
		if q, ok := decimal(a, s.coefficientError(s.varies)); ok {
			last = s.line(list, q, true, s.line(list, q, false, last))
		}
		for r := last; r != nil; r = r.alt {
			r.few = r.few || clear
		}
		if strings.Contains(last.Expr, "(") { // polynomials are looked for elsewhere
			out = append(out, last)
		}
	}
	s.offer(out)
}

// line writes a sum of functions that is a constant.
func (s *survey) line(list []feature, a []float64, round bool, alt *Relation) *Relation {
	q := Relation{Kind: Linear}
	text, value := "", func(x []float64) (sum float64) {
		for k, f := range list {
			sum += a[k] * f.value(x)
		}
		return sum
	}
	for k, f := range list {
		if q.Terms = append(q.Terms, Term{Coefficient: a[k], Columns: []int{0}}); a[k] != 0 {
			text += fmt.Sprintf(" + %s*%s", number(a[k]), f.text)
		}
	}
	q.Value = s.constant(s.sorted(value), 1, true, round)
	text = strings.NewReplacer(" + -1*", " - ", " + 1*", " + ", " + -", " - ").Replace(text)
	return &Relation{Kind: Formula, Name: "relation", Value: q.Value, alt: alt, only: true, few: q.plain(),
		Expr: strings.TrimPrefix(strings.TrimPrefix(text, " + "), " ") + " = " + number(q.Value)}
}
