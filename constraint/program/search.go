package program

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Both programs look for the point of Σ nearest to a proposal x̃,
//
//	min ½‖y − x̃‖²  with  h(y) = 0, g(y) ≤ 0,
//
// by steps p that solve a linear model of their own conditions at y. With the components in
// units of length, c over ‖∇c(x̃)‖, and A the gradients of those that count, it is
//
//	θp = x̃ − y − Aᵀν,   A p − Dν = −b,
//
// a system (AAᵀ + θD)ν = θb + A(x̃ − y) in as many unknowns as components count. A set need not have second
// derivatives: θ stands for them, the curvature of ½‖y − x̃‖² + νᵀc that gradients showed along the last step, and at
// least 1. A step that does not lower the program's merit is halved until it does.
//
// Components that share no coordinates ask nothing of each other, so each part of Σ is searched by itself,
// with a length, steps and an end of its own; all parts of a point are evaluated together.

// A path is the search in one part of Σ from one proposal. Of part and path, d and c are numbers of its
// coordinates and components.
type path struct {
	of                    *part
	fate                  fate
	proposal, y, trial, p []float64 // d
	value                 []float64 // c: components at y, in units of length
	scale                 []float64 // c: 1/‖∇c(x̃)‖
	ν                     []float64 // c: multipliers
	next                  []float64 // c: those that the step leads to
	lead                  []float64 // c: derivatives along p at y
	bend                  float64   // θ
	length                float64   // L: the largest excess at x̃, in units of length
	tolerance             float64   // on p and on conditions of first order

	share, merit, slope float64 // α of the trial y + αp, the merit at y and its slope along p
	weight              float64 // β or ρ: the parameter of the program
	penalty             float64 // π of a merit's equalities
	violation           float64 // at the last change of multipliers

	evaluations int
	met         bool // y is on Σ
	restored    bool // it was brought there by Gauss–Newton steps in the end
}

// A fate is what an evaluation makes of a path.
type fate int

const (
	moving fate = iota
	arrived
	stalled
	unreachable
	notFinite
)

// A program says how a path goes on.
type program interface {
	// begin prepares a path at its proposal.
	begin(s *path)
	// merit is what steps lower, at a point whose components in units of length are given.
	merit(s *path, y, value []float64) float64
	// direct makes s.p, s.next and s.slope at y; or says that the path ends there.
	direct(s *path) fate
	// follow moves the multipliers of s along with a step s.share·s.p.
	follow(s *path)
}

// A search runs paths in blocks. It is scratch space for one goroutine.
type search struct {
	program
	eval        constraint.Evaluator
	parts       []part
	d, c        int // of the set
	derivatives int // kept of a point
	most        int // evaluations of a path after the first
	rows, block int

	restoration *Correction // of paths that end off Σ; nil: none
	paths       []path      // block×parts
	live        []int
	x, val, jac []float64 // block×d, block×c, block×derivatives
	landed      []float64 // d
	// Of the path at hand, of as many numbers as the largest part has:
	gradient    []float64 // spans, in units of length
	sizes       []float64 // squared norms of these
	matrix, rhs []float64 // band, c
	damping     []float64 // c: D
	counts      []int     // components in the system
	diagonal    []int     // of each of them, where its diagonal stands in the matrix
	pull        []float64 // d: x̃ − y, and what else is not in the system
}

// blockNumbers bounds the numbers of the Jacobians that are held at once.
const blockNumbers = 2 << 20

