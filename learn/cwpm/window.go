package cwpm

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
)

// The target u of the loss is the noise of a single step. Its expectation given (x_{k+1}, p̃), which the network
// learns, is small beside its spread, so most of what a row says is noise. A windowed target says the same with less: u
// is replaced by its conditional expectation given the network's input and the state at an earlier time j,
//
//	û = E[u | x_j, p_j, x_{k+1}, p̃]        (without p_j at j = 0, where p_0 is noise),
//
// which has the same expectation given (x_{k+1}, p̃), so the loss has the same
// minimiser. Where Σ is flat the steps are linear in their noise,
//
//	underdamped  p_{i+1} = a_i p_i − τ_i∇f + √(1−a_i²) ζ_i,  x_{i+1} = x_i + τ_i p_{i+1},  p̃ = r p_{k+2}
//	overdamped   x_{i+1} = x_i − ½τ_i∇f + √τ_i ζ_i
//
// and û is a linear function of the displacement v = x_{k+1} − x_j, of p_j and of p̃, with the same coefficients in all
// directions. The coefficients are those of least squares over forward paths of the process itself, so that u − û has
// no correlation with the regressors on any Σ.
//
// # Force
//
// ∇f at x_{k+1} and at x_j are regressors too. In a harmonic well, ∇f linear in x, that is the conditional expectation
// still; elsewhere the force along the window is taken to lie between those at its ends.
//
// # Curvature
//
// Where Σ is curved, v is the velocity at x_{k+1} of the shortest curve from x_j, and p_j is carried along it: exactly
// on a set that knows its geodesics, to the next order in the angle on others. What is left is the length of û, which
// is for bends (loss.go): they take the second fundamental form at x_{k+1} into the regressors.
//
// # Walls
//
// A window looks back through elastic walls as through the mirrors that they are (langevin's walls.go). Let A_0 = I and
// A_k = A_{k−1}Rᵀ, R being the mirrors of the step to x_k, I without; so A_k is orthogonal. The path
//
//	X_0 = x_0,  X_k = X_{k−1} + A_{k−1}(y_k − x_{k−1}),  P_k = A_{k−1}(y_k − x_{k−1})/τ_{k−1}
//
// has the noise A_{k−1}ζ_{k−1}. A_{k−1} is a function of what was before, so that noise is
// standard and independent of it, and (X, P) is a path that no wall has touched, whatever the
// walls and whether steps were mirrored or turned back. Therefore
//
//	E[U | X_j, P_j, X_{k+1}, P̃],   U = A_{k+1}u, P̃ = A_{k+1}p̃,
//
// is the linear function of above, and A_{k+1}ᵀ of it is û: the same function of x_j and p_j, carried to the frame of
// x_{k+1} by the mirrors between (Paths.Unfold), of x_{k+1} and p̃. No window needs to stop, and none is chosen by what
// happened in it, which would bias it: paths that met no wall are no fair sample of those near one. For û to be
// unbiased given (x_{k+1}, p̃), these and A_{k+1} must be functions of what û is conditioned on. So they are where the
// walls are those of a reflection group (a half space, a slab, a box): its images tile space, and X_{k+1} says in which
// one it is. At curved walls A_{k+1} has a part of its own, which makes no difference that tests can see: at most 0.006
// ± 0.002 of the noise next to a wall whose radius is five windows. Where there is a force as well, it jumps to its
// mirror image at the wall.
//
// The paper's walls stop the normal part of a step and move the point; no free path is behind that. There the target is
// that of one step wherever x_{k+1}, an input of the network, is within wallReach standard deviations of what a window
// may move a point, and ε, of a wall. Windows begin farther away than that, but for one path in a thousand.
//
// The paper has one-step targets only.

// A Window is how the target of one term is read from a path: the tangential move to
// x_{k+1} is taken as a sum of regressors with these coefficients.
type Window struct {
	// Coefficients of b, rb and w²r II² b (bends) for b = v, p_j and p̃ in turn, and of ∇f at x_{k+1} and at x_j.
	Coefficients [regressors]float64
	// OneStep says that the target is that of one step.
	OneStep bool
}

// regressors of a window.
const (
	perVector  = 3 // b, rb, w²r II² b
	forceEnd   = 3 * perVector
	forceStart = forceEnd + 1
	regressors = forceStart + 1
)

// windowStarts returns for each k the earliest j for which the steps from j to k move a point of a flat Σ by at most
// the given standard deviation in each direction; k if there is none.
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

// displacementVariance returns that of x_{k+1} − x_j given x_j, and p_j if j > 0, on the line without force.
func displacementVariance(p *langevin.Process, j, k int) float64 {
	if j == 0 {
		return spread(p, j, k, 1)
	}
	return spread(p, j, k, 0)
}

