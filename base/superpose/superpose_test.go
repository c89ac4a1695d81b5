package superpose

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// R, b and the RMSD of md_network.npz.
func TestGolden(t *testing.T) {
	g := golden.Read(t, "md_network.npz")
	x, R, b := g["x"].AsFloat64(), g["R"].AsFloat64(), g["b"].AsFloat64()
	ref := reference(t, g["xref"].AsFloat64())
	centre := reference(t, g["center"].AsFloat64())
	var rmsd []float64
	for i := range 4 {
		at := x[30*i : 30*i+30]
		p := ref.Fit(at)
		golden.Near(t, "R", p.R[:], R[9*i:9*i+9])
		golden.Near(t, "b", p.Centre[:], b[3*i:3*i+3])
		rmsd = append(rmsd, centre.RMSD(at))
	}
	golden.Near(t, "RMSD", rmsd, g["rmsd"].AsFloat64())
}

func reference(t *testing.T, y []float64) *Reference {
	t.Helper()
	return testkit.Must(New(y))
}

// random returns n atoms, and spin a rotation, of a seed.
func random(draw *rand.Rand, n int) []float64 {
	x := make([]float64, 3*n)
	for i := range x {
		x[i] = draw.NormFloat64()
	}
	return x
}

func spin(draw *rand.Rand) Pose {
	var q [4]float64
	for i := range q {
		q[i] = draw.NormFloat64()
	}
	return Pose{R: rotation(q)}
}

func determinant(r [9]float64) float64 {
	return r[0]*(r[4]*r[8]-r[5]*r[7]) - r[1]*(r[3]*r[8]-r[5]*r[6]) + r[2]*(r[3]*r[7]-r[4]*r[6])
}

// proper fails unless p.R is a rotation to round-off.
func proper(t *testing.T, p Pose) {
	t.Helper()
	for i := range 3 {
		for j := range 3 {
			want, s := 0.0, 0.0
			if i == j {
				want = 1
			}
			for k := range 3 {
				s += p.R[3*i+k] * p.R[3*j+k]
			}
			if !(math.Abs(s-want) < 1e-14) {
				t.Fatalf("rows %d and %d of R have the product %v", i, j, s)
			}
		}
	}
	if d := determinant(p.R); !(math.Abs(d-1) < 1e-14) {
		t.Fatalf("det R = %v", d)
	}
}

// A frame that was turned and moved is laid back on itself: the rotation and the move are found, whatever the scale,
// the distance from the origin, and the dimension that the atoms span.
func TestRecovers(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for trial := range 300 {
		n := 3 + trial%8
		y := random(draw, n)
		if trial%3 == 1 { // planar
			for a := range n {
				y[3*a+2] = 0
			}
		}
		scale := math.Pow(10, float64(trial%9-4))
		for i := range y {
			y[i] *= scale
		}
		ref, turned := reference(t, y), spin(draw)
		x, back := make([]float64, 3*n), make([]float64, 3*n)
		turned.Turn(x, y)
		far := scale * float64(trial%4) * 10
		for i := range x {
			x[i] += far * float64(1+i%3)
		}
		p := ref.Fit(x)
		proper(t, p)
		// Round-off of a frame far from the origin, over how clearly R is determined.
		tol := 1e-15 * (30 + 10*far/scale) / p.Gap
		for i := range 3 {
			for j := range 3 {
				if !(math.Abs(p.R[3*i+j]-turned.R[3*j+i]) < tol) {
					t.Fatalf("trial %d: R is %v; expected the transpose of %v", trial, p.R, turned.R)
				}
			}
		}
		p.Apply(back, x)
		for i, v := range ref.Positions() {
			if !(math.Abs(back[i]-v) < tol*scale*5) {
				t.Fatalf("trial %d: coordinate %d of the aligned frame is %v, not %v", trial, i, back[i], v)
			}
		}
		if r := ref.RMSD(x); !(r < tol*scale*5) {
			t.Fatalf("trial %d: RMSD %v of a copy", trial, r)
		}
	}
}

