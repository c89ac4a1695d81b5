package fewstep

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// What is dealt at a level are its states, each once, nearer to their x_0 in all; whatever the workers.
func TestDealsEachLevel(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 3}, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 32, T: 8, SigmaMin: 1, SigmaMax: 1}}
	m := testkit.Must(New(p, Options{Levels: 2, Draws: 2, Coarse: 1, Fine: 0.5}))
	const n, d, L = 2500, 3, 3
	data := testkit.Must(langevin.Start(t.Context(), p, n, 1))
	var states []float64
	for workers := 1; workers <= 3; workers += 2 {
		pool := parallel.New(workers)
		s := NewSource[float64](m, data, pool)
		testkit.Must(s.Refresh(t.Context(), 3, 2))
		s.Arrange(3, 4)
		got := make([]float64, 0, n*L*d)
		for i := range n {
			for l := range L {
				x, _ := s.at(i, l)
				got = append(got, x...)
			}
		}
		if states != nil && !slices.Equal(states, got) {
			t.Error("what is dealt depends on the workers")
		}
		states = got
		dealt := slices.Clone(s.dealt)
		if s.Arrange(3, 5); slices.Equal(s.dealt, dealt) {
			t.Error("another epoch deals the same")
		}
		pool.Close()
	}
	pool := testkit.Pool(t, 2)
	raw, failed, ks := make([]float64, n*L*d), make([]bool, n), m.Levels()
	slices.Reverse(ks)
	sim := langevin.NewSimulator(p, pool, 100)
	testkit.Must(sim.Partway(t.Context(), raw, failed, data, ks, 0, keyed.PathNoise.Stream(3, 2),
		keyed.PathMomentum.Stream(3, 2)))
	for l, k := range ks {
		count, far, was := map[[d]float64]int{}, 0.0, 0.0
		for i := range n {
			o := (i*L + l) * d
			count[[d]float64(states[o:])]++
			count[[d]float64(raw[o:])]--
			for j := range d {
				far += math.Pow(states[o+j]-data[i*d+j], 2) / n
				was += math.Pow(raw[o+j]-data[i*d+j], 2) / n
			}
		}
		for x, c := range count {
			if c != 0 {
				t.Fatalf("level %d: %v is there %+d times too often", k, x, c)
			}
		}
		// Points are even on the sphere at all levels: the least is that of matching 1024 of them, or 256, below 0.1.
		if !(far < 0.1 && far < was/2) {
			t.Errorf("level %d: mean square distance %v, before %v", k, far, was)
		}
	}
}

// On a line what costs least is monotone. Of the law N(1, 1/4), whose x_k has the variance 1/4 + s_k², it takes
// x_k to 1 + (x_k − 1)/√(1 + 4s_k²), while x_0 given x_k, as paths pair them, deviates by s_k/√(1 + 4s_k²) from its
// mean. Matching n points leaves about 1/√n of the width of the law, or of the part, that they are of; with hands
// of 16, parts that deviate by 1 s_k, or by another level's, more is left than the bounds.
func TestDealsTheMonotoneMap(t *testing.T) {
	set := testkit.Must(formula.New(formula.Spec{Dim: 2, Equality: []formula.Component{{Name: "flat", Expr: "x[1]"}}}))
	p := &langevin.Process{Set: set, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 256, T: 1, SigmaMin: 1, SigmaMax: 1}}
	m := testkit.Must(New(p, Options{Levels: 2, Draws: 2, Coarse: 0.5, Fine: 0.0625}))
	pool := testkit.Pool(t, 2)
	const n = 4096
	data := make([]float64, 2*n)
	for i := range n {
		keyed.OwnData.Stream(1, 0).Normals(data[2*i:2*i+1], uint64(i), 0)
		data[2*i] = 1 + data[2*i]/2
	}
	s := NewSource[float64](m, data, pool)
	testkit.Must(s.Refresh(t.Context(), 1, 0))
	s.Arrange(1, 0)
	for l, bound := range []float64{0.03, 0.08, 0.05} {
		σ := p.Spread(s.ks[l])
		a, sum := 1/math.Sqrt(1+4*σ*σ), 0.0
		for i := range n {
			x, x0 := s.at(i, l)
			sum += math.Pow(x0[0]-1-a*(x[0]-1), 2) / n
		}
		t.Logf("s = %.4g: %.4g from the monotone map, %.4g as paths pair them", σ, math.Sqrt(sum), a*σ)
		if !(math.Sqrt(sum) < bound) {
			t.Errorf("s = %.4g: x_0 deviates by %.4g from the monotone map", σ, math.Sqrt(sum))
		}
	}
}

// Parts hold each item once, are no larger than a hand unless the law deviates little there, and lie side by side: of a
// circle they are arcs. Half of a law in one point is not cut for ever.
func TestParts(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 2}, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 4, T: 4, SigmaMin: 1, SigmaMax: 1}}
	m := testkit.Must(New(p, Options{Draws: 2}))
	pool := testkit.Pool(t, 1)
	const n, size = 1000, 10
	data, one := make([]float64, 2*n), make([]float64, 2*n)
	for i := range n {
		data[2*i+1], data[2*i] = math.Sincos(2 * math.Pi * float64(i) / n)
		one[2*i] = 1
	}
	for _, far := range []float64{0, 0.05, 10} {
		s := NewSource[float64](m, data, pool)
		s.deal(1, 0)
		cells := s.cut(nil, 0, n, size, far)
		if far == 10 != (len(cells) == 1) {
			t.Errorf("parts that deviate by %v: %d", far, len(cells))
		}
		at, seen := 0, make([]bool, n)
		for _, c := range cells {
			if c[0] != at || c[1] <= c[0] {
				t.Fatalf("a part is %v, behind %d", c, at)
			}
			at = c[1]
			mean := [2]float64{}
			for _, i := range s.hands.order[c[0]:c[1]] {
				if seen[i] {
					t.Fatalf("item %d is in two parts", i)
				}
				seen[i] = true
				mean[0] += data[2*i] / float64(c[1]-c[0])
				mean[1] += data[2*i+1] / float64(c[1]-c[0])
			}
			// Of points that deviate by less than 0.05 along most lines the mean is about as far from the centre.
			if r := math.Hypot(mean[0], mean[1]); far < 1 && r < 0.95 {
				t.Errorf("of a part of %d points the mean is %.3g from the centre", c[1]-c[0], r)
			}
			if far == 0 && c[1]-c[0] > size {
				t.Errorf("a part has %d points", c[1]-c[0])
			}
		}
		testkit.Equal(t, at, n, "parts end")
	}
	s := NewSource[float64](m, one, pool)
	s.deal(1, 0)
	if cells := s.cut(nil, 0, n, size, 0); len(cells) != 1 {
		t.Errorf("of one point there are %d parts", len(cells))
	}
}

// Levels returns the steps at which the sampler evaluates the network, N first.
func (m *Method) Levels() []int { return slices.Clone(m.ks) }
