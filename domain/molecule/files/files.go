// Package files reads and writes conformations of molecules: frames of PDB, XYZ, SDF (V2000), NPY and DCD files. It
// also reads NPZ and XTC files.
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
var Extensions = []string{".pdb", ".ent", ".xyz", ".sdf", ".mol", ".npy", ".npz", ".dcd", ".xtc"}

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
	of := map[string]func(string, io.Reader) (*Frames, error){".pdb": DecodePDB, ".ent": DecodePDB, ".xyz": DecodeXYZ,
		".sdf": DecodeSDF, ".mol": DecodeSDF, ".dcd": DecodeDCD, ".xtc": DecodeXTC}[ext]
	if of == nil {
		return decodeArray(f)
	}
	return of(path, f)
}

// maxLine bounds a line: those of all formats are far shorter.
const maxLine = 1 << 16

// A reader reads the lines of a file and gathers its frames. After a first fault it reads no more.
type reader struct {
	gathered
	lines *bufio.Scanner
	line  int // number of the last one
}

func newReader(file string, r io.Reader) reader {
	t := reader{gathered: gathered{file: file, sum: sha256.New()}}
	t.lines = bufio.NewScanner(io.TeeReader(r, t.sum))
	t.lines.Buffer(nil, maxLine)
	return t
}

// next returns the next line, or ok = false at the end or after a fault.
func (t *reader) next() (line string, ok bool) {
	if t.err != nil {
		return "", false
	}
	if t.lines.Scan() {
		t.line++
		return strings.TrimRight(t.lines.Text(), " \t\r"), true
	}
	if err := t.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		t.refuse(Error{Line: t.line + 1, Frame: -1}, "a line of more than %d bytes, expected text", maxLine)
	} else if err != nil {
		t.err = fmt.Errorf("%s: %w", t.file, err)
	}
	return "", false
}

// must is next, where an end is a fault.
func (t *reader) must(format string, v ...any) string {
	line, ok := t.next()
	if !ok {
		t.fault("", "the file ends, expected %s: it is truncated", fmt.Sprintf(format, v...))
	}
	return line
}

// fault notes what is wrong in the frame that is being read.
func (t *reader) fault(atom, format string, v ...any) {
	t.refuse(Error{Line: t.line, Frame: t.n, Atom: atom}, format, v...)
}

// place reads x, y and z of an atom from cells; `where` says in errors where a cell stands.
func (t *reader) place(atom string, cell func(k int) (text, where string)) (p [3]float64) {
	for k := range p {
		text, where := cell(k)
		axis := 'x' + rune(k)
		v, err := strconv.ParseFloat(text, 64)
		switch {
		case text == "":
			t.fault(atom, "%c is missing, expected a number%s", axis, where)
		case errors.Is(err, strconv.ErrSyntax):
			t.fault(atom, "%c is %s, expected a number%s", axis, quoted(text), where)
		case !(math.Abs(v) <= farthest):
			t.fault(atom, "%c is %s, expected a number of at most %.0g Å%s", axis, clip(text), farthest, where)
		}
		p[k] = v
	}
	return p
}

// fixed are cells of a width from column lo of a line on, counted from 1.
func fixed(line string, lo, width int) func(k int) (text, where string) {
	return func(k int) (text, where string) {
		from, to := lo+k*width, lo+(k+1)*width-1
		return columns(line, from, to), fmt.Sprintf(" in columns %d to %d", from, to)
	}
}

