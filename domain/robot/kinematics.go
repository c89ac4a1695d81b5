package robot

import (
	"fmt"
	"math"
)

// A Kinematics says where the links of an arm are at one configuration, with derivatives by its coordinates. It is the
// scratch of one goroutine; its methods allocate nothing.
//
// Fixed joints and the directions of axes are absorbed when it is made: each moving
// joint m is a constant transform (F, f) and then a turn about z, or a shift along it,
//
//	E_m = R_{m−1} F_m    p_m = p_{m−1} + R_{m−1} f_m (+ δ e₃)    R_m = E_m Z(c, s)
//
// with e₁, e₂, e₃ the columns of E_m and Z = (c −s 0; s c 0; 0 0 1). A point at u in
// frame m, the part of the chain behind joint m already done, has
//
//	∂p/∂c_m = e₁ u_x + e₂ u_y    ∂p/∂s_m = e₂ u_x − e₁ u_y    ∂p/∂δ_m = e₃
//
// and lies at u' = F_m (Z u + δ e_z) + f_m in frame m−1. So a point costs a pass over
// its joints from its link to the base.
type Kinematics struct {
	arm     *Arm
	dim     int
	moves   []move
	frames  []frame // at the last configuration; frame 0 is the base, frame m+1 behind move m
	rates   []frame // their derivatives along v, but of origins, which no Hessian needs
	mounts  []mount // of each link; of the base last
	tracked []tracked
	full    *full // scratch of arms with joints that follow others; nil of others
}

type vec struct{ x, y, z float64 }

// columns of a 3×3 matrix.
type columns struct{ x, y, z vec }

// A move is a joint that moves: the constant transform before it, and where its coordinates are.
type move struct {
	f      columns
	shift  vec
	slides bool
	c, s   int // columns of x; of a sliding joint c only
}

// A frame is e₁, e₂, e₃ before the joint's turn, e₁ and e₂ after it, and the origin.
type frame struct {
	before columns
	x, y   vec // columns of R_m; the third is before.z
	p      vec
	c, s   float64 // the joint's pair, or its displacement in c
}

// A mount is the pose of a link in a frame.
type mount struct {
	frame int // 0: the base
	r     columns
	p     vec
}

// A tracked point, in its frame.
type tracked struct {
	frame int
	u     vec
}

// A Point is fixed to a link.
type Point struct {
	Link  int
	Local [3]float64 // in the link's frame
}

// NewKinematics returns scratch for the arm, which must not change afterwards and must pass Check.
func (a *Arm) NewKinematics() *Kinematics {
	if err := a.Check(); err != nil {
		panic("robot: " + err.Error())
	}
	k := &Kinematics{arm: a, dim: a.Dim()}
	since := Identity() // from the last frame to the link before
	for i := range a.Joints {
		j := &a.Joints[i]
		since = since.Then(j.Origin)
		if j.Kind != Fixed {
			turn := toAxis(j.Axis)
			f := since.Then(Pose{R: turn})
			c, s := a.Columns(i)
			if j.Follow != nil {
				c, s = k.follows(j)
			}
			k.moves = append(k.moves, move{f: split(f.R), shift: vector(f.P), slides: j.Kind == Prismatic, c: c, s: s})
			since = Pose{R: transposed(turn)}
		}
		k.mounts = append(k.mounts, mount{len(k.moves), split(since.R), vector(since.P)})
	}
	k.mounts = append(k.mounts, mount{0, split(Identity().R), vec{}})
	k.frames, k.rates = make([]frame, len(k.moves)+1), make([]frame, len(k.moves)+1)
	base := split(Identity().R)
	k.frames[0] = frame{before: base, x: base.x, y: base.y}
	x := make([]float64, k.dim)
	a.Coordinates(x, make([]float64, a.Moving()))
	k.At(x)
	return k
}

