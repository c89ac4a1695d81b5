package problem

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
	molecules "github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem/sets"
)

// Build returns the process that the problem describes, valid, or a *KeyError.
func (p *Problem) Build() (*langevin.Process, error) {
	set, err := buildSet(p)
	if err != nil {
		return nil, err
	}
	return p.On(set)
}

// On is Build on the set that Build made of the problem, or of one with the same set.
func (p *Problem) On(set constraint.Set) (*langevin.Process, error) {
	proc, err := assemble(p, set)
	if err == nil {
		err = placed(p, proc.Validate())
	}
	if err != nil {
		return nil, err
	}
	return proc, check(p, proc)
}

// fieldKeys are the keys of the fields that errors of lower floors and method.Kind.Idle name.
var fieldKeys = map[string]string{
	"Schedule.N": KeyProcessSteps, "Schedule.T": KeyProcessHorizon, "Schedule.SigmaMin": KeyProcessSigmaMin,
	"Schedule.SigmaMax": KeyProcessSigmaMax, "Geometric": "process.sigma.schedule", "Method": KeyProcessMethod,
	"Process": KeyProcessMethod, "Friction": KeyProcessFriction, "Walls": KeyProcessWalls,
	"Repulsion": KeyProcessRepulsion, "Curvature": KeyProcessCurvature, "NoTerminal": KeyProcessTerminalProjection,
	"Landing.Explicit": KeyProcessLandingMode, "Landing.Rate": KeyProcessLandingRate, "Split": KeyProcessNoise,
	"Noise": KeyProcessNoise, "Convention": KeyConvention, "Prior": KeyPrior, "Potential": KeyPotentialKind,
	"Window": KeyTrainWindow, "Paths": KeyTrainPaths, "Output": KeyNetworkOutput, "Levels": "process.options.levels",
	"eigenfunctions": "process.options.eigenfunctions", "path_steps": "process.options.path_steps",
}

// placed makes an error about a field of a process or a method a *KeyError; others stay.
func placed(p *Problem, err error) error {
	var field *langevin.ConfigError
	var unsupported *constraint.UnsupportedError
	switch {
	case errors.As(err, &field):
		return p.key(fieldKeys[field.Field], field.Value, field.Want)
	case errors.As(err, &unsupported):
		return p.key("set.kind", p.Set.Is(), fmt.Sprintf("a set with %s, for %s", unsupported.Need, unsupported.For))
	}
	return err
}

// Assemble returns the process that the problem describes, or a *KeyError, without asking whether it can run: the
// doctor says that. A landing rate that is auto is chosen here, from the schedule; a repulsion that is auto needs
// data, and is 0.
func (p *Problem) Assemble() (*langevin.Process, error) {
	set, err := buildSet(p)
	if err != nil {
		return nil, err
	}
	return assemble(p, set)
}

// buildSet builds the feasible set, and settles what follows from it: the names of a condition where it leaves numbers
// open and has names for them, and the defaults of sequences. The error is a *KeyError.
func buildSet(p *Problem) (constraint.Set, error) {
	if err := checkColumns(p); err != nil {
		return nil, err
	}
	set, err := p.Set.BuildGiven("set", p.Condition.Columns)
	var e *sets.Error
	if errors.As(err, &e) {
		if e.Fault != "" {
			return nil, p.fault(e.Key, "%s", e.Fault)
		}
		return nil, p.key(e.Key, e.Value, e.Want)
	}
	if err != nil {
		return nil, err
	}
	if names := set.Capabilities().HeldNames; len(p.Condition.Columns) == 0 && len(names) > 0 {
		p.Condition.Columns = names
		if err := checkColumns(p); err != nil {
			return nil, err
		}
	}
	chooseKind(p, set)
	chooseSequence(p, set)
	return set, nil
}

