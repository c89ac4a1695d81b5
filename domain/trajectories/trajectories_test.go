package trajectories

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/kept"
)

// panda is the set of the published trajectories of L way points.
func panda(t testing.TB, waypoints int) constraint.Set {
	t.Helper()
	arm := robot.Panda()
	spec := trajectory.Spec{Arm: arm, Waypoints: waypoints, Margin: 0.01,
		Start: trajectory.Place{Tasks: trajectory.Position("start", 7, [3]float64{}, [3]float64{0.4, -0.5, 0.205})},
		Goal:  trajectory.Place{Tasks: trajectory.Position("goal", 7, [3]float64{}, [3]float64{0.4, 0.5, 0.205})},
		Path:  trajectory.Position("height", 7, [3]float64{}, [3]float64{math.NaN(), math.NaN(), 0.205}),
		Obstacles: []scene.Obstacle{{A: [3]float64{0.4, -0.3, 0.205}, Radius: 0.1},
			{A: [3]float64{0.4, 0.3, 0.205}, Radius: 0.1}},
	}
	for link := range 7 {
		spec.Volume = append(spec.Volume, robot.Sphere{Link: link})
	}
	return made(t, spec)
}

func made(t testing.TB, spec trajectory.Spec) constraint.Set {
	t.Helper()
	return testkit.Must(trajectory.New(spec))
}

// hand is an arm of one joint about z and a hand 1 m from it, past a ball of radius 0.1 at (1, 0, 0).
func hand(t testing.TB, waypoints int, change func(s *trajectory.Spec)) constraint.Set {
	t.Helper()
	arm, err := robot.FromDH("clock", []robot.DH{{Lower: -3, Upper: 3, Velocity: 2}, {A: 1, Kind: robot.Fixed}})
	testkit.OK(t, err)
	spec := trajectory.Spec{Arm: arm, Waypoints: waypoints, Volume: []robot.Sphere{{Link: 1}}, Margin: 0.02,
		Obstacles: []scene.Obstacle{{A: [3]float64{1, 0, 0}, Radius: 0.1}}}
	if change != nil {
		change(&spec)
	}
	return made(t, spec)
}

// angles are motions of one joint, a row each.
func angles(rows ...[]float64) (x []float64) {
	for _, row := range rows {
		for _, q := range row {
			x = append(x, math.Cos(q), math.Sin(q))
		}
	}
	return x
}

func domainOf(t testing.TB, set constraint.Set, x []float64, path string) *domain.Domain {
	t.Helper()
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	d, err := New(domain.Input{Set: set, Data: x, Train: x, Pool: pool, Files: map[string]string{"data.path": path}})
	testkit.OK(t, err)
	if t, ok := t.(*testing.T); ok && len(x) < 1500 {
		kept.Domain(t, d, x, x, set.Dim(), "beside the planner")
	}
	return d
}

func finding(t testing.TB, d *domain.Domain, x []float64, name string) domain.Finding {
	t.Helper()
	for _, f := range d.Find(x) {
		if strings.HasPrefix(f.Name, name) {
			return f
		}
	}
	t.Fatalf("nothing is found of %s", name)
	return domain.Finding{}
}

// published reads the published trajectories.
func publishedPaths(t testing.TB, l int) (constraint.Set, *dataset.Points, string) {
	t.Helper()
	path := testkit.Shared(t, fmt.Sprintf("data/robot/L%d_paths.npy", l))
	p := testkit.Must(Read(path))
	set := panda(t, l)
	p = testkit.Must(fit(set, p))
	return set, p, path
}

