package molecule

import (
	"cmp"
	"slices"
)

const (
	refinements = 40  // of classes: atoms that only further ones would tell apart count as alike
	mostBranch  = 200 // atoms of a branch at most
)

// Classes returns a number for each atom, the same for atoms that the bond graph does not tell apart: of element and
// charge, refined by bond orders and the numbers of neighbours (Weisfeiler and Leman 1968).
func (m *Molecule) Classes() []int {
	class, near := make([]int, len(m.Atoms)), make([]int, len(m.Atoms))
	for i, a := range m.Atoms {
		class[i] = mix(slices.Index(symbols, Symbol(a.Element)), a.Charge)
	}
	for range refinements {
		clear(near)
		for k, b := range m.Bonds {
			near[b[0]] += mix(m.order(k), class[b[1]])
			near[b[1]] += mix(m.order(k), class[b[0]])
		}
		for i := range class {
			class[i] = mix(class[i], near[i])
		}
	}
	return class
}

// mix returns a number that no other pair has but by chance.
func mix(a, b int) int {
	h := (uint64(a)+0x9E3779B97F4A7C15)*0xBF58476D1CE4E5B9 ^ uint64(b)
	h = (h ^ h>>29) * 0x94D049BB133111EB
	return int(h ^ h>>32)
}

// order returns that of a bond; 0: not known.
func (m *Molecule) order(bond int) int {
	if len(m.Orders) < len(m.Bonds) {
		return 0
	}
	return m.Orders[bond]
}

// A link is a bond as one of its atoms sees it, with the class of the other.
type link struct{ order, class, atom int }

// Exchanges returns the exchanges of equivalent branches at an atom: of each the pairs of atoms whose names change
// places, which leaves the bond graph as it is. Branches with a centre that could have a hand, of unlike neighbours, are
// left out, for the graph does not tell whether the hands are the same. There are none where too little is known:
// elements of all atoms, and hydrogens or bond orders; without these C=O and COH look alike.
func (m *Molecule) Exchanges() (out [][][2]int) {
	unknown := slices.ContainsFunc(m.Atoms, func(a Atom) bool { return a.Element == "" })
	if unknown || len(m.Orders) == 0 && len(m.Heavy()) == m.N() {
		return nil
	}
	near, class := make([][]link, len(m.Atoms)), m.Classes()
	for k, b := range m.Bonds {
		near[b[0]] = append(near[b[0]], link{m.order(k), class[b[1]], b[1]})
		near[b[1]] = append(near[b[1]], link{m.order(k), class[b[0]], b[0]})
	}
	for _, l := range near {
		slices.SortFunc(l, func(a, b link) int {
			return cmp.Or(a.order-b.order, cmp.Compare(a.class, b.class), a.atom-b.atom)
		})
	}
	for j, list := range near {
		for k, a := range list {
			for _, b := range list[k+1:] {
				if pairs := exchange(near, j, a, b); pairs != nil {
					out = append(out, pairs)
				}
			}
		}
	}
	return out
}

// exchange goes along the branches of j that begin with a and b side by side. It is nil if they differ, are large or
// have a centre.
func exchange(near [][]link, j int, a, b link) [][2]int {
	if a.order != b.order || a.class != b.class {
		return nil
	}
	pairs, image := [][2]int{{a.atom, b.atom}}, map[int]int{j: j, a.atom: b.atom, b.atom: a.atom}
	for at := 0; at < len(pairs); at++ {
		var next [2][]link
		for side, u := range pairs[at] {
			for _, l := range near[u] {
				if _, met := image[l.atom]; !met {
					next[side] = append(next[side], l)
				}
			}
		}
		if len(next[0]) != len(next[1]) || len(pairs) > mostBranch || handed(near[pairs[at][0]]) {
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

// handed reports whether an atom could have a hand: three or more unlike neighbours on single bonds.
func handed(near []link) bool {
	for k, l := range near {
		if l.order > 1 || k > 0 && l.class == near[k-1].class {
			return false
		}
	}
	return len(near) > 2
}
