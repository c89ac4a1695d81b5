package plan

import (
	"context"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
)

const (
	mendNodes    = 400   // of the trees around one place
	repairRoom   = 0.003 // m beyond the margin, at first
	repairInside = 0.01  // rad or m that waypoints keep from limits, if they can
)

// NewRepairer makes a Planner for Repair, Relax, Onto and Off. It keeps joint values as the caller gives them: it never
// replaces a value by one that differs by whole turns.
func NewRepairer(p Problem, waypoints int) (*Planner, error) {
	pl, err := New(p, Options{Waypoints: waypoints, Shortcuts: 20, Smooth: 5})
	if err == nil {
		pl.path.turns = true
	}
	return pl, err
}

// Onto brings joint values to what the path keeps by a step of least length; false if it cannot.
func (pl *Planner) Onto(q []float64) bool { return pl.path.solve(q, pl.o.Step) }

// Off returns by how much joint values violate what the path keeps, metres or radians.
func (pl *Planner) Off(q []float64) float64 {
	_, by := pl.path.worst(q)
	return by
}

// Relax takes away what changes from waypoint to waypoint. Each pass moves the waypoints but the ends to where a
// filter puts them (Taubin, A signal processing approach to fair surface design, 1995): half the way to the middle of
// their neighbours, then a little more of it back, twice. Slow bends of a motion pass it as they are: the middle of
// neighbours alone would pull motions towards the obstacles that they go around. A waypoint moves on Σ, where it keeps
// the margin and the least room that the motion had, and touches nothing before and behind it. If a motion is kept
// before Relax, by keeps, it is so after each move.
func (pl *Planner) Relax(q []float64, passes int, keeps func(q []float64) bool) {
	n, to, had, kept := pl.m, make([]float64, len(q)), make([]float64, len(q)), keeps(q)
	keep := pl.keep
	defer func() { pl.keep = keep }()
	pl.keep = 0 // of clear
	least := math.Inf(1)
	for at := 0; at < len(q); at += n {
		least = min(least, pl.roomAt(q[at:at+n]))
	}
	for range passes {
		copy(to, q)
		for _, share := range [...]float64{0.5, -0.53, 0.5, -0.53} {
			copy(had, to)
			for i := n; i < len(q)-n; i++ {
				to[i] += share * ((had[i-n]+had[i+n])/2 - had[i])
			}
		}
		for at := n; at < len(q)-n; at += n {
			before, now, next, mid := q[at-n:at], q[at:at+n], q[at+n:at+2*n], to[at:at+n]
			if pl.Onto(mid) && pl.roomAt(mid) >= max(least, pl.p.Margin) && pl.clear(before, mid) &&
				pl.clear(mid, next) {
				for j := range mid {
					now[j], mid[j] = mid[j], now[j]
				}
				if kept && !keeps(q) {
					copy(now, mid)
				}
			}
		}
	}
}

// stands reports whether q has the margin and so much more, and then is within limits by repairInside.
func (pl *Planner) stands(q []float64, more float64) bool {
	for j, v := range q {
		low, high := pl.path.low[j], pl.path.high[j]
		if inside := min(repairInside, (high-low)/4); more > 0 && pl.p.Limits && (v < low+inside || v > high-inside) {
			return false
		}
	}
	return pl.roomAt(q) >= pl.p.Margin+more
}

// roomAt returns the least clearance of a configuration.
func (pl *Planner) roomAt(q []float64) float64 {
	pl.arm.Coordinates(pl.x0, q)
	room, _ := pl.room.Clearance(pl.x0)
	return room
}

// Repair returns a motion through the waypoints q, from the first to the last. It skips waypoints that it cannot join
// on Σ. The clearance beyond the margin is 0.003 m at try 0, and four times as much at each further try, but no more
// than the ends have. From try 1 on waypoints are denser where there is little room. Repair joins
// neighbours by a straight segment or else by trees in the gap. Its random numbers are a function of (seed, query,
// try). The error is an *Error or the error of ctx.
func (pl *Planner) Repair(ctx context.Context, q []float64, seed, query uint64, try int) (*Path, error) {
	ends := min(pl.roomAt(q[:pl.m]), pl.roomAt(q[len(q)-pl.m:]))
	pl.ctx, pl.out, pl.keep = ctx, Path{}, min(pl.p.Margin+repairRoom*math.Pow(4, float64(try)), ends)
	if pl.o.Even = Joints; try > 0 {
		pl.o.Even = Room
	}
	pl.draw, pl.spread = drawer{keyed.ArmRepairs.Stream(seed, 0), query, try << 20}, 0.5*float64(1+try)
	way := [][]float64{slices.Clone(q[:pl.m])}
	for at := pl.m; at < len(q); at += pl.m {
		a, b, last := way[len(way)-1], slices.Clone(q[at:at+pl.m]), at+pl.m == len(q)
		if !last && !pl.stands(b, pl.keep-pl.p.Margin) {
			continue
		}
		between, ok := pl.walk(a, b, math.Inf(1))
		if !ok {
			between, ok = pl.detour(a, b)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case ok:
			way = append(append(way, between...), b)
		case last:
			return nil, &Error{Reason: NotJoined, Detail: "no way around was found"}
		}
	}
	pl.smooth(way)
	if err := pl.waypoints(way); err != nil {
		return nil, err
	}
	found := pl.out
	return &found, ctx.Err()
}

// detour joins two configurations by trees about the middle between them, both left out.
func (pl *Planner) detour(a, b []float64) ([][]float64, bool) {
	pl.turns.delta(pl.dir, a, b)
	pl.local = make([]float64, pl.m)
	dense.AddScaled(pl.local, a, 0.5, pl.dir)
	err := pl.connect(slices.Clone(a), slices.Clone(b), mendNodes)
	if pl.local = nil; err != nil {
		return nil, false
	}
	way := pl.shortcut(pl.joined())
	return way[1 : len(way)-1], true
}