// Of the published trajectories the sides on which the tip passes the two obstacles are the
// labels, without exception, at each length; 320 draws from the training rows score what
// perfect copies have been measured to score, 0.013 in a draw.
func TestPublishedModesAndFloors(t *testing.T) {
	for l, floor := range map[int]float64{10: 0.217, 20: 0.215, 30: 0.222, 40: 0.209} {
		set, p, path := publishedPaths(t, l)
		d := domainOf(t, set, p.X, path)
		f := finding(t, d, p.X, "modes")
		if f.Warning || len(f.Measures) != 2 || f.Measures[0].Samples != 0.5 || f.Measures[1].Data != 0.5 {
			t.Errorf("L = %d: %+v", l, f)
		}
		if f.Measures[0].Name != "right of obstacle 0, left of obstacle 1" ||
			f.Measures[1].Name != "left of obstacle 0, right of obstacle 1" {
			t.Errorf("L = %d: modes %q and %q", l, f.Measures[0].Name, f.Measures[1].Name)
		}
		m := motionOf(set)
		g := &guide{motion: m, pool: parallel.New(1), data: p.X, path: path}
		g.sort()
		labels := testkit.Must(arrayfile.ReadNPY(strings.Replace(path, "_paths", "_labels", 1))).AsFloat64()
		modes := g.of(p.X)
		for i, m := range modes {
			if (m == modes[0]) != (labels[i] == labels[0]) {
				t.Errorf("L = %d: row %d is of mode %d, labelled %v", l, i, m, labels[i])
			}
		}
		rows := dataset.RandomSplit(p.N, 1).Train
		r := d.Distance.Against(p.X, p.Rows(rows), nil)
		score, _ := r.Score(d.Distance.Marks(p.X[:320*p.D]), 1)
		// The mean of 20 draws and the published one are each 0.003 off: 6 standard errors are 0.025,
		// a wrong widening of the range by a tenth moves the floor by more than 0.03.
		if math.Abs(float64(score.Mean)-floor) > 0.02 || math.Abs(float64(score.SD)-0.013) > 0.008 {
			t.Errorf("L = %d: a floor of %.4f ± %.4f, want %.3f ± 0.013", l, score.Mean, score.SD, floor)
		}
		t.Logf("L = %d: floor %.4f ± %.4f", l, score.Mean, score.SD)
		o := d.Observables
		v := make([]float64, p.N*len(o.List))
		o.Values(v, p.X, p.N)
		for k, name := range []string{"length", "acceleration", "clearance"} {
			t.Logf("  %s: median %.4f", name, metric.Median(metric.Column(v, k, len(o.List))))
		}
		for _, f := range d.Find(p.X) {
			t.Logf("  %s: %s %v", f.Name, f.Verdict, f.Measures)
		}
	}
}

// The plane is scikit-learn's, up to signs, and the published evaluation's distances come out of the paths themselves:
// its projections are in float32, which puts a point or two of 400 on the other side of a cell's edge.
func TestPlaneGolden(t *testing.T) {
	set, p, path := publishedPaths(t, 10)
	g := golden.Read(t, "robot_pca_T10.npz")
	d := domainOf(t, set, p.X, path)
	marks, proj := d.Distance.Marks(p.X), g["proj"].AsFloat64()
	for k := range 2 {
		sign := math.Copysign(1, marks[k]*proj[k])
		for i := k; i < len(marks); i += 2 {
			if math.Abs(sign*marks[i]-proj[i]) > 1e-5 {
				t.Fatalf("row %d: component %d is %v, want %v", i/2, k, marks[i], proj[i])
			}
		}
	}
	var even []float64
	for i := 0; i < p.N; i += 2 {
		even = append(even, marks[2*i:2*i+2]...)
	}
	for name, a := range map[string][]float64{"jsd_first200": marks[:400], "jsd_even": even} {
		if got, want := d.Distance.Between(a, marks), g[name].AsFloat64()[0]; !(math.Abs(got-want) < 2e-3) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// Length, acceleration, clearance and the joint half-way, by hand.
func TestObservables(t *testing.T) {
	set := hand(t, 4, nil)
	x := angles([]float64{-0.9, -0.5, 0.3, 0.7}, []float64{3, 3.1, -3.1, -3})
	d := domainOf(t, set, x, "x.csv")
	o := d.Observables
	got := make([]float64, 2*len(o.List))
	o.Values(got, x, 2)
	chord := func(a float64) float64 { return 2 * math.Sin(a/2) }
	short := 2*math.Pi - 6.2
	want := []float64{
		2*chord(0.4) + chord(0.8), math.Sqrt((0.4*0.4 + 0.4*0.4) / 2), chord(0.3) - 0.1, 0.3,
		2*chord(0.1) + chord(short), math.Abs(short - 0.1), chord(3) - 0.1, -3.1,
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) < 1e-12) {
			t.Errorf("%s of row %d is %v, want %v", o.List[i%4].Name, i/4, got[i], want[i])
		}
	}
	if o.List[3].Name != "joint1 at way point 2" || !o.List[3].Circular || o.List[2].Unit != "m" {
		t.Errorf("%+v", o.List)
	}
}

