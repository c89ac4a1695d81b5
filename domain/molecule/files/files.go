// Package files reads and writes conformations of molecules: frames of PDB, XYZ, SDF
// (V2000), NPY and NPZ files; it also writes DCD trajectories.
//
// What it returns is finite and of one molecule: a frame that lacks an atom, calls one otherwise, breaks off or is in
// nanometres is an [*Error] that names the file, the frame, the line and the atom. Nothing is skipped or repaired, but
// for what Remarks say. Frames and atoms are counted from 0, lines from 1; lengths are in ångström.
//
// It is not for topologies with parameters (package domain/molecule/amber).
package files

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
)

// Frames are N conformations of a molecule: frame i is X[i*d : (i+1)*d] with d = Molecule.Dim().
type Frames struct {
	Name     string // base name of the file
	Molecule *molecule.Molecule
	N        int
	X        []float64
	Remarks  []string // what was chosen among several, or left out: a sentence each
	SHA256   string   // of the file's bytes, in hexadecimal
}

// Frame returns frame i.
func (f *Frames) Frame(i int) []float64 {
	d := f.Molecule.Dim()
	return f.X[i*d : (i+1)*d]
}

// An Error says what is wrong with a file of frames, and where.
type Error struct {
	File    string
	Line    int    // from 1; 0 if it is not about one line
	Frame   int    // from 0; −1 if it is not about one frame
	Atom    string // index and name, as in 4 (ALA2:CA); empty if it is not about one atom
	Problem string // what was found, and what was expected
}

// Error returns one line, such as
//
//	run.pdb:57: frame 3, atom 4 (ALA2:CA): y is "1.2x", expected a number in columns 39 to 46
func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
	}
	where += ": "
	if e.Frame >= 0 {
		where += fmt.Sprintf("frame %d (from 0)", e.Frame)
		if e.Atom != "" {
			where += ", atom " + e.Atom
		}
		where += ": "
	}
	return where + e.Problem
}

func (e *Error) Place() fault.Place { return fault.Place{Kind: fault.Data, File: e.File, Line: e.Line} }

// Bounds of files of frames: larger ones are refused, a file before it is read.
const (
	MaxFile    = 4 << 30 // bytes
	MaxNumbers = 1 << 28 // coordinates in all
	MaxAtoms   = 1 << 15
)

// maxNumbers is MaxNumbers, but in tests.
var maxNumbers = MaxNumbers

// farthest bounds coordinates, in Å: anything beyond it is no molecule's, and its square
// times their number is still a number.
const farthest = 1e6

// Extensions are those of the files that Read reads.
var Extensions = []string{".pdb", ".ent", ".xyz", ".sdf", ".mol", ".npy", ".npz"}

// Read reads the frames of the named file, by its extension. Bonds are the file's (CONECT records, bond blocks), and
// where it has none, those of molecule.GuessBonds in the first frame. The error is an *Error, an *fs.PathError or one
// of a damaged array, which names the file.
func Read(path string) (*Frames, error) {
	ext := strings.ToLower(filepath.Ext(path))
	if !slices.Contains(Extensions, ext) {
		return nil, &Error{File: path, Frame: -1, Problem: fmt.Sprintf("extension %q, expected one of %s", ext,
			strings.Join(Extensions, ", "))}
	}
	f, err := input.Open(path, MaxFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	frames, err := decode(path, ext, f)
	if err != nil {
		return nil, err
	}
	frames.Name = filepath.Base(path)
	return frames, nil
}

func decode(path, ext string, f *os.File) (*Frames, error) {
	switch ext {
	case ".pdb", ".ent":
		return DecodePDB(path, f)
	case ".xyz":
		return DecodeXYZ(path, f)
	case ".sdf", ".mol":
		return DecodeSDF(path, f)
	}
	return decodeArray(f)
}

// maxLine bounds a line: those of all formats are far shorter.
const maxLine = 1 << 16

// A reader reads the lines of a file and gathers its frames.
type reader struct {
	gathered
	lines *bufio.Scanner
	sum   hash.Hash
	line  int // number of the last one
}

func newReader(file string, r io.Reader) reader {
	sum := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(r, sum))
	lines.Buffer(nil, maxLine)
	return reader{gathered: gathered{file: file}, lines: lines, sum: sum}
}