// No rotation brings a frame nearer: neither small turns nor any of many; and mirror images,
// whose best orthogonal matrix is a reflection, get a rotation.
func TestNearest(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	mirrors := 0
	for trial := range 60 {
		n := 4 + trial%6
		y := random(draw, n)
		x := random(draw, n)
		if trial%2 == 0 { // a mirror image, a little bent
			for i := range x {
				x[i] = 0.05*x[i] + y[i]
				if i%3 == 0 {
					x[i] = -x[i]
				}
			}
		}
		ref := reference(t, y)
		p := ref.Fit(x)
		proper(t, p)
		least := distance(ref, p, x)
		if r := ref.RMSD(x); math.Abs(r*r*float64(n)-least) > 1e-12*(1+least) {
			t.Fatalf("RMSD %v, sum of squares %v of %d atoms", r, least, n)
		}
		flip := Pose{R: [9]float64{-1, 0, 0, 0, 1, 0, 0, 0, 1}, Centre: p.Centre}
		if distance(ref, flip, x) < least {
			mirrors++
		}
		for i := range 400 {
			other := spin(draw)
			if i%2 == 0 { // near p
				q := [4]float64{1}
				for j := 1; j < 4; j++ {
					q[j] = math.Pow(10, -float64(i%6)) * draw.NormFloat64()
				}
				turn := rotation(q)
				product(&other.R, &turn, &p.R)
			}
			other.Centre = p.Centre
			if d := distance(ref, other, x); d < least*(1-1e-13) {
				t.Fatalf("trial %d: a rotation has the sum of squares %v, below %v", trial, d, least)
			}
		}
	}
	if mirrors < 30 {
		t.Errorf("%d frames would be nearer reflected; expected 30", mirrors)
	}
}

func product(dst, a, b *[9]float64) {
	for i := range 3 {
		for j := range 3 {
			dst[3*i+j] = a[3*i]*b[j] + a[3*i+1]*b[3+j] + a[3*i+2]*b[6+j]
		}
	}
}

func distance(ref *Reference, p Pose, x []float64) (s float64) {
	a := make([]float64, len(x))
	p.Apply(a, x)
	for i, v := range ref.Positions() {
		s += (a[i] - v) * (a[i] - v)
	}
	return s
}

// The rotation is continuous where the atoms of a frame become planar and go on to the
// other hand: the sign of det S changes there, the rotation does not.
func TestThroughPlanar(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	y := random(draw, 6)
	ref := reference(t, y)
	flat := func(height float64) Pose {
		x := append([]float64(nil), y...)
		for a := range 6 {
			x[3*a+2] *= height
		}
		return ref.Fit(x)
	}
	at := flat(0)
	for _, h := range []float64{1e-12, 1e-8, 1e-4} {
		for _, height := range []float64{-h, h} {
			p := flat(height)
			for i := range p.R {
				if d := math.Abs(p.R[i] - at.R[i]); !(d < 5*h+1e-14) {
					t.Fatalf("height %g: R moves by %g", height, d)
				}
			}
		}
	}
}

