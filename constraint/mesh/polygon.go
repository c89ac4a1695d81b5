package mesh

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/internal/text"
)

// A polygon is a face of more than three corners as a file gives it.
type polygon struct {
	first, corners int   // its first triangle in Faces, of corners − 2
	at             int64 // its place in the file
}

// flat is the share of a polygon's area below which a triangle counts as a piece of a straight side.
const flat = 1e-6

// cut turns the fan of a polygon into triangles that lie within it. A fan that does so stays as it is. The others are
// cut by ear clipping, in the plane of the polygon's area vector. It reports whether there are such triangles.
func (m *Mesh) cut(p polygon) bool {
	fan := m.Faces[3*p.first:][:3*(p.corners-2)]
	loop := append(make([]int32, 0, p.corners), fan[:3]...)
	for k := 5; k < len(fan); k += 3 {
		loop = append(loop, fan[k])
	}
	var normal vec // twice the area
	size := 0.0
	origin := m.Vertex(loop[0])
	for k := 1; k+1 < len(loop); k++ {
		n := cross(sub(m.Vertex(loop[k]), origin), sub(m.Vertex(loop[k+1]), origin))
		normal = along(normal, 1, n)
		size += math.Sqrt(dot(n, n))
	}
	area := math.Sqrt(dot(normal, normal))
	if size == 0 { // no surface: Check counts faces without area
		return true
	}
	if area <= flat*size {
		return false
	}
	axis := vec{}
	for j := range 3 {
		if math.Abs(normal[j]) <= min(math.Abs(normal[0]), math.Abs(normal[1]), math.Abs(normal[2])) {
			axis = vec{}
			axis[j] = 1
		}
	}
	right := cross(axis, normal)
	up := cross(normal, right)
	a, b := 1/math.Sqrt(dot(right, right)), 1/math.Sqrt(dot(up, up))
	at := make([][2]float64, len(loop))
	for k, v := range loop {
		d := sub(m.Vertex(v), origin)
		at[k] = [2]float64{a * dot(d, right), b * dot(d, up)}
	}
	// twice is the double area of three corners, positive where they run counter-clockwise.
	twice := func(i, j, k int) float64 {
		return det(at[j][0]-at[i][0], at[j][1]-at[i][1], at[k][0]-at[i][0], at[k][1]-at[i][1])
	}
	good := true
	for k := 1; k+1 < len(loop); k++ {
		good = good && twice(0, k, k+1) >= -flat*area
	}
	if good {
		return true
	}
	left := make([]int, len(loop)) // corners that are not cut off yet
	for k := range left {
		left[k] = k
	}
	// free reports whether corner k of those left and its neighbours make a triangle without any other corner.
	free := func(k int) bool {
		n := len(left)
		i, j, l := left[(k+n-1)%n], left[k], left[(k+1)%n]
		if twice(i, j, l) <= flat*area {
			return false
		}
		for _, q := range left {
			if at[q] != at[i] && at[q] != at[j] && at[q] != at[l] &&
				twice(i, j, q) >= 0 && twice(j, l, q) >= 0 && twice(l, i, q) >= 0 {
				return false
			}
		}
		return true
	}
	for f := 0; len(left) > 2; f += 3 {
		n, ear := len(left), -1
		for k := range n {
			if free(k) {
				ear = k
				break
			}
		}
		for k := 0; k < n && ear < 0; k++ { // corners on a straight side are left
			if math.Abs(twice(left[(k+n-1)%n], left[k], left[(k+1)%n])) <= flat*area {
				ear = k
			}
		}
		if ear < 0 {
			return false
		}
		fan[f], fan[f+1], fan[f+2] = loop[left[(ear+n-1)%n]], loop[left[ear]], loop[left[(ear+1)%n]]
		left = append(left[:ear], left[ear+1:]...)
	}
	return true
}

// merge joins vertices of edges with one face that are at exactly one place, as files without common vertices need.
// Closed bodies that touch have no such edges and stay apart. No point of the surface moves.
func (m *Mesh) merge() {
	n, _ := m.N()
	open := make([]bool, n)
	for _, e := range m.edges() {
		if e.forward+e.backward == 1 {
			open[e.a], open[e.b] = true, true
		}
	}
	number, first, kept := make([]int32, n), map[vec]int32{}, m.Vertices[:0]
	for i := range int32(n) {
		v := m.Vertex(i)
		number[i] = int32(len(kept) / 3)
		if open[i] {
			place := vec{v[0] + 0, v[1] + 0, v[2] + 0} // −0 is 0
			if j, ok := first[place]; ok {
				number[i] = j
				m.Merged++
				continue
			}
			first[place] = number[i]
		}
		kept = append(kept, v[:]...)
	}
	m.Vertices = kept
	for k, v := range m.Faces {
		m.Faces[k] = number[v]
	}
}

// MergedNote says how many vertices Read merged.
func (m *Mesh) MergedNote() string {
	return fmt.Sprintf("%s at exactly the place of another one on an open edge: merged, %d are left",
		text.Counted(m.Merged, "vertex is", "vertices are"), len(m.Vertices)/3)
}
