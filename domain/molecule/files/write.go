package files

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/molecule"
)

// unfit says that a format cannot hold coordinate k of the molecule in a frame: v.
func unfit(format string, m *molecule.Molecule, frame, k int, v float64, want string) error {
	return fmt.Errorf("%s: frame %d (from 0), atom %s: %c is %.6g, expected a number %s", format, frame,
		called(m, k/3), 'x'+rune(k%3), v, want)
}

// A Writer writes conformations of a molecule, rows of m.Dim() numbers. What a format cannot hold is an error.
type Writer func(w io.Writer, m *molecule.Molecule, frames arrayfile.Rows) error

// Writers are those of all formats, by extension.
var Writers = map[string]Writer{".pdb": WritePDB, ".xyz": WriteXYZ, ".sdf": WriteSDF, ".dcd": WriteDCD,
	".npy": WriteNPY}

// Rounded is what files keep of a coordinate, by extension; others keep all of it, or 1e-12.
var Rounded = map[string]func(v float64) float64{
	".pdb": func(v float64) float64 { return math.Round(v*1e3) / 1e3 },
	".sdf": func(v float64) float64 { return math.Round(v*1e4) / 1e4 },
	".dcd": func(v float64) float64 { return float64(float32(v)) },
}

// Named returns the atoms with an element each, or X, and a name of at most four letters that no other atom of its
// residue has. If the molecule has no such names all atoms are called by element and index, from 0: C0, O1; or by the
// index in base 36, from A000, where that is long.
func Named(m *molecule.Molecule) []molecule.Atom {
	const letters, A000 = 4, 10 * 36 * 36 * 36
	out, own := slices.Clone(m.Atoms), true
	seen := map[molecule.Atom]bool{}
	for i := range out {
		identity := out[i]
		identity.Element, identity.Charge = "", 0
		own = own && identity.Name != "" && len(identity.Name) <= letters && !seen[identity]
		seen[identity] = true
		out[i].Element = cmp.Or(out[i].Element, "X")
	}
	for i := range out {
		if a := &out[i]; !own {
			if a.Name = a.Element + strconv.Itoa(i); len(a.Name) > letters {
				a.Name = strings.ToUpper(strconv.FormatInt(int64(A000+i), 36))
			}
		}
	}
	return out
}

// WritePDB writes conformations as models of a PDB file: coordinates to 0.001 Å. One that needs more than eight columns
// is an error, and so are more atoms than five columns count. CONECT records are after the last model: Biopython ends
// reading at the first of them, OpenMM takes those that belong to no model, or to the last.
func WritePDB(w io.Writer, m *molecule.Molecule, frames arrayfile.Rows) error {
	const most = 99_999
	if m.N() > most {
		return fmt.Errorf("PDB: %d atoms, expected at most %d; a DCD or XYZ file holds more", m.N(), most)
	}
	b := bufio.NewWriter(w) // keeps the first error
	atoms := Named(m)
	before, after := make([]string, len(atoms)), make([]string, len(atoms))
	for i, a := range atoms {
		before[i], after[i] = recordPDB(i, a)
	}
	var cell [24]byte
	for f, x := range frames.Each() {
		fmt.Fprintf(b, "MODEL %8d\n", f+1) // readers take the last four columns
		for i := range atoms {
			b.WriteString(before[i])
			for k, v := range x[3*i : 3*i+3] {
				s := strconv.AppendFloat(cell[:0], v, 'f', 3, 64)
				if len(s) > 8 || math.IsNaN(v) {
					return unfit("PDB", m, f, 3*i+k, v, "in [-999.999, 9999.999]: eight columns; an XYZ file holds "+
						"more")
				}
				b.WriteString("        "[:8-len(s)])
				b.Write(s)
			}
			b.WriteString(after[i])
		}
		b.WriteString("ENDMDL\n")
	}
	for i, near := range m.Neighbours() {
		for k, j := range near {
			if k%4 == 0 {
				if k > 0 {
					b.WriteByte('\n')
				}
				fmt.Fprintf(b, "CONECT%5d", i+1)
			}
			fmt.Fprintf(b, "%5d", j+1)
		}
		if len(near) > 0 {
			b.WriteByte('\n')
		}
	}
	b.WriteString("END\n")
	return b.Flush()
}

// recordPDB returns what stands before and after the coordinates of an atom.
func recordPDB(i int, a molecule.Atom) (before, after string) {
	kind := "ATOM"
	if a.Residue == "" {
		kind, a.Residue, a.ResidueNumber = "HETATM", "MOL", 1
	}
	name := a.Name
	if len(name) < 4 && len(a.Element) < 2 { // the element's symbol ends in column 14
		name = " " + name
	}
	charge := ""
	if a.Charge > 0 && a.Charge < 10 {
		charge = fmt.Sprintf("%d+", a.Charge)
	} else if a.Charge < 0 && a.Charge > -10 {
		charge = fmt.Sprintf("%d-", -a.Charge)
	}
	before = fmt.Sprintf("%-6s%5d %-4.4s %-4.4s%1.1s%4d%1.1s   ", kind, i+1, name, fmt.Sprintf("%3s", a.Residue),
		a.Chain, a.ResidueNumber%10000, a.Insertion)
	return before, fmt.Sprintf("%6.2f%6.2f          %2s%s\n", 1., 0., strings.ToUpper(a.Element), charge)
}

