package trajectories

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/trajectory"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/robot"
)

// Read reads trajectories, by the file's extension:
//
//   - .npy: n×L×D coordinates of package robot, or n×L×J values of the J joints that move, in
//     the order of the chain;
//   - .csv, .txt: tables. With columns waypoint, time or trajectory a row is a way point, and
//     the other columns are joints by their names; of columns named joint[l] a row is a
//     trajectory; all else is coordinates, a row a trajectory;
//   - .json: a list of trajectories as ROS's JointTrajectory has them, or one of them.
//
// Joint values are radians and metres. What it returns has joint values in columns joint[l], by
// its Header, or coordinates. The error is a *dataset.Error, one of the file system, or a
// damaged file's.
func Read(path string) (*dataset.Points, error) {
	if strings.ToLower(filepath.Ext(path)) == ".json" {
		return readJSON(path)
	}
	p, err := dataset.ReadPoints(path)
	if err != nil {
		return nil, err
	}
	return folded(path, p)
}

// most bounds the columns of a trajectory: joints times way points.
const most = trajectory.MaxWaypoints * robot.MostJoints

// folded puts the rows of way points together to rows of trajectories, if the table is one.
func folded(path string, p *dataset.Points) (*dataset.Points, error) {
	column := map[string]int{"trajectory": -1, "waypoint": -1, "time": -1}
	table := false
	var joints []int
	for j, name := range p.Header {
		key := strings.ToLower(name)
		switch at, ok := column[key]; {
		case ok && at >= 0:
			return nil, &dataset.Error{File: path, Column: fmt.Sprintf("column %d", j+1),
				Value: fmt.Sprintf("a second %q", key),
				Want:  "one"}
		case ok:
			column[key], table = j, true
		default:
			joints = append(joints, j)
		}
	}
	if !table {
		return p, nil
	}
	if len(joints) == 0 || len(joints) > robot.MostJoints {
		return nil, &dataset.Error{File: path, Value: fmt.Sprintf("%d columns of joints", len(joints)),
			Want: fmt.Sprintf("1 to %d beside trajectory, waypoint and time", robot.MostJoints)}
	}
	f := folder{path: path, p: p, trajectory: column["trajectory"], waypoint: column["waypoint"], time: column["time"]}
	starts, err := f.starts()
	if err != nil {
		return nil, err
	}
	l := starts[1] - starts[0]
	out := *p
	out.N, out.D = len(starts)-1, l*len(joints)
	if out.D > most {
		return nil, &dataset.Error{File: path, Value: fmt.Sprintf("%d way points of %d joints", l, len(joints)),
			Want: fmt.Sprintf("at most %d numbers a trajectory", most)}
	}
	out.X, out.Header = make([]float64, 0, p.N*len(joints)), make([]string, 0, out.D)
	for i := range p.N {
		for _, j := range joints {
			out.X = append(out.X, p.X[i*p.D+j])
			if i < l {
				out.Header = append(out.Header, fmt.Sprintf("%s[%d]", p.Header[j], i))
			}
		}
	}
	return &out, nil
}

// A folder finds out where trajectories begin in a table of way points.
type folder struct {
	path                       string
	p                          *dataset.Points
	trajectory, waypoint, time int // columns; −1: none
}

func (f *folder) at(row, column int) float64 { return f.p.X[row*f.p.D+column] }

// starts returns the first row of each trajectory, and the number of rows.
func (f *folder) starts() ([]int, error) {
	var out []int
	seen := map[float64]bool{}
	fault := func(row int, column, want string) error {
		j := map[string]int{"trajectory": f.trajectory, "waypoint": f.waypoint, "time": f.time}[column]
		return &dataset.Error{File: f.path, Column: fmt.Sprintf("%s of row %d (from 0, below the header)", column, row),
			Value: fmt.Sprintf("%g", f.at(row, j)), Want: want}
	}
	for i := range f.p.N {
		begins := i == 0
		switch {
		case begins:
		case f.trajectory >= 0:
			begins = f.at(i, f.trajectory) != f.at(i-1, f.trajectory)
		case f.waypoint >= 0:
			begins = f.at(i, f.waypoint) == 0
		default:
			begins = f.at(i, f.time) <= f.at(i-1, f.time)
		}
		if begins {
			out = append(out, i)
			if f.trajectory >= 0 {
				number := f.at(i, f.trajectory)
				if seen[number] {
					return nil, fault(i, "trajectory", "the rows of a trajectory together")
				}
				seen[number] = true
			}
		}
		first := out[len(out)-1]
		if want := float64(i - first); f.waypoint >= 0 && f.at(i, f.waypoint) != want {
			return nil, fault(i, "waypoint", fmt.Sprintf("%g: they count from 0", want))
		}
		if f.time >= 0 && i > first && !(f.at(i, f.time) > f.at(i-1, f.time)) {
			return nil, fault(i, "time", fmt.Sprintf("more than %g", f.at(i-1, f.time)))
		}
	}
	out = append(out, f.p.N)
	for k := 1; k < len(out)-1; k++ {
		if got, want := out[k+1]-out[k], out[1]; got != want {
			return nil, &dataset.Error{File: f.path, Column: fmt.Sprintf("trajectory %d (from 0)", k),
				Value: fmt.Sprintf("%d way points long", got), Want: fmt.Sprintf("%d, as the first", want)}
		}
	}
	return out, nil
}

