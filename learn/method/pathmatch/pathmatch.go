// Package pathmatch is the paper's method: a network learns, by the path-matching loss,
// to retrace the paths of a constrained Langevin process, and generates by its backward
// process. The process is one of OLLA, ULLA, OLLA-P and ULLA-P (package langevin).
package pathmatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/cwpm"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Method is a process, learned by path matching.
type Method struct {
	proc *langevin.Process // of training
	by   *langevin.Process // that generates
	opt  Options
}

// Options of a Method; the zero value is the paper's.
type Options struct {
	Window float64 // as in cwpm.Options
	Output Output
	Paths  int // of a refresh, where there are more rows: they take turns. 0: one from every row
	// Share of the paths that windows are fitted to otherwise; 0: all
	Share float64
}

// An Output says how a network's outputs are scaled, so that errors weigh alike at all times.
type Output int

const (
	Plain    Output = iota // not at all: the paper's
	Scaled                 // by langevin.Process.ScoreGains
	Balanced               // by langevin.Process.BalancedGains, and the loss as in cwpm.Options.Balanced
)

var outputNames = [...]string{"plain", "scaled", "balanced"}

func (o Output) String() string { return outputNames[o] }

// The rows of the registry: the paper's methods.
var (
	ULLA  = method.Kind{Name: "ULLA", Forward: langevin.ULLA.Of, New: fromConfig}
	OLLA  = method.Kind{Name: "OLLA", Forward: langevin.OLLA.Of, New: fromConfig}
	ULLAP = method.Kind{Name: "ULLA-P", Forward: langevin.ULLAP.Of, New: fromConfig}
	OLLAP = method.Kind{Name: "OLLA-P", Alias: "RDDPM", Forward: langevin.OLLAP.Of, New: fromConfig}
)

func fromConfig(c method.Config) (method.Method, error) { return Make(c) }

// Make returns the method of c's process. The error is a *method.ConfigError.
func Make(c method.Config) (*Method, error) {
	output := slices.Index(outputNames[:], cmp.Or(c.Output, "plain"))
	if output < 0 {
		return nil, &method.ConfigError{Field: "Output", Value: c.Output, Want: "one of plain, scaled, balanced"}
	}
	if c.Window > 0 {
		if n := c.Process.Schedule.N; n > maxFitSteps {
			want := fmt.Sprintf("0: with %d steps the paths that windows are fitted to have too many numbers; "+
				"at most %d steps have room", n, maxFitSteps)
			return nil, &method.ConfigError{Field: "Window", Value: c.Window, Want: want}
		}
	}
	return New(c.Process, Options{Window: c.Window, Output: Output(output), Paths: c.Paths,
		Share: c.Share}), nil
}

// New returns the method of a process, which must be valid.
func New(p *langevin.Process, o Options) *Method { return &Method{p, p, o} }

// Redraw is method.Capabilities.Redraw.
func (m *Method) Redraw(p *langevin.Process) (method.Method, error) {
	if err := m.proc.CanDraw(p); err != nil {
		return nil, err
	}
	return &Method{m.proc, p, m.opt}, nil
}

// Process returns the process of training. It is not to be changed.
func (m *Method) Process() *langevin.Process { return m.proc }

func (m *Method) Capabilities() method.Capabilities {
	return method.Capabilities{Follows: m.proc, Noising: m.proc, Redraw: m.Redraw}
}

func (m *Method) Name() string        { return m.by.Method.String() }
func (m *Method) Momentum() bool      { return m.proc.Method.Underdamped() }
func (m *Method) Feasible() bool      { return !m.by.NoTerminal || m.by.Method.Projected() }
func (m *Method) Prior() method.Prior { return nil }

func (m *Method) Gain() func(t float64) float64 {
	switch m.opt.Output {
	case Scaled:
		return m.proc.ScoreGains()
	case Balanced:
		return m.proc.BalancedGains()
	}
	return nil
}

func (m *Method) Source(data []float64, pool *parallel.Pool) method.Source[float32] {
	return NewSource[float32](m, data, pool)
}

