package premetric

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/constraint/mesh/spectrum"
	"github.com/landing-diffusion/landing/internal/vec3"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
)

// of returns the distance on a mesh by `functions` eigenfunctions.
func of(t *testing.T, m *mesh.Mesh, functions int) *Biharmonic {
	t.Helper()
	return testkit.Must(New(context.Background(), m, functions))
}

// ellipsoid is a mesh without symmetry.
func ellipsoid(n int) *mesh.Mesh {
	m := ball.Mesh(n)
	for i := range m.Vertices {
		m.Vertices[i] *= []float64{1, 1.3, 1.7}[i%3]
	}
	return m
}

// pair returns two places of a mesh.
func pair(b *Biharmonic, i uint64) (x, y Place) {
	s, p := mesh.NewSampler(b.mesh, nil), make([]float64, 3)
	s.Sample(p, keyed.New(1, keyed.Probe, 80), i, 0)
	x = b.Nearest([3]float64(p))
	s.Sample(p, keyed.New(1, keyed.Probe, 81), i, 0)
	return x, b.Nearest([3]float64(p))
}

// At corners the distance is the sum over the eigenfunctions; it is symmetric, 0 at the same place alone, linear
// functions' differences between corners, and its gradient that of differences along the face.
func TestDistance(t *testing.T) {
	m := ellipsoid(3)
	const K = 12
	b := of(t, m, K)
	testkit.Near(t, b.edge, 0.32471, 1e-5, "mean length of edges")
	low := testkit.Must(spectrum.New(m).Lowest(context.Background(), K+1, nil))
	w := b.NewWalker()
	for i := range int32(20) {
		v, u := 3*i, 5*i+7
		want := 0.0
		for _, f := range low[1:] {
			want += (f.F[v] - f.F[u]) * (f.F[v] - f.F[u]) / (f.Lambda * f.Lambda)
		}
		w.To(b.Nearest(m.Vertex(u)))
		if d, _ := w.Distance(b.Nearest(m.Vertex(v))); math.Abs(d-math.Sqrt(want)) > 1e-12 {
			t.Errorf("vertices %d and %d are %v apart, want %v", v, u, d, math.Sqrt(want))
		}
	}
	for i := range uint64(40) {
		x, y := pair(b, i)
		w.To(y)
		d, g := w.Distance(x)
		if same, slope := w.Distance(y); !(same < 1e-14) || same > 0 && slope != slope {
			t.Errorf("a place is %v from itself", same)
		}
		if n := m.Normal(x.Face); math.Abs(vec3.Dot(n, g)) > 1e-12*math.Sqrt(vec3.Dot(g, g)) {
			t.Error("a gradient leaves the face")
		}
		p, q, _ := m.Corners(x.Face)
		const h = 1e-5
		var e [3]float64
		slope, at := 0.0, [2]float64{}
		for s, sign := range []float64{-h, h} {
			z := x
			for j := range 3 {
				e[j] = q[j] - p[j]
				z.X[j] += sign * e[j]
			}
			at[s], _ = w.Distance(z)
		}
		slope = (at[1] - at[0]) / (2 * h)
		if want := vec3.Dot(g, e); math.Abs(slope-want) > 1e-8*d+1e-6*math.Abs(want) {
			t.Errorf("pair %d: slope %v by differences, %v by the gradient", i, slope, want)
		}
		w.To(x)
		if back, _ := w.Distance(y); math.Abs(back-d) > 1e-13*d {
			t.Errorf("pair %d: %v there and %v back", i, d, back)
		}
	}
}

// A walker that has been elsewhere, on the other side or around the same corner, measures as a new one.
func TestWalkerForgets(t *testing.T) {
	m := ellipsoid(3)
	b := of(t, m, 12)
	w, fresh := b.NewWalker(), b.NewWalker()
	_, y := pair(b, 0)
	for i := range uint64(300) {
		x, other := pair(b, i)
		switch v := m.Faces[i/3]; {
		case i%40 == 39:
			y = other
			w.To(y)
		case i%3 > 0: // a corner's faces, in turn
			x = b.Nearest(m.Vertex(v))
			x.Face = around(m, v, int(i))
		case i == 0:
			w.To(y)
		}
		fresh.To(y)
		d, g := w.Distance(x)
		want, slope := fresh.Distance(x)
		size := math.Sqrt(vec3.Dot(slope, slope))
		if !(math.Abs(d-want) <= 1e-12*want && size > 0) {
			t.Fatalf("point %d is %v away, %v by a new walker", i, d, want)
		}
		for j := range g {
			if math.Abs(g[j]-slope[j]) > 1e-10*size {
				t.Fatalf("point %d: gradient %v, %v by a new walker", i, g, slope)
			}
		}
	}
}

// around returns the i-th of the faces that have a corner, in turn.
func around(m *mesh.Mesh, v int32, i int) int {
	var faces []int
	for f, c := range m.Faces {
		if c == v {
			faces = append(faces, f/3)
		}
	}
	return faces[i%len(faces)]
}

