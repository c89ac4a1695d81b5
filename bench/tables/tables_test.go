package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/parallel"
)

// Every table prints its rows, small.
func TestTables(t *testing.T) {
	for name, c := range map[string]struct {
		rows int
		says string
	}{
		"boundary":  {36, "OLLA explicit=true τ=0.005 γ=0 ε=0.25 steps:  half line"},
		"walls":     {120, "cap, ULLA τ=0.1 γ=0.2:  elastic mean"},
		"repulsion": {30, "ULLA ρ=1 γ=10 r=6: distance"},
		"offsets":   {6, "ULLA, α = 15 (0: implicit), ρ = 2.74: mean of max |h|"},
		"laws":      {2, "so10-5, 40 draws of the law: to all data 0."},
	} {
		t.Run(name, func(t *testing.T) {
			o := options{small: true, pool: parallel.New(2)}
			defer o.pool.Close()
			var out bytes.Buffer
			if err := show(t.Context(), &out, o, []string{name}); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(out.String(), "\n"); n != c.rows || !strings.Contains(out.String(), c.says) {
				t.Errorf("%d rows, want %d, one with %q:\n%s", n, c.rows, c.says, &out)
			}
		})
	}
}

func TestUnknownTable(t *testing.T) {
	for _, names := range [][]string{nil, {"offset"}} {
		if err := show(t.Context(), nil, options{}, names); err == nil ||
			!strings.Contains(err.Error(), "boundary, repulsion") {
			t.Errorf("%v: %v", names, err)
		}
	}
}