// frames makes the frames of a file that has been read to its end.
func (t *reader) frames() (*Frames, error) { return t.finish(hex.EncodeToString(t.sum.Sum(nil))) }

// next returns the next line, or ok = false at the end.
func (t *reader) next() (line string, ok bool, err error) {
	if t.lines.Scan() {
		t.line++
		return strings.TrimRight(t.lines.Text(), " \t\r"), true, nil
	}
	if err := t.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return "", false, &Error{File: t.file, Line: t.line + 1, Frame: -1,
			Problem: fmt.Sprintf("a line of more than %d bytes, expected text", maxLine)}
	} else if err != nil {
		return "", false, fmt.Errorf("%s: %w", t.file, err)
	}
	return "", false, nil
}

// fault is an error in the frame that is being read.
func (t *reader) fault(atom, format string, v ...any) error {
	return &Error{File: t.file, Line: t.line, Frame: t.n, Atom: atom, Problem: fmt.Sprintf(format, v...)}
}

// coordinate returns the number in s, one of x, y, z; want says where it stands.
func (t *reader) coordinate(atom, axis, s, want string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case s == "":
		return 0, t.fault(atom, "%s is missing, expected a number%s", axis, want)
	case errors.Is(err, strconv.ErrSyntax):
		return 0, t.fault(atom, "%s is %s, expected a number%s", axis, quoted(s), want)
	case !(math.Abs(v) <= farthest):
		return 0, t.fault(atom, "%s is %s, expected a number of at most %.0g Å%s", axis, clip(s), farthest, want)
	}
	return v, nil
}

// quoted quotes what a file says, cut to a length that suits a message.
func quoted(s string) string { return strconv.Quote(clip(s)) }

func clip(s string) string {
	const limit = 40
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}

// gathered is the frames of a file that is being read.
type gathered struct {
	file     string
	molecule *molecule.Molecule
	n        int
	x        []float64
	remarks  []string
}

// add appends a frame of atoms, whose lines are given, in the file's order. The first says what the molecule is.
//
// Lines are those of the atoms, end is that of the frame's end.
func (g *gathered) add(atoms []molecule.Atom, x []float64, lines []int, end int) error {
	if g.molecule == nil {
		g.molecule = &molecule.Molecule{Atoms: slices.Clone(atoms)}
	} else if err := g.compare(atoms, lines, end); err != nil {
		return err
	}
	if len(g.x)+len(x) > maxNumbers {
		return &Error{File: g.file, Frame: g.n, Problem: fmt.Sprintf("more than %d numbers, expected a smaller file",
			maxNumbers)}
	}
	g.x = append(g.x, x...)
	g.n++
	return nil
}

// compare returns an error unless the atoms are those of the first frame, in its order.
func (g *gathered) compare(atoms []molecule.Atom, lines []int, end int) error {
	first := g.molecule.Atoms
	if len(atoms) != len(first) {
		e := &Error{File: g.file, Line: end, Frame: g.n,
			Problem: fmt.Sprintf("has %d atoms, expected %d as in frame 0", len(atoms), len(first))}
		if named := odd(first, atoms); len(atoms) < len(first) && named >= 0 {
			e.Problem += fmt.Sprintf(": atom %s is missing", called(g.molecule, named))
		} else if named := odd(atoms, first); len(atoms) > len(first) && named >= 0 {
			e.Line = lines[named]
			e.Problem += fmt.Sprintf(": atom %s is not in frame 0", called(&molecule.Molecule{Atoms: atoms}, named))
		}
		return e
	}
	for i, a := range atoms {
		if a != first[i] {
			return &Error{File: g.file, Line: lines[i], Frame: g.n, Atom: strconv.Itoa(i), Problem: fmt.Sprintf(
				"is %s, expected %s as in frame 0", described(a), described(first[i]))}
		}
	}
	return nil
}

// odd returns the first atom of a that b has not, or −1.
func odd(a, b []molecule.Atom) int {
	count := map[molecule.Atom]int{}
	for _, v := range b {
		count[v]++
	}
	for i, v := range a {
		if count[v]--; count[v] < 0 {
			return i
		}
	}
	return -1
}

