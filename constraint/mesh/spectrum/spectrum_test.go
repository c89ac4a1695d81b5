package spectrum

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
)

func lowest(t *testing.T, l *Laplacian, count int) []Function {
	t.Helper()
	return testkit.Must(l.Lowest(context.Background(), count, nil))
}

// Eigenvalues of the sphere are k(k+1), 2k+1 times; on a mesh of 1026 vertices those up to k = 4 come within 3 %.
func TestSphere(t *testing.T) {
	l := New(ball.Mesh(4))
	f := lowest(t, l, 25)
	i := 0
	for k := range 5 {
		for range 2*k + 1 {
			if want := float64(k * (k + 1)); math.Abs(f[i].Lambda-want) > 0.03*want+1e-9 {
				t.Errorf("λ_%d = %v, want %v", i, f[i].Lambda, want)
			}
			i++
		}
	}
	for i := range f { // ⟨f_i, M f_j⟩ = δ_ij
		for j := range i + 1 {
			s := 0.0
			for v, m := range l.Mass {
				s += f[i].F[v] * m * f[j].F[v]
			}
			if i == j {
				s--
			}
			if math.Abs(s) > 1e-10 {
				t.Fatalf("⟨f_%d, f_%d⟩ is %.3g off", i, j, s)
			}
		}
	}
}

// residual returns ‖S f − λ M f‖ / ‖M f‖.
func residual(l *Laplacian, f Function) float64 {
	sf := make([]float64, len(l.Mass))
	l.Apply(sf, f.F)
	sum, size := 0.0, 0.0
	for v, s := range sf {
		mf := l.Mass[v] * f.F[v]
		sum += (s - f.Lambda*mf) * (s - f.Lambda*mf)
		size += mf * mf
	}
	return math.Sqrt(sum / size)
}

// ellipsoid is a mesh without symmetry, so that no eigenvalue is there twice.
func ellipsoid(n int) *mesh.Mesh {
	m := ball.Mesh(n)
	for i := range m.Vertices {
		m.Vertices[i] *= []float64{1, 1.3, 1.7}[i%3]
	}
	return m
}

