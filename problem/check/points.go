package check

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin/evidence"
	"github.com/landing-diffusion/landing/problem/discover"
)

// dimension compares the number of equations with the number of unknowns.
func dimension(e *Evidence) []Finding {
	d := e.D - len(e.Set.Capabilities().Held) // what is given does not move
	f := Finding{Numbers: Numbers{"d": float64(d), "m": float64(e.M), "l": float64(e.C - e.M)}}
	switch {
	case e.M > d:
		f.say(Warn, "m = %d equalities in R^%d: at least %d of them are redundant, or nothing satisfies all", e.M, d,
			e.M-d)
	case e.M == d:
		f.say(Warn, "m = %d equalities in R^%d: unless some are redundant, Σ is isolated points and nothing can move "+
			"on it", e.M, d)
	default:
		f.say(Pass, "m = %d in R^%d leaves room to move", e.M, d)
	}
	return []Finding{f}
}

// existence reports whether Gauss–Newton steps find points of Σ, and if not
// which components stay violated where they stop.
func existence(e *Evidence) []Finding {
	numbers := Numbers{"starts": float64(e.Starts.Tried), "starts_arrived": float64(e.Starts.Arrived),
		"rows": float64(e.Rows.Tried), "rows_arrived": float64(e.Rows.Arrived)}
	f := Finding{Numbers: numbers, Message: fmt.Sprintf("%d of %d random starts reach Σ", e.Starts.Arrived,
		e.Starts.Tried)}
	switch rows := fmt.Sprintf("%d of %d rows of data", e.Rows.Arrived, e.Rows.Tried); {
	case e.Starts.Tried == 0:
		f.Message = rows + " reach Σ; the set is too large for random starts"
	case e.Rows.Tried > 0:
		f.Message += ", and " + rows
	}
	switch {
	case len(e.On) == 0:
		return e.nothingFound(numbers)
	case e.Rows.Arrived < e.Rows.Tried:
		f.add(Warn, ": rows that Gauss–Newton steps cannot land are far from Σ, or Σ is singular there")
	case 10*e.Starts.Arrived < e.Starts.Tried && e.Rows.Tried == 0:
		f.add(Warn, ": Σ is hard to reach from afar; give data, and an empirical prior")
	}
	return []Finding{f}
}

// nothingFound names the components that stay violated at the best of the points
// where the search ended: those conflict there, or no start came near Σ.
func (e *Evidence) nothingFound(numbers Numbers) []Finding {
	best, at := math.Inf(1), -1
	probe := e.Probe()
	for i, p := range e.Stuck {
		probe.Values(probe.Val, p.X, 1)
		if v, _ := constraint.Worst(probe.Val, e.M); v < best {
			best, at = v, i
		}
	}
	if at < 0 {
		return []Finding{{Status: Fail, Numbers: numbers, Message: fmt.Sprintf(
			"the set seems empty: none of %d starts has finite constraints to start from",
			e.Starts.Tried+e.Rows.Tried)}}
	}
	ok := probe.At(e.Stuck[at].X)
	var left []string
	var out []Finding
	for i, v := range probe.Val {
		if ok && i < e.M && math.Abs(v) <= evidence.Tolerance && dense.Norm(probe.Grad(i)) == 0 && len(out) < 2*shown {
			out = append(out, Finding{Component: e.Names[i], Status: Fail, Message: fmt.Sprintf(
				"its gradient is 0 where the search from %s ends, so no step leads on from there: does it depend on x?",
				e.Stuck[at].From)})
		}
		if u := constraint.Excess(v, i < e.M); !(u < 0.1*best) && !(u <= evidence.Tolerance) && len(out) < 2*shown {
			left = append(left, fmt.Sprintf("%q by %.3g", e.Names[i], u))
			out = append(out, Finding{Component: e.Names[i], Status: Fail, Numbers: Numbers{"violation": u},
				Message: fmt.Sprintf("stays violated by %.3g where the search from %s ends", u, e.Stuck[at].From)})
		}
	}
	numbers["violation"] = best
	why := "conflict there"
	switch {
	case len(left) == 0 && !ok: // Σ may be there: its points have no normal
		left, why = e.undefined(probe), "has no finite gradient, so no step leads on and samples cannot follow it. "+
			"Write it without the root or the fraction"
	case len(left) == 1:
		why = "nothing lowers there"
	}
	first := Finding{Status: Fail, Numbers: numbers, Message: fmt.Sprintf(
		"the set seems empty: none of %d starts reaches Σ. The nearest ends with %s, which %s",
		e.Starts.Tried+e.Rows.Tried, strings.Join(left[:min(len(left), shown)], ", "), why)}
	return append([]Finding{first}, out...)
}

