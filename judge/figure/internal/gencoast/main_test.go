package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Two arcs make a square: the second is used backwards. A third is a hole, stored
// anticlockwise, which has to be turned round.
func TestLand(t *testing.T) {
	var topo topology
	testkit.OK(t, json.Unmarshal([]byte(`{
		"transform": {"scale": [0.1, 0.01], "translate": [-10, 5]},
		"objects": {"land": {"type": "MultiPolygon", "arcs": [[[0, -2], [2]]]}},
		"arcs": [
			[[0, 0], [100, 0], [0, 1000]],
			[[0, 0], [0, 1000], [100, 0]],
			[[20, 200], [10, 0], [0, 100], [-10, -100]]
		]}`), &topo))
	rings := testkit.Must(topo.land())
	var b strings.Builder
	testkit.OK(t, write(&b, rings))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return l[0] == '#' })
	want := []string{"-10,5,0,5,0,15,-10,15,-10,5", "-8,7,-7,8,-7,7,-8,7"}
	testkit.EqualSlices(t, lines, want)
}

func TestClosePole(t *testing.T) {
	got := testkit.Must(closePole([]point{{0, -70}, {90, -70}, {170, -70}, {-170, -74}, {-90, -70}, {0, -70}}))
	want := []point{{0, -70}, {90, -70}, {170, -70}, {180, -72}, {180, -90}, {-180, -90}, {-180, -72}, {-170, -74},
		{-90, -70}, {0, -70}}
	testkit.EqualSlices(t, got, want)
	if _, err := closePole([]point{{170, 0}, {-170, 0}, {-170, 5}, {170, 5}, {170, 0}}); err == nil {
		t.Error("a ring across the antimeridian, not around a pole, was accepted")
	}
}
