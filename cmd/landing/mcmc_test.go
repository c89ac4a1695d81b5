package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Notes name the moves that fail, and only moves that can: the splitting refuses nothing, its flights turn back at the
// cap's edge; chmc refuses. On a sphere without edges neither gives a note.
func TestSampleTells(t *testing.T) {
	dir := t.TempDir()
	const rest = "sample: {step: 0.2, chains: 8, draws: 30, burn: 10, thin: 1, max_rhat: 100, max_failed: 1}\n"
	for name, text := range map[string]string{
		"cap.yaml":    "set: {kind: cap, axis: [0, 0, 1], height: 0.3}\n",
		"sphere.yaml": "set: {kind: sphere, dim: 3}\n",
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text+rest), 0o600))
	}
	for _, c := range []struct{ problem, method, potential, want string }{
		{"cap.yaml", "splitting", "", `^step 0.2; [1-9][0-9.]* % of flights turned back$`},
		{"sphere.yaml", "splitting", "", `^step 0.2$`},
		{"sphere.yaml", "chmc", "[9, 0, 0]", `^step 0.2; Metropolis refused [1-9][0-9.]* % of moves$`},
	} {
		args := []string{"mcmc", c.problem, "--force", "--set", "sample.leaps=1", "--set", "sample.method=" + c.method}
		if c.potential != "" {
			args = append(args, "--set", "potential.kind=linear", "--set", "potential.b="+c.potential)
		}
		lines := strings.Split(ok(t, dir, args...).stdout, "\n")
		if len(lines) < 2 || !regexp.MustCompile(c.want).MatchString(lines[1]) {
			t.Errorf("%s, %s: %q, want %s", c.problem, c.method, lines, c.want)
		}
	}
}

// A file of few decimals takes draws off Σ, which is said; one of all digits does not.
func TestSampleRounds(t *testing.T) {
	dir := t.TempDir()
	const text = `data: {kind: molecule}
set:
  kind: molecule
  atoms: 3
  distances: [{name: bond, atoms: [0, 1], value: 1.5}]
potential: {kind: quadratic, center: [0, 0, 0, 1, 1, 1, 2, 0, 0]}
sample: {step: 0.1, chains: 2, draws: 3, burn: 5, thin: 1, max_rhat: 1e9}
`
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text), 0o600))
	for ext, rounds := range map[string]bool{"pdb": true, "PDB": true, "xyz": false, "npy": false} {
		r := ok(t, dir, "mcmc", "p.yaml", "-o", "draws."+ext)
		if told := strings.Contains(r.stderr, "note: draws."+ext+` rounds coordinates: in it "bond" is violated by `+
			"up to 0.0"); told != rounds {
			t.Errorf("%s: %s", ext, r.stderr)
		}
	}
}
