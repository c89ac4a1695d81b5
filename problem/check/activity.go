package check

import (
	"fmt"

	"github.com/landing-diffusion/landing/langevin/evidence"
)

// activity reports how often each inequality is active, g ≥ 0, on the data and along forward paths. One that nearly
// always is acts as an equality: it holds points at its edge instead of keeping them inside. Rows on the edge itself
// are a part of the law that has no density.
func activity(e *Evidence) []Finding {
	const nearly = 0.9
	if e.C == e.M {
		return nil
	}
	where, from := "the data", e.Sample
	if len(from) == 0 {
		where, from = "points on Σ", e.On
	}
	data, exact := e.share(from)
	paths, _ := e.share(e.States(1000))
	on, rows := evidence.OnWalls(e.Set, e.Data)
	var out []Finding
	for i := e.M; i < e.C; i++ {
		f := Finding{Component: e.Names[i], Numbers: Numbers{"data": data[i], "paths": paths[i]}}
		f.Message = fmt.Sprintf("active at %s of %s, %s of forward states", percent(data[i]), where, percent(paths[i]))
		if data[i] > nearly || paths[i] > nearly || exact[i] {
			f.add(Warn, ": it acts as an equality")
			if exact[i] {
				f.Message += ", and is 0 at all of them: write it as one, or leave it out if others imply it"
			} else {
				f.Message += "; look at its sign and units"
			}
		} else if k := on[i-e.M]; evidence.Walled(k, rows) {
			f.Status = Warn
			f.Numbers["on_edge"] = float64(k) / float64(rows)
			f.Message += fmt.Sprintf(": %s of the rows lie on its edge exactly, and samples, which have a density, "+
				"will lie beside it. Where that matters, learn those rows apart, on the set with %s = 0",
				percent(float64(k)/float64(rows)), e.Names[i])
		}
		out = append(out, f)
	}
	return out
}

// share returns at which share of points each component is at or above 0, NaN
// without points, and whether it is 0 to round-off at all of them.
func (e *Evidence) share(points []evidence.Point) (share []float64, zero []bool) {
	share, zero = make([]float64, e.C), make([]bool, e.C)
	for i := range zero {
		zero[i] = len(points) > 0
	}
	probe := e.Probe()
	for _, p := range points {
		probe.Values(probe.Val, p.X, 1)
		for i, v := range probe.Val {
			if v >= 0 {
				share[i]++
			}
			zero[i] = zero[i] && v < evidence.Tolerance && v > -evidence.Tolerance
		}
	}
	for i := range share {
		share[i] /= float64(len(points)) // 0/0 is NaN
	}
	return share, zero
}

func percent(share float64) string {
	if !finite(share) {
		return "–"
	}
	return fmt.Sprintf("%.3g %%", 100*share)
}