// A motion whose way points are clear and that goes through the ball between them is found, by how deep it goes; the
// way around the other side is proven clear, and one in between keeps no margin.
func TestSwept(t *testing.T) {
	set := hand(t, 2, nil)
	through, around, near := []float64{-0.5, 0.6}, []float64{0.5, 2}, []float64{0.11, 0.4}
	x := angles(through, around, near)
	d := domainOf(t, set, angles(around, around), "x.csv")
	f := finding(t, d, x, "clearance")
	got := map[string]float64{}
	for _, m := range f.Measures {
		got[m.Name] = float64(m.Samples)
		if m.Name == "share proven to touch nothing" && m.Data != 1 {
			t.Errorf("of the data %v", m.Data)
		}
	}
	if math.Abs(got["share proven to touch nothing"]-2./3) > 1e-12 || math.Abs(got["share that keeps the margin of "+
		"0.02 m"]-1./3) > 1e-12 || math.Abs(got["least clearance"]+0.1) > 1e-4 || got["least clearance"] > -0.1 {
		t.Errorf("%v", got)
	}
	if !f.Warning || !strings.Contains(f.Verdict, "1 of 3 samples touch something between way points (0.0 % of the "+
		"data), the worst, row 0, by 0.1 m") || !strings.Contains(f.Name, "1 points of the arm") {
		t.Errorf("%s: %s", f.Name, f.Verdict)
	}
	// A hand that stays 50 µm inside the margin, less than bounds are scene.Sharp to, keeps it.
	edge := 2 * math.Asin((0.1+0.02-5e-5)/2)
	for _, m := range finding(t, d, angles([]float64{edge, edge}), "clearance").Measures {
		if strings.HasPrefix(m.Name, "share that keeps the margin") && m.Samples != 1 {
			t.Errorf("at the margin: %v", m)
		}
	}
	// Past a ball that the hand misses by 10 µm, more closely than bounds are sharpened: only what is proven counts.
	past := hand(t, 2, func(s *trajectory.Spec) {
		s.Obstacles = []scene.Obstacle{{A: [3]float64{1.1 + 1e-5, 0, 0}, Radius: 0.1}}
	})
	var close []float64
	for i := range 40 {
		close = append(close, angles([]float64{-0.4 - 0.01*float64(i), 0.5})...)
	}
	g := &guide{motion: motionOf(past), pool: parallel.New(1)}
	lower, upper := g.swept(close)
	proven := 0
	for i, v := range lower {
		if v > 1e-5+1e-9 || upper[i] < 1e-5-1e-9 || upper[i]-v > 1e-4 {
			t.Errorf("bounds %v and %v of 1e-5", v, upper[i])
		}
		if v >= 0 {
			proven++
		}
	}
	if proven == 40 {
		t.Fatal("all are proven clear, and the test says nothing")
	}
	f = finding(t, domainOf(t, past, angles(around), "x.csv"), close, "clearance")
	if got := f.Measures[0].Samples; math.Abs(float64(got)-float64(proven)/40) > 1e-12 || !f.Warning ||
		!strings.Contains(f.Verdict, "no sample is seen to touch") {
		t.Errorf("%d are proven; found %v, %s", proven, got, f.Verdict)
	}
	f = finding(t, d, angles(around), "clearance")
	if f.Warning || !strings.Contains(f.Verdict, "all 1 samples are proven") {
		t.Errorf("%+v", f)
	}
	free := hand(t, 2, func(s *trajectory.Spec) { s.Obstacles = nil })
	for _, f := range domainOf(t, free, x, "x.csv").Find(x) {
		if strings.HasPrefix(f.Name, "clearance") {
			t.Errorf("with nothing to hit: %+v", f)
		}
	}
}

