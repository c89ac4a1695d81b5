package fewstep

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// normals are n points in R^d.
func normals(n, d, set int) []float64 {
	x := make([]float64, n*d)
	for i := range n {
		keyed.OwnData.Stream(1, uint64(set)).Normals(x[i*d:(i+1)*d], uint64(i), 0)
	}
	return x
}

// What is dealt is a permutation whose cost is, by no more than what an auction promises, above that of
// the best one, which trying all finds.
func TestDeal(t *testing.T) {
	const most, d = 7, 2
	o := newDealer(most, d)
	for n := 1; n <= most; n++ {
		for set := range 20 {
			a, b := normals(n, d, 2*set), normals(n, d, 2*set+1)
			cost := func(i, j int) (c float64) {
				for k := range d {
					c += (a[i*d+k] - b[j*d+k]) * (a[i*d+k] - b[j*d+k])
				}
				return c
			}
			best, mean := math.Inf(1), 0.0
			var try func(i int, used int, sum float64)
			try = func(i, used int, sum float64) {
				if i == n {
					best = min(best, sum)
					return
				}
				for j := range n {
					if used>>j&1 == 0 {
						try(i+1, used|1<<j, sum+cost(i, j))
					}
				}
			}
			try(0, 0, 0)
			got, used := 0.0, 0
			for i, j := range o.deal(a, b, n) {
				got, used = got+cost(i, j), used|1<<j
			}
			for i := range n {
				for j := range n {
					mean += cost(i, j) / float64(n*n)
				}
			}
			if used != 1<<n-1 {
				t.Fatalf("%d points: not each is dealt once", n)
			}
			if got > best+float64(n)*lastBid*mean+1e-5 {
				t.Errorf("%d points: cost %v, the least is %v", n, got, best)
			}
		}
	}
}

// The energy score of draws whose law is the target's is less than that of any other law of the same family, here ±a in
// equal parts for a target ±1: its expectation, over all draws there are, has its least value at a = 1.
func TestScoreIsProper(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 2}, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 4, T: 1, SigmaMin: 1, SigmaMax: 1}}
	m := testkit.Must(New(p, Options{Draws: 2}))
	pool := testkit.Pool(t, 1)
	src := NewSource[float64](m, []float64{1, 0}, pool)
	reader := score.NewReader[float64](score.Reading{}, 2, true)
	l := newLoss(src, reader, 2)
	l.terms = []method.Term{{Weight: 1}}
	expected := func(a float64) (sum float64) {
		for _, u := range []float64{-1, 1} {
			for _, f := range []float64{-a, a} {
				for _, g := range []float64{-a, a} {
					l.u = []float64{u, 0}
					sum += l.Evaluate(make([]float64, 4), []float64{f, 0, g, 0}) / 8
				}
			}
		}
		return sum
	}
	// E|F − u| − ½E|F − F'| is (1+a)/2 + |1−a|/2 − a/2, that is 1 − a/2 up to a = 1 and a/2 beyond, but for ε.
	for _, a := range []float64{0, 0.3, 0.7, 1, 1.4, 3} {
		want := (1+a)/2 + math.Abs(1-a)/2 - a/2
		testkit.Near(t, expected(a), want, 2*smooth, "at a = %v the score", a)
	}
}

// Each draw of a term sees noise of its own, at each level and item; and a failed path's state is not
// dealt to another item.
func TestDrawsDifferAndFailedStay(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 3}, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 8, T: 8, SigmaMin: 1, SigmaMax: 1}}
	m := testkit.Must(New(p, Options{Levels: 1, Draws: 3, Coarse: 1, Fine: 1}))
	pool := testkit.Pool(t, 1)
	const n, d = 40, 3
	data := testkit.Must(langevin.Start(t.Context(), p, n, 1))
	s := NewSource[float64](m, data, pool)
	testkit.Must(s.Refresh(t.Context(), 3, 2))
	s.Arrange(3, 2)
	reader := score.NewReader[float64](score.Reading{}, d, true)
	l := newLoss(s, reader, 12)
	rows := testkit.Must(l.Prepare([]method.Term{{Item: 4, K: 0}, {Item: 4, K: 1}, {Item: 5, K: 0}, {Item: 5, K: 1}}))
	seen := map[float64]bool{}
	for i := range 12 {
		seen[rows[i*reader.In()+d]] = true // the first number of ξ
	}
	testkit.Equal(t, len(seen), 12, "12 draws see")

	s.failed[7] = true
	s.Arrange(4, 3)
	for l := range 2 {
		for i := range n {
			if x, _ := s.at(i, l); (x[0] == s.states[(7*2+l)*d]) != (i == 7) {
				t.Fatalf("a state of a failed path was dealt out, or another to it: item %d, level %d", i, l)
			}
		}
	}
}

