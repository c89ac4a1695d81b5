// Package langevin holds the constrained Langevin processes of the paper, as discrete steps on blocks of points: OLLA
// (overdamped), ULLA (underdamped) and their projected variants OLLA-P and ULLA-P, forward and backward, and chains
// that sample exp(−f) on Σ without learning.
//
// Noise is an argument: a step is a pure function of (state, k, noise). Each row of a block is treated alone. It is not
// for processes that need a stored momentum in training: p̃ is recovered from positions.
package langevin

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/fault"
)

// A Method is one of the four discretisations of the paper.
type Method int

const (
	ULLA  Method = iota // underdamped, landing: the paper's main method
	OLLA                // overdamped, landing
	ULLAP               // underdamped, Newton projection at each step
	OLLAP               // overdamped, Newton projection at each step (RDDPM)
)

var methodNames = [...]string{"ULLA", "OLLA", "ULLA-P", "OLLA-P"}

func (m Method) String() string { return methodNames[m] }

// ParseMethod reads a method's name; RDDPM is another name of OLLA-P.
func ParseMethod(name string) (Method, error) {
	if strings.EqualFold(name, "RDDPM") {
		return OLLAP, nil
	}
	for m, s := range methodNames {
		if strings.EqualFold(s, name) {
			return Method(m), nil
		}
	}
	return 0, &ConfigError{Field: "Method", Value: name, Want: "one of " + strings.Join(methodNames[:], ", ")}
}

// Underdamped reports whether the method carries a momentum.
func (m Method) Underdamped() bool { return m == ULLA || m == ULLAP }

// Of returns the process p by the method.
func (m Method) Of(p Process) Process {
	p.Method = m
	return p
}

// StepSize returns the standard deviation of the move of a step of τ in one direction: √τ of overdamped methods, τ of
// underdamped ones.
func (m Method) StepSize(τ float64) float64 {
	if m.Underdamped() {
		return τ
	}
	return math.Sqrt(τ)
}

// Projected reports whether the method projects at every step.
func (m Method) Projected() bool { return m == ULLAP || m == OLLAP }

// A Convention picks an index where the paper's text and its reference implementation differ (docs/conventions.md).
type Convention int

const (
	// Reference: the backward step x_{k+1} → x_k uses σ_k, the forward step's own,
	// and its momentum is (x_{k+2} − x_{k+1})/(σ_{k+1}²Δt).
	Reference Convention = iota
	// Paper: the backward step uses σ_{k+1}, and its momentum is (x_{k+2} − x_{k+1})/(σ_{k+2}²Δt).
	Paper
)

var conventionNames = [...]string{"reference", "paper"}

func (c Convention) String() string { return conventionNames[c] }

// ParseConvention reads a convention's name.
func ParseConvention(name string) (Convention, error) {
	if i := slices.Index(conventionNames[:], name); i >= 0 {
		return Convention(i), nil
	}
	return 0, &ConfigError{Field: "Convention", Value: name, Want: "paper or reference"}
}

// Landing says how a step without projection returns to Σ. The zero value is implicit landing: the landing term at the
// step's proposal with α_k = 1/(σ_k²Δt), one Gauss–Newton step.
type Landing struct {
	Explicit bool    // the landing term is −ασ_k²Δt ∇JᵀG†J at x_k
	Rate     float64 // α of explicit landing
}

// A Potential is f in the target exp(−f) of the forward process.
type Potential interface {
	// Gradient writes ∇f at n points; dst and x have length n×d.
	Gradient(dst, x []float64, n int)
}

// A Process is a forward process and the form of its backward process.
type Process struct {
	Set        constraint.Set
	Method     Method
	Schedule   Schedule
	Friction   float64 // γ > 0; underdamped methods only
	Landing    Landing
	Walls      Walls     // what becomes of steps that would leave {g ≤ 0}
	Repulsion  float64   // ε ≥ 0: active inequalities are pushed to g = −ε; PaperWalls only
	Potential  Potential // f; nil means f = 0
	Curvature  bool      // the terms 𝓗 (OLLA), 𝓗₁ and 𝓗₂ (ULLA)
	NoTerminal bool      // no Newton projection of the last state
	Convention Convention
	Split      bool // half of a backward step's noise comes before its score (split.go); underdamped, Reference
	// NewGeometry makes the geometry of up to rows points; nil means geometry.New of Set and Repulsion. Tests plug in
	// the reference implementation's. Elastic walls do not use it.
	NewGeometry func(rows int) geometry.Geometry
}

