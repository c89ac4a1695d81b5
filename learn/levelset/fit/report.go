package fit

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/learn/levelset"
)

// A Report says how well a level set matches a mesh.
type Report struct {
	// Residual is |h|/‖∇h‖ at points of the mesh, as a share of its size: to first
	// order their distance from the level set.
	Residual Quantiles `json:"residual"`
	// Slope is ‖∇h‖ at points within a hundredth of the size from the mesh.
	Slope Quantiles `json:"slope"`
	// Angle between ∇h and the normals of faces, in degrees.
	Angle Quantiles `json:"angle"`
	// Parts where h < 0 and where h > 0, by cells of a grid that touch. A closed mesh has one inside for each part that
	// is no wall of a cavity, and one outside more than cavities.
	Inside   int     `json:"inside"`
	Outside  int     `json:"outside"`
	Parts    int     `json:"mesh_parts"`
	Cavities int     `json:"mesh_cavities"`
	Cell     float64 `json:"cell"` // side of the grid's cells, as a share of the size
}

// Bars of Faults.
const (
	farMean = 2e-3 // of the mean residual
	flat    = 0.1  // of the least slope; the published networks have 0.14 and 0.44
)

// Faults returns what is wrong with the fit, in sentences; none if it is good.
func (r *Report) Faults() []string {
	var out []string
	add := func(format string, v ...any) { out = append(out, fmt.Sprintf(format, v...)) }
	inside, outside := r.Parts-r.Cavities, 1+r.Cavities
	switch {
	case r.Inside == 0 && inside > 0:
		add("the level set is empty on a grid of %.2g of the size: h is nowhere negative", r.Cell)
	case r.Inside > inside:
		add("the level set has stray or broken parts: %d inside, where the mesh has %d; more steps may help, or a "+
			"mesh without thin necks", r.Inside, inside)
	case r.Inside < inside:
		add("parts are merged or missing: the level set has %d inside, the mesh %d; more steps may help, or parts "+
			"further apart", r.Inside, inside)
	}
	switch {
	case r.Outside > outside:
		add("the level set has cavities that the mesh has not: %d parts outside, where the mesh has %d; more "+
			"steps may help", r.Outside, outside)
	case r.Outside < outside:
		add("cavities are open or missing: the level set has %d parts outside, the mesh %d; more steps may help",
			r.Outside, outside)
	}
	if !(r.Residual.Mean <= farMean) {
		add("the level set is %.2g of the size away from the mesh on average; expected at most %g: more steps or "+
			"a wider network may help", r.Residual.Mean, farMean)
	}
	if !(r.Slope.Min >= flat) {
		add("|∇h| is as small as %.2g near the mesh, where landing and Newton's method fail; expected at least "+
			"%g: more steps may help", r.Slope.Min, flat)
	}
	return out
}

// Quantiles of a quantity over points.
type Quantiles struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	Q99  float64 `json:"q99"`
	Max  float64 `json:"max"`
}

const (
	reportPoints = 20_000
	gridCells    = 96 // along a side
)

// Examine compares the level set of a network with a mesh.
func Examine(n *levelset.Network, m *mesh.Mesh, pool *parallel.Pool) *Report {
	set, size := levelset.New(n), m.Size()
	sampler := mesh.NewSampler(m, nil)
	on, near := make([]float64, 3*reportPoints), make([]float64, 3*reportPoints)
	normal, shift := make([][3]float64, reportPoints), make([]float64, 3)
	for i := range reportPoints {
		x := on[3*i : 3*i+3]
		face, _ := sampler.Sample(x, keyed.FitReport.Stream(0, 0), uint64(i), 0)
		normal[i] = m.Normal(face)
		keyed.FitReport.Stream(0, 0).Uniforms(shift, uint64(i), 1)
		for j := range 3 {
			near[3*i+j] = x[j] + 0.01*size*(2*shift[0]-1)*normal[i][j]
		}
	}
	h, g := evaluate(set, on, pool)
	_, gNear := evaluate(set, near, pool)
	residual, angle, slope := make([]float64, reportPoints), make([]float64, reportPoints),
		make([]float64, reportPoints)
	for i := range residual {
		d := g[3*i : 3*i+3]
		length := norm(d)
		residual[i] = math.Abs(h[i]) / length / size
		cos := (d[0]*normal[i][0] + d[1]*normal[i][1] + d[2]*normal[i][2]) / length
		angle[i] = math.Acos(min(max(cos, -1), 1)) * 180 / math.Pi
		slope[i] = norm(gNear[3*i : 3*i+3])
	}
	r := &Report{Residual: quantiles(residual), Angle: quantiles(angle), Slope: quantiles(slope),
		Parts: m.Components(), Cavities: m.Cavities()}
	r.Inside, r.Outside, r.Cell = parts(set, m, pool)
	return r
}

func norm(g []float64) float64 { return math.Sqrt(g[0]*g[0] + g[1]*g[1] + g[2]*g[2]) }

func evaluate(set *levelset.Set, x []float64, pool *parallel.Pool) (h, g []float64) {
	n := len(x) / 3
	h, g = make([]float64, n), make([]float64, 3*n)
	pool.Do(parallel.Blocks(n, 1024), func(_, b int) {
		lo, hi := parallel.Block(b, n, 1024)
		set.Jacobians(h[lo:hi], g[3*lo:3*hi], x[3*lo:3*hi], hi-lo)
	})
	return h, g
}

func quantiles(x []float64) Quantiles {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	slices.Sort(x)
	return Quantiles{x[0], sum / float64(len(x)), x[len(x)*99/100], x[len(x)-1]}
}

// parts counts the parts of the grid where h is negative and where it is not.
func parts(set *levelset.Set, m *mesh.Mesh, pool *parallel.Pool) (inside, outside int, cell float64) {
	const n = gridCells
	lo, hi := m.Bounds()
	side := 0.0
	for j := range 3 {
		side = max(side, 1.3*(hi[j]-lo[j]))
	}
	step := side / n
	negative := make([]bool, n*n*n)
	pool.Do(n, func(_, i int) {
		x, h := make([]float64, 3*n*n), make([]float64, n*n)
		for p := range h {
			for j, c := range [3]int{i, p / n, p % n} {
				x[3*p+j] = (lo[j]+hi[j])/2 + step*(float64(c)+0.5-n/2)
			}
		}
		set.Values(h, x, n*n)
		for p, v := range h {
			negative[i*n*n+p] = v < 0
		}
	})
	seen, stack := make([]bool, len(negative)), []int{}
	for start := range negative {
		if seen[start] {
			continue
		}
		if negative[start] {
			inside++
		} else {
			outside++
		}
		seen[start] = true
		stack = append(stack[:0], start)
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, d := range [3]int{1, n, n * n} {
				c := at / d % n
				for _, next := range [2]int{at - d, at + d} {
					if c == 0 && next < at || c == n-1 && next > at || seen[next] || negative[next] != negative[start] {
						continue
					}
					seen[next] = true
					stack = append(stack, next)
				}
			}
		}
	}
	return inside, outside, step / m.Size()
}