// Points that are all one, or where a number is not finite, are dealt as they lie; nothing runs for ever.
func TestDealsWhatHasNoUnit(t *testing.T) {
	const n, d = 20, 2
	o := newDealer(n, d)
	for name, bad := range map[string]float64{"one point": 0, "∞": math.Inf(1), "NaN": math.NaN(), "too far": 1e200} {
		a, b := make([]float64, n*d), make([]float64, n*d)
		a[3] = bad
		for i, j := range o.deal(a, b, n) {
			testkit.Equal(t, i, j, "%s: row", name)
		}
	}
	// One point far from all others that are one another: each is dealt once all the same.
	a, b := normals(n, d, 0), normals(n, d, 1)
	a[0], b[5] = 1e9, 1e9
	seen := [n]bool{}
	for _, j := range o.deal(a, b, n) {
		if seen[j] {
			t.Fatalf("%d is dealt twice", j)
		}
		seen[j] = true
	}
}

// said notes what rows of a network are made of.
type said struct {
	score.Reader[float64]
	rows *[]score.Input
}

func (r said) Row(dst []float64, at score.Input) {
	at.P = slices.Clone(at.P)
	*r.rows = append(*r.rows, at)
	r.Reader.Row(dst, at)
}

// A row of a term is x_k as dealt to the item at its level, the level's time, and ξ of the epoch, item, level and draw;
// the target is the way from there to the item's x_0 in units of the level's spread. With levels ascending in a source
// and descending in a method, or units of another level, it is not.
func TestRowsOfLevels(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 3}, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 32, T: 8, SigmaMin: 1, SigmaMax: 1}}
	m := testkit.Must(New(p, Options{Levels: 2, Draws: 2, Coarse: 1, Fine: 0.5}))
	pool := testkit.Pool(t, 1)
	const n, d, L, seed, refresh, epoch = 30, 3, 3, 3, 1, 5
	data := testkit.Must(langevin.Start(t.Context(), p, n, 1))
	s := NewSource[float64](m, data, pool)
	testkit.Must(s.Refresh(t.Context(), seed, refresh))
	s.Arrange(seed, epoch)
	ks := []int{1, 4, 32} // of spreads √(k/4)
	paths := make([]float64, n*L*d)
	testkit.Must(langevin.NewSimulator(p, pool, n).Partway(t.Context(), paths, make([]bool, n), data, ks, 0,
		keyed.PathNoise.Stream(seed, refresh), keyed.PathMomentum.Stream(seed, refresh)))
	var rows []score.Input
	reader := score.NewReader[float64](score.Reading{Gain: m.Gain()}, d, true)
	l := newLoss(s, said{reader, &rows}, 2*n*L)
	var terms []method.Term
	for i := range n {
		for k := range L {
			terms = append(terms, method.Term{Item: i, K: k, Weight: 1})
		}
	}
	testkit.Must(l.Prepare(terms))
	ξ := make([]float64, d)
	for r, at := range rows {
		i, k := terms[r/2].Item, terms[r/2].K
		o := (s.dealt[i*L+k]*L + k) * d
		keyed.LevelNoise.Stream(seed, epoch).Normals(ξ, uint64(i), 2*k+r%2)
		if at.T != p.Schedule.Time(ks[k]) || !slices.Equal(at.X, paths[o:o+d]) || !slices.Equal(at.P, ξ) {
			t.Fatalf("row %d of item %d, level %d: %+v", r, i, k, at)
		}
		for j := range d {
			want := (data[i*d+j] - at.X[j]) / math.Sqrt(float64(ks[k])/4)
			if got := l.u[r/2*d+j]; math.Abs(got-want) > 1e-12 {
				t.Fatalf("item %d, level %d: target %v, want %v", i, k, got, want)
			}
		}
	}
}