// From 2.9 to −2.9 the shorter way leaves the limits of ±3 by π − 3.
func TestLimitsBetweenWaypoints(t *testing.T) {
	set := hand(t, 2, func(s *trajectory.Spec) { s.Limits = true })
	good, bad := []float64{1, 2}, []float64{2.9, -2.9}
	d := domainOf(t, set, angles(good, good), "x.csv")
	f := finding(t, d, angles(good, bad, bad, bad), "limits")
	if !f.Warning || f.Measures[0].Samples != 0.75 || f.Measures[0].Data != 0 ||
		math.Abs(float64(f.Measures[1].Samples)-(2*math.Pi-2.9-3)) > 1e-9 || !strings.Contains(f.Verdict, "joint1") {
		t.Errorf("%+v", f)
	}
	for _, f := range d.Find(angles(good)) {
		if strings.HasPrefix(f.Name, "limits") {
			t.Errorf("%+v", f)
		}
	}
	free := hand(t, 2, nil)
	for _, f := range domainOf(t, free, angles(bad, good), "x.csv").Find(angles(bad)) {
		if strings.HasPrefix(f.Name, "limits") {
			t.Errorf("without limits: %+v", f)
		}
	}
	d = domainOf(t, set, angles(good, bad), "x.csv")
	if f := finding(t, d, angles(good), "limits"); f.Warning || f.Measures[0].Data != 0.5 {
		t.Errorf("of the data alone: %+v", f)
	}
}

// circling is a set of a gantry of two sliding joints, whose tip goes anywhere in a plane, the
// whole turned by r, among two posts.
func circling(t testing.TB, waypoints int, posts ...[3]float64) constraint.Set {
	t.Helper()
	inf := math.Inf(1)
	one := robot.Identity()
	arm := &robot.Arm{Name: "gantry", Base: "base", Joints: []robot.Joint{
		{Name: "a", Link: "A", Kind: robot.Prismatic, Origin: one, Axis: [3]float64{0, 1, 0}, Lower: -inf, Upper: inf},
		{Name: "b", Link: "B", Kind: robot.Prismatic, Origin: one, Axis: [3]float64{0, 0, 1}, Lower: -inf, Upper: inf}}}
	spec := trajectory.Spec{Arm: arm, Waypoints: waypoints, Volume: []robot.Sphere{{Link: 1, Radius: 0.1}},
		Path: []trajectory.Task{{Name: "here", Link: 1, Axis: [3]float64{1, 0, 0}, Low: -1, High: 1}}}
	for _, p := range posts {
		spec.Obstacles = append(spec.Obstacles, scene.Obstacle{A: p, Radius: 0.5})
	}
	return made(t, spec)
}

