package problem

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// networkOf returns the network of a text with settings.
func networkOf(t *testing.T, text string, settings ...string) (p *Problem, c score.Config, err error) {
	t.Helper()
	if p, err = load(t, text, settings...); err != nil {
		return p, c, err
	}
	proc, err := p.Build()
	if err != nil {
		return p, c, err
	}
	m, err := p.Method(proc)
	testkit.OK(t, err)
	return p, p.NetworkConfig(m, proc.Set), nil
}

const (
	unitSphere  = "data: {kind: points, path: x.csv}\nset: {kind: sphere, dim: 3}\n"
	unitEllipse = "data: {kind: points, path: x.csv}\ncondition: {columns: [a]}\n" +
		"set: {dim: 2, equality: [{name: ellipse, expr: \"(x[0]/a)^2 + x[1]^2 = 1\"}]}\n"
	unitMolecule = "data: {kind: molecule, path: x.xyz}\nset: {kind: molecule, atoms: 3, " +
		"distances: [{atoms: [0, 1], value: 1}]}\nnetwork: {kind: aligned}\n"
)

// The network reads by the center and the unit of the file, which config.yaml holds to the last bit; of
// points with a condition the center is that of the other coordinates.
func TestUnit(t *testing.T) {
	odd := []float64{0.30000000000000004, -1e21 / 1e7, math.Nextafter(1e-7, 1)}
	for _, c := range []struct {
		text   string
		center []float64
	}{{unitSphere, odd}, {unitEllipse, odd[:2]}} {
		setting := "network.center=" + strings.ReplaceAll(fmt.Sprint(c.center), " ", ", ")
		p, n, err := networkOf(t, c.text, setting, "network.unit=0.30000000000000004", "network.time=share")
		testkit.OK(t, err)
		again, err := Load(p.Resolved(), "config.yaml", "", nil)
		if err != nil || !bytes.Equal(again.Resolved(), p.Resolved()) {
			t.Fatalf("%v: %s", err, p.Resolved())
		}
		if line := "\n  center: ["; bytes.Count(p.Resolved(), []byte(line)) != 1 {
			t.Errorf("the center is not on a line of its own: %s", p.Resolved())
		}
		for _, c := range []struct{ got, want []float64 }{{n.Center, c.center}, {again.Network.Center, c.center},
			{[]float64{n.Unit, again.Network.Unit}, []float64{odd[0], odd[0]}}} {
			testkit.EqualSlices(t, c.got, c.want, "it reads")
		}
		if r := n.Reading(); !r.Share || r.Unit != odd[0] || !slices.Equal(r.Center, c.center) || r.Horizon != 2 {
			t.Errorf("read as %+v", r)
		}
	}
	p, n, err := networkOf(t, unitSphere)
	if err != nil || n.Center != nil || n.Unit != 0 || n.Share {
		t.Errorf("without keys: %+v, %v", n, err)
	}
	if _, network, _ := bytes.Cut(p.Resolved(), []byte("network:")); bytes.Contains(network[:200], []byte("center")) {
		t.Error("without keys config.yaml has a center")
	}
}

// What cannot be is named by its key.
func TestUnitFaults(t *testing.T) {
	for _, c := range []struct{ text, setting, want string }{
		{unitSphere, "network.center=[0, 1]", "network.center is 2; expected 3 numbers, one a coordinate"},
		{unitSphere, "network.center=[]", "network.center is 0; expected 3 numbers, one a coordinate"},
		{unitSphere, "network.center=[0, 1, .nan]", "expected a finite number"},
		{unitSphere, "network.center=[0, 1, 2e15]", "network.center is 2e+15; expected a number in [-1e15, 1e15]"},
		{unitSphere, "network.center=3", "expected a list"},
		{unitSphere, "network.unit=0", "network.unit is 0; expected a number in [1e-15, 1e15]"},
		{unitSphere, "network.unit=-1", "network.unit is -1; expected a number in [1e-15, 1e15]"},
		{unitSphere, "network.unit=1e16", "network.unit is 1e+16; expected a number in [1e-15, 1e15]"},
		{unitSphere, "network.unit=.inf", "expected a finite number"},
		{unitSphere, "network.time=horizon", `network.time is "horizon"; expected one of raw, share`},
		{unitEllipse, "network.center=[0, 1, 2]", "network.center is 3; expected 2 numbers, one a coordinate"},
		{unitMolecule, "network.center=[0, 0, 0, 0, 0, 0, 0, 0, 0]", "network.center: network aligned has no center: " +
			"it lays a molecule on its reference, where it reads Å from there"},
		{unitMolecule, "network.unit=1", "network.unit: network aligned has no unit: "},
		{unitSphere, "network.scales=[0, 1]", "network.scales is 2; expected 3 numbers, one a coordinate"},
		{unitSphere, "network.scales=[0, 1, -1]", "network.scales is -1; expected a number in [0, 1e15]"},
		{unitMolecule, "network.scales=[0, 0, 0, 0, 0, 0, 0, 0, 0]", "network.scales: network aligned has no scales: "},
		{unitMolecule, "network.time=share", ""},
		{unitSphere, "network={scales: [1e-3, 0, 1e15]}", ""},
		{unitSphere, "network={center: [1e15, -1e15, 0], unit: 1e-15}", ""},
		{unitSphere, "network.time=raw", ""},
	} {
		_, _, err := networkOf(t, c.text, c.setting)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.setting, err)
			}
			continue
		}
		if e := (*KeyError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "--set "+c.setting) {
			t.Errorf("%s: %v, want %q", c.setting, err, c.want)
		}
	}
}

// A center of many numbers is refused by its length, before a network is made for it.
func TestLongCenter(t *testing.T) {
	long := "network.center=[" + strings.Repeat("0,", 100_000) + "0]"
	if _, _, err := networkOf(t, unitSphere, long); err == nil || len(err.Error()) > 500_000 ||
		!strings.Contains(err.Error(), "expected 3 numbers") {
		t.Errorf("%.200v", err)
	}
}