// A ConfigError names a field of a Process, or of another configuration, that cannot be.
type ConfigError struct {
	Field string
	Value any
	Want  string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s is %v; want %s", e.Field, e.Value, e.Want)
}

func (e *ConfigError) Place() fault.Place { return fault.Place{Kind: fault.Problem, Key: e.Field} }

// MaxSteps bounds the steps of a process: paths keep every state.
const MaxSteps = 1_000_000

// Validate returns a *ConfigError or *constraint.UnsupportedError if the process cannot run.
func (p *Process) Validate() error {
	s := p.Schedule
	bad := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	switch {
	case s.N <= 0:
		return &ConfigError{"Schedule.N", s.N, "a number of steps N ≥ 1"}
	case s.N > MaxSteps:
		return &ConfigError{"Schedule.N", s.N, fmt.Sprintf("at most %d steps", MaxSteps)}
	case bad(s.T) || s.T <= 0:
		return &ConfigError{"Schedule.T", s.T, "a time T > 0"}
	case bad(s.SigmaMin) || s.SigmaMin <= 0:
		return &ConfigError{"Schedule.SigmaMin", s.SigmaMin, "σ_min > 0"}
	case bad(s.SigmaMax) || s.SigmaMax < s.SigmaMin:
		return &ConfigError{"Schedule.SigmaMax", s.SigmaMax, fmt.Sprintf("σ_max ≥ σ_min = %v", s.SigmaMin)}
	case p.Method.Underdamped() && (bad(p.Friction) || p.Friction <= 0):
		return &ConfigError{"Friction", p.Friction, "γ > 0"}
	case bad(p.Repulsion) || p.Repulsion < 0:
		return &ConfigError{"Repulsion", p.Repulsion, "ε ≥ 0"}
	case p.Walls < ElasticWalls || p.Walls > LateWalls:
		return &ConfigError{"Walls", int(p.Walls), "ElasticWalls, PaperWalls or LateWalls"}
	case p.Walls == LateWalls && p.NoTerminal:
		return &ConfigError{"Walls", p.Walls.String(), "elastic or paper: late walls need the projection at the end"}
	case p.Split && (!p.Method.Underdamped() || p.Convention != Reference):
		return &ConfigError{"Split", true, "false: ULLA and ULLA-P in the reference convention have noise to split"}
	}
	if !p.Method.Projected() && p.Landing.Explicit {
		if bad(p.Landing.Rate) || p.Landing.Rate <= 0 {
			return &ConfigError{"Landing.Rate", p.Landing.Rate, "α > 0, or implicit landing"}
		}
		// h_{k+1} = (1 − ρ_k) h_k with ρ_k = ασ_k²Δt on an affine set.
		ρ, at := 0.0, 0
		for k := range p.Steps() {
			if r := p.Landing.Rate * s.Tau(k); r > ρ {
				ρ, at = r, k
			}
		}
		if ρ >= 2 {
			return &ConfigError{"Landing.Rate", p.Landing.Rate, fmt.Sprintf(
				"α σ_k²Δt < 2, or landing diverges: it is %.3g at step k = %d; α ≤ %.3g is monotone there", ρ, at,
				1/s.Tau(at))}
		}
	}
	if p.Curvature && !p.Method.Projected() {
		return geometry.CanCurve(p.Set)
	}
	return nil
}

// Geometry makes room for the geometry of rows points as the process uses it: with
// elastic walls, of the equalities alone.
func (p *Process) Geometry(rows int) geometry.Geometry {
	if p.Elastic() {
		return geometry.New(p.moving(), rows, 0)
	}
	if p.NewGeometry != nil {
		return p.NewGeometry(rows)
	}
	return geometry.New(p.Set, rows, p.Repulsion)
}

// BackTau returns τ = σ²Δt of the backward step x_{k+1} → x_k, which the loss shares.
func (p *Process) BackTau(k int) float64 {
	if p.Convention == Reference {
		return p.Schedule.Tau(k)
	}
	return p.Schedule.Tau(k + 1)
}

// MomentumTau returns the τ that turns x_{k+2} − x_{k+1} into p̃_{k+1}. There is
// no x_{N+1}: the pseudo-point that carries p̃_N uses σ_N.
func (p *Process) MomentumTau(k int) float64 {
	if p.Convention == Reference {
		return p.Schedule.Tau(min(k+1, p.Schedule.N))
	}
	return p.Schedule.Tau(min(k+2, p.Schedule.N))
}

