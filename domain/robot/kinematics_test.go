package robot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// random returns an arm of n joints with axes and origins in any direction, turning,
// sliding and fixed ones, a fixed one first and last.
func random(t testing.TB, r *rand.Rand, n int) *Arm {
	t.Helper()
	a := &Arm{Name: "random", Base: "base"}
	for i := range n {
		kind := []Kind{Revolute, Prismatic, Continuous, Fixed, Revolute}[(i+3)%5]
		if i == n-1 {
			kind = Fixed
		}
		axis := unit(r)
		switch i % 6 { // the axes that are a case of their own
		case 1:
			axis = [3]float64{0, 0, 1}
		case 2:
			axis = [3]float64{0, 0, -1}
		case 4:
			axis = [3]float64{1e-9, 0, -math.Sqrt(1 - 1e-18)}
		}
		a.Joints = append(a.Joints, Joint{
			Name: fmt.Sprint("j", i), Link: fmt.Sprint("l", i), Kind: kind, Axis: axis,
			Origin: Pose{R: rodrigues(unit(r), math.Cos(2), math.Sin(2)), P: gauss(r)},
			Lower:  -1, Upper: 1, Velocity: 1,
		})
	}
	testkit.OK(t, a.Check())
	return a
}

func gauss(r *rand.Rand) [3]float64 {
	return [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
}

func unit(r *rand.Rand) [3]float64 {
	v := gauss(r)
	l := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	return [3]float64{v[0] / l, v[1] / l, v[2] / l}
}

// rodrigues returns I + sK + (1−c)K² as it stands.
func rodrigues(a [3]float64, c, s float64) [9]float64 {
	k := Pose{R: [9]float64{0, -a[2], a[1], a[2], 0, -a[0], -a[1], a[0], 0}}
	kk := k.Then(Pose{R: k.R})
	out := Identity().R
	for i := range out {
		out[i] += s*k.R[i] + (1-c)*kk.R[i]
	}
	return out
}

// plain returns the poses of all links by products of poses, joint by joint.
func plain(a *Arm, x []float64) []Pose {
	var out []Pose
	at := Identity()
	for i, j := range a.Joints {
		at = at.Then(j.Origin)
		switch c, s := a.Columns(i); {
		case j.Kind.Turning():
			at = at.Then(Pose{R: rodrigues(j.Axis, x[c], x[s])})
		case j.Kind == Prismatic:
			shift := Identity()
			for l := range 3 {
				shift.P[l] = x[c] * j.Axis[l]
			}
			at = at.Then(shift)
		}
		out = append(out, at)
	}
	return out
}

func point(r *rand.Rand, d int) []float64 { // off the circles
	x := make([]float64, d)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// Poses of arms with any axes, off the circles too, are those of Rodrigues' form.
func TestPoses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 3; n < 14; n++ {
		a := random(t, r, n)
		k := a.NewKinematics()
		x := point(r, a.Dim())
		k.At(x)
		for l, want := range plain(a, x) {
			local, scale := gauss(r), 0.0
			for _, v := range want.R {
				scale = max(scale, math.Abs(v))
			}
			got := k.Pose(l)
			for i := range 9 {
				if math.Abs(got.R[i]-want.R[i]) > 1e-13*scale {
					t.Fatalf("n=%d link %d R[%d]: %g, want %g", n, l, i, got.R[i], want.R[i])
				}
			}
			near(t, "point", k.Point(l, local), want.Apply(local), 1e-12*(1+scale))
			near(t, "direction", k.Direction(l, local), want.Rotate(local), 1e-12*(1+scale))
		}
		near(t, "base", k.Point(-1, [3]float64{1, 2, 3}), [3]float64{1, 2, 3}, 0)
	}
}

func near(t *testing.T, what string, got, want [3]float64, tol float64) {
	t.Helper()
	for i := range 3 {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

// what is a point or a vector of a link, with its derivatives.
type what struct {
	name     string
	value    func(k *Kinematics, link int, local [3]float64) [3]float64
	jacobian func(k *Kinematics, jac []float64, link int, local [3]float64)
	hessian  func(k *Kinematics, dst []float64, link int, local [3]float64)
}

var whats = []what{
	{"point", (*Kinematics).Point, pointJacobian, (*Kinematics).PointHessian},
	{"direction", (*Kinematics).Direction, (*Kinematics).DirectionJacobian, (*Kinematics).DirectionHessian},
}

func pointJacobian(k *Kinematics, jac []float64, link int, local [3]float64) {
	m := k.mount(link)
	clear(jac)
	k.jacobian(jac, m.frame, m.point(local), 1)
}

// Poses are of degree one in each coordinate, so differences over any step are the derivatives, to rounding.
func TestJacobianExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 3; n < 12; n++ {
		a := random(t, r, n)
		k, d := a.NewKinematics(), a.Dim()
		x := point(r, d)
		jac := make([]float64, 3*d)
		for link := -1; link < n; link++ {
			local := gauss(r)
			for _, w := range whats {
				for i := range jac {
					jac[i] = math.NaN()
				}
				k.At(x)
				w.jacobian(k, jac, link, local)
				for c := range d {
					y := append([]float64(nil), x...)
					y[c] += 1
					k.At(y)
					up := w.value(k, link, local)
					y[c] -= 2
					k.At(y)
					down := w.value(k, link, local)
					for i := range 3 {
						want := (up[i] - down[i]) / 2
						size := 1 + math.Abs(up[i]) + math.Abs(down[i])
						if got := jac[i*d+c]; !(math.Abs(got-want) <= 1e-12*size) {
							t.Fatalf("n=%d %s of link %d: ∂%d/∂x%d = %g, want %g", n, w.name, link, i, c, got, want)
						}
					}
				}
			}
		}
	}
}

// The error of the first-order expansion falls with the square of the step, and that of
// the second-order one, with the Hessian's product, with the cube.
func TestSlopes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a := random(t, r, 11)
	k, d, n := a.NewKinematics(), a.Dim(), len(a.Joints)
	x, v := point(r, d), point(r, d)
	jac, hess := make([]float64, 3*d), make([]float64, 3*d)
	for _, w := range whats {
		k.At(x)
		k.Along(v)
		local := gauss(r)
		p := w.value(k, n-1, local)
		w.jacobian(k, jac, n-1, local)
		for i := range hess {
			hess[i] = math.NaN()
		}
		w.hessian(k, hess, n-1, local)
		var first, second []float64
		for _, ε := range []float64{1e-1, 1e-2, 1e-3} {
			y := make([]float64, d)
			for i := range y {
				y[i] = x[i] + ε*v[i]
			}
			k.At(y)
			q := w.value(k, n-1, local)
			e1, e2 := 0.0, 0.0
			for i := range 3 {
				lin, quad := 0.0, 0.0
				for c := range d {
					lin += jac[i*d+c] * v[c]
					quad += hess[i*d+c] * v[c]
				}
				e1 = math.Hypot(e1, q[i]-p[i]-ε*lin)
				e2 = math.Hypot(e2, q[i]-p[i]-ε*lin-ε*ε*quad/2)
			}
			first, second = append(first, e1), append(second, e2)
		}
		slope(t, w.name+" first", first, 2)
		slope(t, w.name+" second", second, 3)
	}
}

func slope(t *testing.T, what string, e []float64, want float64) {
	t.Helper()
	for i := range e[1:] {
		got := math.Log10(e[i] / e[i+1])
		// The last pair is near enough to the limit.
		if i == len(e)-2 && math.Abs(got-want) > 0.1 {
			t.Errorf("%s: errors %.3g fall with power %.3f, want %g", what, e, got, want)
		}
	}
}

// Jacobians too are of degree one in each coordinate: their differences over any step
// are the columns of the Hessian, and with v the sum of all of them its product.
func TestHessianExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := 3; n < 11; n++ {
		a := random(t, r, n)
		k, d := a.NewKinematics(), a.Dim()
		x, v := point(r, d), point(r, d)
		up, down, got := make([]float64, 3*d), make([]float64, 3*d), make([]float64, 3*d)
		for link := -1; link < n; link++ {
			local := gauss(r)
			for _, w := range whats {
				want, size := make([]float64, 3*d), 1.0
				for c := range d {
					y := append([]float64(nil), x...)
					y[c] += 1
					k.At(y)
					w.jacobian(k, up, link, local)
					y[c] -= 2
					k.At(y)
					w.jacobian(k, down, link, local)
					for i := range want {
						want[i] += v[c] * (up[i] - down[i]) / 2
						size += math.Abs(v[c] * up[i])
					}
				}
				k.At(x)
				k.Along(v)
				w.hessian(k, got, link, local)
				for i := range want {
					if !(math.Abs(got[i]-want[i]) <= 1e-13*size) {
						t.Fatalf("n=%d %s of link %d, element %d: %g, want %g", n, w.name, link, i, got[i], want[i])
					}
				}
			}
		}
	}
}

