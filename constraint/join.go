package constraint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/expr"
)

// A join is the components of several sets as those of one: all equalities, then all inequalities, in the order of the
// sets. Each set sees some consecutive coordinates of a point.
type join struct {
	parts   []part
	d, m    int
	names   []string
	support [][]int // nil if no set has one
}

// A part is one set of a join.
type part struct {
	Set
	at, d, c int
	place    []int // of its components among all
	from     []int // where its components begin in a packed row of its own
	sparse   bool
}

// of returns the part's numbers of a vector, and nil of nil.
func (p *part) of(v []float64) []float64 {
	if v == nil {
		return nil
	}
	return v[p.at : p.at+p.d]
}

// newJoin joins sets that see the coordinates from at[i] on, of d in all. A name is made by name of the set's number.
func newJoin(sets []Set, at []int, d int, name func(i int, component string) string) join {
	j := join{d: d}
	var h, g []string
	for i, s := range sets {
		for _, n := range s.Equalities() {
			h = append(h, name(i, n))
		}
		for _, n := range s.Inequalities() {
			g = append(g, name(i, n))
		}
	}
	j.m, j.names = len(h), append(h, g...)
	equality, inequality, sparse := 0, j.m, false
	for i, s := range sets {
		p := part{Set: s, at: at[i], d: s.Dim(), c: len(Components(s))}
		for a := range p.c {
			next := &inequality
			if a < len(s.Equalities()) {
				next = &equality
			}
			p.place = append(p.place, *next)
			*next++
		}
		j.parts = append(j.parts, p)
		sparse = sparse || p.d < d || s.Capabilities().Support != nil
	}
	if sparse {
		j.supports()
	}
	return j
}

// supports notes the coordinates of each component: all of its set, if that says nothing.
func (j *join) supports() {
	j.support = make([][]int, len(j.names))
	for i := range j.parts {
		p := &j.parts[i]
		support := p.Capabilities().Support
		if p.sparse = support != nil; !p.sparse {
			support = make([][]int, p.c)
			for a, all := 0, upTo(0, p.d); a < p.c; a++ {
				support[a] = all
			}
		}
		p.from = starts(support)
		var shared []int // of a set that says nothing
		for a, own := range support {
			at := shared
			if p.sparse || a == 0 {
				at = make([]int, len(own))
				for k, x := range own {
					at[k] = x + p.at
				}
				shared = at
			}
			j.support[p.place[a]] = at
		}
	}
}

func (j *join) Dim() int               { return j.d }
func (j *join) Equalities() []string   { return j.names[:j.m] }
func (j *join) Inequalities() []string { return j.names[j.m:] }

func (j *join) capabilities(name string, within func(i int, err error) error) Capabilities {
	c := Capabilities{Name: name, Support: j.support}
	faults := make([]func(x []float64) error, len(j.parts))
	some := false
	for i, p := range j.parts {
		faults[i] = p.Capabilities().Fault
		some = some || faults[i] != nil
	}
	if some {
		c.Fault = func(x []float64) error {
			for i, p := range j.parts {
				if faults[i] == nil {
					continue
				}
				if err := faults[i](x[p.at : p.at+p.d]); err != nil {
					return within(i, err)
				}
			}
			return nil
		}
	}
	c.Selects, c.Selection = j.selects()
	c.Formulas = j.formulas
	for _, p := range j.parts {
		c.Work += p.Capabilities().Work
		for _, at := range p.Capabilities().Held {
			c.Held = append(c.Held, p.at+at)
		}
	}
	slices.Sort(c.Held)
	c.Held = slices.Compact(c.Held)
	c.HeldNames = j.heldNames(c.Held)
	return c
}

// formulas are those of all sets.
func (j *join) formulas(x expr.Value) []expr.Value {
	var all [3][]expr.Value
	for _, p := range j.parts {
		h, g, selection := Formulas(p.Set, x.Slice(p.at, p.at+p.d))
		all[0], all[1], all[2] = append(all[0], h...), append(all[1], g...), append(all[2], selection...)
	}
	return slices.Concat(all[:]...)
}

