package experiment

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/levelset"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/mesh"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/parallel"
)

// A histogram is a distance between sets of points by the counts of cells, as
// the paper has one for some kinds of data. It compares marks: numbers, dim of
// them a point, that say in which cell it is, so that a point is looked up once.
type histogram struct {
	Name, Note string
	dim        int
	limit      int // samples that are enough; 0 means as many as there is data
	marks      func(x []float64) []float64
	compare    func(a, b []float64) []float64 // the distance, then those of the parts that it is the mean of
	parts      []string                       // their names

	full, train, heldOut []float64 // marks of the data
}

// newHistogram returns the distance for the experiment's data, or nil where none
// is defined.
func (e *Experiment) newHistogram() *histogram {
	// Cells that are cheap to find are looked up in each comparison.
	h := &histogram{Name: "Jensen–Shannon distance", dim: e.Process.Set.Dim(), marks: func(x []float64) []float64 { return x }}
	if e.onEarth() {
		h.Note = "Histogram of 30 × 30 cells of latitude and longitude; square root of the divergence, natural logarithm."
		h.compare = func(a, b []float64) []float64 { return []float64{metric.EarthJSD(a, b)} }
	} else if o, ok := constraint.As[*zoo.Orthogonal](e.Process.Set); ok {
		h.Note = "Mean over tr Xᵏ, k = 1, 2, 4, 5, of distances between histograms of 100 bins; square roots of the divergence, natural logarithm."
		h.dim, h.marks = len(metric.TracePowers), func(x []float64) []float64 {
			m, d := make([]float64, len(x)/o.Dim()*len(metric.TracePowers)), o.Dim()
			e.eachBlock(len(x)/d, func(lo, hi int) { metric.PowerTraces(m[4*lo:4*hi], x[d*lo:d*hi], o.Order()) })
			return m
		}
		h.compare = func(a, b []float64) []float64 {
			each, mean := metric.TraceJSD(a, b)
			return append([]float64{mean}, each[:]...)
		}
		h.parts = traceNames()
	} else if s := e.surface(); s != nil {
		tree := mesh.NewTree(s.Mesh)
		_, faces := s.Mesh.N()
		h = &histogram{
			Name: "Jensen–Shannon divergence", dim: 1, limit: 20_000,
			Note: fmt.Sprintf("Counts on the nearest of %s faces; the divergence itself, not its root, natural logarithm.", count(faces)),
			marks: func(x []float64) []float64 {
				m := make([]float64, len(x)/3)
				e.eachBlock(len(m), func(lo, hi int) { metric.NearestFaces(m[lo:hi], x[3*lo:3*hi], tree) })
				return m
			},
			compare: func(a, b []float64) []float64 { return []float64{metric.FaceJSD(a, b, faces)} },
		}
	} else {
		return nil
	}
	h.full, h.train, h.heldOut = h.marks(e.Data.X), h.marks(e.train), h.marks(e.heldOut)
	return h
}

// traceNames returns "tr X", "tr X²", …
func traceNames() []string {
	var names []string
	for _, k := range metric.TracePowers {
		name := "tr X"
		if k > 1 {
			name += superscript.Replace(fmt.Sprint(k))
		}
		names = append(names, name)
	}
	return names
}

// distance returns the distance between two sets of points, given by their marks.
func (h *histogram) distance(a, b []float64) float64 { return h.compare(a, b)[0] }

// floors returns the noise floors of the distance to data and of its parts, of n
// points.
func (h *histogram) floors(data []float64, n int, seed uint64) []metric.Floor {
	each := make([][]float64, 1+len(h.parts))
	metric.NoiseFloor(h.train, h.dim, n, floorDraws, seed, func(y []float64) float64 {
		all := h.compare(y, data)
		for k, v := range all {
			each[k] = append(each[k], v)
		}
		return all[0]
	})
	out := make([]metric.Floor, len(each))
	for k, v := range each {
		out[k] = metric.NewFloor(v)
	}
	return out
}

// SampleCount returns how many samples an evaluation takes by default: as many as
// there is data, or what the distance on a mesh is published with if that is less.
func (e *Experiment) SampleCount() int {
	if e.histogram != nil && e.histogram.limit > 0 {
		return min(e.Data.N, e.histogram.limit)
	}
	return e.Data.N
}

// eachBlock calls f on blocks of n rows, on all workers.
func (e *Experiment) eachBlock(n int, f func(lo, hi int)) {
	const rows = 1024
	e.Pool.Do(parallel.Blocks(n, rows), func(_, b int) {
		lo, hi := parallel.Block(b, n, rows)
		f(lo, hi)
	})
}

// surface returns the set if it is a level set with a mesh, else nil.
func (e *Experiment) surface() *levelset.Surface {
	s, _ := constraint.As[*levelset.Surface](e.Process.Set)
	return s
}

// MeshFaults returns what is wrong with the mesh of the set, if it has one, and
// what that does to samples and their scores: a line for each kind of fault.
func (e *Experiment) MeshFaults() []string {
	s := e.surface()
	if s == nil {
		return nil
	}
	var out []string
	for _, f := range s.Faults() {
		out = append(out, fmt.Sprintf("%s: %v", e.Problem.Set.Mesh, f))
	}
	return out
}

// density turns the faces of points into a density at the mesh's vertices that
// does not depend on their number.
func (e *Experiment) density(faces []float64) []float64 {
	m := e.surface().Mesh
	count := make([]float64, len(m.Faces)/3)
	for _, f := range faces {
		if f == f { // NaN: a point that is near no face
			count[int(f)] += 1 / float64(len(faces))
		}
	}
	return m.Density(count)
}
