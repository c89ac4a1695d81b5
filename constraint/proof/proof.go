// Package proof shows, by interval arithmetic, that a true point of
//
//	Σ = {h = 0, g ≤ 0}
//
// lies within δ of a sample x̂. Round-off cannot make it claim what is false; it can keep it from showing what is true.
//
// Equations are h = 0 and, for each wall g_j that may be above 0 beside the sample, g_j = t_j = min(g_j(x̂), 0). With
// their Jacobian J, numbers P ≈ J⁺ and an unknown λ, |λ_i| < ρ_i,
//
//	x(λ) = x̂ + Pλ,  T(λ) = λ − F(x(λ)) ∈ −F(x̂) + (I − J(X) P) [−ρ, ρ],  X = x̂ + P [−ρ, ρ],
//
// by the mean value theorem, with J(X) an enclosure of J over the box X. If the right-hand side lies in the interior of
// [−ρ, ρ], T has a fixed point there (Brouwer), and only one (Krawczyk, 1969): a zero of F. The columns of P span the
// normal space. The other walls are shown to be at most 0 over X.
//
// Equations that share no coordinates make blocks, each with its own P. Coordinates that a set holds do not move.
package proof

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/interval"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

const (
	maxBlock  = 1 << 22  // numbers of a P
	dependent = 1e-12    // the least part of a unit row of J outside the span of the others
	agree     = 1e-9     // values of a component and of its formula
	least     = 0x1p-150 // ρ: far above what the checker rounds to
	tries     = 8        // sets of walls, and sizes of the box for each
	maxNamed  = 5        // components in a reason
)

// A Prover proves samples of one set. It is read only; each goroutine has a Worker of its own.
type Prover struct {
	*tape
	Names      []string         // of the formulas: h, g, and then what is < 0 where the set selects
	M, L       int              // how many are of h and of g
	Operations []expr.Operation // of the formulas
	Lines      []int            // the operations whose results are the formulas
	NotCovered []string         // components without a formula, about which nothing is shown
	Held       []int            // coordinates that do not move

	set    constraint.Set
	still  []bool // by coordinate
	needed []int  // formulas of h that are equations: none before is the same
	of     []int  // the component of each formula
	from   []int  // where the derivatives of a formula begin in a list of all
}

// New makes the Prover of a set.
func New(s constraint.Set) *Prover {
	c, g := s.Capabilities(), expr.NewGraph(s.Dim())
	p := &Prover{set: s, Held: c.Held, still: make([]bool, s.Dim()), from: []int{0}}
	for _, j := range c.Held {
		p.still[j] = true
	}
	h, walls, selection := constraint.Formulas(s, g.X())
	var values []expr.Value
	all := constraint.Components(s)
	for i, v := range slices.Concat(h, walls, selection) {
		name := c.Selection
		if i < len(all) {
			name = all[i]
		}
		switch {
		case v.Missing():
			p.NotCovered = append(p.NotCovered, name)
			continue
		case i < len(h):
			p.M++
		case i < len(h)+len(walls):
			p.L++
		}
		p.Names, p.of, values = append(p.Names, name), append(p.of, i), append(values, v)
	}
	p.Operations, p.Lines = g.Listing(values)
	p.tape = newTape(p.Operations, p.Lines)
	for k, vars := range p.vars {
		p.from = append(p.from, p.from[k]+len(vars))
	}
	for k, r := range p.Lines[:p.M] {
		if zero := (p.fixed[r] == box{} && p.lines[r].kind == constant); !zero && !slices.Contains(p.Lines[:k], r) {
			p.needed = append(p.needed, k)
		}
	}
	return p
}

// A Result says what is shown of a sample.
type Result struct {
	Proved bool    `json:"proved"`
	Delta  float64 `json:"delta"`            // a true point of Σ lies within it, in the unit of the coordinates
	Reason string  `json:"reason,omitempty"` // why nothing is shown
}

// A Block is equations that share coordinates.
type Block struct {
	Rows    []int   `json:"rows"`    // formulas
	Columns []int   `json:"columns"` // coordinates
	Target  numbers `json:"target"`  // t, by row; 0 of h
	Radius  numbers `json:"radius"`  // ρ, by row
	Inverse numbers `json:"inverse"` // P, columns × rows

	image, q, r, scale []float64 // image: the size of T's enclosure, by row
	sum                []box
}

// A Worker proves samples one after the other.
type Worker struct {
	*Prover
	eval       constraint.Evaluator
	values     []float64
	here, over pass  // at the sample, and over X
	at, x      []box // the sample, and X
	slope      []box // derivatives of formulas over X
	active     []int // formulas that are equations
	leader     []int // by coordinate: another of its block, itself of one
	place      []int // by coordinate: in its block
	blocks     []Block
	count      int // of blocks, of the last sample
}