// assemble is Assemble on a set.
func assemble(p *Problem, set constraint.Set) (proc *langevin.Process, err error) {
	if err := checkParts(p, set); err != nil {
		return nil, err
	}
	proc = &langevin.Process{
		Set:       set,
		Friction:  p.Process.Friction,
		Curvature: p.Process.Curvature, NoTerminal: !p.Process.TerminalProjection, Split: p.Process.Noise == "split",
		Schedule: langevin.Schedule{
			N: p.Process.Steps, T: p.Process.Horizon,
			SigmaMin: p.Process.Sigma.Min, SigmaMax: p.Process.Sigma.Max,
			Geometric: p.Process.Sigma.Schedule == "geometric",
		},
		Landing: langevin.Landing{Explicit: p.Process.Landing.Mode == "explicit",
			Rate: float64(p.Process.Landing.Rate)},
	}
	// Of one end of σ that is given the other follows; until then it is where it can be.
	if s := &proc.Schedule; s.SigmaMax < s.SigmaMin {
		switch {
		case p.Left(KeyProcessSigmaMax):
			s.SigmaMax = s.SigmaMin
		case p.Left(KeyProcessSigmaMin):
			s.SigmaMin = s.SigmaMax
		}
	}
	if forward := p.MethodKind.Forward; forward != nil {
		proc.Method = forward(*proc).Method
	}
	proc.Convention, _ = langevin.ParseConvention(p.Convention) // one of its words
	if w := p.Process.Walls; w != "" {
		proc.Walls, _ = langevin.ParseWalls(w)
	} else if open := set.Capabilities().Open; open != nil && p.Left(KeyProcessWalls) && p.MethodKind.Forward != nil &&
		!proc.NoTerminal && !proc.Method.Projected() {
		proc.Walls = langevin.LateWalls
	}
	if proc.Potential, err = potential(p, p.Condition.Columns, set.Dim()); err != nil {
		return nil, err
	}
	if p.Process.Landing.Rate.IsAuto() {
		proc.Landing.Rate = proc.MonotoneRate()
	}
	if !p.Process.Repulsion.IsAuto() {
		proc.Repulsion = float64(p.Process.Repulsion)
	}
	return proc, nil
}

// potential returns f of points in R^dim, of whose coordinates the last ones are those given; or a *KeyError.
func potential(p *Problem, given []string, dim int) (langevin.Potential, error) {
	f, o, d := p.Potential, p.origins, dim-len(given)
	if f.Kind != "formula" && f.Kind != "zero" && d < dim {
		free, err := potential(p, nil, d)
		if err != nil {
			return nil, err
		}
		return langevin.Before(free, d, dim-d), nil
	}
	length := func(key string, v []float64) error {
		if v != nil && len(v) != d {
			return o.key(key, v, fmt.Sprintf("%d numbers, one a coordinate", d))
		}
		return nil
	}
	switch f.Kind {
	case "quadratic":
		if err := length("potential.center", f.Center); err != nil {
			return nil, err
		}
		return langevin.Quadratic{Center: f.Center, Weight: f.Weight}, length("potential.weight", f.Weight)
	case "linear":
		if f.B == nil {
			return nil, o.key("potential.b", f.B, fmt.Sprintf("%d numbers, one a coordinate", d))
		}
		return langevin.Linear{B: f.B}, length("potential.b", f.B)
	case "formula":
		energy, err := formula.NewPotential(d, p.Set.Definitions(), f.Expr, given...)
		var fault *formula.Error
		if errors.As(err, &fault) {
			key := "potential." + fault.Key
			if fault.Key != "expr" {
				key = "set." + fault.Key
			}
			return nil, o.fault(key, "%v", fault.Err)
		}
		return energy, err
	case "amber":
		return f.forceField(o, d)
	}
	return nil, nil // zero
}

// HeldOut reports whether held-out distances end the training.
func (t Train) HeldOut() bool { return t.Stop == "held_out" || t.ByLoss() }

// ByLoss reports whether these are distances of what the network learns from, not of its samples: losses.
func (t Train) ByLoss() bool { return t.Stop == "held_out_loss" }

// Config returns what package train reads. hidden is the share of terms that do not see a condition.
func (t Train) Config(seed uint64, hidden float64) train.Config {
	c := train.Config{
		Epochs: t.Epochs, Batch: t.Batch, Refresh: t.Refresh, TimesPerPath: t.TimesPerPath,
		LearningRate: t.LearningRate, Anneal: t.Anneal, Clip: t.Clip, Average: t.Average, Plateau: t.Plateau,
		MaxFailed: t.MaxFailed, Seed: seed, Hidden: hidden, JudgedByLoss: t.ByLoss(),
	}
	switch {
	case t.Epochs > 0:
	case t.MaxSeconds > 0:
		c.Epochs = train.MaxClocked // a clock decides
	case t.HeldOut():
		c.Epochs = train.MostJudged
	}
	c.Optimizer, _ = train.ParseOptimizer(t.Optimizer) // checked by Build
	return c
}

// Method returns how the problem's law is learned and drawn from, or a *KeyError; proc is what Build returned.
func (p *Problem) Method(proc *langevin.Process) (method.Method, error) {
	m, err := p.MethodKind.Make(method.Config{Name: p.Process.Method, Process: proc, Window: p.Train.Window,
		Paths: p.Train.Paths, Share: p.Train.Preparation, Output: p.Network.Output, Options: p.Process.Options})
	if e, ok := err.(*score.OptionError); ok {
		return nil, p.option("process.options.", e)
	} else if err != nil {
		return nil, placed(p, err)
	}
	return p.Generate.counted(p.origins, m)
}

