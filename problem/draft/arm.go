package draft

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/problem/discover"
)

// steps says how rows are way points of an arm, one after the other: cosines of the turning joints and
// then their sines, or the joints' values.
type steps struct {
	joints, waypoints int
	values            bool // of joints, radians
}

// circled looks whether coordinates are steps of cosines and sines, of the fewest joints that can
// be: two at least, for pairs alone are circles.
func (t *sheet) circled() (s steps, ok bool) {
	const most, tolerance, rows = 16, 1e-4, 24
	d := len(t.coordinate)
	step := max(1, t.n/rows)
next:
	for r := 2; r <= most && 4*r <= d; r++ {
		if d%(2*r) != 0 {
			continue
		}
		for i := 0; i < t.n; i += step {
			for at := 0; at < d; at += 2 * r {
				for j := range r {
					c, s := t.x[i*d+at+j], t.x[i*d+at+r+j]
					if !(math.Abs(math.Hypot(c, s)-1) <= tolerance) {
						continue next
					}
				}
			}
		}
		return steps{joints: r, waypoints: d / (2 * r)}, true
	}
	return s, false
}

// A task is what rows keep of an arm's tip: a number, its mean over rows, and how far they are from that.
type task struct {
	value, max, rms float64
}

// kept measures a number of rows against a value: the roundest one near their mean that does.
func kept(v []float64) task {
	mean := 0.0
	for _, u := range v {
		mean += u / float64(len(v))
	}
	of := func(value float64) (t task) {
		t.value = value
		for _, u := range v {
			e := math.Abs(u - value)
			t.max, t.rms = max(t.max, e), t.rms+e*e/float64(len(v))
		}
		t.rms = math.Sqrt(t.rms)
		return t
	}
	// Few decimals are likelier meant than an offset within what planners leave; more are not.
	exact := of(mean)
	for decimals := range 6 {
		digits := math.Pow(10, float64(decimals))
		within := 2 * exact.rms
		if decimals <= 3 {
			within = max(within, armRMS/5)
		}
		if t := of(math.Round(mean*digits)/digits + 0); t.rms <= within {
			return t
		}
	}
	return exact
}

// Rows keep a task if they are so near to it, in metres or radians: file formats and planners leave
// that much. The worst row may be further.
const armRMS, armMax = 1e-4, 2e-3

func (t task) holds() bool { return t.rms <= armRMS && t.max <= armMax }

// or returns the worse of the residuals of two tasks.
func (t task) or(u task) task { return task{max: max(t.max, u.max), rms: max(t.rms, u.rms)} }

func (t task) note(unit string) string {
	return fmt.Sprintf("all rows to %.1g %s, rms %.1g %s", t.max, unit, t.rms, unit)
}

// A motion is what rows that are way points of an arm do, row by row and way point by way point.
type motion struct {
	joints    [][]float64
	tip, axis [3][]float64 // where the tip is, and its last axis
	outside   int          // rows that the limits of the joints leave out
	widest    float64      // largest move of a joint to the next way point, rad
}

// moved follows an arm through the rows.
func (t *sheet) moved(arm *robot.Arm, s steps) (m motion) {
	tip, k := len(arm.Joints)-1, arm.NewKinematics()
	x, dim := make([]float64, arm.Dim()), len(t.coordinate)
	for i := range t.n {
		outside := false
		for w := range s.waypoints {
			if s.values {
				arm.Coordinates(x, t.x[i*dim+w*s.joints:][:s.joints])
			} else {
				copy(x, t.x[i*dim+w*arm.Dim():])
			}
			k.At(x)
			p, z := k.Point(tip, [3]float64{}), k.Direction(tip, [3]float64{0, 0, 1})
			for c := range 3 {
				m.tip[c], m.axis[c] = append(m.tip[c], p[c]), append(m.axis[c], z[c])
			}
			q := make([]float64, arm.Moving())
			arm.Angles(q, x)
			turning := 0
			for _, j := range arm.Joints {
				if !j.Kind.Turning() {
					continue
				}
				outside = outside || q[turning] < j.Lower-1e-6 || q[turning] > j.Upper+1e-6
				if w > 0 {
					before := m.joints[len(m.joints)-1]
					m.widest = max(m.widest, math.Abs(math.Remainder(q[turning]-before[turning], 2*math.Pi)))
				}
				turning++
			}
			m.joints = append(m.joints, q)
		}
		if outside {
			m.outside++
		}
	}
	return m
}