// maxJSON bounds JSON files, whose numbers take more room in memory than in the file.
const maxJSON = 1 << 29

// readJSON reads what writeJSON writes.
func readJSON(path string) (*dataset.Points, error) {
	f, err := input.Open(path, maxJSON)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := decodeJSON(path, f)
	if err != nil {
		return nil, err
	}
	p.Name = filepath.Base(path)
	return p, nil
}

// jointTrajectory is ROS's message, of which the rest is passed over.
type jointTrajectory struct {
	JointNames []string `json:"joint_names"`
	Points     []struct {
		Positions []float64 `json:"positions"`
	} `json:"points"`
}

func decodeJSON(path string, r io.Reader) (*dataset.Points, error) {
	sum := sha256.New()
	dec := json.NewDecoder(io.TeeReader(r, sum))
	damaged := func(err error) error {
		var at *json.SyntaxError
		if errors.As(err, &at) {
			return fmt.Errorf("%s: byte %d: %w", path, at.Offset, err)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	var all []json.RawMessage
	var whole json.RawMessage
	if err := dec.Decode(&whole); err != nil {
		return nil, damaged(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &dataset.Error{File: path, Value: "more than one value", Want: "a list of trajectories"}
	}
	if json.Unmarshal(whole, &all) != nil {
		all = []json.RawMessage{whole}
	}
	p := &dataset.Points{Name: path, N: len(all)}
	var names []string
	for i, raw := range all {
		var t jointTrajectory
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("%s: trajectory %d (from 0): %w", path, i, err)
		}
		fault := func(value, want string) error {
			return &dataset.Error{File: path, Column: fmt.Sprintf("trajectory %d (from 0)", i), Value: value,
				Want: want}
		}
		if i == 0 {
			names = t.JointNames
			if len(names) == 0 || len(names) > robot.MostJoints {
				return nil, fault(fmt.Sprintf("one of %d joint_names", len(names)), fmt.Sprintf("1 to %d",
					robot.MostJoints))
			}
			if len(t.Points) == 0 || len(t.Points)*len(names) > most {
				return nil, fault(fmt.Sprintf("of %d points", len(t.Points)), fmt.Sprintf("1 to %d", most/len(names)))
			}
			p.D = len(t.Points) * len(names)
			for l := range t.Points {
				for _, name := range names {
					p.Header = append(p.Header, fmt.Sprintf("%s[%d]", name, l))
				}
			}
		}
		if !slices.Equal(t.JointNames, names) {
			return nil, fault("of other joint_names", "those of the first, in their order")
		}
		if got, want := len(t.Points), p.D/len(names); got != want {
			return nil, fault(fmt.Sprintf("%d points long", got), fmt.Sprintf("%d, as the first", want))
		}
		for l, point := range t.Points {
			if len(point.Positions) != len(names) {
				return nil, fault(fmt.Sprintf("with %d positions at point %d", len(point.Positions), l),
					fmt.Sprintf("%d", len(names)))
			}
			p.X = append(p.X, point.Positions...)
		}
		if len(p.X) > dataset.MaxNumbers {
			return nil, &dataset.Error{File: path, Value: "too many numbers", Want: fmt.Sprintf("at most %d",
				dataset.MaxNumbers)}
		}
	}
	if p.N == 0 {
		return nil, &dataset.Error{File: path, Value: "an empty list", Want: "trajectories"}
	}
	p.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

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
	out.Header = nil
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

// part takes the columns of a condition, name or name[l], out of a table: n×len(names), nil if it
// has none of them.
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

// length says what trajectories of d numbers are.
func (m *motion) length(d int) error {
	for _, each := range []int{m.size, m.arm.Moving()} {
		if d%each == 0 && d/each <= trajectory.MaxWaypoints {
			return fmt.Errorf("its trajectories have %d numbers, %d way points of %d each; expected %d way points, "+
				"as the set "+
				"has (set.waypoints=%d would fit)", d, d/each, each, m.waypoints, d/each)
		}
	}
	return fmt.Errorf("its trajectories have %d numbers; expected %d way points of %d coordinates each, or of %d "+
		"joint values",
		d, m.waypoints, m.size, m.arm.Moving())
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
	names := jointNames(m.arm)
	for l := range m.waypoints {
		for _, name := range names {
			column := fmt.Sprintf("%s[%d]", name, l)
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
					"the set has "+
					"(set.waypoints=%d would fit)", len(waypoints), column, m.waypoints, len(waypoints))
			}
		}
	}
	if len(at) > 0 || len(order) != len(header) {
		for j, name := range header {
			if !slices.Contains(order, j) {
				return false, nil, fmt.Errorf("its column %d is %q; expected the %d way points of the joints %s, "+
					"and nothing else",
					j+1, name, m.waypoints, strings.Join(names, ", "))
			}
		}
	}
	return true, order, nil
}

// coordinates turns rows of joint values into configurations.
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
						"sines, at each way "+
						"point", i/d, l, jointName(m.arm, j), at[c], at[s], r, m.arm.Turning())
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