func (m *Method) Sampler(rows int, pool *parallel.Pool) method.Sampler {
	s := &sampler{m: m, pool: pool, rows: rows, sim: langevin.NewSimulator(m.by, pool, rows).Tolerate()}
	if m.by == m.proc {
		s.forward = s.sim
	}
	return s
}

type sampler struct {
	m       *Method
	pool    *parallel.Pool
	rows    int
	sim     *langevin.Simulator
	forward *langevin.Simulator // of training; nil before it is needed, if it is another
}

func (s *sampler) Watch(t *method.Trace)   { s.sim.Watch(t) }
func (s *sampler) NewTrace() *method.Trace { return langevin.NewTrace(s.m.by) }

func (s *sampler) Generate(ctx context.Context, dst []float64, failed []bool, first, seed uint64,
	prior method.Prior, scores func(worker int) method.Score) (method.Report, error) {
	r, err := s.sim.Backward(ctx, dst, failed, first, seed, prior, scores)
	return method.Told(r), err
}

func (s *sampler) Ends(ctx context.Context, x0 []float64, seed, refresh uint64) ([]float64, error) {
	if s.forward == nil {
		s.forward = langevin.NewSimulator(s.m.proc, s.pool, s.rows).Tolerate()
	}
	return method.Ends(ctx, s.forward, x0, seed, refresh)
}

// A Source is a method.Source whose items are forward paths.
type Source[T kernel.Float] struct {
	m    *Method
	data []float64
	pool *parallel.Pool
	sim  *langevin.Simulator

	starts []float64 // of the present paths, where they are fewer than the rows
	turns  method.Turns

	paths   langevin.Paths
	last    cwpm.LastMomentum
	losses  []*cwpm.Loss[T]
	windows []cwpm.Window // that were fitted; nil before that
	of      *Source[T]    // whose windows these are; nil: its own
}

// simulated is the number of points in a block of the forward simulation.
const simulated = 64

// NewSource makes the source of forward paths from the rows of data (n×d).
func NewSource[T kernel.Float](m *Method, data []float64, pool *parallel.Pool) *Source[T] {
	return &Source[T]{m: m, data: data, pool: pool, sim: langevin.NewSimulator(m.proc, pool, simulated).Tolerate()}
}

// Capabilities implements method.Source.
func (s *Source[T]) Capabilities() method.SourceCapabilities[T] {
	c := method.SourceCapabilities[T]{Beside: s.Beside, Among: s.sim.Among}
	if s.m.opt.Window > 0 && s.of == nil {
		c.Prepares = s.fitted()
	}
	return c
}

// Beside is method.SourceCapabilities.Beside.
func (s *Source[T]) Beside(data []float64) method.Source[T] {
	b := NewSource[T](s.m, data, s.pool)
	b.of = s
	return b
}

func (s *Source[T]) Items() int {
	rows := s.rows()
	if p := s.m.opt.Paths; p > 0 {
		return min(p, rows)
	}
	return rows
}

func (s *Source[T]) rows() int            { return len(s.data) / s.m.proc.Set.Dim() }
func (s *Source[T]) Times() int           { return s.m.proc.Schedule.N }
func (s *Source[T]) Failed(item int) bool { return s.paths.Failed[item] }

// Paths returns the paths of the last Refresh, and the last momenta of their loss.
func (s *Source[T]) Paths() (*langevin.Paths, cwpm.LastMomentum) { return &s.paths, s.last }

// loss is a cwpm.Loss on the present paths of a Source.
type loss[T kernel.Float] struct {
	*cwpm.Loss[T]
	s *Source[T]
}

func (l loss[T]) Prepare(terms []method.Term) ([]T, error) {
	return l.Loss.Prepare(&l.s.paths, terms, l.s.last)
}

func (s *Source[T]) NewLoss(r score.Reader[T], rows int) method.Loss[T] {
	l := cwpm.NewLoss(s.m.proc, r, rows, cwpm.Options{Window: s.m.opt.Window, Balanced: s.m.opt.Output == Balanced})
	s.losses = append(s.losses, l)
	return loss[T]{l, s}
}

