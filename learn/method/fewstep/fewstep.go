// Package fewstep learns to make a sample in a few evaluations of a network.
//
// The network G asks at some levels of noise, states x_k of forward paths, for a draw of where the path began:
//
//	x̂_0 = P_Σ(x_k + G(x_k, ξ, t_k)),   ξ ~ N(0, I),
//
// P_Σ being landing steps and a projection. Trained by the energy score (source.go), G(x_k, ξ) has the law of x_0 given
// x_k, as the two are paired (hands.go). A sample begins at a draw x_N of the prior, and is x̂_0 of it: that is one
// evaluation. Each further one takes the sample back to a level, along a forward path without the network, and asks
// again. With the exact G each leaves the law of the data as it is, whatever the levels; with a G that was learned,
// noise covers what is wrong at the scale of a level and below, so levels go from coarse to fine.
//
// Without the noise ξ the best answer were the mean of x_0 given x_k, which is between the modes and off Σ: no law.
package fewstep

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Method draws the law of x_0 given states of a process's forward paths.
type Method struct {
	proc *langevin.Process // of training
	by   *langevin.Process // that takes samples back to a level
	opt  Options
	ks   []int     // levels, descending: N first
	s    []float64 // their spreads
	n    int       // evaluations of a sample
}

// Options of a Method. Zero values are the defaults of the registry.
type Options struct {
	Levels int     // below N
	Draws  int     // of G for each state in training
	Coarse float64 // spread of the level after N
	Fine   float64 // spread of the last
}

const maxLevels = 64

var options = []score.Option{
	{Name: "levels", Default: 3, Lowest: 0, Most: maxLevels, Whole: true,
		Doc: "levels of noise at which the network is asked again: one less than the most evaluations of a sample"},
	{Name: "draws", Default: 2, Lowest: 2, Most: 64, Whole: true,
		Doc: "draws of the network for each state that it is trained on"},
	{Name: "coarse", Default: 0.3, Lowest: 0, Most: 1e15,
		Doc: "how far noise has carried a point at the first of these levels, in each direction"},
	{Name: "fine", Default: 0.03, Lowest: 0, Most: 1e15, Doc: "likewise the last of them; those between are geometric"},
}

// The rows of the registry: a few-step method for each process.
var (
	ULLA  = kind(langevin.ULLA)
	OLLA  = kind(langevin.OLLA)
	ULLAP = kind(langevin.ULLAP)
	OLLAP = kind(langevin.OLLAP)
)

// Prefix begins the names of few-step methods; that of the process follows.
const Prefix = "few-"

func kind(m langevin.Method) method.Kind {
	forward := func(p langevin.Process) langevin.Process {
		p.Method = m
		return p
	}
	return method.Kind{Name: Prefix + m.String(), Forward: forward, Options: options, Draws: true, New: fromConfig}
}

func fromConfig(c method.Config) (method.Method, error) {
	if len(c.Process.Set.Capabilities().Held) > 0 { // answers would move it
		return nil, &method.ConfigError{Field: "Process", Value: c.Name,
			Want: "another method: few-step methods do not know conditions"}
	}
	if c.Window > 0 {
		return nil, &method.ConfigError{Field: "Window", Value: c.Window,
			Want: "0: the targets of few-step methods are points, not steps"}
	}
	if o := cmp.Or(c.Output, "plain"); o != "plain" {
		return nil, &method.ConfigError{Field: "Output", Value: o,
			Want: "plain: a few-step method scales outputs itself"}
	}
	if c.Paths > 0 {
		return nil, &method.ConfigError{Field: "Paths", Value: c.Paths,
			Want: "0: a few-step method keeps only levels of its paths, and has room for all"}
	}
	o := c.Options
	return New(c.Process, Options{int(o["levels"]), int(o["draws"]), o["coarse"], o["fine"]})
}