func newSearch(set constraint.Set, rows, most int) *search {
	parts, derivatives := parts(set)
	vec := func(n int) []float64 { return make([]float64, n) }
	block := max(1, min(rows, blockNumbers/max(1, derivatives)))
	d, c, size, band := 0, 0, 0, 0
	for i := range parts {
		d, c = max(d, parts[i].d), max(c, parts[i].c)
		size, band = max(size, parts[i].size), max(band, parts[i].band)
	}
	s := &search{
		eval: set.NewEvaluator(block), parts: parts, d: set.Dim(), c: len(constraint.Components(set)),
		derivatives: derivatives, most: most, rows: rows, block: block, live: make([]int, 0, block),
		jac: vec(block * derivatives), gradient: vec(size), sizes: vec(c), matrix: vec(band), rhs: vec(c),
		damping: vec(c), counts: make([]int, 0, c), diagonal: make([]int, c), pull: vec(d),
	}
	s.x, s.val, s.landed = vec(block*s.d), vec(block*s.c), vec(s.d)
	for range block {
		for i := range parts {
			d, c := parts[i].d, parts[i].c
			s.paths = append(s.paths, path{of: &parts[i], proposal: vec(d), y: vec(d), trial: vec(d), p: vec(d),
				value: vec(c), scale: vec(c), ν: vec(c), next: vec(c), lead: vec(c)})
		}
	}
	return s
}

// Nearest writes to dst the points of Σ nearest to the n points x (n×d; dst may be x), to first order: of those that a
// path finds. A point of Σ stays. A row with a path that ends elsewhere keeps x; ok (n) tells, and the outcome counts
// it. Iterations are evaluations of derivatives after the first.
func (s *search) Nearest(dst, x []float64, ok []bool, n int) geometry.Outcome {
	if n > s.rows {
		panic(fmt.Sprintf("program: %d points in a search for %d", n, s.rows))
	}
	o, d := geometry.Outcome{Points: n}, s.d
	for lo := 0; lo < n; lo += s.block {
		hi := min(lo+s.block, n)
		s.run(dst[lo*d:hi*d], x[lo*d:hi*d], ok[lo:hi], &o)
	}
	return o
}

// of returns the paths of point i of a block.
func (s *search) of(i int) []path { return s.paths[i*len(s.parts) : (i+1)*len(s.parts)] }

func (s *search) run(dst, x []float64, ok []bool, o *geometry.Outcome) {
	d, c := s.d, s.c
	copy(dst, x)
	s.live = s.live[:0]
	for i := range ok {
		for k := range s.of(i) {
			p := &s.of(i)[k]
			p.of.take(p.proposal, x[i*d:(i+1)*d])
			copy(p.y, p.proposal)
			copy(p.trial, p.proposal)
			p.fate, p.evaluations, p.restored, p.share, p.bend = moving, -1, false, 0, 1
			clear(p.p)
		}
		if ok[i] = c == 0; !ok[i] {
			s.live = append(s.live, i)
		}
	}
	for len(s.live) > 0 {
		for e, i := range s.live {
			row := dst[i*d : (i+1)*d]
			for k := range s.of(i) {
				if p := &s.of(i)[k]; p.fate == moving {
					p.of.put(row, p.trial)
				}
			}
			copy(s.x[e*d:(e+1)*d], row)
		}
		n := len(s.live)
		jacobians(&s.eval, s.val[:n*c], s.jac[:n*s.derivatives], s.x[:n*d], n)
		left := s.live[:0]
		for e, i := range s.live {
			o.Iterations++
			if s.turn(s.of(i), dst[i*d:(i+1)*d], s.val[e*c:(e+1)*c], s.jac[e*s.derivatives:(e+1)*s.derivatives]) {
				left = append(left, i)
			} else {
				ok[i] = s.finish(s.of(i), dst[i*d:(i+1)*d], o)
			}
		}
		s.live = left
	}
	if c > 0 {
		o.Iterations -= len(ok) // the first
	}
}

// turn looks at the trials of a point and reports whether it needs another evaluation: a path still
// moves, and none ended such that the point is lost.
func (s *search) turn(paths []path, row, val, jac []float64) (more bool) {
	for k := range paths {
		p := &paths[k]
		if p.fate != moving {
			continue
		}
		switch p.fate = s.advance(p, val, jac); p.fate {
		case moving:
			more = true
		case notFinite:
			return false
		default:
			p.of.put(row, p.y)
			if p.fate != arrived && s.restoration == nil {
				return false
			}
		}
	}
	return more
}

