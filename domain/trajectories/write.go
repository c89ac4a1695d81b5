package trajectories

import (
	"bufio"
	"encoding/json"
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