// spread returns the variance of x_{k+1} − x_j for a p_j of the variance given.
func spread(p *langevin.Process, j, k int, spp float64) float64 {
	var sxx, sxp float64
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

// leastFar is the least share of paths that must be away from the paper's walls for a window to be fitted.
const leastFar = 0.01

// wildMove is how many times √d units of noise a step or a window may move a point to be fitted to. No noise makes
// more; beside a point where a gradient grows without bound landing does, and one such step would decide the fit.
const wildMove = 5

// FitWindow returns the window of term k, of the length of Options, with the coefficients
// that fit the paths best, those that failed left out, and wild steps. Their starts should be
// spread like the data. The error is that of Prepare, its Row an index of paths.
func (l *Loss[T]) FitWindow(paths *langevin.Paths, k int, last LastMomentum) (Window, error) {
	if l.start[k] == k {
		return Window{OneStep: true}, nil
	}
	// Sums over paths and coordinates of products of the regressors and the move.
	var sum moments
	terms := make([]Term, 0, l.Rows())
	paired, used := l.proc.Method.Underdamped() && k+2 <= paths.Steps, 0 // p̃ is no noise
	wild := wildMove * math.Sqrt(float64(l.d))
	wildStep, wildWindow := wild*math.Sqrt(spread(l.proc, k, k, 1)), wild*math.Sqrt(spread(l.proc, l.start[k], k, 1))
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
		n, d := len(terms)*l.d, l.d
		l.at.Tangent(l.u[:n], l.u[:n])
		if l.proc.Potential != nil {
			l.at.Tangent(l.grad[:n], l.grad[:n])
		}
		l.lookBack(paths, terms)
		for i, t := range terms {
			x, nearWall := l.x[i*d:(i+1)*d], l.from[i] == t.K
			far := func(y []float64) float64 { return math.Sqrt(dense.SquaredDistance(x, y)) }
			if nearWall || !(far(paths.Origin(t.Item, k+1)) <= wildStep) || !(far(l.z[i*d:(i+1)*d]) <= wildWindow) {
				continue
			}
			used++
			for e := i * d; e < (i+1)*d; e++ {
				row := [regressors + 1]float64{regressors: -l.u[e]}
				for a, b := range [3][]float64{l.v, l.pj, l.p} {
					if a < 2 || paired {
						row[a*perVector], row[a*perVector+1] = b[e], l.r[i]*b[e]
						row[a*perVector+2] = l.bent(b, i, e)
					}
				}
				if l.proc.Potential != nil {
					row[forceEnd], row[forceStart] = l.grad[e], l.gradStart[e]
				}
				sum.add(&row)
			}
		}
	}
	if float64(used) <= leastFar*float64(paths.Count) {
		return Window{OneStep: true}, nil
	}
	return Window{Coefficients: sum.leastSquares()}, nil
}

// bent returns coordinate e of w²r II² b at row i.
func (l *Loss[T]) bent(b []float64, i, e int) float64 {
	if l.ii == nil {
		return 0
	}
	d := l.d // e counts the coordinates of all rows
	return dense.Dot(l.ii[e*d:(e+1)*d], b[i*d:(i+1)*d])
}

// wallReach is how many standard deviations of a window's displacement the paper's walls must be away.
const wallReach = 3

// look makes room for windows.
func (l *Loss[T]) look(rows int) {
	p, d := l.proc, l.d
	vec := func() []float64 { return make([]float64, rows*d) }
	l.start = windowStarts(p, l.opt.Window)
	for k, j := range l.start {
		l.width = append(l.width, math.Sqrt(displacementVariance(p, j, k)))
		l.reach = append(l.reach, wallReach*math.Sqrt(spread(p, j, k, 1)))
	}
	l.from, l.chord, l.r = make([]int, rows), make([]float64, rows), make([]float64, rows)
	l.z, l.v, l.pj = vec(), vec(), vec()
	if p.Potential != nil {
		l.gradStart = vec()
	}
	set := p.Set
	switch {
	case p.Elastic():
		set = constraint.EqualitiesOf(set)
	case len(set.Inequalities()) > 0:
		c := len(constraint.Components(set))
		l.whole, l.values, l.jac = set.NewEvaluator(rows), make([]float64, rows*c), make([]float64, rows*c*d)
	}
	l.geodesic = set.NewEvaluator(1).Geodesic
	if l.bends = newBends(set, rows, l.opt.Window); l.bends != nil && d <= rememberDim {
		l.ii = make([]float64, rows*d*d)
	}
}

// SetWindows gives the windows of all terms, by k, as FitWindow found them.
func (l *Loss[T]) SetWindows(w []Window) {
	if len(w) != l.proc.Schedule.N {
		panic(fmt.Sprintf("cwpm: %d windows for %d terms", len(w), l.proc.Schedule.N))
	}
	l.windows = w
}

// moments are the second moments of the regressors and, last, of what they shall fit: the upper triangle.
type moments [regressors + 1][regressors + 1]float64

func (s *moments) add(row *[regressors + 1]float64) {
	for a, x := range row {
		if x == 0 {
			continue
		}
		for b := a; b < len(row); b++ {
			s[a][b] += x * row[b]
		}
	}
}