// toAxis returns the least rotation that carries z to the axis; the identity and the half turn about x exactly for ±z.
func toAxis(axis [3]float64) [9]float64 {
	l := math.Hypot(math.Hypot(axis[0], axis[1]), axis[2])
	x, y, z := axis[0]/l, axis[1]/l, axis[2]/l
	if x == 0 && y == 0 {
		return [9]float64{1, 0, 0, 0, math.Copysign(1, z), 0, 0, 0, math.Copysign(1, z)}
	}
	if z < 0 { // by way of −z, where 1 + z would lose digits
		w := 1 / (1 - z)
		return [9]float64{1 - w*x*x, w * x * y, x, -w * x * y, -1 + w*y*y, y, x, -y, z}
	}
	w := 1 / (1 + z)
	return [9]float64{1 - w*x*x, -w * x * y, x, -w * x * y, 1 - w*y*y, y, -x, -y, z}
}

func transposed(r [9]float64) [9]float64 {
	return [9]float64{r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]}
}

func vector(v [3]float64) vec { return vec{v[0], v[1], v[2]} }

func split(r [9]float64) columns {
	return columns{vec{r[0], r[3], r[6]}, vec{r[1], r[4], r[7]}, vec{r[2], r[5], r[8]}}
}

// of returns x·u.x + y·u.y + z·u.z.
func of(x, y, z, u vec) vec {
	return vec{x.x*u.x + y.x*u.y + z.x*u.z, x.y*u.x + y.y*u.y + z.y*u.z, x.z*u.x + y.z*u.y + z.z*u.z}
}

// pair returns a·x + b·y.
func pair(a float64, x vec, b float64, y vec) vec {
	return vec{a*x.x + b*y.x, a*x.y + b*y.y, a*x.z + b*y.z}
}

func plus(a, b vec) vec { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }

// At places all links at the configuration x, of D numbers.
func (k *Kinematics) At(x []float64) {
	if len(x) != k.dim {
		panic(fmt.Sprintf("robot: a configuration of %d numbers, expected %d", len(x), k.dim))
	}
	if k.full != nil {
		x = k.full.carry(k.full.x, x, 1)
	}
	for m := range k.moves {
		j, last, f := &k.moves[m], &k.frames[m], &k.frames[m+1]
		f.before.x = of(last.x, last.y, last.before.z, j.f.x)
		f.before.y = of(last.x, last.y, last.before.z, j.f.y)
		f.before.z = of(last.x, last.y, last.before.z, j.f.z)
		f.p = plus(last.p, of(last.x, last.y, last.before.z, j.shift))
		c := x[j.c]
		f.c = c
		if j.slides {
			f.p = plus(f.p, vec{c * f.before.z.x, c * f.before.z.y, c * f.before.z.z})
			f.x, f.y = f.before.x, f.before.y
			continue
		}
		s := x[j.s]
		f.s = s
		f.x = pair(c, f.before.x, s, f.before.y)
		f.y = pair(-s, f.before.x, c, f.before.y)
	}
}

// Along takes the derivatives of all links along v, of D numbers, at the configuration
// of At; PointHessian and DirectionHessian are along this v.
func (k *Kinematics) Along(v []float64) {
	if len(v) != k.dim {
		panic(fmt.Sprintf("robot: a tangent of %d numbers, expected %d", len(v), k.dim))
	}
	if k.full != nil {
		v = k.full.carry(k.full.v, v, 0)
	}
	for m := range k.moves {
		j, f := &k.moves[m], &k.frames[m+1]
		last, d := &k.rates[m], &k.rates[m+1]
		d.before.x = of(last.x, last.y, last.before.z, j.f.x)
		d.before.y = of(last.x, last.y, last.before.z, j.f.y)
		d.before.z = of(last.x, last.y, last.before.z, j.f.z)
		d.c = v[j.c]
		if j.slides {
			d.x, d.y = d.before.x, d.before.y
			continue
		}
		d.s = v[j.s]
		d.x = plus(pair(d.c, f.before.x, d.s, f.before.y), pair(f.c, d.before.x, f.s, d.before.y))
		d.y = plus(pair(-d.s, f.before.x, d.c, f.before.y), pair(-f.s, d.before.x, f.c, d.before.y))
	}
}

