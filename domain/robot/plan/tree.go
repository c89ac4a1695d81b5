package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/internal/dense"
)

// A tree of configurations; node 0 is its root.
type tree struct {
	m      int
	q      []float64 // of each node
	parent []int
}

func (t *tree) n() int             { return len(t.parent) }
func (t *tree) at(i int) []float64 { return t.q[i*t.m : (i+1)*t.m] }
func (t *tree) reset(root []float64) {
	t.q, t.parent = append(t.q[:0], root...), append(t.parent[:0], -1)
}

func (t *tree) add(q []float64, parent int) int {
	t.q, t.parent = append(t.q, q...), append(t.parent, parent)
	return len(t.parent) - 1
}

// branch returns the nodes from node i to the root.
func (t *tree) branch(i int) (out [][]float64) {
	for ; i >= 0; i = t.parent[i] {
		out = append(out, slices.Clone(t.at(i)))
	}
	return out
}

// turns are the joints that turn without limits: their values differ by less than half a turn.
type turns []bool

// delta writes b − a into dst, the shorter way of turns, and returns its length.
func (whole turns) delta(dst, a, b []float64) float64 {
	sum := 0.0
	for j := range dst {
		d := b[j] - a[j]
		if whole[j] {
			d -= 2 * math.Pi * math.Round(d/(2*math.Pi))
		}
		dst[j] = d
		sum += d * d
	}
	return math.Sqrt(sum)
}

// nearest returns the node of t that is nearest to q. Nodes hold angles without limits in
// [−π, π], and q is brought there.
func (t *tree) nearest(whole turns, q []float64) int {
	whole.wrap(q)
	best, at := math.Inf(1), 0
	for i := range t.parent {
		sum := 0.0
		for j, v := range t.q[i*t.m : (i+1)*t.m] {
			d := math.Abs(v - q[j])
			if whole[j] && d > math.Pi {
				d = 2*math.Pi - d
			}
			sum += d * d
		}
		if sum < best {
			best, at = sum, i
		}
	}
	return at
}

func (whole turns) wrap(q []float64) {
	for j, v := range q {
		if whole[j] && math.Abs(v) > math.Pi {
			q[j] = v - 2*math.Pi*math.Round(v/(2*math.Pi))
		}
	}
}

// step goes from q towards target by at most Options.Step and back onto Σ: the result is in pl.next. on says that
// target is on Σ. It reports whether that is a segment with room that comes nearer, and whether it ends at target.
func (pl *Planner) step(q, target []float64, on bool) (ok, there bool) {
	far := pl.turns.delta(pl.dir, q, target)
	if far <= pl.o.Step && on {
		copy(pl.next, target)
		return pl.clear(q, pl.next), true
	}
	if far < 1e-9 {
		return false, false
	}
	s := min(1, pl.o.Step/far)
	dense.AddScaled(pl.next, q, s, pl.dir)
	if !pl.path.solve(pl.next, pl.o.Step) {
		return false, false
	}
	gone := pl.turns.delta(pl.dir, q, pl.next)
	if gone < 0.05*pl.o.Step || gone > 2*pl.o.Step || pl.turns.delta(pl.dir, pl.next, target) >= far-0.01*pl.o.Step {
		return false, false
	}
	return pl.clear(q, pl.next), false
}

// clear reports whether the segment keeps the margin, and the tip its side.
func (pl *Planner) clear(a, b []float64) bool {
	pl.arm.Coordinates(pl.x0, a)
	pl.arm.Coordinates(pl.x1, b)
	return pl.room.Clear(pl.x0, pl.x1, pl.keep) && (pl.gate == nil || pl.gate.Clear(pl.x0, pl.x1, 0))
}

// connect grows a tree from each end until they meet: one by a step towards a random
// configuration, the other by as many as it can towards where that step came.
func (pl *Planner) connect(start, goal []float64, nodes int) *Error {
	pl.turns.wrap(start)
	pl.turns.wrap(goal)
	a, b := &pl.trees[0], &pl.trees[1]
	a.reset(start)
	b.reset(goal)
	if !pl.clear(start, start) || !pl.clear(goal, goal) {
		return &Error{Reason: NotJoined, Detail: "the tip begins or ends in the wall that keeps it to its side of " +
			"an obstacle"}
	}
	random := make([]float64, pl.m)
	for turn := 0; turn < 5*nodes && a.n()+b.n() < nodes; turn++ {
		if turn%16 == 0 && pl.ctx.Err() != nil {
			break
		}
		pl.around(random, pl.local, pl.spread)
		from := a.nearest(pl.turns, random)
		if ok, _ := pl.step(a.at(from), random, false); ok {
			pl.turns.wrap(pl.next)
			at := a.add(pl.next, from)
			to := b.nearest(pl.turns, pl.next)
			for {
				ok, there := pl.step(b.at(to), a.at(at), true)
				if !ok {
					break
				}
				if there {
					if pl.meet = [2]int{at, to}; a != &pl.trees[0] {
						pl.meet = [2]int{to, at}
					}
					return nil
				}
				pl.turns.wrap(pl.next)
				to = b.add(pl.next, to)
			}
		}
		a, b = b, a
	}
	return &Error{Reason: NotJoined, Detail: fmt.Sprintf("no path: trees of %d nodes from the start and %d from "+
		"the goal did not meet", pl.trees[0].n(), pl.trees[1].n())}
}