// NewWorker returns the scratch of one goroutine.
func (p *Prover) NewWorker() *Worker {
	d := len(p.still)
	return &Worker{Prover: p, eval: p.set.NewEvaluator(1), values: make([]float64, len(constraint.Components(p.set))),
		here: p.newPass(), over: p.newPass(), at: make([]box, d), x: make([]box, d),
		slope: make([]box, p.from[len(p.Names)]), leader: make([]int, d), place: make([]int, d)}
}

// Blocks returns the equations of the last sample that was proved, until the next.
func (w *Worker) Blocks() []Block { return w.blocks[:w.count] }

func (w *Worker) fail(why string, formulas ...int) Result {
	var names []string
	for _, k := range formulas[:min(len(formulas), maxNamed)] {
		names = append(names, fmt.Sprintf("%q", w.Names[k]))
	}
	if more := len(formulas) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return Result{Reason: strings.Join(names, ", ") + " " + why}
}

// Prove looks for a true point near the sample x.
func (w *Worker) Prove(x []float64) Result {
	for j, v := range x {
		w.at[j] = interval.Point(v)
	}
	if len(w.NotCovered) > 0 {
		return Result{Reason: "the set has components that are not covered"}
	}
	w.here.evaluate(w.at)
	w.eval.Values(w.values, x, 1)
	for k, i := range w.of[:w.M+w.L] { // the set and its formulas are two programs
		v := w.here.value[w.Lines[k]]
		if δ := math.Abs(v.Mid() - w.values[i]); !(δ <= agree*(1+math.Abs(w.values[i]))) {
			return w.fail("has no value at the sample, or another than its formula", k)
		}
	}
	w.active = append(w.active[:0], w.needed...)
	for beside, try := &w.here, 0; ; beside, try = &w.over, try+1 {
		before := len(w.active)
		for k := w.M; k < len(w.Lines); k++ {
			switch v := beside.value[w.Lines[k]]; {
			case v.Hi < 0, v.Hi == 0 && w.wall(k), slices.Contains(w.active, k):
			case !w.wall(k) || v.Hi != v.Hi || try == tries:
				return w.fail("is not shown to be below 0", k)
			default:
				w.active = append(w.active, k)
			}
		}
		if try > 0 && before == len(w.active) {
			return Result{Proved: true, Delta: w.delta()}
		}
		if r := w.split(); r.Reason != "" {
			return r
		}
		if r := w.contract(); r.Reason != "" {
			return r
		}
	}
}

// wall reports whether formula k is of g.
func (p *Prover) wall(k int) bool { return k >= p.M && k < p.M+p.L }

// moving calls f for each coordinate of formula k that moves, with the place of its derivative.
func (p *Prover) moving(k int, f func(e, j int)) {
	for e, line := range p.vars[k] {
		if j := int(p.lines[line].a); !p.still[j] {
			f(e, j)
		}
	}
}

// lead returns the coordinate that stands for the block of formula k, −1 of none.
func (w *Worker) lead(k int) (lead int) {
	lead = -1
	w.moving(k, func(_, j int) {
		for w.leader[j] != j {
			w.leader[j] = w.leader[w.leader[j]]
			j = w.leader[j]
		}
		if lead < 0 {
			lead = j
		}
		w.leader[j] = lead
	})
	return lead
}

// split makes the blocks, with P of each.
func (w *Worker) split() Result {
	for j := range w.leader {
		w.leader[j], w.place[j] = j, -1
	}
	for _, k := range w.active {
		if w.lead(k) < 0 {
			return w.fail("has no coordinate that moves", k)
		}
	}
	slices.SortStableFunc(w.active, func(a, b int) int { return w.lead(a) - w.lead(b) })
	w.count = 0
	for lo, hi := 0, 0; lo < len(w.active); lo = hi {
		for lead := w.lead(w.active[lo]); hi < len(w.active) && w.lead(w.active[hi]) == lead; {
			hi++
		}
		if w.count == len(w.blocks) {
			w.blocks = append(w.blocks, Block{})
		}
		b := &w.blocks[w.count]
		b.Rows, b.Columns, w.count = append(b.Rows[:0], w.active[lo:hi]...), b.Columns[:0], w.count+1
		for _, k := range b.Rows {
			w.moving(k, func(_, j int) {
				if w.place[j] < 0 {
					w.place[j], b.Columns = len(b.Columns), append(b.Columns, j)
				}
			})
		}
		if r := w.invert(b); r.Reason != "" {
			return r
		}
	}
	return Result{}
}

// sized returns n numbers, in the memory of s if that is enough.
func sized[S ~[]T, T any](s S, n int) S { return slices.Grow(s[:0], n)[:n] }