// WriteXYZ writes conformations as frames of an XYZ file: coordinates to 1e-12 Å.
func WriteXYZ(w io.Writer, m *molecule.Molecule, frames arrayfile.Rows) error {
	b := bufio.NewWriter(w)
	symbols := make([]string, m.N())
	for i, a := range Named(m) {
		symbols[i] = a.Element
	}
	var cell [32]byte
	for f, x := range frames.Each() {
		fmt.Fprintf(b, "%d\nframe %d\n", m.N(), f)
		for i, s := range symbols {
			b.WriteString(s)
			for _, v := range x[3*i : 3*i+3] {
				b.WriteByte(' ')
				b.Write(strconv.AppendFloat(cell[:0], v, 'f', 12, 64))
			}
			b.WriteByte('\n')
		}
	}
	return b.Flush()
}

// WriteSDF writes conformations as V2000 records: coordinates to 0.0001 Å. More than 999 atoms or bonds are an error.
// Bonds without a known order are written as single.
func WriteSDF(w io.Writer, m *molecule.Molecule, frames arrayfile.Rows) error {
	if m.N() > mostV2000 || len(m.Bonds) > mostV2000 {
		return fmt.Errorf("SDF: %d atoms and %d bonds, expected at most %d of each in a V2000 record", m.N(),
			len(m.Bonds), mostV2000)
	}
	b := bufio.NewWriter(w)
	var tail strings.Builder
	for k, bond := range m.Bonds {
		order := 1
		if m.Orders != nil {
			order = m.Orders[k]
		}
		fmt.Fprintf(&tail, "%3d%3d%3d  0\n", bond[0]+1, bond[1]+1, order)
	}
	for i, a := range m.Atoms {
		if a.Charge != 0 {
			fmt.Fprintf(&tail, "M  CHG  1%4d%4d\n", i+1, a.Charge)
		}
	}
	tail.WriteString("M  END\n$$$$\n")
	for f, x := range frames.Each() {
		fmt.Fprintf(b, "%s\n  landing           3D\n\n%3d%3d  0  0  0  0  0  0  0  0999 V2000\n", clip(oneLine(m.Name)),
			m.N(), len(m.Bonds))
		for i, a := range m.Atoms {
			for k, v := range x[3*i : 3*i+3] {
				if !(v > -9999.99995 && v < 99999.99995) {
					return unfit("SDF", m, f, 3*i+k, v, "in [-9999.9999, 99999.9999]: ten columns; an XYZ file holds "+
						"more")
				}
				fmt.Fprintf(b, "%10.4f", v)
			}
			fmt.Fprintf(b, " %-3s 0  0  0  0  0  0  0  0  0  0  0  0\n", cmp.Or(a.Element, "*"))
		}
		b.WriteString(tail.String())
	}
	return b.Flush()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// WriteDCD writes conformations as a DCD trajectory as CHARMM and NAMD have it: little endian, records between their
// lengths, x, y and z of a frame as float32 each, no unit cell. The time between frames is nominal. More frames than an
// int32 counts, and what float32 cannot hold, are errors.
func WriteDCD(w io.Writer, m *molecule.Molecule, frames arrayfile.Rows) error {
	n, atoms := frames.N, m.N()
	if n > math.MaxInt32 {
		return fmt.Errorf("DCD: %d frames, expected at most %d", n, math.MaxInt32)
	}
	b := bufio.NewWriter(w)
	put := func(v ...uint32) {
		var cell [4]byte
		for _, u := range v {
			binary.LittleEndian.PutUint32(cell[:], u)
			b.Write(cell[:])
		}
	}
	control := []uint32{0: uint32(n), 2: 1, 3: uint32(n), 9: math.Float32bits(1), 19: 24}
	put(84)
	b.WriteString("CORD")
	put(append(control, 84, 84, 1)...) // and a title, a line of 80
	fmt.Fprintf(b, "%-80.80s", "made by landing; coordinates in angstrom, frames are independent samples")
	put(84, 4, uint32(atoms), 4)
	for f, x := range frames.Each() {
		for k := range 3 {
			put(uint32(4 * atoms))
			for i := range atoms {
				v := x[3*i+k]
				if !(math.Abs(v) <= math.MaxFloat32) {
					return unfit("DCD", m, f, 3*i+k, v, "that float32 holds")
				}
				put(math.Float32bits(float32(v)))
			}
			put(uint32(4 * atoms))
		}
	}
	return b.Flush()
}

// WriteNPY writes conformations as an array of shape n×A×3, float64.
func WriteNPY(w io.Writer, m *molecule.Molecule, frames arrayfile.Rows) error {
	return arrayfile.EncodeNPYRows(w, []int{frames.N, m.N(), 3}, frames)
}
