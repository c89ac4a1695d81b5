// Package methodtest is the suite that any method.Method must pass. Its results are functions of seed and number alone.
// The losses have the stated gradients. Samples do not depend on blocks, workers or on the division into calls.
package methodtest

import (
	"context"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Run runs the suite on m, for the training rows data (n×d, at least 12 of them).
// Samples begin with prior, if the method has none of its own.
func Run(t *testing.T, m method.Method, data []float64, d int, prior method.Prior) {
	if own := m.Prior(); own != nil {
		prior = own
	}
	s := &suite{m, data, d, prior}
	t.Run("Source", s.source)
	t.Run("Ranks", s.ranks)
	t.Run("Loss", s.loss)
	t.Run("Allocations", s.allocations)
	t.Run("Sampler", s.sampler)
	t.Run("Ends", s.ends)
	t.Run("Watched", s.watched)
}

type suite struct {
	m     method.Method
	data  []float64
	d     int
	prior method.Prior
}

// material is a Source with a loss for each worker.
type material struct {
	method.Source[float32]
	losses []method.Loss[float32]
	draws  int    // network rows a term
	told   *[]int // the items of the rows that were written
}

// told notes the items of the rows that it writes.
type told struct {
	score.Reader[float32]
	items *[]int
}

func (r told) Row(dst []float32, at score.Input) {
	*r.items = append(*r.items, at.Item)
	r.Reader.Row(dst, at)
}

func (s *suite) material(t *testing.T, workers, rows int, seed uint64, refreshes ...uint64) *material {
	t.Helper()
	pool := parallel.New(workers)
	t.Cleanup(pool.Close)
	items := make([]int, 0, 1<<16)
	m := &material{Source: s.m.Source(s.data, pool), told: &items}
	m.draws = max(1, m.Capabilities().Draws)
	reader := told{score.NewReader[float32](score.Reading{Gain: s.m.Gain()}, s.d, s.m.Momentum()), &items}
	for range workers {
		m.losses = append(m.losses, m.NewLoss(reader, rows*m.draws))
		if got := m.losses[0].Rows(); got != rows {
			t.Fatalf("a loss for %d network rows has room for %d terms; expected %d", rows*m.draws, got, rows)
		}
	}
	testkit.OK(t, m.Prepare(context.Background(), seed))
	for _, r := range refreshes {
		report := testkit.Must(m.Refresh(context.Background(), seed, r))
		failed := 0
		for i := range m.Items() {
			if m.Failed(i) {
				failed++
			}
		}
		if failed != report.Failed {
			t.Errorf("%d items failed; the report says %d", failed, report.Failed)
		}
		m.arrange(seed, epochOf(r))
	}
	return m
}

// epochOf returns an epoch of a refresh: of rows that are judged by there is but its number.
func epochOf(refresh uint64) uint64 {
	if refresh == keyed.HeldPaths.At(0) {
		return refresh
	}
	return 3*refresh + 1
}

// arrange does what a trainer does before an epoch.
func (m *material) arrange(seed, epoch uint64) {
	if arrange := m.Capabilities().Arrange; arrange != nil {
		arrange(seed, epoch)
	}
}

// ranks: a refresh that is divided among processes makes on each what one process makes, and reports the same.
func (s *suite) ranks(t *testing.T) {
	if s.material(t, 1, 1, 1).Capabilities().Among == nil {
		t.Skip("refreshes are not divided")
	}
	const seed, refresh = 3, 4
	alone := s.material(t, 2, 8, seed)
	want := testkit.Must(alone.Refresh(context.Background(), seed, refresh))
	want.Break = nil // an error of another type on other ranks
	alone.arrange(seed, epochOf(refresh))
	terms := alone.terms()
	rows := alone.made(t, 0, s.d, terms)
	for _, size := range []int{1, 2, 3} {
		var wait sync.WaitGroup
		for r, g := range ranks.Local(size) {
			m := s.material(t, 1, 8, seed)
			wait.Add(1)
			go func() {
				defer wait.Done()
				m.Capabilities().Among(g)
				got, err := m.Refresh(context.Background(), seed, refresh)
				if err != nil {
					t.Errorf("rank %d of %d: %v", r, size, err)
					return
				}
				if got.Break = nil; !reflect.DeepEqual(got, want) {
					t.Errorf("rank %d of %d reports %+v, alone %+v", r, size, got, want)
				}
				m.arrange(seed, epochOf(refresh))
				for i := range m.Items() {
					if m.Failed(i) != alone.Failed(i) {
						t.Errorf("rank %d of %d: item %d failed: %v", r, size, i, m.Failed(i))
						return
					}
				}
				if !slices.Equal(m.made(t, 0, s.d, terms), rows) {
					t.Errorf("rank %d of %d makes other rows", r, size)
				}
			}()
		}
		wait.Wait()
	}
}

// terms are every time of some items that did not fail, not in order.
func (m *material) terms() (terms []method.Term) {
	for i := m.Items() - 1; i >= 0; i -= 5 {
		for k := range m.Times() {
			if !m.Failed(i) {
				terms = append(terms, method.Term{Item: i, K: k, Weight: 0.1 + 0.01*float64(i)})
			}
		}
	}
	return terms
}

// made is the rows and, at outputs that are given, the gradients of terms.
func (m *material) made(t *testing.T, worker, d int, terms []method.Term) []float32 {
	t.Helper()
	l := m.losses[worker]
	var out []float32
	for lo := 0; lo < len(terms); {
		part := terms[lo:min(lo+l.Rows(), len(terms))]
		rows := testkit.Must(l.Prepare(part))
		out = append(out, rows...)
		ds := make([]float32, len(part)*m.draws*d)
		l.Evaluate(ds, outputs(lo*m.draws*d, len(ds)))
		out = append(out, ds...)
		lo += len(part)
	}
	return out
}

// outputs are numbers first … first+n−1 of what a network could say.
func outputs(first, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(math.Sin(float64(3*(first+i) + 1)))
	}
	return s
}