// counted returns m as it draws by generate.evaluations, if that is given.
func (g Generate) counted(o origins, m method.Method) (method.Method, error) {
	n := g.Evaluations
	if n == 0 {
		return m, nil
	}
	with := m.Capabilities().With
	if with == nil {
		return nil, o.key(KeyGenerateEvaluations, n, "0: "+m.Name()+" takes as many as process.steps")
	}
	out, err := with(n)
	if e, ok := err.(*method.ConfigError); ok {
		return nil, o.key(KeyGenerateEvaluations, e.Value, e.Want)
	}
	return out, err
}

// option says at its key what is wrong with an option.
func (o origins) option(prefix string, e *score.OptionError) error {
	key := prefix + e.Option
	if e.Fault != "" {
		return o.fault(key, "%s", e.Fault)
	}
	return o.key(key, e.Value, e.Want)
}

// behind returns how many coordinates of a point in R^d stand behind its steps: those that
// are held at its end, where the set does not say that it is a sequence.
func behind(c constraint.Capabilities, d int) (n int) {
	if c.Steps > 0 {
		return d - c.Steps*c.StepDim
	}
	for n < len(c.Held) && c.Held[len(c.Held)-1-n] == d-1-n {
		n++
	}
	return n
}

// NetworkConfig returns the problem's network for a method on points of a set.
func (p *Problem) NetworkConfig(m method.Method, set constraint.Set) score.Config {
	n, own, horizon := p.Network, set.Capabilities(), p.Process.Horizon
	can := m.Capabilities()
	if can.Horizon > 0 {
		horizon = can.Horizon
	}
	c := score.Config{
		Kind: n.Kind, Row: p.NetworkKind, Dim: set.Dim(), Steps: own.Steps, Held: behind(own, set.Dim()),
		Momentum: m.Momentum(), Width: n.Width, Layers: n.Layers, Octaves: n.Octaves, Wavelength: n.Wavelength,
		Options: n.Options, Gain: m.Gain(), Seed: p.Seed,
		TimeOctaves: n.TimeOctaves, Horizon: horizon, Null: p.Condition.Drop > 0,
		Share: n.Time == "share", Center: n.Center, Unit: n.Unit, Scales: n.Scales,
	}
	if s, ok := constraint.As[*conformation.Set](set); ok && n.Options["torsions"] > 0 {
		c.Torsions = s.Molecule().Torsions()
	}
	if n.OctavesOf == "start" || n.Scales != nil {
		if can.Start == nil && can.Noising != nil {
			can.Start = can.Noising.Start
		}
		if can.Start != nil {
			c.Start, c.Still = can.Start(), own.Held
		}
	}
	if can.Follows != nil && p.Network.Kind == "gaussian" {
		start, ahead := can.Follows.Start(), can.Follows.Ahead()
		c.Ahead = func(t float64) (b, v, a, c float64) {
			b, v = start(t)
			a, c = ahead(t)
			return b, v, a, c
		}
	}
	c.Precision, _ = kernel.ParsePrecision(p.Train.Precision) // checked by Build
	return c
}

// defaultLeaps is sample.leaps where it is not given.
const defaultLeaps = 10

// maxNumbers bounds the kept draws of all chains, and the paths that training keeps.
const maxNumbers = 1e9