// mount returns the pose of a link in its frame; link −1 is the base.
func (k *Kinematics) mount(link int) *mount {
	if link < -1 || link >= len(k.mounts)-1 {
		panic(fmt.Sprintf("robot: link %d of %d", link, len(k.mounts)-1))
	}
	if link < 0 {
		link = len(k.mounts) - 1
	}
	return &k.mounts[link]
}

// Pose returns the pose of a link in the base.
func (k *Kinematics) Pose(link int) Pose {
	m := k.mount(link)
	f := &k.frames[m.frame]
	x := of(f.x, f.y, f.before.z, m.r.x)
	y := of(f.x, f.y, f.before.z, m.r.y)
	z := of(f.x, f.y, f.before.z, m.r.z)
	p := plus(f.p, of(f.x, f.y, f.before.z, m.p))
	return Pose{R: [9]float64{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}, P: [3]float64{p.x, p.y, p.z}}
}

// Point returns where a point of a link is, in the base.
func (k *Kinematics) Point(link int, local [3]float64) [3]float64 {
	m := k.mount(link)
	f := &k.frames[m.frame]
	p := plus(f.p, of(f.x, f.y, f.before.z, m.point(local)))
	return [3]float64{p.x, p.y, p.z}
}

// Direction returns a vector of a link, turned into the base.
func (k *Kinematics) Direction(link int, local [3]float64) [3]float64 {
	m := k.mount(link)
	f := &k.frames[m.frame]
	p := of(f.x, f.y, f.before.z, m.direction(local))
	return [3]float64{p.x, p.y, p.z}
}

func (m *mount) direction(local [3]float64) vec { return of(m.r.x, m.r.y, m.r.z, vector(local)) }
func (m *mount) point(local [3]float64) vec     { return plus(m.p, m.direction(local)) }

// DirectionJacobian writes the derivatives of a vector of a link into jac, 3×D.
func (k *Kinematics) DirectionJacobian(jac []float64, link int, local [3]float64) {
	m := k.mount(link)
	clear(jac[:3*k.dim])
	k.jacobian(jac, m.frame, m.direction(local), 0)
}

// jacobian writes the derivatives of what is at u in a frame, by the joints up to it
// only: a point (w = 1) or a vector (w = 0).
func (k *Kinematics) jacobian(jac []float64, at int, u vec, w float64) {
	if k.full == nil {
		k.slope(jac, k.dim, at, u, w)
		return
	}
	clear(k.full.jac)
	k.slope(k.full.jac, len(k.full.x), at, u, w)
	k.full.fold(jac, k.dim)
}

// slope is jacobian by d coordinates, of all joints.
func (k *Kinematics) slope(jac []float64, d, at int, u vec, w float64) {
	r0, r1, r2 := jac[:d], jac[d:2*d], jac[2*d:3*d]
	for m := at - 1; m >= 0; m-- {
		j, f := &k.moves[m], &k.frames[m+1]
		e1, e2 := f.before.x, f.before.y
		if j.slides {
			e3 := f.before.z
			r0[j.c], r1[j.c], r2[j.c] = w*e3.x, w*e3.y, w*e3.z
			u.z += w * f.c
		} else {
			r0[j.c] = e1.x*u.x + e2.x*u.y
			r1[j.c] = e1.y*u.x + e2.y*u.y
			r2[j.c] = e1.z*u.x + e2.z*u.y
			r0[j.s] = e2.x*u.x - e1.x*u.y
			r1[j.s] = e2.y*u.x - e1.y*u.y
			r2[j.s] = e2.z*u.x - e1.z*u.y
			u.x, u.y = f.c*u.x-f.s*u.y, f.s*u.x+f.c*u.y
		}
		u = of(j.f.x, j.f.y, j.f.z, u)
		u.x += w * j.shift.x
		u.y += w * j.shift.y
		u.z += w * j.shift.z
	}
}

