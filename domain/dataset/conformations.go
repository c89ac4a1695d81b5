package dataset

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
)

// Conformations describes frames of a molecule by constrained Langevin dynamics with a force
// field. With h the conditions that are equalities, the law is
//
//	exp(−U(x)/kT) δ(h(x)) dx  on {g ≤ 0},
//
// the molecule's law given h = 0: by area of Σ the density is exp(−U/kT)/√det(∇h∇hᵀ) (langevin.Level). That is what
// dynamics without constraints has among its frames with h ≈ 0, and umbrella sampling with a stiff spring on h; no mass
// enters. (Constrained molecular dynamics samples exp(−U/kT) by area in mass-weighted coordinates instead, and wants
// Fixman's correction.) Each coordinate moves with the same mass, which leaves the law as it is and hydrogen no faster
// than the rest. Zero values stand for the defaults.
type Conformations struct {
	System     *amber.System // default: built-in alanine dipeptide
	Start      []float64     // a conformation in Å; needed unless System is the default
	Solvent    amber.Solvent
	Kelvin     float64                   // default 300
	Conditions []conformation.Condition  // Σ; dihedrals are turned there from Start
	Watch      []conformation.Coordinate // whose mixing is reported

	Count    int     // frames; default 10 000
	Chains   int     // default 64
	Burn     int     // steps before the first frame; default 4000
	Every    int     // steps between frames of a chain; default 100
	Step     float64 // τ; default ¾ of the least 1/ω of two atoms on a bond
	Friction float64 // γ; default 2
	Seed     uint64
}

// Frames are what a Conformations made. Frame i is X[i*D:(i+1)*D], all atoms, laid on Start
// without changing it inside; neighbours are of different chains.
type Frames struct {
	System  *amber.System
	X       []float64
	Count   int
	D       int
	Step    float64
	Worst   float64 // largest violation of any condition, Å or radians
	Turned  float64 // share of flights that turned back, at a window or because projection failed
	Failed  float64 // share of projections that failed
	Energy  float64 // mean of U, kcal/mol
	Watched []Watched
}

// Watched is how one coordinate mixed; means on a circle are about the first frame.
type Watched struct {
	Mean, SD  float64 // Å or radians
	ESS, Rhat float64
}

const maxFrames = 2e8 // numbers in a generated set

// defaults fills in what is zero, and returns an *Error for what cannot be.
func (c *Conformations) defaults() error {
	if c.System == nil {
		c.System = amber.AlanineDipeptide()
		if c.Start == nil {
			c.Start = amber.AlanineStart()
		}
	}
	c.Kelvin = cmp.Or(c.Kelvin, 300)
	c.Count, c.Chains, c.Burn = cmp.Or(c.Count, 10_000), cmp.Or(c.Chains, 64), cmp.Or(c.Burn, 4000)
	c.Every, c.Friction = cmp.Or(c.Every, 100), cmp.Or(c.Friction, 2)
	bad := func(field string, value any, want string) error {
		return &Error{File: "conformations", Column: field, Value: fmt.Sprint(value), Want: want}
	}
	atoms := len(c.System.Atoms)
	switch {
	case len(c.Start) != 3*atoms:
		return bad("start", fmt.Sprintf("%d numbers", len(c.Start)), fmt.Sprintf("three for each of %d atoms", atoms))
	case !(c.Kelvin > 0) || c.Kelvin > amber.MaxKelvin:
		return bad("temperature", c.Kelvin, fmt.Sprintf("kelvin, above 0 and at most %v", amber.MaxKelvin))
	case c.Count < 1 || float64(c.Count)*float64(3*atoms) > maxFrames:
		return bad("n", c.Count, fmt.Sprintf("at least 1, and at most %.0g numbers in all", maxFrames))
	case c.Chains < 1 || c.Chains > 10_000:
		return bad("chains", c.Chains, "1 to 10000")
	case c.Burn < 0 || c.Burn > 1e9:
		return bad("burn", c.Burn, "0 to 1e9 steps")
	case c.Every < 1 || c.Every > 1e9:
		return bad("every", c.Every, "1 to 1e9 steps")
	case !(c.Friction > 0) || math.IsInf(c.Friction, 0):
		return bad("friction", c.Friction, "a number above 0")
	}
	if c.Step == 0 {
		stiff := 0.0
		for _, b := range c.System.Bonds {
			stiff = max(stiff, b.K)
		}
		// Two atoms of mass 1 on a spring 2K/kT swing with ω² = 4K/kT.
		if c.Step = 0.01; stiff > 0 {
			c.Step = 0.75 / math.Sqrt(4*stiff/(amber.Boltzmann*c.Kelvin))
		}
	}
	if !(c.Step > 0) || math.IsInf(c.Step, 0) {
		return bad("step", c.Step, "a number above 0")
	}
	return nil
}

