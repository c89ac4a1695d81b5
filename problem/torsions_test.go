package problem

import (
	"errors"
	"strings"
	"testing"
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
		return Load([]byte(strings.Replace(file, "%", set, 1)), origin, "", []string{"process.steps=10"})
	}
	p, err := load("template: ../examples/ring/ring.xyz, bonds: template")
	if err != nil {
		t.Fatal(err)
	}
	proc, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Method(proc)
	if err != nil {
		t.Fatal(err)
	}
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
	if len(about) != 12 {
		t.Errorf("torsions about %v", about)
	}
	delete(p.Network.Options, "torsions")
	if c := p.NetworkConfig(m, proc.Set); c.Torsions != nil {
		t.Errorf("torsions of a network that reads none: %v", c.Torsions)
	}
	if p, err = load("atoms: 12, distances: [{atoms: [0, 1], value: 1.5}]"); err != nil {
		t.Fatal(err)
	}
	_, err = p.Build()
	var key *KeyError
	if !errors.As(err, &key) || key.Key != "network.kind" || !strings.Contains(key.Want, "options.torsions") {
		t.Errorf("a set that knows of no bonds: %v", err)
	}
}
