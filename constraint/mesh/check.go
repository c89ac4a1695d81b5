package mesh

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
)

// A Kind is a kind of fault.
type Kind int

const (
	Hole        Kind = iota // edges with a face on one side only
	NonManifold             // edges with more than two faces
	Flipped                 // edges that both neighbours run through the same way
	InsideOut               // normals point inwards
	Degenerate              // faces of area zero
	Unused                  // vertices without a face
)

// A Fault is something about a mesh that spoils what is made from it.
type Fault struct {
	Kind  Kind
	Count int    // edges, faces or vertices
	First string // the first of them
}

func (f Fault) Error() string    { return f.String() }
func (Fault) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// String names the fault and what it does to what is made from the mesh: a level
// set that is fitted to it, and eigenfunctions.
func (f Fault) String() string {
	return f.Name() + "; " + [...]string{
		Hole:        "a level set closes them as it likes, and eigenfunctions see a free boundary",
		NonManifold: "there the surface has no inside, and a level set rounds it off",
		Flipped:     "normals there point to both sides, so a level set would have no sign",
		InsideOut:   "a level set would be negative outside",
		Degenerate:  "they have no normal and count for nothing",
		Unused:      "they are passed over",
	}[f.Kind]
}

// Name says what the fault is, how often it occurs and where first.
func (f Fault) Name() string {
	first := ""
	if f.First != "" {
		first = " (the first is " + f.First + ")"
	}
	switch f.Kind {
	case Hole:
		return fmt.Sprintf("the mesh has holes: %s one face only%s", has(f.Count, "edge"), first)
	case NonManifold:
		return fmt.Sprintf("%s more than two faces%s", has(f.Count, "edge"), first)
	case Flipped:
		return fmt.Sprintf("faces are oriented against each other along %s%s",
			text.Counted(f.Count, "edge", "edges"), first)
	case InsideOut:
		return "all normals point inwards"
	case Degenerate:
		return fmt.Sprintf("%s area zero%s", has(f.Count, "face"), first)
	default:
		return fmt.Sprintf("%s to no face%s", text.Counted(f.Count, "vertex belongs", "vertices belong"), first)
	}
}

func has(n int, what string) string { return text.Counted(n, what+" has", what+"s have") }

// Check returns the mesh's faults, one of each kind at most.
func (m *Mesh) Check() []Fault {
	count := map[Kind]int{}
	first := map[Kind]string{}
	add := func(k Kind, format string, v ...any) {
		if count[k] == 0 {
			first[k] = fmt.Sprintf(format, v...)
		}
		count[k]++
	}
	for _, e := range m.edges() {
		where := []any{e.a, e.b}
		switch {
		case e.forward+e.backward == 1:
			add(Hole, "from vertex %d to %d", where...)
		case e.forward+e.backward > 2:
			add(NonManifold, "from vertex %d to %d", where...)
		case e.forward != 1:
			add(Flipped, "from vertex %d to %d", where...)
		}
	}
	n, faces := m.N()
	used := make([]bool, n)
	for _, i := range m.Faces {
		used[i] = true
	}
	for i, u := range used {
		if !u {
			add(Unused, "vertex %d", i)
		}
	}
	for f := range faces {
		if m.FaceArea(f) == 0 {
			add(Degenerate, "face %d", f)
		}
	}
	if count[Hole]+count[Flipped]+count[NonManifold] == 0 && m.Volume() < 0 {
		add(InsideOut, "")
	}
	var out []Fault
	for k := Hole; k <= Unused; k++ {
		if count[k] > 0 {
			out = append(out, Fault{k, count[k], first[k]})
		}
	}
	return out
}

// An edge joins vertices a < b; forward faces run from a to b, backward ones from b to a.
type edge struct {
	a, b              int32
	forward, backward int
}

// edges returns the edges in the order of their vertices.
func (m *Mesh) edges() []edge {
	all := make([]edge, 0, len(m.Faces))
	for f := 0; f < len(m.Faces); f += 3 {
		for k := range 3 {
			a, b := m.Faces[f+k], m.Faces[f+(k+1)%3]
			switch {
			case a < b:
				all = append(all, edge{a, b, 1, 0})
			case a > b:
				all = append(all, edge{b, a, 0, 1})
			} // a = b: a degenerate face, which has its own count
		}
	}
	slices.SortFunc(all, func(x, y edge) int {
		if x.a != y.a {
			return int(x.a) - int(y.a)
		}
		return int(x.b) - int(y.b)
	})
	out := all[:0]
	for _, e := range all {
		if n := len(out); n > 0 && out[n-1].a == e.a && out[n-1].b == e.b {
			out[n-1].forward += e.forward
			out[n-1].backward += e.backward
		} else {
			out = append(out, e)
		}
	}
	return out
}

// Components returns the number of parts that no edge or vertex joins.
func (m *Mesh) Components() int {
	_, parts := m.parts()
	return parts
}

// Cavities returns the number of parts whose volume is negative: on a closed mesh
// whose faces point out of the solid they are the walls of its cavities.
func (m *Mesh) Cavities() int {
	part, parts := m.parts()
	faces := make([][]int32, parts)
	for f, p := range part {
		faces[p] = append(faces[p], m.Faces[3*f:3*f+3]...)
	}
	n := 0
	for _, f := range faces {
		if (&Mesh{Vertices: m.Vertices, Faces: f}).Volume() < 0 {
			n++
		}
	}
	return n
}

// parts numbers the parts from 0, and returns the one of each face.
func (m *Mesh) parts() (part []int, parts int) {
	n, faces := m.N()
	parent := make([]int32, n)
	for i := range parent {
		parent[i] = int32(i)
	}
	root := func(i int32) int32 {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for f := 0; f < len(m.Faces); f += 3 {
		parent[root(m.Faces[f+1])] = root(m.Faces[f])
		parent[root(m.Faces[f+2])] = root(m.Faces[f])
	}
	number := map[int32]int{}
	part = make([]int, faces)
	for f := range part {
		r := root(m.Faces[3*f])
		if _, ok := number[r]; !ok {
			number[r] = len(number)
		}
		part[f] = number[r]
	}
	return part, len(number)
}