// Along a path the distance falls as 1 − t to a part in 10⁴, whatever the steps; the velocities are
// what moves it so, and those of the states; a path from a place to itself rests.
func TestPath(t *testing.T) {
	b := of(t, ellipsoid(4), 60)
	w := b.NewWalker()
	const δ = 0.002
	var times []float64
	for k := range 16 {
		at := (float64(k) + 0.3) / 16
		times = append(times, at, at+δ)
	}
	x, v := make([]float64, 3*len(times)), make([]float64, 3*len(times))
	var off []float64
	for i := range uint64(60) {
		p, q := pair(b, i)
		w.To(q)
		d0, _ := w.Distance(p)
		if !w.Path(x, v, p, times, []int{20, 100}[i%2]) {
			t.Fatalf("path %d ends on its way", i)
		}
		for k, at := range times {
			place := b.Nearest([3]float64(x[3*k:]))
			d, g := w.Distance(place)
			testkit.Near(t, d/d0, (1 - at), 2*near, "path %d: at %v the distance", i, at)
			if u := vec3.Dot(g, [3]float64(v[3*k:])); math.Abs(u+d0) > 1e-6*d0 {
				t.Errorf("path %d: at %v the distance changes by %v, want %v", i, at, u, -d0)
			}
			if k%2 == 0 {
				e, size := 0.0, 0.0
				for j := range 3 {
					moved := (x[3*(k+1)+j] - x[3*k+j]) / δ
					e += (moved - v[3*k+j]) * (moved - v[3*k+j])
					size += v[3*k+j] * v[3*k+j]
				}
				off = append(off, math.Sqrt(e/size))
			}
		}
		if !w.Path(x, v, q, times, 10) || slices.Max(v) != 0 || x[0] != q.X[0] {
			t.Error("a path to where it begins moves")
		}
	}
	slices.Sort(off) // where a path crosses an edge in between, the face's gradient changes
	if m, most := off[len(off)/2], off[len(off)*95/100]; m > 0.03 || most > 0.25 {
		t.Errorf("states move by other velocities: off by %.3f in the median, by %.3f in 5 of 100", m, most)
	}
}

// On a sphere every path runs along the great circle; more functions and a finer mesh leave less beside it.
func TestPathOnSphere(t *testing.T) {
	b := of(t, ball.Mesh(4), 80)
	w := b.NewWalker()
	times := []float64{0.2, 0.4, 0.6, 0.8, 0.95}
	x, v := make([]float64, 15), make([]float64, 15)
	for i := range uint64(30) {
		p, q := pair(b, i)
		w.To(q)
		if !w.Path(x, v, p, times, 100) {
			t.Fatal("a path ends on its way")
		}
		n := [3]float64{p.X[1]*q.X[2] - p.X[2]*q.X[1], p.X[2]*q.X[0] - p.X[0]*q.X[2], p.X[0]*q.X[1] - p.X[1]*q.X[0]}
		size := math.Sqrt(vec3.Dot(n, n))
		if size < 0.3 || vec3.Dot(p.X, q.X) < -0.2 { // the circle is hardly given, or the way along it
			continue
		}
		for k := range times {
			if far := math.Abs(vec3.Dot(n, [3]float64(x[3*k:]))) / size; far > 0.04 {
				t.Errorf("pair %d, time %v: %.3f beside the great circle", i, times[k], far)
			}
		}
	}
}

// A mesh in parts, functions that are too few and a place that is none are refused; walks allocate nothing.
func TestRefusals(t *testing.T) {
	one := ball.Mesh(2)
	two := &mesh.Mesh{Vertices: slices.Clone(one.Vertices), Faces: slices.Clone(one.Faces)}
	n, _ := one.N()
	for _, v := range one.Vertices {
		two.Vertices = append(two.Vertices, v+5)
	}
	for _, f := range one.Faces {
		two.Faces = append(two.Faces, f+int32(n))
	}
	testkit.Refused(t, testkit.Err(New(context.Background(), two, 10)), "is 2; expected 1", "two parts")
	testkit.Refused(t, testkit.Err(New(context.Background(), one, 1)), "is 1; expected 2 to", "one function")
	b := of(t, one, 1000)
	if b.Functions() != n-1 {
		t.Errorf("%d functions of %d vertices", b.Functions(), n)
	}
	if p := b.Nearest([3]float64{math.NaN()}); p.Face != -1 {
		t.Errorf("NaN is nearest to %+v", p)
	}
	w := b.NewWalker()
	x, y := pair(b, 1)
	states, velocities, times := make([]float64, 6), make([]float64, 6), []float64{0.3, 0.9}
	if a := testing.AllocsPerRun(5, func() {
		w.To(y)
		w.Path(states, velocities, x, times, 20)
	}); a != 0 {
		t.Errorf("a path allocates %v times", a)
	}
}

// Functions returns K.
func (b *Biharmonic) Functions() int { return b.k }