// Pairs that Lowest returns satisfy S f = λ M f to 1e-8 of λ‖M f‖, and the entry of largest size is positive.
func TestResiduals(t *testing.T) {
	l := New(ellipsoid(4))
	for i, f := range lowest(t, l, 60)[1:] {
		if r := residual(l, f) / f.Lambda; r > 1e-8 {
			t.Errorf("λ_%d = %v: residual %.3g", i+1, f.Lambda, r)
		}
		largest := 0.0
		for _, v := range f.F {
			if math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		if largest < 0 {
			t.Errorf("λ_%d = %v: the largest entry is %v", i+1, f.Lambda, largest)
		}
	}
}

// While the Krylov space grows there are no eigenfunctions at first, and then only ones that have converged.
func TestRitzConverges(t *testing.T) {
	l := New(ellipsoid(3))
	const count, ε = 5, 0.1
	k := testkit.Must(newKrylov(context.Background(), l, ε, len(l.Mass)))
	first := 0
	for size := 1; size <= 60; size++ {
		k.next()
		out := k.ritz(context.Background(), l, ε, count)
		if out == nil {
			continue
		}
		if first == 0 {
			first = size
		}
		for i, f := range out {
			if r := residual(l, f); r > 1e-8*max(f.Lambda, 10*ε) {
				t.Fatalf("in %d dimensions λ_%d = %v has the residual %.3g", size, i, f.Lambda, r)
			}
		}
	}
	if first < 2*count || first > 50 {
		t.Errorf("%d eigenfunctions have converged in %d dimensions", count, first)
	}
}

// twice returns the mesh and a second one, scaled, that shares no vertex with it.
func twice(m *mesh.Mesh, scale float64) *mesh.Mesh {
	two := &mesh.Mesh{Vertices: append([]float64(nil), m.Vertices...), Faces: append([]int32(nil), m.Faces...)}
	n := int32(len(m.Vertices) / 3)
	for _, v := range m.Vertices {
		two.Vertices = append(two.Vertices, scale*v)
	}
	for _, i := range m.Faces {
		two.Faces = append(two.Faces, i+n)
	}
	return two
}

// full returns all eigenvalues in ascending order, of the dense pencil.
func full(l *Laplacian) []float64 {
	var used []int
	place := map[int]int{}
	for v, a := range l.Mass {
		if a > 0 {
			place[v] = len(used)
			used = append(used, v)
		}
	}
	s := mat.NewSymDense(len(used), nil)
	for i, v := range used {
		for p := l.Start[v]; p < l.Start[v+1]; p++ {
			c := int(l.Col[p])
			s.SetSym(i, place[c], l.Value[p]/math.Sqrt(l.Mass[v]*l.Mass[c]))
		}
	}
	var eig mat.EigenSym
	eig.Factorize(s, false)
	return eig.Values(nil)
}

// All eigenvalues of small meshes, one of them with a boundary and an unused
// vertex, another of two parts, are those of the dense pencil.
func TestDense(t *testing.T) {
	open := ball.Mesh(1)
	open.Faces = open.Faces[9:]
	open.Vertices = append(open.Vertices, 7, 7, 7)
	two := twice(ball.Mesh(1), 1.7)
	for name, m := range map[string]*mesh.Mesh{"octahedron": ball.Mesh(0), "open": open, "two": two} {
		l := New(m)
		want := full(l)
		for i, f := range lowest(t, l, len(want)) {
			testkit.Near(t, f.Lambda, want[i], 1e-8*(1+want[i]), "%s: λ_%d", name, i)
			if len(f.F) > len(want) && f.F[len(f.F)-1] != 0 {
				t.Errorf("%s: an unused vertex has the value %v", name, f.F[len(f.F)-1])
			}
		}
	}
}

// The factor solves (S + εM) y = x over the vertices with a mass, and writes zeros for the others, in place too.
func TestSolve(t *testing.T) {
	m := ball.Mesh(2)
	m.Faces = m.Faces[12:]
	m.Vertices = append(m.Vertices, 7, 7, 7)
	l := New(m)
	const ε = 0.3
	f := testkit.Must(newFactor(context.Background(), l, ε))
	n := len(l.Mass)
	x, y, sy := make([]float64, n), make([]float64, n), make([]float64, n)
	keyed.New(1, keyed.Probe, 3).Normals(x, 0, 0)
	copy(y, x)
	f.solve(y, y)
	l.Apply(sy, y)
	for v, a := range l.Mass {
		if a == 0 && y[v] != 0 {
			t.Errorf("vertex %d has no mass and the value %v", v, y[v])
		}
		if e := sy[v] + ε*a*y[v] - x[v]; a > 0 && math.Abs(e) > 1e-12 {
			t.Errorf("vertex %d: off by %.3g", v, e)
		}
	}
}

// What is too much is refused before anything is computed, and every stage stops when the context ends.
func TestTooMany(t *testing.T) {
	big := New(ball.Mesh(5)) // 4098 vertices
	for count, l := range map[int]*Laplacian{0: New(ball.Mesh(0)), 7: New(ball.Mesh(0)), 981: big, 4098: big} {
		if _, err := l.Lowest(context.Background(), count,
			func(int) { t.Errorf("%d eigenfunctions are tried", count) }); fault.KindOf(err) != fault.Config {
			t.Errorf("%d eigenfunctions of %d vertices: %v", count, len(l.Mass), err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	l := New(ball.Mesh(2))
	if _, err := l.Lowest(ctx, 3, nil); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := newFactor(ctx, l, 1); err != context.Canceled {
		t.Errorf("a factor: %v", err)
	}
	f := lowest(t, l, 3)
	if _, err := l.missing(ctx, f, 0.1); err != context.Canceled {
		t.Errorf("the count: %v", err)
	}
	for size := range 40 { // whenever it ends
		ctx, stop := context.WithCancel(context.Background())
		if _, err := l.Lowest(ctx, 3, func(s int) {
			if s > size {
				stop()
			}
		}); err != context.Canceled {
			t.Errorf("cancelled at %d dimensions: %v", size, err)
		}
	}
}

// Negative pivots are as many as eigenvalues below the shift.
func TestInertia(t *testing.T) {
	for name, m := range map[string]*mesh.Mesh{"ellipsoid": ellipsoid(2), "ball": ball.Mesh(2),
		"two": twice(ball.Mesh(1), 1)} {
		l := New(m)
		values := full(l)
		for i := 1; i < len(values); i++ {
			if values[i]-values[i-1] < 1e-3 {
				continue
			}
			f := testkit.Must(newFactor(context.Background(), l, -(values[i-1]+values[i])/2))
			if got := f.negative(); got != i {
				t.Errorf("%s: %d eigenvalues below that of number %d (growth %.3g)", name, got, i, f.growth)
			}
		}
	}
}

// Of a multiple eigenvalue no copy is left out: on the sphere, where they come by
// three, five and seven, and on two parts that are equal or not, where zero is double.
func TestMultiple(t *testing.T) {
	for name, m := range map[string]*mesh.Mesh{
		"octahedron": ball.Mesh(1), "ball": ball.Mesh(2),
		"equal parts": twice(ball.Mesh(2), 1), "parts": twice(ball.Mesh(2), 1.7),
		"four": twice(twice(ball.Mesh(1), 1), 1),
	} {
		l := New(m)
		want := full(l)
		for count := 1; count <= 12; count++ {
			for i, f := range lowest(t, l, count) {
				testkit.Near(t, f.Lambda, want[i], 1e-8*(1+want[i]), "%s: λ_%d of %d", name, i, count)
			}
		}
	}
}

// From a start that is the same on two equal parts, the Krylov space holds half of
// each eigenspace, to the last bit: the other half is found all the same.
func TestSymmetricStart(t *testing.T) {
	l := New(twice(ball.Mesh(2), 1))
	want, n := full(l), len(l.Mass)
	for count := 1; count <= 9; count++ {
		k := testkit.Must(newKrylov(context.Background(), l, 0.1, n))
		start := k.basis[0]
		copy(start[n/2:], start[:n/2])
		dense.Axpy(start, 1/dense.Norm(start)-1, start)
		f := testkit.Must(l.converge(context.Background(), k, 0.1, count, 40, n, nil))
		for i := range f {
			testkit.Near(t, f[i].Lambda, want[i], 1e-8*(1+want[i]), "λ_%d of %d", i, count)
		}
	}
}

// A copy that the space does not hold is counted, and one more vector finds it.
func TestMissing(t *testing.T) {
	l := New(twice(ball.Mesh(2), 1))
	f := lowest(t, l, 8) // 0, 0, then three and three
	for at := range 7 {
		without := append(append([]Function(nil), f[:at]...), f[at+1:]...)
		want := 1
		if at >= 2 { // of the last eigenvalue itself any copies will do
			want = 0
		}
		if got, err := l.missing(context.Background(), without, 0.1); got != want || err != nil {
			t.Errorf("without number %d: %d are missing, want %d (%v)", at, got, want, err)
		}
	}
}

// The hundredth eigenvalue of the bunny is near Weyl's 4π·100/area.
func TestBunny(t *testing.T) {
	m := testkit.Must(mesh.Read(testkit.Shared(t, "data/mesh/bunny.ply")))
	f := lowest(t, New(m), 101)
	if weyl := 400 * math.Pi / m.Area(); math.Abs(f[100].Lambda/weyl-1) > 0.2 {
		t.Errorf("λ_100 = %v, Weyl's law says %v", f[100].Lambda, weyl)
	}
}

// With f = z on the sphere, points have heights of density 2z on [0, 1]: the mean of 4000 squares is 1/2 ± 0.0046, and
// the mesh is round to 0.3 %; six deviations pass by chance once in 10⁸ seeds.
func TestDensity(t *testing.T) {
	m := ball.Mesh(4)
	f := make([]float64, len(m.Vertices)/3)
	for v := range f {
		f[v] = m.Vertices[3*v+2]
	}
	d, x, sum := NewDensity(m, f), make([]float64, 3), 0.0
	for i := range 4000 {
		d.Sample(x, keyed.New(1, keyed.Probe, 0), uint64(i))
		if x[2] < 0 {
			t.Fatalf("sample %d has height %v", i, x[2])
		}
		sum += x[2] * x[2]
	}
	testkit.Near(t, sum/4000, 0.5, 0.028+0.002, "mean square of heights")
}

// On one triangle, with f one at the first corner and zero at the others, coordinates have Dirichlet's law (2, 1, 1):
// means ½, ¼, ¼, deviations of 4000 points' means 0.0035 at most; six of them pass by chance once in 10⁸ seeds.
func TestDensityWithinAFace(t *testing.T) {
	// z, x, y are the coordinates
	m := &mesh.Mesh{Vertices: []float64{0, 0, 1, 1, 0, 0, 0, 1, 0}, Faces: []int32{0, 1, 2}}
	d, x, mean := NewDensity(m, []float64{1, 0, -1e-300}), make([]float64, 3), [3]float64{}
	const n = 4000
	for i := range uint64(n) {
		d.Sample(x, keyed.New(1, keyed.Probe, 2), i)
		for j := range mean {
			mean[j] += x[j] / n
		}
	}
	for j, want := range [3]float64{0.25, 0.25, 0.5} {
		if math.Abs(mean[j]-want) > 0.021 {
			t.Errorf("means %v, want ¼, ¼, ½", mean)
			break
		}
	}
}

// Eigenfunctions of the cut mesh are nearer those of the surface: the error of eigenvalues of the sphere's mesh against
// 2, 6, 12 is that of the mesh's shape alone, so cutting flat faces moves them by the discretisation's share, from one
// side and by a quarter each time.
func TestSubdivided(t *testing.T) {
	m := ball.Mesh(2)
	var values [4]float64
	for l := range values {
		values[l] = lowest(t, New(m), 5)[4].Lambda
		m = m.Subdivided()
	}
	for l := 1; l < 3; l++ {
		if ratio := (values[l+1] - values[l]) / (values[l] - values[l-1]); ratio < 0.2 || ratio > 0.3 {
			t.Errorf("eigenvalue 4 of meshes cut 0 to 3 times: %v: the steps shrink by %.3f, want a quarter",
				values, ratio)
		}
	}
}

func TestLevels(t *testing.T) {
	for n, want := range map[int]int{0: 2, 4: 2, 5: 1, 6: 0} { // 4ⁿ⁺¹ + 2 vertices
		if got := Levels(ball.Mesh(n)); got != want {
			t.Errorf("%d levels for 4^%d + 2 vertices, want %d", got, n+1, want)
		}
	}
}

func TestCut(t *testing.T) {
	m := testkit.Must(Cut(ball.Mesh(0), 2))
	if _, faces := m.N(); faces != 128 {
		t.Errorf("%d faces, want 8·4²", faces)
	}
	testkit.Refused(t, testkit.Err(Cut(ball.Mesh(0), 10)), "is 8388608; expected at most", "cut ten times")
}
