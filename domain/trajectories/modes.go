package trajectories

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/judge/metric"
)

// A guide knows what to look at in motions.
type guide struct {
	*motion
	pool *parallel.Pool
	data []float64
	path string // of the data's file

	// Modes: the sides on which the tip passes obstacles, as seen against the normal of the plane
	// in which the data's tips vary most. Only obstacles that the data passes on both sides tell
	// modes apart; without any, the labels beside the data do.
	compass   scene.Compass
	sides     []int    // obstacles that tell modes apart
	modes     []string // names; the last one is that of all others. nil: there are none
	of        func(x []float64) []int
	shares    []int  // of the data, by mode
	dataModes []int  // of each row
	note      string // how modes are told
}

// mostModes bounds the modes that have a name of their own, mostSides the obstacles that are
// asked on which side they are passed.
const (
	mostModes = 8
	mostSides = 16
)

func (g *guide) sort() error {
	labels, name, err := g.labels()
	if err != nil || g.rows(g.data) == 0 {
		return err
	}
	g.orient()
	g.bySide()
	if g.modes == nil && labels != nil {
		g.byLabel(labels, name)
	}
	if g.modes == nil {
		return nil
	}
	g.dataModes = g.of(g.data)
	g.shares = counts(g.dataModes, len(g.modes))
	if labels != nil {
		agree := agreement(g.dataModes, labels)
		g.note += fmt.Sprintf(" Of %d rows %d have the mode that most rows of their label in %s have.", len(labels),
			agree, name)
	}
	return nil
}

// orient chooses the plane that sides are told in.
func (g *guide) orient() {
	tips := g.allTips(g.data)
	_, axes, _ := metric.Principal(tips, 3, 2)
	up := [3]float64{0, 0, 1}
	if len(axes) == 2 {
		a, b := axes[0], axes[1]
		up = [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
	}
	most := 0
	for k := range up {
		if math.Abs(up[k]) > math.Abs(up[most])*(1+1e-9) {
			most = k
		}
	}
	if up[most] < 0 {
		for k := range up {
			up[k] = -up[k]
		}
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
	var known []int
	for c := range count {
		known = append(known, c)
	}
	slices.SortFunc(known, func(a, b int) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
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
	g.note = fmt.Sprintf("Modes are told by the sides on which the tip passes obstacles, as seen with (%.2f, %.2f, "+
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
		name := g.scene.Obstacles[o].Name
		if name == "" {
			name = fmt.Sprintf("obstacle %d", o)
		}
		out = append(out, side+" of "+name)
	}
	return strings.Join(out, ", ")
}

// labelsSuffix is how the file of labels ends that lies beside data of pathsSuffix.
const pathsSuffix, labelsSuffix = "_paths.npy", "_labels.npy"

// labels reads the labels beside the data: whole numbers, one a row. They are nil if there is
// no file, or if the data is not that of the file but other points in its place.
func (g *guide) labels() ([]int, string, error) {
	stem, ok := strings.CutSuffix(g.path, pathsSuffix)
	if !ok {
		return nil, "", nil
	}
	path := stem + labelsSuffix
	name := filepath.Base(path)
	a, err := arrayfile.ReadNPY(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", &dataset.Error{File: path, Value: err.Error(), Want: "an array of labels, one for each " +
			"trajectory"}
	}
	if n := g.rows(g.data); a.Len() != n {
		if n > 0 {
			g.remarks = append(g.remarks, fmt.Sprintf("%s has %d labels of %d trajectories and is not used", name,
				a.Len(), n))
		}
		return nil, "", nil
	}
	out := make([]int, a.Len())
	for i, v := range a.AsFloat64() {
		if v != math.Trunc(v) || math.Abs(v) > 1e6 {
			return nil, "", &dataset.Error{File: path, Column: fmt.Sprintf("label %d (from 0)", i),
				Value: fmt.Sprint(v), Want: "a whole number"}
		}
		out[i] = int(v)
	}
	return out, name, nil
}

// byLabel tells modes by the label of the row whose tip's way is nearest, way point by way point.
func (g *guide) byLabel(labels []int, name string) {
	known := slices.Compact(slices.Sorted(slices.Values(labels)))
	if len(known) < 2 || len(known) > mostModes {
		return
	}
	for _, l := range known {
		g.modes = append(g.modes, fmt.Sprintf("label %d", l))
	}
	rows := g.allTips(g.data)
	each := 3 * g.waypoints
	g.of = func(x []float64) []int {
		tips := g.allTips(x)
		out := make([]int, g.rows(x))
		domain.EachBlock(g.pool, len(out), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				at, least := 0, math.Inf(1)
				for k := range labels {
					sum := 0.0
					for j, v := range rows[k*each : (k+1)*each] {
						sum += (tips[i*each+j] - v) * (tips[i*each+j] - v)
					}
					if sum < least {
						at, least = k, sum
					}
				}
				out[i], _ = slices.BinarySearch(known, labels[at])
			}
		})
		return out
	}
	g.note = fmt.Sprintf("Modes are the labels in %s, of the row whose tip's way is nearest.", name)
}

func counts(modes []int, n int) []int {
	out := make([]int, n)
	for _, m := range modes {
		out[m]++
	}
	return out
}

// agreement counts the rows that have the mode that most rows of their label have.
func agreement(modes, labels []int) (agree int) {
	count := map[[2]int]int{}
	best := map[int]int{}
	for i, l := range labels {
		k := [2]int{l, modes[i]}
		count[k]++
		best[l] = max(best[l], count[k])
	}
	for _, n := range best {
		agree += n
	}
	return agree
}