// New returns the method of a process, which must be valid, that takes all its levels. The error is
// a *method.ConfigError.
func New(p *langevin.Process, o Options) (*Method, error) {
	m := &Method{proc: p, by: p, opt: o, n: o.Levels + 1, ks: []int{p.Schedule.N}}
	for i := range o.Levels {
		want := o.Coarse
		if o.Levels > 1 {
			want *= math.Pow(o.Fine/o.Coarse, float64(i)/float64(o.Levels-1))
		}
		k := 1
		for k < p.Schedule.N && p.Spread(k) < want {
			k++
		}
		if k > 1 && want/p.Spread(k-1) < p.Spread(k)/want {
			k--
		}
		if last := m.ks[len(m.ks)-1]; k >= last {
			return nil, &method.ConfigError{Field: "Levels", Value: o.Levels, Want: fmt.Sprintf(
				"fewer levels: those of spreads %.3g and %.3g are both step %d of %d", p.Spread(last), want, k,
				p.Schedule.N)}
		}
		m.ks = append(m.ks, k)
	}
	for _, k := range m.ks {
		m.s = append(m.s, p.Spread(k))
	}
	return m, nil
}

// Levels returns the steps at which the network is asked, N first.
func (m *Method) Levels() []int { return slices.Clone(m.ks) }

// With is method.Capabilities.With.
func (m *Method) With(evaluations int) (method.Method, error) {
	if evaluations < 1 || evaluations > len(m.ks) {
		return nil, &method.ConfigError{Field: "Evaluations", Value: evaluations, Want: fmt.Sprintf(
			"1 to %d: the network has learned %d levels", len(m.ks), len(m.ks))}
	}
	c := *m
	c.n = evaluations
	return &c, nil
}

// path returns the levels, as indices of ks, that n evaluations are of: N, then levels at equal
// distances, the last among them.
func (m *Method) path() []int {
	out, most := []int{0}, len(m.ks)-1
	for i := 1; i < m.n; i++ {
		out = append(out, int(math.Round(float64(i)*(float64(most)+0.5)/float64(m.n))))
	}
	return out
}

func (m *Method) Name() string        { return Prefix + m.proc.Method.String() }
func (m *Method) Momentum() bool      { return true } // the place of ξ
func (m *Method) Feasible() bool      { return true }
func (m *Method) Prior() method.Prior { return nil }

func (m *Method) Capabilities() method.Capabilities {
	return method.Capabilities{Noising: m.proc, Start: m.Start, With: m.With, Redraw: m.Redraw}
}

// level returns which of the levels a time is of.
func (m *Method) level(t float64) int {
	best := 0
	for l, k := range m.ks {
		if math.Abs(m.proc.Schedule.Time(k)-t) < math.Abs(m.proc.Schedule.Time(m.ks[best])-t) {
			best = l
		}
	}
	return best
}

// Gain is the spread of a level: outputs are displacements in units of it.
func (m *Method) Gain() func(t float64) float64 {
	return func(t float64) float64 { return m.s[m.level(t)] }
}

// Start is method.Capabilities.Start. All that is known is x_k; but x_0 is dealt out to it by where it is (hands.go),
// as finely at each level as at the last, so that waves shrink at all of them as there.
func (m *Method) Start() func(t float64) (b, v float64) {
	last := m.s[len(m.s)-1]
	return func(float64) (float64, float64) { return 0, last * last }
}

func (m *Method) Source(data []float64, pool *parallel.Pool) method.Source[float32] {
	return NewSource[float32](m, data, pool)
}

func (m *Method) Sampler(rows int, pool *parallel.Pool) method.Sampler {
	return newSampler(m, rows, pool)
}

// Redraw is method.Capabilities.Redraw: p may say otherwise how paths return to Σ and what walls do to them,
// not which steps they have.
func (m *Method) Redraw(p *langevin.Process) (method.Method, error) {
	if p.Schedule.N != m.proc.Schedule.N {
		return nil, &langevin.ConfigError{Field: "Schedule.N", Value: p.Schedule.N, Want: fmt.Sprintf(
			"%d: the levels are among these steps; generate.evaluations says how many of them are asked",
			m.proc.Schedule.N)}
	}
	if err := m.proc.CanDraw(p); err != nil {
		return nil, err
	}
	c := *m
	c.by = p
	return &c, nil
}
