package grid_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/grid"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// solved is the state that PYPOWER 5.1.19 finds for testdata/small.m to 1e-12: V, θ (radians), and the power of the
// generators in per unit, by bus.
var solved = map[int][4]float64{
	10: {1.02, 0.087266462599716474, 0.78500778067511723, 0.29079390636178076},
	20: {1.01, 0.083124791986596891, 0.3, -0.12383570301571721},
	30: {0.98903465284218872, 0.020618926827708047, 0, 0},
	40: {0.99359363842477133, 0.053201876422192422, 0, 0},
	60: {1.0158964176516549, 0.064575009938266342, 0, 0},
}

func text(t testing.TB) string { return string(testkit.Must(os.ReadFile("testdata/small.m"))) }

// state is the point of what was solved.
func state(s *grid.Set) []float64 {
	x := make([]float64, s.Dim())
	for i, b := range s.Grid.Buses {
		v := solved[b.Number]
		for k, value := range []float64{v[0], v[1], v[2], v[3], b.Load.P, b.Load.Q} {
			if c := s.At[k][i]; c.At >= 0 {
				x[c.At] = value
			}
		}
	}
	return x
}

// Taps, shifts, shunts, parallel branches and what is out of service are as MATPOWER has them.
func TestSolved(t *testing.T) {
	g := testkit.Must(grid.Read("testdata/small.m"))
	if want := "[bus 50 (tot) is isolated (type 4) and left out testdata/small.m:37: mpc.story is not used]"; len(
		g.Notes) != 2 || g.Buses[1].Label() != "20 (Süd)" || g.Buses[2].Name != "D'Arc" {
		t.Errorf("%q, %+v, want %s", g.Notes, g.Buses, want)
	}
	for _, fixed := range []bool{false, true} {
		s := testkit.Must(grid.NewSet(g, fixed))
		names := strings.Join(s.Names, " ")
		want := "V_10 V_20 V_30 V_40 V_60 theta_20 theta_30 theta_40 theta_60 Pg_10 Pg_20 Qg_10 Qg_20"
		if !fixed {
			want += " Pd_20 Pd_30 Pd_40 Qd_20 Qd_30 Qd_40"
		}
		testkit.Equal(t, names, want)
		x := state(s)
		values := constraint.Values(s, x)
		for i, name := range constraint.Components(s) {
			if e := constraint.Excess(values[i], i < len(s.Equalities())); e > 1e-13 {
				t.Errorf("fixed %v: %s is off by %v", fixed, name, e)
			}
		}
		n := 0
		for _, f := range s.Capabilities().Families {
			n += len(f.Of)
			for _, a := range f.Of {
				first, _, _ := strings.Cut(constraint.Components(s)[a], " ")
				if f.Name == "flow" && first != "flow" || f.Name == "balance Q" && a < 5 {
					t.Errorf("%s has %s", f.Name, constraint.Components(s)[a])
				}
			}
		}
		testkit.Equal(t, n, len(values))
	}
}

// At the limits the components are 0: |S| of PYPOWER's flow, an angle, a generator.
func TestLimits(t *testing.T) {
	s := testkit.Must(grid.NewSet(testkit.Must(grid.Parse("small.m", text(t))), false))
	x := state(s)
	values, names := constraint.Values(s, x), constraint.Components(s)
	value := func(name string) float64 {
		i := slices.Index(names, name)
		if i < 0 {
			t.Fatalf("no %q among %q", name, names)
		}
		return values[i]
	}
	const p, q = -0.11290479756488319, -0.032756947446850377 // PYPOWER's PT and QT of branch 6
	testkit.Near(t, value("flow branch 6 at bus 60"), (p*p+q*q-0.49)/1.4, 1e-13)
	testkit.Near(t, value("angle branch 3 high"), solved[10][1]-solved[30][1]-math.Pi/6, 1e-15)
	testkit.Near(t, value("Qg bus 20 high"), solved[20][3]-0.6, 1e-15)
	testkit.Near(t, value("Pg bus 20 low"), 0.05-0.3, 1e-15)
	testkit.Near(t, value("V bus 60 low"), 0.92-solved[60][0], 1e-15)
	profiles := map[string][][3]float64{} // low, value, high
	for _, p := range s.Capabilities().Profiles {
		of := make([]float64, len(p.Low))
		p.Of(of, x)
		for i, v := range of {
			profiles[p.Name] = append(profiles[p.Name], [3]float64{p.Low[i], v, p.High[i]})
		}
	}
	testkit.Equal(t, len(profiles), 4)
	first := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, "flow") })
	flow := profiles["flow over its limit"][slices.Index(names, "flow branch 6 at bus 60")-first]
	testkit.Near(t, flow[1], math.Hypot(p, q)/0.7, 1e-13)
	testkit.Equal(t, [2]float64{flow[0], flow[2]}, [2]float64{math.Inf(-1), 1})
	testkit.Equal(t, profiles["voltage, per unit"][0], [3]float64{s.Grid.Buses[0].VMin, x[0], s.Grid.Buses[0].VMax})
	if slices.Contains(names, "angle branch 1 high") || slices.Contains(names, "flow branch 3 at bus 10") {
		t.Error("a limit that the file does not have")
	}
}

func TestSuite(t *testing.T) {
	g := testkit.Must(grid.Read("testdata/small.m"))
	g.Buses[0].VMin, g.Buses[0].VMax = 1.02, 1.02 // an equality
	for i := range g.Branches {
		g.Branches[i].AngleMin, g.Branches[i].AngleMax = -1, 1 // searches do not turn around
	}
	s := testkit.Must(grid.NewSet(g, false))
	testkit.Equal(t, s.Equalities()[10], "V bus 10")
	// Without voltages no search arrives: the points come from Start.
	constrainttest.Run(t, s, constrainttest.Options{Points: 6, Spread: 1e-6, Off: 0.01})
}

// Bad files are refused with file, line and column.
func TestRefused(t *testing.T) {
	testkit.Cases(t, func(input string) string {
		from := testkit.Must(strconv.QuotedPrefix(input))
		part := testkit.Must(strconv.Unquote(from))
		other := testkit.Must(strconv.Unquote(strings.TrimSpace(input[len(from):])))
		if !strings.Contains(text(t), part) {
			t.Fatalf("%q is not in the file", part)
		}
		g, err := grid.Parse("small.m", strings.Replace(text(t), part, other, 1))
		if err != nil {
			testkit.Equal(t, fault.KindOf(err), fault.Data, input)
			return err.Error()
		}
		s := testkit.Must(grid.NewSet(g, false))
		out := fmt.Sprintf("%q\nbase %v\nbuses %+v\nbranches %+v", g.Notes, g.Base, g.Buses, g.Branches)
		for i, v := range constraint.Values(s, state(s)) {
			out += fmt.Sprintf("\n%s %.9g", constraint.Components(s)[i], v)
		}
		return out
	})
	_, err := grid.Parse("small.m", strings.Replace(text(t), "mpc.branch = [", "mpc.branch = ["+
		strings.Repeat("10 20 0 1 0 0 0 0 0 0 1;", 1<<14), 1))
	testkit.Refused(t, err, "small.m:25: mpc.branch is another row, expected at most 16384")
	testkit.Must(grid.Parse("small.m", strings.Repeat("end ", 1<<14)+text(t))) // in linear time
	testkit.Refused(t, testkit.Err(grid.Read("testdata")), "is a folder")
}