// Sides in the plane of y and z, whose normal is x: ways from (−4, 0) to (4, 0) past posts at y = −2 and 2. The third
// way, around the second post once more, passes it on the same side. Then shares and names; a way that the data has
// not; modes that differ by more than chance.
func TestModes(t *testing.T) {
	set := circling(t, 7, [3]float64{0, -2, 0}, [3]float64{5, 2, 0}, [3]float64{0, 0, 99})
	over := []float64{-4, 0, -2, 1, 0, 0, 2, -1, 3, -1, 4, -0.5, 4, 0}      // left of the first, right of the second
	under := []float64{-4, 0, -2, -1, 0, 0, 2, 1, 3, 1, 4, 0.5, 4, 0}       // right, left
	straight := []float64{-4, 0, -2, 1, -1, 1, 0, 1, 2, 1, 4, 1, 4, 0}      // left of both
	twice := []float64{-4, 0, 0, 0.9, 0, -1, 3.5, -1, 2, 1, 0, -0.2, 4, -3} // left, then around the second
	x := slices.Concat(over, under, over, under, over, over)
	d := domainOf(t, set, x, "x.csv")
	f := finding(t, d, slices.Concat(over, under, straight, twice), "modes")
	got := map[string][2]float64{}
	for _, m := range f.Measures {
		got[m.Name] = [2]float64{float64(m.Samples), float64(m.Data)}
	}
	if len(got) != 3 || got["left of obstacle 0, right of obstacle 1"] != [2]float64{0.5, 4. / 6} ||
		got["right of obstacle 0, left of obstacle 1"] != [2]float64{0.25, 2. / 6} ||
		got["another way"] != [2]float64{0.25, 0} || f.Warning {
		t.Errorf("%+v", f)
	}
	testkit.Near(t, float64(f.Measures[0].Noise), math.Sqrt(4./6*2./6/4), 1e-12, "noise")
	many := domainOf(t, set, slices.Concat(slices.Repeat(over, 40), slices.Repeat(under, 40)), "x.csv")
	f = finding(t, many, slices.Concat(slices.Repeat(over, 68), slices.Repeat(under, 12)), "modes")
	if !f.Warning || !strings.Contains(f.Verdict, "left of obstacle 0, right of obstacle 1 has 85.0 % of the "+
		"samples and "+"50.0 % of the data") {
		t.Errorf("%s", f.Verdict)
	}
	f = finding(t, many, slices.Concat(slices.Repeat(over, 44), slices.Repeat(under, 36)), "modes")
	if f.Warning || !strings.Contains(f.Verdict, "a difference of about 0.26 would be seen") {
		t.Errorf("%s", f.Verdict)
	}
	for _, f := range domainOf(t, set, slices.Repeat(over, 3), "x.csv").Find(over) {
		if f.Name == "modes" {
			t.Errorf("data that goes one way has modes: %+v", f)
		}
	}
}

// A note says what the arm's file has and the arm has not.
func TestArmNotes(t *testing.T) {
	noted := hand(t, 2, func(s *trajectory.Spec) { s.Arm.Notes = []string{"the volume leaves out the meshes of l1"} })
	d := domainOf(t, noted, angles([]float64{0, 1}), "none.npy")
	if len(d.Faults) != 1 || !strings.HasSuffix(d.Faults[0], ": the volume leaves out the meshes of l1") {
		t.Errorf("%q", d.Faults)
	}
}

// The plane is that of all data, its cells reach a fifth of the range beyond it.
func TestDistance(t *testing.T) {
	set := circling(t, 2)
	x := []float64{0, 0, 0, 0, 10, 0, 0, 0, 3, 0, 0, 4, 7, 0, 0, -4} // rows of y, z, y, z
	d := domainOf(t, set, x, "x.csv").Distance
	mean, axes, _ := metric.Principal(x, 4, 2)
	marks := d.Marks(x)
	for i := range 4 {
		for k := range 2 {
			testkit.Equal(t, marks[2*i+k], metric.Project(x[4*i:4*i+4], mean, axes[k]), "row %d", i)
		}
	}
	lo, hi := slices.Min(metric.Column(marks, 0, 2)), slices.Max(metric.Column(marks, 0, 2))
	at := func(share float64) []float64 { return []float64{lo - share*(hi-lo), 0} }
	testkit.Equal(t, d.Between(at(0.21), at(9)), 0, "what is a fifth of the range outside and more is in two cells")
	testkit.Near(t, d.Between(at(0.15), at(9)), math.Sqrt(math.Ln2), 1e-6,
		"what is less outside is in one cell with what is far")
	if domainOf(t, set, slices.Repeat(x[:4], 3), "x.csv").Distance != nil {
		t.Error("data that does not vary has a distance")
	}
}

