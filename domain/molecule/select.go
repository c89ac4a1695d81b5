package molecule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/text"
)

// Select returns the atom that a reference names:
//
//	4         the atom of that index, from 0
//	CA        the atom of that name
//	ALA:CA    of that name in a residue of that name,
//	2:CA      of that number,
//	ALA2:CA   or of both (with the insertion code, if there is one: ALA2B:CA)
//	A:ALA2:CA and of that chain
//
// Small letters are as good as capitals. A reference that fits no atom or several is an error.
func (m *Molecule) Select(ref string) (int, error) {
	ref = strings.TrimSpace(ref)
	last := len(m.Atoms) - 1
	if i, err := strconv.Atoi(ref); err == nil {
		if i < 0 || i > last {
			return 0, fmt.Errorf("there is no atom %s, expected an index from 0 to %d", ref, last)
		}
		return i, nil
	}
	found := m.find(ref)
	const mostListed = 8
	switch n := len(found); {
	case n == 1:
		return found[0], nil
	case n > 1:
		var list []string
		for _, i := range found[:min(n, mostListed)] {
			list = append(list, fmt.Sprintf("%d (%s)", i, m.Label(i)))
		}
		more := ""
		if n > mostListed {
			more = fmt.Sprintf(" and %d more", n-mostListed)
		}
		return 0, fmt.Errorf("%q fits %d atoms: %s%s; name one of them by its index or its residue, as in ALA2:CA", ref,
			n, strings.Join(list, ", "), more)
	}
	if near := m.nearest(ref); len(near) > 0 {
		return 0, fmt.Errorf("%q fits no atom; the nearest names are %s", ref, strings.Join(near, ", "))
	}
	return 0, fmt.Errorf("%q fits no atom: the %d atoms have no names, expected an index from 0 to %d", ref,
		last+1, last)
}

// FromNames returns a molecule of atoms that are called as Label calls them: CA, ALA2:CA
// or A:ALA2:CA. An atom's element is that whose symbol its name begins with, written as
// such: Cl1 is chlorine, CA carbon. The error is a *NameError.
func FromNames(names []string) (*Molecule, error) {
	m := Anonymous(len(names))
	for i, s := range names {
		part := strings.Split(strings.TrimSpace(s), ":")
		a := &m.Atoms[i]
		a.Name = part[len(part)-1]
		if len(part) > 1 {
			residue := part[len(part)-2]
			a.Residue = strings.TrimRight(residue, "0123456789")
			a.ResidueNumber, _ = strconv.Atoi(residue[len(a.Residue):]) // 0 if there is none
		}
		if len(part) > 2 {
			a.Chain = part[0]
		}
		letters := strings.TrimLeft(a.Name, "0123456789")
		if letters == "" || len(part) > 3 || len(part) > 1 && a.Residue == "" {
			return nil, &NameError{i, s, "a name such as CA, ALA2:CA or A:ALA2:CA"}
		}
		for _, n := range []int{2, 1} {
			if len(letters) >= n && Known(letters[:n]) && letters[:n] == Symbol(letters[:n]) {
				a.Element = letters[:n]
				break
			}
		}
		if at := slices.Index(m.Atoms[:i], *a); at >= 0 {
			return nil, &NameError{i, s, fmt.Sprintf("a name that atom %d has not", at)}
		}
	}
	return m, nil
}

// A NameError is a name that an atom cannot have.
type NameError struct {
	Atom int
	Name string
	Want string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("atom %d is called %q, expected %s", e.Atom, e.Name, e.Want)
}

// SelectAll is Select of several references.
func (m *Molecule) SelectAll(refs []string) ([]int, error) {
	out := make([]int, len(refs))
	for k, ref := range refs {
		i, err := m.Select(ref)
		if err != nil {
			return nil, err
		}
		out[k] = i
	}
	return out, nil
}

func (m *Molecule) find(ref string) []int {
	part := strings.Split(ref, ":")
	name := part[len(part)-1]
	if name == "" || len(part) > 3 {
		return nil
	}
	var out []int
	for i, a := range m.Atoms {
		if strings.EqualFold(a.Name, name) && (len(part) < 2 || a.in(part[len(part)-2])) &&
			(len(part) < 3 || a.Chain == part[0]) {
			out = append(out, i)
		}
	}
	return out
}

// in reports whether the atom is in a residue: ALA, 2 or ALA2.
func (a Atom) in(residue string) bool {
	if residue == "" || a.Residue == "" && a.ResidueNumber == 0 {
		return false
	}
	number := strconv.Itoa(a.ResidueNumber) + a.Insertion
	return strings.EqualFold(residue, a.Residue) || strings.EqualFold(residue, number) ||
		strings.EqualFold(residue, a.Residue+number)
}

// Label names an atom so that Select finds it: by the shortest of its names that no other atom has, or by its index.
func (m *Molecule) Label(i int) string {
	a := m.Atoms[i]
	if a.Name != "" && !strings.Contains(a.Name, ":") {
		for _, name := range []string{a.full(), a.Chain + ":" + a.full()} {
			if f := m.find(name); len(f) == 1 && f[0] == i {
				if _, err := strconv.Atoi(name); err != nil {
					return name
				}
			}
		}
	}
	return strconv.Itoa(i)
}

// full returns the name with the residue's, if there is one: ALA2:CA.
func (a Atom) full() string {
	if a.Residue == "" {
		return a.Name
	}
	number := ""
	if a.ResidueNumber != 0 {
		number = strconv.Itoa(a.ResidueNumber) + a.Insertion
	}
	return a.Residue + number + ":" + a.Name
}

// nearest returns the names of atoms that are closest to one that fits none.
func (m *Molecule) nearest(ref string) (names []string) {
	const listed, compared, letters = 5, 2000, 64
	edits := map[string]int{}
	for i, a := range m.Atoms[:min(len(m.Atoms), compared)] {
		label := m.Label(i)
		if _, seen := edits[label]; a.Name != "" && !seen {
			names = append(names, label)
			edits[label] = text.Edits(strings.ToUpper(ref[:min(len(ref), letters)]), strings.ToUpper(label))
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return edits[a] - edits[b] })
	return names[:min(len(names), listed)]
}
