package check

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/langevin/evidence"
	"github.com/landing-diffusion/landing/learn/choose"
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
	on, rows := evidence.OnWalls(e.Running.Walked(), e.Data)
	var out []Finding
	for i := e.M; i < e.C; i++ {
		if i >= e.walls() {
			out = append(out, Finding{Component: e.Names[i],
				Message: "paths do not keep to it: the last state of a sample is brought there"})
			continue
		}
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

// walls returns where components end that paths keep to.
func (e *Evidence) walls() int { return len(constraint.Components(e.Running.Walked())) }

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

// repulsion places ε between sticking to the boundary and overshoot; with elastic walls,
// which have no ε, it holds steps against windows.
func repulsion(e *Evidence) []Finding {
	if e.C == e.M || !e.Running.Elastic() && e.Running.Method.Projected() || e.Running.Validate() != nil ||
		len(e.On) == 0 {
		return nil // neither ε nor the depth of windows matters, or nothing is known to judge it by
	}
	ε, windows := e.Process.Repulsion, choose.Windows(e.Evidence)
	var out []Finding
	least, most := math.Inf(1), 0.0
	for j := e.M; j < e.walls(); j++ {
		w := windows[j]
		if w.Step == 0 || e.flat[j] {
			continue
		}
		if w.Far() {
			out = append(out, Finding{Component: e.Names[j], Numbers: Numbers{"away": w.Away, "step": w.Step},
				Message: fmt.Sprintf("no point comes near its edge: −g is at least %.2g, a step moves it by %.2g",
					w.Away, w.Step)})
			continue
		}
		least, most = min(least, w.Best), max(most, w.Best)
		r := ε / w.Best
		f := Finding{Component: e.Names[j], Numbers: Numbers{"epsilon": ε, "recommended": w.Best, "ratio": r,
			"width": w.Depth, "step": w.Step}}
		advice := fmt.Sprintf("ε = %.2g suits this component", w.Best)
		switch {
		case e.Running.Elastic() && w.Depth > 0 && w.Step > w.Depth:
			f.say(Warn, "a step moves it by %.2g and its window is only %.2g deep: elastic walls mirror it to and fro "+
				"there, or turn it back; take smaller steps (a larger N, or a smaller σ_max)", w.Step, w.Depth)
		case e.Running.Elastic():
			f.Message = fmt.Sprintf("elastic walls mirror steps at its edge; a step moves it by %.2g", w.Step)
		case w.Best > choose.WideShare*w.Depth && w.Depth > 0:
			f.say(Warn, "a step moves it by %.2g and its window is only %.2g deep: no ε helps, take "+
				"smaller steps (a larger N, or a smaller σ_max)", w.Step, w.Depth)
		case ε > choose.WideShare*w.Depth && w.Depth > 0:
			f.say(Warn, "ε = %.3g pushes points through %.0f %% of its window, %.2g deep; %s", ε,
				100*min(ε/w.Depth, 1), w.Depth, advice)
		case r < choose.Sticky:
			f.say(Warn, "ε = %.3g is %.2g of a typical step: points will stick to its edge; %s", ε, r, advice)
		case r > choose.Overshoot:
			f.say(Warn, "ε = %.3g is %.3g typical steps: pushed points overshoot and leave its edge "+
				"empty; %s", ε, r, advice)
		default:
			f.Message = fmt.Sprintf("ε = %.3g is %.2g of a typical step: neither sticking nor overshoot", ε, r)
		}
		out = append(out, f)
	}
	if e.Running.Elastic() {
		if ε > 0 {
			out = append(out, Finding{Status: Warn, Numbers: Numbers{"epsilon": ε}, Message: fmt.Sprintf(
				"ε = %.3g is not used: process.walls is elastic, and only walls of the paper repel", ε)})
		}
		return out
	}
	if most > 30*least {
		out = append(out, Finding{Status: Warn, Numbers: Numbers{"least": least, "most": most}, Message: fmt.Sprintf(
			"one ε serves all inequalities, and they want from %.2g to %.2g: rescale the components to like gradients",
			least, most)})
	}
	return out
}
