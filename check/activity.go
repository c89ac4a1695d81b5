package check

import "fmt"

// activity reports how often each inequality is active, g ≥ 0, on the data and
// along forward paths. One that nearly always is acts as an equality: it holds
// points at its edge instead of keeping them inside.
func activity(s *subject) []Finding {
	const nearly = 0.9
	if s.c == s.m {
		return nil
	}
	where, from := "the data", s.data
	if len(from) == 0 {
		where, from = "points on Σ", s.on
	}
	data, exact := s.share(from)
	paths, _ := s.share(s.states(1000))
	var out []Finding
	for i := s.m; i < s.c; i++ {
		f := Finding{Component: s.names[i], Numbers: Numbers{"data": data[i], "paths": paths[i]}}
		f.Message = fmt.Sprintf("active at %s of %s, %s of forward states", percent(data[i]), where, percent(paths[i]))
		if data[i] > nearly || paths[i] > nearly || exact[i] {
			f.Status = Warn
			f.Message += ": it acts as an equality"
			if exact[i] {
				f.Message += ", and is 0 at all of them: write it as one, or leave it out if others imply it"
			} else {
				f.Message += "; look at its sign and units"
			}
		}
		out = append(out, f)
	}
	return out
}

// share returns at which share of points each component is at or above 0, NaN
// without points, and whether it is 0 to round-off at all of them.
func (s *subject) share(points []point) (share []float64, zero []bool) {
	share, zero = make([]float64, s.c), make([]bool, s.c)
	for i := range zero {
		zero[i] = len(points) > 0
	}
	for _, p := range points {
		s.eval.Values(s.val, p.x, 1)
		for i, v := range s.val {
			if v >= 0 {
				share[i]++
			}
			zero[i] = zero[i] && v < onΣ && v > -onΣ
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
