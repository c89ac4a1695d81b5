package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/gaussian"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// A Network describes a run's network and how it is read as a score: with the arrays of a checkpoint all that
// another program needs to evaluate s_θ(x, p̃, t), exactly so at the times of the process. Fields mean what they
// mean in score.Config and score.Reading.
type Network struct {
	File     string `json:"file"`     // safetensors
	Prefix   string `json:"prefix"`   // of the arrays in it with which samples are drawn
	Constant string `json:"constant"` // of those that no training moves
	Epoch    int    `json:"epoch"`

	Kind      string           `json:"kind"`
	Dim       int              `json:"dim"`
	Held      int              `json:"held"`
	Steps     int              `json:"steps"`
	Momentum  bool             `json:"momentum"`
	Width     int              `json:"width"`
	Layers    int              `json:"layers"`
	Options   score.Options    `json:"options"`
	Precision kernel.Precision `json:"precision"` // of its products in training and generation
	Torsions  [][4]int         `json:"torsions"`

	Center      []float64 `json:"center"`
	Unit        float64   `json:"unit"`
	Scales      []float64 `json:"scales"`
	Octaves     int       `json:"octaves"`
	Wavelength  float64   `json:"wavelength"`
	Still       []int     `json:"still"`
	TimeOctaves int       `json:"time_octaves"`
	Horizon     float64   `json:"horizon"`
	Share       bool      `json:"share"`
	Mean        []float64 `json:"given_mean"`
	Scale       []float64 `json:"given_scale"`
	Null        bool      `json:"null"`

	// Functions of time, at Times: t_1 … t_N.
	Times []float64    `json:"times"`
	Gain  []float64    `json:"gain"`  // m(t)
	Start [][2]float64 `json:"start"` // b(t) and v(t); null where nothing is read of starts
	// b, v, a and c of score.Config.Ahead. Only for kind gaussian.
	Ahead [][4]float64 `json:"ahead,omitempty"`
}

// Describe describes the network of a checkpoint, chosen as Trained chooses it.
func Describe(r *Run, checkpoint string) (*Network, error) {
	t, err := r.Trained(checkpoint)
	if err != nil {
		return nil, err
	}
	n, err := r.describe()
	if err == nil {
		n.File = r.Folder.Checkpoints().WeightsPath(run.CheckpointName(t.State.Updates))
		n.Prefix, n.Epoch = train.Drawn(t.State), t.State.Epoch
	}
	return n, err
}

// describe describes the network, of no checkpoint. The network can be made.
func (r *Run) describe() (*Network, error) {
	c := r.network()
	kind := c.Row
	c, err := kind.Resolve(c)
	if err != nil {
		return nil, err
	}
	read := c.Reading()
	n := &Network{
		Constant: train.PrefixConstant, Kind: kind.Name, Dim: c.Dim, Held: c.Held, Steps: c.Steps, Momentum: c.Momentum,
		Width: c.Width, Layers: c.Layers, Options: c.Options, Precision: c.Precision, Torsions: c.Torsions,
		Center: read.Center, Unit: read.Unit, Scales: read.Scales, Octaves: read.Octaves, Wavelength: read.Wavelength,
		Still: read.Still, TimeOctaves: read.TimeOctaves, Horizon: read.Horizon, Share: read.Share,
		Mean: read.Given.Mean, Scale: read.Given.Scale, Null: read.Null,
	}
	n.Unit = cmp.Or(n.Unit, 1)
	times := Times(r)
	for k := 1; k <= times.N; k++ {
		at, gain := float64(k)*times.Step, 1.0
		if read.Gain != nil {
			gain = read.Gain(at)
		}
		n.Times, n.Gain = append(n.Times, at), append(n.Gain, gain)
		if read.Start != nil {
			b, v := read.Start(at)
			n.Start = append(n.Start, [2]float64{b, v})
		}
		if kind.Name == gaussian.Kind.Name {
			b, v, a, c := c.Ahead(at)
			n.Ahead = append(n.Ahead, [4]float64{b, v, a, c})
		}
	}
	return n, nil
}

// scoreRows is how many rows pass through the network at once.
const scoreRows = 512