// What a source makes is a function of data, seed and refresh: neither of workers nor
// of what was made before.
func (s *suite) source(t *testing.T) {
	base := s.material(t, 1, 8, 5, 2)
	if base.Items() != len(s.data)/s.d || base.Times() < 1 {
		t.Fatalf("%d items of %d rows, %d times", base.Items(), len(s.data)/s.d, base.Times())
	}
	terms := base.terms()
	want := base.made(t, 0, s.d, terms)
	for name, other := range map[string]*material{
		"twice":                  s.material(t, 1, 8, 5, 2),
		"with more workers":      s.material(t, 3, 8, 5, 2),
		"after another refresh":  s.material(t, 1, 8, 5, 0, 7, 2),
		"after the same refresh": s.material(t, 1, 8, 5, 2, 2),
	} {
		for worker := range other.losses {
			if !equal(other.made(t, worker, s.d, terms), want) {
				t.Errorf("%s the material is another (worker %d)", name, worker)
			}
		}
	}
	if base.Capabilities().Arrange != nil {
		base.arrange(5, epochOf(2)+1)
		if equal(base.made(t, 0, s.d, terms), want) {
			t.Error("another epoch arranges the same material")
		}
		base.arrange(5, epochOf(2))
		if !equal(base.made(t, 0, s.d, terms), want) {
			t.Error("after another epoch the material is another")
		}
	}
	held := keyed.HeldPaths.At(0) // by whose loss a training may be judged
	for name, other := range map[string]*material{
		"seed": s.material(t, 1, 8, 6, 2), "refresh": s.material(t, 1, 8, 5, 3), "use": s.material(t, 1, 8, 5, held),
	} {
		if equal(other.made(t, 0, s.d, terms), want) {
			t.Errorf("another %s makes the same material", name)
		}
	}
}

