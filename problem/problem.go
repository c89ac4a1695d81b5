// Package problem reads problem files: YAML, strictly checked, over documented
// defaults. It also holds the recipes that ship in the binary.
//
// A problem says what to do; it holds no data and runs nothing.
package problem

import (
	"strings"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/molecules"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem/sets"
)

// A Problem is a problem file. Every key is listed, with its default, in docs/problem-file.md. Tags of fields say which
// values a key allows, as in package sets: words for a text, and bounds for a number.
type Problem struct {
	Name       string         `yaml:"name"`
	Title      string         `yaml:"title"`
	Seed       uint64         `yaml:"seed"`
	Convention string         `yaml:"convention" words:"paper,reference"`
	Defaults   string         `yaml:"defaults,omitempty" words:"auto,fixed"` // Left
	Data       Data           `yaml:"data" doc:"where the data is"`
	Condition  Condition      `yaml:"condition,omitempty" doc:"numbers that are given with each point"`
	Set        sets.Set       `yaml:"set" doc:"the feasible set"`
	Observe    []Observe      `yaml:"observe,omitempty"` // numbers that are compared between data and samples
	Potential  Potential      `yaml:"potential" doc:"f of the target exp(−f)"`
	Process    Process        `yaml:"process" doc:"the forward process"`
	Network    Network        `yaml:"network" doc:"the score network"`
	Train      Train          `yaml:"train" doc:"the training"`
	MPI        MPI            `yaml:"mpi" doc:"keys of trainings by mpirun"`
	Prior      string         `yaml:"prior" words:"uniform,empirical,auto"`
	Uniform    Uniform        `yaml:"uniform" doc:"bounds of the chains behind a uniform prior without a closed form"`
	Generate   Generate       `yaml:"generate" doc:"generation"`
	Sample     Sample         `yaml:"sample" doc:"landing mcmc"` // landing mcmc only
	Variants   map[string]any `yaml:"variants,omitempty"`        // named changes, chosen with --variant
	origins    `yaml:"-"`
	asked      `yaml:"-"`
	found      `yaml:"-"`
}

// found are the kinds that names stand for. Load and choices find the method and the network, and Build the data's.
type found struct {
	MethodKind  method.Kind // the zero value if there is none of that name, like the others
	NetworkKind score.Kind
	DataKind    domain.Kind
}

// asked is what was asked for beside a file, and what followed.
type asked struct {
	written  map[string]map[string]string // the origins of the keys of each variant
	chosen   []choose.Choice              // keys that follow from the set
	variant  string                       // of Load
	settings Settings                     // of Load
	shared   bool                         // with other problems
}

// Asked returns the variant and the settings that Load read the problem with.
func (a asked) Asked() (variant string, settings []string) { return a.variant, a.settings.Texts() }

// origins say where the keys of a problem were written.
type origins struct {
	origin map[string]string
	file   string
	layer  map[string]int // of each key: the number of the layer that wrote it last
	layers int
}

// Data says where the data is.
type Data struct {
	// earth: latitude, longitude; points: coordinates; molecule: conformations; demo: the earthquakes in the binary
	Kind      string `yaml:"kind"`
	Path      string `yaml:"path"`
	Reference string `yaml:"reference,omitempty"` // of molecules: file of what RMSDs are taken to
	Prmtop    string `yaml:"prmtop,omitempty"`    // of molecules: AMBER's parameters, for energies in reports
	Train     string `yaml:"train,omitempty"`     // NPY file of points that replace the training rows
	SplitSeed uint64 `yaml:"split_seed"`
	Tolerance Choice `yaml:"tolerance" bounds:"(0,1e15]"` // largest violation; auto: evidence.Far of the spread
}

// Condition is numbers that are given with a point: the network learns the law of points for each value of them.
type Condition struct {
	Columns []string `yaml:"columns,omitempty"`             // their names; of the data's columns, or of those of Path
	Path    string   `yaml:"path,omitempty"`                // a file of their own, a row a point
	Drop    float64  `yaml:"drop,omitempty" bounds:"[0,1)"` // share of training terms without them, for guidance
}

// Free returns the number of coordinates before the condition of points in R^dim.
func (c Condition) Free(dim int) int { return dim - len(c.Columns) }

// Potential is f of the target exp(−f).
type Potential struct {
	Kind   string    `yaml:"kind" words:"zero,quadratic,linear,formula,amber"`
	Center []float64 `yaml:"center,omitempty" of:"quadratic"`
	Weight []float64 `yaml:"weight,omitempty" of:"quadratic"`
	B      []float64 `yaml:"b,omitempty" of:"linear"`
	Expr   string    `yaml:"expr,omitempty" of:"formula"`

	// The energy of a molecule over kT: its parameters, or a molecule that is built in, and a start for landing mcmc.
	Prmtop      string  `yaml:"prmtop,omitempty" of:"amber"`
	Molecule    string  `yaml:"molecule,omitempty" of:"amber" words:"alanine-dipeptide"`
	Coordinates string  `yaml:"coordinates,omitempty" of:"amber"`
	Solvent     string  `yaml:"solvent,omitempty" of:"amber" words:"obc2,obc2-polar,vacuum"` // empty means obc2
	Temperature float64 `yaml:"temperature,omitempty" of:"amber" bounds:"0|(0,1e6]"`         // K; 0 means 300
}