// finish ends a point: what its paths found, restored to Σ by Gauss–Newton steps where they ended off
// it, if the search does that; or the proposal. It reports whether the point is on Σ.
func (s *search) finish(paths []path, row []float64, o *geometry.Outcome) bool {
	worst := arrived
	for k := range paths {
		worst = max(worst, paths[k].fate)
	}
	var ok [1]bool
	if worst != notFinite && worst != arrived && s.restoration != nil {
		copy(s.landed, row)
		o.Iterations += s.restoration.Land(s.landed, ok[:], 1).Iterations
		for k := range paths {
			if p := &paths[k]; ok[0] && p.fate != arrived {
				p.restored = true
				p.of.take(p.y, s.landed)
				p.of.put(row, p.y)
			}
		}
	}
	if worst == arrived || ok[0] {
		return true
	}
	for k := range paths {
		paths[k].of.put(row, paths[k].proposal)
	}
	switch worst {
	case stalled:
		o.Stalled++
	case unreachable:
		o.Unreachable++
	case notFinite:
		o.NotFinite++
	}
	return false
}

// advance looks at a path's trial, at a point where the components and their derivatives are given.
func (s *search) advance(p *path, val, jac []float64) fate {
	q := p.of
	p.evaluations++
	if p.evaluations == 0 {
		if !q.finite(val, jac) {
			return notFinite
		}
		if q.met(p.trial, val, jac) {
			return arrived
		}
		s.measure(p, val, jac)
		s.units(p.value, p, val)
		s.begin(p)
	} else if s.lowers(p, val, jac) {
		copy(p.y, p.trial)
		s.follow(p)
		s.units(p.value, p, val)
	} else {
		p.share /= 2
		if p.evaluations >= s.most || p.share*dense.Largest(p.p) < 0x1p-50*(dense.Largest(p.y)+p.length) {
			return stalled
		}
		s.try(p)
		return moving
	}
	p.met = q.met(p.y, val, jac)
	q.spread(s.gradient, p.scale, jac)
	for i := range q.c {
		g := q.span(s.gradient, i)
		s.sizes[i] = dense.Dot4(g, g)
	}
	if p.share > 0 {
		s.curve(p)
	}
	fate := s.direct(p)
	if fate == moving && p.evaluations >= s.most {
		fate = stalled
	}
	if fate != moving && p.met { // on Σ, if not at the nearest point of it
		return arrived
	}
	if fate != moving {
		return fate
	}
	for i := range p.lead {
		p.lead[i] = s.along(p, i)
	}
	p.merit, p.share = s.merit(p, p.y, p.value), s.room(p)
	s.try(p)
	return moving
}

// mostBend bounds θ.
const mostBend = 1e8

// curve makes θ from the gradients at both ends of the last step.
func (s *search) curve(p *path) {
	sum := 0.0
	for i, ν := range p.next {
		if ν != 0 {
			sum += ν * (s.along(p, i) - p.lead[i])
		}
	}
	if θ := 1 + sum/(p.share*dense.Dot4(p.p, p.p)); θ == θ {
		p.bend = min(max(θ, 1), mostBend)
	}
}

// measure makes the units of a path and its length.
func (s *search) measure(p *path, val, jac []float64) {
	p.length = 0
	for i, a := range p.of.comp {
		p.scale[i] = 1
		if size := dense.Norm4(p.of.row(jac, i)); size > geometry.GradientTolerance {
			p.scale[i] = 1 / size
		}
		p.length = max(p.length, constraint.Excess(val[a]*p.scale[i], p.of.equal[i]))
	}
	p.tolerance = 1e-10*p.length + 0x1p-50*dense.Largest(p.y)
}

// units writes the components of a path in units of length, from those of a point.
func (s *search) units(dst []float64, p *path, val []float64) {
	for i, a := range p.of.comp {
		dst[i] = val[a] * p.scale[i]
	}
}

// sure is the share of a path's length below which steps are taken as they are: differences of
// the merit are lost in round-off there.
const sure = 1e-6

