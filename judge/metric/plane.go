package metric

import (
	"fmt"
	"math"
)

// planeEmpty is added to the density of each cell of a Plane before two histograms are
// compared, as in the published evaluation.
const planeEmpty = 1e-12

// A Plane is N × N equal cells over [Lo, Hi] of two numbers. A cell holds its lower edges,
// the last ones both; points outside count in the cells at the edge.
type Plane struct {
	Lo, Hi [2]float64
	N      int
}

// Around returns the plane over the range of points (n×2), widened on both sides by share of it. A number that does not
// vary has a range of 1. Points with a coordinate that is not finite are left out; without others it is [0, 1]².
func Around(points []float64, n int, share float64) Plane {
	p := Plane{N: n}
	for k := range 2 {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := 0; i < len(points); i += 2 {
			if finite(points[i : i+2]) {
				lo, hi = min(lo, points[i+k]), max(hi, points[i+k])
			}
		}
		switch span := hi - lo; {
		case lo > hi:
			lo, hi = 0, 1
		case span == 0:
			lo, hi = lo-0.5, hi+0.5
		default:
			lo, hi = lo-share*span, hi+share*span
		}
		p.Lo[k], p.Hi[k] = lo, hi
	}
	return p
}

// JSD returns the JSDistance of the histograms of two sets of points (n×2), as densities raised by 1e-12. Points with a
// coordinate that is not finite have one more cell, of the same size. It is NaN if a set is empty. Empty cells make it
// depend on the number of points: compare it with the NoiseFloor of the same number.
func (p Plane) JSD(a, b []float64) float64 {
	if p.N < 1 || !(p.Lo[0] < p.Hi[0]) || !(p.Lo[1] < p.Hi[1]) {
		panic(fmt.Sprintf("metric: %d cells over %v to %v", p.N, p.Lo, p.Hi))
	}
	if rowsOf("Plane.JSD", a, 2) == 0 || rowsOf("Plane.JSD", b, 2) == 0 {
		return math.NaN()
	}
	return JSDistance(p.density(a), p.density(b))
}

func (p Plane) density(x []float64) []float64 {
	out := make([]float64, p.N*p.N+1)
	cell := (p.Hi[0] - p.Lo[0]) / float64(p.N) * (p.Hi[1] - p.Lo[1]) / float64(p.N)
	weight := 1 / (float64(len(x)/2) * cell)
	var axes [2]Bins
	for k := range axes {
		axes[k] = Bins{Lo: p.Lo[k], Hi: p.Hi[k], N: p.N}
	}
	for i := 0; i < len(x); i += 2 {
		at := p.N * p.N
		if finite(x[i : i+2]) {
			at = axes[0].Bin(x[i])*p.N + axes[1].Bin(x[i+1])
		}
		out[at] += weight
	}
	for i := range p.N * p.N { // the cell of what is not finite is there only if it is needed
		out[i] += planeEmpty
	}
	return out
}