// Process is the forward process.
type Process struct {
	Method             string  `yaml:"method"`
	Steps              int     `yaml:"steps" bounds:"[1,1e6]"`
	Horizon            float64 `yaml:"horizon" bounds:"(0,)"`
	Sigma              Sigma   `yaml:"sigma" doc:"the noise schedule"`
	Friction           float64 `yaml:"friction" bounds:"[0,)"`
	Landing            Landing `yaml:"landing" doc:"the way back to the set"`
	Walls              string  `yaml:"walls,omitempty" words:"elastic,paper"` // "" means elastic
	Repulsion          Choice  `yaml:"repulsion" bounds:"[0,)"`               // ε; RepulsionIsAuto
	Curvature          bool    `yaml:"curvature"`
	TerminalProjection bool    `yaml:"terminal_projection"`
	Noise              string  `yaml:"noise,omitempty" words:"late,split"` // "" means late

	Options score.Options `yaml:"options,omitempty"` // keys of the method's own
}

// Sigma is the noise schedule.
type Sigma struct {
	Min      float64 `yaml:"min" bounds:"(0,)"`
	Max      float64 `yaml:"max" bounds:"(0,)"`
	Schedule string  `yaml:"schedule" words:"linear,geometric"`
}

// Landing is the way back to Σ.
type Landing struct {
	Mode string `yaml:"mode" words:"implicit,explicit"`
	Rate Choice `yaml:"rate" bounds:"[0,)"` // α of explicit landing
}

// Network is the score network.
type Network struct {
	Kind   string `yaml:"kind,omitempty"` // of networks.All; mlp
	Width  int    `yaml:"width" bounds:"(0,1e15]"`
	Layers int    `yaml:"layers" bounds:"(0,1000]"` // hidden layers

	Octaves     int     `yaml:"octaves" bounds:"[0,20]"`                  // of sines and cosines of x in the input
	Wavelength  float64 `yaml:"wavelength" bounds:"(0,1e15]"`             // the longest of them
	OctavesOf   string  `yaml:"octaves_of,omitempty" words:"point,start"` // score.Reading.Start
	TimeOctaves int     `yaml:"time_octaves" bounds:"[0,20]"`             // likewise of t/horizon
	Time        string  `yaml:"time,omitempty" words:"raw,share"`         // t or t/horizon; "" means raw
	Output      string  `yaml:"output" words:"plain,scaled,balanced"`     // langevin.ScoreGains, BalancedGains

	Options score.Options `yaml:"options,omitempty"` // keys of the kind's own

	Center []float64 `yaml:"center,omitempty,flow" bounds:"[-1e15,1e15]"` // it reads (x − center)/unit; nil is 0
	Unit   float64   `yaml:"unit,omitempty" bounds:"[1e-15,1e15]"`        // 0 is 1
	Scales []float64 `yaml:"scales,omitempty,flow" bounds:"[0,1e15]"`     // score.Reading.Scales

	Reference string `yaml:"reference,omitempty"` // a file with the conformation that points are laid on
}

// Train is the training.
type Train struct {
	Epochs          int           `yaml:"epochs" bounds:"[0,1e15]"`
	Batch           int           `yaml:"batch" bounds:"(0,1e15]"`
	Refresh         int           `yaml:"refresh" bounds:"(0,1e15]"`
	Paths           int           `yaml:"paths" bounds:"[0,1e15]"`    // of a refresh, at most; 0: one a row
	Preparation     float64       `yaml:"preparation" bounds:"[0,1]"` // share of the paths before training; 0: all
	TimesPerPath    int           `yaml:"times_per_path" bounds:"[0,1e15]"`
	Window          float64       `yaml:"window" bounds:"[0,1e15]"`
	Optimizer       string        `yaml:"optimizer" words:"adam,muon"`
	Precision       string        `yaml:"precision" words:"float32,bfloat16x3,bfloat16"`
	LearningRate    float64       `yaml:"learning_rate" bounds:"(0,1e15]"`
	Anneal          float64       `yaml:"anneal" bounds:"[0,1]"` // last share of the updates: the rate falls to 0
	Clip            float64       `yaml:"clip" bounds:"[0,1e15]"`
	Average         float64       `yaml:"average" bounds:"[0,0.9999999]"`
	Plateau         train.Plateau `yaml:"plateau" doc:"when the learning rate is lowered"`
	MaxFailed       float64       `yaml:"max_failed" bounds:"[0,1]"`
	CheckpointEvery float64       `yaml:"checkpoint_every" bounds:"[0,1e9]"`                    // seconds
	EvaluateEvery   int           `yaml:"evaluate_every" bounds:"[0,1e15]"`                     // epochs; 0: never
	MaxSeconds      float64       `yaml:"max_seconds" bounds:"0|[1,3.6e6]"`                     // the budget; 0: none
	Clock           string        `yaml:"clock,omitempty" words:"wall,processor"`               // "" means wall
	Stop            string        `yaml:"stop,omitempty" words:"epochs,held_out,held_out_loss"` // "" means epochs
}