// Refresh simulates a path from each row of data, or from those whose turn it is.
func (s *Source[T]) Refresh(ctx context.Context, seed, refresh uint64) (method.Report, error) {
	r, err := s.sim.Forward(ctx, &s.paths, s.turn(seed, refresh), seed, refresh)
	s.last = momenta(seed, refresh)
	return method.Told(r), err
}

// turn returns the rows that the paths of a refresh begin at.
func (s *Source[T]) turn(seed, refresh uint64) []float64 {
	d := s.m.proc.Set.Dim()
	if s.Items() == s.rows() {
		return s.data
	}
	s.starts = s.starts[:0]
	for _, i := range s.turns.Of(s.rows(), s.Items(), seed, refresh) {
		s.starts = append(s.starts, s.data[i*d:(i+1)*d]...)
	}
	return s.starts
}

func momenta(seed, refresh uint64) cwpm.LastMomentum {
	stream := keyed.PathLastMomentum.Stream(seed, refresh)
	return func(dst []float64, path int) { stream.Normals(dst, uint64(path), 0) }
}

// FitNumbers is how many coordinates windows are fitted to, for each term. A target that explains a share r of the
// noise's variance is then known to about a part in √(r·131 072): 0.9 % for a tenth. Only tests lower it, where a
// training is small and fits would be most of its work.
var FitNumbers = 1 << 17

// fitWork bounds the multiply-adds of a set that these paths take, a value and gradient counted a step, as far
// as that leaves fewestFitted of them: 400 projected steps of all of them on the level set of a network, and the
// fit, take more than ten minutes of processor time.
//
// fitSteps bounds the steps of paths that are projected at each: on a small set of formulas those of all took 20 s,
// forty times what the paths of an epoch of 900 rows take.
const (
	fitWork      = 1 << 37
	fitSteps     = 1 << 21
	fewestFitted = 1000
	fewestShared = 100 // of a share of them
)

// fitted returns how many paths windows are fitted to.
func (s *Source[T]) fitted() int {
	d := s.m.proc.Set.Dim()
	n := (FitNumbers + d - 1) / d
	if step := s.m.proc.Set.Capabilities().Work * float64(s.Times()); step > 0 {
		n = min(n, max(fewestFitted, int(fitWork/step)))
	}
	if s.m.proc.Method.Projected() {
		n = min(n, max(fewestFitted, fitSteps/s.Times()))
	}
	return method.Shared(n, s.m.opt.Share, fewestShared)
}

// maxFitSteps bounds the steps of a process whose windows are fitted: its paths are kept
// whole, FitNumbers·(N+1) numbers.
const maxFitSteps = 7_500

// Prepare fits the windows of the losses, if they have any, to paths of their own, so
// that they are a function of data and seed alone. There is a loss for each worker.
func (s *Source[T]) Prepare(ctx context.Context, seed uint64) error {
	if s.m.opt.Window == 0 {
		return nil
	}
	fit := s.fit
	if s.of != nil {
		fit = s.of.fit
	}
	var err error
	if s.windows, err = fit(ctx, seed); err != nil {
		return err
	}
	for _, l := range s.losses {
		l.SetWindows(s.windows)
	}
	return nil
}

// fit returns the windows, once fitted.
func (s *Source[T]) fit(ctx context.Context, seed uint64) ([]cwpm.Window, error) {
	if s.windows != nil {
		return s.windows, nil
	}
	d, N := s.m.proc.Set.Dim(), s.Times()
	index := keyed.WindowPaths.At(0)
	var paths langevin.Paths
	starts := langevin.Starts(s.data, d, s.fitted())
	r, err := s.sim.Forward(ctx, &paths, starts, seed, index)
	if err != nil {
		return nil, err
	}
	if r.Broken == paths.Count {
		return nil, r.Break
	}
	last := momenta(seed, index)
	windows, errs := make([]cwpm.Window, N), make([]error, N)
	s.pool.Do(N, func(worker, k int) { windows[k], errs[k] = s.losses[worker].FitWindow(&paths, k, last) })
	for k, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("window of step %d: %w", k, err)
		}
	}
	s.windows = windows
	return windows, nil
}
