package mesh

import "math"

type vec = [3]float64

// Products are rounded before they are added, never fused with the sum, so that
// ties between faces fall alike on every machine.

func sub(a, b vec) vec     { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func dot(a, b vec) float64 { return float64(a[0]*b[0]) + float64(a[1]*b[1]) + float64(a[2]*b[2]) }
func along(a vec, s float64, b vec) vec {
	return vec{a[0] + float64(s*b[0]), a[1] + float64(s*b[1]), a[2] + float64(s*b[2])}
}
func cross(a, b vec) vec {
	return vec{det(a[1], a[2], b[1], b[2]), det(a[2], a[0], b[2], b[0]), det(a[0], a[1], b[0], b[1])}
}

func det(a, b, c, d float64) float64 { return float64(a*d) - float64(b*c) }

// FaceArea returns the area of face f.
func (m *Mesh) FaceArea(f int) float64 {
	a, b, c := m.Corners(f)
	n := cross(sub(b, a), sub(c, a))
	return math.Sqrt(dot(n, n)) / 2
}

// Normal returns the unit normal of face f, zero where its area is.
func (m *Mesh) Normal(f int) [3]float64 {
	a, b, c := m.Corners(f)
	n := cross(sub(b, a), sub(c, a))
	if s := math.Sqrt(dot(n, n)); s > 0 {
		return vec{n[0] / s, n[1] / s, n[2] / s}
	}
	return vec{}
}

// Area returns the area of the surface.
func (m *Mesh) Area() float64 {
	sum := 0.0
	for f := range len(m.Faces) / 3 {
		sum += m.FaceArea(f)
	}
	return sum
}

// Volume returns the volume inside, by the divergence theorem. It means something where the mesh is closed and oriented
// alike, and is negative where that is inwards.
func (m *Mesh) Volume() float64 {
	lo, _ := m.Bounds()
	sum := 0.0
	for f := range len(m.Faces) / 3 {
		a, b, c := m.Corners(f)
		sum += dot(sub(a, lo), cross(sub(b, lo), sub(c, lo))) / 6
	}
	return sum
}

// Bounds returns the corners of the box around the vertices of faces.
func (m *Mesh) Bounds() (lo, hi [3]float64) {
	lo = m.Vertex(m.Faces[0])
	hi = lo
	for _, i := range m.Faces {
		for j, v := range m.Vertex(i) {
			lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
		}
	}
	return lo, hi
}

// Size returns the diagonal of Bounds: what lengths on the mesh are compared with.
func (m *Mesh) Size() float64 {
	lo, hi := m.Bounds()
	d := sub(hi, lo)
	return math.Sqrt(dot(d, d))
}

// Scaled returns the mesh moved by −centre and then scaled.
func (m *Mesh) Scaled(centre [3]float64, scale float64) *Mesh {
	s := &Mesh{Vertices: make([]float64, len(m.Vertices)), Faces: append([]int32(nil), m.Faces...)}
	for i, v := range m.Vertices {
		s.Vertices[i] = (v - centre[i%3]) * scale
	}
	return s
}

// Density returns counts, one a face, as a density by area, one number a vertex: a third of each count goes to each
// corner, so that neighbours are smoothed. It is 0 at vertices without a face of some area.
func (m *Mesh) Density(count []float64) []float64 {
	n, faces := m.N()
	sum, area := make([]float64, n), make([]float64, n)
	for f := range faces {
		a := m.FaceArea(f)
		for _, v := range m.Faces[3*f : 3*f+3] {
			sum[v] += count[f] / 3
			area[v] += a / 3
		}
	}
	for v := range sum {
		if area[v] > 0 {
			sum[v] /= area[v]
		}
	}
	return sum
}
