package robot

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// Where the reference puts the links of a Panda, and its flange.
func TestPandaGolden(t *testing.T) {
	z := golden.Read(t, "robot_fk.npz")
	q, links, ee := z["q"].AsFloat64(), z["links"].AsFloat64(), z["ee"].AsFloat64()
	a := Panda()
	k, x := a.NewKinematics(), make([]float64, a.Dim())
	for i := range len(q) / 7 {
		a.Coordinates(x, q[7*i:][:7])
		k.At(x)
		for l := range 8 {
			got, want := k.Point(l, [3]float64{}), ee[3*i:][:3]
			if l < 7 {
				want = links[21*i+3*l:][:3]
			}
			for c := range 3 {
				testkit.Near(t, got[c], want[c], 1e-12, "row %d link %d: %v, want %v", i, l, got, want)
			}
		}
	}
}

// The flange of the reference off the circles is the one at the angles; gradients carried to there
// have the slopes of first derivatives.
func TestUnit(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	a := random(t, r, 11)
	k, d, n := a.NewKinematics(), a.Dim(), len(a.Joints)
	x, v := point(r, d), point(r, d)
	q, w, local, weight := make([]float64, a.Moving()), make([]float64, d), gauss(r), gauss(r)
	f := func(x []float64) (value float64, grad []float64) { // weight·p at the angles
		y, jac, grad := make([]float64, d), make([]float64, 3*d), make([]float64, d)
		a.Unit(y, x)
		k.At(y)
		p := k.Point(n-1, local)
		pointJacobian(k, jac, n-1, local)
		for i := range 3 {
			value += weight[i] * p[i]
			for c := range d {
				grad[c] += weight[i] * jac[i*d+c]
			}
		}
		return value, grad
	}
	value, grad := f(x)

	a.Angles(q, x)
	a.Coordinates(w, q)
	k.At(w)
	p := k.Point(n-1, local)
	if want := weight[0]*p[0] + weight[1]*p[1] + weight[2]*p[2]; math.Abs(value-want) > 1e-12 {
		t.Errorf("%g off the circles, %g at the angles", value, want)
	}

	unitTangent(a, grad, x, grad)
	lin := 0.0
	for c := range d {
		lin += grad[c] * v[c]
	}
	var first []float64
	for _, ε := range []float64{1e-2, 1e-3, 1e-4} {
		y := make([]float64, d)
		for i := range y {
			y[i] = x[i] + ε*v[i]
		}
		value2, _ := f(y)
		first = append(first, math.Abs(value2-value-ε*lin))
	}
	slope(t, "first", first, 2)
}

// unitTangent writes ∂y/∂x v for y of Unit into out, which may be v: of a pair (I − uuᵀ)/ρ, and 0 at (0, 0).
func unitTangent(a *Arm, out, x, v []float64) {
	n := a.Turning()
	for i := range n {
		ρ := math.Hypot(x[i], x[n+i])
		if ρ == 0 {
			out[i], out[n+i] = 0, 0
			continue
		}
		c, s := x[i]/ρ, x[n+i]/ρ
		along := c*v[i] + s*v[n+i]
		out[i], out[n+i] = (v[i]-along*c)/ρ, (v[n+i]-along*s)/ρ
	}
	copy(out[2*n:a.Dim()], v[2*n:])
}

func TestUnitAtTheCentre(t *testing.T) {
	a := Panda()
	x, y := make([]float64, 14), make([]float64, 14)
	a.Unit(y, x)
	v := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	unitTangent(a, v, x, v)
	for i := range 7 {
		if y[i] != 1 || y[7+i] != 0 || v[i] != 0 || v[7+i] != 0 {
			t.Fatalf("(%g, %g), tangent (%g, %g)", y[i], y[7+i], v[i], v[7+i])
		}
	}
}