// undefined names the components whose gradient is not finite at a probe.
func (e *Evidence) undefined(probe *evidence.Probe) (names []string) {
	for i, name := range e.Names {
		if slices.ContainsFunc(probe.Grad(i), notFinite) {
			names = append(names, strconv.Quote(name))
		}
	}
	return names
}

// finiteness looks for values, gradients and second derivatives that are NaN or infinite: at data, on Σ and along
// forward paths they end a run; near Σ they may.
func finiteness(e *Evidence) []Finding {
	type fault struct {
		status Status
		what   string
		value  float64
		at     evidence.Point
	}
	first, probe := make([]*fault, e.C), e.Probe()
	hv := make([]float64, len(probe.Jac)) // 0 unless the process bends
	look := func(points iter.Seq[evidence.Point], status Status) {
		for p := range points {
			probe.At(p.X)
			if e.Process.Curvature && probe.HessianVectors != nil {
				probe.HessianVectors(hv, p.X, e.Direction(0, evidence.ForFiniteness), 1)
			}
			for i := range e.C {
				for k, numbers := range [][]float64{{probe.Val[i]}, probe.Row(probe.Jac, i), probe.Row(hv, i)} {
					if at := slices.IndexFunc(numbers, notFinite); at >= 0 && first[i] == nil {
						first[i] = &fault{status, []string{"value", "gradient", "second derivative"}[k], numbers[at], p}
					}
				}
			}
		}
	}
	if e.C > 0 {
		look(e.everyRow, Fail)
		look(slices.Values(slices.Concat(e.On, e.Boundary, e.States(200))), Fail)
		look(slices.Values(e.Near), Warn)
	}
	var out []Finding
	for i, f := range first {
		if f == nil {
			continue
		}
		message := fmt.Sprintf("its %s is %v at %s", f.what, f.value, f.at.From)
		if explain := e.Set.Capabilities().Fault; explain != nil {
			if fault := explain(f.at.X); fault != nil {
				message += ". At that point " + fault.Error()
			}
		}
		out = append(out, Finding{Component: e.Names[i], Status: f.status, Message: message,
			Numbers: Numbers{"value": f.value}})
	}
	if n := len(e.Data)/e.D + len(e.On); n == 0 {
		return []Finding{{Status: Warn, Message: "no point is known to look at"}}
	}
	if out == nil {
		out = []Finding{{Status: Pass, Message: fmt.Sprintf("values and derivatives are finite at %s",
			text.Counted(len(e.Data)/e.D+len(e.On)+len(e.Near)+len(e.Boundary)+len(e.States(200)), "point", "points"))}}
	}
	return out
}

// everyRow yields all rows of the data. There may be too many to hold with their names.
func (e *Evidence) everyRow(yield func(evidence.Point) bool) {
	for i := range len(e.Data) / e.D {
		if !yield(evidence.Point{X: e.Data[i*e.D : (i+1)*e.D], From: "data row " + strconv.Itoa(i)}) {
			return
		}
	}
}

func notFinite(v float64) bool { return !finite(v) }

