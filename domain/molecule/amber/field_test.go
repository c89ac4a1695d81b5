package amber

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

var _ langevin.Energy = (*Potential)(nil)

func must(t testing.TB, s *System, solvent Solvent) *Evaluator {
	t.Helper()
	f := testkit.Must(New(s, solvent))
	return f.NewEvaluator()
}

// bent returns the conformation with every coordinate moved by up to 0.1 Å.
func bent(seed uint64, x []float64) []float64 {
	r, y := rand.New(rand.NewPCG(seed, 1)), make([]float64, len(x))
	for i, v := range x {
		y[i] = v + 0.2*(r.Float64()-0.5)
	}
	return y
}

// openmm are conformations and what OpenMM says of them: testdata/README.md.
func openmm(t *testing.T) map[string]arrayfile.Array {
	t.Helper()
	return golden.Decode(t, testkit.Must(os.ReadFile(filepath.Join("testdata", "openmm.npz"))))
}

// Energies by term and gradients are OpenMM's, for its own parameters, to the nine digits of a prmtop file.
func TestOpenMM(t *testing.T) {
	a := openmm(t)
	x, n := a["x"].AsFloat64(), a["x"].Shape[0]
	if n != 4 {
		t.Fatalf("%d conformations", n)
	}
	files := testkit.Must(ReadPrmtop("testdata/dipeptide.prmtop"))
	tolerance := map[string]float64{"built in": 1e-10, "prmtop": 3e-8}
	for name, s := range map[string]*System{"built in": AlanineDipeptide(), "prmtop": files} {
		for _, solvent := range []Solvent{Vacuum, OBC2} {
			e := must(t, s, solvent)
			terms, gradient := a[solvent.String()+"_terms"].AsFloat64(), a[solvent.String()+"_gradient"].AsFloat64()
			grad := make([]float64, 66)
			for i := range n {
				u := e.Energy(grad, x[i*66:(i+1)*66])
				got := []float64{u.Bonds, u.Angles, u.Dihedrals, u.Impropers, u.LennardJones, u.Coulomb,
					u.LennardJones14, u.Coulomb14, u.Polar + u.Surface}
				for k, want := range terms[9*i : 9*i+9] {
					testkit.Near(t, got[k], want, tolerance[name]*(1+math.Abs(want)),
						"%s, %v: term %d of conformation %d", name, solvent, k, i)
				}
				for k, want := range gradient[66*i : 66*i+66] {
					testkit.Near(t, grad[k], want, 100*tolerance[name],
						"%s, %v: gradient %d of conformation %d", name, solvent, k, i)
				}
			}
		}
	}
}

// Each term's gradient is the derivative of its energy, by central differences of fourth
// order; with a term of every n, and atoms that are buried in each other's spheres.
func TestGradients(t *testing.T) {
	s := AlanineDipeptide()
	for n := range 7 { // of all periods, phases that are no multiple of π, and an n = 0
		s.Torsions = append(s.Torsions, Torsion{4, 6, 8, 14, n, 1.5, 0.7 * float64(n), n%2 == 1})
	}
	s.Atoms[1].Radius, s.Atoms[4].Radius = 3.2, 0.4 // one engulfs the other
	e := must(t, s, OBC2)
	calls := map[string]func(grad, x []float64) float64{
		"bonds":  e.stretch,
		"angles": e.bend,
		"dihedrals": func(g, x []float64) float64 {
			p, i := e.twist(g, x)
			return p + i
		},
		"pairs": func(g, x []float64) float64 {
			a, b := e.apart(g, x)
			return a + b
		},
		"1–4 pairs": func(g, x []float64) float64 {
			a, b := e.oneFour(g, x)
			return a + b
		},
		"solvent": func(g, x []float64) float64 {
			a, b := e.ForceField.born.energy(e.born, g, x)
			return a + b
		},
		"all": func(g, x []float64) float64 { return e.Energy(g, x).Sum() },
	}
	for name, f := range calls {
		for seed := range uint64(3) {
			x := bent(seed, AlanineStart())
			grad, waste := make([]float64, 66), make([]float64, 66)
			f(grad, x)
			size := 0.0
			for _, g := range grad {
				size = max(size, math.Abs(g))
			}
			if size == 0 {
				t.Errorf("%s: no gradient", name)
			}
			at := func(i int, h float64) float64 {
				y := append([]float64(nil), x...)
				y[i] += h
				clear(waste)
				return f(waste, y)
			}
			const h = 1e-3
			for i, g := range grad {
				d := (8*(at(i, h)-at(i, -h)) - at(i, 2*h) + at(i, -2*h)) / (12 * h)
				if math.Abs(d-g) > 1e-8*size {
					t.Fatalf("%s: ∂U/∂x_%d is %.10g, differences give %.10g (size %.3g)", name, i, g, d, size)
				}
			}
		}
	}
}