// columns returns what stands in columns lo to hi of a line, counted from 1.
func columns(line string, lo, hi int) string {
	if lo > len(line) {
		return ""
	}
	return strings.TrimSpace(line[lo-1 : min(hi, len(line))])
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

// gathered is the frames of a file that is being read, and its first fault.
type gathered struct {
	file     string
	molecule *molecule.Molecule
	n        int
	x        []float64
	remarks  []string
	err      error
	sum      hash.Hash // of what was read
}

// refuse notes a fault at a place, unless there is one.
func (g *gathered) refuse(at Error, format string, v ...any) {
	if g.err == nil {
		at.File, at.Problem = g.file, fmt.Sprintf(format, v...)
		g.err = &at
	}
}

// add appends a frame of atoms in the file's order, whose lines are given, and that of the frame's end. The first says
// what the molecule is.
func (g *gathered) add(atoms []molecule.Atom, x []float64, lines []int, end int) {
	if g.molecule == nil {
		g.molecule = &molecule.Molecule{Atoms: slices.Clone(atoms)}
	} else {
		g.compare(atoms, lines, end)
	}
	g.extend(x)
}

// extend appends the coordinates of a frame.
func (g *gathered) extend(x []float64) {
	g.checkFrame(g.n, x)
	if len(g.x)+len(x) > maxNumbers {
		g.refuse(Error{Frame: g.n}, "more than %d numbers, expected a smaller file", maxNumbers)
	}
	if g.err == nil {
		g.x = append(g.x, x...)
		g.n++
	}
}

// compare refuses atoms that are not those of the first frame, in its order.
func (g *gathered) compare(atoms []molecule.Atom, lines []int, end int) {
	first := g.molecule.Atoms
	if len(atoms) != len(first) {
		at, more := Error{Line: end, Frame: g.n}, ""
		if named := odd(first, atoms); len(atoms) < len(first) && named >= 0 {
			more = fmt.Sprintf(": atom %s is missing", called(g.molecule, named))
		} else if named := odd(atoms, first); len(atoms) > len(first) && named >= 0 {
			at.Line = lines[named]
			more = fmt.Sprintf(": atom %s is not in frame 0", called(&molecule.Molecule{Atoms: atoms}, named))
		}
		g.refuse(at, "has %d atoms, expected %d as in frame 0%s; frames are of one molecule, and these of %s and %s",
			len(atoms), len(first), more, (&molecule.Molecule{Atoms: atoms}).Formula(), g.molecule.Formula())
		return
	}
	for i, a := range atoms {
		if a != first[i] {
			g.refuse(Error{Line: lines[i], Frame: g.n, Atom: strconv.Itoa(i)}, "is %s, expected %s as in frame 0: "+
				"frames are of one molecule, with its atoms in one order", described(a), described(first[i]))
		}
	}
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

// frames makes the frames of a file that was read to its end, after checks; none says what it has none of.
func (g *gathered) frames(none string) (*Frames, error) {
	if g.n == 0 {
		g.refuse(Error{Frame: -1}, "there are no %s", none)
	}
	if g.err != nil {
		return nil, g.err
	}
	g.unit()
	if g.molecule.Bonds == nil {
		g.molecule.Bonds = g.molecule.GuessBonds(g.x[:g.molecule.Dim()])
		g.molecule.Guessed = true
	}
	g.whole()
	if g.err != nil {
		return nil, g.err
	}
	return &Frames{Name: g.file, Molecule: g.molecule, N: g.n, X: g.x, Remarks: g.remarks,
		SHA256: hex.EncodeToString(g.sum.Sum(nil))}, nil
}

// In ångström an atom's nearest is 0.74 (in H₂) to some 3 away, and with hydrogens
// about 1; in nanometres a tenth of that.
const (
	nanometres = 0.4 // Å: a median below it is not of ångström
	looked     = 500 // atoms of a frame whose nearest is looked for, at most
)

// unit refuses a first frame that looks like nanometres.
func (g *gathered) unit() {
	n := g.molecule.N()
	if n < 2 {
		return
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
		g.refuse(Error{}, "half of the atoms or more are at the places of others")
	case d < nanometres:
		g.refuse(Error{}, "half of the atoms have another within %.3g; the coordinates look like nanometres, expected "+
			"ångström: multiply them by 10", d)
	}
}

// Bonded atoms are at least closest and at most torn times the longest bond of their elements apart: a lesser distance
// is that of coordinates that were not filled in, a larger one that of a molecule that a periodic box cuts.
const (
	closest = 0.005 // Å: the decimals of a file
	torn    = 4
)

// whole refuses a frame in which bonded atoms coincide or are far apart.
func (g *gathered) whole() {
	m := g.molecule
	longest := make([]float64, len(m.Bonds))
	for k, b := range m.Bonds {
		longest[k] = torn * m.LongestBond(b[0], b[1])
	}
	d := m.Dim()
	for f := range g.n {
		x := g.x[f*d : (f+1)*d]
		for k, b := range m.Bonds {
			r := molecule.Distance(x, b[0], b[1])
			if r >= closest && r <= longest[k] {
				continue
			}
			at, other := Error{Frame: f, Atom: called(m, b[0])}, called(m, b[1])
			if r < closest {
				g.refuse(at, "is at the place of atom %s: %.3g Å away", other, r)
			}
			g.refuse(at, "is %.4g Å away from atom %s, to which it is bonded; is the molecule cut by a periodic box? "+
				"make it whole first", r, other)
			return
		}
	}
}
