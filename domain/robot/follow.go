package robot

import "math"

// A follower is a joint whose value v = m q + o follows that of another, q: its pair (cos v, sin v), or its
// displacement v, stands behind the coordinates. Of a turning joint q is the angle of its pair,
//
//	∂q/∂c = −s/r²    ∂q/∂s = c/r²    r² = c² + s².
type follower struct {
	joint         *Joint // that it follows
	turns         bool
	c, s          int // columns behind the coordinates
	ofC, ofS      int // of the other joint; ofS −1: it slides
	m, o          float64
	v, dv         float64    // the value, and its change along a tangent
	slope, change [2]float64 // ∂v/∂(c, s), and its change
}

// full is what all joints move by: the coordinates, and two columns behind them for each follower.
type full struct {
	x, v      []float64
	jac, hess []float64 // 3×len(x)
}

// follows adds a follower and returns its columns.
func (k *Kinematics) follows(j *Joint) (c, s int) {
	c = k.dim + 2*len(k.follow)
	f := follower{joint: &k.arm.Joints[j.Follow.Of], turns: j.Kind.Turning(), c: c, s: c + 1, m: j.Follow.Multiplier,
		o: j.Follow.Offset}
	f.ofC, f.ofS = k.arm.Columns(j.Follow.Of)
	k.follow = append(k.follow, f)
	return f.c, f.s
}

// at returns the coordinates of all joints at x.
func (e *full) at(k *Kinematics, x []float64) []float64 {
	copy(e.x, x)
	for i := range k.follow {
		f := &k.follow[i]
		q := x[f.ofC]
		f.slope = [2]float64{f.m, 0}
		if f.ofS >= 0 {
			c, s := x[f.ofC], x[f.ofS]
			r2 := max(c*c+s*s, 1e-300)
			q, f.slope = f.joint.nearest(math.Atan2(s, c)), [2]float64{-f.m * s / r2, f.m * c / r2}
		}
		if f.v = f.m*q + f.o; f.turns {
			e.x[f.s], e.x[f.c] = math.Sincos(f.v)
		} else {
			e.x[f.c] = f.v
		}
	}
	return e.x
}

// along returns the tangent of all joints along v, and notes how slopes change.
func (e *full) along(k *Kinematics, v []float64) []float64 {
	copy(e.v, v)
	for i := range k.follow {
		f := &k.follow[i]
		f.dv, f.change = f.m*v[f.ofC], [2]float64{}
		if f.ofS >= 0 {
			c, s, dc, ds := e.x[f.ofC], e.x[f.ofS], v[f.ofC], v[f.ofS]
			r2 := max(c*c+s*s, 1e-300)
			f.dv = f.slope[0]*dc + f.slope[1]*ds
			by := 2 * (c*dc + s*ds) / r2
			f.change = [2]float64{-f.m*ds/r2 - by*f.slope[0], f.m*dc/r2 - by*f.slope[1]}
		}
		if e.v[f.c] = f.dv; f.turns {
			e.v[f.c], e.v[f.s] = -e.x[f.s]*f.dv, e.x[f.c]*f.dv
		}
	}
	return e.v
}

// by returns ∂p/∂v of a row of derivatives.
func (f *follower) by(e *full, row []float64) float64 {
	if !f.turns {
		return row[f.c]
	}
	return e.x[f.c]*row[f.s] - e.x[f.s]*row[f.c]
}

// add adds what a follower brings to the derivatives by the joint that it follows.
func (f *follower) add(to []float64, by float64, slope [2]float64) {
	if to[f.ofC] += by * slope[0]; f.ofS >= 0 {
		to[f.ofS] += by * slope[1]
	}
}

// fold writes the derivatives by the coordinates: 3×D.
func (e *full) fold(k *Kinematics, jac []float64) {
	d := len(e.x)
	for r := range 3 {
		row, to := e.jac[r*d:(r+1)*d], jac[r*k.dim:(r+1)*k.dim]
		copy(to, row)
		for i := range k.follow {
			f := &k.follow[i]
			f.add(to, f.by(e, row), f.slope)
		}
	}
}

// foldBend writes the derivatives of what fold writes along the tangent of along.
func (e *full) foldBend(k *Kinematics, hess []float64) {
	d := len(e.x)
	for r := range 3 {
		row, bent, to := e.jac[r*d:(r+1)*d], e.hess[r*d:(r+1)*d], hess[r*k.dim:(r+1)*k.dim]
		copy(to, bent)
		for i := range k.follow {
			f := &k.follow[i]
			by := f.by(e, bent)
			if f.turns {
				by -= (e.x[f.c]*row[f.c] + e.x[f.s]*row[f.s]) * f.dv
			}
			f.add(to, by, f.slope)
			f.add(to, f.by(e, row), f.change)
		}
	}
}
