package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/internal/text"
)

// A Survey is a file as it is: cells that a reader of points refuses are NaN in it, and told of.
type Survey struct {
	Points
	Format string // in words: "CSV", "NPY, float32"
	Shape  []int  // of a row
	Array  string // of an archive: which
	Lines  []int  // line of each row; nil of arrays
	Text   []int  // columns that hold words, or no number, ascending
	Empty  []int  // those of Text without words
	Beyond []int  // those of Text whose whole numbers lie beyond ±2⁵³
	// Foreign says in words how a table is written where training does not read it so; "" as it does.
	Foreign string
	Faults  []Fault
	// Faulty are the rows, ascending, with a cell that is no finite number, columns of words apart.
	Faulty []int
}

// A Fault is a cell that is no finite number.
type Fault struct {
	Row    int
	Column int // −1: of the whole row
	Value  string
}

const maxFaults = 100 // that are kept by their cells

// ReadSurvey reads the named file, of a format of ReadPoints, without refusing cells. array is
// which one of an archive; "" is that of ReadPoints. Errors are those of ReadPoints.
func ReadSurvey(path, array string) (*Survey, error) {
	s := &Survey{}
	var decode func(f *os.File) (*Points, error)
	ext := strings.ToLower(filepath.Ext(path))
	if array != "" && ext != ".npz" {
		return nil, &Error{File: path, Value: fmt.Sprintf("extension %q", ext), Want: ".npz, of which an array is " +
			"asked for"}
	}
	switch ext {
	case ".npz", ".npy":
		decode = func(f *os.File) (*Points, error) { return s.array(f, array, ext) }
	case ".csv", ".txt":
		decode = s.table
	case ".parquet":
		decode = s.parquet
	default:
		return nil, &Error{File: path, Value: fmt.Sprintf("extension %q", ext),
			Want: ".npy, .npz, .csv, .txt or .parquet"}
	}
	p, err := readFile(path, decode)
	if err != nil {
		return nil, err
	}
	s.Points = *p
	return s, nil
}

func (s *Survey) array(f *os.File, array, ext string) (*Points, error) {
	a, called, _, err := arrayfile.Pick(f, maxNumbers, array, pointArrays...)
	if err != nil {
		return nil, err
	}
	s.Array = called
	x, n, d, err := rowsOf(f.Name(), a)
	if err != nil {
		return nil, err
	}
	s.Shape, s.Format = a.Shape[1:], strings.ToUpper(ext[1:])+", "+element(a)
	for i, v := range x {
		if v-v != 0 {
			s.fault(i/d, i%d, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return &Points{N: n, D: d, X: x}, nil
}

func element(a arrayfile.Array) string {
	switch {
	case a.Float32 != nil:
		return "float32"
	case a.Float64 != nil:
		return "float64"
	}
	return "whole numbers"
}

func (s *Survey) fault(row, column int, value string) {
	if len(s.Faults) < maxFaults {
		s.Faults = append(s.Faults, Fault{row, column, value})
	}
	if n := len(s.Faulty); n == 0 || s.Faulty[n-1] != row {
		s.Faulty = append(s.Faulty, row)
	}
}

// table reads a table whose cells may be anything. A row with another number of cells than the
// first is a fault as a whole.
func (s *Survey) table(f *os.File) (*Points, error) {
	s.Format = "CSV"
	file, buffered := f.Name(), bufio.NewReaderSize(f, 1<<16)
	d, utf16 := dialectOf(buffered)
	if utf16 {
		return nil, &Error{File: file, Value: "it begins as text in UTF-16 does", Want: "UTF-8"}
	}
	s.Foreign = d.String()
	p := &Points{}
	words, odd := []int{}, []int{} // cells that are words, and no finite numbers, by column
	ragged := map[int]int{}        // rows of another number of cells
	values := map[[2]int]string{}  // the first odd cells of each column
	err := eachLine(file, buffered, wantRows(nil), func(number int, line string) error {
		row := d.cells(line)
		if p.D == 0 {
			p.D, words, odd = len(row), make([]int, len(row)), make([]int, len(row))
			if d.header(line) {
				around := " \t\"'"
				if d.quoted { // they are gone
					around = " \t"
				}
				for _, cell := range row {
					p.Header = append(p.Header, strings.Trim(cell, around))
				}
				return nil
			}
		}
		if len(p.X)+p.D > maxNumbers {
			return tooMany(file)
		}
		s.Lines = append(s.Lines, number)
		i := p.N
		p.N++
		if len(row) != p.D {
			ragged[i] = len(row)
			p.X = append(p.X, slices.Repeat([]float64{math.NaN()}, p.D)...)
			return nil
		}
		for j, cell := range row {
			cell = strings.TrimSpace(cell)
			v, err := d.number(cell)
			if errors.Is(err, strconv.ErrSyntax) {
				v = math.NaN()
				if cell != "" {
					words[j]++
				}
			}
			if p.X = append(p.X, v); v-v != 0 {
				if odd[j]++; odd[j] <= maxFaults {
					values[[2]int{i, j}] = show(cell)
				}
			}
		}
		return nil
	})
	if err == nil && p.N == 0 {
		err = noData(file, wantRows(nil))
	}
	if err != nil {
		return nil, err
	}
	for j, n := range words {
		if n == 0 && odd[j] > 0 && odd[j] == p.N-len(ragged) {
			s.Text, s.Empty = append(s.Text, j), append(s.Empty, j)
		} else if 2*n > p.N {
			s.Text = append(s.Text, j)
		}
	}
	if len(s.Text) == p.D {
		return nil, &Error{File: file, Value: "there are no numbers", Want: wantRows(nil)}
	}
	for i := range p.N {
		if cells, is := ragged[i]; is {
			s.fault(i, -1, text.Plural(cells, "column"))
			continue
		}
		for j, v := range p.X[i*p.D : (i+1)*p.D] {
			if v-v != 0 && !slices.Contains(s.Text, j) {
				s.fault(i, j, values[[2]int{i, j}])
			}
		}
	}
	s.Shape = []int{p.D}
	return p, nil
}