// Scores evaluates s_θ at rows (x, p̃, t), of width numbers each, p̃ of underdamped processes alone: a row of d
// numbers for each. Products are of the given precision, and nothing is guided; with hidden the network does not see
// the condition, if it can do without. The error is one of the data, with the file of the rows, or that of ctx.
func Scores(ctx context.Context, r *Run, t *Trained, precision kernel.Precision, file string, rows []float64, width int,
	hidden bool) ([]float64, error) {
	c := r.network()
	d := c.Dim
	want := d + 1
	if c.Momentum {
		want += d
	}
	if width != want {
		return nil, badData(file, "rows have %d numbers; expected %d: a point, its momentum if the process has one, "+
			"and the time", width, want)
	}
	model, err := exactly(r, t, precision)
	if err != nil {
		return nil, err
	}
	packed, in := model.Pack(false), model.In()
	type scratch struct {
		ws  score.Workspace[float32]
		row []float32
	}
	own := make([]scratch, r.Pool.Workers())
	for i := range own {
		own[i] = scratch{packed.NewWorkspace(scoreRows, false), make([]float32, scoreRows*in)}
	}
	n := len(rows) / width
	out := make([]float64, n*d)
	r.Pool.Do((n+scoreRows-1)/scoreRows, func(worker, task int) {
		if ctx.Err() != nil {
			return
		}
		first := task * scoreRows
		count := min(scoreRows, n-first)
		s := own[worker]
		for i := range count {
			row := rows[(first+i)*width : (first+i+1)*width]
			at := score.Input{X: row[:d], T: row[width-1], Item: -1, Null: hidden && c.Null}
			if c.Momentum {
				at.P = row[d : 2*d]
			}
			model.Row(s.row[i*in:(i+1)*in], at)
		}
		f := s.ws.Forward(s.row, count)
		for i := range count {
			m := model.Gain(rows[(first+i+1)*width-1])
			for j := range d {
				out[(first+i)*d+j] = m * float64(f[i*d+j])
			}
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, v := range out {
		if math.IsNaN(v) {
			return nil, badData(file, "row %d (from 0) has no score: the network cannot tell how the molecule lies",
				i/d)
		}
	}
	return out, nil
}

// exactly returns a trained model whose products have another precision.
func exactly(r *Run, t *Trained, precision kernel.Precision) (score.Model[float32], error) {
	c := r.network()
	c.Precision = precision
	model, err := networks.New(c)
	if err != nil {
		return nil, err
	}
	if from, ok := t.Model.(score.Constant[float32]); ok {
		arrays := map[string]arrayfile.Array{}
		for _, a := range from.Constants() {
			arrays[a.Name] = a.Array
		}
		if model, err = model.(score.Constant[float32]).WithConstants(arrays); err != nil {
			return nil, err
		}
	}
	return model.With(t.Model.Parameters()), nil
}

// turn is a rotation about (1, 1, 1) by 60°, and move a translation.
var (
	turn = [3][3]float64{{2. / 3, -1. / 3, 2. / 3}, {2. / 3, 2. / 3, -1. / 3}, {-1. / 3, 2. / 3, 2. / 3}}
	move = [3]float64{0.7, -0.4, 1.1}
)

// turned writes v turned, atoms as rows.
func turned(v []float64) []float64 {
	out := make([]float64, len(v))
	for i := 0; i+3 <= len(v); i += 3 {
		for j, row := range turn {
			out[i+j] = row[0]*v[i] + row[1]*v[i+1] + row[2]*v[i+2]
		}
	}
	return out
}

// turnedRows is how many rows of data are turned.
const turnedRows = 8

// fixed returns what of the process sees how points of three coordinates an atom lie: a component of the set that
// changes when points turn or move, but for those that hold them in their place (placed), or a potential whose force
// does not turn along; "" if nothing does. It looks at rows x of data, and at them a tenth larger.
func fixed(p *langevin.Process, x []float64) string {
	d := p.Set.Dim()
	x = x[:min(len(x), turnedRows*d)]
	at := append([]float64(nil), x...)
	for _, v := range x {
		at = append(at, 1.1*v)
	}
	there := turned(at)
	for i := range there {
		there[i] += move[i%3]
	}
	names := constraint.Components(p.Set)
	before, after := constraint.Values(p.Set, at), constraint.Values(p.Set, there)
	seen := map[int]bool{}
	for i, v := range before {
		if !near(v, after[i], math.Abs(v)) {
			seen[i%len(names)] = true
		}
	}
	if c := placed(p.Set, x, seen); c >= 0 {
		return fmt.Sprintf("component %q of the set", names[c])
	}
	if f := p.Potential; f != nil {
		n := len(at) / d
		before, after := make([]float64, len(at)), make([]float64, len(at))
		f.Gradient(before, at, n)
		f.Gradient(after, there, n)
		size := 0.0
		for _, v := range before {
			size = max(size, math.Abs(v))
		}
		for i, v := range turned(before) {
			if !near(v, after[i], size) {
				return "the potential"
			}
		}
	}
	return ""
}

// placed returns a component, of some that see how points lie, that more than says where they are; −1 if there is none.
// Components that keep turned rows, and hold all that three translations change, leave a point one place for each way
// of lying: where the network does not look there is nothing to see. So it is where a centre is held at the origin.
func placed(set constraint.Set, x []float64, seen map[int]bool) int {
	if len(seen) == 0 {
		return -1
	}
	d, c := set.Dim(), len(constraint.Components(set))
	first := slices.Min(slices.Collect(maps.Keys(seen)))
	size := 0.0
	for _, v := range x {
		size = max(size, math.Abs(v))
	}
	values := constraint.Values(set, turned(x))
	for i, v := range values {
		if a := i % c; seen[a] && (a >= len(set.Equalities()) || !(math.Abs(v) <= 1e-6*size)) {
			return a
		}
	}
	// What three translations change, of each row: they must change it in three ways.
	at := constraint.Values(set, x)
	for row := range len(x) / d {
		var change [3][]float64
		for k := range change {
			there := append([]float64(nil), x[row*d:(row+1)*d]...)
			for i := k; i < d; i += 3 {
				there[i] += size
			}
			for a, v := range constraint.Values(set, there) {
				if seen[a] {
					change[k] = append(change[k], (v-at[row*c+a])/size)
				}
			}
		}
		if !independent(change) {
			return first
		}
	}
	return -1
}

// independent reports whether three vectors are, by what Gram and Schmidt leave of each.
func independent(v [3][]float64) bool {
	for k := range v {
		before := dense.Norm(v[k])
		for j := range k {
			dense.Axpy(v[k], -dense.Dot(v[k], v[j])/dense.Dot(v[j], v[j]), v[j])
		}
		if !(dense.Norm(v[k]) > 1e-3*before) {
			return false
		}
	}
	return true
}

// near compares what may differ by round-off. What is not a number on both sides tells nothing.
func near(a, b, size float64) bool { return math.Abs(a-b) <= 1e-6*(1+size) || a != a && b != b }

// Trained is a model, whose parameters stay as they are, and the state of the training that it is from.
type Trained struct {
	Model score.Model[float32]
	State train.State

	once sync.Once
	pack score.Packed[float32]
}

// packed returns the model packed for Forward: once, for all calls that draw samples.
func (t *Trained) packed() score.Packed[float32] {
	t.once.Do(func() { t.pack = t.Model.Pack(false) })
	return t.pack
}

// Trained returns the averaged model of a checkpoint: of the one named; or of the one that
// held-out distances chose; or of the newest.
func (r *Run) Trained(checkpoint string) (*Trained, error) {
	var state train.State
	arrays, err := r.Folder.Checkpoints().Load(checkpoint, r.Config, &state)
	if err != nil {
		return nil, err
	}
	if j := state.Judged; checkpoint == "" && j != nil && j.Chosen > 0 && j.ChosenUpdates != state.Updates {
		state = train.State{}
		arrays, err = r.Folder.Checkpoints().Load(run.CheckpointName(j.ChosenUpdates), r.Config, &state)
		if err != nil {
			return nil, err
		}
	}
	if state.Updates == 0 {
		return nil, fault.Errorf(fault.Run, r.Folder.Dir, "nothing was trained yet: its weights are "+
			"those that the network began with; landing train continues")
	}
	model, err := networks.New(r.network())
	if err != nil {
		return nil, err
	}
	if model, err = train.Load(model, arrays, state); err != nil {
		return nil, err
	}
	return &Trained{Model: model, State: state}, nil
}

// network describes the problem's network, but for what it takes from data.
func (l *Loaded) network() score.Config {
	c := l.Problem.NetworkConfig(l.Method, l.Process.Set)
	if l.Condition != nil {
		c.Given = l.Condition.Read
	}
	return c
}

func (l *Loaded) model() (score.Model[float32], error) {
	c, err := prepared(l.network(), l.Problem, l.Process, l.Data, l.Data.Rows(l.Split.Train), l.Split.Train)
	if err != nil {
		return nil, err
	}
	return networks.New(c)
}

// prepared returns c with what the network takes from the problem and from the rows of the
// data with these numbers. Errors are *problem.KeyError and those of data.
func prepared(c score.Config, p *problem.Problem, proc *langevin.Process, data *dataset.Points, train []float64,
	rows []int) (score.Config, error) {
	if c.Row.Refers {
		free, x := *proc, data.X
		if c.Held > 0 {
			given := Condition{At: c.Dim - c.Held, Names: make([]string, c.Held)}
			free.Set, x = constraint.At(proc.Set, given.Of(x)[:c.Held]), given.points(x)
		}
		if what := fixed(&free, x); what != "" {
			return c, &problem.KeyError{Key: problem.KeyNetworkKind, Value: c.Kind,
				Want: "mlp: this network does not see how points lie in space, and " + what + " does"}
		}
	}
	var err error
	if p.Network.Reference != "" {
		if c.Reference, err = p.Reference(c.Dim - c.Held); err != nil {
			return c, err
		}
	}
	c, err = networks.Prepare(c, train)
	var degenerate *superpose.DegenerateError
	if errors.As(err, &degenerate) {
		degenerate.Frame = rows[degenerate.Frame]
	}
	if err != nil {
		return c, badData(dataName(p, data), "%v", err)
	}
	return c, nil
}

// Graph returns the score of a network of the run as a graph of ONNX's operators, with inputs and output of
// type wide. The error is a *score.GraphError, with the kind of the network.
func Graph(r *Run, t *Trained, wide onnx.Type) (*onnx.Graph, error) {
	g, err := score.Graph(t.Model, r.Method.Momentum(), Times(r), wide)
	if e := new(score.GraphError); errors.As(err, &e) {
		return nil, fmt.Errorf("network.kind is %s: %w", r.Problem.NetworkKind.Name, err)
	}
	return g, err
}

// Times are those at which the run's method asks for scores.
func Times(r *Run) score.Times {
	s := r.Process.Schedule
	if end := r.Method.Capabilities().Horizon; end > 0 {
		s.T = end
	}
	return score.Times{Step: s.Dt(), N: s.N}
}
