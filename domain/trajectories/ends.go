package trajectories

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
)

// ends reads a start and a goal of motions on a set that leaves them open: three numbers in metres
// where a point is given, or the values of the joints that move, in radians and metres, with commas
// between them. The result stands behind the way points as the set has it.
func ends(set constraint.Set, start, goal string) (out []float64, err error) {
	m := motionOf(set)
	if m == nil || m.given == nil {
		return nil, errors.New("--start and --goal: the set of the run is no arm that leaves start or goal open " +
			"(set.start, set.goal: position: condition or joints: condition)")
	}
	said := map[string]string{"start": start, "goal": goal}
	for _, g := range m.given {
		name, text := g.name, said[g.name]
		delete(said, g.name)
		want, n := "three numbers in metres, where the point is to be", 3
		if g.point == nil {
			n = m.arm.Moving()
			want = fmt.Sprintf("%d numbers, values of the joints in radians (metres of sliding ones)", n)
		}
		if text == "" {
			return nil, fmt.Errorf("the run leaves its %s open: expected --%[1]s with %s", name, want)
		}
		parts := strings.Split(text, ",")
		values := make([]float64, len(parts))
		for i, part := range parts {
			v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || len(parts) != n {
				return nil, fmt.Errorf("--%s is %q; expected %s, with commas between them", name, text, want)
			}
			values[i] = v
		}
		if g.point == nil {
			x := make([]float64, m.size)
			m.arm.Coordinates(x, values)
			values = x
		}
		out = append(out, values...)
	}
	for _, name := range []string{"start", "goal"} {
		if text := said[name]; text != "" {
			return nil, fmt.Errorf("--%s is %q; expected none: the set of the run does not leave its %[1]s open", name,
				text)
		}
	}
	return out, nil
}
