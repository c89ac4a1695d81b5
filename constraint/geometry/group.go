package geometry

import "github.com/landing-diffusion/landing/constraint"

// A group holds components whose gradients touch coordinates that no other
// group's do, so that G is block-diagonal. A dense set is one group of all.
type group struct {
	comp  []int // its c components in ascending order, so equalities first
	m     int   // how many of them are equalities
	coord []int // its d coordinates in ascending order; nil: all of them
	c, d  int
	// Offsets into a point's block of component vectors, of c×d matrices and of
	// c×c matrices, groups one after the other.
	vec, mat, sq int
}

// A layout says how the components of a set fall into groups, and where each number of a point is kept.
type layout struct {
	groups []group
	place  []int // of packed derivatives in a point's matrices; nil if dense
	mat    int   // numbers in a point's c×d matrices, groups one after the other
	sq     int   // the same of c×c matrices
	widest int   // components of the largest group
}

func newLayout(s constraint.Set) *layout {
	l := &layout{}
	l.groups, l.place = makeGroups(s)
	for _, g := range l.groups {
		l.mat, l.sq, l.widest = l.mat+g.c*g.d, l.sq+g.c*g.c, max(l.widest, g.c)
	}
	return l
}

// Groups returns how many groups of components that share no coordinates s falls into.
func Groups(s constraint.Set) int { return len(newLayout(s).groups) }

// A Share is components of a set that depend on coordinates that no component of another share
// depends on: both by their numbers in ascending order. Coordinates are nil where they are all.
type Share struct{ Components, Coordinates []int }

// Shares returns those of s, by what it says of its support.
func Shares(s constraint.Set) (all []Share) {
	groups, _ := makeGroups(s)
	for _, g := range groups {
		all = append(all, Share{g.comp, g.coord})
	}
	return all
}

// JacobianSize returns how many numbers are kept of ∇J at each point: m·d of a
// dense set, fewer of one that knows its support.
func JacobianSize(s constraint.Set) int { return newLayout(s).mat }

// makeGroups finds the connected components of the graph that joins components to the coordinates they touch, and where
// each number of a packed Jacobian goes among the groups' c×d matrices (nil for a dense set).
func makeGroups(s constraint.Set) (groups []group, place []int) {
	d, m := s.Dim(), len(s.Equalities())
	c := m + len(s.Inequalities())
	support := s.Capabilities().Support
	if support == nil {
		all := make([]int, c)
		for a := range all {
			all[a] = a
		}
		if c == 0 {
			return nil, nil
		}
		return []group{{comp: all, m: m, c: c, d: d}}, nil
	}
	parent := make([]int, c+d) // components, then coordinates
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for a, js := range support {
		for _, j := range js {
			parent[root(c+j)] = root(a)
		}
	}
	index := make(map[int]int) // root → group
	for a := range c {
		g, seen := index[root(a)]
		if !seen {
			g = len(groups)
			index[root(a)] = g
			groups = append(groups, group{coord: []int{}})
		}
		groups[g].comp = append(groups[g].comp, a)
		if a < m {
			groups[g].m++
		}
	}
	local := make([]int, d) // a coordinate's place within its group
	for j := range d {
		if g, touched := index[root(c+j)]; touched {
			local[j] = len(groups[g].coord)
			groups[g].coord = append(groups[g].coord, j)
		}
	}
	vec, mat, sq := 0, 0, 0
	for i := range groups {
		g := &groups[i]
		g.c, g.d, g.vec, g.mat, g.sq = len(g.comp), len(g.coord), vec, mat, sq
		vec, mat, sq = vec+g.c, mat+g.c*g.d, sq+g.c*g.c
		if g.d == d {
			g.coord = nil
		}
	}
	row := make([]int, c) // where each component's row starts
	for _, g := range groups {
		for a, comp := range g.comp {
			row[comp] = g.mat + a*g.d
		}
	}
	place = []int{}
	for a, js := range support {
		for _, j := range js {
			place = append(place, row[a]+local[j])
		}
	}
	return groups, place
}

// take returns the group's coordinates of a point: the point itself, or a copy in buf.
func (g *group) take(buf, x []float64) []float64 {
	if g.coord == nil {
		return x
	}
	buf = buf[:len(g.coord)]
	for a, j := range g.coord {
		buf[a] = x[j]
	}
	return buf
}

// put writes what take returned, after changes, back into the point.
func (g *group) put(x, buf []float64) {
	for a, j := range g.coord {
		x[j] = buf[a]
	}
}
