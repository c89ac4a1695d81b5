package check

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// finiteness looks for values, gradients and second derivatives that are NaN or infinite: at data, on Σ and along
// forward paths they end a run; near Σ they may.
func finiteness(e *Evidence) []Finding {
	type fault struct {
		status Status
		what   string
		value  float64
		at     evidence.Point
	}
	first := make([]*fault, e.C)
	probe := e.Probe()
	look := func(points []evidence.Point, status Status) {
		for _, p := range points {
			probe.At(p.X)
			for i := range e.C {
				if first[i] != nil {
					continue
				}
				if v := probe.Val[i]; !finite(v) {
					first[i] = &fault{status, "value", v, p}
				} else if v, bad := notFinite(probe.Grad(i)); bad {
					first[i] = &fault{status, "gradient", v, p}
				}
			}
			if !e.Process.Curvature {
				continue
			}
			if probe.HessianVectors != nil {
				hv := make([]float64, e.C*e.D)
				probe.HessianVectors(hv, p.X, e.Direction(0, evidence.ForFiniteness), 1)
				for i := range e.C {
					if v, bad := notFinite(hv[i*e.D : (i+1)*e.D]); bad && first[i] == nil {
						first[i] = &fault{status, "second derivative", v, p}
					}
				}
			}
		}
	}
	look(slices.Concat(e.everyRow(), e.On, e.Boundary, e.States(200)), Fail)
	look(e.Near, Warn)
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

// everyRow returns all rows of the data.
func (e *Evidence) everyRow() []evidence.Point {
	out := make([]evidence.Point, len(e.Data)/e.D)
	for i := range out {
		out[i] = evidence.Point{X: e.Data[i*e.D : (i+1)*e.D], From: fmt.Sprintf("data row %d", i)}
	}
	return out
}

func notFinite(v []float64) (float64, bool) {
	i := slices.IndexFunc(v, func(x float64) bool { return !finite(x) })
	if i < 0 {
		return 0, false
	}
	return v[i], true
}
