package molecule

import (
	"cmp"
	"math/bits"
	"slices"
)

// Angles returns all pairs of bonds with an atom in common, that atom in the middle and the first atom before the last.
func (m *Molecule) Angles() [][3]int {
	var out [][3]int
	for j, near := range m.Neighbours() {
		for a, i := range near {
			for _, k := range near[a+1:] {
				out = append(out, [3]int{i, j, k})
			}
		}
	}
	return out
}

// Torsions returns all chains of three bonds between four atoms, one of the two
// directions each: that in which the second atom comes before the third.
func (m *Molecule) Torsions() [][4]int {
	near := m.Neighbours()
	var out [][4]int
	for _, b := range m.Bonds {
		for _, i := range near[b[0]] {
			for _, l := range near[b[1]] {
				if i != b[1] && l != b[0] && i != l {
					out = append(out, [4]int{i, b[0], b[1], l})
				}
			}
		}
	}
	return out
}

// RingTorsions returns the torsions along a ring, as Rings gives it: one a bond, in
// order, that of bond k (atoms k and k+1 of the ring) at k.
func RingTorsions(ring []int) [][4]int {
	n := len(ring)
	if n < 4 {
		return nil
	}
	out := make([][4]int, n)
	for k := range ring {
		out[k] = [4]int{ring[(k+n-1)%n], ring[k], ring[(k+1)%n], ring[(k+2)%n]}
	}
	return out
}

// Rings returns a smallest set of rings that all others are combinations of (a minimum cycle basis; Horton 1987). Each
// ring is its atoms in order, from the smallest towards the smaller of its two neighbours. Shorter rings come first.
func (m *Molecule) Rings() [][]int {
	var out [][]int
	for _, block := range m.cyclic() {
		out = append(out, block.rings()...)
	}
	slices.SortFunc(out, func(a, b []int) int { return cmp.Or(len(a)-len(b), slices.Compare(a, b)) })
	return out
}

// A block is a part of the bond graph that no bridge cuts.
type block struct {
	bonds []Bond
}

// cyclic returns the parts of the graph that are left when the bonds that are in no ring are taken away.
func (m *Molecule) cyclic() []block {
	near := m.Neighbours()
	n := len(near)
	bridge := bridges(near)
	part := make([]int, n)
	for i := range part {
		part[i] = -1
	}
	var parts []block
	for s := range n {
		if part[s] >= 0 {
			continue
		}
		part[s] = len(parts)
		for stack := []int{s}; len(stack) > 0; {
			u := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, v := range near[u] {
				if part[v] < 0 && !bridge[ordered(u, v)] {
					part[v] = part[s]
					stack = append(stack, v)
				}
			}
		}
		parts = append(parts, block{})
	}
	for _, b := range m.Bonds {
		if !bridge[b] {
			parts[part[b[0]]].bonds = append(parts[part[b[0]]].bonds, b)
		}
	}
	return slices.DeleteFunc(parts, func(b block) bool { return b.bonds == nil })
}

func ordered(a, b int) Bond { return Bond{min(a, b), max(a, b)} }

// bridges returns the bonds that are in no ring, found by one walk in depth without
// recursion: low is the earliest atom that an atom's branch reaches by another bond.
func bridges(near [][]int) map[Bond]bool {
	n := len(near)
	out := map[Bond]bool{}
	enter, low, next, from := make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	clock := 0
	for s := range n {
		if enter[s] != 0 {
			continue
		}
		clock++
		enter[s], low[s], from[s] = clock, clock, -1
		for u := s; u >= 0; {
			if next[u] == len(near[u]) {
				if p := from[u]; p >= 0 {
					low[p] = min(low[p], low[u])
					if low[u] > enter[p] {
						out[ordered(p, u)] = true
					}
				}
				u = from[u]
				continue
			}
			v := near[u][next[u]]
			next[u]++
			switch {
			case v == from[u]:
			case enter[v] != 0:
				low[u] = min(low[u], enter[v])
			default:
				clock++
				enter[v], low[v], from[v] = clock, clock, u
				u = v
			}
		}
	}
	return out
}

