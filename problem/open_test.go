package problem

import (
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// An arm's open places have names of their own, which formulas can use and the resolved problem
// has; those that are given win. Chains, which have no data, are refused such a set.
func TestOpenPlacesAreNamed(t *testing.T) {
	recipe, _, err := Source("arm")
	testkit.OK(t, err)
	tip := []string{"start_x", "start_y", "start_z"}
	for _, c := range []struct {
		set  []string
		want []string
	}{
		{[]string{"set.start={position: condition}"}, tip},
		{[]string{"set.start={position: condition}", "condition.columns=[a, b, c]"}, []string{"a", "b", "c"}},
		{[]string{"set.start={position: condition}", "condition.drop=0.1"}, tip},
		{[]string{"set.goal={joints: condition}", "potential={kind: formula, expr: goal_cos_panda_joint1 + " +
			"goal_sin_panda_joint7}"}, []string{
			"goal_cos_panda_joint1", "goal_cos_panda_joint2", "goal_cos_panda_joint3", "goal_cos_panda_joint4",
			"goal_cos_panda_joint5", "goal_cos_panda_joint6", "goal_cos_panda_joint7",
			"goal_sin_panda_joint1", "goal_sin_panda_joint2", "goal_sin_panda_joint3", "goal_sin_panda_joint4",
			"goal_sin_panda_joint5", "goal_sin_panda_joint6", "goal_sin_panda_joint7"}},
		{[]string{"set={robot: '', dh: [{d: 1}, {kind: prismatic, limits: [0, 1]}], path: [], obstacles: [], " +
			"start: {}, goal: {joints: condition}}"}, []string{"goal_cos_joint1", "goal_sin_joint1", "goal_joint2"}},
	} {
		p, err := Load(recipe, "", "", ParseSettings(c.set...))
		if err != nil {
			t.Errorf("%v: %v", c.set, err)
			continue
		}
		if _, err := p.Assemble(); err != nil || !slices.Equal(p.Condition.Columns, c.want) {
			t.Errorf("%v: %v, %v", c.set, p.Condition.Columns, err)
		}
		again, err := Load(p.Resolved(), "", "", nil)
		if err != nil || !slices.Equal(again.Condition.Columns, c.want) {
			t.Errorf("%v, resolved: %v, %v", c.set, again.Condition.Columns, err)
		}
	}
	p := testkit.Must(Load(recipe, "", "", ParseSettings("set.goal={position: condition}")))
	testkit.Refused(t, testkit.Err(p.BuildChains()),
		"condition.columns is [goal_x goal_y goal_z]; expected none", "chains")
}

// In products and intersections open numbers have the names on which the sets that see them agree;
// where others would follow them it is refused.
func TestOpenPlacesOfCompounds(t *testing.T) {
	const arm = "{kind: arm, robot: panda, waypoints: 2, goal: {position: condition}}"
	const line = "{kind: euclidean, dim: 2}"
	names := []string{"goal_x", "goal_y", "goal_z"}
	for _, c := range []struct{ set, fault string }{
		{"{product: [" + line + ", " + arm + "]}", ""},
		{"{all: [" + arm + ", " + arm + "]}", ""},
		{"{all: [" + arm + ", {dim: 28, inequality: [{name: up, expr: 'goal_z >= x[0] - 3'}]}]}", ""},
		{"{all: [{dim: 28, inequality: [{name: up, expr: 'x[0] <= 2'}]}, " + arm + "]}", ""},
		{"{all: [" + arm + ", {dim: 28, inequality: [{name: up, expr: 'goal_w >= 0'}]}]}",
			`unknown name "goal_w"; did you mean "goal_x"?`},
		{"{product: [" + arm + ", " + line + "]}", "expected a set whose open numbers stand last, such as a product " +
			"with the factor that has them at its end: coordinate 28 of product of 2 waypoints of panda"},
	} {
		p, err := Load([]byte("name: open\nset: "+c.set+"\n"), "", "", nil)
		if err == nil {
			_, err = p.Assemble()
		}
		if c.fault != "" {
			testkit.Refused(t, err, c.fault, c.set)
			continue
		}
		if err != nil || !slices.Equal(p.Condition.Columns, names) {
			t.Errorf("%s: %v", c.set, err)
		}
	}
}
