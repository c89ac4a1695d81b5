package robot

import "math"

// full is what all joints of an arm move by, where some follow others: the coordinates x, and behind them two columns
// for each follower. These are linear in x: with the value v = ±q + o of a turning joint
//
//	cos v = cos o c ∓ sin o s    sin v = sin o c ± cos o s,
//
// and v = m q + o of a sliding one.
type full struct {
	x, v, jac []float64 // jac: 3×len(x)
	follow    []follower
}

// A follower has columns c and s, which are a·(c, s) + b of the columns of another joint.
type follower struct {
	c, ofC, ofS int
	a           [2][2]float64
	b           float64
}

// follows adds a follower to the full coordinates and returns its columns.
func (k *Kinematics) follows(j *Joint) (c, s int) {
	if k.full == nil {
		k.full = &full{x: make([]float64, k.dim), v: make([]float64, k.dim)}
	}
	e := k.full
	f := follower{c: len(e.x)}
	f.ofC, f.ofS = k.arm.Columns(j.Follow.Of)
	if m, o := j.Follow.Multiplier, j.Follow.Offset; f.ofS < 0 {
		f.ofS, f.a[0][0], f.b = f.ofC, m, o
	} else {
		sin, cos := math.Sincos(o)
		f.a = [2][2]float64{{cos, -m * sin}, {sin, m * cos}}
	}
	e.x, e.v = append(e.x, 0, 0), append(e.v, 0, 0)
	e.jac, e.follow = make([]float64, 3*len(e.x)), append(e.follow, f)
	return f.c, f.c + 1
}

// carry writes the columns of followers behind x: at a point, or of a tangent.
func (e *full) carry(to, x []float64, at float64) []float64 {
	copy(to, x)
	for _, f := range e.follow {
		to[f.c] = f.a[0][0]*x[f.ofC] + f.a[0][1]*x[f.ofS] + at*f.b
		to[f.c+1] = f.a[1][0]*x[f.ofC] + f.a[1][1]*x[f.ofS]
	}
	return to
}

// fold writes derivatives by all columns, 3×len(x), as those by the coordinates, 3×D.
func (e *full) fold(to []float64, d int) {
	for r := range 3 {
		row, out := e.jac[r*len(e.x):(r+1)*len(e.x)], to[r*d:(r+1)*d]
		copy(out, row)
		for _, f := range e.follow {
			out[f.ofC] += f.a[0][0]*row[f.c] + f.a[1][0]*row[f.c+1]
			out[f.ofS] += f.a[0][1]*row[f.c] + f.a[1][1]*row[f.c+1]
		}
	}
}
