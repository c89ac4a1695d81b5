package trajectories

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/trajectory"
)

// fit makes points of the set of trajectories: coordinates of joint values, by the joints'
// names where there are any, and behind them what a point is given for, from its own ends.
func fit(set constraint.Set, data *dataset.Points) (*dataset.Points, error) {
	m := motionOf(set)
	if m == nil {
		return data, nil
	}
	joints, path := m.arm.Moving()*m.waypoints, m.waypoints*m.size
	out := *data
	named, order, err := m.columns(data.Header)
	switch {
	case err != nil:
		return nil, err
	case named:
		out.X = m.coordinates(data, order)
	case data.D == path, data.D == m.dim:
		out.X = data.X
	case data.D == joints:
		order = make([]int, joints)
		for j := range order {
			order[j] = j
		}
		out.X = m.coordinates(data, order)
	default:
		return nil, m.length(data.D)
	}
	if order != nil {
		out.Doubts = degrees(data.X)
	}
	out.Header, out.Names = nil, nil
	if out.D = len(out.X) / out.N; out.D < m.dim {
		if err := m.circles(out.X, path); err != nil {
			return nil, err
		}
		out.X = m.behind(out.X)
		out.D = len(out.X) / out.N
		return &out, nil
	}
	return &out, m.circles(out.X, m.dim)
}

// degrees doubts that joint values are radians, if they are whole numbers or beyond two turns.
func degrees(x []float64) []string {
	most, wholes := 0.0, true
	for _, v := range x {
		most, wholes = max(most, math.Abs(v)), wholes && v == math.Trunc(v)
	}
	if most < 4*math.Pi && !(wholes && most > 2*math.Pi) {
		return nil
	}
	return []string{fmt.Sprintf("joint values go up to %.4g: they look like degrees where radians are expected", most)}
}

// Firsts returns the joint values of the first configuration in each row of a file that Read reads: trajectories of any
// length, or configurations alone. The error is Read's, or says in words what the rows are not.
func Firsts(path string, arm *robot.Arm) ([][]float64, error) {
	p, err := Read(path)
	if err != nil {
		return nil, err
	}
	fault := func(err error) error { return fmt.Errorf("%s: %w", path, err) }
	m := &motion{arm: arm, waypoints: 1, size: arm.Dim(), dim: arm.Dim()}
	var header []string
	var at []int // columns of the first way point's joints; others may be of a condition
	for j, name := range p.Header {
		if stem, ok := strings.CutSuffix(name, "[0]"); ok && slices.Contains(jointNames(arm), stem) {
			header, at = append(header, name), append(at, j)
		}
	}
	named, order, err := m.columns(header)
	if err != nil {
		return nil, fault(err)
	}
	n := arm.Moving()
	if !named && p.D != n && p.D < m.size {
		return nil, fault(fmt.Errorf("its rows have %d numbers; expected configurations, %d coordinates or %d joint "+
			"values, or trajectories", p.D, m.size, n))
	}
	out := make([][]float64, p.N)
	var x []float64
	for i := range out {
		row := p.X[i*p.D : (i+1)*p.D]
		out[i] = make([]float64, n)
		switch {
		case named:
			for k, j := range order {
				out[i][k] = row[at[j]]
			}
		case p.D == n:
			copy(out[i], row)
		default:
			x = append(x, row[:m.size]...)
			arm.Angles(out[i], row[:m.size])
		}
	}
	if err := m.circles(x, m.size); err != nil {
		return nil, fault(err)
	}
	return out, nil
}

// open is fit for points with a condition behind them: in columns of these names, the same at all
// way points of a trajectory; else it is behind the coordinates already, or its own ends tell.
func open(set constraint.Set, data *dataset.Points, names []string) (*dataset.Points, error) {
	rest, given, err := part(data, names)
	if err != nil {
		return nil, err
	}
	out, err := fit(set, rest)
	if err != nil || given == nil {
		return out, err
	}
	path := set.Dim() - len(names)
	x := make([]float64, 0, out.N*set.Dim())
	for i := range out.N {
		x = append(append(x, out.X[i*out.D:][:path]...), given[i*len(names):(i+1)*len(names)]...)
	}
	out.X, out.D = x, set.Dim()
	return out, nil
}

