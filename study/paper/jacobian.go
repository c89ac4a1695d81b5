package paper

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/sweep"
)

// Figure 5: ‖∇s_θ‖_F over time, in x where a method has no momentum, in p where it has.

const (
	jacobianSamples = 200
	jacobianRows    = 32   // in a block
	jacobianStep    = 1e-3 // of central differences: networks pass in float32, outputs of the same size as x
)

// A probe is a score that takes the norm of its Jacobian wherever generation asks for it.
type probe struct {
	method.Score
	d        int
	momentum bool
	at       map[float64]*moment // by t
	a, b, y  []float64           // outputs at both ends; the point that is moved
}

type moment struct {
	sum float64 // of squared norms
	n   int
}

func (p *probe) Eval(dst, x, v []float64, n int, t float64) {
	m := p.at[t]
	if m == nil {
		m = &moment{}
		p.at[t] = m
	}
	moved := x
	if p.momentum {
		moved = v
	}
	p.y = append(p.y[:0], moved[:n*p.d]...)
	eval := func(dst []float64) {
		if p.momentum {
			p.Score.Eval(dst, x, p.y, n, t)
		} else {
			p.Score.Eval(dst, p.y, v, n, t)
		}
	}
	for j := range p.d {
		for i := range n {
			p.y[i*p.d+j] = moved[i*p.d+j] + jacobianStep
		}
		eval(p.a[:n*p.d])
		for i := range n {
			p.y[i*p.d+j] = moved[i*p.d+j] - jacobianStep
		}
		eval(p.b[:n*p.d])
		for i := range n {
			p.y[i*p.d+j] = moved[i*p.d+j]
		}
		for i := range n * p.d {
			slope := (p.a[i] - p.b[i]) / (2 * jacobianStep)
			m.sum += slope * slope
		}
	}
	m.n += n
	p.Score.Eval(dst, x, v, n, t)
}

// A Norm is the root mean square of ‖∇s‖_F at a time.
type Norm struct {
	T    float64 `json:"t"`
	Norm float64 `json:"norm"`
}

// norms returns the norms of the scores of a trained network on backward paths, by time. One worker does it, so
// that sums have one order.
func norms(ctx context.Context, r *experiment.Run, t *experiment.Trained, prior *experiment.Prior, n int,
	seed uint64) ([]Norm, error) {
	pool := parallel.New(1)
	defer pool.Close()
	d := r.Process.Set.Dim()
	p := &probe{Score: score.NewGuided(t.Model, t.Model.Pack(false), jacobianRows, 1, 0)[0], d: d,
		momentum: r.Method.Momentum(), at: map[float64]*moment{}, a: make([]float64, jacobianRows*d),
		b: make([]float64, jacobianRows*d)}
	_, err := r.Method.Sampler(jacobianRows, pool).Generate(ctx, make([]float64, n*d), make([]bool, n), 0, seed,
		prior.Prior, func(int) method.Score { return p })
	if err != nil {
		return nil, err
	}
	var out []Norm
	for _, t := range slices.Sorted(maps.Keys(p.at)) {
		out = append(out, Norm{t, math.Sqrt(p.at[t].sum / float64(p.at[t].n))})
	}
	return out, nil
}

// jacobianFile is the norms of a run, in its folder.
const jacobianFile = "jacobian.json"

// jacobian measures a cell as measured does, and the norms.
func jacobian(ctx context.Context, d *sweep.Drawing) (*compare.Entry, error) {
	e, err := measured(ctx, d)
	if err != nil {
		return nil, err
	}
	return e, addNorms(ctx, d, e.Figures)
}

func addNorms(ctx context.Context, d *sweep.Drawing, f map[string]float64) error {
	prior, err := d.Run.Prior(ctx, nil)
	if err != nil {
		return err
	}
	all, err := norms(ctx, d.Run, d.Trained, prior, jacobianSamples, d.Own.Problem.Seed)
	if err != nil {
		return err
	}
	var sizes []float64
	for _, n := range all {
		sizes = append(sizes, n.Norm)
	}
	f[JacobianNear] = sizes[0]
	slices.Sort(sizes)
	f[JacobianMid] = sizes[len(sizes)/2]
	return d.Run.Folder.WriteJSON(d.Run.Out(jacobianFile), all)
}
