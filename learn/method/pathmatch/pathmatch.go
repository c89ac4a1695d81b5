// Package pathmatch is the paper's method: a network learns, by the path-matching loss,
// to retrace the paths of a constrained Langevin process, and generates by its backward
// process. The process is one of OLLA, ULLA, OLLA-P and ULLA-P (package langevin).
package pathmatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
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
	ULLA  = method.Kind{Name: "ULLA", Forward: of(langevin.ULLA), New: fromConfig}
	OLLA  = method.Kind{Name: "OLLA", Forward: of(langevin.OLLA), New: fromConfig}
	ULLAP = method.Kind{Name: "ULLA-P", Forward: of(langevin.ULLAP), New: fromConfig}
	OLLAP = method.Kind{Name: "OLLA-P", Alias: "RDDPM", Forward: of(langevin.OLLAP), New: fromConfig}
)

// of returns what makes a problem's process one of the method m.
func of(m langevin.Method) func(langevin.Process) langevin.Process {
	return func(p langevin.Process) langevin.Process {
		p.Method = m
		return p
	}
}

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
	return New(c.Process, Options{Window: c.Window, Output: Output(output), Paths: c.Paths}), nil
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
