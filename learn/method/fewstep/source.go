package fewstep

import (
	"context"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

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
