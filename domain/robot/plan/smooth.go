package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/internal/dense"
)

// shortcut joins pairs of configurations of the way by steps on Σ wherever that is clear and shorter.
func (pl *Planner) shortcut(way [][]float64) [][]float64 {
	for range max(pl.o.Shortcuts, 0) {
		if len(way) < 3 || pl.ctx.Err() != nil {
			break
		}
		i, j := pl.draw.index(len(way)), pl.draw.index(len(way))
		if i > j {
			i, j = j, i
		}
		if j-i < 2 {
			continue
		}
		if between, ok := pl.walk(way[i], way[j], pl.length(way[i:j+1])); ok {
			way = slices.Concat(way[:i+1], between, way[j:])
		}
	}
	return way
}

// walk goes from a to b by steps, both left out, if it arrives within less than a length.
func (pl *Planner) walk(a, b []float64, length float64) (out [][]float64, ok bool) {
	at, gone := a, 0.0
	for {
		ok, there := pl.step(at, b, true)
		if !ok {
			return nil, false
		}
		gone += pl.turns.delta(pl.dir, at, pl.next)
		if gone >= length-1e-9 {
			return nil, false
		}
		if there {
			return out, true
		}
		at = slices.Clone(pl.next)
		out = append(out, at)
	}
}

func (pl *Planner) length(way [][]float64) (sum float64) {
	for i := range len(way) - 1 {
		sum += pl.turns.delta(pl.dir, way[i], way[i+1])
	}
	return sum
}

// smooth moves each configuration half the way to the middle of its neighbours, on Σ, where both segments stay clear.
func (pl *Planner) smooth(way [][]float64) {
	mid := make([]float64, pl.m)
	for range max(pl.o.Smooth, 0) {
		for i := 1; i < len(way)-1 && pl.ctx.Err() == nil; i++ {
			pl.turns.delta(pl.dir, way[i-1], way[i+1])
			dense.AddScaled(mid, way[i-1], 0.5, pl.dir)
			pl.turns.delta(pl.dir, way[i], mid)
			dense.AddScaled(mid, way[i], 0.5, pl.dir)
			if pl.path.solve(mid, pl.o.Step) && pl.clear(way[i-1], mid) && pl.clear(mid, way[i+1]) {
				copy(way[i], mid)
			}
		}
	}
}

// waypoints lays L configurations at even distances along the way, each on Σ, and measures their segments.
func (pl *Planner) waypoints(way [][]float64) *Error {
	for i := range len(way) - 1 { // no jumps of whole turns
		pl.turns.delta(pl.dir, way[i], way[i+1])
		dense.AddScaled(way[i+1], way[i], 1, pl.dir)
	}
	along := make([]float64, len(way))
	last := pl.tip(way[0])
	for i := range len(way) - 1 {
		d := distance(way[i], way[i+1])
		if pl.o.Even == Tip {
			next := pl.tip(way[i+1])
			d = distance(last[:], next[:])
			last = next
		} else if pl.o.Even == Room {
			d /= math.Sqrt(max(repairRoom, min(pl.roomAt(way[i]), pl.roomAt(way[i+1]))-pl.p.Margin))
		}
		along[i+1] = along[i] + d
	}
	n, out := pl.o.Waypoints, &pl.out
	out.Q, out.X = make([]float64, n*pl.m), make([]float64, n*pl.d)
	for l := range n {
		q := out.Q[l*pl.m : (l+1)*pl.m]
		if !pl.lay(q, way, along, along[len(way)-1]*float64(l)/float64(n-1), l == n-1) {
			return &Error{Reason: Lost, Detail: "a waypoint between configurations of the path has no point of Σ " +
				"beside it"}
		}
		x := out.X[l*pl.d : (l+1)*pl.d]
		pl.arm.Coordinates(x, q)
		if room, pair := pl.room.Clearance(x); room < pl.p.Margin {
			return &Error{Reason: Coarse, Detail: fmt.Sprintf("waypoint %d is too near: %s", l,
				pl.p.Scene.Describe(pair))}
		}
		if l > 0 {
			out.Length += distance(q, out.Q[(l-1)*pl.m:l*pl.m])
		}
	}
	out.Room, out.Segment = pl.room.Path(out.X, n)
	if pl.o.Segments && !(out.Room.Lower >= pl.p.Margin) {
		return &Error{Reason: Coarse, Detail: "the room along segment " + strconv.Itoa(out.Segment) + " is too " +
			"little between " + pl.p.Scene.Describe(out.Room.Pair) + "; take more waypoints"}
	}
	return nil
}

// lay writes the configuration at a distance along the way.
func (pl *Planner) lay(q []float64, way [][]float64, along []float64, at float64, last bool) bool {
	k, _ := slices.BinarySearch(along, at)
	switch {
	case last:
		copy(q, way[len(way)-1])
		return true
	case k == 0:
		copy(q, way[0])
		return true
	}
	k = min(k, len(way)-1)
	t := (at - along[k-1]) / (along[k] - along[k-1])
	for j, v := range way[k-1] {
		q[j] = v + t*(way[k][j]-v)
	}
	return pl.path.solve(q, pl.o.Step)
}

func (pl *Planner) tip(q []float64) [3]float64 {
	pl.arm.Coordinates(pl.x0, q)
	pl.kin.At(pl.x0)
	return pl.kin.Point(pl.p.Tip.Link, pl.p.Tip.Local)
}

// Passed returns on which side of each obstacle the tip passes along n waypoints: Left if it goes round it clockwise on
// the whole, seen from above, Right if counterclockwise, and Any if by less than a twentieth of a turn.
func (pl *Planner) Passed(x []float64, n int) string {
	out := make([]byte, len(pl.p.Scene.Obstacles))
	compass := scene.NewCompass([3]float64{2: 1})
	tips := make([]float64, 0, 3*n)
	for l := range n {
		pl.kin.At(x[l*pl.d : (l+1)*pl.d])
		p := pl.kin.Point(pl.p.Tip.Link, pl.p.Tip.Local)
		tips = append(tips, p[:]...)
	}
	for i := range out {
		turned := compass.Turned(tips, pl.p.Scene.Obstacles[i].Centre())
		switch {
		case turned < -math.Pi/10:
			out[i] = Left
		case turned > math.Pi/10:
			out[i] = Right
		default:
			out[i] = Any
		}
	}
	return string(out)
}