// A term's rows and gradient do not depend on those beside it; the loss is the sum over
// terms; its gradient is that of central differences of fourth order, which are exact for losses of
// up to fourth degree.
func (s *suite) loss(t *testing.T) {
	m := s.material(t, 1, 64, 5, 0)
	terms := m.terms()
	terms = terms[:min(len(terms), 64)]
	l, n := m.losses[0], len(terms)
	*m.told = (*m.told)[:0]
	all := testkit.Must(l.Prepare(terms))
	e := m.draws * s.d // outputs of a term
	for i, item := range *m.told {
		if len(*m.told) != n*m.draws || item != terms[i/m.draws].Item {
			t.Fatalf("the network reads items %v of terms %v", *m.told, terms)
		}
	}
	rows, w := append([]float32(nil), all...), len(all)/n
	f, ds, scratch := outputs(0, n*e), make([]float32, n*e), make([]float32, n*e)
	for i := range ds {
		ds[i] = float32(math.NaN())
	}
	value := l.Evaluate(ds, f)
	for i := 0; i < n*e; i += 1 + n*e/200 {
		at := f[i]
		slope := func(h float32) float64 {
			f[i] = at + h
			up := l.Evaluate(scratch, f)
			f[i] = at - h
			down := l.Evaluate(scratch, f)
			f[i] = at
			return (up - down) / (float64(at+h) - float64(at-h))
		}
		const h = 1.0 / 256
		got, want := float64(ds[i]), (4*slope(h/2)-slope(h))/3
		size := math.Abs(value)
		if bound := 1e-5*(math.Abs(want)+size/float64(n*e)) + 1e-11*size; !(math.Abs(got-want) <= bound) {
			t.Fatalf("derivative %d is %v, by differences %v", i, got, want)
		}
	}
	sum := 0.0
	for i := range terms {
		row := testkit.Must(l.Prepare(terms[i : i+1]))
		if !equal(row, rows[i*w:(i+1)*w]) {
			t.Fatalf("the row of term %d alone is another", i)
		}
		sum += l.Evaluate(scratch, f[i*e:(i+1)*e])
		if !equal(scratch[:e], ds[i*e:(i+1)*e]) {
			t.Fatalf("the gradient of term %d alone is another", i)
		}
	}
	if math.Abs(sum-value) > 1e-9*math.Abs(value) {
		t.Errorf("the loss is %v, the sum over its terms %v", value, sum)
	}
}

func (s *suite) allocations(t *testing.T) {
	m := s.material(t, 1, 16, 5, 0)
	terms, l := m.terms(), m.losses[0]
	terms = terms[:min(16, len(terms))]
	e := m.draws * s.d
	f, ds := outputs(0, len(terms)*e), make([]float32, len(terms)*e)
	if n := testing.AllocsPerRun(10, func() {
		*m.told = (*m.told)[:0]
		testkit.Must(l.Prepare(terms))
		l.Evaluate(ds, f)
	}); n != 0 {
		t.Errorf("a loss allocates %v times", n)
	}
}

// towards is a score that is easy to compute and never large.
type towards struct{}

func (towards) Eval(dst, x, p []float64, n int, t float64) {
	for i := range dst[:len(dst)/n*n] {
		dst[i] = -0.5*math.Tanh(x[i]) + 0.1*math.Cos(t)
		if p != nil {
			dst[i] += 0.3 * math.Tanh(p[i])
		}
	}
}

// generate returns samples first … first+n−1, and which failed.
func (s *suite) generate(t *testing.T, rows, workers, first, n int, seed uint64) ([]float64, []bool) {
	t.Helper()
	pool := parallel.New(workers)
	defer pool.Close()
	x, failed := make([]float64, n*s.d), make([]bool, n)
	r, err := s.m.Sampler(rows, pool).Generate(context.Background(), x, failed, uint64(first), seed, s.prior,
		func(int) method.Score { return towards{} })
	if err != nil {
		t.Fatal(err)
	}
	if lost := count(failed); lost != r.Failed {
		t.Errorf("%d samples failed; the report says %d", lost, r.Failed)
	}
	return x, failed
}