// lowers reports whether the trial is a step forward.
func (s *search) lowers(p *path, val, jac []float64) bool {
	if !p.of.finite(val, jac) {
		return false
	}
	if p.share == 1 && dense.Largest(p.p) <= sure*p.length {
		return true
	}
	value := s.rhs[:p.of.c]
	s.units(value, p, val)
	return s.merit(p, p.trial, value) <= p.merit+1e-4*p.share*p.slope
}

// try makes the trial y + αp.
func (s *search) try(p *path) { dense.AddScaled(p.trial, p.y, p.share, p.p) }

// room returns the share of a step that the linear model allows: 1 unless the program says less.
func (s *search) room(p *path) float64 {
	if b, ok := s.program.(bounded); ok {
		return b.bound(p)
	}
	return 1
}

// A bounded program has steps that must not be taken whole.
type bounded interface{ bound(s *path) float64 }

// pulled starts the pull of a step with x̃ − y, and forgets what the system holds.
func (s *search) pulled(p *path) {
	for j, v := range p.proposal {
		s.pull[j] = v - p.y[j]
	}
	s.counts = s.counts[:0]
}

// floor bounds D from below, as a share of a component's squared gradient: where gradients
// depend on each other the system is solved all the same.
const floor = 1e-12

// count puts component i into the system, with D and b. Below the floor the difference in D is of
// ν − ν⁻, with the multipliers ν⁻ so far, which leaves nothing where paths end.
func (s *search) count(p *path, i int, damping, b float64) {
	if s.sizes[i] == 0 { // no direction
		return
	}
	if least := floor * s.sizes[i]; damping < least {
		b += (least - damping) * p.ν[i]
		damping = least
	}
	k := len(s.counts)
	s.counts = append(s.counts, i)
	s.damping[k], s.rhs[k] = p.bend*damping, p.bend*b
}

// solve makes p and the multipliers p.next of the components in the system, 0 those of others.
// It reports false where the system has no solution in finite numbers.
func (s *search) solve(p *path) bool {
	q, n, from, at := p.of, len(s.counts), 0, -1
	clear(p.next)
	ν, pull := s.rhs[:n], s.pull[:q.d]
	for e, i := range s.counts {
		gi, lo := q.span(s.gradient, i), q.lo[i]
		for q.hi[s.counts[from]] <= lo {
			from++
		}
		row := s.matrix[at+1 : at+2+e-from]
		at += len(row)
		s.diagonal[e] = at
		ν[e] += dense.Dot4(gi, pull[lo:])
		for f, j := range s.counts[from : e+1] {
			row[f] = 0
			if hi := min(q.hi[i], q.hi[j]); hi > lo { // spans begin in order
				row[f] = dense.Dot4(gi[:hi-lo], q.span(s.gradient, j)[lo-q.lo[j]:])
			}
		}
		row[e-from] += s.damping[e]
	}
	dense.FactorEnvelope(s.matrix, s.diagonal[:n])
	dense.SolveEnvelope(s.matrix, ν, s.diagonal[:n])
	dense.Scaled(p.p, 1/p.bend, pull)
	for e, i := range s.counts {
		p.next[i] = ν[e]
		dense.Axpy(p.p[q.lo[i]:q.hi[i]], -ν[e]/p.bend, q.span(s.gradient, i))
	}
	return dense.Finite(p.p)
}

// along returns the derivative of component i along p.
func (s *search) along(p *path, i int) float64 {
	return dense.Dot4(p.of.span(s.gradient, i), p.p[p.of.lo[i]:])
}

// apart returns ½‖y − x̃‖².
func (p *path) apart(y []float64) (s float64) {
	for j, v := range p.proposal {
		s += (y[j] - v) * (y[j] - v) / 2
	}
	return s
}

// toward returns the slope of ½‖y − x̃‖² along p.
func (p *path) toward() (s float64) {
	for j, v := range p.proposal {
		s += (p.y[j] - v) * p.p[j]
	}
	return s
}
