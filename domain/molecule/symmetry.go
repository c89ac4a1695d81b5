package molecule

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	refinements = 100 // of classes at most: atoms that only further ones would tell apart count as alike
	mostBranch  = 200 // atoms of a branch at most
)

// A link is a bond as one of its atoms sees it; its order is 0 where that is not known.
type link struct{ order, class, atom int }

// links returns the bonds of each atom.
func (m *Molecule) links(class []int) [][]link {
	out := make([][]link, len(m.Atoms))
	for k, b := range m.Bonds {
		order := 0
		if len(m.Orders) == len(m.Bonds) {
			order = m.Orders[k]
		}
		for e, a := range b {
			out[a] = append(out[a], link{order, class[b[1-e]], b[1-e]})
		}
	}
	for _, l := range out {
		slices.SortFunc(l, func(a, b link) int {
			return cmp.Or(a.order-b.order, a.class-b.class, a.atom-b.atom)
		})
	}
	return out
}

// Classes returns a number for each atom, the same for atoms that the bond graph does not tell apart: by element and
// charge, refined by bond orders and the classes of neighbours until none splits (Weisfeiler and Leman 1968).
func (m *Molecule) Classes() []int {
	keys, class := make([]string, len(m.Atoms)), make([]int, len(m.Atoms))
	for i, a := range m.Atoms {
		keys[i] = fmt.Sprint(Symbol(a.Element), a.Charge)
	}
	for round, count := 0, 0; round < refinements; round++ {
		seen := map[string]int{}
		for i, key := range keys {
			if _, ok := seen[key]; !ok {
				seen[key] = len(seen)
			}
			class[i] = seen[key]
		}
		if len(seen) == count {
			break
		}
		count = len(seen)
		for i, list := range m.links(class) {
			keys[i] = fmt.Sprint(class[i])
			for _, l := range list {
				keys[i] += fmt.Sprint(" ", l.order, " ", l.class)
			}
		}
	}
	return class
}

// Exchanges returns the exchanges of equivalent branches at an atom: of each the pairs of atoms whose names change
// places, which leaves the bond graph as it is. There are none where too little is known: elements of all atoms, and
// hydrogens or bond orders; without these C=O and COH look alike.
func (m *Molecule) Exchanges() (out [][][2]int) {
	unknown := slices.ContainsFunc(m.Atoms, func(a Atom) bool { return a.Element == "" })
	if unknown || len(m.Orders) == 0 && len(m.Heavy()) == m.N() {
		return nil
	}
	near := m.links(m.Classes())
	for j, list := range near {
		for k, a := range list {
			for _, b := range list[k+1:] {
				if a.order != b.order || a.class != b.class {
					break
				}
				if pairs := exchange(near, j, a.atom, b.atom); pairs != nil {
					out = append(out, pairs)
				}
			}
		}
	}
	return out
}

// exchange goes along the branches of j that begin at a and b side by side. It is nil if they differ or are large.
func exchange(near [][]link, j, a, b int) [][2]int {
	pairs, image := [][2]int{{a, b}}, map[int]int{j: j, a: b, b: a}
	for at := 0; at < len(pairs); at++ {
		var next [2][]link
		for side, u := range pairs[at] {
			for _, l := range near[u] {
				if _, met := image[l.atom]; !met {
					next[side] = append(next[side], l)
				}
			}
		}
		if len(next[0]) != len(next[1]) || len(pairs) > mostBranch {
			return nil
		}
		for k, l := range next[0] {
			u, v := l.atom, next[1][k].atom
			if image[u], image[v] = v, u; u != v { // branches may meet in an atom that stays
				pairs = append(pairs, [2]int{u, v})
			}
		}
	}
	for _, p := range pairs { // each bond of what moves goes to a bond
		for e, u := range p {
			for _, l := range near[u] {
				if v := image[l.atom]; !slices.Contains(near[p[1-e]], link{l.order, l.class, v}) {
					return nil
				}
			}
		}
	}
	return pairs
}
