package cwpm

import (
	"math"

	"github.com/landing-diffusion/landing/langevin"
)

// The target u of the loss is the noise of a single step. Its expectation given
// (x_{k+1}, p̃), which the network learns, is small beside its spread, so most of
// what a row says is noise. A windowed target says the same with less: u is
// replaced by its conditional expectation given the network's input and the
// state at an earlier time j,
//
//	û = E[u | x_j, p_j, x_{k+1}, p̃]        (without p_j at j = 0, where p_0 is noise),
//
// which has the same expectation given (x_{k+1}, p̃), so the loss has the same
// minimiser. Where Σ is flat the steps are linear in their noise,
//
//	underdamped  p_{i+1} = a_i p_i + √(1−a_i²) ζ_i,  x_{i+1} = x_i + τ_i p_{i+1},  p̃ = r p_{k+2}
//	overdamped   x_{i+1} = x_i + √τ_i ζ_i
//
// and û is a linear function of the displacement x_{k+1} − x_j in the tangent
// space, of p_j and of p̃. Where Σ is curved this holds up to the square of the
// window's length over the radius of curvature, so the window is bounded by a
// length: it reaches back to the earliest j whose displacement has at most that
// standard deviation in each tangent direction. At j = k it is one step, and û
// is u.
//
// The paper has one-step targets only.
type window struct {
	j          int
	px, pp, pq float64 // E[p_{k+1} | …] = px (x_{k+1} − x_j) + pp p_j + pq p̃
}

// newWindow returns the window of the term k that begins at j, and the variance
// of its displacement.
func newWindow(p *langevin.Process, j, k int) (w window, variance float64) {
	if !p.Method.Underdamped() {
		for i := j; i <= k; i++ {
			variance += p.Schedule.Tau(i)
		}
		return window{j: j, px: p.Schedule.Tau(k) / variance}, variance
	}
	// Moments of (x_i − x_j, p_i) given x_j and p_j.
	var meanX, sxx, sxp float64
	meanP, spp := 1.0, 0.0 // factors of p_j, and its variance
	if j == 0 {
		meanP, spp = 0, 1
	}
	for i := j; i <= k; i++ {
		τ := p.Schedule.Tau(i)
		a := p.Decay(τ)
		next := a*a*spp + 1 - a*a
		sxx, sxp, spp = sxx+2*τ*a*sxp+τ*τ*next, a*sxp+τ*next, next
		meanP *= a
		meanX += τ * meanP
	}
	// Of p_{k+1} given the displacement too; one step determines it.
	w = window{j: j, px: sxp / sxx}
	w.pp = meanP - w.px*meanX
	rest := spp - sxp*sxp/sxx
	if j == k || rest < 0 {
		rest = 0
	}
	// And given p̃ = r(a p_{k+1} + √(1−a²) ζ). Beyond the last step p̃ is only noise.
	if k+2 <= p.Schedule.N {
		τ := p.Schedule.Tau(k + 1)
		a, r := p.Decay(τ), τ/p.MomentumTau(k)
		β := rest * a / (rest*a*a + 1 - a*a)
		w.px, w.pp, w.pq = w.px*(1-β*a), w.pp*(1-β*a), β/r
	}
	return w, sxx
}

// windows returns the window of each term whose displacement has at most the
// given standard deviation; at least one step.
func windows(p *langevin.Process, length float64) []window {
	out := make([]window, p.Schedule.N)
	for k := range out {
		for j := range k + 1 {
			w, variance := newWindow(p, j, k)
			out[k] = w
			if variance <= length*length {
				break
			}
		}
	}
	return out
}

// extend rescales the tangent vector v = Π(x)(x − y) to the distance r of x and
// y along Σ: with chord c = ‖x − y‖, on a curve of curvature κ,
// ‖v‖ = r − κ²r³/6 + … and c = r − κ²r³/24 + …, so r = (4c − ‖v‖)/3 + O(r⁵).
func extend(v []float64, c float64) {
	t := 0.0
	for _, e := range v {
		t += e * e
	}
	t = math.Sqrt(t)
	if t == 0 {
		return
	}
	f := (4*c - t) / (3 * t)
	for i := range v {
		v[i] *= f
	}
}

// averaged overwrites l.u with −(x_{k+1} − x_k) averaged over the window: −τ_k
// E[p_{k+1} | …], or −E[x_{k+1} − x_k | …]. It needs l.x and, underdamped, l.p.
func (l *Loss[T]) averaged(paths *langevin.Paths, terms []Term) {
	n, d := len(terms), l.d
	s := l.proc.Schedule
	under := l.proc.Method.Underdamped()
	for i, t := range terms {
		w := l.windows[t.K]
		from, x, v, p := paths.At(t.Path, w.j), l.x[i*d:(i+1)*d], l.v[i*d:(i+1)*d], l.pj[i*d:(i+1)*d]
		chord := 0.0
		for j := range v {
			v[j] = x[j] - from[j]
			chord += v[j] * v[j]
			p[j] = 0
		}
		l.chord[i] = math.Sqrt(chord)
		if under && w.j > 0 {
			for j, before := range paths.At(t.Path, w.j-1) {
				p[j] = (from[j] - before) / s.Tau(w.j-1)
			}
		}
	}
	l.at.Tangent(l.v[:n*d], l.v[:n*d])
	if under {
		l.at.Tangent(l.pj[:n*d], l.pj[:n*d])
	}
	for i, t := range terms {
		w := l.windows[t.K]
		u, v := l.u[i*d:(i+1)*d], l.v[i*d:(i+1)*d]
		if w.j < t.K {
			extend(v, l.chord[i])
		}
		if !under {
			for j := range u {
				u[j] = -w.px * v[j]
			}
			continue
		}
		τ, pj, q := s.Tau(t.K), l.pj[i*d:(i+1)*d], l.p[i*d:(i+1)*d]
		for j := range u {
			u[j] = -τ * (w.px*v[j] + w.pp*pj[j] + w.pq*q[j])
		}
	}
}
