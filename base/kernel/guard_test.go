package kernel

import "testing"

// A guard lends arrays at the end of readable memory, with sentinels before them and not-a-numbers in them.
type guard struct {
	t    testing.TB
	free [][]float32 // arenas not lent
	lent []lease
}

type lease struct {
	arena []float32
	size  int
}

const sentinel = -123.456

// array lends n numbers until the next check.
func (g *guard) array(n int) []float32 {
	need := n + 64
	var arena []float32
	for i, a := range g.free {
		if len(a) >= need {
			arena = a
			g.free = append(g.free[:i], g.free[i+1:]...)
			break
		}
	}
	if arena == nil {
		arena = fence(g.t, max(need, 1<<14))
	}
	g.lent = append(g.lent, lease{arena, n})
	before := arena[len(arena)-need : len(arena)-n]
	for i := range before {
		before[i] = sentinel
	}
	x := arena[len(arena)-n:]
	for i := range x {
		x[i] = nan
	}
	return x
}

// holding lends an array that holds x.
func (g *guard) holding(x []float32) []float32 {
	y := g.array(len(x))
	copy(y, x)
	return y
}

// check looks at the sentinels and takes the arrays back.
func (g *guard) check(fatal func(format string, args ...any)) {
	for _, l := range g.lent {
		at := len(l.arena) - l.size
		for i, v := range l.arena[at-64 : at] {
			if v != sentinel {
				fatal("number %d before an array of %d was written", 64-i, l.size)
			}
		}
		g.free = append(g.free, l.arena)
	}
	g.lent = g.lent[:0]
}