// A sample is a function of seed and number: of no block, worker or range.
func (s *suite) sampler(t *testing.T) {
	const n = 23
	x, failed := s.generate(t, 64, 1, 100, n, 3)
	for i, v := range x {
		if v-v != 0 && !failed[i/s.d] {
			t.Fatalf("sample %d is %v", i/s.d, x[i/s.d*s.d:][:s.d])
		}
	}
	for _, c := range []struct{ rows, workers, lo, hi int }{
		{64, 1, 0, n}, {5, 1, 0, n}, {1, 3, 0, n}, {7, 2, 4, 19}, {64, 2, n - 1, n},
	} {
		got, lost := s.generate(t, c.rows, c.workers, 100+c.lo, c.hi-c.lo, 3)
		if !equal(got, x[c.lo*s.d:c.hi*s.d]) || !equal(lost, failed[c.lo:c.hi]) {
			t.Errorf("samples %d to %d in blocks of %d by %d workers are others", c.lo, c.hi-1, c.rows, c.workers)
		}
	}
	if other, _ := s.generate(t, 64, 1, 100, n, 4); equal(other, x) {
		t.Error("another seed makes the same samples")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	pool := parallel.New(1)
	defer pool.Close()
	if _, err := s.m.Sampler(4, pool).Generate(ctx, make([]float64, s.d), make([]bool, 1), 0, 1, s.prior,
		func(int) method.Score { return towards{} }); err == nil {
		t.Error("a context that is done does not stop generation")
	}
}

// Ends are a function of rows, seed and refresh.
func (s *suite) ends(t *testing.T) {
	ends := func(rows, workers int, seed, refresh uint64) []float64 {
		pool := parallel.New(workers)
		defer pool.Close()
		x := testkit.Must(s.m.Sampler(rows, pool).Ends(context.Background(), s.data, seed, refresh))
		if len(x)%s.d != 0 || len(x) > len(s.data) {
			t.Fatalf("%d numbers of %d", len(x), len(s.data))
		}
		return x
	}
	want := ends(64, 1, 3, 9)
	if !equal(ends(5, 2, 3, 9), want) {
		t.Error("ends depend on blocks or workers")
	}
	if equal(ends(64, 1, 4, 9), want) || equal(ends(64, 1, 3, 8), want) {
		t.Error("another seed or refresh has the same ends")
	}
}

// A sampler that is watched makes the same samples, and counts each at its start.
func (s *suite) watched(t *testing.T) {
	const n = 23
	pool := parallel.New(2)
	defer pool.Close()
	sampler := s.m.Sampler(7, pool)
	trace := sampler.NewTrace()
	if trace == nil {
		t.Skip("it tells nothing of its steps")
	}
	sampler.Watch(trace)
	x, failed := make([]float64, n*s.d), make([]bool, n)
	run := func() {
		if _, err := sampler.Generate(context.Background(), x, failed, 100, 3, s.prior,
			func(int) method.Score { return towards{} }); err != nil {
			t.Fatal(err)
		}
	}
	run()
	lost := count(failed)
	if got := trace.Count(trace.Steps()); got > n || got < n-lost {
		t.Errorf("%d of %d samples count at the start; %d failed", got, n, lost)
	}
	if want, _ := s.generate(t, 64, 1, 100, n, 3); !equal(x, want) {
		t.Error("samples that are watched are others")
	}
	before := trace.Count(trace.Steps())
	sampler.Watch(nil)
	if run(); trace.Count(trace.Steps()) != before {
		t.Error("a trace that is no longer in use still counts")
	}
}

// count returns how many are true.
func count(flags []bool) (n int) {
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

// equal compares bits: a row that failed may hold NaN.
func equal[T float32 | float64 | bool](a, b []T) bool {
	return slices.EqualFunc(a, b, func(v, w T) bool { return v == w || v != v && w != w })
}
