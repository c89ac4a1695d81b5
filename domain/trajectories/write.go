package trajectories

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/robot/timing"
)

// writeNPY writes n×L×D, or n×d if something stands behind the way points.
func (m *motion) writeNPY(w io.Writer, points arrayfile.Rows) error {
	shape := []int{points.N, m.waypoints, m.size}
	if points.D != m.waypoints*m.size {
		shape = []int{points.N, points.D}
	}
	return arrayfile.EncodeNPYRows(w, shape, points)
}

// timed calls f with each motion in time.
func (m *motion) timed(points arrayfile.Rows, f func(i int, t *timing.Motion) error) error {
	r, err := m.newRunner()
	if err != nil {
		return err
	}
	for i, x := range points.Each() {
		r.joints(r.q, m.row(x, 0))
		t, _ := r.time(r.q)
		if err := f(i, t); err != nil {
			return fmt.Errorf("trajectory %d: %w", i, err)
		}
	}
	return nil
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
		err := m.timed(arrayfile.RowsOf(x, m.dim), func(i int, t *timing.Motion) error {
			for k, at := range t.Time {
				lines = append(lines, float64(first+i), float64(k), at)
				lines = append(append(lines, t.Q[k*n:(k+1)*n]...), t.V[k*n:(k+1)*n]...)
			}
			return nil
		})
		if err != nil {
			panic("trajectories: " + err.Error()) // New has made a runner
		}
		return lines
	}}
}

// rosTime is seconds as ROS has them.
type rosTime struct {
	Sec     int64 `json:"sec"`
	Nanosec int64 `json:"nanosec"`
}

// writeJSON writes a list of trajectories, a line each, in the form of ROS's JointTrajectory. Controllers put the cubic
// of positions and velocities between points: it is the motion whose bounds were looked at.
func (m *motion) writeJSON(w io.Writer, points arrayfile.Rows) error {
	type point struct {
		Positions  []float64 `json:"positions"`
		Velocities []float64 `json:"velocities"`
		Time       rosTime   `json:"time_from_start"`
	}
	type message struct {
		Header struct {
			Frame string `json:"frame_id"`
		} `json:"header"`
		JointNames []string `json:"joint_names"`
		Points     []point  `json:"points"`
	}
	b := bufio.NewWriter(w) // keeps the first error
	b.WriteString("[")
	n := m.arm.Moving()
	err := m.timed(points, func(i int, t *timing.Motion) error {
		out := message{JointNames: jointNames(m.arm)}
		out.Header.Frame = m.arm.Base
		for k, s := range t.Time {
			at := int64(math.Round(s * 1e9))
			out.Points = append(out.Points, point{t.Q[k*n : (k+1)*n], t.V[k*n : (k+1)*n], rosTime{at / 1e9, at % 1e9}})
		}
		line, err := json.Marshal(out)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		b.Write(line)
		return nil
	})
	b.WriteString("\n]\n")
	return cmp.Or(err, b.Flush())
}