// Obstacles as pictures have them: ends of a capsule, sides of a box with its round edges.
func TestSolids(t *testing.T) {
	set := hand(t, 2, func(s *trajectory.Spec) {
		s.Obstacles = []scene.Obstacle{{Shape: scene.Capsule, A: [3]float64{1, 2, 3},
			B: [3]float64{4, 5, 6}, Radius: 0.5}, {Shape: scene.Box, A: [3]float64{7, 8, 9},
			Half: [3]float64{1, 2, 3}, Radius: 0.25}}
	})
	got := (&guide{motion: motionOf(set)}).solids()
	want := []figure.Solid{{A: [3]float64{1, 2, 3}, B: [3]float64{4, 5, 6}, Radius: 0.5},
		{A: [3]float64{7, 8, 9}, B: [3]float64{7, 8, 9}, R: robot.Identity().R, Half: [3]float64{1.25, 2.25, 3.25}}}
	testkit.EqualSlices(t, got, want)
}

// canvas keeps what is drawn.
type canvas struct {
	domain.Canvas
	names []string
	svg   map[string]string
	arm   *figure.ArmView
}

func (c *canvas) Scene(s figure.Scene) { c.arm, _ = s.(*figure.ArmView) }
func (c *canvas) Add(name string, _ figure.FigureRef, pic figure.Picture) {
	var b bytes.Buffer
	if err := pic.WriteSVG(&b); err != nil {
		panic(err)
	}
	if c.svg == nil {
		c.svg = map[string]string{}
	}
	c.names, c.svg[name] = append(c.names, name), b.String()
}

// Motions are played with what they must miss, and drawn by mode, over the data; start and
// goal are marked where the set fixes them.
func TestDraw(t *testing.T) {
	x := golden.Read(t, "robot10_ops.npz")["x_on"].AsFloat64()
	set := panda(t, 10)
	d := domainOf(t, set, x, "L10_paths.npy")
	c := &canvas{}
	view := domain.View{Dim: 140, Data: x, Samples: x[:280], Reference: d.Distance.Against(x, x, nil),
		Marks: d.Distance.Marks(x[:280]), Worst: metric.Float(1e-9)}
	d.Draw(c, view)
	if !slices.Equal(c.names, []string{"above", "side", "plane"}) {
		t.Fatalf("drawn are %v", c.names)
	}
	for name, wants := range map[string][]string{"above": {"data, 6", "obstacle", ">start<", ">goal<", "x, m"},
		"side": {"y, m", "z, m"}, "plane": {"samples, 2"}} {
		for _, want := range wants {
			testkit.Contains(t, c.svg[name], want, "%s", name)
		}
	}
	a := c.arm
	if a == nil || len(a.Joints) != 8 || a.Tip.Link != 7 || len(a.Solids) != 2 || a.Steps != 10 || len(a.Ends) != 2 ||
		len(a.Layers) != 2 || len(a.Layers[1].Values) != 2*70 || !strings.Contains(a.Layers[0].Labels[0],
		"clearance 0.") ||
		!strings.Contains(a.Caption, "1.0×10⁻⁹") {
		t.Fatalf("%+v", a)
	}
	testkit.OK(t, (&figure.Report{Scene: a}).WriteHTML(&bytes.Buffer{}))
}

// The tip's way goes from way point to way point with joints at constant rates, the shorter way around.
func TestWay(t *testing.T) {
	m := motionOf(hand(t, 3, nil))
	got := m.follower().way(angles([]float64{3, -3, -2}), 2)
	half := 3 + (math.Pi - 3)
	for i, q := range []float64{3, half, -3, -2.5, -2} {
		if math.Abs(got[3*i]-math.Cos(q)) > 1e-12 || math.Abs(got[3*i+1]-math.Sin(q)) > 1e-12 {
			t.Errorf("place %d is %v, want that of %v", i, got[3*i:3*i+3], q)
		}
	}
	testkit.Equal(t, len(got), 15)
}

// Another kind of set, or one factor of a product, has no motions.
func TestFits(t *testing.T) {
	set := hand(t, 2, nil)
	behind := constraint.Given(set, 3)
	if m := motionOf(behind); m == nil || m.dim != 7 || m.waypoints != 2 {
		t.Errorf("with a condition behind: %+v", m)
	}
	if !fits(set) || fits(constraint.Product(set, set)) || !fits(constraint.EqualitiesOf(set)) {
		t.Error("which sets have motions")
	}
}
