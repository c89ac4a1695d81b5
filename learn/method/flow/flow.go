// Package flow is Riemannian flow matching (Chen and Lipman, "Flow matching on general geometries", 2024): a network
// learns the velocities v_t(x), t from 0 to 1, of paths on Σ from draws x_0 of a prior to rows x_1 of the data,
//
//	E ‖Π v_t(x_t) − u_t(x_t | x_1)‖²,
//
// and samples follow the ODE dx/dt = Π v_t(x) from the prior. The paths x_t and their velocities u_t are geodesics
// where the set knows them in closed form (constraint.Evaluator.Exp and Log), and those of the biharmonic premetric on
// a level set that comes with a mesh (package premetric). It is not for other sets: New refuses them.
package flow

import (
	"cmp"
	"fmt"
	"math"
	"sync"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// Times is how many strata of (0, 1) an item has a time in.
const Times = 32

const steps = 1000 // of the ODE: the paper's N

// The options, by name.
const (
	order     = "order"
	correct   = "correct"
	functions = "eigenfunctions"
	pathSteps = "path_steps"
)

// Kind is the row of the registry.
var Kind = method.Kind{Name: "flow", Alias: "RFM", Steps: steps, Kept: 2 * Times, Velocity: true, New: fromConfig,
	Options: []score.Option{
		{Name: order, Default: 1, Lowest: 1, Most: 4, Whole: true,
			Doc: "of the steps in which samples follow the ODE: 1, Euler's, or 4, those of Runge and Kutta"},
		{Name: correct, Default: 0, Lowest: 0, Most: 1, Whole: true,
			Doc: "1: each step goes towards the end that its velocity leads to, brought nearer to Σ"},
		{Name: functions, Default: 200, Lowest: 2, Most: 1000, Whole: true,
			Doc: "of the premetric on a mesh, or as many as it has vertices"},
		{Name: pathSteps, Default: 100, Lowest: 1, Most: 100_000, Whole: true,
			Doc: "of a path of the premetric at least"},
	},
	Idle: []string{"Schedule.T", "Schedule.SigmaMin", "Schedule.SigmaMax", "Geometric", "Friction", "Landing.Explicit",
		"Landing.Rate", "Walls", "Repulsion", "Curvature", "NoTerminal", "Convention", "Prior", "Noise"},
}

// Options of a Method; the zero value is the default.
type Options struct {
	Steps     int  // of the ODE; 0 is 1000
	Order     int  // 1 (also 0) or 4
	Correct   bool // as physics-constrained flow matching does (Sampler)
	Functions int  // of the premetric; 0 is 200
	PathSteps int  // 0 is 100
	Paths     int  // rows that paths lead to between refreshes, in turn; 0 means all
}

// A Method is the flow on a set.
type Method struct {
	set, smooth constraint.Set    // Σ, and {h = 0}
	surface     *levelset.Surface // nil: geodesics have a closed form
	prior       method.Prior
	speed       float64 // of a path, in each direction of Σ
	opt         Options
}

func fromConfig(c method.Config) (method.Method, error) {
	if c.Window != 0 {
		return nil, &method.ConfigError{Field: "Window", Value: c.Window, Want: "0: a flow's paths have no " +
			"noise that targets could be averaged over"}
	}
	if c.Output != "" && c.Output != "plain" {
		return nil, &method.ConfigError{Field: "Output", Value: c.Output, Want: "plain: velocities are of one " +
			"size at all times"}
	}
	o := Options{Steps: c.Process.Schedule.N, Order: int(c.Options[order]), Correct: c.Options[correct] != 0,
		Functions: int(c.Options[functions]), PathSteps: int(c.Options[pathSteps]), Paths: c.Paths}
	if o.Order != 1 && o.Order != 4 {
		return nil, &score.OptionError{Option: order, Value: c.Options[order], Want: "1 or 4"}
	}
	if o.Correct && o.Order != 1 {
		return nil, &score.OptionError{Option: correct, Value: 1, Want: "0, or order 1: steps that are corrected are " +
			"Euler's"}
	}
	return New(c.Process.Set, c.Process.Potential, o)
}

// New returns the method on a set. Paths begin with its uniform law if it has one, and else with
// points of the law exp(−f), normal ones of f or of N(0, I) if f is nil, brought to Σ. The error is a
// *method.ConfigError: the set has neither geodesics in closed form nor a mesh, or f is of no use.
func New(set constraint.Set, f langevin.Potential, o Options) (*Method, error) {
	o.Steps, o.Order = cmp.Or(o.Steps, steps), cmp.Or(o.Order, 1)
	o.Functions, o.PathSteps = cmp.Or(o.Functions, 200), cmp.Or(o.PathSteps, 100)
	m := &Method{set: set, smooth: constraint.EqualitiesOf(set), opt: o}
	own := set.Capabilities()
	if set.NewEvaluator(1).Exp == nil {
		surface, ok := constraint.As[*levelset.Surface](set)
		if !ok || len(set.Inequalities()) > 0 || set.Dim() != 3 || own.SampleUniform == nil {
			return nil, &method.ConfigError{Field: "Process", Value: "flow", Want: fmt.Sprintf("another "+
				"method: %s has neither geodesics in closed form (spheres, SO(n), circles, affine and Euclidean sets, "+
				"boxes, simplices and products of these have, as set.kind) nor a mesh (set.mesh of a level set)",
				constraint.Name(set))}
		}
		m.surface = surface
	}
	switch {
	case own.SampleUniform != nil && f != nil:
		return nil, &method.ConfigError{Field: "Potential", Value: constraint.Name(set), Want: "none: a flow begins " +
			"with the uniform law of a set that has one"}
	case own.SampleUniform != nil:
		m.prior = langevin.Uniform(own.SampleUniform)
	case len(set.Inequalities()) > 0:
		return nil, &method.ConfigError{Field: "Process", Value: "flow", Want: fmt.Sprintf("another method: %s has "+
			"walls and no uniform law for paths to begin with", constraint.Name(set))}
	default:
		q, normal := f.(langevin.Quadratic)
		if f != nil && !normal {
			return nil, &method.ConfigError{Field: "Potential", Value: constraint.Name(set), Want: "none or a " +
				"quadratic one, whose normal law a flow can begin with"}
		}
		m.prior = newNormal(m.smooth, q)
	}
	m.speed = m.measure()
	return m, nil
}

// pairs is how many a speed is measured by: it is known to a part in ten.
const pairs = 200

// measure returns the root mean square of how far points of the prior are from each other, in each
// direction of Σ: velocities in units of it are of size 1.
func (m *Method) measure() float64 {
	d, at := m.set.Dim(), keyed.FlowSpeeds.Stream(0, 0)
	x, y, v := make([]float64, d), make([]float64, d), make([]float64, d)
	e, g, sum, n := m.set.NewEvaluator(1), geometry.New(m.smooth, 1, 0), 0.0, 0.0
	for i := range uint64(pairs) {
		m.prior.Sample(x, at, 2*i)
		m.prior.Sample(y, at, 2*i+1)
		dense.AddScaled(v, y, -1, x)
		if e.Log != nil && !e.Log(v, x, y) || g.At(x, 1) != nil {
			continue
		}
		sum += dense.Dot(v, v)
		n += float64(max(d-g.Rank(0), 1))
	}
	if !(sum > 0) {
		return 1
	}
	return math.Sqrt(sum / n)
}

func (m *Method) Name() string        { return "flow" }
func (m *Method) Momentum() bool      { return false }
func (m *Method) Feasible() bool      { return true }
func (m *Method) Prior() method.Prior { return m.prior }

// Gain is the size of velocities.
func (m *Method) Gain() func(t float64) float64 { return func(float64) float64 { return m.speed } }

func (m *Method) Capabilities() method.Capabilities {
	return method.Capabilities{Horizon: 1, Recast: m.Recast}
}

// Recast is method.Capabilities.Recast: a flow may be followed by other steps.
func (m *Method) Recast(by method.Method) (method.Method, error) {
	to, ok := by.(*Method)
	if !ok {
		return nil, &langevin.ConfigError{Field: "Method", Value: by.Name(), Want: "flow: a velocity was learned, " +
			"and no score"}
	}
	for field, of := range map[string][2]int{
		functions: {m.opt.Functions, to.opt.Functions}, pathSteps: {m.opt.PathSteps, to.opt.PathSteps},
	} {
		if of[0] != of[1] {
			return nil, &langevin.ConfigError{Field: field, Value: of[1], Want: fmt.Sprintf("%d, by which its paths "+
				"were: it is of training", of[0])}
		}
	}
	out := *m
	out.opt.Steps, out.opt.Order, out.opt.Correct = to.opt.Steps, to.opt.Order, to.opt.Correct
	return &out, nil
}

func (m *Method) Source(data []float64, pool *parallel.Pool) method.Source[float32] {
	return NewSource[float32](m, data, pool)
}

// normal is the law N(c, 1/w) of R^d, each point brought to Σ.
type normal struct {
	center, size []float64 // nil: 0 and 1
	solvers      *sync.Pool
}

func newNormal(set constraint.Set, q langevin.Quadratic) normal {
	n := normal{center: q.Center}
	for _, w := range q.Weight {
		n.size = append(n.size, 1/math.Sqrt(w))
	}
	if len(set.Equalities()) > 0 {
		n.solvers = &sync.Pool{New: func() any { return geometry.NewSolver(set, 0) }}
	}
	return n
}

// Sample implements method.Prior. A point that cannot be brought to Σ, such as the centre of a sphere, is drawn again.
func (n normal) Sample(dst []float64, s keyed.Stream, sample uint64) {
	const tries = 20
	for try := range tries {
		s.Normals(dst, sample, try)
		for j := range dst {
			if n.size != nil {
				dst[j] *= n.size[j]
			}
			if n.center != nil {
				dst[j] += n.center[j]
			}
		}
		if n.solvers == nil {
			return
		}
		to := n.solvers.Get().(*geometry.Solver)
		ok := to.Descend(dst, 1e-13)
		if n.solvers.Put(to); ok {
			return
		}
	}
	panic(fmt.Sprintf("flow: %d normal points in turn cannot be brought to the set", tries))
}