// heldNames are the names of held coordinates on which all sets that see any of them and name them agree.
func (j *join) heldNames(held []int) (names []string) {
	for _, p := range j.parts {
		sees := slices.ContainsFunc(held, func(at int) bool { return at >= p.at && at < p.at+p.d })
		c := p.Capabilities()
		switch own := c.HeldNames; {
		case !sees, own == nil && len(c.Held) > 0: // formulas hold them, and have no names of their own
		case len(own) != len(held), names != nil && !slices.Equal(own, names):
			return nil
		default:
			names = own
		}
	}
	return names
}

// selects is what all sets select, nil if none selects.
func (j *join) selects() (selects func(x []float64) bool, selection string) {
	var of []func(x []float64) bool
	for _, p := range j.parts {
		c := p.Capabilities()
		if c.Selects == nil {
			continue
		}
		if of != nil {
			selection += " and "
		}
		selection += c.Selection + " of " + Name(p.Set)
		of = append(of, func(x []float64) bool { return c.Selects(x[p.at : p.at+p.d]) })
	}
	if of == nil {
		return nil, ""
	}
	return func(x []float64) bool {
		for _, selects := range of {
			if !selects(x) {
				return false
			}
		}
		return true
	}, selection
}

// A joinEvaluator evaluates the sets one by one and puts their components in place.
type joinEvaluator struct {
	*join
	parts []partEvaluator
	row   int // of packed derivatives
	from  []int
}

type partEvaluator struct {
	*part
	Evaluator
	x, v, values, matrix, packed scratch
}

func (j *join) evaluator(rows int) *joinEvaluator {
	e := &joinEvaluator{join: j, parts: make([]partEvaluator, len(j.parts))}
	for i := range j.parts {
		p := &j.parts[i]
		e.parts[i] = partEvaluator{
			part: p, Evaluator: p.NewEvaluator(rows), x: scratch{n: rows * p.d}, v: scratch{n: rows * p.d},
			values: scratch{n: rows * p.c}, matrix: scratch{n: rows * p.c * p.d},
		}
		if j.support != nil {
			e.parts[i].packed.n = rows * p.from[p.c]
		}
	}
	if j.support != nil {
		e.from = starts(j.support)
		e.row = e.from[len(j.names)]
	}
	return e
}

func (e *joinEvaluator) functions() Evaluator {
	out, packs := Evaluator{Values: e.Values, Jacobians: e.Jacobians, HessianVectors: e.HessianVectors}, true
	for i := range e.parts {
		if e.parts[i].HessianVectors == nil {
			out.HessianVectors = nil
		}
		packs = packs && e.parts[i].packs(len(e.names), e.d)
	}
	if e.support != nil {
		out.SparseJacobians = e.SparseJacobians
		if packs {
			out.SparseHessianVectors = e.SparseHessianVectors
		}
	}
	return out
}

// still returns the coordinates of a point that no set of a product sees: those behind the last.
func (e *joinEvaluator) still(x []float64) []float64 {
	last := &e.parts[len(e.parts)-1]
	return x[last.at+last.d : e.d]
}

func (p *partEvaluator) sees(to *scratch, x []float64, n, d int) []float64 {
	if p.d == d {
		return x
	}
	own := to.get(n * p.d)
	for i := range n {
		copy(own[i*p.d:(i+1)*p.d], x[i*d+p.at:])
	}
	return own
}

func (e *joinEvaluator) Values(values, x []float64, n int) {
	for i := range e.parts {
		p := &e.parts[i]
		own := p.values.get(n * p.c)
		p.Evaluator.Values(own, p.sees(&p.x, x, n, e.d), n)
		e.put(values, p, own, n)
	}
}

func (e *joinEvaluator) put(values []float64, p *partEvaluator, own []float64, n int) {
	c := len(e.names)
	for i := range n {
		for a, at := range p.place {
			values[i*c+at] = own[i*p.c+a]
		}
	}
}

// putRows writes a part's rows of derivatives in their places; the rest of dst is 0.
func (e *joinEvaluator) putRows(dst []float64, p *partEvaluator, own []float64, n int) {
	c := len(e.names)
	for i := range n {
		for a, at := range p.place {
			copy(dst[(i*c+at)*e.d+p.at:][:p.d], own[(i*p.c+a)*p.d:])
		}
	}
}