// leastSquares returns the coefficients of the last variable in the others. Of variables
// that say the same any combination will do; a variable that is 0 gets none.
func (s *moments) leastSquares() (c [regressors]float64) {
	var size [regressors]float64
	a, b := mat.NewDense(regressors, regressors, nil), mat.NewVecDense(regressors, nil)
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
		b.SetVec(i, s[i][regressors]/size[i])
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

// lookBack writes what windows that begin at l.from are read from: v and p_j of the
// terms, tangent at l.x, ∇f at x_j, r and w²r II². It needs load.
func (l *Loss[T]) lookBack(paths *langevin.Paths, terms []Term) {
	n, d := len(terms), l.d
	s := l.proc.Schedule
	under, f := l.proc.Method.Underdamped(), l.proc.Potential
	l.begin(terms)
	for i, t := range terms {
		copy(l.z[i*d:(i+1)*d], paths.At(t.Item, l.from[i]))
	}
	if f != nil {
		f.Gradient(l.gradStart[:n*d], l.z[:n*d], n)
	}
	for i, t := range terms {
		lo, hi, j := i*d, (i+1)*d, l.from[i]
		z, x, v, p, g := l.z[lo:hi], l.x[lo:hi], l.v[lo:hi], l.pj[lo:hi], []float64(nil)
		if f != nil {
			g = l.gradStart[lo:hi]
		}
		clear(p)
		if under && j > 0 {
			for e, before := range paths.Origin(t.Item, j) {
				p[e] = (z[e] - before) / s.Tau(j-1)
			}
		}
		paths.Unfold(t.Item, j, t.K+1, z, p, g)
		l.chord[i] = 0
		if j < t.K && l.geodesic != nil && l.geodesic(v, p, x, z) {
			for e := range v {
				v[e] = -v[e]
			}
			continue
		}
		chord := 0.0
		for e := range v {
			v[e] = x[e] - z[e]
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
	if f != nil {
		l.at.Tangent(l.gradStart[:n*d], l.gradStart[:n*d])
	}
	for i := range terms {
		if c := l.chord[i]; c > 0 {
			extend(l.v[i*d:(i+1)*d], c)
		}
	}
	l.bend(terms)
}

// extend rescales the tangent vector v = Π(x)(x − y) to the distance r of x and y along Σ: with chord c = ‖x − y‖, on a
// curve of curvature κ, ‖v‖ = r − κ²r³/6 + … and c = r − κ²r³/24 + …, so r = (4c − ‖v‖)/3 + O(r⁵).
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

// begin writes the starts of the terms' windows to l.from.
func (l *Loss[T]) begin(terms []Term) {
	for i, t := range terms {
		l.from[i] = l.start[t.K]
		if l.windows != nil && l.windows[t.K].OneStep {
			l.from[i] = t.K
		}
	}
	if l.whole.Values == nil {
		return
	}
	// The paper's walls: one step where they are near.
	n, d := len(terms), l.d
	l.whole.Jacobians(l.values, l.jac, l.x[:n*d], n)
	c := len(l.values) / l.Rows()
	for i, t := range terms {
		for a := len(l.proc.Set.Equalities()); a < c; a++ {
			grad := l.jac[(i*c+a)*d : (i*c+a+1)*d]
			if !(-l.values[i*c+a]-l.proc.Repulsion > l.reach[t.K]*dense.Norm(grad)) {
				l.from[i] = t.K
			}
		}
	}
}

// bend writes r of the terms, and where forms are remembered w²r II², from l.x and l.v.
func (l *Loss[T]) bend(terms []Term) {
	n, d := len(terms), l.d
	if l.bends == nil {
		clear(l.r[:n])
		return
	}
	if l.ii == nil {
		l.bends.along(l.r[:n], l.at, l.v[:n*d])
		for i, b := range l.r[:n] {
			l.r[i] = 1 / (1 + b)
		}
		return
	}
	l.bends.prepare(l.x, n)
	for i, t := range terms {
		w, trace, square := l.width[t.K], 0.0, l.bends.square(i)
		for e := range d {
			trace += square[e*d+e]
		}
		l.r[i] = 1 / (1 + w*w*trace)
		dense.Scaled(l.ii[i*d*d:(i+1)*d*d], w*w*l.r[i], square)
	}
}

// averaged overwrites l.u with x_k − x_{k+1} averaged over the window. It needs load.
func (l *Loss[T]) averaged(paths *langevin.Paths, terms []Term) {
	l.lookBack(paths, terms)
	d := l.d
	for i, t := range terms {
		lo, hi := i*d, (i+1)*d
		u, v := l.u[lo:hi], l.v[lo:hi]
		for e := range u {
			u[e] = -v[e]
		}
		if l.from[i] == t.K {
			continue
		}
		clear(u)
		c := &l.windows[t.K].Coefficients
		for a, b := range [3][]float64{v, l.pj[lo:hi], l.p[lo:hi]} {
			dense.Axpy(u, -c[a*perVector]-l.r[i]*c[a*perVector+1], b)
			if across := c[a*perVector+2]; across != 0 {
				for e := range u {
					u[e] -= across * dense.Dot(l.ii[(lo+e)*d:(lo+e+1)*d], b)
				}
			}
		}
		if l.proc.Potential != nil {
			dense.Axpy(u, -c[forceEnd], l.grad[lo:hi])
			dense.Axpy(u, -c[forceStart], l.gradStart[lo:hi])
		}
	}
}
