package trajectories

import (
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
)

// motions of one joint and four way points: steps of about 0.2 times scale, with noise in each.
func wandering(n int, scale, noise float64, set uint64) []float64 {
	st := keyed.New(1, keyed.Probe, set)
	rows := make([][]float64, n)
	z := make([]float64, 5)
	for i := range rows {
		st.Normals(z, uint64(i), 0)
		q := 0.3 * z[4]
		for l := range 4 {
			rows[i] = append(rows[i], q)
			q += scale * (0.2 + noise*z[l])
		}
	}
	return angles(rows...)
}

// Motions that go farther or more roughly than the data are warned of, by how much; those of one
// law, and those that are off by little, are not.
func TestPace(t *testing.T) {
	set := hand(t, 4, nil)
	data := wandering(400, 1, 0.02, 1)
	d := domainOf(t, set, data, "x.csv")
	for _, c := range []struct {
		x       []float64
		warning bool
		verdict string
	}{
		{wandering(300, 1, 0.02, 2), false, "but for chance"},
		{wandering(300, 2, 0.02, 3), true, "samples wander: the median"},
		{wandering(300, 1, 0.2, 4), true, "samples wander: the median change of step over step of their joints"},
		{wandering(300, 0.5, 0.02, 5), true, "samples go another way"},
		{wandering(2000, 1.1, 0.02, 6), false, "more than chance"},
	} {
		f := finding(t, d, c.x, "way and pace")
		if f.Warning != c.warning || !strings.Contains(f.Verdict, c.verdict) {
			t.Errorf("%q: %+v", c.verdict, f)
		}
	}
	// By hand: a way of 0.4 + 0.8 + 0.4 and second differences 0.4 and −0.4, beyond ±π too.
	f := finding(t, domainOf(t, set, angles([]float64{-0.9, -0.5, 0.3, 0.7}), "x.csv"),
		angles([]float64{2.9, -math.Pi + 0.2, -math.Pi + 0.3, -math.Pi + 0.4}), "way and pace")
	first := math.Pi + 0.2 - 2.9
	for k, want := range [][2]float64{{first + 0.2, 1.6}, {(first - 0.1) / math.Sqrt2, 0.4}} {
		if m := f.Measures[k]; math.Abs(float64(m.Samples)-want[0]) > 1e-12 ||
			math.Abs(float64(m.Data)-want[1]) > 1e-12 {
			t.Errorf("%+v, want %v", m, want)
		}
	}
}

// Of 3000 draws of one law at most 10 differ from the data: at a rate of 0.001 more do once in 3000 runs.
func TestPaceFalseAlarms(t *testing.T) {
	g := &guide{motion: motionOf(hand(t, 4, nil)), pool: parallel.New(1)}
	defer g.pool.Close()
	told := 0
	for k := range uint64(3000) {
		g.data = wandering(41, 1, 0.1, 2*k)
		if f := g.findPace(wandering(40, 1, 0.1, 2*k+1)); !strings.Contains(f.Verdict, "but for chance") {
			told++
		}
	}
	if told > 10 {
		t.Errorf("%d of 3000 draws of one law are called different", told)
	}
}
