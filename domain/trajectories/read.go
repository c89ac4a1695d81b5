package trajectories

import (
	"bufio"
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

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/timing"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/internal/input"
)

// Read reads trajectories, by the file's extension:
//
//   - .npy, .npz: n×L×D coordinates of package robot, or n×L×J values of the J joints that move, in
//     the order of the chain;
//   - .csv, .txt: tables. With columns waypoint, time or trajectory a row is a way point, and
//     the other columns are joints by their names; of columns named joint[l] a row is a
//     trajectory; all else is coordinates, a row a trajectory;
//   - .json: a list of trajectories as ROS's JointTrajectory has them, or one of them.
//
// Joint values are radians and metres. What it returns has joint values in columns joint[l], by its Header, or
// coordinates. The error is a *dataset.Error, one of the file system, or a damaged file's.
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

// velocity ends the names of columns that hold the velocity of a joint, which the beginning names.
const velocity = "_velocity"

// most bounds the columns of a trajectory: joints times way points.
const most = trajectory.MaxWaypoints * robot.MostJoints

// folded puts the rows of way points together to rows of trajectories, if the table is one.
func folded(path string, p *dataset.Points) (*dataset.Points, error) {
	column := map[string]int{"trajectory": -1, "waypoint": -1, "time": -1}
	table := false
	var joints []int
	for j, name := range p.Header {
		key := strings.ToLower(name)
		if key == "point" {
			key = "waypoint"
		}
		switch at, ok := column[key]; {
		case ok && at >= 0:
			return nil, &dataset.Error{File: path, Column: fmt.Sprintf("column %d", j+1),
				Value: fmt.Sprintf("a second %q", key), Want: "one"}
		case ok:
			column[key], table = j, true
		case slices.Contains(p.Header, strings.TrimSuffix(name, velocity)) && strings.HasSuffix(name, velocity):
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

// jointTrajectory is ROS's message. Of one that is read only names and positions count.
type jointTrajectory struct {
	Header struct {
		Frame string `json:"frame_id"`
	} `json:"header"`
	JointNames []string   `json:"joint_names"`
	Points     []rosPoint `json:"points"`
}

type rosPoint struct {
	Positions  []float64 `json:"positions"`
	Velocities []float64 `json:"velocities"`
	Time       rosTime   `json:"time_from_start"`
}

type rosTime struct {
	Sec     int64 `json:"sec"`
	Nanosec int64 `json:"nanosec"`
}

func readJSON(path string) (*dataset.Points, error) {
	data, err := input.Read(path, maxJSON)
	if err != nil {
		return nil, err
	}
	return decodeJSON(path, data)
}

func decodeJSON(path string, data []byte) (*dataset.Points, error) {
	var all []json.RawMessage
	err := json.Unmarshal(data, &all)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("%s: byte %d: %w", path, syntax.Offset, err)
	case err != nil: // no list
		all = []json.RawMessage{data}
	}
	sum := sha256.Sum256(data)
	p := &dataset.Points{Name: filepath.Base(path), N: len(all), SHA256: hex.EncodeToString(sum[:])}
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
	return p, nil
}

// writeNPY writes n×L×D, or n×d if something stands behind the way points.
func (m *motion) writeNPY(w io.Writer, points arrayfile.Rows) error {
	shape := []int{points.N, m.waypoints, m.size}
	if points.D != m.waypoints*m.size {
		shape = []int{points.N, points.D}
	}
	return arrayfile.EncodeNPYRows(w, shape, points)
}

// timed calls f with each motion in time.
func (m *motion) timed(points arrayfile.Rows, f func(i int, t *timing.Motion)) {
	r := m.newRunner()
	for i, x := range points.Each() {
		r.joints(r.q, m.row(x, 0))
		t, _ := r.time(r.q)
		f(i, t)
	}
}

// table has a line for each point of a motion in time: its trajectory, its number, seconds, and the values of the
// joints in radians and metres, with their velocities.
func (m *motion) table() *domain.Table {
	n, names := m.arm.Moving(), jointNames(m.arm)
	header := append([]string{"trajectory", "point", "time"}, names...)
	for _, name := range names {
		header = append(header, name+velocity)
	}
	return &domain.Table{Header: header, Lines: func(x []float64, first int) (lines []float64) {
		m.timed(arrayfile.RowsOf(x, m.dim), func(i int, t *timing.Motion) {
			for k, at := range t.Time {
				lines = append(lines, float64(first+i), float64(k), at)
				lines = append(append(lines, t.Q[k*n:(k+1)*n]...), t.V[k*n:(k+1)*n]...)
			}
		})
		return lines
	}}
}

// writeJSON writes a list of trajectories, a line each, in the form of ROS's JointTrajectory. Controllers put the cubic
// of positions and velocities between points: it is the motion whose bounds were looked at.
func (m *motion) writeJSON(w io.Writer, points arrayfile.Rows) error {
	b := bufio.NewWriter(w) // keeps the first error
	b.WriteString("[")
	n := m.arm.Moving()
	m.timed(points, func(i int, t *timing.Motion) {
		out := jointTrajectory{JointNames: jointNames(m.arm), Points: make([]rosPoint, len(t.Time))}
		out.Header.Frame = m.arm.Base
		for k, s := range t.Time {
			at := int64(math.Round(s * 1e9))
			out.Points[k] = rosPoint{t.Q[k*n : (k+1)*n], t.V[k*n : (k+1)*n], rosTime{at / 1e9, at % 1e9}}
		}
		line, err := json.Marshal(out)
		if err != nil {
			panic("trajectories: " + err.Error()) // numbers of points are finite
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		b.Write(line)
	})
	b.WriteString("\n]\n")
	return b.Flush()
}
