// Package problem reads problem files: YAML, strictly checked, over documented
// defaults. It also holds the recipes that ship in the binary.
//
// A problem says what to do; it holds no data and runs nothing.
package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/cwpm"
	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/score"
	"github.com/landing-diffusion/landing/train"
)

// A Problem is a problem file. Every key is listed, with its default, in
// docs/problem-file.md.
type Problem struct {
	Name       string         `yaml:"name"`
	Title      string         `yaml:"title"`
	Seed       uint64         `yaml:"seed"`
	Convention string         `yaml:"convention"` // paper or reference
	Data       Data           `yaml:"data"`
	Set        Set            `yaml:"set"`
	Potential  Potential      `yaml:"potential"`
	Process    Process        `yaml:"process"`
	Network    Network        `yaml:"network"`
	Train      Train          `yaml:"train"`
	Prior      string         `yaml:"prior"` // uniform or empirical
	Uniform    Uniform        `yaml:"uniform"`
	Generate   Generate       `yaml:"generate"`
	Sample     Sample         `yaml:"sample"`             // landing sample only
	Variants   map[string]any `yaml:"variants,omitempty"` // named changes, chosen with --variant
	origin     map[string]string
	file       string
}

// Data says where the data is.
type Data struct {
	Kind      string  `yaml:"kind"` // earth: latitude, longitude; points: coordinates; demo: the earthquakes in the binary
	Path      string  `yaml:"path"`
	SplitSeed uint64  `yaml:"split_seed"`
	Tolerance float64 `yaml:"tolerance"` // largest violation that data may have
}

// Set is a feasible set: of the zoo, of formulas, or the level set of a network.
type Set struct {
	Kind   string      `yaml:"kind"` // one of setKinds; formula if there are formulas and no kind
	Dim    int         `yaml:"dim,omitempty"`
	Radius float64     `yaml:"radius,omitempty"`
	Axes   []float64   `yaml:"axes,omitempty"`
	Major  float64     `yaml:"major,omitempty"`
	Minor  float64     `yaml:"minor,omitempty"`
	A      [][]float64 `yaml:"a,omitempty"`
	B      []float64   `yaml:"b,omitempty"`

	Weights string `yaml:"weights,omitempty"` // of a level set's network: NPZ
	Mesh    string `yaml:"mesh,omitempty"`    // near it: PLY or OBJ

	Lower    []float64   `yaml:"lower,omitempty"`
	Upper    []float64   `yaml:"upper,omitempty"`
	Axis     []float64   `yaml:"axis,omitempty"`
	Height   float64     `yaml:"height,omitempty"`
	Terms    [][]float64 `yaml:"terms,omitempty"` // rows (coefficient, power of x, power of y)
	N        int         `yaml:"n,omitempty"`
	P        int         `yaml:"p,omitempty"`
	Bonds    []float64   `yaml:"bonds,omitempty"`
	Angles   []float64   `yaml:"angles,omitempty"` // radians
	Anchored bool        `yaml:"anchored,omitempty"`

	// Of formulas; see formula.Spec.
	Let        formula.Definitions `yaml:"let,omitempty"`
	Equality   []formula.Component `yaml:"equality,omitempty"`
	Inequality []formula.Component `yaml:"inequality,omitempty"`
}

// kind returns the kind that was written, or formula where formulas were.
func (s Set) kind() string {
	if s.Kind == "" && (s.Let != nil || s.Equality != nil || s.Inequality != nil) {
		return "formula"
	}
	return s.Kind
}

// Potential is f of the target exp(−f).
type Potential struct {
	Kind   string    `yaml:"kind"` // zero, quadratic, linear
	Center []float64 `yaml:"center,omitempty"`
	Weight []float64 `yaml:"weight,omitempty"`
	B      []float64 `yaml:"b,omitempty"`
}

// Process is the forward process.
type Process struct {
	Method             string  `yaml:"method"`
	Steps              int     `yaml:"steps"`
	Horizon            float64 `yaml:"horizon"`
	Sigma              Sigma   `yaml:"sigma"`
	Friction           float64 `yaml:"friction"`
	Landing            Landing `yaml:"landing"`
	Repulsion          Choice  `yaml:"repulsion"`
	Curvature          bool    `yaml:"curvature"`
	TerminalProjection bool    `yaml:"terminal_projection"`
}