// part takes the columns of a condition, name or name[l], out of a table: n×len(names), nil if it has none of them.
func part(data *dataset.Points, names []string) (rest *dataset.Points, given []float64, err error) {
	at, own := make([][]int, len(names)), []int{}
	some := false
	for j, name := range data.Header {
		stem, _, _ := strings.Cut(name, "[")
		if k := slices.Index(names, stem); k >= 0 {
			at[k], some = append(at[k], j), true
		} else {
			own = append(own, j)
		}
	}
	if !some {
		return data, nil, nil
	}
	out := *data
	out.X, out.Header, out.D = nil, nil, len(own)
	for _, j := range own {
		out.Header = append(out.Header, data.Header[j])
	}
	for i := range data.N {
		row := data.X[i*data.D : (i+1)*data.D]
		for k, columns := range at {
			if len(columns) == 0 {
				return nil, nil, fmt.Errorf("it has no column %q and others of the condition %s; expected all or "+
					"none", names[k], strings.Join(names, ", "))
			}
			v := row[columns[0]]
			for _, j := range columns[1:] {
				if row[j] != v {
					return nil, nil, fmt.Errorf("row %d (from 0): %s is %.17g and %.17g; expected one value for "+
						"all of a trajectory", i, names[k], v, row[j])
				}
			}
			given = append(given, v)
		}
		for _, j := range own {
			out.X = append(out.X, row[j])
		}
	}
	return &out, given, nil
}

func (m *motion) length(d int) error {
	for _, each := range []int{m.size, m.arm.Moving()} {
		if d%each == 0 && d/each <= trajectory.MaxWaypoints {
			return fmt.Errorf("its trajectories have %d numbers, %d way points of %d each; expected %d way points, "+
				"as the set has (set.waypoints=%d would fit)", d, d/each, each, m.waypoints, d/each)
		}
	}
	return fmt.Errorf("its trajectories have %d numbers; expected %d way points of %d coordinates each, or of %d "+
		"joint values", d, m.waypoints, m.size, m.arm.Moving())
}

// columns reports whether the header names joints and way points, as joint[l], and returns
// the column of each joint of each way point.
func (m *motion) columns(header []string) (named bool, order []int, err error) {
	at := map[string]int{}
	waypoints := map[string]bool{}
	for j, name := range header {
		if stem, rest, ok := strings.Cut(name, "["); ok && stem != "" && strings.HasSuffix(rest, "]") {
			waypoints[strings.TrimSuffix(rest, "]")] = true
			if _, twice := at[name]; twice {
				return false, nil, fmt.Errorf("its header names %s twice", name)
			}
			at[name] = j
		}
	}
	if len(at) == 0 {
		return false, nil, nil
	}
	names, every := jointNames(m.arm), 1
	if len(at) == ((m.waypoints-1)*m.pieces()+1)*len(names) { // a motion in time, as this package writes it
		every = m.pieces()
	}
	for l := range m.waypoints {
		for _, name := range names {
			column := fmt.Sprintf("%s[%d]", name, l*every)
			j, ok := at[column]
			switch {
			case ok:
				order = append(order, j)
				delete(at, column)
			case l == 0:
				return false, nil, fmt.Errorf("its columns are %s …; expected a column for joint %s of %s, whose "+
					"joints are %s",
					strings.Join(header[:min(len(header), 3)], ", "), name, m.arm.Name, strings.Join(names, ", "))
			default:
				return false, nil, fmt.Errorf("it has %d way points and no column %s; expected %d way points, as "+
					"the set has "+"(set.waypoints=%d would fit)", len(waypoints), column, m.waypoints, len(waypoints))
			}
		}
	}
	if every == 1 && (len(at) > 0 || len(order) != len(header)) {
		for j, name := range header {
			if !slices.Contains(order, j) {
				return false, nil, fmt.Errorf("its column %d is %q; expected the %d way points of the joints %s, "+
					"and nothing else", j+1, name, m.waypoints, strings.Join(names, ", "))
			}
		}
	}
	return true, order, nil
}