// PointHessian writes ∇²p v of a point p of a link into dst, 3×D: row i is that of p_i.
// v is that of the last call of Along.
func (k *Kinematics) PointHessian(dst []float64, link int, local [3]float64) {
	m := k.mount(link)
	k.hessian(dst, m.frame, m.point(local), 1)
}

// DirectionHessian is PointHessian of a vector of a link.
func (k *Kinematics) DirectionHessian(dst []float64, link int, local [3]float64) {
	m := k.mount(link)
	k.hessian(dst, m.frame, m.direction(local), 0)
}

// hessian writes the derivatives along v of what jacobian writes.
func (k *Kinematics) hessian(dst []float64, at int, u vec, w float64) {
	if k.full == nil {
		k.bend(dst, k.dim, at, u, w)
		return
	}
	k.bend(k.full.jac, len(k.full.x), at, u, w)
	k.full.fold(dst, k.dim)
}

// bend is hessian by d coordinates, of all joints.
func (k *Kinematics) bend(dst []float64, d, at int, u vec, w float64) {
	clear(dst[:3*d])
	r0, r1, r2 := dst[:d], dst[d:2*d], dst[2*d:3*d]
	var du vec
	for m := at - 1; m >= 0; m-- {
		j, f, g := &k.moves[m], &k.frames[m+1], &k.rates[m+1]
		if j.slides {
			e3 := g.before.z
			r0[j.c], r1[j.c], r2[j.c] = w*e3.x, w*e3.y, w*e3.z
			u.z += w * f.c
			du.z += w * g.c
		} else {
			e1, e2, d1, d2 := f.before.x, f.before.y, g.before.x, g.before.y
			r0[j.c] = e1.x*du.x + e2.x*du.y + d1.x*u.x + d2.x*u.y
			r1[j.c] = e1.y*du.x + e2.y*du.y + d1.y*u.x + d2.y*u.y
			r2[j.c] = e1.z*du.x + e2.z*du.y + d1.z*u.x + d2.z*u.y
			r0[j.s] = e2.x*du.x - e1.x*du.y + d2.x*u.x - d1.x*u.y
			r1[j.s] = e2.y*du.x - e1.y*du.y + d2.y*u.x - d1.y*u.y
			r2[j.s] = e2.z*du.x - e1.z*du.y + d2.z*u.x - d1.z*u.y
			du.x, du.y = f.c*du.x-f.s*du.y+g.c*u.x-g.s*u.y, f.s*du.x+f.c*du.y+g.s*u.x+g.c*u.y
			u.x, u.y = f.c*u.x-f.s*u.y, f.s*u.x+f.c*u.y
		}
		u, du = of(j.f.x, j.f.y, j.f.z, u), of(j.f.x, j.f.y, j.f.z, du)
		u.x += w * j.shift.x
		u.y += w * j.shift.y
		u.z += w * j.shift.z
	}
}

// Track sets the points that Points and PointsJacobian are about. It allocates.
func (k *Kinematics) Track(points []Point) {
	k.tracked = make([]tracked, len(points))
	for i, p := range points {
		m := k.mount(p.Link)
		k.tracked[i] = tracked{m.frame, m.point(p.Local)}
	}
}

// Points writes where the n tracked points are into dst, n×3.
func (k *Kinematics) Points(dst []float64) {
	dst = dst[:3*len(k.tracked)]
	for i := range k.tracked {
		t := &k.tracked[i]
		f := &k.frames[t.frame]
		p := plus(f.p, of(f.x, f.y, f.before.z, t.u))
		dst[3*i], dst[3*i+1], dst[3*i+2] = p.x, p.y, p.z
	}
}

// PointsJacobian writes the derivatives of the n tracked points into jac, n×3×D. It writes the columns of Arm.Support
// of each point's link only: the others are zero at every configuration, and the caller clears them once.
func (k *Kinematics) PointsJacobian(jac []float64) {
	for i := range k.tracked {
		t := &k.tracked[i]
		k.jacobian(jac[3*k.dim*i:3*k.dim*(i+1)], t.frame, t.u, 1)
	}
}