// Forces add up to nothing, and so do their moments; energies do not see where the molecule lies, nor its mirror image.
func TestSymmetry(t *testing.T) {
	e := must(t, AlanineDipeptide(), OBC2)
	for seed := range uint64(5) {
		x := bent(seed, AlanineStart())
		grad := make([]float64, 66)
		u := e.Energy(grad, x)
		var sum, moment [3]float64
		for i := 0; i < 66; i += 3 {
			for k := range 3 {
				a, b := (k+1)%3, (k+2)%3
				sum[k] += grad[i+k]
				moment[k] += x[i+a]*grad[i+b] - x[i+b]*grad[i+a]
			}
		}
		for k := range 3 {
			if math.Abs(sum[k]) > 1e-11 || math.Abs(moment[k]) > 1e-10 {
				t.Errorf("forces add up to %v, moments to %v", sum, moment)
			}
		}
		y := make([]float64, 66)
		sin, cos := math.Sincos(1 + float64(seed))
		for i := 0; i < 66; i += 3 {
			y[i], y[i+1], y[i+2] = cos*x[i]-sin*x[i+2]+3, x[i+1]-2, -(sin*x[i] + cos*x[i+2])
		}
		// The mirror turns every dihedral's sign: terms of phase 0 or π do not see it.
		if v := e.Energy(nil, y); math.Abs(v.Sum()-u.Sum()) > 1e-11*(1+math.Abs(u.Coulomb)) {
			t.Errorf("energy %v, mirrored %v", u.Sum(), v.Sum())
		}
	}
}

// A dihedral near 0 and π has the gradient that it has anywhere: nothing is divided by its
// sine. Where its atoms are in a line there is none, and nothing is NaN.
func TestFlatAndStraight(t *testing.T) {
	x := []float64{1, 1, 0, 0, 0, 0, 0, 0, 1.5, 1, 1, 1.5}
	s := AlanineDipeptide()
	s.Molecule.Atoms, s.Atoms, s.Molecule.Bonds = s.Molecule.Atoms[:4], s.Atoms[:4], nil
	s.Kinds, s.A, s.B = 2, make([]float64, 4), make([]float64, 4)
	for i := range s.Atoms {
		s.Atoms[i].Kind, s.Atoms[i].Charge = 0, 0
	}
	s.Bonds, s.OneFour, s.Excluded = nil, nil, nil
	s.Angles = []Angle{{0, 1, 2, 10, 1}}
	s.Torsions = []Torsion{{0, 1, 2, 3, 1, 2, math.Pi / 2, false}} // 2(1 + sin φ)
	e := must(t, s, Vacuum)
	grad := make([]float64, 12)
	for _, tilt := range []float64{0, 1e-12, 1e-8, -1e-5} {
		for _, flip := range []float64{1, -1} { // φ near 0, φ near π
			y := append([]float64(nil), x...)
			y[9], y[10] = flip*math.Cos(math.Pi/4+tilt)*math.Sqrt2, flip*math.Sin(math.Pi/4+tilt)*math.Sqrt2
			clear(grad)
			e.twist(grad, y)
			// dU/dφ = ±2 to first order, ‖∂φ/∂x_l‖ = 1/(distance from the axis) = 1/√2
			testkit.Near(t, math.Hypot(math.Hypot(grad[9], grad[10]), grad[11]), math.Sqrt2, 1e-4,
				"tilt %v, flip %v: gradient", tilt, flip)
		}
	}
	copy(x, []float64{0, 0, -1}) // atoms 0, 1, 2 in a line
	u := e.Energy(grad, x)
	for i, g := range grad {
		if math.IsNaN(g) || g != 0 {
			t.Errorf("gradient %d is %v", i, g)
		}
	}
	if off := math.Pi - 1.0; math.Abs(u.Angles-10*off*off) > 1e-12 || u.Dihedrals != 2 {
		t.Errorf("%+v", u)
	}
}

// Evaluations allocate nothing.
func TestAllocations(t *testing.T) {
	for _, solvent := range []Solvent{Vacuum, OBC2} {
		e, x, grad := must(t, AlanineDipeptide(), solvent), AlanineStart(), make([]float64, 66)
		testkit.Equal(t, testing.AllocsPerRun(100, func() { e.Energy(grad, x) }), 0, "%v", solvent)
	}
}

