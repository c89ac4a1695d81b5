package molecule

import "slices"

// Heavy returns the atoms that are not known to be hydrogen, in ascending order.
func (m *Molecule) Heavy() []int {
	var out []int
	for i := range m.Atoms {
		if !m.hydrogen(i) {
			out = append(out, i)
		}
	}
	return out
}

// Part returns some of the atoms, in the order given, and the bonds between them with their orders. It panics
// if an atom is not there, or given twice.
func (m *Molecule) Part(atoms []int) *Molecule {
	at := make(map[int]int, len(atoms))
	p := &Molecule{Name: m.Name, Bonds: []Bond{}, Guessed: m.Guessed}
	order := map[Bond]int{}
	for k, i := range atoms {
		if _, twice := at[i]; twice {
			panic("molecule: an atom twice")
		}
		at[i] = k
		p.Atoms = append(p.Atoms, m.Atoms[i])
	}
	for k, b := range m.Bonds {
		i, ok := at[b[0]]
		j, both := at[b[1]]
		if !ok || !both {
			continue
		}
		p.Bonds = append(p.Bonds, ordered(i, j))
		if m.Orders != nil {
			order[ordered(i, j)] = m.Orders[k]
		}
	}
	slices.SortFunc(p.Bonds, compareBonds)
	if m.Orders != nil {
		for _, b := range p.Bonds {
			p.Orders = append(p.Orders, order[b])
		}
	}
	return p
}

// Picked returns the places of some of the atoms of a conformation.
func Picked(x []float64, atoms []int) []float64 {
	out := make([]float64, 0, 3*len(atoms))
	for _, i := range atoms {
		out = append(out, x[3*i:3*i+3]...)
	}
	return out
}

// Beyond returns the atoms that are joined to atom k by bonds, k first, without going
// through the bond of j and k; nil if j is among them: the bond is in a ring.
func (m *Molecule) Beyond(j, k int) []int {
	near := m.Neighbours()
	seen := make([]bool, len(m.Atoms))
	seen[k] = true
	out := []int{k}
	for at := 0; at < len(out); at++ {
		for _, i := range near[out[at]] {
			if out[at] == k && i == j {
				continue
			}
			if i == j {
				return nil
			}
			if !seen[i] {
				seen[i] = true
				out = append(out, i)
			}
		}
	}
	return out
}
