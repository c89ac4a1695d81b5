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
	texts := map[string]string{"sphere": unitSphere, "ellipse": unitEllipse, "molecule": unitMolecule}
	testkit.Cases(t, func(input string) string {
		of, setting, _ := strings.Cut(input, " ")
		_, _, err := networkOf(t, texts[of], setting)
		if e := (*KeyError)(nil); err != nil && !errors.As(err, &e) {
			t.Errorf("%s: error of type %T", input, err)
		}
		return fmt.Sprint(err)
	})
}

// A center of many numbers is refused by its length, before a network is made for it.
func TestLongCenter(t *testing.T) {
	long := "network.center=[" + strings.Repeat("0,", 100_000) + "0]"
	if _, _, err := networkOf(t, unitSphere, long); err == nil || len(err.Error()) > 500_000 ||
		!strings.Contains(err.Error(), "expected 3 numbers") {
		t.Errorf("%.200v", err)
	}
}
