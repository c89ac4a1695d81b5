// Package problem reads problem files: YAML, strictly checked, over documented
// defaults. It also holds the recipes that ship in the binary.
//
// A problem says what to do; it holds no data and runs nothing.
package problem

import (
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem/sets"
)

// A Problem is a problem file. Every key is listed, with its default, in
// docs/problem-file.md.
type Problem struct {
	Name       string         `yaml:"name"`
	Title      string         `yaml:"title"`
	Seed       uint64         `yaml:"seed"`
	Convention string         `yaml:"convention"`         // paper or reference
	Defaults   string         `yaml:"defaults,omitempty"` // auto or fixed: Left
	Data       Data           `yaml:"data" doc:"where the data is"`
	Condition  Condition      `yaml:"condition,omitempty" doc:"what is given with each point"`
	Set        sets.Set       `yaml:"set" doc:"the feasible set"`
	Observe    []Observe      `yaml:"observe,omitempty"` // numbers that are compared between data and samples
	Potential  Potential      `yaml:"potential" doc:"f of the target exp(−f)"`
	Process    Process        `yaml:"process" doc:"the forward process"`
	Network    Network        `yaml:"network" doc:"the score network"`
	Train      Train          `yaml:"train" doc:"the training"`
	MPI        MPI            `yaml:"mpi,omitempty" doc:"of a training that mpirun has started"`
	Prior      string         `yaml:"prior"` // uniform, empirical or auto
	Uniform    Uniform        `yaml:"uniform" doc:"bounds of the chains behind a uniform prior without a closed form"`
	Generate   Generate       `yaml:"generate" doc:"generation"`
	Sample     Sample         `yaml:"sample" doc:"landing mcmc"` // landing mcmc only
	Variants   map[string]any `yaml:"variants,omitempty"`        // named changes, chosen with --variant
	origins    `yaml:"-"`
	written    map[string]map[string]string // the origins of the keys of each variant
	chosen     []choose.Choice              // keys that follow from the set
	variant    string                       // of Load
	settings   []string                     // of Load
}

// Asked returns the variant and the settings that Load read the problem with.
func (p *Problem) Asked() (variant string, settings []string) { return p.variant, p.settings }

// origins say where the keys of a problem were written.
type origins struct {
	origin map[string]string
	file   string
}

// Data says where the data is.
type Data struct {
	// earth: latitude, longitude; points: coordinates; molecule: conformations; demo: the
	// earthquakes in the binary
	Kind      string `yaml:"kind"`
	Path      string `yaml:"path"`
	Reference string `yaml:"reference,omitempty"` // of molecules: file of what RMSDs are taken to
	Train     string `yaml:"train,omitempty"`     // NPY file of points that are learned in place of the training rows
	SplitSeed uint64 `yaml:"split_seed"`
	Tolerance Choice `yaml:"tolerance"` // largest violation that data may have; auto: evidence.Far of its spread
}

// Potential is f of the target exp(−f).
type Potential struct {
	Kind   string    `yaml:"kind"` // zero, quadratic, linear, formula, amber
	Center []float64 `yaml:"center,omitempty"`
	Weight []float64 `yaml:"weight,omitempty"`
	B      []float64 `yaml:"b,omitempty"`
	Expr   string    `yaml:"expr,omitempty"` // of kind formula

	// Of kind amber: the energy of a molecule over kT.
	Prmtop      string  `yaml:"prmtop,omitempty"`      // its parameters, or
	Molecule    string  `yaml:"molecule,omitempty"`    // alanine-dipeptide, built in
	Coordinates string  `yaml:"coordinates,omitempty"` // where chains of landing mcmc begin: inpcrd or rst7
	Solvent     string  `yaml:"solvent,omitempty"`     // obc2, obc2-polar, vacuum; empty means obc2
	Temperature float64 `yaml:"temperature,omitempty"` // K; 0 means 300
}

// Process is the forward process.
type Process struct {
	Method             string  `yaml:"method"`
	Steps              int     `yaml:"steps"`
	Horizon            float64 `yaml:"horizon"`
	Sigma              Sigma   `yaml:"sigma" doc:"the noise schedule"`
	Friction           float64 `yaml:"friction"`
	Landing            Landing `yaml:"landing" doc:"the way back to the set"`
	Walls              string  `yaml:"walls,omitempty"` // elastic or paper; "" means elastic
	Repulsion          Choice  `yaml:"repulsion"`       // ε; RepulsionIsAuto says when it is chosen
	Curvature          bool    `yaml:"curvature"`
	TerminalProjection bool    `yaml:"terminal_projection"`
	Noise              string  `yaml:"noise,omitempty"` // late or split; "" means late

	Options score.Options `yaml:"options,omitempty"` // keys of the method's own
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
	Kind   string `yaml:"kind,omitempty"` // of networks.All; mlp
	Width  int    `yaml:"width"`
	Layers int    `yaml:"layers"` // hidden layers

	Octaves     int     `yaml:"octaves"`                // of sines and cosines of x in the input
	Wavelength  float64 `yaml:"wavelength"`             // the longest of them
	OctavesOf   string  `yaml:"octaves_of,omitempty"`   // point or start: score.Reading.Start
	TimeOctaves int     `yaml:"time_octaves,omitempty"` // of sines and cosines of t/horizon in the input
	Time        string  `yaml:"time,omitempty"`         // raw or share: t or t/horizon; "" means raw
	Output      string  `yaml:"output"`                 // plain, scaled, balanced: langevin.ScoreGains, BalancedGains

	Options score.Options `yaml:"options,omitempty"` // keys of the kind's own

	Center []float64 `yaml:"center,omitempty,flow"` // the network reads (x − center)/unit; nil is 0
	Unit   float64   `yaml:"unit,omitempty"`        // 0 is 1

	Reference string `yaml:"reference,omitempty"` // a file with the conformation that points are laid on
}