// panda looks whether the rows are motions of the arm that is built in: whether its flange, where
// their joints put it, keeps a height, a start or a goal. Lines are the set's.
func (l *loaded) panda(d *Draft, s steps) (lines []string, ok bool) {
	arm := robot.Panda()
	if s.joints != arm.Turning() || s.waypoints < 2 {
		return nil, false
	}
	m := l.moved(arm, s)
	hold := func(name, text string, t task) {
		d.Holds = append(d.Holds, Proposal{Name: name, Expr: text, Max: t.max, RMS: t.rms, Note: "residuals in m"})
	}
	var path, position, places []string
	d.Holds = []Proposal{}
	worst := task{}
	for c, name := range []string{"x", "y", "z"} {
		if t := kept(m.tip[c]); t.holds() {
			position = append(position, fmt.Sprintf("%s: %s", name, number(t.value)))
			worst = worst.or(t)
			hold("height", fmt.Sprintf("tip's %s = %s m at all way points", name, number(t.value)), t)
		}
	}
	if len(position) > 0 {
		name := "place"
		if len(position) == 1 && strings.HasPrefix(position[0], "z") {
			name = "height"
		}
		path = append(path, fmt.Sprintf("    - {name: %s, position: {%s}}  # %s", name, strings.Join(position, ", "),
			worst.note("m")))
	}
	if to, t := direction(m.axis); t.holds() { // a habit of who made the rows, as likely as a task
		path = append(path, fmt.Sprintf("    # - {name: upright, upright: [%s]}  # its last axis: %s; not assumed",
			list(to[:]), t.note("rad")))
	}
	// That joints which do not vary put the tip in one place says nothing of the arm.
	known := len(position) > 0
	for _, e := range []struct {
		key string
		at  int // way point
	}{{"start", 0}, {"goal", s.waypoints - 1}} {
		at, worst, ok := [3]float64{}, task{}, true
		for c := range 3 {
			t := kept(metric.Column(m.tip[c], e.at, s.waypoints))
			at[c], ok, worst = t.value, ok && t.holds(), worst.or(t)
		}
		if !ok {
			continue
		}
		for i := e.at; i < len(m.joints); i += s.waypoints {
			known = known || !slices.EqualFunc(m.joints[i], m.joints[e.at], func(a, b float64) bool {
				return math.Abs(math.Remainder(a-b, 2*math.Pi)) < 1e-3
			})
		}
		places = append(places, fmt.Sprintf("  %s: {position: [%s]}  # %s", e.key, list(at[:]), worst.note("m")))
		hold(e.key, fmt.Sprintf("tip at [%s] m", list(at[:])), worst)
	}
	if !known {
		return nil, false
	}
	lines = []string{"", "  kind: arm", "  robot: panda", "  waypoints: " + strconv.Itoa(s.waypoints)}
	switch {
	case len(position) > 0:
		lines = append(lines, "  path:")
	case len(path) > 0:
		lines = append(lines, "  # path:")
	}
	lines = slices.Concat(lines, path, places)
	limits := "true  # the joints' own; all rows keep them"
	if m.outside > 0 {
		limits = fmt.Sprintf("false  # the joints' own: %d rows do not keep them", m.outside)
	}
	return append(lines, "  limits: "+limits,
		fmt.Sprintf("  # step: %s  # how far joints may move to the next way point, rad; the rows': %.4f at most",
			number(up(m.widest)), m.widest),
		"  # What the arm must not hit is not in the rows. To ask for it, in metres:",
		"  # obstacles: [{sphere: [x, y, z], radius: r}]",
		"  # margin: 0.01"), true
}

// direction returns the roundest unit vector that directions keep, and how far from it they are.
func direction(axis [3][]float64) (to [3]float64, t task) {
	for c := range to {
		to[c] = kept(axis[c]).value
	}
	size := dense.Norm(to[:])
	if !(math.Abs(size-1) < 0.01) {
		return to, task{max: math.Inf(1), rms: math.Inf(1)}
	}
	n := len(axis[0])
	for i := range n {
		sum := 0.0
		for c := range to {
			e := axis[c][i] - to[c]/size
			sum += e * e
		}
		t.max, t.rms = max(t.max, math.Sqrt(sum)), t.rms+sum/float64(n)
	}
	t.rms = math.Sqrt(t.rms)
	return to, t
}

// motions recognises motions of an arm. Of one that is known it returns the set's lines; of
// another it says in words what to write.
func (l *loaded) motions(o Options, d *Draft) (lines []string, ok bool) {
	if l.kind != "points" || l.molecule != nil || len(l.condition)+len(l.dropped) > 0 {
		return nil, false
	}
	waypoint := slices.IndexFunc(l.survey.Header, func(name string) bool {
		return strings.EqualFold(name, "waypoint") || strings.EqualFold(name, "trajectory")
	})
	if waypoint >= 0 {
		d.note("the column %q says that a row is a way point of an arm's motion, and "+
			"below it is taken for a point. With the arm's URDF or Denavit–Hartenberg rows write data: {kind: "+
			"trajectory} and set: {kind: arm, urdf: FILE, waypoints: L} (docs/robots.md)", l.survey.Header[waypoint])
		return nil, false
	}
	s, circles := l.circled()
	dim, joints := len(l.coordinate), robot.Panda().Moving()
	like := s
	angles := !slices.ContainsFunc(l.columns, func(c discover.Column) bool {
		return c.Min < -2*math.Pi || c.Max > 2*math.Pi
	})
	if !circles && dim%joints == 0 && dim > joints && angles {
		like = steps{joints, dim / joints, true}
	}
	if like.joints > 0 && len(o.Formulas) == 0 {
		if lines, ok := l.panda(d, like); ok {
			l.kind = "trajectory"
			d.Set = fmt.Sprintf("motions of a Franka Panda, %d way points, whose tip keeps what stands above",
				like.waypoints)
			form := "cosines and then sines of its seven joints"
			if like.values {
				form = "values of its seven joints"
			}
			d.note("the rows are taken for way points of a Franka Panda, each %s, "+
				"since its flange then keeps what is active. Tasks hold to what is said beside them, not to "+
				"round-off: data.tolerance is how far rows may be off. Other relations were not looked "+
				"for. Of another arm: set.urdf or set.dh (docs/robots.md)", form)
			return lines, true
		}
	}
	d.Holds = []Proposal{}
	if circles && s.joints > 2 {
		d.note("the coordinates are %d steps of %d cosines and then their sines, as "+
			"motions of an arm of %[2]d turning joints are. With the arm's URDF or Denavit–Hartenberg rows write "+
			"data: {kind: trajectory} and set: {kind: arm, urdf: FILE, waypoints: %[1]d} (docs/robots.md): its links, "+
			"tasks and obstacles are then known", s.waypoints, s.joints)
	}
	return nil, false
}
