package sets

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Loads are coordinates, numbers of the file, or given under names that formulas can use.
func TestGrid(t *testing.T) {
	const small = "case: ../../domain/grid/testdata/small.m"
	for _, c := range []struct {
		keys, held, err string
		dim             int
	}{
		{small, "", "", 19},
		{small + ", loads: fixed", "", "", 13},
		{small + ", loads: condition", "Pd_20 Pd_30 Pd_40 Qd_20 Qd_30 Qd_40", "", 19},
		{"loads: free", "", "set.case is <nil>; expected a MATPOWER case file", 0},
		{"case: grid_test.go", "", "grid_test.go:1: ", 0},
		{"case: none.m", "", "set.case: open none.m: no such file", 0},
	} {
		var s Set
		testkit.OK(t, yaml.UnmarshalWithOptions([]byte("{kind: grid, "+c.keys+"}"), &s, yaml.Strict()))
		set, err := s.Build("set")
		if c.err != "" {
			testkit.Refused(t, err, c.err)
			continue
		}
		testkit.OK(t, err)
		own := set.Capabilities()
		testkit.Equal(t, strings.Join(own.HeldNames, " "), c.held, c.keys)
		testkit.Equal(t, len(own.Held), len(strings.Fields(c.held)), c.keys)
		testkit.Equal(t, set.Dim(), c.dim, c.keys)
	}
}
