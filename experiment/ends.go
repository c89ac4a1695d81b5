package experiment

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/trajectory"
)

// Ends returns, as Conditions reads it, the condition of motions from a start to a goal, of a run
// whose set leaves them open: three numbers in metres for a position, or the values of the joints
// that move in radians and metres, with commas between them; empty for a place that is not open.
// Errors are *ConditionError.
func (l *Loaded) Ends(start, goal string) (string, error) {
	fault := func(format string, args ...any) (string, error) {
		return "", &ConditionError{fmt.Sprintf(format, args...)}
	}
	set, ok := constraint.As[*trajectory.Set](l.Process.Set)
	if _, beside := constraint.Free(l.Process.Set); !ok || beside || l.Condition == nil ||
		len(set.Given()) != len(l.Condition.Names) {
		return fault("--start and --goal: the set of the run is no arm that leaves start or goal open " +
			"(set.start, set.goal: position: condition or joints: condition)")
	}
	spec := set.Spec()
	var row []float64
	for _, p := range []struct {
		name, text string
		open       trajectory.Given
	}{{"start", start, spec.Start.Given}, {"goal", goal, spec.Goal.Given}} {
		want, n := "three numbers in metres, where the point is to be", 3
		if p.open.Joints {
			n = spec.Arm.Moving()
			want = fmt.Sprintf("%d numbers, values of the joints in radians (metres of sliding ones)", n)
		}
		switch {
		case !p.open.Joints && p.open.Position == nil:
			if p.text != "" {
				return fault("--%s is %q; expected none: the set of the run does not leave its %[1]s open", p.name,
					p.text)
			}
			continue
		case p.open.Joints && p.open.Position != nil:
			return fault("--%s: the set of the run leaves both joints and a position open there; --condition gives "+
				"them all", p.name)
		case p.text == "":
			return fault("the run leaves its %s open: expected --%[1]s with %s", p.name, want)
		}
		parts := strings.Split(p.text, ",")
		values := make([]float64, len(parts))
		for i, part := range parts {
			v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || len(parts) != n {
				return fault("--%s is %q; expected %s, with commas between them", p.name, p.text, want)
			}
			values[i] = v
		}
		if p.open.Joints {
			x := make([]float64, spec.Arm.Dim())
			spec.Arm.Coordinates(x, values)
			values = x
		}
		row = append(row, values...)
	}
	out := make([]string, len(row))
	for k, v := range row {
		out[k] = l.Condition.Names[k] + "=" + strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strings.Join(out, ","), nil
}
