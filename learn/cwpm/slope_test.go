package cwpm

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A slope is that of u on û over some rows.
type slope struct{ uû, ûû, square float64 }

// add adds a row.
func (s *slope) add(u, û []float64) {
	a, b := dense.Dot(u, û), dense.Dot(û, û)
	s.uû += a
	s.ûû += b
	s.square += (a - b) * (a - b)
}

func (s *slope) sum(o slope) {
	s.uû += o.uû
	s.ûû += o.ûû
	s.square += o.square
}

func (s slope) value() float64 { return s.uû / s.ûû }

// error returns the standard error: rows are independent but for those of one path.
func (s slope) error() float64 { return math.Sqrt(s.square) / s.ûû }

// measured are slopes of a process: by quintile of curvature, by quintile of time, by both,
// and in the most curved quintile along the direction that bends most and across it.
type measured struct {
	curvature, time [5]slope
	both            [5][5]slope
	along, across   slope
}

// measureSlopes fits windows as training does and measures slopes on count other paths from the
// starts, again and again from the first.
func measureSlopes(t *testing.T, p *langevin.Process, starts []float64, window float64, count int) (m measured) {
	const block = 10_000
	d := p.Set.Dim()
	fitted := (1<<17 + d - 1) / d
	pool := testkit.Pool(t, 0)
	sim := langevin.NewSimulator(p, pool, 64)
	var paths langevin.Paths
	forward := func(n int, refresh uint64) LastMomentum {
		testkit.Must(sim.Forward(t.Context(), &paths, langevin.Starts(starts, d, n), 5, refresh))
		stream := keyed.New(6, keyed.LastMomentum, refresh)
		return func(dst []float64, path int) { stream.Normals(dst, uint64(path), 0) }
	}
	N := p.Schedule.N
	losses, plain := make([]*Loss[float64], pool.Workers()), make([]*Loss[float64], pool.Workers())
	for i := range losses {
		losses[i] = NewLoss(p, reads[float64](p), 500, Options{Window: window})
		plain[i] = NewLoss(p, reads[float64](p), 500, Options{})
	}
	windows, errs := make([]Window, N), make([]error, N)
	last := forward(fitted, 1)
	pool.Do(N, func(worker, k int) { windows[k], errs[k] = losses[worker].FitWindow(&paths, k, last) })
	for _, l := range losses {
		l.SetWindows(windows)
	}
	sums := make([]measured, N)
	for part := range count / block {
		last = forward(block, uint64(2+part))
		pool.Do(N, func(worker, k int) {
			if windows[k].OneStep || errs[k] != nil {
				return
			}
			errs[k] = addSlopes(&sums[k], losses[worker], plain[worker], &paths, k, last)
		})
	}
	for k, s := range sums {
		if errs[k] != nil {
			t.Fatal(errs[k])
		}
		for a := range 5 {
			for b, v := range s.both[a] {
				if v.ûû > 0 {
					m.both[a][b].sum(v)
					m.curvature[a].sum(v)
					m.time[b].sum(v)
				}
			}
		}
		m.along.sum(s.along)
		m.across.sum(s.across)
	}
	return m
}

// addSlopes adds those of term k on paths.
func addSlopes(
	m *measured, windowed, plain *Loss[float64], paths *langevin.Paths, k int, last LastMomentum,
) error {
	d := paths.Dim
	n := paths.Count
	x, κ, square := make([]float64, n*d), make([]float64, n), make([]float64, n*d*d)
	for i := range n {
		copy(x[i*d:], paths.At(i, k+1))
	}
	set := constraint.EqualitiesOf(windowed.proc.Set)
	g := geometry.New(set, n, 0)
	if err := g.At(x, n); err != nil {
		return err
	}
	curvature, err := geometry.NewCurvature(set, n)
	if err != nil {
		return err
	}
	curvature.Square(square, g)
	for i := range κ {
		for j := range d {
			κ[i] += square[(i*d+j)*d+j]
		}
	}
	order := slices.Clone(κ)
	slices.Sort(order)
	time := 5 * k / windowed.proc.Schedule.N
	bend := make([]float64, d)
	for lo := 0; lo < n; lo += windowed.Rows() {
		var terms []Term
		for i := lo; i < min(n, lo+windowed.Rows()); i++ {
			if !paths.Failed[i] {
				terms = append(terms, Term{Item: i, K: k})
			}
		}
		if _, err := windowed.Prepare(paths, terms, last); err != nil {
			return err
		}
		if _, err := plain.Prepare(paths, terms, last); err != nil {
			return err
		}
		for e, term := range terms {
			u, û := plain.u[e*d:(e+1)*d], windowed.u[e*d:(e+1)*d]
			at := slices.Index([]bool{κ[term.Item] <= order[n/5], κ[term.Item] <= order[2*n/5],
				κ[term.Item] <= order[3*n/5], κ[term.Item] <= order[4*n/5], true}, true)
			m.both[at][time].add(u, û)
			if at < 4 {
				continue
			}
			// The eigenvector of II² with the largest eigenvalue, by its powers.
			principal(bend, square[term.Item*d*d:(term.Item+1)*d*d])
			a, b := dense.Dot(u, bend), dense.Dot(û, bend)
			m.along.add([]float64{a}, []float64{b})
			u, û = slices.Clone(u), slices.Clone(û)
			dense.Axpy(u, -a, bend)
			dense.Axpy(û, -b, bend)
			m.across.add(u, û)
		}
	}
	return nil
}