func (m *motion) coordinates(data *dataset.Points, order []int) []float64 {
	n := m.arm.Moving()
	q, x := make([]float64, n), make([]float64, data.N*m.waypoints*m.size)
	for i := range data.N {
		for l := range m.waypoints {
			for j := range q {
				q[j] = data.X[i*data.D+order[l*n+j]]
			}
			m.arm.Coordinates(x[(i*m.waypoints+l)*m.size:][:m.size], q)
		}
	}
	return x
}

// offCircle is how far from 1 the length of a pair may be that is a cosine and a sine at all;
// what is nearer is for data.tolerance to judge.
const offCircle = 0.01

// circles refuses rows of d numbers in which a pair is no cosine and sine.
func (m *motion) circles(x []float64, d int) error {
	for i := 0; i < len(x); i += d {
		for l := range m.waypoints {
			at := x[i+l*m.size : i+(l+1)*m.size]
			for j := range m.arm.Joints {
				if !m.arm.Joints[j].Kind.Turning() {
					continue
				}
				c, s := m.arm.Columns(j)
				if r := math.Hypot(at[c], at[s]); !(math.Abs(r-1) <= offCircle) {
					return fmt.Errorf("row %d, way point %d, joint %s (rows and way points from 0): (%.6g, %.6g) is "+
						"no cosine and "+
						"sine, for its length is %.6g; expected the cosines of the %d joints that turn, then their "+
						"sines, at each way point", i/d, l, jointName(m.arm, j), at[c], at[s], r, m.arm.Turning())
				}
			}
		}
	}
	return nil
}

// behind puts behind each trajectory what it is given for.
func (m *motion) behind(x []float64) []float64 {
	path := m.waypoints * m.size
	out := make([]float64, 0, len(x)/path*m.dim)
	k := m.arm.NewKinematics()
	for i := 0; i < len(x); i += path {
		out = append(out, x[i:i+path]...)
		for _, g := range m.given {
			at := x[i+g.waypoint*m.size:][:m.size]
			if g.point == nil {
				out = append(out, at...)
				continue
			}
			k.At(at)
			p := k.Point(g.point.Link, g.point.Local)
			out = append(out, p[:]...)
		}
	}
	return out
}

// ends reads a start and a goal of motions on a set that leaves them open: three numbers in metres
// where a point is given, or the values of the joints that move, in radians and metres, with commas
// between them. The result stands behind the way points as the set has it.
func ends(set constraint.Set, start, goal string) (out []float64, err error) {
	m := motionOf(set)
	if m == nil || m.given == nil {
		return nil, errors.New("--start and --goal: the set of the run is no arm that leaves start or goal open " +
			"(set.start, set.goal: position: condition or joints: condition)")
	}
	said := map[string]string{"start": start, "goal": goal}
	for _, g := range m.given {
		name, text := g.name, said[g.name]
		delete(said, g.name)
		want, n := "three numbers in metres, where the point is to be", 3
		if g.point == nil {
			n = m.arm.Moving()
			want = fmt.Sprintf("%d numbers, values of the joints in radians (metres of sliding ones)", n)
		}
		if text == "" {
			return nil, fmt.Errorf("the run leaves its %s open: expected --%[1]s with %s", name, want)
		}
		parts := strings.Split(text, ",")
		values := make([]float64, len(parts))
		for i, part := range parts {
			v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || len(parts) != n {
				return nil, fmt.Errorf("--%s is %q; expected %s, with commas between them", name, text, want)
			}
			values[i] = v
		}
		if g.point == nil {
			x := make([]float64, m.size)
			m.arm.Coordinates(x, values)
			values = x
		}
		out = append(out, values...)
	}
	for _, name := range []string{"start", "goal"} {
		if text := said[name]; text != "" {
			return nil, fmt.Errorf("--%s is %q; expected none: the set of the run does not leave its %[1]s open", name,
				text)
		}
	}
	return out, nil
}
