package experiment

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
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
	Start [][2]float64 `json:"start"` // b(t) and v(t); null where waves are of x
}

// Describe describes the network of a checkpoint, chosen as Trained chooses it.
func Describe(r *Run, checkpoint string) (*Network, error) {
	t, err := r.Trained(checkpoint)
	if err != nil {
		return nil, err
	}
	c := r.network()
	kind, _ := networks.Of(c.Kind) // Trained has found it
	if c, err = kind.Resolve(c); err != nil {
		return nil, err
	}
	read := c.Reading()
	n := &Network{
		File: r.Folder.WeightsPath(run.CheckpointName(t.State.Updates)), Prefix: train.Drawn(t.State),
		Constant: train.PrefixConstant, Epoch: t.State.Epoch,
		Kind: kind.Name, Dim: c.Dim, Held: c.Held, Steps: c.Steps, Momentum: c.Momentum, Width: c.Width,
		Layers: c.Layers, Options: c.Options, Precision: c.Precision, Torsions: c.Torsions,
		Center: read.Center, Unit: read.Unit, Octaves: read.Octaves, Wavelength: read.Wavelength, Still: read.Still,
		TimeOctaves: read.TimeOctaves, Horizon: read.Horizon, Share: read.Share,
		Mean: read.Given.Mean, Scale: read.Given.Scale, Null: read.Null,
	}
	if n.Unit == 0 {
		n.Unit = 1
	}
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
	}
	return n, nil
}

// scoreRows is how many rows pass through the network at once.
const scoreRows = 512

// A RowsError says why rows are nothing that a score can be asked at.
type RowsError struct{ Width, Want, Row int }

func (e *RowsError) Error() string {
	if e.Width != e.Want {
		return fmt.Sprintf("rows have %d numbers; expected %d: a point, its momentum if the process has one, and the "+
			"time", e.Width, e.Want)
	}
	return fmt.Sprintf("row %d (from 0) has no score: the network cannot tell how the molecule lies", e.Row)
}

// Scores evaluates s_θ at rows (x, p̃, t), of width numbers each, p̃ of underdamped processes alone: a row of d
// numbers for each. Products are of the given precision, and nothing is guided; with hidden the network does not see
// the condition, if it can do without. The error is a *RowsError, or that of ctx.
func Scores(ctx context.Context, r *Run, t *Trained, precision kernel.Precision, rows []float64, width int,
	hidden bool) ([]float64, error) {
	c := r.network()
	d := c.Dim
	want := d + 1
	if c.Momentum {
		want += d
	}
	if width != want {
		return nil, &RowsError{Width: width, Want: want}
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
			return nil, &RowsError{Width: width, Want: want, Row: i / d}
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
