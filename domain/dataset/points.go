// Package dataset reads data: points in R^d from NPY, CSV and Parquet files, and catalogues of places on Earth as unit
// vectors in R^3. It also parts rows into training, validation and test sets.
//
// What it returns is finite, always. A cell that is not a number, a NaN, a latitude of 95 or a row that is too short is
// an [*Error] that names the file, the line and the column; nothing is skipped or repaired.
package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
)

// Points are N points in R^D: point i is X[i*D : (i+1)*D].
type Points struct {
	Name   string // base name of the file
	N, D   int
	X      []float64
	SHA256 string   // of the file's bytes, in hexadecimal
	Header []string // names of the columns, of a table that has them

	// Molecule is whose conformations the points are; nil: no molecule's, or none that the file tells of. Remarks are
	// what the reader chose among several or left out, a sentence each.
	Molecule *molecule.Molecule
	Remarks  []string
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
//   - .csv or .txt: a point on each line, its coordinates separated by commas.
//     Blank lines and lines that begin with # are skipped, and the first line
//     of the others may be a header;
//   - .parquet: its columns, which are flat and hold numbers, are the coordinates (package parquetfile).
func ReadPoints(path string) (*Points, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".npy":
		return readFile(path, decodeNPY)
	case ".npz":
		return readFile(path, decodeNPZ)
	case ".csv", ".txt":
		return readFile(path, decodeCSV)
	case ".parquet":
		return readFile(path, func(name string, r io.Reader) (*Points, error) { return decodeParquet(name, r, nil) })
	default:
		return nil, &Error{File: path, Value: fmt.Sprintf("extension %q", ext),
			Want: ".npy, .npz, .csv, .txt or .parquet"}
	}
}

// Bounds of data files: larger ones are refused, a file before it is read.
const (
	MaxFile    = 4 << 30 // bytes
	MaxNumbers = 1 << 28 // coordinates in all
)

func readFile(path string, decode func(name string, r io.Reader) (*Points, error)) (*Points, error) {
	f, err := input.Open(path, MaxFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := decode(path, f)
	if err != nil {
		return nil, err
	}
	p.Name = filepath.Base(path)
	return p, nil
}

func decodeNPY(name string, r io.Reader) (*Points, error) {
	a, digest, behind, err := arrayfile.HashNPY(r)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case behind > 0:
		return nil, &Error{File: name, Value: fmt.Sprintf("%d bytes after the array", behind),
			Want: "the end of the file"}
	}
	return finitePoints(name, a, digest)
}

// decodeNPZ reads an archive, which must be a file.
func decodeNPZ(name string, r io.Reader) (*Points, error) {
	a, _, digest, err := arrayOf(name, "", r)
	if err != nil {
		return nil, err
	}
	return finitePoints(name, a, digest)
}

// pointArrays are the arrays of an archive that are taken for points if there are several.
var pointArrays = []string{"points", "data", "samples", "x", "X"}

// arrayOf reads an array of an archive: the one that is asked for, or else the only one or
// that of pointArrays. It returns its name and the digest of the whole file.
func arrayOf(name, array string, r io.Reader) (a arrayfile.Array, called, digest string, err error) {
	f, ok := r.(*os.File)
	if !ok {
		panic("dataset: an archive that is no file")
	}
	info, err := f.Stat()
	if err != nil {
		return a, "", "", err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return a, "", "", fmt.Errorf("%s: %w", name, err)
	}
	z, err := arrayfile.NewNPZ(f, info.Size())
	if err != nil {
		return a, "", "", fmt.Errorf("%s: %w", name, err)
	}
	var fit []string
	for _, s := range z.Names() {
		if s == array || array == "" && (len(z.Names()) == 1 || slices.Contains(pointArrays, s)) {
			fit = append(fit, s)
		}
	}
	if len(fit) != 1 {
		want := "one alone, or one of them called one of " + strings.Join(pointArrays, ", ")
		if array != "" {
			want = fmt.Sprintf("one called %q", array)
		}
		const most = 200
		have := strings.Join(z.Names(), ", ")
		if len(have) > most {
			have = have[:most] + "…"
		}
		return a, "", "", &Error{File: name, Value: "it holds the arrays " + have, Want: want}
	}
	if a, err = z.Read(fit[0], maxNumbers); err != nil {
		return a, "", "", fmt.Errorf("%s: %w", name, err)
	}
	return a, fit[0], hex.EncodeToString(sum.Sum(nil)), nil
}

// rowsOf takes an array apart in n rows of d numbers.
func rowsOf(name string, a arrayfile.Array) (x []float64, n, d int, err error) {
	switch {
	case a.Bool != nil:
		return nil, 0, 0, &Error{File: name, Value: "an array of booleans", Want: "numbers"}
	case a.Len() > maxNumbers:
		return nil, 0, 0, tooMany(name)
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
			return nil, &Error{
				File:   name,
				Column: fmt.Sprintf("row %d, column %d (both from 0)", i/d, i%d),
				Value:  strconv.FormatFloat(v, 'g', -1, 64),
				Want:   "a finite number",
			}
		}
	}
	return &Points{Name: name, N: n, D: d, X: x, SHA256: digest}, nil
}

func decodeCSV(name string, r io.Reader) (*Points, error) { return decodeTable(name, r, nil) }
