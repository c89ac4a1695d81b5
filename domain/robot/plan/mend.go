package plan

import (
	"context"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A Mender keeps to joint values as they are given: of values that differ by whole turns it never takes another.
type Mender struct{ pl *Planner }

const (
	mendNodes  = 400  // of the trees around one place
	mendInside = 0.01 // rad or m that waypoints keep from limits, if they can
)

// NewMender makes a Mender of motions of the problem. Its scratch is that of one goroutine.
func NewMender(p Problem, waypoints int) (*Mender, error) {
	pl, err := New(p, Options{Waypoints: waypoints, Reserve: 0.003, Shortcuts: 20, Smooth: 5})
	if err != nil {
		return nil, err
	}
	pl.path.turns = true
	return &Mender{pl}, nil
}

// Onto brings joint values to what the path keeps by a step of least length; false if it cannot.
func (m *Mender) Onto(q []float64) bool { return m.pl.path.solve(q, m.pl.o.Step) }

// Off returns by how much joint values violate what the path keeps, metres or radians.
func (m *Mender) Off(q []float64) float64 {
	_, by := m.pl.path.worst(q)
	return by
}

// Relax moves each waypoint but the ends half the way to the middle of its neighbours, on Σ, wherever that keeps the
// margin at the waypoint and touches nothing before and behind it.
func (m *Mender) Relax(q []float64, passes int) {
	pl := m.pl
	n, mid := pl.m, make([]float64, pl.m)
	for range passes {
		for at := n; at < len(q)-n; at += n {
			before, now, next := q[at-n:at], q[at:at+n], q[at+n:at+2*n]
			for j := range mid {
				mid[j] = now[j]/2 + (before[j]+next[j])/4
			}
			if pl.path.solve(mid, pl.o.Step) && m.stands(mid, 0) && m.free(before, mid) && m.free(mid, next) {
				copy(now, mid)
			}
		}
	}
}

// free reports whether nothing is touched from a to b.
func (m *Mender) free(a, b []float64) bool {
	pl := m.pl
	pl.arm.Coordinates(pl.x0, a)
	pl.arm.Coordinates(pl.x1, b)
	return pl.room.Clear(pl.x0, pl.x1, 0)
}

// stands reports whether q has the margin and so much more, and is within limits by mendInside then.
func (m *Mender) stands(q []float64, more float64) bool {
	pl := m.pl
	pl.arm.Coordinates(pl.x0, q)
	room, _ := pl.room.Clearance(pl.x0)
	for j, v := range q {
		inside := min(mendInside, (pl.path.high[j]-pl.path.low[j])/4)
		if more > 0 && pl.path.limits && (v < pl.path.low[j]+inside || v > pl.path.high[j]-inside) {
			return false
		}
	}
	return room >= pl.p.Margin+more
}

// Mend returns a motion from the first of the waypoints q to the last by way of those between, as far as they can be
// joined on Σ with room: straight, or else by trees that grow about the gap. What it draws is a function of (seed,
// query). The error is an *Error, or that of ctx.
func (m *Mender) Mend(ctx context.Context, q []float64, seed, query uint64) (*Path, error) {
	pl := m.pl
	pl.ctx, pl.out = ctx, Path{}
	pl.draw = drawer{stream: keyed.ArmRepairs.Stream(seed, 0), query: query}
	n := pl.m
	way := [][]float64{slices.Clone(q[:n])}
	for at := n; at < len(q); at += n {
		a, b, last := way[len(way)-1], q[at:at+n], at+n == len(q)
		if !last && !m.stands(b, pl.keep-pl.p.Margin) {
			continue
		}
		between, ok := pl.walk(a, b, math.Inf(1))
		if !ok {
			between, ok = m.detour(a, b)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case ok:
			way = append(append(way, between...), slices.Clone(b))
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
func (m *Mender) detour(a, b []float64) ([][]float64, bool) {
	pl := m.pl
	pl.local = make([]float64, pl.m)
	pl.spread = max(0.3, pl.delta(pl.dir, a, b)/2)
	dense.AddScaled(pl.local, a, 0.5, pl.dir)
	defer func() { pl.local = nil }()
	if err := pl.connect(slices.Clone(a), slices.Clone(b), mendNodes); err != nil {
		return nil, false
	}
	way := pl.shortcut(pl.joined())
	return way[1 : len(way)-1], true
}
