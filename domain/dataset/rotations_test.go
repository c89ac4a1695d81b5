package dataset

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
)

func mixture(t *testing.T, r RotationMixture) (*Points, []int) {
	t.Helper()
	p, modes, err := r.Generate(t.Context())
	testkit.OK(t, err)
	return p, modes
}

// Matrices lie on SO(n) to round-off, and matrix i is a function of seed and i.
func TestRotationsOnTheGroup(t *testing.T) {
	const n, count = 10, 200
	p, modes := mixture(t, RotationMixture{Count: count, Seed: 7})
	group := testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{Special: true}))
	h := make([]float64, count*55)
	group.Values(h, p.X, count)
	for i, v := range h {
		if math.Abs(v) > 1.5e-15 {
			t.Fatalf("matrix %d: h = %.3g", i/55, v)
		}
	}
	for i := range count {
		if !group.Selects(p.X[i*100 : (i+1)*100]) {
			t.Fatalf("matrix %d has det < 0", i)
		}
	}
	fewer, again := mixture(t, RotationMixture{Count: 20, Seed: 7})
	for i, v := range fewer.X {
		if v != p.X[i] || again[i/100] != modes[i/100] {
			t.Fatalf("matrix %d depends on the number of matrices", i/100)
		}
	}
	if other, _ := mixture(t, RotationMixture{Count: 20, Seed: 8}); other.X[0] == p.X[0] {
		t.Error("seed 8 gives the matrices of seed 7")
	}
}

// Matrix i is C_j exp(A), in this order, with C, j and A each from a stream of its own; exp by its series.
func TestRotationsFollowTheirStreams(t *testing.T) {
	const n, sd, seed = 4, 0.3, 5
	p, modes := mixture(t, RotationMixture{N: n, Modes: 3, Count: 30, SD: sd, Seed: seed})
	group := testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{Special: true}))
	c, z := make([]float64, n*n), make([]float64, n*n)
	for i, j := range modes {
		if want := keyed.New(seed, keyed.Synthetic, 1).Index(3, uint64(i), 0); j != want {
			t.Fatalf("matrix %d has mode %d, want %d", i, j, want)
		}
		group.SampleUniform(c, keyed.New(seed, keyed.Synthetic, 0), uint64(j))
		keyed.New(seed, keyed.Synthetic, 2).Normals(z, uint64(i), 0)
		a, power := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
		for k := range n {
			for l := range k {
				a.Set(k, l, sd*z[k*n+l])
				a.Set(l, k, -sd*z[k*n+l])
			}
		}
		x := mat.NewDense(n, n, c)
		power.CloneFrom(x)
		for k := 1; k < 40; k++ { // C Aᵏ/k!
			var next mat.Dense
			next.Mul(power, a)
			power.Scale(1/float64(k), &next)
			x.Add(x, power)
		}
		for e, want := range x.RawMatrix().Data {
			if math.Abs(p.X[i*n*n+e]-want) > 1e-13 {
				t.Fatalf("entry %d of matrix %d is %v, want %v", e, i, p.X[i*n*n+e], want)
			}
		}
	}
}

// With C the mode's centre, log(CᵀX) is skew with entries of variance SD². In R³ it is a turn by θ, which follows from
// the trace, and θ² = A_12² + A_13² + A_23² is SD² times a χ² number with 3 degrees of freedom. Bounds of 5 standard
// errors: level 6e-7 each, one mode's share and two moments.
func TestRotationsLaw(t *testing.T) {
	const count, sd = 20_000, 0.1
	p, modes := mixture(t, RotationMixture{N: 3, Modes: 4, Count: count, SD: sd, Seed: 3})
	// The centre of a mode is the polar factor of its mean, by symmetry.
	var share, sum, squares float64
	sums := make([]*mat.Dense, 4)
	for j := range sums {
		sums[j] = mat.NewDense(3, 3, nil)
	}
	for i, j := range modes {
		sums[j].Add(sums[j], mat.NewDense(3, 3, p.X[9*i:9*i+9]))
		if j == 2 {
			share++
		}
	}
	for j := range sums {
		var svd mat.SVD
		if !svd.Factorize(sums[j], mat.SVDFull) {
			t.Fatal("no singular values")
		}
		var u, v mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		sums[j].Mul(&u, v.T())
	}
	for i, j := range modes {
		var z mat.Dense
		z.Mul(sums[j].T(), mat.NewDense(3, 3, p.X[9*i:9*i+9]))
		θ := math.Acos(math.Min(1, (mat.Trace(&z)-1)/2))
		q := θ * θ / (sd * sd)
		sum += q
		squares += q * q
	}
	check := func(name string, got, want, se float64) {
		if math.Abs(got-want) > 5*se {
			t.Errorf("%s: %.4f, want %.4f ± %.4f", name, got, want, se)
		}
	}
	check("share of mode 2", share/count, 0.25, math.Sqrt(0.25*0.75/count))
	check("E θ²/SD²", sum/count, 3, math.Sqrt(6.0/count))
	check("E θ⁴/SD⁴", squares/count, 15, math.Sqrt((945-225)/float64(count)))
}