// Generate runs the chains and calls progress with their steps. Frames are a function of the fields alone, whatever the
// pool. The error is an *Error that names a field, a *conformation.Error, a *langevin.DivergedError or the context's.
func (c Conformations) Generate(
	ctx context.Context, pool *parallel.Pool, progress func(step, of int),
) (*Frames, error) {
	if err := c.defaults(); err != nil {
		return nil, err
	}
	if err := c.System.Plausible(c.Start); err != nil {
		return nil, err
	}
	set, err := conformation.New(conformation.Spec{Molecule: c.System.Molecule, Conditions: c.Conditions})
	if err != nil {
		return nil, err
	}
	energy, err := amber.NewPotential(c.System, c.Solvent, c.Kelvin, nil)
	if err != nil {
		return nil, err
	}
	f, err := langevin.Level(set, energy)
	if err != nil {
		return nil, err
	}
	x0, err := c.begin(set, energy)
	if err != nil {
		return nil, err
	}
	keep := (c.Count + c.Chains - 1) / c.Chains
	process := &langevin.Process{Set: set, Method: langevin.ULLAP, Potential: f, Friction: c.Friction,
		Schedule: langevin.Schedule{N: 1, T: c.Step, SigmaMin: 1, SigmaMax: 1}}
	chains := langevin.Chains{Process: process, Symmetric: true, Count: c.Chains, Burn: c.Burn, Keep: keep,
		Thin: c.Every, Seed: c.Seed}
	if progress != nil {
		of := c.Burn + keep*c.Every
		chains.Progress = func(step int) { progress(step, of) }
	}
	draws, err := chains.Run(ctx, pool, slices.Repeat(x0, c.Chains))
	if err != nil {
		return nil, err
	}
	if share := draws.FailedShare(); share > mostFailed {
		return nil, &Error{File: "conformations", Column: "step", Value: fmt.Sprintf("%.3g, at which %.1f %% of "+
			"projections failed", c.Step, 100*share), Want: "a smaller step"}
	}
	return c.frames(draws, set, energy)
}

// mostFailed is the share of projections that may fail: each leaves a chain where it was.
const mostFailed = 0.001

// frames orders the draws by time, refines them onto Σ and lays them on the start.
func (c *Conformations) frames(draws *langevin.Draws, set *conformation.Set, energy *amber.Potential) (*Frames, error) {
	d := draws.Dim
	out := &Frames{System: c.System, Count: c.Count, D: d, X: make([]float64, c.Count*d), Step: c.Step,
		Turned: draws.Turned, Failed: draws.FailedShare()}
	base, err := superpose.New(c.Start)
	if err != nil {
		return nil, err
	}
	solver, u := geometry.NewSolver(set, 0), make([]float64, 1)
	m := len(set.Equalities())
	for i := range c.Count {
		chain, t := i%c.Chains, i/c.Chains
		row, from := out.X[i*d:(i+1)*d], draws.X[(chain*draws.Keep+t)*d:][:d]
		if pose := base.Fit(from); pose.Degenerate() {
			copy(row, from)
		} else {
			pose.Apply(row, from)
		}
		solver.Descend(row, refined)
		energy.Value(u, row, 1)
		if err := c.System.Plausible(row); err != nil || math.IsNaN(u[0]) {
			return nil, &Error{File: "conformations", Column: "step", Value: fmt.Sprintf("%.3g, at which the molecule "+
				"fell apart by frame %d", c.Step, i), Want: "a smaller step"}
		}
		out.Energy += u[0] * amber.Boltzmann * c.Kelvin / float64(c.Count)
		worst, _ := constraint.Worst(constraint.Values(set, row), m)
		out.Worst = max(out.Worst, worst)
	}
	for _, q := range c.Watch {
		out.Watched = append(out.Watched, watch(q, draws))
	}
	return out, nil
}