// rings returns a minimum cycle basis. Horton's candidates are, for an atom and a bond, the shortest ways from the atom
// to the bond's ends and the bond; the shortest that are independent, as sums of bonds modulo 2, make the basis.
func (b block) rings() [][]int {
	index := map[int]int{} // of an atom in the block
	var atoms []int
	bond := map[Bond]int{}
	for k, e := range b.bonds {
		bond[e] = k
		for _, a := range e {
			if _, ok := index[a]; !ok {
				index[a] = len(atoms)
				atoms = append(atoms, a)
			}
		}
	}
	near := make([][]int, len(atoms))
	for _, e := range b.bonds {
		i, j := index[e[0]], index[e[1]]
		near[i], near[j] = append(near[i], j), append(near[j], i)
	}
	var all [][]int
	for s := range atoms {
		far, from := ways(near, s)
		for _, e := range b.bonds {
			i, j := index[e[0]], index[e[1]]
			if ring := closed(from, s, i, j); len(ring) == far[i]+far[j]+1 {
				all = append(all, ring)
			}
		}
	}
	slices.SortStableFunc(all, func(p, q []int) int { return len(p) - len(q) })

	want := len(b.bonds) - len(atoms) + 1
	var rows []bitset // of the basis, eliminated: the pivot of each is its first bit
	var out [][]int
	for _, ring := range all {
		if len(out) == want {
			break
		}
		v := make(bitset, (len(b.bonds)+63)/64)
		named := make([]int, len(ring))
		for k, a := range ring {
			named[k] = atoms[a]
			v.flip(bond[ordered(atoms[a], atoms[ring[(k+1)%len(ring)]])])
		}
		for _, r := range rows {
			if v.has(r.first()) {
				v.add(r)
			}
		}
		if v.first() >= 0 {
			rows = append(rows, v)
			out = append(out, canonical(named))
		}
	}
	return out
}

// ways returns the number of bonds to each atom from s, and the atom before it on a shortest way.
func ways(near [][]int, s int) (far, from []int) {
	far, from = make([]int, len(near)), make([]int, len(near))
	for i := range far {
		far[i], from[i] = -1, -1
	}
	far[s] = 0
	for queue := []int{s}; len(queue) > 0; queue = queue[1:] {
		u := queue[0]
		for _, v := range near[u] {
			if far[v] < 0 {
				far[v], from[v] = far[u]+1, u
				queue = append(queue, v)
			}
		}
	}
	return far, from
}

// closed returns the ring s … i, j … s; it is shorter than that if the two ways meet before s.
func closed(from []int, s, i, j int) []int {
	seen := map[int]bool{}
	var there []int
	for u := i; u >= 0; u = from[u] {
		there = append(there, u)
		seen[u] = u != s
	}
	slices.Reverse(there)
	for u := j; u != s; u = from[u] {
		if seen[u] {
			return nil
		}
		there = append(there, u)
	}
	return there
}

// canonical turns a ring so that it begins with its smallest atom and goes on to the smaller neighbour.
func canonical(ring []int) []int {
	n := len(ring)
	at := slices.Index(ring, slices.Min(ring))
	step := 1
	if ring[(at+n-1)%n] < ring[(at+1)%n] {
		step = n - 1
	}
	out := make([]int, n)
	for k := range out {
		out[k] = ring[(at+k*step)%n]
	}
	return out
}

type bitset []uint64

func (s bitset) flip(i int)     { s[i/64] ^= 1 << (i % 64) }
func (s bitset) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }
func (s bitset) add(t bitset) {
	for k, v := range t {
		s[k] ^= v
	}
}

// first returns the first bit that is set, or −1.
func (s bitset) first() int {
	for k, v := range s {
		if v != 0 {
			return 64*k + bits.TrailingZeros64(v)
		}
	}
	return -1
}