func called(m *molecule.Molecule, i int) string {
	if label := m.Label(i); label != strconv.Itoa(i) {
		return fmt.Sprintf("%d (%s)", i, label)
	}
	if a := m.Atoms[i]; a.Name != "" {
		return fmt.Sprintf("%d (%s)", i, a.Name)
	}
	return strconv.Itoa(i)
}

// described tells all that an atom is known by.
func described(a molecule.Atom) string {
	var s []string
	if a.Name != "" {
		s = append(s, a.Name)
	}
	if a.Element != "" && a.Element != a.Name {
		s = append(s, "element "+a.Element)
	}
	if a.Residue != "" || a.ResidueNumber != 0 {
		s = append(s, fmt.Sprintf("of %s%d%s", a.Residue, a.ResidueNumber, a.Insertion))
	}
	if a.Chain != "" {
		s = append(s, "chain "+a.Chain)
	}
	if a.Charge != 0 {
		s = append(s, fmt.Sprintf("charge %+d", a.Charge))
	}
	if s == nil {
		return "unnamed"
	}
	return strings.Join(s, " ")
}

// finish makes the frames, after checks of all of them.
func (g *gathered) finish(digest string) (*Frames, error) {
	if g.n == 0 {
		return nil, &Error{File: g.file, Frame: -1, Problem: "there are no atoms in it"}
	}
	if err := g.unit(); err != nil {
		return nil, err
	}
	if g.molecule.Bonds == nil {
		g.molecule.Bonds = g.molecule.GuessBonds(g.x[:g.molecule.Dim()])
		g.molecule.Guessed = true
	}
	if err := g.whole(); err != nil {
		return nil, err
	}
	return &Frames{Name: g.file, Molecule: g.molecule, N: g.n, X: g.x, Remarks: g.remarks, SHA256: digest}, nil
}

// In ångström an atom's nearest is 0.74 (in H₂) to some 3 away, and with hydrogens
// about 1; in nanometres a tenth of that.
const (
	nanometres = 0.4 // Å: a median below it is not of ångström
	looked     = 500 // atoms of a frame whose nearest is looked for, at most
)

// unit returns an error if the first frame looks like nanometres.
func (g *gathered) unit() error {
	n := g.molecule.N()
	if n < 2 {
		return nil
	}
	var nearest []float64
	step := (n + looked - 1) / looked
	for i := 0; i < n; i += step {
		d := math.Inf(1)
		for j := range n {
			if j != i {
				d = min(d, molecule.Distance(g.x, i, j))
			}
		}
		nearest = append(nearest, d)
	}
	slices.Sort(nearest)
	switch d := nearest[len(nearest)/2]; {
	case d == 0:
		return &Error{File: g.file, Problem: "half of the atoms or more are at the places of others"}
	case d < nanometres:
		return &Error{File: g.file, Problem: fmt.Sprintf("half of the atoms have another within %.3g; the coordinates "+
			"look like nanometres, expected ångström: multiply them by 10", d)}
	}
	return nil
}

// Bonded atoms are at least closest and at most torn times the longest bond of their elements apart: a lesser distance
// is that of coordinates that were not filled in, a larger one that of a molecule that a periodic box cuts.
const (
	closest = 0.005 // Å: the decimals of a file
	torn    = 4
)

// whole returns an error if bonded atoms coincide in a frame or are far apart.
func (g *gathered) whole() error {
	m := g.molecule
	longest := make([]float64, len(m.Bonds))
	for k, b := range m.Bonds {
		longest[k] = torn * m.LongestBond(b[0], b[1])
	}
	d := m.Dim()
	for f := range g.n {
		x := g.x[f*d : (f+1)*d]
		for k, b := range m.Bonds {
			fault := ""
			if r := molecule.Distance(x, b[0], b[1]); r < closest {
				fault = fmt.Sprintf("is at the place of atom %s: %.3g Å away", called(m, b[1]), r)
			} else if r > longest[k] {
				fault = fmt.Sprintf("is %.4g Å away from atom %s, to which it is bonded; is the molecule cut by a "+
					"periodic box? make it whole first", r, called(m, b[1]))
			}
			if fault != "" {
				return &Error{File: g.file, Frame: f, Atom: called(m, b[0]), Problem: fault}
			}
		}
	}
	return nil
}