// The image of a row near a wall lies beyond it, as far as the row is before it, and P_Σ mirrors it to the row; rows
// far from the wall have none, nor have sets without walls.
func TestImages(t *testing.T) {
	pool := testkit.Pool(t, 2)
	const height = 0.2
	set := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, height))
	p := &langevin.Process{Set: set, Method: langevin.ULLA, Friction: 3,
		Schedule: langevin.Schedule{N: 40, T: 1.5, SigmaMin: 0.1, SigmaMax: 1.3}}
	m := testkit.Must(New(p, Options{Levels: 2, Draws: 2, Coarse: 0.2, Fine: 0.05}))
	var data []float64
	wall := math.Acos(height)
	for i := range 400 {
		θ, φ := float64(i%100+1)/101*wall, float64(i)
		data = append(data, math.Sin(θ)*math.Cos(φ), math.Sin(θ)*math.Sin(φ), math.Cos(θ))
	}
	s := NewSource[float32](m, data, pool)
	far, last := imaged*m.s[1], m.s[len(m.s)-1]
	r, ok := newRetraction(set, 1), make([]bool, 1)
	with := 0
	for i := range len(data) / 3 {
		x, y := data[3*i:3*i+3], s.images[3*i:3*i+3]
		θ := math.Acos(x[2])
		// The distance to the wall is along the tangent, by the height's slope there.
		near := (x[2]-height)/math.Sin(θ) < far
		if math.IsNaN(y[0]) == near {
			t.Errorf("the row at %.3f of the wall at %.3f: image %v", θ, wall, y)
		}
		if !near || math.IsNaN(y[0]) {
			continue
		}
		with++
		if y[2] >= height {
			t.Errorf("the image of %v is %v, not beyond the wall", x, y)
		}
		f := append([]float64(nil), y...)
		r.block(f, ok, 1)
		dense.Axpy(f, -1, x)
		if off := dense.Norm(f); !ok[0] || !(off <= 1e-3*last) {
			t.Errorf("the image of %v is mirrored to a place %g off", x, off)
		}
		// On a level the image is as likely as the row where both are as far, and certain to be one of them elsewhere.
		middle, beyond := make([]float64, 3), make([]float64, 3)
		for j := range x {
			middle[j] = (x[j] + y[j]) / 2
			beyond[j] = x[j] + 200*(y[j]-x[j])
		}
		for _, c := range []struct {
			at    []float64
			level int
			u     float64
			image bool
		}{{middle, 0, 0.499, true}, {middle, 0, 0.501, false}, {beyond, 0, 0.999, true}, {beyond, 2, 0, false}} {
			if got := s.unfolded(i, c.level, c.at, x, c.u); (&got[0] == &y[0]) != c.image {
				t.Errorf("level %d, u = %v: image %v", c.level, c.u, !c.image)
			}
		}
		near2, far2 := 0.0, 0.0 // the odds at x itself, on the last level but N
		for j := range x {
			far2 += (x[j] - y[j]) * (x[j] - y[j])
		}
		p := 1 / (1 + math.Exp((far2-near2)/(2*m.s[1]*m.s[1])))
		if below, above := s.unfolded(i, 1, x, x, p-1e-9), s.unfolded(i, 1, x, x, p+1e-9); p > 1e-8 &&
			(&below[0] != &y[0] || &above[0] != &x[0]) {
			t.Errorf("odds at the row itself are not %v", p)
		}
	}
	if with < 40 || with > 300 {
		t.Errorf("%d rows have images", with)
	}
	// Targets of a loss are rows or images, as the epoch's number says, and at the last level often images.
	testkit.Must(s.Refresh(t.Context(), 1, 1))
	s.Arrange(1, 5)
	l := newLoss(s, score.NewReader[float32](score.Reading{Gain: m.Gain()}, 3, true), 2*len(data))
	var terms []method.Term
	for i := range len(data) / 3 {
		for k := range 3 {
			terms = append(terms, method.Term{Item: i, K: k, Weight: 1})
		}
	}
	testkit.Must(l.Prepare(terms))
	unfolded, u := 0, make([]float64, 1)
	for r, c := range terms {
		x, x0 := s.at(c.Item, c.K)
		keyed.LevelNoise.Stream(1, 5).Uniforms(u, uint64(c.Item), 3*2+c.K)
		want := s.unfolded(c.Item, c.K, x, x0, u[0])
		if &want[0] != &x0[0] {
			unfolded++
		}
		for j, v := range want {
			if got := l.u[3*r+j] * m.s[2-c.K]; math.Abs(got-(v-x[j])) > 1e-12 {
				t.Fatalf("item %d, level %d: target %v, want %v", c.Item, c.K, got, v-x[j])
			}
		}
	}
	if unfolded < 20 || unfolded > len(terms)/4 {
		t.Errorf("of %d terms %d are unfolded", len(terms), unfolded)
	}
	p.Set = zoo.Sphere{D: 3}
	m = testkit.Must(New(p, m.opt))
	if s := NewSource[float32](m, data, pool); s.images != nil {
		t.Error("a sphere has images")
	}
}