// invert writes P: with J = S Rᵀ Q of unit rows, pivoted, S their lengths, it is Qᵀ R⁻ᵀ S⁻¹.
func (w *Worker) invert(b *Block) Result {
	n, c := len(b.Rows), len(b.Columns)
	if n*c > maxBlock {
		return w.fail(fmt.Sprintf("and %d equations share %d coordinates, too many", n-1, c), b.Rows[0])
	}
	b.q, b.r, b.scale = sized(b.q, n*c), sized(b.r, n*n), sized(b.scale, n)
	clear(b.q)
	for i, k := range b.Rows {
		slope, row := w.slope[w.from[k]:w.from[k+1]], b.q[i*c:(i+1)*c]
		w.here.gradient(slope, k)
		w.moving(k, func(e, j int) { row[w.place[j]] = slope[e].Mid() })
		b.scale[i] = dense.Norm4(row)
		if !(b.scale[i] > 0) || math.IsInf(b.scale[i], 0) {
			return w.fail("has no gradient at the sample", k)
		}
		dense.Scaled(row, 1/b.scale[i], row)
	}
	if rank := dense.PivotedQR(b.q, b.r, b.Rows, b.scale, n, n, c, dependent); rank < n {
		return w.fail("depend on the other equations, or nearly so: J has no full rank", b.Rows[rank:]...)
	}
	b.Target, b.Inverse = sized(b.Target, n), sized(b.Inverse, c*n)
	for i, k := range b.Rows {
		if b.Target[i] = 0; w.wall(k) {
			b.Target[i] = min(w.here.value[w.Lines[k]].Mid(), 0)
		}
	}
	for col := range c {
		p := b.Inverse[col*n : (col+1)*n]
		for j := n - 1; j >= 0; j-- {
			z := b.q[j*c+col]
			for l := j + 1; l < n; l++ {
				z -= b.r[j*n+l] * p[l]
			}
			p[j] = z / b.r[j*n+j]
		}
		for j := range p {
			p[j] /= b.scale[j]
		}
	}
	return Result{}
}

// contract looks for radii ρ with T inside of [−ρ, ρ], and leaves over at X.
func (w *Worker) contract() Result {
	for e := range w.Blocks() {
		b := &w.blocks[e]
		n := len(b.Rows)
		b.Radius, b.image, b.sum = sized(b.Radius, n), sized(b.image, n), sized(b.sum, n)
		for i := range b.Rows {
			b.Radius[i] = max(2*w.residual(b, i), least)
		}
	}
	for try := 1; ; try++ {
		copy(w.x, w.at)
		for _, b := range w.Blocks() {
			for col, j := range b.Columns {
				w.place[j], w.x[j] = col, interval.Add(w.at[j], b.reach(col, b.Radius))
			}
		}
		w.over.evaluate(w.x)
		outside := -1
		for e := range w.Blocks() {
			b := &w.blocks[e]
			for i := range b.Rows {
				b.image[i] = w.mapped(b, i)
			}
			for i, k := range b.Rows {
				if !(b.image[i] < b.Radius[i]) {
					outside, b.Radius[i] = k, 1.5*b.image[i]
				}
			}
		}
		switch {
		case outside < 0:
			return Result{}
		case try == tries:
			return w.fail("has no derivatives near the sample, or they change too much between it and Σ", outside)
		}
	}
}

// residual is |F(x̂)| of row i at most.
func (w *Worker) residual(b *Block, i int) float64 {
	return interval.Sub(w.here.value[w.Lines[b.Rows[i]]], interval.Point(b.Target[i])).Size()
}

// mapped returns the size of row i of −F(x̂) + (I − J(X) P) [−ρ, ρ].
func (w *Worker) mapped(b *Block, i int) float64 {
	k, n := b.Rows[i], len(b.Rows)
	slope := w.slope[w.from[k]:w.from[k+1]]
	w.over.gradient(slope, k)
	clear(b.sum)
	b.sum[i] = interval.Point(-1)
	w.moving(k, func(e, j int) {
		for l, p := range b.Inverse[w.place[j]*n : (w.place[j]+1)*n] {
			b.sum[l] = interval.Add(b.sum[l], interval.Scale(p, slope[e]))
		}
	})
	size := w.residual(b, i)
	for l, s := range b.sum {
		size = interval.Up(size + interval.Up(s.Size()*b.Radius[l]))
	}
	return size
}

// reach encloses the numbers Σ_j P_cj λ_j with |λ| ≤ r.
func (b *Block) reach(column int, r []float64) box {
	size, n := 0.0, len(b.Rows)
	for j, p := range b.Inverse[column*n : (column+1)*n] {
		size = interval.Up(size + interval.Up(math.Abs(p)*r[j]))
	}
	return box{Lo: -size, Hi: size}
}

// delta bounds ‖Pλ‖ at the fixed point, where λ is in the image of T. Without equations the sample is in Σ.
func (w *Worker) delta() float64 {
	sum := 0.0
	for _, b := range w.Blocks() {
		for col := range b.Columns {
			r := b.reach(col, b.image).Hi
			sum = interval.Up(sum + interval.Up(r*r))
		}
	}
	if sum == 0 {
		return 0
	}
	return interval.Up(math.Sqrt(sum))
}