// BuildChains returns the unlearned sampler that the problem describes, or a *KeyError. Only the set, the potential,
// friction, landing and curvature of the rest of the problem count.
func (p *Problem) BuildChains() (*langevin.Chains, error) {
	c := p.Sample
	if err := p.Condition.none(p.origins); err != nil {
		return nil, err
	}
	step := float64(c.Step)
	if p.StepIsAuto() { // experiment chooses it
		step = 0.1
	}
	if err := checkRanges(p); err != nil {
		return nil, err
	}
	if err := p.checkEffect(nil); err != nil {
		return nil, err
	}
	if float64(c.Draws)*float64(c.Thin) > 1e12 {
		return nil, p.key("sample.thin", c.Thin, "at most 1e12 steps in all")
	}
	q := *p
	q.Process.Steps, q.Process.Horizon = 1, step
	q.Process.Sigma = Sigma{Min: 1, Max: 1, Schedule: "linear"}
	q.Process.TerminalProjection = false
	if q.Process.Walls != langevin.PaperWalls.String() { // chains have no last state
		q.Process.Walls = langevin.ElasticWalls.String()
	}
	leaps, symmetric := 0, c.Method == "splitting" || c.Method == "chmc"
	if c.Method == "chmc" {
		leaps = cmp.Or(c.Leaps, defaultLeaps)
	}
	if q.Process.Method = c.Method; symmetric {
		q.Process.Method, q.Process.Curvature = "ULLA-P", false // it projects, so the set must allow that
	}
	if _, err := langevin.ParseMethod(q.Process.Method); err != nil {
		return nil, p.key("sample.method", c.Method, "splitting, chmc, ULLA, OLLA, ULLA-P or OLLA-P")
	}
	q.MethodKind, _ = methods.Of(q.Process.Method)
	proc, err := q.Assemble()
	if err == nil {
		err = placed(&q, proc.Validate())
	}
	if err != nil {
		return nil, err
	}
	if err := q.Condition.none(q.origins); err != nil { // of a set that leaves numbers open
		return nil, err
	}
	if float64(c.Chains)*float64(c.Draws)*float64(proc.Set.Dim()) > maxNumbers {
		return nil, p.key("sample.draws", c.Draws, fmt.Sprintf("at most %.0g numbers in all draws of all chains",
			maxNumbers))
	}
	if b, ok := proc.Potential.(langevin.Beginner); ok && b.Begin() == nil {
		return nil, p.key(coordinatesKey, p.Potential.Coordinates,
			"an inpcrd or rst7 file: chains begin from its conformation, since a molecule at random points has no "+
				"energy")
	}
	if p.Set.Unbounded() && proc.Potential == nil {
		return nil, p.key(KeyPotentialKind, p.Potential.Kind,
			"a potential: on an unbounded set exp(−0) is no distribution")
	}
	if c.Measure == "level" {
		if proc.Potential, err = langevin.Level(proc.Set, proc.Potential); err != nil {
			return nil, p.key("sample.measure", c.Measure, "surface, since "+err.Error())
		}
	}
	return &langevin.Chains{Process: proc, Symmetric: symmetric, Leaps: leaps, Count: c.Chains, Burn: c.Burn,
		Keep: c.Draws, Thin: c.Thin, Seed: p.Seed}, nil
}

// none returns a *KeyError if there is a condition.
func (c Condition) none(o origins) error {
	if len(c.Columns) > 0 {
		return o.key(KeyConditionColumns, c.Columns, "none: chains of landing mcmc have no data to take them from; "+
			"write their values into the set")
	}
	return nil
}

// Keys of the files that a force field is read from.
const (
	prmtopKey      = "potential.prmtop"
	coordinatesKey = "potential.coordinates"

	builtIn = "alanine-dipeptide"
	kelvin  = 300 // default of potential.temperature
)

// forceField returns f = U/kT of kind amber; the error is a *KeyError.
func (f Potential) forceField(o origins, d int) (langevin.Potential, error) {
	fault := func(key string, err error) error {
		if errors.As(err, new(*fs.PathError)) {
			return err // a file's, told as other files are
		}
		return o.fault(key, "%v", err)
	}
	if (f.Molecule == "") == (f.Prmtop == "") {
		return nil, o.key(prmtopKey, f.Prmtop, "either a prmtop file, or potential.molecule: "+builtIn)
	}
	solvent, err := amber.ParseSolvent(cmp.Or(f.Solvent, amber.OBC2.String()))
	if err != nil {
		return nil, err // it is one of its words
	}
	system, start, source := amber.AlanineDipeptide(), amber.AlanineStart(), "potential.molecule"
	if f.Prmtop != "" {
		source, start = prmtopKey, nil
		if system, err = amber.ReadPrmtop(f.Prmtop); err != nil {
			return nil, fault(source, err)
		}
	}
	if n := len(system.Atoms); 3*n != d {
		return nil, o.key(source, cmp.Or(f.Prmtop, f.Molecule), fmt.Sprintf("a molecule of %v atoms, since points of "+
			"the set have %d coordinates, and not of %d", float64(d)/3, d, n))
	}
	if f.Coordinates != "" {
		if start, err = amber.ReadCoordinates(f.Coordinates, len(system.Atoms)); err == nil {
			err = system.Plausible(start)
		}
		if err != nil {
			return nil, fault(coordinatesKey, err)
		}
	}
	energy, err := amber.NewPotential(system, solvent, cmp.Or(f.Temperature, kelvin), start)
	if err != nil {
		return nil, fault(source, err)
	}
	return energy, nil
}

const referenceKey = "network.reference"

// Reference reads the conformation that network.reference names, for points in R^d. Of a file with several frames it
// is the first. The error is a *KeyError.
func (p *Problem) Reference(d int) ([]float64, error) {
	path := p.Network.Reference
	frames, err := molecules.Read(path)
	if err != nil {
		return nil, p.fault(referenceKey, "%v", err)
	}
	if n := frames.Molecule.Dim(); n != d {
		return nil, p.fault(referenceKey, "%s: a frame has %d atoms; expected %d, as the set has", path, n/3, d/3)
	}
	if _, err := superpose.New(frames.Frame(0)); err != nil {
		return nil, p.fault(referenceKey, "%s: %v", path, err)
	}
	return frames.Frame(0), nil
}
