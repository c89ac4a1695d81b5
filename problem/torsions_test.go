package problem

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// A network that reads torsions is given those of the set's template, all twelve of a ring; where
// the set knows of no bonds, the file is refused.
func TestNetworkOfTorsions(t *testing.T) {
	const (
		file = "name: mine\ndata: {kind: molecule, path: x.npy}\nset: {kind: molecule, %}\n" +
			"network: {kind: aligned, options: {torsions: 3}}\nprior: empirical\n"
		origin = "mine.yaml"
	)
	load := func(set string) (*Problem, error) {
		return Load([]byte(strings.Replace(file, "%", set, 1)), origin, "", ParseSettings("process.steps=10"))
	}
	p := testkit.Must(load("template: ../examples/ring/ring.xyz, bonds: template"))
	proc := testkit.Must(p.Build())
	m, err := p.Method(proc)
	testkit.OK(t, err)
	c := p.NetworkConfig(m, proc.Set)
	if len(c.Torsions) != 12 {
		t.Fatalf("torsions %v", c.Torsions)
	}
	about := map[[2]int]bool{} // bonds
	for _, q := range c.Torsions {
		for i := range 3 {
			if d := (q[i+1] - q[i] + 12) % 12; d != 1 && d != 11 {
				t.Errorf("torsion %v: atoms %d and %d are not bonded", q, q[i], q[i+1])
			}
		}
		about[[2]int{min(q[1], q[2]), max(q[1], q[2])}] = true
	}
	testkit.Equal(t, len(about), 12, "torsions about %v", about)
	delete(p.Network.Options, "torsions")
	if c := p.NetworkConfig(m, proc.Set); c.Torsions != nil {
		t.Errorf("torsions of a network that reads none: %v", c.Torsions)
	}
	p = testkit.Must(load("atoms: 12, distances: [{atoms: [0, 1], value: 1.5}]"))
	_, err = p.Build()
	var key *KeyError
	if !errors.As(err, &key) || key.Key != "network.kind" || !strings.Contains(key.Want, "options.torsions") {
		t.Errorf("a set that knows of no bonds: %v", err)
	}
}

// Options are numbers by name, and a setting or a variant that writes one leaves the others; one that
// chooses another kind begins anew.
func TestOptionsAreKept(t *testing.T) {
	const file = "name: mine\nnetwork: {kind: aligned, options: {pairs: 2, torsions: 1}}\n" +
		"variants: {wide: {network: {options: {pairs: 5}}}, other: {network: {kind: temporal, options: {levels: 1}}}}\n"
	for _, c := range []struct {
		variant  string
		settings []string
		want     string
	}{
		{"", nil, "map[pairs:2 torsions:1]"},
		{"", []string{"network.options.torsions=3"}, "map[pairs:2 torsions:3]"},
		{"", []string{"network.options.torsions=3", "network.options.pairs=0"}, "map[pairs:0 torsions:3]"},
		{"", []string{"network.width=8"}, "map[pairs:2 torsions:1]"},
		{"wide", nil, "map[pairs:5 torsions:1]"},
		{"wide", []string{"network.options.torsions=4"}, "map[pairs:5 torsions:4]"},
		{"other", nil, "map[levels:1]"},
	} {
		p := testkit.Must(Load([]byte(file), "mine.yaml", c.variant, ParseSettings(c.settings...)))
		testkit.Equal(t, fmt.Sprint(p.Network.Options), c.want, "variant %q, %v", c.variant, c.settings)
	}
}
