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
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
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
	held []int     // coordinates of a condition: answers do not move them
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
		Doc: "levels of noise at which the network is evaluated again: one less than the most evaluations of a sample"},
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
	return method.Kind{Name: Prefix + m.String(), Forward: m.Of, Options: options, Draws: true, New: fromConfig}
}

func fromConfig(c method.Config) (method.Method, error) {
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
	m := &Method{proc: p, by: p, opt: o, n: o.Levels + 1, ks: []int{p.Schedule.N},
		held: p.Set.Capabilities().Held}
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

// still sets held coordinates of rows of d numbers to 0.
func (m *Method) still(rows []float64) {
	for d := m.proc.Set.Dim(); len(m.held) > 0 && len(rows) > 0; rows = rows[d:] {
		for _, j := range m.held {
			rows[j] = 0
		}
	}
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
			"%d: the levels are among these steps; generate.evaluations says how many of them are used",
			m.proc.Schedule.N)}
	}
	if err := m.proc.CanDraw(p); err != nil {
		return nil, err
	}
	c := *m
	c.by = p
	return &c, nil
}

// A Source is a method.Source whose items are points and states of a forward path from each, one a level.
type Source[T kernel.Float] struct {
	m      *Method
	d      int
	data   []float64
	sim    *langevin.Simulator
	ks     []int     // ascending
	states []float64 // of paths: rows×levels×d
	dealt  []int     // rows×levels: whose path's state an item has at a level
	failed []bool
	ξ      keyed.Stream

	pool   *parallel.Pool
	hands  hands
	images images // rows×d; nil without walls
}

// simulated is the number of points in a block of the forward simulation.
const simulated = 64

// NewSource makes the source of paths from the rows of data (n×d).
func NewSource[T kernel.Float](m *Method, data []float64, pool *parallel.Pool) *Source[T] {
	d := m.proc.Set.Dim()
	n, L := len(data)/d, len(m.ks)
	s := &Source[T]{m: m, d: d, data: data, pool: pool, sim: langevin.NewSimulator(m.proc, pool, simulated).Tolerate(),
		states: make([]float64, n*L*d), dealt: make([]int, n*L), failed: make([]bool, n)}
	for l := range L {
		s.ks = append(s.ks, m.ks[L-1-l])
	}
	s.asPathsPair()
	s.mirror()
	return s
}

func (s *Source[T]) Items() int           { return len(s.failed) }
func (s *Source[T]) Times() int           { return len(s.ks) }
func (s *Source[T]) Failed(item int) bool { return s.failed[item] }

func (s *Source[T]) Capabilities() method.SourceCapabilities[T] {
	return method.SourceCapabilities[T]{Arrange: s.Arrange, Among: s.sim.Among, Draws: s.m.opt.Draws}
}

func (s *Source[T]) Prepare(context.Context, uint64) error { return nil }

// Refresh simulates a path from each row of data.
func (s *Source[T]) Refresh(ctx context.Context, seed, refresh uint64) (method.Report, error) {
	r, err := s.sim.Partway(ctx, s.states, s.failed, s.data, s.ks, 0, keyed.PathNoise.Stream(seed, refresh),
		keyed.PathMomentum.Stream(seed, refresh))
	return method.Told(r), err
}

// at returns x_k that was dealt to an item at level l of ks, and x_0.
func (s *Source[T]) at(item, l int) (x, x0 []float64) {
	o := (s.dealt[item*len(s.ks)+l]*len(s.ks) + l) * s.d
	return s.states[o : o+s.d], s.data[item*s.d : (item+1)*s.d]
}

func (s *Source[T]) NewLoss(r score.Reader[T], rows int) method.Loss[T] { return newLoss(s, r, rows) }

