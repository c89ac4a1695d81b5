package cwpm

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/constraint"
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
// and û is a linear function of the displacement v = x_{k+1} − x_j, of p_j and of
// p̃. Where Σ is curved, v is the velocity at x_{k+1} of the shortest curve from
// x_j, and p_j is carried along it: exactly on a set that knows its geodesics, to the
// next order in the angle on others. That û is linear with one coefficient for all
// directions is then an approximation, better the shorter the window. The coefficients
// are those of least squares over forward paths of the process itself, so that u − û
// has no correlation with v, p_j and p̃ on any Σ; they depend on the process
// alone, not on the data, as long as Σ looks alike from its points.
//
// The paper has one-step targets only.

// A Window is how the target of one term is read from a path: the tangential
// move to x_{k+1} is taken as V v + P p_j + Q p̃.
type Window struct{ V, P, Q float64 }

// windowStarts returns for each k the earliest j for which the steps from j to k move
// a point of a flat Σ by at most the given standard deviation in each direction; k if
// there is none.
func windowStarts(p *langevin.Process, length float64) []int {
	start, j := make([]int, p.Schedule.N), 0
	for k := range start {
		for j < k && displacementVariance(p, j, k) > length*length { // it grows with k
			j++
		}
		start[k] = j
	}
	return start
}

// displacementVariance returns that of x_{k+1} − x_j given x_j, and p_j if j > 0,
// on the line.
func displacementVariance(p *langevin.Process, j, k int) float64 {
	var sxx, sxp, spp float64
	if j == 0 {
		spp = 1
	}
	for i := j; i <= k; i++ {
		τ := p.Schedule.Tau(i)
		if !p.Method.Underdamped() {
			sxx += τ
			continue
		}
		a := p.Decay(τ)
		next := a*a*spp + 1 - a*a
		sxx, sxp, spp = sxx+2*τ*a*sxp+τ*τ*next, a*sxp+τ*next, next
	}
	return sxx
}

// FitWindow returns the window of term k, of the length of Options, with the coefficients
// that fit the paths best. Their starts should be spread like the data. The
// error is that of Prepare, its Row an index of paths.
func (l *Loss[T]) FitWindow(paths *langevin.Paths, k int, last LastMomentum) (Window, error) {
	if l.start[k] == k {
		return Window{V: 1}, nil
	}
	// Sums over paths and coordinates of products of (v, p_j, p̃, move).
	var sum [4][4]float64
	terms := make([]Term, 0, l.Rows())
	for lo := 0; lo < paths.Count; lo += l.Rows() {
		terms = terms[:0]
		for i := lo; i < min(lo+l.Rows(), paths.Count); i++ {
			if !paths.Failed[i] {
				terms = append(terms, Term{Item: i, K: k})
			}
		}
		if err := l.load(paths, terms, last); err != nil {
			return Window{}, err
		}
		l.oneStep(paths, terms)
		n := len(terms) * l.d
		l.at.Tangent(l.u[:n], l.u[:n])
		l.lookBack(paths, terms)
		for i := range n {
			row := [4]float64{l.v[i], l.pj[i], l.p[i], -l.u[i]}
			for a, x := range row {
				for b, y := range row[a:] {
					sum[a][a+b] += x * y
				}
			}
		}
	}
	if !l.proc.Method.Underdamped() || k+2 > paths.Steps { // no p̃, or only noise
		sum[0][2], sum[1][2], sum[2][2], sum[2][3] = 0, 0, 0, 0
	}
	c := leastSquares(sum)
	return Window{c[0], c[1], c[2]}, nil
}

// SetWindows gives the windows of all terms, by k, as FitWindow found them.
func (l *Loss[T]) SetWindows(w []Window) {
	if len(w) != l.proc.Schedule.N {
		panic(fmt.Sprintf("cwpm: %d windows for %d terms", len(w), l.proc.Schedule.N))
	}
	l.windows = w
}

// leastSquares returns the coefficients of the fourth variable in the first three
// from their second moments (upper triangle). Of variables that say the same any
// combination will do; a variable that is 0 gets none.
func leastSquares(s [4][4]float64) (c [3]float64) {
	size, a, b := [3]float64{}, mat.NewDense(3, 3, nil), mat.NewVecDense(3, nil)
	for i := range c {
		if size[i] = math.Sqrt(s[i][i]); size[i] == 0 {
			continue
		}
		for j := range i + 1 {
			if size[j] > 0 {
				a.Set(i, j, s[j][i]/(size[i]*size[j]))
				a.Set(j, i, a.At(i, j))
			}
		}
		b.SetVec(i, s[i][3]/size[i])
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDFull) || svd.Rank(1e-9) == 0 {
		return c
	}
	var x mat.VecDense
	svd.SolveVecTo(&x, b, svd.Rank(1e-9))
	for i := range c {
		if size[i] > 0 {
			c[i] = x.AtVec(i) / size[i]
		}
	}
	return c
}

// lookBack writes v and p_j of the terms, tangent at l.x, for windows that begin at
// l.start. It needs load.
func (l *Loss[T]) lookBack(paths *langevin.Paths, terms []Term) {
	n, d := len(terms), l.d
	s := l.proc.Schedule
	under := l.proc.Method.Underdamped()
	for i, t := range terms {
		j := l.start[t.K]
		from, x, v, p := paths.At(t.Item, j), l.x[i*d:(i+1)*d], l.v[i*d:(i+1)*d], l.pj[i*d:(i+1)*d]
		clear(p)
		if under && j > 0 {
			for e, before := range paths.At(t.Item, j-1) {
				p[e] = (from[e] - before) / s.Tau(j-1)
			}
		}
		l.chord[i] = 0
		if j < t.K && l.geodesic != nil && l.geodesic(v, p, x, from) {
			for e := range v {
				v[e] = -v[e]
			}
			continue
		}
		chord := 0.0
		for e := range v {
			v[e] = x[e] - from[e]
			chord += v[e] * v[e]
		}
		if j < t.K {
			l.chord[i] = math.Sqrt(chord)
		}
	}
	l.at.Tangent(l.v[:n*d], l.v[:n*d])
	if under {
		l.at.Tangent(l.pj[:n*d], l.pj[:n*d])
	}
	for i := range terms {
		if c := l.chord[i]; c > 0 {
			extend(l.v[i*d:(i+1)*d], c)
		}
	}
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

// averaged overwrites l.u with x_k − x_{k+1} averaged over the window. It needs
// load.
func (l *Loss[T]) averaged(paths *langevin.Paths, terms []Term) {
	l.lookBack(paths, terms)
	d := l.d
	for i, t := range terms {
		w := l.windows[t.K]
		u, v, pj := l.u[i*d:(i+1)*d], l.v[i*d:(i+1)*d], l.pj[i*d:(i+1)*d]
		for j := range u {
			u[j] = -w.V*v[j] - w.P*pj[j]
		}
		if w.Q != 0 {
			for j, q := range l.p[i*d : (i+1)*d] {
				u[j] -= w.Q * q
			}
		}
	}
}

// CanWindow returns nil if windowed targets hold for the process up to the
// curvature of Σ, and a *constraint.UnsupportedError otherwise.
func CanWindow(p *langevin.Process) error {
	need := ""
	switch {
	case len(p.Set.Inequalities()) > 0:
		need = "equalities only"
	case p.Potential != nil:
		need = "a forward process without potential"
	default:
		return nil
	}
	return &constraint.UnsupportedError{Set: constraint.Name(p.Set), Need: need, For: "a windowed target"}
}
