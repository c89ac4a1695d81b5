package trajectories

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain"
)

// writeNPY writes n×L×D, or n×d if something stands behind the way points.
func (m *motion) writeNPY(w io.Writer, points arrayfile.Rows) error {
	shape := []int{points.N, m.waypoints, m.size}
	if points.D != m.waypoints*m.size {
		shape = []int{points.N, points.D}
	}
	return arrayfile.EncodeNPYRows(w, shape, points)
}

// pause returns the seconds from way point to way point of a trajectory of joint values q: the least with which no
// joint is faster than its limit, and at least a millisecond; 1 if no joint that moves has a limit.
func (m *motion) pause(q []float64) float64 {
	n, least, bounded := m.arm.Moving(), 1e-3, false
	k := 0
	for i := range m.arm.Joints {
		j := &m.arm.Joints[i]
		if !j.Free() {
			continue
		}
		if j.Velocity > 0 && !math.IsInf(j.Velocity, 1) {
			bounded = true
			for l := n + k; l < len(q); l += n {
				least = max(least, math.Abs(q[l]-q[l-n])/j.Velocity)
			}
		}
		k++
	}
	if !bounded {
		return 1
	}
	return math.Ceil(least*1e9) / 1e9 // whole nanoseconds, as ROS has them
}

// table has a line for each way point: its trajectory, its number, seconds, and the values of the joints in radians and
// metres.
func (m *motion) table() *domain.Table {
	n := m.arm.Moving()
	return &domain.Table{Header: append([]string{"trajectory", "waypoint", "time"}, jointNames(m.arm)...),
		Lines: func(x []float64, first int) (lines []float64) {
			q := make([]float64, m.waypoints*n)
			for i := range m.rows(x) {
				m.joints(q, m.row(x, i))
				pause := m.pause(q)
				for l := range m.waypoints {
					lines = append(lines, float64(first+i), float64(l), float64(l)*pause)
					lines = append(lines, q[l*n:(l+1)*n]...)
				}
			}
			return lines
		}}
}

// rosTime is seconds as ROS has them.
type rosTime struct {
	Sec     int64 `json:"sec"`
	Nanosec int64 `json:"nanosec"`
}

// writeJSON writes a list of trajectories, a line each, in the form of ROS's JointTrajectory. Joints go straight from
// point to point: with velocities, a controller would put a spline through the points, which nobody has checked.
func (m *motion) writeJSON(w io.Writer, points arrayfile.Rows) error {
	type point struct {
		Positions []float64 `json:"positions"`
		Time      rosTime   `json:"time_from_start"`
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
	q := make([]float64, m.waypoints*n)
	for i, x := range points.Each() {
		m.joints(q, m.row(x, 0))
		t := message{JointNames: jointNames(m.arm)}
		t.Header.Frame = m.arm.Base
		nanos := int64(math.Round(m.pause(q) * 1e9))
		for l := range m.waypoints {
			at := int64(l) * nanos
			t.Points = append(t.Points, point{q[l*n : (l+1)*n], rosTime{at / 1e9, at % 1e9}})
		}
		line, err := json.Marshal(t)
		if err != nil {
			return fmt.Errorf("trajectory %d: %w", i, err)
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		b.Write(line)
	}
	b.WriteString("\n]\n")
	return b.Flush()
}
