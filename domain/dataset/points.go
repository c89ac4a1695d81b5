// Package dataset reads data: points in R^d from NPY, CSV and Parquet files, and catalogues of places on Earth as unit
// vectors in R^3. It also parts rows into training, validation and test sets.
//
// What it returns is finite, always. A cell that is not a number, a NaN, a latitude of 95 or a row that is too short is
// an [*Error] that names the file, the line and the column; nothing is skipped or repaired.
package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mathext/prng"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/internal/text"
)

// Points are N points in R^D: point i is X[i*D : (i+1)*D].
type Points struct {
	Name   string // base name of the file
	N, D   int
	X      []float64
	Shape  []int    // of the array that they were; nil: of no array
	SHA256 string   // of the file's bytes, in hexadecimal
	Header []string // names of the columns, of a table that has them
	Names  []string // of the columns that are in X; nil: they have none

	// Molecule is the molecule whose conformations the points are; nil: no molecule's, or none that the file has.
	// Remarks are what the reader chose among several or left out, a sentence each.
	Molecule *molecule.Molecule
	Remarks  []string

	Place  string   // of places on Earth: which columns were latitude and longitude, and their ranges
	Doubts []string // what of the numbers looks like a mistake, a sentence each
}

// Described returns what was understood of the points, a line each, and what of it looks like a mistake.
func (p *Points) Described() (lines, doubts []string) {
	doubts = slices.Clone(p.Doubts)
	switch {
	case p.Place != "":
		lines = append(lines, p.Place)
	case p.Molecule != nil:
		x := p.X[:min(len(p.X), p.Molecule.Dim())]
		if p.D != p.Molecule.Dim() { // internal coordinates
			x = nil
		}
		said, doubt := p.Molecule.Described(x)
		if lines = append(lines, said); doubt != "" {
			doubts = append(doubts, doubt)
		}
	default:
		lines = append(lines, Ranges(p.Names, p.X, p.D))
	}
	const few, many = 20, 10
	if p.Molecule == nil && p.N < few && p.D >= many*p.N {
		doubts = append(doubts, fmt.Sprintf("%d rows of %d numbers: if the array is transposed, write x.T", p.N, p.D))
	}
	return append(lines, p.Remarks...), doubts
}

// Ranges tells the ranges of the first columns of rows of d numbers.
func Ranges(names []string, x []float64, d int) string {
	const most = 6
	var out []string
	for j := range min(d, most) {
		low, high := x[j], x[j]
		for i := j; i < len(x); i += d {
			low, high = min(low, x[i]), max(high, x[i])
		}
		name := fmt.Sprintf("x[%d]", j)
		if j < len(names) && names[j] != "" {
			name = names[j]
		}
		out = append(out, fmt.Sprintf("%s %.4g to %.4g", name, low, high))
	}
	if d > most {
		out = append(out, fmt.Sprintf("and %d more", d-most))
	}
	return strings.Join(out, ", ")
}

// Rows returns a new slice with the given rows, in the order given.
func (p *Points) Rows(index []int) []float64 {
	x := make([]float64, 0, len(index)*p.D)
	for _, i := range index {
		if i < 0 || i >= p.N {
			panic(fmt.Sprintf("dataset: row %d of %d", i, p.N))
		}
		x = append(x, p.X[i*p.D:(i+1)*p.D]...)
	}
	return x
}

// An Error says what is wrong with a file, and where.
type Error struct {
	File   string
	Line   int    // from 1; 0 if it is not about one line
	Column string // name or position of the column; empty if it is not about one column
	Value  string // what was found
	Want   string // what was expected: in words, or a range such as [-90, 90]
}

// Error returns one line, such as
//
//	volcano.csv:17: latitude 95 is outside [-90, 90]
func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
	}
	switch {
	case e.Column == "":
		return fmt.Sprintf("%s: %s, expected %s", where, e.Value, e.Want)
	case strings.HasPrefix(e.Want, "["):
		return fmt.Sprintf("%s: %s %s is outside %s", where, e.Column, e.Value, e.Want)
	default:
		return fmt.Sprintf("%s: %s is %s, expected %s", where, e.Column, e.Value, e.Want)
	}
}

func (e *Error) Place() fault.Place { return fault.Place{Kind: fault.Data, File: e.File, Line: e.Line} }