// retracted is where a set's retraction takes a point of the plane.
func retracted(t *testing.T, spec formula.Spec, y ...float64) []float64 {
	t.Helper()
	spec.Dim = 2
	set := testkit.Must(formula.New(spec))
	ok := make([]bool, 1)
	newRetraction(set, 4).block(y, ok, 1)
	if !ok[0] {
		t.Fatalf("%v does not arrive", y)
	}
	if v, _ := constraint.Worst(constraint.Values(set, y), len(set.Equalities())); !(v <= 1e-13) {
		t.Fatalf("%v is off the set by %v", y, v)
	}
	return y
}

// On the ellipse x²/4 + y² = 1 an answer takes two landing steps y ← y − h∇h/‖∇h‖², and then goes along the normal
// where they end: to the root of a quadratic equation. With one step more or fewer the point is another by 10⁻³.
func TestLandsTwiceThenProjects(t *testing.T) {
	h := func(x, y float64) float64 { return x*x/4 + y*y - 1 }
	x, y := 1.9, 1.6
	for range 2 {
		gx, gy := x/2, 2*y
		c := h(x, y) / (gx*gx + gy*gy)
		x, y = x-c*gx, y-c*gy
	}
	gx, gy := x/2, 2*y
	a, b := gx*gx/4+gy*gy, x*gx/2+2*y*gy // h(x + λg) = aλ² + bλ + h
	λ := 2 * -h(x, y) / (b + math.Sqrt(b*b-4*a*h(x, y)))
	got := retracted(t, formula.Spec{Equality: []formula.Component{{Name: "ellipse", Expr: "x[0]^2/4 + x[1]^2 - 1"}}},
		1.9, 1.6)
	if math.Hypot(got[0]-x-λ*gx, got[1]-y-λ*gy) > 1e-12 {
		t.Errorf("got %v, want %v, %v", got, x+λ*gx, y+λ*gy)
	}
}

// An answer beyond a wall is mirrored in it; one that is far beyond, and would be mirrored over another, ends at that.
func TestMirrorsInWalls(t *testing.T) {
	strip := formula.Spec{Equality: []formula.Component{{Name: "flat", Expr: "x[1]"}},
		Inequality: []formula.Component{{Name: "right", Expr: "x[0] - 1"}, {Name: "left", Expr: "-x[0]"}}}
	for y, want := range map[float64]float64{0.4: 0.4, 1.3: 0.7, -0.2: 0.2, 2.5: 0, -1.5: 1} {
		if got := retracted(t, strip, y, 0.3); math.Abs(got[0]-want) > 1e-12 || got[1] != 0 {
			t.Errorf("%v ends at %v, want %v", y, got, want)
		}
	}
}