// Angles and Coordinates are inverse within the limits, also of a joint that goes past π.
func TestAngles(t *testing.T) {
	a := Panda()
	for _, f := range []float64{0, 0.25, 0.5, 1} {
		q, x, got := make([]float64, 7), make([]float64, 14), make([]float64, 7)
		for i := range q {
			q[i] = a.Joints[i].Lower + f*(a.Joints[i].Upper-a.Joints[i].Lower)
		}
		a.Coordinates(x, q)
		for i := range x {
			x[i] *= 1.7 // the angle of (c, s), whatever its length
		}
		a.Angles(got, x)
		for i := range q {
			testkit.Near(t, q[i], got[i], 1e-15*4, "joint %d", i)
		}
	}
	b := &Arm{Base: "b", Joints: []Joint{
		{Kind: Prismatic, Origin: Identity(), Axis: [3]float64{1, 0, 0}, Upper: 2},
		{Kind: Fixed, Origin: Identity()},
		{Kind: Continuous, Origin: Identity(), Axis: [3]float64{1, 0, 0}, Lower: math.Inf(-1), Upper: math.Inf(1)},
	}}
	x, q := make([]float64, 3), make([]float64, 2)
	b.Coordinates(x, []float64{0.5, 7})
	if x[2] != 0.5 || x[0] != math.Cos(7) || x[1] != math.Sin(7) {
		t.Errorf("coordinates %v", x)
	}
	if b.Angles(q, x); q[0] != 0.5 || math.Abs(q[1]-(7-2*math.Pi)) > 1e-15 {
		t.Errorf("angles %v", q)
	}
	for j, want := range [][2]int{{2, -1}, {-1, -1}, {0, 1}} {
		if c, s := b.Columns(j); [2]int{c, s} != want {
			t.Errorf("columns of joint %d: %d %d, want %v", j, c, s, want)
		}
	}
	testkit.EqualSlices(t, b.Support(1), []int{2}, "support")
}

// A table's frame is Rx(α)·Tx(a)·Rz(θ)·Tz(d), in any of its kinds.
func TestFromDH(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	rotate := func(axis [3]float64, θ float64) Pose { return Pose{R: rodrigues(axis, math.Cos(θ), math.Sin(θ))} }
	shift := func(x, z float64) Pose { p := Identity(); p.P = [3]float64{x, 0, z}; return p }
	ex, ez := [3]float64{1, 0, 0}, [3]float64{0, 0, 1}
	var rows []DH
	for i, kind := range []Kind{Revolute, Prismatic, Fixed, Continuous, Revolute} {
		row := DH{A: r.NormFloat64(), D: r.NormFloat64(), Alpha: r.NormFloat64(), Offset: r.NormFloat64(), Kind: kind}
		if i == 4 {
			row.Alpha, row.Offset = -math.Pi/2, 1.5*math.Pi
		}
		rows = append(rows, row)
	}
	a := testkit.Must(FromDH("test", rows))
	q := []float64{0.3, 0.7, -2, 1.1}
	x := make([]float64, a.Dim())
	a.Coordinates(x, q)
	k := a.NewKinematics()
	k.At(x)
	at, n := Identity(), 0
	for i, row := range rows {
		θ, δ := row.Offset, row.D
		switch {
		case row.Kind.Turning():
			θ += q[n]
			n++
		case row.Kind == Prismatic:
			δ += q[n]
			n++
		}
		at = at.Then(rotate(ex, row.Alpha)).Then(shift(row.A, 0)).Then(rotate(ez, θ)).Then(shift(0, δ))
		got := k.Pose(i)
		for e := range 9 {
			if math.Abs(got.R[e]-at.R[e]) > 1e-14 {
				t.Fatalf("row %d: R %v, want %v", i, got.R, at.R)
			}
		}
		near(t, "origin", got.P, at.P, 1e-14)
	}
	testkit.Equal(t, a.Joints[4].Origin.R, [9]float64{0, 1, 0, 0, 0, 1, 1, 0, 0}, "quarter turns")
	if l := a.Joints[0]; !math.IsInf(l.Lower, -1) || !math.IsInf(l.Upper, 1) || !math.IsInf(l.Velocity, 1) {
		t.Errorf("limits of a row that has none: %+v", l)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		change func(a *Arm)
		want   string
	}{
		{func(a *Arm) { a.Joints = a.Joints[7:] }, "no joint that moves"},
		{func(a *Arm) { a.Joints = make([]Joint, 257) }, "257 joints; expected at most 256"},
		{func(a *Arm) { a.Joints[2].Axis = [3]float64{0, 0, 2} }, "joint 2 (panda_joint3) has the axis [0 0 2]"},
		{func(a *Arm) { a.Joints[2].Axis[0] = math.NaN() }, "an axis that is not finite"},
		{func(a *Arm) { a.Joints[1].Origin.R[0] = -1 }, "no rotation"},
		{func(a *Arm) { a.Joints[1].Origin.R = [9]float64{-1, 0, 0, 0, 1, 0, 0, 0, 1} }, "no rotation"},
		{func(a *Arm) { a.Joints[1].Origin.P[2] = math.Inf(1) }, "an origin that is not finite"},
		{func(a *Arm) { a.Joints[0].Lower = 3 }, "limits from 3 to 2.8973"},
		{func(a *Arm) { a.Joints[0].Velocity = -1 }, "velocity limit -1"},
		{func(a *Arm) { a.Joints[0].Kind = 4 }, "kind 4"},
		{func(a *Arm) { a.Joints[3].Link = "panda_link2" }, `moves a second link "panda_link2"`},
		{func(a *Arm) { a.Joints[3].Link = a.Base }, `moves a second link "panda_link0"`},
		{func(a *Arm) { a.Joints[3].Name = "panda_joint1" }, "has the name of another"},
		{func(a *Arm) { a.Spheres = []Sphere{{Link: 8, Radius: 1}} }, "sphere 0 is on link 8"},
		{func(a *Arm) { a.Spheres = []Sphere{{Radius: 0}} }, "sphere 0 has centre"},
	} {
		a := Panda()
		c.change(a)
		testkit.Refused(t, a.Check(), c.want)
	}
}