func TestRotationFaults(t *testing.T) {
	for field, r := range map[string]RotationMixture{
		"n": {N: 1}, "modes": {Modes: -1}, "sd": {SD: math.NaN()}, "count": {Count: 10_000_000},
	} {
		_, _, err := r.Generate(t.Context())
		var e *Error
		if !errors.As(err, &e) || e.Column != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

const degree = math.Pi / 180

func dihedral(lo, hi float64, atoms ...int) conformation.Condition {
	return conformation.Condition{Coordinate: conformation.Coordinate{Kind: conformation.Dihedral, Atoms: atoms},
		Low: lo * degree, High: hi * degree}
}

func generate(t *testing.T, c Conformations, workers int) *Frames {
	t.Helper()
	return testkit.Must(c.Generate(context.Background(), parallel.New(workers), nil))
}

// Frames of alanine dipeptide meet their conditions to round-off, keep their hand and their
// peptide bonds, lie on the start, and are the same whatever the workers. So they are where the
// start has to be turned half around, and on a window across π.
func TestConformations(t *testing.T) {
	φ, ψ := []int{4, 6, 8, 14}, []int{6, 8, 14, 16}
	for _, c := range []struct{ phi, lo, hi float64 }{{-70, 130, 170}, {-150, 160, 200}} {
		spec := Conformations{Count: 200, Chains: 20, Burn: 200, Every: 20, Seed: 1,
			Conditions: []conformation.Condition{dihedral(c.phi, c.phi, φ...), dihedral(c.lo, c.hi, ψ...)},
			Watch:      []conformation.Coordinate{{Kind: conformation.Dihedral, Atoms: ψ}}}
		f := generate(t, spec, 2)
		testkit.EqualSlices(t, f.X, generate(t, spec, 1).X, "frames depend on the workers")
		for i := range f.Count {
			x := f.X[i*f.D : (i+1)*f.D]
			p, s := molecule.Torsion(x, 4, 6, 8, 14)/degree, molecule.Torsion(x, 6, 8, 14, 16)/degree
			middle := (c.lo + c.hi) / 2
			if math.Abs(p-c.phi) > 1e-10 || math.Abs(math.Remainder(s-middle, 360)) > (c.hi-c.lo)/2+1e-10 {
				t.Fatalf("frame %d: φ = %v, ψ = %v", i, p, s)
			}
			if molecule.Volume(x, 8, 6, 14, 10) < 1 || math.Abs(molecule.Torsion(x, 1, 4, 6, 8)) < 2 {
				t.Fatalf("frame %d: another hand, or a peptide bond has turned", i)
			}
		}
		testkit.Keep(t, "step %.6g, energy %.4g, turned %.3g, watched %.3g, %d × %d: %.3f", f.Step, f.Energy, f.Turned,
			f.Watched, f.Count, f.D, f.X[:6])
		w := f.Watched[0]
		if off := math.Remainder(w.Mean-(c.lo+c.hi)/2*degree, 2*math.Pi); math.Abs(w.Mean) > math.Pi ||
			math.Abs(off) > (c.hi-c.lo)/2*degree {
			t.Errorf("the mean of ψ is %v", w.Mean)
		}
		if f.Worst > 1e-12 || f.Failed > 0 || !(w.SD > 0.02) || !(w.ESS > 20) || f.Turned > 0.1 {
			t.Errorf("%+v, %+v", *f, w)
		}
	}
}

// Turning a dihedral brings it to the middle of its condition, and leaves bonds and angles as
// they are; one that is met stays.
func TestTurn(t *testing.T) {
	s := amber.AlanineDipeptide()
	for _, q := range []conformation.Condition{dihedral(100, 100, 4, 6, 8, 14), dihedral(-60, -20, 6, 8, 14, 16),
		dihedral(100, 140, 16, 14, 8, 6), dihedral(140, 160, 6, 8, 14, 16)} {
		x := amber.AlanineStart()
		before := q.Value(x)
		turn(s.Molecule, x, q)
		want := (q.Low + q.High) / 2
		if q.Low < before && before < q.High {
			want = before
		}
		if got := q.Value(x); math.Abs(math.Remainder(got-want, 2*math.Pi)) > 1e-12 {
			t.Errorf("%v to %v: from %v to %v", q.Atoms, want, before, got)
		}
		y := amber.AlanineStart()
		for _, a := range s.Molecule.Angles() {
			d := molecule.Distance(x, a[0], a[1]) - molecule.Distance(y, a[0], a[1])
			e := molecule.Distance(x, a[0], a[2]) - molecule.Distance(y, a[0], a[2])
			if math.Abs(d) > 1e-12 || math.Abs(e) > 1e-12 {
				t.Errorf("%v: angle %v changes", q.Atoms, a)
			}
		}
	}
}

// A molecule of two bonds and an angle that is held: given the angle, each bond has the density r² exp(−K(r − R)²/kT),
// for Cartesian coordinates have r² dr in them. By area of Σ it would be another, since ‖∇θ‖ depends on r: means differ
// by 0.06. The limit is 6 standard errors (false alarm: 2·10⁻⁹), 0.02 here.
func TestConformationsLaw(t *testing.T) {
	const k, middle, kelvin = 2, 1.5, 300
	s := &amber.System{Molecule: molecule.Anonymous(3), Atoms: make([]amber.Atom, 3), Kinds: 1,
		A: []float64{0}, B: []float64{0}, Excluded: [][2]int{{0, 1}, {0, 2}, {1, 2}},
		Bonds: []amber.Bond{{I: 0, J: 1, K: k, R: middle}, {I: 1, J: 2, K: k, R: middle}}}
	angle := conformation.Coordinate{Kind: conformation.Angle, Atoms: []int{0, 1, 2}}
	f := generate(t, Conformations{System: s, Start: []float64{1.5, 0, 0, 0, 0, 0, 0, 1.5, 0}, Solvent: amber.Vacuum,
		Kelvin: kelvin, Conditions: []conformation.Condition{{Coordinate: angle, Low: math.Pi / 3, High: math.Pi / 3}},
		Watch: []conformation.Coordinate{{Kind: conformation.Distance, Atoms: []int{0, 1}}},
		Count: 20_000, Chains: 32, Burn: 500, Every: 20, Seed: 3}, 2)
	var zero, one, area, areaOne float64
	for i := 1; i < 4000; i++ { // the integral over both bonds, for the law by area beside
		a := float64(i) * 1e-3
		weigh := func(r float64) float64 { return r * r * math.Exp(-k*(r-middle)*(r-middle)/(amber.Boltzmann*kelvin)) }
		zero, one = zero+weigh(a), one+a*weigh(a)
		for j := 10; j < 4000; j += 20 {
			b := float64(j) * 1e-3
			// ‖∇θ‖² = 1/a² + 1/b² + ‖(∂θ of the middle atom)‖², the last by the law of cosines
			grad := math.Sqrt(2/(a*a) + 2/(b*b) - 2*math.Cos(math.Pi/3)/(a*b))
			area, areaOne = area+grad*weigh(a)*weigh(b), areaOne+a*grad*weigh(a)*weigh(b)
		}
	}
	want, other := one/zero, areaOne/area
	w := f.Watched[0]
	error := w.SD / math.Sqrt(w.ESS)
	if math.Abs(other-want) < 0.02 || 6*error > 0.02 {
		t.Fatalf("the laws have the means %v and %v, the error is %v: the test says nothing", want, other, error)
	}
	if math.Abs(w.Mean-want) > 6*error {
		t.Errorf("mean bond %v ± %v, want %v (by area %v)", w.Mean, error, want, other)
	}
}

func TestConformationFaults(t *testing.T) {
	good := Conformations{Count: 10, Chains: 2, Burn: 10, Every: 1}
	for want, change := range map[string]func(c *Conformations){
		"temperature": func(c *Conformations) { c.Kelvin = -1 },
		"n":           func(c *Conformations) { c.Count = 1e8 },
		"chains":      func(c *Conformations) { c.Chains = -1 },
		"every":       func(c *Conformations) { c.Every = -1 },
		"burn":        func(c *Conformations) { c.Burn = -1 },
		"step":        func(c *Conformations) { c.Step = math.NaN() },
		"friction":    func(c *Conformations) { c.Friction = math.Inf(1) },
		"start":       func(c *Conformations) { c.Start = make([]float64, 3) },
	} {
		c := good
		change(&c)
		_, err := c.Generate(context.Background(), parallel.New(1), nil)
		var fault *Error
		if !errors.As(err, &fault) || fault.Column != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	c := good
	c.Start = amber.AlanineStart()
	for i := range c.Start {
		c.Start[i] /= 10
	}
	testkit.Refused(t, testkit.Err(c.Generate(context.Background(), parallel.New(1), nil)), "nanometres", "nanometres")
	c = good
	c.Step = 1
	for _, conditions := range [][]conformation.Condition{nil, {dihedral(-70, -70, 4, 6, 8, 14)}} {
		c.Conditions = conditions
		_, err := c.Generate(context.Background(), parallel.New(1), nil)
		if errors.As(err, new(*langevin.DivergedError)) {
			continue
		}
		var fault *Error
		if !errors.As(err, &fault) || fault.Column != "step" || fault.Want != "a smaller step" {
			t.Errorf("a step of 1: %v", err)
		}
	}
}

// rounded is a surface h(x) = Σ_j softplus(x_j) + softplus(−x_j) − 1.2 with a rough mesh of it.
func rounded(t *testing.T) *levelset.Surface {
	t.Helper()
	n := &levelset.Network{MLP: score.NewMLP[float64]([]int{3, 6, 1}, 1), Beta: 10}
	copy(n.Weight(0), []float64{1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1})
	clear(n.Bias(0))
	copy(n.Weight(1), []float64{1, 1, 1, 1, 1, 1})
	n.Bias(1)[0] = -1.2
	return testkit.Must(levelset.NewSurface(n, ball.Mesh(0)))
}

// Points have the law of the eigenfunction's positive part, or its negative one, on
// the mesh or on the level set near it, and depend on the seed and their number.
func TestEigenfunction(t *testing.T) {
	surface := rounded(t)
	e := Eigenfunction{Mesh: surface.Mesh.Subdivided().Subdivided(), K: 1, Count: 500, Seed: 3}
	tree := mesh.NewTree(e.Mesh)
	on, err := e.Generate(context.Background(), nil)
	if err != nil || on.N != 500 || on.D != 3 || len(on.X) != 1500 || on.Lost != 0 {
		t.Fatalf("%+v, %v", on, err)
	}
	testkit.Keep(t, "λ %.6g, points %.6f", on.Lambda, on.X[1400:])
	e.Negative = true
	other, err := e.Generate(context.Background(), nil)
	if err != nil || other.Lambda != on.Lambda {
		t.Fatal(err)
	}
	sum := [2][3]float64{}
	for i := range 500 {
		for s, p := range []*EigenfunctionSample{on, other} {
			x := [3]float64(p.X[3*i : 3*i+3])
			if _, _, d := tree.Nearest(x); d > 1e-12 {
				t.Fatalf("point %d is %.3g off the mesh", i, d)
			}
			for j := range x {
				sum[s][j] += x[j] / 500
			}
		}
	}
	// The first eigenfunctions of an octahedron are odd: the two halves are opposite.
	// Means of 500 points are right to 0.03 a coordinate; 0.2 is six deviations.
	length := 0.0
	for j := range 3 {
		length += sum[0][j] * sum[0][j]
		if math.Abs(sum[0][j]+sum[1][j]) > 0.2 {
			t.Errorf("means %v and %v; want opposite ones", sum[0], sum[1])
		}
	}
	if math.Sqrt(length) < 0.2 {
		t.Errorf("mean %v: the points are not on one half", sum[0])
	}
	e.Surface, e.Negative = surface, false
	moved := testkit.Must(e.Generate(context.Background(), nil))
	h := make([]float64, moved.N)
	surface.Values(h, moved.X, moved.N)
	for i, v := range h {
		if math.Abs(v) > 1e-12 {
			t.Fatalf("point %d: h = %.3g", i, v)
		}
	}
	e.Count = 100
	fewer := testkit.Must(e.Generate(context.Background(), nil))
	for i, v := range fewer.X {
		if v != moved.X[i] {
			t.Fatalf("number %d of 100 points is another than of 500", i/3)
		}
	}
}

func TestEigenfunctionFaults(t *testing.T) {
	surface := rounded(t)
	fine := surface.Mesh.Subdivided()
	for want, e := range map[string]Eigenfunction{
		"eigenfunction: k is 18, expected 1 to 17, as the mesh has 18 vertices":  {Mesh: fine, K: 18},
		"eigenfunction: k is -1, expected 1 to 17, as the mesh has 18 vertices":  {Mesh: fine, K: -1},
		"eigenfunction: k is 100, expected 1 to 17, as the mesh has 18 vertices": {Mesh: fine},
		"eigenfunction: count is -2, expected 1 to 100000000 points":             {Mesh: fine, K: 1, Count: -2},
		"eigenfunction: surface is not near the mesh (102 of 102 points could not be moved to it), expected the " +
			"level set fitted to the mesh": {Mesh: fine.Scaled([3]float64{}, 9), K: 1, Count: 10, Surface: surface},
	} {
		_, err := e.Generate(context.Background(), nil)
		if fault := (*Error)(nil); !errors.As(err, &fault) || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := (Eigenfunction{Mesh: fine, K: 1}).Generate(ctx, nil); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}
