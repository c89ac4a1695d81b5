package check

import (
	"fmt"
	"slices"
)

// finiteness looks for values, gradients and second derivatives that are NaN or
// infinite: at data, on Σ and along forward paths they end a run; near Σ they
// may.
func finiteness(s *subject) []Finding {
	type fault struct {
		status Status
		what   string
		value  float64
		at     point
	}
	first := make([]*fault, s.c)
	look := func(points []point, status Status) {
		for _, p := range points {
			s.at(p.x)
			for i := range s.c {
				if first[i] != nil {
					continue
				}
				if v := s.val[i]; !finite(v) {
					first[i] = &fault{status, "value", v, p}
				} else if v, bad := notFinite(s.grad(i)); bad {
					first[i] = &fault{status, "gradient", v, p}
				}
			}
			if !s.Process.Curvature {
				continue
			}
			if s.eval.HessianVectors != nil {
				hv := make([]float64, s.c*s.d)
				s.eval.HessianVectors(hv, p.x, s.direction(0, 9), 1)
				for i := range s.c {
					if v, bad := notFinite(hv[i*s.d : (i+1)*s.d]); bad && first[i] == nil {
						first[i] = &fault{status, "second derivative", v, p}
					}
				}
			}
		}
	}
	look(s.everyRow(), Fail)
	look(s.on, Fail)
	look(s.boundary, Fail)
	look(s.states(200), Fail)
	look(s.near, Warn)
	var out []Finding
	for i, f := range first {
		if f == nil {
			continue
		}
		message := fmt.Sprintf("its %s is %v at %s", f.what, f.value, f.at.from)
		if explain := s.set.Capabilities().Fault; explain != nil {
			if fault := explain(f.at.x); fault != nil {
				message += ". At that point " + fault.Error()
			}
		}
		out = append(out, Finding{Component: s.names[i], Status: f.status, Message: message, Numbers: Numbers{"value": f.value}})
	}
	if n := len(s.Data)/s.d + len(s.on); n == 0 {
		return []Finding{{Status: Warn, Message: "no point is known to look at"}}
	}
	if out == nil {
		out = []Finding{{Status: Pass, Message: fmt.Sprintf("values and derivatives are finite at %s",
			count(len(s.Data)/s.d+len(s.on)+len(s.near)+len(s.boundary)+len(s.states(200)), "point", "points"))}}
	}
	return out
}

// everyRow returns all rows of the data.
func (s *subject) everyRow() []point {
	out := make([]point, len(s.Data)/s.d)
	for i := range out {
		out[i] = point{s.Data[i*s.d : (i+1)*s.d], fmt.Sprintf("data row %d", i)}
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