// Frames without an alignment are flagged, and those beside them are not.
func TestDegenerate(t *testing.T) {
	draw := rand.New(rand.NewPCG(7, 8))
	y := random(draw, 5)
	ref := reference(t, y)
	line := make([]float64, 15)
	for i := range line {
		line[i] = float64(i/3) * float64(1+i%3)
	}
	point := make([]float64, 15)
	for i := range point {
		point[i] = float64(1 + i%3)
	}
	bad := append([]float64(nil), y...)
	bad[4] = math.NaN()
	huge := append([]float64(nil), y...)
	huge[4] = math.Inf(1)
	bent := append([]float64(nil), line...)
	bent[0] += 0.01
	// Of a reference with s₂ = s₃, its mirror image has ς = −1 and s₂ + ςs₃ = 0.
	octahedron := []float64{2, 0, 0, -2, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1}
	mirror := append([]float64(nil), octahedron...)
	for i := 2; i < len(mirror); i += 3 {
		mirror[i] = -mirror[i]
	}
	for _, c := range []struct {
		what string
		ref  *Reference
		x    []float64
		want bool
	}{
		{"the reference", ref, y, false},
		{"a line", ref, line, true},
		{"a point", ref, point, true},
		{"a bent line", ref, bent, false},
		{"NaN", ref, bad, true},
		{"an infinite coordinate", ref, huge, true},
		{"a mirror image with s₂ = s₃", reference(t, octahedron), mirror, true},
	} {
		p := c.ref.Fit(c.x)
		if p.Degenerate() != c.want {
			t.Errorf("%s: degenerate is %v with the gap %g", c.what, !c.want, p.Gap)
		}
		if c.want && p.Gap > 1e-12 {
			t.Errorf("%s: the gap is %g", c.what, p.Gap)
		}
	}
	// The gap is that of the singular values: of diag(s₁, s₂, s₃), known without an SVD.
	box := []float64{3, 0, 0, -3, 0, 0, 0, 2, 0, 0, -2, 0, 0, 0, 1, 0, 0, -1}
	if p := reference(t, box).Fit(box); math.Abs(p.Gap-(8+2)/28.0) > 1e-15 {
		t.Errorf("the gap is %v, not %v", p.Gap, 10.0/28)
	}
	for i := range box { // wherever it is
		box[i] += float64(1 + i%3)
	}
	testkit.Near(t, reference(t, box).Fit(box).Gap, 10/28., 1e-15)
}

func TestReferenceErrors(t *testing.T) {
	for _, c := range []struct {
		what string
		y    []float64
		want string
	}{
		{"two atoms", []float64{0, 0, 0, 1, 1, 1}, "it has 6 coordinates; expected three of each of at least 3 atoms"},
		{"ten numbers", make([]float64, 10), "it has 10 coordinates; expected three of each of at least 3 atoms"},
		{"a line", []float64{0, 0, 0, 1, 1, 1, 3, 3, 3}, "its atoms lie on one line, or all in one place"},
		{"a point", make([]float64, 9), "its atoms lie on one line, or all in one place"},
		{"no number", []float64{0, 0, 0, 1, math.NaN(), 1, 3, 3, 2}, "coordinate y of atom 1 is NaN"},
	} {
		_, err := New(c.y)
		var e *ReferenceError
		if !errors.As(err, &e) || e.Problem != c.want {
			t.Errorf("%s: %v; expected %q", c.what, err, c.want)
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	draw := rand.New(rand.NewPCG(9, 10))
	ref, x := reference(t, random(draw, 10)), random(draw, 10)
	a := make([]float64, 30)
	if n := testing.AllocsPerRun(20, func() {
		p := ref.Fit(x)
		p.Apply(a, x)
		p.Turn(a, a)
		a[0] = ref.RMSD(x)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Of frames that are one shape with noise, turned and moved, the central one is that with the least noise.
func TestCentral(t *testing.T) {
	draw := rand.New(rand.NewPCG(11, 12))
	const n, atoms, least = 200, 7, 137
	shape := random(draw, atoms)
	var frames []float64
	for i := range n {
		noise := 0.3
		if i == least {
			noise = 0.01
		}
		x, turned := make([]float64, 3*atoms), spin(draw)
		for j, v := range shape {
			x[j] = v + noise*draw.NormFloat64()
		}
		turned.Turn(x, x)
		for j := range x {
			x[j] += 20 * float64(i%5)
		}
		frames = append(frames, x...)
	}
	// Frames that have no alignment do not count, not even first.
	for j := range 3 * atoms {
		frames[j] = float64(j / 3)
	}
	if i, err := Central(frames, atoms); err != nil || i != least {
		t.Errorf("frame %d, %v; expected %d", i, err, least)
	}
	ref := reference(t, frames[least*3*atoms:(least+1)*3*atoms])
	var e *DegenerateError
	testkit.OK(t, ref.Check(frames[3*atoms:]))
	bad := append(frames[3*atoms:9*atoms:9*atoms], frames[:3*atoms]...)
	if err := ref.Check(bad); !errors.As(err, &e) || e.Frame != 2 {
		t.Errorf("%v; expected frame 2 to be named", err)
	}
	if _, err := Central(make([]float64, 30), 5); !errors.As(err, new(*ReferenceError)) {
		t.Errorf("frames that are points: %v", err)
	}
}