// ReadPoints reads the named file, by its extension:
//
//   - .npy: an array of n rows; the dimensions after the first are flattened, so
//     that (n, a, b) gives n points in R^(a·b);
//   - .npz: such an array in an archive: the only one, or that which is called points,
//     data, samples, x or X;
//   - .csv, .tsv or .txt: a point on each line, its coordinates separated by commas.
//     Blank lines and lines that begin with # are skipped, and the first line
//     of the others may be a header;
//   - .parquet: its columns, which are flat and hold numbers, are the coordinates (package parquetfile).
func ReadPoints(path string) (*Points, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".npy", ".npz":
		return readFile(path, decodeArray)
	case ".csv", ".tsv", ".txt", ".parquet":
		return readFile(path, func(f *os.File) (*Points, error) { return decodeColumns(f, nil) })
	default:
		return nil, &Error{File: path, Value: fmt.Sprintf("extension %q", ext),
			Want: ".npy, .npz, .csv, .tsv, .txt or .parquet"}
	}
}

// Bounds of data files: larger ones are refused, a file before it is read.
const (
	MaxFile    = 4 << 30 // bytes
	MaxNumbers = 1 << 28 // coordinates in all
)

func readFile(path string, decode func(f *os.File) (*Points, error)) (*Points, error) {
	f, err := input.Open(path, MaxFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := decode(f)
	if err != nil {
		return nil, err
	}
	p.Name = filepath.Base(path)
	return p, nil
}

// pointArrays are the arrays of an archive that are taken for points if there are several.
var pointArrays = []string{"points", "data", "samples", "x", "X"}

func decodeArray(f *os.File) (*Points, error) {
	a, _, digest, err := arrayfile.Pick(f, maxNumbers, "", pointArrays...)
	if err != nil {
		return nil, err
	}
	return finitePoints(f.Name(), a, digest)
}

// decodeColumns reads a table with these columns, or any if they are nil: a Parquet file or, by any other extension,
// text.
func decodeColumns(f *os.File, columns []column) (*Points, error) {
	if strings.ToLower(filepath.Ext(f.Name())) == ".parquet" {
		return decodeParquet(f, columns)
	}
	p, err := decodeTable(f.Name(), f, columns)
	if e := (*Error)(nil); errors.As(err, &e) && e.Line > 0 {
		if _, again := f.Seek(0, io.SeekStart); again != nil {
			return nil, err
		}
		if d, doubt := dialectOf(f.Name(), f, ""); doubt == nil && d.String() != "" {
			e.Want += fmt.Sprintf(" (%s: landing init FILE --clean NEW.csv writes such a file)", d)
		}
	}
	return p, err
}

// rowsOf takes an array apart in n rows of d numbers.
func rowsOf(name string, a arrayfile.Array) (x []float64, n, d int, err error) {
	switch {
	case a.Truth:
		return nil, 0, 0, &Error{File: name, Value: "an array of booleans", Want: "numbers"}
	case len(a.Shape) < 2 || a.Len() == 0:
		return nil, 0, 0, &Error{File: name, Value: fmt.Sprintf("an array of shape %d", a.Shape),
			Want: "[n d], both at least 1"}
	}
	d = a.Len() / a.Shape[0]
	for i, v := range a.Int64 {
		if v < -1<<53 || v > 1<<53 {
			return nil, 0, 0, &Error{File: name, Column: fmt.Sprintf("row %d, column %d (both from 0)", i/d, i%d),
				Value: strconv.FormatInt(v, 10), Want: wantExact}
		}
	}
	return a.AsFloat64(), a.Shape[0], d, nil
}

func finitePoints(name string, a arrayfile.Array, digest string) (*Points, error) {
	x, n, d, err := rowsOf(name, a)
	if err != nil {
		return nil, err
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, &Error{File: name, Column: fmt.Sprintf("row %d, column %d (both from 0)", i/d, i%d),
				Value: strconv.FormatFloat(v, 'g', -1, 64), Want: "a finite number"}
		}
	}
	return &Points{Name: name, N: n, D: d, X: x, Shape: a.Shape, SHA256: digest}, nil
}

// A Split parts the rows of a data set. The three lists are disjoint and hold every row once.
type Split struct{ Train, Val, Test []int }

