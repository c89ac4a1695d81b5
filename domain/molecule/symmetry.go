package molecule

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	refinements  = 100 // of classes at most: atoms that only further ones would tell apart count as alike
	mostBranch   = 200 // atoms of a branch at most
	mostBranches = 4   // that are exchanged at one atom: 24 permutations
)

// A link is a bond as one of its atoms sees it.
type link struct{ order, class, atom int }

// links returns the bonds of each atom, with the classes of their other ends; orders are 0 where they are not known.
func (m *Molecule) links(class []int) [][]link {
	out := make([][]link, len(m.Atoms))
	for k, b := range m.Bonds {
		order := 0
		if len(m.Orders) == len(m.Bonds) {
			order = m.Orders[k]
		}
		out[b[0]] = append(out[b[0]], link{order, class[b[1]], b[1]})
		out[b[1]] = append(out[b[1]], link{order, class[b[0]], b[0]})
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
			key := fmt.Append(nil, class[i])
			for _, l := range list {
				key = fmt.Append(key, " ", l.order, " ", l.class)
			}
			keys[i] = string(key)
		}
	}
	return class
}

// Exchanges returns the groups of equivalent branches at an atom: of each group two to four lists of atoms, in one
// order, such that any permutation of the lists leaves the bond graph as it is. The hydrogens of a methyl group
// are one, and so are two methyl groups at an atom. Branches in rings through the atom are left out. There are none
// where too little is known: elements of all atoms, and hydrogens or bond orders; without these C=O and COH look alike.
func (m *Molecule) Exchanges() (out [][][]int) {
	unknown := slices.ContainsFunc(m.Atoms, func(a Atom) bool { return a.Element == "" })
	if unknown || len(m.Orders) == 0 && len(m.Heavy()) == m.N() {
		return nil
	}
	near := m.links(m.Classes())
	for j := range near {
		for from := 0; from < len(near[j]); {
			to := from + 1
			at := near[j][from]
			for to < len(near[j]) && near[j][to].order == at.order && near[j][to].class == at.class {
				to++
			}
			var group [][]int
			for k := from + 1; k < to && to-from <= mostBranches; k++ {
				first, other := alike(near, j, at.atom, near[j][k].atom)
				switch {
				case first == nil:
				case group == nil:
					group = [][]int{first, other}
				default:
					group = append(group, other)
				}
			}
			if group != nil {
				out = append(out, group)
			}
			from = to
		}
	}
	return out
}

// alike returns the atoms of the branches that begin at j's neighbours a and b, each at the place of its equivalent in
// the other; nil if the branches differ, meet, come back to j or are large.
func alike(near [][]link, j, a, b int) (p, q []int) {
	p, q = []int{a}, []int{b}
	image, seen := map[int]int{j: j, a: b}, map[int]bool{j: true, a: true, b: true}
	for at := 0; at < len(p); at++ {
		us, vs := near[p[at]], near[q[at]]
		if len(us) != len(vs) || len(p) > mostBranch {
			return nil, nil
		}
		fresh := func(list []link) (out []link) {
			for _, l := range list {
				if !seen[l.atom] {
					out = append(out, l)
				}
			}
			return out
		}
		us, vs = fresh(us), fresh(vs)
		for k := range us {
			if k >= len(vs) || us[k].class != vs[k].class || us[k].atom == vs[k].atom {
				return nil, nil
			}
			image[us[k].atom], seen[us[k].atom], seen[vs[k].atom] = vs[k].atom, true, true
			p, q = append(p, us[k].atom), append(q, vs[k].atom)
		}
	}
	for i, u := range p { // bonds go to bonds, and none to j but the first
		for _, l := range near[u] {
			v, ok := image[l.atom]
			kept := func(k link) bool { return k.atom == v && k.order == l.order }
			if !ok || l.atom == j && i > 0 || !slices.ContainsFunc(near[q[i]], kept) {
				return nil, nil
			}
		}
	}
	return p, q
}