// Sigma is the noise schedule.
type Sigma struct {
	Min      float64 `yaml:"min"`
	Max      float64 `yaml:"max"`
	Schedule string  `yaml:"schedule"` // linear or geometric
}

// Landing is the way back to Σ.
type Landing struct {
	Mode string `yaml:"mode"` // implicit or explicit
	Rate Choice `yaml:"rate"` // α of explicit landing
}

// Network is the score network.
type Network struct {
	Width  int `yaml:"width"`
	Layers int `yaml:"layers"` // hidden layers

	Octaves    int     `yaml:"octaves"`    // of sines and cosines of x in the input
	Wavelength float64 `yaml:"wavelength"` // the longest of them
	Output     string  `yaml:"output"`     // plain, or scaled by langevin.Process.ScoreGains
}

// Train is the training.
type Train struct {
	Epochs          int           `yaml:"epochs"`
	Batch           int           `yaml:"batch"`
	Refresh         int           `yaml:"refresh"`
	TimesPerPath    int           `yaml:"times_per_path"`
	Window          float64       `yaml:"window"`
	Optimizer       string        `yaml:"optimizer"` // adam or muon
	Precision       string        `yaml:"precision"` // float32, bfloat16x3, bfloat16
	LearningRate    float64       `yaml:"learning_rate"`
	Clip            float64       `yaml:"clip"`
	Average         float64       `yaml:"average"`
	Plateau         train.Plateau `yaml:"plateau"`
	MaxFailed       float64       `yaml:"max_failed"`
	CheckpointEvery float64       `yaml:"checkpoint_every"` // seconds
	EvaluateEvery   int           `yaml:"evaluate_every"`   // epochs; 0: never
}

// Uniform bounds the chains behind a uniform prior that has no closed form.
type Uniform struct {
	MaxRhat  float64 `yaml:"max_rhat"`  // split-R̂ above which they have not arrived
	MaxSteps int     `yaml:"max_steps"` // of each chain
}

// Generate is generation.
type Generate struct {
	MaxFailed    float64 `yaml:"max_failed"`    // largest share of samples that may fail
	MaxViolation float64 `yaml:"max_violation"` // of any component, where samples are projected; 0 means unchecked
}

// Sample is sampling of exp(−f) without learning.
type Sample struct {
	Method       string  `yaml:"method"` // splitting, or one of process.method
	Step         float64 `yaml:"step"`   // τ
	Chains       int     `yaml:"chains"`
	Burn         int     `yaml:"burn"`          // steps to discard
	Draws        int     `yaml:"draws"`         // to keep of each chain
	Thin         int     `yaml:"thin"`          // steps between draws
	MaxViolation float64 `yaml:"max_violation"` // of any component in a draw; 0 means unchecked
}

// Defaults returns a problem with every key at its default. Data and set have
// none.
func Defaults() *Problem {
	return &Problem{
		Name: "run", Seed: 1, Convention: "reference",
		Data:      Data{Kind: "points", SplitSeed: 1, Tolerance: 1e-3},
		Potential: Potential{Kind: "zero"},
		Process: Process{
			Method: "ULLA", Steps: 50, Horizon: 2, Friction: 5, TerminalProjection: true,
			Sigma:   Sigma{Min: 0.1, Max: 2, Schedule: "linear"},
			Landing: Landing{Mode: "implicit"},
		},
		Network: Network{Width: 128, Layers: 4, Wavelength: 2, Output: "plain"},
		Train: Train{
			Epochs: 1000, Batch: 128, Refresh: 1, Optimizer: "adam", Precision: "float32", LearningRate: 2e-3, Clip: 10, Average: 0.999, MaxFailed: 0.01, CheckpointEvery: 30,
			Plateau: train.Plateau{Factor: 0.6, Patience: 400, Threshold: 5e-5, Cooldown: 50, MinRate: 1e-5},
		},
		Prior: "uniform", Uniform: Uniform{MaxRhat: 1.05, MaxSteps: 100_000},
		Generate: Generate{MaxFailed: 0.01, MaxViolation: 1e-9},
		Sample:   Sample{Method: "splitting", Step: 0.1, Chains: 8, Burn: 1000, Draws: 1000, Thin: 10, MaxViolation: 0.1},
	}
}

