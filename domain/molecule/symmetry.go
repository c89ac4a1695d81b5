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
			order := 0
			if m.Orders != nil {
				order = m.Orders[k]
			}
			near[b[0]] += mix(order, class[b[1]])
			near[b[1]] += mix(order, class[b[0]])
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

// Exchanges returns the exchanges of equivalent branches at an atom: of each the pairs of atoms whose names change
// places, which leaves bonds and classes as they are. Branches with a centre that could have a hand, of unlike
// neighbours, are left out, for the graph does not tell whether the hands are the same. There are none where too
// little is known: elements of all atoms, and hydrogens or bond orders; without these C=O and COH look alike.
func (m *Molecule) Exchanges() (out [][][2]int) {
	unknown := slices.ContainsFunc(m.Atoms, func(a Atom) bool { return a.Element == "" })
	if unknown || m.Orders == nil && len(m.Heavy()) == m.N() {
		return nil
	}
	near, class := m.Neighbours(), m.Classes()
	for _, list := range near {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(class[a], class[b]) })
	}
	for j, list := range near {
		for k, a := range list {
			for _, b := range list[k+1:] {
				if class[a] != class[b] {
					break
				}
				if pairs := exchange(near, class, j, a, b); pairs != nil {
					out = append(out, pairs)
				}
			}
		}
	}
	return out
}

// exchange goes along the branches of j that begin with a and b side by side. It is nil if they differ, are large or
// have a centre.
func exchange(near [][]int, class []int, j, a, b int) [][2]int {
	pairs, image := [][2]int{{a, b}}, map[int]int{j: j, a: b, b: a}
	for at := 0; at < len(pairs); at++ {
		var next [2][]int
		for side, u := range pairs[at] {
			unlike := map[int]bool{}
			for _, v := range near[u] {
				unlike[class[v]] = true
				if _, met := image[v]; !met {
					next[side] = append(next[side], v)
				}
			}
			if len(unlike) > 2 && len(unlike) == len(near[u]) {
				return nil
			}
		}
		if len(next[0]) != len(next[1]) || len(pairs) > mostBranch {
			return nil
		}
		for k, u := range next[0] {
			v := next[1][k]
			if image[u], image[v] = v, u; u != v { // branches may meet in an atom that stays
				pairs = append(pairs, [2]int{u, v})
			}
		}
	}
	for _, p := range pairs { // each bond of what moves goes to a bond
		for _, v := range near[p[0]] {
			if class[v] != class[image[v]] || !slices.Contains(near[p[1]], image[v]) {
				return nil
			}
		}
	}
	return pairs
}