// MPI says how a training is divided among the ranks of an MPI job. Without one it means nothing.
type MPI struct {
	Exact bool `yaml:"exact"` // sums of gradients are in the order of one process: the same bytes
}

// Uniform bounds the chains behind a uniform prior that has no closed form.
type Uniform struct {
	MaxRhat  float64 `yaml:"max_rhat" bounds:"[1,)"`       // split-R̂ above which they have not arrived
	MaxSteps int     `yaml:"max_steps" bounds:"[256,1e9]"` // of each chain
}

// Generate is generation.
type Generate struct {
	MaxFailed    float64 `yaml:"max_failed" bounds:"[0,1]"`       // largest share of samples that may fail
	MaxViolation float64 `yaml:"max_violation" bounds:"[0,1e15]"` // of a component of projected samples; 0: any
	Guidance     float64 `yaml:"guidance" bounds:"[-1,100]"`      // w: the score is (1+w) s(c) − w s
	Repair       string  `yaml:"repair" words:"auto,none"`        // of motions that cannot be run
	// network evaluations that a sample takes, of few-step methods; 0: as many as they have levels
	Evaluations int `yaml:"evaluations" bounds:"[0,1e15]"`
}

// Sample is sampling of exp(−f) without learning.
type Sample struct {
	Method       string  `yaml:"method" words:"splitting,chmc,ULLA,OLLA,ULLA-P,OLLA-P,RDDPM"`
	Step         Choice  `yaml:"step" bounds:"(0,1e15]"` // τ; StepIsAuto
	Chains       int     `yaml:"chains" bounds:"(0,1e15]"`
	Burn         int     `yaml:"burn" bounds:"[0,1e12]"`      // steps to discard
	Draws        int     `yaml:"draws" bounds:"(0,1e15]"`     // to keep of each chain
	Thin         int     `yaml:"thin" bounds:"(0,1e15]"`      // steps between draws
	MaxViolation float64 `yaml:"max_violation" bounds:"[0,)"` // of any component in a draw; 0 means unchecked

	Leaps     int     `yaml:"leaps,omitempty" bounds:"[0,1e6]"`        // of a step of chmc; 0 means 10
	Measure   string  `yaml:"measure,omitempty" words:"surface,level"` // "" means surface
	MaxFailed float64 `yaml:"max_failed,omitempty" bounds:"[0,1]"`     // of projections; 0 means 0.01
	MaxRhat   float64 `yaml:"max_rhat,omitempty" bounds:"0|[1,1e15]"`  // largest split-R̂; 0 means 1.1
}

// Defaults returns a problem with every key at its default. Data and set have none.
func Defaults() *Problem {
	return &Problem{
		Name: "run", Seed: 1, Convention: "reference",
		found:     found{MethodKind: methods.All[0], NetworkKind: networks.All[0]},
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
		Generate: Generate{MaxFailed: 0.01, MaxViolation: 1e-9, Repair: "auto"},
		Sample: Sample{Method: "splitting", Step: 0.1, Chains: 8, Burn: 1000, Draws: 1000, Thin: 10,
			MaxViolation: 0.1},
	}
}

// TaughtKey is the key of the file of points that the network learns instead of the training rows.
const TaughtKey = "data.train"

// paths are the paths in the problem, the set apart, by key.
func paths(p *Problem) map[string]*string {
	return map[string]*string{KeyDataPath: &p.Data.Path, referenceKey: &p.Network.Reference,
		molecules.ReferenceKey: &p.Data.Reference, molecules.PrmtopKey: &p.Data.Prmtop, prmtopKey: &p.Potential.Prmtop,
		coordinatesKey: &p.Potential.Coordinates, conditionKey: &p.Condition.Path, TaughtKey: &p.Data.Train}
}

// Files returns the paths in the problem, by key; that of the data may be empty.
func (p *Problem) Files() map[string]string {
	files := map[string]string{}
	for key, path := range paths(p) {
		if *path != "" || key == KeyDataPath {
			files[key] = *path
		}
	}
	for key, path := range p.Set.Files() {
		files["set."+key] = path
	}
	return files
}

// SetFile changes a path that Files names.
func (p *Problem) SetFile(key, path string) {
	if to, ok := paths(p)[key]; ok {
		*to = path
		return
	}
	p.Set = p.Set.WithFile(strings.TrimPrefix(key, "set."), path)
}