// Build returns the process that the problem describes, valid, or a *KeyError.
func (p *Problem) Build() (*langevin.Process, error) {
	proc, err := p.process()
	if err != nil {
		return nil, err
	}
	return proc, p.check(proc)
}

// process is Assemble with a process that can run.
func (p *Problem) process() (*langevin.Process, error) {
	proc, err := p.Assemble()
	if err != nil {
		return nil, err
	}
	return proc, p.runs(proc)
}

// runs returns a *KeyError if the process cannot run.
func (p *Problem) runs(proc *langevin.Process) error {
	switch e := proc.Validate().(type) {
	case nil:
	case *langevin.ConfigError:
		return p.key("process."+e.Field, e.Value, e.Want)
	case *constraint.UnsupportedError:
		return p.key("set.kind", p.Set.kind(), fmt.Sprintf("a set with %s, for %s", e.Need, e.For))
	default:
		return e
	}
	return nil
}

// Assemble returns the process that the problem describes, or a *KeyError,
// without asking whether it can run: the doctor says that. A landing rate that
// is auto is chosen here, from the schedule; a repulsion that is auto needs
// data, and is 0.
func (p *Problem) Assemble() (*langevin.Process, error) {
	set, err := p.set()
	if err != nil {
		return nil, err
	}
	proc := &langevin.Process{
		Set:       set,
		Friction:  p.Process.Friction,
		Curvature: p.Process.Curvature, Terminal: p.Process.TerminalProjection,
		Schedule: langevin.Schedule{
			N: p.Process.Steps, T: p.Process.Horizon,
			SigmaMin: p.Process.Sigma.Min, SigmaMax: p.Process.Sigma.Max, Geometric: p.Process.Sigma.Schedule == "geometric",
		},
		Landing: langevin.Landing{Implicit: p.Process.Landing.Mode == "implicit", Rate: float64(p.Process.Landing.Rate)},
	}
	if proc.Method, err = langevin.ParseMethod(p.Process.Method); err != nil {
		return nil, p.key("process.method", p.Process.Method, "ULLA, OLLA, ULLA-P or OLLA-P (= RDDPM)")
	}
	if proc.Convention, err = langevin.ParseConvention(p.Convention); err != nil {
		return nil, p.key("convention", p.Convention, "paper or reference")
	}
	if err := p.oneOf("process.sigma.schedule", p.Process.Sigma.Schedule, "linear", "geometric"); err != nil {
		return nil, err
	}
	if err := p.oneOf("process.landing.mode", p.Process.Landing.Mode, "implicit", "explicit"); err != nil {
		return nil, err
	}
	if proc.Potential, err = p.potential(set.Dim()); err != nil {
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

// BuildChains returns the unlearned sampler that the problem describes, or a
// *KeyError. Only the set, the potential, friction, landing and curvature of the
// rest of the problem count.
func (p *Problem) BuildChains() (*langevin.Chains, error) {
	c := p.Sample
	for _, k := range []struct {
		key   string
		value float64
	}{{"sample.step", c.Step}, {"sample.chains", float64(c.Chains)}, {"sample.draws", float64(c.Draws)}, {"sample.thin", float64(c.Thin)}} {
		if !(k.value > 0) || k.value > 1e15 {
			return nil, p.key(k.key, k.value, "a number above 0 and at most 1e15")
		}
	}
	if c.Burn < 0 || c.Burn > 1e12 {
		return nil, p.key("sample.burn", c.Burn, "a number in [0, 1e12]")
	}
	if float64(c.Draws)*float64(c.Thin) > 1e12 {
		return nil, p.key("sample.thin", c.Thin, "at most 1e12 steps in all")
	}
	if !(c.MaxViolation >= 0) {
		return nil, p.key("sample.max_violation", c.MaxViolation, "a number of at least 0")
	}
	q := *p
	q.Process.Steps, q.Process.Horizon = 1, c.Step
	q.Process.Sigma = Sigma{Min: 1, Max: 1, Schedule: "linear"}
	q.Process.TerminalProjection = false
	symmetric := c.Method == "splitting"
	if q.Process.Method = c.Method; symmetric {
		q.Process.Method, q.Process.Curvature = "ULLA-P", false // it projects, so the set must allow that
	}
	proc, err := q.process()
	if err != nil {
		if e, ok := err.(*KeyError); ok && e.Key == "process.method" {
			return nil, p.key("sample.method", c.Method, "splitting, ULLA, OLLA, ULLA-P or OLLA-P")
		}
		return nil, err
	}
	if float64(c.Chains)*float64(c.Draws)*float64(proc.Set.Dim()) > maxNumbers {
		return nil, p.key("sample.draws", c.Draws, fmt.Sprintf("at most %.0g numbers in all draws of all chains", maxNumbers))
	}
	if p.unbounded() && proc.Potential == nil {
		return nil, p.key("potential.kind", p.Potential.Kind, "a potential: on an unbounded set exp(−0) is no distribution")
	}
	return &langevin.Chains{Process: proc, Symmetric: symmetric, Count: c.Chains, Burn: c.Burn, Keep: c.Draws, Thin: c.Thin, Seed: p.Seed}, nil
}

const (
	maxDim        = 1_000_000
	maxParameters = 1e9
	maxNumbers    = 1e9 // of kept draws
	maxOctaves    = 20
	nameLetters   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

// check validates everything outside the process.
func (p *Problem) check(proc *langevin.Process) error {
	for _, r := range p.Title {
		if unicode.IsControl(r) {
			return p.key("title", p.Title, "one line of printable text")
		}
	}
	if strings.Trim(p.Name, nameLetters) != "" || p.Name == "" || p.Name[0] == '.' || p.Name[0] == '-' {
		return p.key("name", p.Name, "letters, digits, '.', '_' and '-', the first a letter, digit or '_': it names the run folder")
	}
	if w, n := float64(p.Network.Width), float64(p.Network.Layers); w*(w*n+2*float64(proc.Set.Dim())) > maxParameters {
		return p.key("network.width", p.Network.Width, fmt.Sprintf("a network of at most %.0g parameters", maxParameters))
	}
	t := p.Train
	positive := []struct {
		key   string
		value float64
	}{
		{"network.width", float64(p.Network.Width)}, {"network.layers", float64(p.Network.Layers)},
		{"train.epochs", float64(t.Epochs)}, {"train.batch", float64(t.Batch)}, {"train.refresh", float64(t.Refresh)},
		{"train.learning_rate", t.LearningRate}, {"network.wavelength", p.Network.Wavelength}, {"data.tolerance", p.Data.Tolerance},
	}
	for _, c := range positive {
		if !(c.value > 0) || c.value > 1e15 {
			return p.key(c.key, c.value, "a number above 0 and at most 1e15")
		}
	}
	for _, c := range []struct {
		key       string
		value, hi float64
	}{
		{"train.times_per_path", float64(t.TimesPerPath), float64(p.Process.Steps)}, {"train.clip", t.Clip, 1e15},
		{"network.octaves", float64(p.Network.Octaves), maxOctaves}, {"train.window", t.Window, 1e15},
		{"train.average", t.Average, 0.9999999}, {"train.max_failed", t.MaxFailed, 1}, {"generate.max_failed", p.Generate.MaxFailed, 1},
		{"generate.max_violation", p.Generate.MaxViolation, 1e15},
		{"train.checkpoint_every", t.CheckpointEvery, 1e9}, {"train.evaluate_every", float64(t.EvaluateEvery), 1e15},
		{"train.plateau.factor", t.Plateau.Factor, 0.9999999}, {"train.plateau.patience", float64(t.Plateau.Patience), 1e15},
		{"train.plateau.threshold", t.Plateau.Threshold, 1}, {"train.plateau.cooldown", float64(t.Plateau.Cooldown), 1e15},
		{"train.plateau.min_rate", t.Plateau.MinRate, 1e15},
	} {
		if !(c.value >= 0 && c.value <= c.hi) {
			want := "a number of at least 0"
			if c.hi < 1e9 {
				want = fmt.Sprintf("a number in [0, %v]", c.hi)
			}
			return p.key(c.key, c.value, want)
		}
	}
	for _, o := range []struct {
		key, value string
		names      []string
	}{
		{"network.output", p.Network.Output, []string{"plain", "scaled"}},
		{"train.optimizer", t.Optimizer, []string{"adam", "muon"}},
		{"train.precision", t.Precision, []string{"float32", "bfloat16x3", "bfloat16"}},
	} {
		if err := p.oneOf(o.key, o.value, o.names...); err != nil {
			return err
		}
	}
	if t.Window > 0 {
		if err := cwpm.CanWindow(proc); err != nil {
			return p.key("train.window", t.Window, "0: "+err.Error())
		}
	}
	if err := p.oneOf("data.kind", p.Data.Kind, "earth", "points", "demo"); err != nil {
		return err
	}
	if d := proc.Set.Dim(); p.Data.Kind != "points" && d != 3 {
		return p.key("data.kind", p.Data.Kind, fmt.Sprintf("points, since the set lies in R^%d and not in R³", d))
	}
	if err := p.oneOf("prior", p.Prior, "uniform", "empirical"); err != nil {
		return err
	}
	if p.Prior == "uniform" && p.unbounded() {
		return p.key("prior", p.Prior, fmt.Sprintf("empirical: %s is unbounded and has no uniform law", constraint.Name(proc.Set)))
	}
	if !(p.Uniform.MaxRhat >= 1) {
		return p.key("uniform.max_rhat", p.Uniform.MaxRhat, "a number of at least 1")
	}
	if p.Uniform.MaxSteps < 256 || p.Uniform.MaxSteps > 1e9 {
		return p.key("uniform.max_steps", p.Uniform.MaxSteps, "a number in [256, 1e9]")
	}
	if p.Prior == "uniform" && proc.Potential != nil {
		return p.key("prior", p.Prior, "empirical, since the potential makes the forward process end in exp(−f) instead of the uniform law")
	}
	return nil
}

func (p *Problem) set() (constraint.Set, error) {
	s := p.Set
	s.Kind = s.kind()
	if err := p.oneOf("set.kind", s.Kind, setKinds...); err != nil {
		return nil, err
	}
	for _, k := range []struct {
		key, kind string
		given     bool
	}{
		{"set.let", "formula", s.Let != nil}, {"set.equality", "formula", s.Equality != nil}, {"set.inequality", "formula", s.Inequality != nil},
		{"set.radius", "sphere", s.Radius != 0}, {"set.axes", "ellipsoid", s.Axes != nil},
		{"set.major", "torus", s.Major != 0}, {"set.minor", "torus", s.Minor != 0}, {"set.a", "affine", s.A != nil}, {"set.b", "affine", s.B != nil},
		{"set.weights", "level-set", s.Weights != ""}, {"set.mesh", "level-set", s.Mesh != ""},
	} {
		if k.given && s.Kind != k.kind {
			return nil, &KeyError{Origin: p.origin[k.key], Key: k.key, Fault: fmt.Sprintf("this key belongs to set.kind %s; set.kind is %q", k.kind, s.Kind)}
		}
	}
	if err := p.zooKeys(); err != nil {
		return nil, err
	}
	switch s.Kind {
	case "formula":
		return p.formulas()
	case "sphere":
		if s.Dim < 1 || s.Dim > maxDim {
			return nil, p.key("set.dim", s.Dim, fmt.Sprintf("a dimension of 1 to %d", maxDim))
		}
		if s.Radius < 0 {
			return nil, p.key("set.radius", s.Radius, "a radius above 0")
		}
		return zoo.Sphere{D: s.Dim, R: s.Radius}, nil
	case "ellipsoid":
		if len(s.Axes) == 0 {
			return nil, p.key("set.axes", s.Axes, "a list of semi-axes")
		}
		for _, a := range s.Axes {
			if !(a > 0) {
				return nil, p.key("set.axes", s.Axes, "semi-axes above 0")
			}
		}
		return zoo.Ellipsoid{Axes: s.Axes}, nil
	case "torus":
		if !(s.Minor > 0) {
			return nil, p.key("set.minor", s.Minor, "a radius above 0")
		}
		if !(s.Major > s.Minor) {
			return nil, p.key("set.major", s.Major, fmt.Sprintf("a radius above set.minor = %v", s.Minor))
		}
		return zoo.Torus{Major: s.Major, Minor: s.Minor}, nil
	case "affine":
		if len(s.A) == 0 || len(s.A[0]) == 0 {
			return nil, p.key("set.a", s.A, "a list of rows, one an equation")
		}
		for _, row := range s.A {
			if len(row) != len(s.A[0]) {
				return nil, p.key("set.a", row, fmt.Sprintf("rows of equal length, as the first with %d numbers", len(s.A[0])))
			}
			if !slices.ContainsFunc(row, func(v float64) bool { return v != 0 }) {
				return nil, p.key("set.a", row, "rows that are not zero")
			}
		}
		if len(s.B) != len(s.A) {
			return nil, p.key("set.b", s.B, fmt.Sprintf("%d right-hand sides, one a row of set.a", len(s.A)))
		}
		return zoo.Affine{A: s.A, B: s.B}, nil
	case "level-set":
		return p.levelSet()
	}
	return p.zooSet()
}

// formulas builds a set of formulas.
func (p *Problem) formulas() (constraint.Set, error) {
	s := p.Set
	if s.Dim < 1 || s.Dim > maxDim {
		return nil, p.key("set.dim", s.Dim, fmt.Sprintf("a dimension of 1 to %d", maxDim))
	}
	set, err := formula.New(formula.Spec{Dim: s.Dim, Let: s.Let, Equality: s.Equality, Inequality: s.Inequality})
	if err != nil {
		var e *formula.Error
		if !errors.As(err, &e) {
			return nil, err
		}
		key := "set." + e.Key
		return nil, &KeyError{Origin: p.where(key), Key: key, Fault: e.Err.Error()}
	}
	return set, nil
}

func (p *Problem) potential(d int) (langevin.Potential, error) {
	f := p.Potential
	length := func(key string, v []float64) error {
		if v != nil && len(v) != d {
			return p.key(key, v, fmt.Sprintf("%d numbers, one a coordinate", d))
		}
		return nil
	}
	switch f.Kind {
	case "zero":
		return nil, nil
	case "quadratic":
		if err := length("potential.center", f.Center); err != nil {
			return nil, err
		}
		return langevin.Quadratic{Center: f.Center, Weight: f.Weight}, length("potential.weight", f.Weight)
	case "linear":
		if f.B == nil {
			return nil, p.key("potential.b", f.B, fmt.Sprintf("%d numbers, one a coordinate", d))
		}
		return langevin.Linear{B: f.B}, length("potential.b", f.B)
	}
	return nil, p.oneOf("potential.kind", f.Kind, "zero", "quadratic", "linear")
}

// TrainConfig returns the part of the problem that package train reads; proc is
// what Build returned.
func (p *Problem) TrainConfig(proc *langevin.Process) train.Config {
	t := p.Train
	c := train.Config{
		Epochs: t.Epochs, Batch: t.Batch, Refresh: t.Refresh, TimesPerPath: t.TimesPerPath, LearningRate: t.LearningRate,
		Clip: t.Clip, Average: t.Average, Plateau: t.Plateau, MaxFailed: t.MaxFailed, Seed: p.Seed,
		Loss: cwpm.Options{Reading: p.Reading(proc), Window: t.Window},
	}
	// The names were checked by Build.
	c.Optimizer, _ = train.ParseOptimizer(t.Optimizer)
	c.Precision, _ = kernel.ParsePrecision(t.Precision)
	return c
}

// Reading returns how the problem's network is read as a score.
func (p *Problem) Reading(proc *langevin.Process) score.Reading {
	r := score.Reading{Octaves: p.Network.Octaves, Wavelength: p.Network.Wavelength}
	if p.Network.Output == "scaled" {
		r.Gain = proc.ScoreGains()
	}
	return r
}

// Widths returns the network's layer widths from input to output.
func (p *Problem) Widths(in, out int) []int {
	w := []int{in}
	for range p.Network.Layers {
		w = append(w, p.Network.Width)
	}
	return append(w, out)
}