// The reach is the sum of the Panda's offsets behind joint 1, by its data sheet; lengths in millimetres are doubted.
func TestDescribed(t *testing.T) {
	a := Panda()
	said, doubt := a.Described()
	testkit.Equal(t, said, "arm "+a.Name+": 7 joints turn, 0 slide; it reaches at most 0.986 m from its first joint")
	testkit.Equal(t, doubt, "")
	for j := range a.Joints {
		for k := range 3 {
			a.Joints[j].Origin.P[k] *= 1000
		}
	}
	if _, doubt = a.Described(); !strings.Contains(doubt, "reaches 986 m: expected lengths in metres") {
		t.Error(doubt)
	}
}

func TestLink(t *testing.T) {
	a := Panda()
	for name, want := range map[string]int{"panda_link0": -1, "panda_link1": 0, "panda_link8": 7} {
		if got, err := a.Link(name); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", name, got, err, want)
		}
	}
	testkit.Refused(t, testkit.Err(a.Link("hand")), `no link "hand"; the links of panda are panda_link0, panda_link1,`)
}

// The reference's sum of squares over ten steps, and its gradient, on and off the
// circles: there it reads the angles only, which Unit does.
func TestReferenceOffTheCircles(t *testing.T) {
	z := golden.Read(t, "robot10_ops.npz")
	a := Panda()
	k, y, jac, g := a.NewKinematics(), make([]float64, 14), make([]float64, 42), make([]float64, 14)
	for _, where := range []string{"on", "off"} {
		xs, want, wantGrad := z["x_"+where].AsFloat64(), z["h_"+where].AsFloat64(), z["jac_h_"+where].AsFloat64()
		h, grad := make([]float64, len(want)), make([]float64, len(wantGrad))
		for i := range h {
			for l := range 10 {
				at := 140*i + 14*l
				x := xs[at : at+14]
				a.Unit(y, x)
				k.At(y)
				p := k.Point(7, [3]float64{})
				pointJacobian(k, jac, 7, [3]float64{})
				clear(g)
				add := func(c int, target float64) {
					h[i] += (p[c] - target) * (p[c] - target)
					for j := range 14 {
						g[j] += 2 * (p[c] - target) * jac[14*c+j]
					}
				}
				add(2, 0.205)
				if l == 0 || l == 9 {
					add(0, 0.4)
					add(1, []float64{-0.5, 0.5}[l/9])
					add(2, 0.205)
				}
				unitTangent(a, grad[at:at+14], x, g)
				for j := range 7 {
					u := x[j]*x[j] + x[7+j]*x[7+j] - 1
					h[i] += u * u
					grad[at+j] += 4 * u * x[j]
					grad[at+7+j] += 4 * u * x[7+j]
				}
			}
		}
		golden.Near(t, "h_"+where, h, want)
		golden.Near(t, "jac_h_"+where, grad, wantGrad)
	}
}