// refined is how near to Σ frames are brought, in Å and radians.
const refined = 1e-13

func watch(q conformation.Coordinate, draws *langevin.Draws) Watched {
	var chains [][]float64
	var all []float64
	first := q.Value(draws.X[:draws.Dim])
	for k := range draws.Count {
		v := make([]float64, draws.Keep)
		for t := range v {
			v[t] = q.Value(draws.X[(k*draws.Keep+t)*draws.Dim:][:draws.Dim])
			if q.Kind == conformation.Dihedral {
				v[t] = first + math.Remainder(v[t]-first, 2*math.Pi)
			}
		}
		chains, all = append(chains, v), append(all, v...)
	}
	mean, sd := stat.MeanStdDev(all, nil)
	if q.Kind == conformation.Dihedral {
		mean = math.Remainder(mean, 2*math.Pi)
	}
	return Watched{Mean: mean, SD: sd, ESS: metric.ESS(chains), Rhat: metric.SplitRhat(chains)}
}

// begin returns Start turned about bonds until its dihedrals are in their conditions, brought
// onto Σ and let down: far from Σ, Newton's method would stretch bonds to get there.
func (c *Conformations) begin(set *conformation.Set, energy *amber.Potential) ([]float64, error) {
	x := slices.Clone(c.Start)
	for _, q := range c.Conditions {
		if q.Kind == conformation.Dihedral {
			turn(c.System.Molecule, x, q)
		}
	}
	solver := geometry.NewSolver(set, 0)
	if !solver.Project(x, startMargin) && !solver.Descend(x, refined) {
		return nil, langevin.NoStart(set, x, langevin.NoGivenStart)
	}
	letDown(x, energy, solver)
	return x, nil
}

// startMargin is how far inside of windows a start is put, in radians or Å.
const startMargin = 0.01

// turn rotates what lies beyond the middle bond of a dihedral, unless that is in a ring, to the
// middle of the condition if it is not met.
func turn(m *molecule.Molecule, x []float64, q conformation.Condition) {
	a := q.Atoms
	width := q.High - q.Low
	off := math.Remainder(molecule.Torsion(x, a[0], a[1], a[2], a[3])-(q.Low+width/2), 2*math.Pi)
	moving := m.Beyond(a[1], a[2])
	if math.IsNaN(off) || math.Abs(off) < width/2 || moving == nil {
		return
	}
	// By Rodrigues' formula about the axis e through atom a₂, by −off.
	var e [3]float64
	length := molecule.Distance(x, a[1], a[2])
	for k := range 3 {
		e[k] = (x[3*a[2]+k] - x[3*a[1]+k]) / length
	}
	sin, cos := math.Sincos(-off)
	o := [3]float64(x[3*a[2] : 3*a[2]+3])
	for _, i := range moving {
		v := [3]float64{x[3*i] - o[0], x[3*i+1] - o[1], x[3*i+2] - o[2]}
		along := (1 - cos) * (e[0]*v[0] + e[1]*v[1] + e[2]*v[2])
		for k := range 3 {
			l, n := (k+1)%3, (k+2)%3
			x[3*i+k] = o[k] + cos*v[k] + sin*(e[l]*v[n]-e[n]*v[l]) + along*e[k]
		}
	}
}

// letDown goes down the gradient on Σ for a while, so that chains do not begin with a
// clash: steps are projected, halved where they do not help, and lengthened where they do.
func letDown(x []float64, energy *amber.Potential, solver *geometry.Solver) {
	const steps, first, last = 300, 1e-5, 1e-9
	g, y, u, v := make([]float64, len(x)), make([]float64, len(x)), make([]float64, 1), make([]float64, 1)
	energy.Value(u, x, 1)
	step := first
	for range steps {
		energy.Gradient(g, x, 1)
		most := 0.0
		for _, s := range g {
			most = max(most, math.Abs(s))
		}
		length := min(step, 0.1/most) // no atom moves further than 0.1 Å
		for i, s := range g {
			y[i] = x[i] - length*s
		}
		if ok := solver.Project(y, startMargin); ok {
			energy.Value(v, y, 1)
		} else {
			v[0] = math.NaN()
		}
		if v[0] < u[0] {
			copy(x, y)
			u[0], step = v[0], 1.5*length
		} else if step = length / 2; step < last {
			return
		}
	}
}
