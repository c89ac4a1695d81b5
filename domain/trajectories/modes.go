package trajectories

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/internal/vec3"
	"github.com/landing-diffusion/landing/judge/metric"
)

// A guide knows what to look at in motions.
type guide struct {
	*motion
	pool *parallel.Pool
	data []float64
	path string // of the data's file

	// Modes: the sides on which the tip passes obstacles, as seen against the normal of the plane
	// in which the data's tips vary most. Only obstacles that the data passes on both sides tell modes apart.
	compass scene.Compass
	sides   []int    // obstacles that tell modes apart
	modes   []string // names; the last one is that of all others. nil: there are none
	of      func(x []float64) []int
	shares  []int  // of the data, by mode
	note    string // how modes are distinguished
}

// mostModes bounds the modes that have a name of their own, mostSides the obstacles that are
// asked on which side they are passed.
const (
	mostModes = 8
	mostSides = 16
)

// sort finds the modes of the data.
func (g *guide) sort() {
	if g.rows(g.data) == 0 {
		return
	}
	g.orient()
	g.bySide()
	if g.modes != nil {
		g.shares = counts(g.of(g.data), len(g.modes))
	}
}

// orient chooses the plane in which a tip passes left or right.
func (g *guide) orient() {
	tips := g.allTips(g.data)
	_, axes, _ := metric.Principal(tips, 3, 2)
	up := [3]float64{0, 0, 1}
	if len(axes) == 2 {
		up = vec3.Cross([3]float64(axes[0]), [3]float64(axes[1]))
	}
	most := 0
	for k := range up {
		if math.Abs(up[k]) > math.Abs(up[most])*(1+1e-9) {
			most = k
		}
	}
	if up[most] < 0 {
		up = vec3.Scaled(-1, up)
	}
	g.compass = scene.NewCompass(up)
}

// allTips returns where the tip is at every way point of all points, n×L×3.
func (g *guide) allTips(x []float64) []float64 {
	each := 3 * g.waypoints
	out := make([]float64, g.rows(x)*each)
	domain.EachBlock(g.pool, g.rows(x), func(lo, hi int) {
		f := g.follower()
		for i := lo; i < hi; i++ {
			f.tips(out[i*each:(i+1)*each], g.row(x, i))
		}
	})
	return out
}

// bySide tells modes by the sides on which obstacles are passed, if that tells any apart.
func (g *guide) bySide() {
	tips := g.allTips(g.data)
	each, n := 3*g.waypoints, g.rows(g.data)
	for o := range g.scene.Obstacles {
		right := 0
		about := g.scene.Obstacles[o].Centre()
		for i := range n {
			if g.compass.Turned(tips[i*each:(i+1)*each], about) > 0 {
				right++
			}
		}
		if right > 0 && right < n && len(g.sides) < mostSides {
			g.sides = append(g.sides, o)
		}
	}
	if g.sides == nil {
		return
	}
	codes := g.codes(tips)
	count := map[int]int{}
	for _, c := range codes {
		count[c]++
	}
	known := slices.SortedFunc(maps.Keys(count), func(a, b int) int { return cmp.Or(count[b]-count[a], a-b) })
	known = known[:min(len(known), mostModes)]
	place := map[int]int{}
	for k, c := range known {
		place[c] = k
		g.modes = append(g.modes, g.called(c))
	}
	g.modes = append(g.modes, "another way")
	g.of = func(x []float64) []int {
		out := g.codes(g.allTips(x))
		for i, c := range out {
			k, ok := place[c]
			if !ok {
				k = len(known)
			}
			out[i] = k
		}
		return out
	}
	up := g.compass.Up
	g.note = fmt.Sprintf("Modes are the sides on which the tip passes obstacles, seen with (%.2f, %.2f, "+
		"%.2f) above, the normal of the plane in which the data's tips vary most.", up[0], up[1], up[2])
}

// codes returns a number for each way: a bit for each obstacle that it passes on the right.
func (g *guide) codes(tips []float64) []int {
	each := 3 * g.waypoints
	out := make([]int, len(tips)/each)
	for i := range out {
		for bit, o := range g.sides {
			if g.compass.Turned(tips[i*each:(i+1)*each], g.scene.Obstacles[o].Centre()) > 0 {
				out[i] |= 1 << bit
			}
		}
	}
	return out
}

func (g *guide) called(code int) string {
	var out []string
	for bit, o := range g.sides {
		side := "left"
		if code>>bit&1 == 1 {
			side = "right"
		}
		out = append(out, side+" of "+cmp.Or(g.scene.Obstacles[o].Name, fmt.Sprintf("obstacle %d", o)))
	}
	return strings.Join(out, ", ")
}

func counts(modes []int, n int) []int {
	out := make([]int, n)
	for _, m := range modes {
		out[m]++
	}
	return out
}