// obc2-polar is obc2 without the surface term.
func TestSolvents(t *testing.T) {
	x := AlanineStart()
	all, polar := must(t, AlanineDipeptide(), OBC2).Energy(nil, x), must(t, AlanineDipeptide(), OBC2Polar).Energy(nil,
		x)
	if all.Polar != polar.Polar || polar.Surface != 0 || !(all.Surface > 0) {
		t.Errorf("%+v and %+v", all, polar)
	}
	for _, s := range []Solvent{Vacuum, OBC2, OBC2Polar} {
		if got, err := ParseSolvent(s.String()); got != s || err != nil {
			t.Errorf("%v: %v, %v", s, got, err)
		}
	}
	if _, err := ParseSolvent("water"); err == nil {
		t.Error("water is a solvent")
	}
	s := AlanineDipeptide()
	s.Atoms[3].Radius = 0
	if _, err := New(s, OBC2); err == nil {
		t.Error("no radius, no error")
	}
	testkit.OK(t, testkit.Err(New(s, Vacuum)))
}

// f is U/kT, the same from any goroutine and for any block.
func TestPotential(t *testing.T) {
	p := testkit.Must(NewPotential(AlanineDipeptide(), OBC2, 300, AlanineStart()))
	e := must(t, AlanineDipeptide(), OBC2)
	var x []float64
	for i := range uint64(3) {
		x = append(x, bent(i, AlanineStart())...)
	}
	done := make(chan bool)
	for range 4 {
		go func() {
			defer func() { done <- true }()
			f, g, one := make([]float64, 3), make([]float64, 198), make([]float64, 66)
			p.Value(f, x, 3)
			p.Gradient(g, x, 3)
			for i := range 3 {
				u := e.ForceField.NewEvaluator().Energy(one, x[i*66:(i+1)*66]).Sum()
				if want := u / (Boltzmann * 300); math.Abs(f[i]-want) > 1e-12*math.Abs(want) {
					t.Errorf("f is %v, want %v", f[i], want)
				}
				for j, v := range one {
					testkit.Near(t, g[66*i+j], v/(Boltzmann*300), 1e-12*(1+math.Abs(v)),
						"gradient %d of point %d", j, i)
				}
			}
		}()
	}
	for range 4 {
		<-done
	}
	for _, kelvin := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := NewPotential(AlanineDipeptide(), Vacuum, kelvin, nil); err == nil {
			t.Errorf("%v K", kelvin)
		}
	}
	nano := AlanineStart()
	for i := range nano {
		nano[i] /= 10
	}
	if _, err := NewPotential(AlanineDipeptide(), Vacuum, 300, nano); err == nil {
		t.Error("nanometres are taken for ångström")
	}
}

func BenchmarkEnergy(b *testing.B) {
	for _, solvent := range []Solvent{Vacuum, OBC2} {
		b.Run(solvent.String(), func(b *testing.B) {
			e, x, grad := must(b, AlanineDipeptide(), solvent), AlanineStart(), make([]float64, 66)
			for b.Loop() {
				e.Energy(grad, x)
			}
		})
	}
}

// The pairwise integral of implicit solvent is that of ‖x‖⁻⁴/4π over the part of a sphere beyond ρ. It is taken over
// shells of radius t. The part (s² − (r−t)²)/(4rt) of a shell is inside the sphere, or all of it. Cases are spheres
// apart, in touch, within and around the atom.
func TestIntegral(t *testing.T) {
	for _, c := range []struct{ r, ρ, s float64 }{
		{5, 1.2, 1}, {2.31, 1.2, 1.1}, {2, 1.2, 1.1}, {1.1, 1.6, 1.2}, {0.4, 1.6, 1.1}, {1, 0.5, 2}, {0.3, 0.2, 3},
	} {
		want := 0.0
		const n = 200_000
		lo, hi := max(c.ρ, c.r-c.s), c.r+c.s
		for k := range n {
			if hi <= lo {
				break
			}
			u := lo + (hi-lo)*(float64(k)+0.5)/n
			part := (c.s*c.s - (c.r-u)*(c.r-u)) / (4 * c.r * u)
			if u < c.s-c.r {
				part = 1
			}
			want += part / (u * u) * (hi - lo) / n
		}
		got, slope := integral(c.r, 1/c.r, c.ρ, c.s)
		testkit.Near(t, got, want, 1e-7*(1+want), "%+v", c)
		const h = 1e-5
		up, _ := integral(c.r+h, 1/(c.r+h), c.ρ, c.s)
		down, _ := integral(c.r-h, 1/(c.r-h), c.ρ, c.s)
		if d := (up - down) / (2 * h); math.Abs(slope*c.r-d) > 1e-8*(1+math.Abs(d)) {
			t.Errorf("%+v: slope %v, differences give %v", c, slope*c.r, d)
		}
	}
}