func (e *joinEvaluator) Jacobians(values, jac, x []float64, n int) {
	clear(jac[:n*len(e.names)*e.d])
	for i := range e.parts {
		p := &e.parts[i]
		own, rows := p.values.get(n*p.c), p.matrix.get(n*p.c*p.d)
		p.Evaluator.Jacobians(own, rows, p.sees(&p.x, x, n, e.d), n)
		e.put(values, p, own, n)
		e.putRows(jac, p, rows, n)
	}
}

func (e *joinEvaluator) HessianVectors(dst, x, v []float64, n int) {
	clear(dst[:n*len(e.names)*e.d])
	for i := range e.parts {
		p := &e.parts[i]
		rows := p.matrix.get(n * p.c * p.d)
		p.Evaluator.HessianVectors(rows, p.sees(&p.x, x, n, e.d), p.sees(&p.v, v, n, e.d), n)
		e.putRows(dst, p, rows, n)
	}
}

func (e *joinEvaluator) SparseJacobians(values, jac, x []float64, n int) {
	for i := range e.parts {
		p := &e.parts[i]
		own, packed := p.values.get(n*p.c), p.packed.get(n*p.from[p.c])
		if p.sparse {
			p.Evaluator.SparseJacobians(own, packed, p.sees(&p.x, x, n, e.d), n)
		} else {
			p.Evaluator.Jacobians(own, packed, p.sees(&p.x, x, n, e.d), n)
		}
		e.put(values, p, own, n)
		e.putPacked(jac, p, packed, n)
	}
}

func (e *joinEvaluator) SparseHessianVectors(dst, x, v []float64, n int) {
	for i := range e.parts {
		p := &e.parts[i]
		packed := p.packed.get(n * p.from[p.c])
		p.Evaluator.SparseHessianVectors(packed, p.sees(&p.x, x, n, e.d), p.sees(&p.v, v, n, e.d), n)
		e.putPacked(dst, p, packed, n)
	}
}

// putPacked writes a part's packed rows in their places.
func (e *joinEvaluator) putPacked(dst []float64, p *partEvaluator, packed []float64, n int) {
	row := p.from[p.c]
	for i := range n {
		for a, at := range p.place {
			copy(dst[i*e.row+e.from[at]:], packed[i*row+p.from[a]:i*row+p.from[a+1]])
		}
	}
}

// All returns the set of points that are in each of the sets, of one dimension: their constraints on the same
// coordinates. A name in two sets gets the set's number, "1.radius". What a set knows in closed form of its own Σ is
// not true of fewer points, and is left out; geometry handles constraints that repeat each other. It panics without
// sets, or where dimensions differ.
func All(sets ...Set) Set {
	if len(sets) == 0 {
		panic("constraint: all of no sets")
	}
	d := sets[0].Dim()
	count := map[string]int{}
	for _, s := range sets {
		if s.Dim() != d {
			panic(fmt.Sprintf("constraint: all of sets in R^%d and R^%d", d, s.Dim()))
		}
		for _, n := range Components(s) {
			count[n]++
		}
	}
	numbered := func(i int, n string) string { return fmt.Sprintf("%d.%s", i, n) }
	s := &all{newJoin(sets, make([]int, len(sets)), d, func(i int, n string) string {
		if count[n] > 1 {
			return numbered(i, n)
		}
		return n
	}), sets}
	if repeated(s.names) {
		s.join = newJoin(sets, make([]int, len(sets)), d, numbered)
	}
	return s
}

func repeated(names []string) bool {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return true
		}
		seen[n] = true
	}
	return false
}

type all struct {
	join
	sets []Set
}

func (s *all) Unwrap() []Set { return s.sets }

func (s *all) Capabilities() Capabilities {
	return s.capabilities("intersection of "+list(s.sets), func(_ int, err error) error { return err })
}

func (s *all) NewEvaluator(rows int) Evaluator { return s.evaluator(rows).functions() }

func list(sets []Set) string {
	const shown = 3
	var names []string
	for _, s := range sets[:min(shown, len(sets))] {
		name := Name(s)
		switch s.(type) {
		case *all, *product:
			name = "(" + name + ")"
		}
		names = append(names, name)
	}
	if more := len(sets) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, " and ")
}
