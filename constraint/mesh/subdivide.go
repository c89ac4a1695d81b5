package mesh

// Subdivided returns the same surface with each face cut in four at the middles of
// its sides. Vertices keep their numbers, and face f becomes faces 4f … 4f+3.
func (m *Mesh) Subdivided() *Mesh {
	n, faces := m.N()
	s := &Mesh{
		Vertices: append(make([]float64, 0, len(m.Vertices)+9*faces/2), m.Vertices...),
		Faces:    make([]int32, 0, 4*len(m.Faces)),
	}
	middle := make(map[[2]int32]int32, 3*faces/2)
	cut := func(a, b int32) int32 {
		k := [2]int32{min(a, b), max(a, b)}
		i, ok := middle[k]
		if !ok {
			i = int32(n + len(middle))
			middle[k] = i
			p, q := m.Vertex(k[0]), m.Vertex(k[1])
			s.Vertices = append(s.Vertices, (p[0]+q[0])/2, (p[1]+q[1])/2, (p[2]+q[2])/2)
		}
		return i
	}
	for f := range faces {
		a, b, c := m.Faces[3*f], m.Faces[3*f+1], m.Faces[3*f+2]
		ab, bc, ca := cut(a, b), cut(b, c), cut(c, a)
		s.Faces = append(s.Faces, a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca)
	}
	return s
}