// The batch form is the single one, and writes nothing outside the support.
func TestTracked(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	a := random(t, r, 12)
	k, d := a.NewKinematics(), a.Dim()
	var points []Point
	for l := -1; l < 12; l++ {
		points = append(points, Point{l, gauss(r)}, Point{l, [3]float64{}})
	}
	k.Track(points)
	for range 2 {
		k.At(point(r, d))
		n := len(points)
		p, jac, one := make([]float64, 3*n), make([]float64, 3*n*d), make([]float64, 3*d)
		for i := range jac {
			jac[i] = math.NaN()
		}
		k.Points(p)
		k.PointsJacobian(jac)
		for i, q := range points {
			near(t, "point", [3]float64(p[3*i:]), k.Point(q.Link, q.Local), 0)
			pointJacobian(k, one, q.Link, q.Local)
			on := make([]bool, d)
			for _, c := range a.Support(q.Link) {
				on[c] = true
			}
			for c := range 3 * d {
				switch got := jac[3*d*i+c]; {
				case !on[c%d] && (!math.IsNaN(got) || one[c] != 0):
					t.Fatalf("point %d: column %d outside the support is %g, and %g alone", i, c%d, got, one[c])
				case on[c%d] && got != one[c]:
					t.Fatalf("point %d, element %d: %g, want %g", i, c, got, one[c])
				}
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	a := Panda()
	k, d := a.NewKinematics(), a.Dim()
	x, q, p, jac := make([]float64, d), make([]float64, 7), make([]float64, 24), make([]float64, 24*d)
	k.Track(links(a))
	got := testing.AllocsPerRun(10, func() {
		a.Coordinates(x, q)
		a.Angles(q, x)
		k.At(x)
		k.Along(x)
		k.Points(p)
		k.PointsJacobian(jac)
		k.PointHessian(jac, 7, [3]float64{1, 2, 3})
		k.DirectionHessian(jac, 7, [3]float64{1, 2, 3})
		k.DirectionJacobian(jac, 7, [3]float64{1, 2, 3})
		k.Pose(6)
	})
	testkit.Equal(t, got, 0)
}

// links returns the origins of all links.
func links(a *Arm) (out []Point) {
	for l := range a.Joints {
		out = append(out, Point{Link: l})
	}
	return out
}