// A loss is the energy score of m draws F_1 … F_m of the network at a state, for the target
// u = (x_0 − x_k)/s_k, x_0 being a row or its image behind a wall (images):
//
//	(1/m) Σ_i |F_i − u| − (1/(2m(m−1))) Σ_{i≠j} |F_i − F_j|,   |v| = √(‖v‖² + ε²)
//
// Its expectation over u is least, among all laws of F, at the law of u given x_k, and there alone
// (Gneiting and Raftery 2007; with ε too: |·| is still of negative type).
type loss[T kernel.Float] struct {
	src    *Source[T]
	reader score.Reader[T]
	w, m   int // width of a network row; draws

	terms []method.Term
	u, ξ  []float64  // terms×d; d
	side  [1]float64 // of a wall
	in    []T        // rows×w
	f, df []float64  // draws×d, of one term
}

// smooth is ε, in units of a level's spread.
const smooth = 1e-3

func newLoss[T kernel.Float](s *Source[T], r score.Reader[T], rows int) *loss[T] {
	m, w := s.m.opt.Draws, r.In()
	n := rows / m
	return &loss[T]{src: s, reader: r, w: w, m: m, u: make([]float64, n*s.d), ξ: make([]float64, s.d),
		in: make([]T, n*m*w), f: make([]float64, m*s.d), df: make([]float64, m*s.d)}
}

func (l *loss[T]) Rows() int { return len(l.u) / l.src.d }

// Prepare makes the rows (x_k, ξ, t_k) of the terms, as many each as there are draws.
func (l *loss[T]) Prepare(terms []method.Term) ([]T, error) {
	if len(terms) > l.Rows() {
		panic(fmt.Sprintf("fewstep: %d terms in a loss for %d", len(terms), l.Rows()))
	}
	l.terms = terms
	d, sched := l.src.d, l.src.m.proc.Schedule
	for i, t := range terms {
		x, x0 := l.src.at(t.Item, t.K)
		time := sched.Time(l.src.ks[t.K])
		l.src.ξ.Uniforms(l.side[:], uint64(t.Item), len(l.src.ks)*l.m+t.K)
		x0 = l.src.unfolded(t.Item, t.K, x, x0, l.side[0])
		for j, v := range x {
			l.u[i*d+j] = (x0[j] - v) / l.reader.Gain(time)
		}
		for a := range l.m {
			l.src.ξ.Normals(l.ξ, uint64(t.Item), t.K*l.m+a)
			l.src.m.still(l.ξ)
			row := (i*l.m + a) * l.w
			l.reader.Row(l.in[row:row+l.w], score.Input{X: x, P: l.ξ, T: time, Item: t.Item, Null: t.Null})
		}
	}
	return l.in[:len(terms)*l.m*l.w], nil
}

// Evaluate implements method.Loss.
func (l *loss[T]) Evaluate(ds, s []T) float64 {
	d, m, sum := l.src.d, l.m, 0.0
	attract, repel := 1/float64(m), -1/float64(m*(m-1))
	for i, t := range l.terms {
		out := s[i*m*d : (i+1)*m*d]
		for j, v := range out {
			l.f[j] = float64(v)
		}
		l.src.m.still(l.f)
		clear(l.df)
		u, v := l.u[i*d:(i+1)*d], 0.0
		for a := range m {
			f, df := l.f[a*d:(a+1)*d], l.df[a*d:(a+1)*d]
			v += attract * pull(df, nil, f, u, attract)
			for b := range a {
				v += repel * pull(df, l.df[b*d:(b+1)*d], f, l.f[b*d:(b+1)*d], repel)
			}
		}
		sum += t.Weight * v
		for j, g := range l.df {
			ds[i*m*d+j] = T(t.Weight * g)
		}
	}
	return sum
}

// pull returns |a − b|, and adds c times its gradient to da and, unless nil, db.
func pull(da, db, a, b []float64, c float64) float64 {
	r := smooth * smooth
	for j, v := range a {
		r += (v - b[j]) * (v - b[j])
	}
	r = math.Sqrt(r)
	for j, v := range a {
		g := c * (v - b[j]) / r
		da[j] += g
		if db != nil {
			db[j] -= g
		}
	}
	return r
}