// RandomSplit parts n rows 80/10/10: ⌊n/10⌋ rows each for validation and test, the rest for training. It repeats
// PyTorch's random_split with a CPU generator of this seed, whose low 32 bits count, so that results can be compared
// with those of other programs row by row. PyTorch itself changes method from about 2·10⁸ rows on; there the two
// differ.
func RandomSplit(n int, seed uint64) Split {
	if n < 0 {
		panic(fmt.Sprintf("dataset: split of %d rows", n))
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	random := prng.NewMT19937()
	random.Seed(seed)
	for i := range n - 1 {
		j := i + int(uint64(random.Uint32())%uint64(n-i))
		order[i], order[j] = order[j], order[i]
	}
	held := int(0.1 * float64(n))
	train, val := n-2*held, n-held
	// Full slice expressions: appending to one part must not reach the next.
	return Split{Train: order[:train:train], Val: order[train:val:val], Test: order[val:]}
}

// ReadPointsGiven is ReadPoints for a file that holds a condition too: its columns, of these names, are found by the
// header where the file has one, and else are the last, in the order of the names. They are taken out of the points and
// returned by rows, N×len(names).
func ReadPointsGiven(path string, names []string) (*Points, []float64, error) {
	p, err := ReadPoints(path)
	if err != nil {
		return nil, nil, err
	}
	return p.take(path, names)
}

// ReadEarthGiven is ReadEarth for a catalogue with columns of a condition behind its two.
func ReadEarthGiven(path string, names []string) (*Points, []float64, error) {
	columns := slices.Clone(earthColumns)
	for _, name := range names {
		c := anyNumber
		c.name, c.exact = name, true
		columns = append(columns, c)
	}
	p, err := readFile(path, func(f *os.File) (*Points, error) { return decodeColumns(f, columns) })
	if err != nil {
		return nil, nil, err
	}
	p.Header = nil // its columns are where they must be
	p, c, err := p.take(path, names)
	if err != nil {
		return nil, nil, err
	}
	return places(p), c, nil
}

// ReadGiven reads the condition of each of n points from a file of its own: NPY, or CSV. Other columns of a CSV file
// with a header are ignored. n of 0 is any number.
func ReadGiven(path string, names []string, n int) ([]float64, error) {
	p, err := ReadPoints(path)
	if err != nil {
		return nil, err
	}
	if p.Header == nil && p.D != len(names) {
		return nil, &Error{File: path, Value: text.Plural(p.D, "column"),
			Want: fmt.Sprintf("%d: %s", len(names), strings.Join(names, ","))}
	}
	if n > 0 && p.N != n {
		return nil, &Error{File: path, Value: fmt.Sprintf("%d rows", p.N), Want: fmt.Sprintf("%d, one a point", n)}
	}
	_, c, err := p.take(path, names)
	return c, err
}

// take parts the columns of these names from the others.
func (p *Points) take(path string, names []string) (*Points, []float64, error) {
	at := make([]int, len(names))
	for i, name := range names {
		at[i] = p.D - len(names) + i
		if p.Header != nil {
			at[i] = slices.Index(p.Header, name)
		}
		if at[i] < 0 && p.Header != nil {
			return nil, nil, &Error{File: path, Value: "the header " + strings.Join(p.Header, ","),
				Want: fmt.Sprintf("a column %q, as condition.columns says", name)}
		}
		if at[i] < 0 {
			return nil, nil, &Error{File: path, Value: text.Plural(p.D, "column"),
				Want: fmt.Sprintf("at least %d, the last of them %s", len(names), strings.Join(names, ","))}
		}
	}
	out := *p
	out.D, out.X, out.Header, out.Names = p.D-len(names), nil, nil, nil
	for j, name := range p.Names {
		if !slices.Contains(at, j) {
			out.Names = append(out.Names, name)
		}
	}
	c := make([]float64, 0, p.N*len(names))
	for i := range p.N {
		row := p.X[i*p.D : (i+1)*p.D]
		for _, j := range at {
			c = append(c, row[j])
		}
		for j, v := range row {
			if !slices.Contains(at, j) {
				out.X = append(out.X, v)
			}
		}
	}
	return &out, c, nil
}