// Train is the training.
type Train struct {
	Epochs          int           `yaml:"epochs"`
	Batch           int           `yaml:"batch"`
	Refresh         int           `yaml:"refresh"`
	Paths           int           `yaml:"paths,omitempty"` // of a refresh, where there are more rows; 0: one a row
	TimesPerPath    int           `yaml:"times_per_path"`
	Window          float64       `yaml:"window"`
	Optimizer       string        `yaml:"optimizer"` // adam or muon
	Precision       string        `yaml:"precision"` // float32, bfloat16x3, bfloat16
	LearningRate    float64       `yaml:"learning_rate"`
	Anneal          float64       `yaml:"anneal"` // share of the updates, the last, over which the rate falls to 0
	Clip            float64       `yaml:"clip"`
	Average         float64       `yaml:"average"`
	Plateau         train.Plateau `yaml:"plateau" doc:"when the learning rate is lowered"`
	MaxFailed       float64       `yaml:"max_failed"`
	CheckpointEvery float64       `yaml:"checkpoint_every"`      // seconds
	EvaluateEvery   int           `yaml:"evaluate_every"`        // epochs; 0: never
	MaxSeconds      float64       `yaml:"max_seconds,omitempty"` // the budget; 0: none. With one, Epochs 0: as it holds
	Clock           string        `yaml:"clock,omitempty"`       // of seconds: wall (also empty) or processor
	Stop            string        `yaml:"stop,omitempty"`        // epochs (also empty) or held_out; Epochs bounds it
}

// MPI says how a training is divided among the ranks of an MPI job. Without one it means nothing.
type MPI struct {
	Exact bool `yaml:"exact"` // sums of gradients are in the order of one process: the same bytes
}

// IsZero reports whether it need not be written: what is trained does not depend on it.
func (m MPI) IsZero() bool { return m.Exact }

// Uniform bounds the chains behind a uniform prior that has no closed form.
type Uniform struct {
	MaxRhat  float64 `yaml:"max_rhat"`  // split-R̂ above which they have not arrived
	MaxSteps int     `yaml:"max_steps"` // of each chain
}

// Generate is generation.
type Generate struct {
	MaxFailed    float64 `yaml:"max_failed"`         // largest share of samples that may fail
	MaxViolation float64 `yaml:"max_violation"`      // of any component, where samples are projected; 0 means unchecked
	Guidance     float64 `yaml:"guidance,omitempty"` // w: the score is (1+w) s(c) − w s without a condition
	// network evaluations that a sample takes, of few-step methods; 0: as many as they have levels
	Evaluations int `yaml:"evaluations,omitempty"`
}

// Sample is sampling of exp(−f) without learning.
type Sample struct {
	Method       string  `yaml:"method"` // splitting, chmc, or one of process.method
	Step         Choice  `yaml:"step"`   // τ; StepIsAuto says when it is chosen
	Chains       int     `yaml:"chains"`
	Burn         int     `yaml:"burn"`          // steps to discard
	Draws        int     `yaml:"draws"`         // to keep of each chain
	Thin         int     `yaml:"thin"`          // steps between draws
	MaxViolation float64 `yaml:"max_violation"` // of any component in a draw; 0 means unchecked

	Leaps     int     `yaml:"leaps,omitempty"`      // of a step of chmc; 0 means 10
	Measure   string  `yaml:"measure,omitempty"`    // surface or level; empty means surface
	MaxFailed float64 `yaml:"max_failed,omitempty"` // share of projections that may fail; 0 means 0.01
	MaxRhat   float64 `yaml:"max_rhat,omitempty"`   // largest split-R̂ of a coordinate; 0 means 1.1
}

// Defaults returns a problem with every key at its default. Data and set have
// none.
func Defaults() *Problem {
	return &Problem{
		Name: "run", Seed: 1, Convention: "reference",
		Data:      Data{Kind: "points", SplitSeed: 1, Tolerance: Auto},
		Potential: Potential{Kind: "zero"},
		Process: Process{
			Method: "ULLA", Steps: 50, Horizon: 2, Friction: 5, TerminalProjection: true,
			Sigma:   Sigma{Min: 0.1, Max: 2, Schedule: "linear"},
			Landing: Landing{Mode: "implicit"},
		},
		Network: Network{Width: 128, Layers: 4, Wavelength: 2, Output: "plain"},
		MPI:     MPI{Exact: true},
		Train: Train{
			Epochs: 1000, Batch: 128, Refresh: 1, Optimizer: "adam", Precision: "float32", LearningRate: 2e-3,
			Clip: 10, Average: 0.999, MaxFailed: 0.01, CheckpointEvery: 30,
			Plateau: train.Plateau{Factor: 0.6, Patience: 400, Threshold: 5e-5, Cooldown: 50, MinRate: 1e-5},
		},
		Prior: AutoPrior, Uniform: Uniform{MaxRhat: 1.05, MaxSteps: 100_000},
		Generate: Generate{MaxFailed: 0.01, MaxViolation: 1e-9},
		Sample: Sample{Method: "splitting", Step: 0.1, Chains: 8, Burn: 1000, Draws: 1000, Thin: 10,
			MaxViolation: 0.1},
	}
}
