package newmethod

import (
	"context"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Source trains on the rows of data, with noise that each refresh draws anew. Number
// (item, k) of the noise is looked up when it is needed: nothing is stored.
type Source[T kernel.Float] struct {
	m     *Denoising
	data  []float64
	noise keyed.Stream
}

// NewSource returns the source of the rows of data.
func NewSource[T kernel.Float](m *Denoising, data []float64) *Source[T] {
	return &Source[T]{m: m, data: data}
}

func (s *Source[T]) Items() int      { return len(s.data) / s.m.Dim }
func (s *Source[T]) Times() int      { return s.m.Steps }
func (s *Source[T]) Failed(int) bool { return false }

func (s *Source[T]) Capabilities() method.SourceCapabilities[T] {
	return method.SourceCapabilities[T]{}
}

func (s *Source[T]) Prepare(context.Context, uint64) error { return nil }

func (s *Source[T]) Refresh(_ context.Context, seed, refresh uint64) (method.Report, error) {
	s.noise = keyed.PathNoise.Stream(seed, refresh)
	return method.Report{}, nil
}

func (s *Source[T]) NewLoss(r score.Reader[T], rows int) method.Loss[T] {
	d := s.m.Dim
	return &loss[T]{
		s: s, reader: r, in: make([]T, rows*r.In()),
		x: make([]float64, d), z: make([]float64, rows*d), size: make([]float64, rows), weight: make([]float64, rows),
	}
}

// loss is Σ w ½‖s F + z‖² over the terms that were prepared.
type loss[T kernel.Float] struct {
	s            *Source[T]
	reader       score.Reader[T]
	in           []T
	x, z         []float64 // x_t of a row; z of all
	size, weight []float64 // s and w of each row
	n            int
}

func (l *loss[T]) Rows() int { return len(l.size) }

func (l *loss[T]) Prepare(terms []method.Term) ([]T, error) {
	d, w := l.s.m.Dim, l.reader.In()
	l.n = len(terms)
	for i, term := range terms {
		t, a, s := l.s.m.at(term.K + 1)
		z := l.z[i*d : (i+1)*d]
		l.s.noise.Normals(z, uint64(term.Item), term.K)
		for j, v := range l.s.data[term.Item*d : (term.Item+1)*d] {
			l.x[j] = a*v + s*z[j]
		}
		l.size[i], l.weight[i] = s, term.Weight
		l.reader.Row(l.in[i*w:(i+1)*w], score.Input{X: l.x, T: t, Item: term.Item, Null: term.Null})
	}
	return l.in[:l.n*w], nil
}

func (l *loss[T]) Evaluate(ds, f []T) (sum float64) {
	d := l.s.m.Dim
	for i := range l.n {
		for j := i * d; j < (i+1)*d; j++ {
			r := l.size[i]*float64(f[j]) + l.z[j]
			sum += l.weight[i] * r * r / 2
			ds[j] = T(l.weight[i] * l.size[i] * r)
		}
	}
	return sum
}
