package trajectory

import (
	"fmt"
	"math"
)

// A bend bounds by how much a step of a joint differs from the one before, at waypoint l. With z
// = c + is of a turning joint, and z₋ and z₊ one waypoint before and after, the second difference
// of its angles is that of z₊ z₋ z̄², so that the bound δ is
//
//	(cos δ − Re(z₊ z₋ z̄²))/sin δ ≤ 0,
//
// a = cos δ and w = 1/sin δ. Of a sliding one, s = −1: w (x₊ − 2x + x₋) − a ≤ 0, with a = δ and w = ±1.
type bend struct {
	l, c, s int
	a, w    float64
	name    string
}

// bends adds the bounds of how much steps change.
func (b *builder) bends() error {
	if n := len(b.spec.Arm.Joints); b.spec.Bends != nil && len(b.spec.Bends) != n {
		return refuse("bends", "%d numbers; expected one for each of the %d joints", len(b.spec.Bends), n)
	}
	for j, v := range b.spec.Bends {
		if !(v >= 0) {
			return refuse("bends", "steps of joint %q may differ by %v; expected a number above 0, or 0 for any",
				b.spec.Arm.Joints[j].Name, v)
		}
	}
	for l := 1; l < b.set.l-1 && b.spec.Bends != nil; l++ {
		for i, at := range b.columns {
			c, s, δ := at[0], at[1], b.spec.Bends[i]
			name := fmt.Sprintf("bend[%d,%s", l, b.spec.Arm.Joints[i].Name)
			switch {
			case c < 0 || δ == 0 || math.IsInf(δ, 1) || s >= 0 && δ >= math.Pi:
			case s < 0:
				b.set.bends = append(b.set.bends, bend{l, c, -1, δ, 1, name + ",+]"},
					bend{l, c, -1, δ, -1, name + ",−]"})
			default:
				b.set.bends = append(b.set.bends, bend{l, c, s, math.Cos(δ), 1 / math.Sin(δ), name + "]"})
			}
		}
	}
	return nil
}

// cols are the numbers of a point that it depends on, where a waypoint has d.
func (t *bend) cols(d int) (all []int) {
	for l := t.l - 1; l <= t.l+1; l++ {
		if all = append(all, l*d+t.c); t.s >= 0 {
			all = append(all, l*d+t.s)
		}
	}
	return all
}

// of returns what the bend sees of the waypoint l − 1 + k of a point: c and s, or the displacement.
func (t *bend) of(x []float64, d, k int) (c, s float64) {
	at := (t.l - 1 + k) * d
	if t.s < 0 {
		return x[at+t.c], 0
	}
	return x[at+t.c], x[at+t.s]
}

// value of a bend at a point of waypoints of d numbers.
func (t *bend) value(x []float64, d int) float64 {
	a, b := t.of(x, d, 0)
	c, s := t.of(x, d, 1)
	p, q := t.of(x, d, 2)
	if t.s < 0 {
		return t.w*(p-2*c+a) - t.a
	}
	return t.w * (t.a - (p*a-q*b)*(c*c-s*s) - (q*a+p*b)*2*c*s)
}

// gradient writes the derivatives along cols, and returns the rest of out.
func (t *bend) gradient(out, x []float64, d int) []float64 {
	if t.s < 0 {
		out[0], out[1], out[2] = t.w, -2*t.w, t.w
		return out[3:]
	}
	a, b := t.of(x, d, 0)
	c, s := t.of(x, d, 1)
	p, q := t.of(x, d, 2)
	wr, wi := p*a-q*b, q*a+p*b // z₊ z₋
	vr, vi := c*c-s*s, 2*c*s   // z²
	out[0], out[1] = -t.w*(p*vr+q*vi), -t.w*(p*vi-q*vr)
	out[2], out[3] = -2*t.w*(c*wr+s*wi), -2*t.w*(c*wi-s*wr)
	out[4], out[5] = -t.w*(a*vr+b*vi), -t.w*(a*vi-b*vr)
	return out[6:]
}

func (t *bend) hessian(out, x, v []float64, d int) []float64 {
	if t.s < 0 {
		clear(out[:3])
		return out[3:]
	}
	a, b := t.of(x, d, 0)
	c, s := t.of(x, d, 1)
	p, q := t.of(x, d, 2)
	da, db := t.of(v, d, 0)
	dc, ds := t.of(v, d, 1)
	dp, dq := t.of(v, d, 2)
	wr, wi := p*a-q*b, q*a+p*b
	vr, vi := c*c-s*s, 2*c*s
	dwr, dwi := dp*a+p*da-dq*b-q*db, dq*a+q*da+dp*b+p*db
	dvr, dvi := 2*(c*dc-s*ds), 2*(c*ds+s*dc)
	out[0] = -t.w * (dp*vr + p*dvr + dq*vi + q*dvi)
	out[1] = -t.w * (dp*vi + p*dvi - dq*vr - q*dvr)
	out[2] = -2 * t.w * (dc*wr + c*dwr + ds*wi + s*dwi)
	out[3] = -2 * t.w * (dc*wi + c*dwi - ds*wr - s*dwr)
	out[4] = -t.w * (da*vr + a*dvr + db*vi + b*dvi)
	out[5] = -t.w * (da*vi + a*dvi - db*vr - b*dvr)
	return out[6:]
}
