package dataset

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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