// principal writes the unit eigenvector of the largest eigenvalue of a symmetric matrix.
func principal(v, a []float64) {
	d, b := len(v), slices.Clone(a)
	for range 12 { // squares: its power 4096
		c := make([]float64, d*d)
		dense.Mul(c, b, b, d)
		scale := 0.0
		for i := range d {
			scale += c[i*d+i]
		}
		for i := range c {
			b[i] = c[i] / scale
		}
	}
	best := 0
	for i := range d {
		if b[i*d+i] > b[best*d+best] {
			best = i
		}
	}
	copy(v, b[best*d:(best+1)*d])
	dense.Scaled(v, 1/dense.Norm(v), v)
}

// The slope of u on û is 1 ± 0.02 in every quintile of curvature, ‖II‖ at x_{k+1}, and of time, over all windows longer
// than a step; in the most curved quintile also along the direction that bends most and across it; within 0.04 in each
// quintile of both. To that come three standard errors of the test's own paths, 0.002 to 0.01. Windows are fitted to as
// many paths as in training, which adds as much. What is measured is at most 0.01, and 0.02 (-v shows it;
// docs/fast.md), so that a false alarm takes five of the errors together: 37 numbers, a chance below 1e-4. One map for
// all points has 0.89 to 1.05 here, and one scaled by ‖II‖ alone 1.1 along the bend and 0.92 across it.
func TestSlopeByCurvature(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	ellipsoid := zoo.Ellipsoid{Axes: []float64{1, 0.6, 0.2}}
	starts := make([]float64, 3*20_000)
	for i := range 20_000 {
		ellipsoid.SampleUniform(starts[3*i:3*i+3], keyed.New(3, keyed.Probe, 3), uint64(i))
	}
	t.Run("ellipsoid", func(t *testing.T) { testSlopes(t, ellipsoid, starts, 0.15, 10_000, 0.02) })
	// In more dimensions than forms are remembered in, the bend is seen along v alone: the bars of
	// both quintiles hold, and the slope along the bend is 1.06. Without it the most curved quintile has
	// 0.978, and 0.936 to 0.945 late.
	five := zoo.Ellipsoid{Axes: []float64{1, 0.8, 0.7, 0.5, 0.2}}
	more := make([]float64, 5*20_000)
	for i := range 20_000 {
		five.SampleUniform(more[5*i:5*i+5], keyed.New(3, keyed.Probe, 3), uint64(i))
	}
	t.Run("five dimensions", func(t *testing.T) { testSlopes(t, five, more, 0.15, 10_000, 0.07) })
	if !testkit.Longest() { // a minute; the same loss on sets whose curvature learn/levelset tests
		return
	}
	for _, name := range []string{"bunny", "spot"} {
		t.Run(name, func(t *testing.T) {
			net := testkit.Must(levelset.ReadNetwork(testkit.Shared(t, "data/mesh/"+name+"_sdf.npz")))
			data := testkit.Must(arrayfile.ReadNPY(testkit.Shared(t, "data/mesh/"+name+"_eigfn100.npy")))
			testSlopes(t, levelset.New(net), data.AsFloat64(), 0.1, 10_000, 0.02)
		})
	}
}

func testSlopes(t *testing.T, set constraint.Set, starts []float64, window float64, count int, direction float64) {
	p := &langevin.Process{ // the recipes of the surfaces
		Set: set, Friction: 20, Landing: langevin.Landing{Explicit: true, Rate: 25},
		Schedule: langevin.Schedule{N: 30, T: 3, SigmaMin: 0.2, SigmaMax: 0.6},
	}
	m := measureSlopes(t, p, starts, window, count)
	look := func(what string, s slope, bar float64) {
		t.Logf("%s: %.4f ± %.4f", what, s.value(), s.error())
		if !(math.Abs(s.value()-1) <= bar+3*s.error()) {
			t.Errorf("%s: the slope of u on û is %.4f ± %.4f", what, s.value(), s.error())
		}
	}
	for a := range 5 {
		look(fmt.Sprintf("quintile %d of curvature", a+1), m.curvature[a], 0.02)
		look(fmt.Sprintf("quintile %d of time", a+1), m.time[a], 0.02)
		for b := range 5 {
			look(fmt.Sprintf("quintiles %d of curvature and %d of time", a+1, b+1), m.both[a][b], 0.04)
		}
	}
	look("most curved, along the bend", m.along, direction)
	look("most curved, across it", m.across, direction)
}