// feasibility measures how far the data is from Σ, by component and quantile.
// Training refuses data that is further than the tolerance.
func feasibility(e *Evidence) []Finding {
	n := len(e.Data) / e.D
	if n == 0 {
		return []Finding{{Status: Warn,
			Message: "no data was given: the checks look at points that random starts reach"}}
	}
	if e.C == 0 {
		return []Finding{{Message: "there is nothing to violate"}}
	}
	values := constraint.Values(e.Set, e.Data[:n*e.D])
	// How far row i is from component a, what it may be, and what rounding explains: in the
	// component's own unit, or where no tolerance is given in the data's.
	far, limit, rounded, unit := values, e.in.Tolerance, e.in.Tolerance, ""
	excess := func(i, a int) float64 { return constraint.Excess(values[i*e.C+a], a < e.M) }
	var data *evidence.Feasibility // nil with a tolerance
	if e.in.Tolerance == 0 {
		data, far = e.measure()
		limit, rounded = evidence.Far*data.Spread, data.Rounded()*data.Spread
		unit = fmt.Sprintf(" (%g %% of the spread of a coordinate)", 100*evidence.Far)
	}
	distance := func(i, a int) float64 { return constraint.Excess(far[i*e.C+a], a < e.M) }
	feasible := 0
	for i := range n {
		bad := false
		for a := range e.C {
			bad = bad || distance(i, a) > limit
		}
		if !bad {
			feasible++
		}
	}
	var out []Finding
	for a, v := range metric.Violations(e.Names, values, n, e.M) {
		bad, beside, first, worst := 0, 0, -1, 0
		for i := range n {
			s := distance(i, a)
			if s > rounded {
				beside++
			}
			if s > distance(worst, a) {
				worst = i
			}
			if s > limit {
				bad++
				if first < 0 {
					first = i
				}
			}
		}
		f := Finding{Component: v.Component, Numbers: Numbers{
			"median": float64(v.Median), "q90": float64(v.Q90), "q99": float64(v.Q99), "worst": float64(v.Worst),
			"worst_row": float64(v.WorstSample), "violating": float64(bad) / float64(n), "tolerance": limit}}
		f.Message = fmt.Sprintf("violated by %.2g (median), %.2g (99 %%), %.2g (worst, row %d)", v.Median, v.Q99,
			v.Worst, v.WorstSample)
		if data != nil {
			f.Numbers["distance"] = distance(worst, a)
		}
		switch {
		case bad > 0:
			f.Status = Fail
			f.Numbers["first_row"] = float64(first)
			f.Message += fmt.Sprintf(": %d of %d rows are beyond the tolerance %.4g%s, first row %d with %.3g", bad, n,
				limit, unit, first, distance(first, a))
			if data != nil && finite(distance(first, a)) {
				f.Message += fmt.Sprintf(" (a violation of %.3g); landing refine brings rows that are near to Σ",
					excess(first, a))
			}
		case beside > 0:
			f.add(Warn, ": %d of %d rows are beside Σ by more than double precision explains, row %d the most, "+
				"%.3g away, %.2g %% of the spread of a coordinate; landing refine brings them to it", beside, n,
				worst, distance(worst, a), 100*distance(worst, a)/data.Spread)
		case v.Worst == 0:
			f.Message = "no row violates it"
		}
		out = append(out, f)
	}
	if mean, spread := metric.Spread(e.Data, e.D); spread > 0x1p-48*dense.Norm(mean) &&
		0x1p-52*dense.Norm(mean) > 1e-9*spread { // rows that are all alike have no spread
		ratio := dense.Norm(mean) / spread
		f := Finding{Status: Warn, Numbers: Numbers{"mean_over_spread": ratio}}
		f.Message = fmt.Sprintf("rows are %.2g times as far from 0 as from each other, so double precision resolves "+
			"%.1g of their spread: subtract their mean from the data, and move the set alike", ratio, 0x1p-52*ratio)
		if 0x1p-52*ratio > 1e-6 {
			f.Status = Fail
		}
		out = append(out, f)
	}
	if feasible == 0 {
		out = append([]Finding{{Status: Fail, Message: fmt.Sprintf("no row of the data is feasible to %.4g%s: are its "+
			"columns and units those of the constraints?", limit, unit)}}, out...)
	} else if data != nil && feasible == n {
		if first, worst, rows := data.Beyond(evidence.Far); rows > 0 {
			out = append([]Finding{{Status: Fail, Message: fmt.Sprintf("%d of %d rows are too far from all "+
				"constraints together: the first, row %d, %s; the most, row %d, %s", rows, n, first,
				data.Tell(first), worst, data.Tell(worst))}}, out...)
		}
	}
	return out
}

// measure measures how far the data is from Σ, and each row from each component alone.
func (e *Evidence) measure() (data *evidence.Feasibility, far []float64) {
	const block = 64
	n := len(e.Data) / e.D
	data, far = evidence.Feasible(e.ctx, e.Set, e.Data[:n*e.D], e.pool), make([]float64, n*e.C)
	rulers := make([]*geometry.Ruler, e.pool.Workers())
	_ = e.pool.DoUntil(e.ctx, parallel.Blocks(n, block), func(worker, b int) {
		if rulers[worker] == nil {
			rulers[worker] = geometry.NewRuler(e.Set)
		}
		lo, hi := parallel.Block(b, n, block)
		for i := lo; i < hi; i++ {
			copy(far[i*e.C:], rulers[worker].Singles(e.Data[i*e.D:(i+1)*e.D]))
		}
	})
	return data, far
}

// repeats counts rows that equal an earlier one. A few are of no harm.
func repeats(e *Evidence) []Finding {
	const few = 0.01
	r := discover.Duplicates(e.Data, len(e.Data)/e.D, e.D)
	if r.Count == 0 {
		return nil
	}
	share := float64(r.Count) / float64(r.Looked)
	f := Finding{Numbers: Numbers{"repeated": share, "first_row": float64(r.First[0][0])}, Message: fmt.Sprintf(
		"%d of %d rows equal an earlier one, as row %d does row %d", r.Count, r.Looked, r.First[0][0], r.First[0][1])}
	if share > few {
		f.add(Warn, ": held-out rows may be copies of training rows, and then distances to them do not "+
			"show memorisation")
	}
	return []Finding{f}
}
