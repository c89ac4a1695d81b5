package scene_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

type vec = [3]float64

func sub(a, b vec) vec                 { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func axpy(a vec, s float64, b vec) vec { return vec{a[0] + s*b[0], a[1] + s*b[1], a[2] + s*b[2]} }
func norm(a vec) float64               { return math.Sqrt(dense.Dot(a[:], a[:])) }

// numbers returns n normal numbers of a test.
func numbers(n int, sample uint64) []float64 {
	out := make([]float64, n)
	keyed.SuiteProbe.Stream(11, 0).Normals(out, sample, 0)
	return out
}

func point(sample uint64, scale float64) vec {
	v := numbers(3, sample)
	return vec{scale * v[0], scale * v[1], scale * v[2]}
}

// turn returns a rotation from four normal numbers.
func turn(q []float64) [9]float64 {
	l := math.Sqrt(dense.Dot(q, q))
	w, x, y, z := q[0]/l, q[1]/l, q[2]/l, q[3]/l
	return [9]float64{
		1 - 2*(y*y+z*z), 2 * (x*y - w*z), 2 * (x*z + w*y),
		2 * (x*y + w*z), 1 - 2*(x*x+z*z), 2 * (y*z - w*x),
		2 * (x*z - w*y), 2 * (y*z + w*x), 1 - 2*(x*x+y*y),
	}
}

func obstacles() []scene.Obstacle {
	r := turn(numbers(4, 1))
	return []scene.Obstacle{
		{Name: "ball", A: vec{0.1, -0.2, 0.3}, Radius: 0.4},
		{Name: "capsule", Shape: scene.Capsule, A: vec{0.1, -0.2, 0.3}, B: vec{0.5, 0.2, -0.4}, Radius: 0.2},
		{Name: "short capsule", Shape: scene.Capsule, A: vec{0.1, 0, 0}, B: vec{0.1, 0, 0}, Radius: 0.2},
		{Name: "box", Shape: scene.Box, A: vec{0.1, -0.2, 0.3}, Half: vec{0.3, 0.2, 0.6}},
		{Name: "turned box", Shape: scene.Box, A: vec{-0.1, 0.2, 0.1}, Half: vec{0.5, 0.2, 0.3}, R: r},
		{Name: "round box", Shape: scene.Box, A: vec{0.1, -0.2, 0.3}, Half: vec{0.3, 0.2, 0.6}, R: r, Radius: 0.1},
		{Name: "cylinder", Shape: scene.Cylinder, A: vec{0.1, -0.2, 0.3}, Half: vec{0.3, 0.3, 0.5}, R: r},
		{Name: "round cylinder", Shape: scene.Cylinder, A: vec{0.1, 0.2, 0.3}, Half: vec{0.4, 0.4, 0.1}, Radius: 0.1},
	}
}

// A cloud is the nearest of its balls, and on a chord the one that comes nearest; what the least distance on a chord
// changes by, of any shape, are its differences.
func TestChords(t *testing.T) {
	var at []vec
	for i := range uint64(300) {
		at = append(at, point(100+i, 0.6))
	}
	cloud := scene.Obstacle{Shape: scene.Cloud, Points: scene.NewPoints(at), Radius: 0.05}
	testkit.OK(t, cloud.Check())
	kinks := 0
	for sample := range uint64(400) {
		a, b := point(3*sample+1000, 0.9), point(3*sample+1001, 0.9)
		least, of := math.Inf(1), 0
		for i, p := range at {
			ball := scene.Obstacle{A: p, Radius: 0.05}
			if φ, _, _ := ball.Chord(a, b); φ < least {
				least, of = φ, i
			}
		}
		ball := scene.Obstacle{A: at[of], Radius: 0.05}
		φ, _, n := cloud.Chord(a, b)
		_, _, m := ball.Chord(a, b)
		if testkit.Near(t, φ, least, 1e-15, "chord of a cloud"); n != m {
			t.Errorf("sample %d: gradients %v and %v", sample, n, m)
		}
		for _, o := range append(obstacles(), cloud) {
			φ, s, n := o.Chord(a, b)
			testkit.Near(t, o.ChordDistance(a, b), φ, 1e-15, o.Name)
			for k := range 101 {
				if on := o.Distance(axpy(a, float64(k)/100, sub(b, a))); on < φ-1e-12 {
					t.Errorf("%s: %v on a chord, at least %v", o.Name, on, φ)
				}
			}
			const h = 1e-5
			da, db := point(3*sample+1002, 1), point(sample+9000, 1)
			up, s1, n1 := o.Chord(axpy(a, h, da), axpy(b, h, db))
			down, s0, n0 := o.Chord(axpy(a, -h, da), axpy(b, -h, db))
			way := axpy(da, s, sub(db, da))
			if math.Abs(up+down-2*φ) > 1e3*h*h || norm(sub(n1, n0)) > 100*h || math.Abs(s1-s0) > 100*h {
				kinks++ // where sides meet
				continue
			}
			testkit.Near(t, (up-down)/(2*h), dense.Dot(n[:], way[:]), 1e-3, "%s: slope", o.Name)
			if φ < 0 {
				continue // where ∇φ jumps within
			}
			ga, gb := o.ChordChange(a, b, da, db, s, n)
			for k := range 3 {
				wa, wb := ((1-s1)*n1[k]-(1-s0)*n0[k])/(2*h), (s1*n1[k]-s0*n0[k])/(2*h)
				if math.Abs(wa-ga[k])+math.Abs(wb-gb[k]) > 1e-2*(1+norm(ga)+norm(gb)) && s > 0 && s < 1 {
					t.Errorf("%s: change %v and %v of %d, want %v and %v", o.Name, ga[k], gb[k], k, wa, wb)
				}
			}
		}
	}
	if kinks > 900 {
		t.Errorf("%d of 3600 chords were not looked at", kinks)
	}
}

// inside reports whether p is in the body, by its definition alone: within Radius of one
// of many points of the segment or the box, found by a search that knows no projection.
func skeleton(o *scene.Obstacle, p vec) float64 {
	span := func(s [3]float64) vec {
		switch o.Shape {
		case scene.Ball:
			return o.A
		case scene.Capsule:
			return axpy(o.A, (s[0]+1)/2, sub(o.B, o.A))
		}
		r := o.R
		if r == ([9]float64{}) {
			r = [9]float64{0: 1, 4: 1, 8: 1}
		}
		var v vec
		for i := range 3 {
			v[i] = o.A[i] + r[3*i]*s[0]*o.Half[0] + r[3*i+1]*s[1]*o.Half[1] + r[3*i+2]*s[2]*o.Half[2]
		}
		return v
	}
	if o.Shape == scene.Cylinder { // back to the disc, and to the ends
		z := vec{o.R[2], o.R[5], o.R[8]}
		if o.R == ([9]float64{}) {
			z = vec{0, 0, 1}
		}
		q := sub(p, o.A)
		h := dense.Dot(q[:], z[:])
		out := axpy(q, -h, z)
		return math.Hypot(max(norm(out)-o.Half[0], 0), max(math.Abs(h)-o.Half[2], 0))
	}
	best, s := math.Inf(1), [3]float64{}
	for step := 0.5; step > 1e-9; { // a pattern search; the distance is convex in s
		better := false
		for i := range 27 {
			t := s
			for k, at := range [3]int{i % 3, i / 3 % 3, i / 9} {
				t[k] = min(max(t[k]+float64(at-1)*step, -1), 1)
			}
			if d := norm(sub(p, span(t))); d < best-1e-15 {
				best, s, better = d, t, true
			}
		}
		if !better {
			step /= 2
		}
	}
	return best
}

// φ is the distance from the body: a search over the body finds no other.
func TestDistanceOutside(t *testing.T) {
	for _, o := range obstacles() {
		outside := 0
		for i := range uint64(100) {
			p := point(100+i, 0.8)
			want := skeleton(&o, p)
			got := o.Distance(p) + o.Radius
			if want < 1e-6 { // inside a box: how deep is another test
				if got > 1e-6 {
					t.Errorf("%s at %v: %v inside the body", o.Name, p, got)
				}
				continue
			}
			outside++
			testkit.Near(t, got, want, 1e-7, "%s at %v: distance", o.Name, p)
		}
		if outside < 20 {
			t.Errorf("%s: only %d points outside", o.Name, outside)
		}
	}
}

// Inside a box −φ is the least way out: a shift by less in any direction stays inside, and one along ∇φ leaves.
func TestDepth(t *testing.T) {
	for _, o := range obstacles()[3:5] {
		seen := 0
		for i := range uint64(2000) {
			p := axpy(o.A, 1, point(3000+i, 0.3))
			φ, n := o.At(p)
			if φ >= 0 {
				continue
			}
			seen++
			if out := axpy(p, -φ*(1+1e-9)+1e-12, n); o.Distance(out) < 0 {
				t.Errorf("%s: %v is %v deep, and still inside at %v", o.Name, p, φ, out)
			}
			for k := range uint64(20) {
				u := point(9000+20*i+k, 1)
				if in := axpy(p, -φ*(1-1e-9)/norm(u), u); o.Distance(in) > 0 {
					t.Errorf("%s: %v is %v deep, and outside at %v", o.Name, p, φ, in)
				}
			}
		}
		if seen < 100 {
			t.Errorf("%s: only %d points inside", o.Name, seen)
		}
	}
}

// What the swept bound rests on: φ(q) ≥ φ(p) + ∇φ(p)·(q − p) for all p and q, corners
// and depths included, and |φ(q) − φ(p)| ≤ |q − p|.
func TestConvexAndLipschitz(t *testing.T) {
	for _, o := range obstacles() {
		corners := []vec{o.A, o.B, axpy(o.A, 0.5, sub(o.B, o.A))}
		for i := range uint64(3000) {
			p, q := point(20000+2*i, 0.6), point(20001+2*i, 0.6)
			if i%10 == 0 {
				p = corners[i/10%3]
			}
			φ, n := o.At(p)
			if φ != o.Distance(p) && math.Abs(φ-o.Distance(p)) > 1e-15 {
				t.Fatalf("%s at %v: At says %v, Distance %v", o.Name, p, φ, o.Distance(p))
			}
			if math.Abs(norm(n)-1) > 1e-14 {
				t.Fatalf("%s at %v: |∇φ| = %v", o.Name, p, norm(n))
			}
			d := sub(q, p)
			if at := o.Distance(q); at < φ+dense.Dot(n[:], d[:])-1e-14 {
				t.Fatalf("%s: φ(%v) = %v is below the tangent at %v", o.Name, q, at, p)
			} else if math.Abs(at-φ) > norm(d)+1e-14 {
				t.Fatalf("%s: φ changes by %v over %v", o.Name, at-φ, norm(d))
			}
		}
	}
}

// Derivatives by central differences: the error falls as the square of the step, where no seam is near.
func TestDerivatives(t *testing.T) {
	for _, o := range obstacles() {
		tried := 0
		for i := range uint64(200) {
			p, v := point(40000+i, 0.7), point(50000+i, 1)
			v = axpy(vec{}, 1/norm(v), v)
			if seam(&o, p) < 0.05 {
				continue
			}
			tried++
			_, n := o.At(p)
			h := o.HessianVector(p, v)
			for _, step := range []float64{1e-2, 1e-3, 1e-4} {
				φ1, n1 := o.At(axpy(p, step, v))
				φ0, n0 := o.At(axpy(p, -step, v))
				// third derivatives of 1/ρ² with ρ ≥ 0.05
				tol := 1e4*step*step + 1e-10
				if d := (φ1 - φ0) / (2 * step); math.Abs(d-dense.Dot(n[:], v[:])) > tol/20 {
					t.Errorf("%s at %v: ∂φ/∂v = %v, differences of %v say %v", o.Name, p, dense.Dot(n[:], v[:]), step,
						d)
				}
				d := axpy(vec{}, 1/(2*step), sub(n1, n0))
				if norm(sub(d, h)) > tol {
					t.Errorf("%s at %v: ∇²φ v = %v, differences of %v say %v", o.Name, p, h, step, d)
				}
			}
		}
		if tried < 50 {
			t.Errorf("%s: only %d points away from seams", o.Name, tried)
		}
	}
}

// seam returns how far p is from where second derivatives jump.
func seam(o *scene.Obstacle, p vec) float64 {
	switch d := sub(o.B, o.A); o.Shape {
	case scene.Ball:
		return norm(sub(p, o.A))
	case scene.Capsule:
		from := sub(p, o.A)
		l := norm(d)
		if l == 0 {
			return norm(from)
		}
		s := dense.Dot(from[:], d[:]) / l
		near := axpy(o.A, min(max(s/l, 0), 1), d)
		return min(math.Abs(s), math.Abs(s-l), norm(sub(p, near)))
	}
	r := o.R
	if r == ([9]float64{}) {
		r = [9]float64{0: 1, 4: 1, 8: 1}
	}
	from := sub(p, o.A)
	least := math.Inf(1)
	var w vec
	for i := range 3 {
		q := r[i]*from[0] + r[3+i]*from[1] + r[6+i]*from[2]
		w[i] = math.Abs(q) - o.Half[i]
		least = min(least, math.Abs(w[i]), math.Abs(q))
	}
	for i := range 3 {
		if w[i] < 0 && w[(i+1)%3] < 0 {
			least = min(least, math.Abs(w[i]-w[(i+1)%3])/2)
		}
	}
	return least
}

// On and beside every corner: finite, unit gradients, the same at every call.
func TestCorners(t *testing.T) {
	for _, o := range obstacles() {
		r := o.R
		if r == ([9]float64{}) {
			r = [9]float64{0: 1, 4: 1, 8: 1}
		}
		at := []vec{o.A, o.B, axpy(o.A, 0.5, sub(o.B, o.A))}
		for i := range 27 {
			s := vec{float64(i%3 - 1), float64(i/3%3 - 1), float64(i/9 - 1)}
			p := o.A
			for k := range 3 {
				for j := range 3 {
					p[k] += r[3*k+j] * s[j] * o.Half[j]
				}
			}
			at = append(at, p)
		}
		for _, p := range at {
			for _, near := range []float64{0, math.Copysign(0, -1), 1e-320, -1e-320, 1e-200, 1e-155, 1e-16, 1e-12,
				-1e-9} {
				q := axpy(p, near, vec{1, -1, 0.5})
				φ, n := o.At(q)
				h := o.HessianVector(q, vec{1, 2, 3})
				if math.IsNaN(φ) || math.IsNaN(h[0]+h[1]+h[2]) || math.IsInf(h[0]+h[1]+h[2], 0) ||
					!(math.Abs(norm(n)-1) < 1e-14) {
					t.Errorf("%s at %v: φ = %v, ∇φ = %v, ∇²φ v = %v", o.Name, q, φ, n, h)
				}
			}
		}
	}
	ball := scene.Obstacle{Radius: 0.5}
	if φ, n := ball.At(vec{}); φ != -0.5 || n != (vec{0, 0, 1}) {
		t.Errorf("at the centre of a sphere: %v, %v", φ, n)
	}
	for length, want := range map[float64]vec{1e-9: {0, 1, 0}, math.Nextafter(1e-9, 0): {0, 0, 1}} {
		pill := scene.Obstacle{Shape: scene.Capsule, B: vec{length, 0, 0}, Radius: 0.5}
		if _, n := pill.At(vec{}); n != want {
			t.Errorf("on the axis of a capsule that is %v long: %v, want %v", length, n, want)
		}
	}
}

func TestObstacleFaults(t *testing.T) {
	for _, c := range []struct {
		o    scene.Obstacle
		want string
	}{
		{scene.Obstacle{}, "radius 0"},
		{scene.Obstacle{Radius: -1}, "radius -1"},
		{scene.Obstacle{Radius: math.NaN()}, "not finite"},
		{scene.Obstacle{Radius: 1, A: vec{0, math.Inf(1), 0}}, "not finite"},
		{scene.Obstacle{Shape: 7, Radius: 1}, "no known shape"},
		{scene.Obstacle{Shape: scene.Box, Half: vec{1, 0, 1}}, "half sides"},
		{scene.Obstacle{Shape: scene.Box, Half: vec{1, 1, 1}, Radius: -0.1}, "radius -0.1"},
		{scene.Obstacle{Shape: scene.Box, Half: vec{1, 1, 1}, R: [9]float64{0: 1, 4: 1, 8: -1}}, "no rotation"},
		{scene.Obstacle{Radius: 1e9}, "metres"},
	} {
		testkit.Refused(t, c.o.Check(), c.want)
	}
	for _, o := range obstacles() {
		if err := o.Check(); err != nil {
			t.Error(err)
		}
	}
}