// Decay returns a = exp(−γτ), the share of momentum that survives a step.
func (p *Process) Decay(τ float64) float64 { return math.Exp(-p.Friction * τ) }

// landingRate returns α for a step of size τ.
func (p *Process) landingRate(τ float64) float64 {
	if !p.Landing.Explicit {
		return 1 / τ
	}
	return p.Landing.Rate
}

// CanDraw returns a *ConfigError unless a score that was learned for p serves the backward process of by, which must be
// valid and have p's set, σ(t), friction, potential and convention: what it may change is how a step returns to Σ, what
// walls do to it, and the grid of times.
//
// A coarser grid asks the score at its own t_{k+1} and takes the answer as it is: s is 2∇ln q for overdamped methods on
// any grid, and 2γ(∇_p ln q + p̃) to leading order in γτ for underdamped ones. There the best s of a step of size τ
// depends on τ, but no factor brings one to the other for all data: of those tried each made the variance of Gaussian
// samples worse (redraw_test.go has the figures of s as it is). A finer grid would ask below t_1 = T/N, which no score
// has learned and where it changes fastest.
func (p *Process) CanDraw(by *Process) error {
	if p.Method.Underdamped() != by.Method.Underdamped() {
		want := "OLLA or OLLA-P"
		if p.Method.Underdamped() {
			want = "ULLA or ULLA-P"
		}
		return &ConfigError{"Method", by.Method.String(),
			fmt.Sprintf("%s: the score of %s was learned, and with momentum it is another", want, p.Method)}
	}
	if n := p.Schedule.N; by.Schedule.N > n {
		return &ConfigError{"Schedule.N", by.Schedule.N, fmt.Sprintf("at most the %d steps of training: more "+
			"would ask the score at times below T/%d, which it has not learned", n, n)}
	}
	return nil
}

// A Trace gathers how far generated states are from Σ on the way: |h_i| and max(g_j, 0) at each of x_N, …, x_0 and at
// what terminal projection makes of x_0. A sample that loses a projection counts up to the state before.
//
// Means do not depend on the order of what is added (but for a rounding in 10¹⁵): sums
// are kept in twice float64's digits.
type Trace struct {
	steps, equalities, components int

	count []int // of states, by k; k = N+1 is the projected x_0
	sums  []sum // by k and component
	worst []float64
}

// A sum is s + e, e being what rounding lost of s.
type sum struct{ s, e float64 }

func (a *sum) add(s, e float64) {
	t := a.s + s
	z := t - a.s
	a.e += (a.s - (t - z)) + (s - z) + e
	a.s = t
}

// NewTrace makes an empty trace of the backward paths of p.
func NewTrace(p *Process) *Trace {
	n, c := p.Schedule.N+2, len(constraint.Components(p.Set))
	return &Trace{
		steps: p.Schedule.N, equalities: len(p.Set.Equalities()), components: c,
		count: make([]int, n), sums: make([]sum, n*c), worst: make([]float64, n*c),
	}
}

// Steps returns N.
func (t *Trace) Steps() int { return t.steps }

// Count returns how many samples were at x_k; k = N+1 is x_0 after terminal projection.
func (t *Trace) Count(k int) int { return t.count[k] }

// Mean returns the mean violation of a component at x_k, k as in Count; NaN if no sample was there.
func (t *Trace) Mean(k, component int) float64 {
	s := t.sums[k*t.components+component]
	return (s.s + s.e) / float64(t.count[k])
}

// Worst returns the largest violation of a component at x_k.
func (t *Trace) Worst(k, component int) float64 { return t.worst[k*t.components+component] }

// See adds the states x_k with these values of all components, but for those that failed.
func (t *Trace) See(k int, values []float64, failed []bool) {
	sums, worst := t.sums[k*t.components:][:t.components], t.worst[k*t.components:][:t.components]
	for i, lost := range failed {
		if lost {
			continue
		}
		t.count[k]++
		for a, v := range values[i*t.components : (i+1)*t.components] {
			e := constraint.Excess(v, a < t.equalities)
			sums[a].add(e, 0)
			worst[a] = max(worst[a], e)
		}
	}
}

// Add adds what o saw.
func (t *Trace) Add(o *Trace) {
	for k, n := range o.count {
		t.count[k] += n
	}
	for i, s := range o.sums {
		t.sums[i].add(s.s, s.e)
		t.worst[i] = max(t.worst[i], o.worst[i])
	}
}
