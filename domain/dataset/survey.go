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

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/internal/text"
)

// A Survey is a file as it is: cells that a reader of points refuses are NaN in it, and listed.
type Survey struct {
	Points
	Format string         // in words: "CSV", "NPY, float32"
	Shape  []int          // of a row
	Array  string         // of an archive: which
	Lines  []int          // line of each row; nil of arrays
	Text   []int          // columns that hold words, or no number, ascending
	Empty  []int          // those of Text without words
	Beyond []int          // those of Text whose whole numbers lie beyond ±2⁵³
	Kinds  map[int]string // what columns of a Parquet file hold that are not read
	// Foreign says in words how a table is written where training does not read it so; "" as it does.
	Foreign string
	Faults  []Fault // the first ones; see Judge
	// Faulty are the rows, ascending, with a cell that is no finite number, columns of words apart.
	Faulty []int
	Losses []Loss

	odd    map[[2]int]string // cells that are no finite numbers, as they are written: the first of each column
	ragged map[int]int       // rows of another number of cells
	total  int               // the last row if it has the sums of all others; 0: it has not
}

// A Reading is what the user says of a file. The zero value leaves it to the file.
type Reading struct {
	Array   string // which one of an archive; "": that of ReadPoints
	Decimal string // "point" or "comma": the mark before decimals of a table
	Header  string // "yes" or "no": the first line of a table names the columns
}

// A Loss is how many rows are faulty for one reason.
type Loss struct {
	Why   string
	Rows  int
	First []Fault // at most 5
	last  int     // row
}

// A Fault is a cell that is no finite number.
type Fault struct {
	Row    int
	Column int // −1: of the whole row
	Value  string
}

const (
	maxFaults = 100     // that are kept by their cells
	maxBefore = 100     // lines before a table
	found     = "found" // Reading.Header of a header of whole numbers that the table itself tells
)

// ReadSurvey reads the named file, of a format of ReadPoints, without refusing cells. Errors are those of ReadPoints.
func ReadSurvey(path string, how Reading) (*Survey, error) {
	s := &Survey{odd: map[[2]int]string{}, ragged: map[int]int{}}
	var decode func(f *os.File) (*Points, error)
	ext := strings.ToLower(filepath.Ext(path))
	if how.Array != "" && ext != ".npz" {
		return nil, &Error{File: path, Value: fmt.Sprintf("extension %q", ext), Want: ".npz: only " +
			"archives have arrays by name"}
	}
	switch ext {
	case ".npz", ".npy":
		decode = func(f *os.File) (*Points, error) { return s.array(f, how.Array, ext) }
	case ".csv", ".tsv", ".txt":
		decode = func(f *os.File) (*Points, error) { return s.table(f, how) }
	case ".parquet":
		decode = s.parquet
	default:
		return nil, &Error{File: path, Value: fmt.Sprintf("extension %q", ext),
			Want: ".npy, .npz, .csv, .tsv, .txt or .parquet"}
	}
	p, err := readFile(path, decode)
	if err != nil {
		return nil, err
	}
	s.Points = *p
	s.Judge(nil)
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

// Judge finds what is wrong with rows, but for columns of words and those that are left out.
func (s *Survey) Judge(dropped []int) {
	s.Faults, s.Faulty, s.Losses = nil, nil, nil
	skip := make([]bool, s.D)
	for _, j := range slices.Concat(s.Text, dropped) {
		skip[j] = true
	}
	for i := range s.N {
		if cells, is := s.ragged[i]; is {
			s.fault(Fault{i, -1, text.Plural(cells, "column")}, "another number of columns")
			continue
		}
		if s.total > 0 && i == s.total {
			s.fault(Fault{i, -1, "sums of the rows above"}, "a row of totals")
			continue
		}
		for j, v := range s.X[i*s.D : (i+1)*s.D] {
			if v-v == 0 || skip[j] {
				continue
			}
			value, is := s.odd[[2]int{i, j}]
			why := "a cell that is not a number"
			switch {
			case !is:
				value = strconv.FormatFloat(v, 'g', -1, 64)
				why = "a cell that is not finite"
			case absent(strings.Trim(value, `"`)):
				why = "no value in a cell"
			}
			s.fault(Fault{i, j, value}, why)
		}
	}
}

// Word returns a cell of a column of words as it is written, in quotes; "": there is none.
func (s *Survey) Word(column int) string {
	for i := range min(s.N, maxFaults) {
		if v := s.odd[[2]int{i, column}]; v != "" && !absent(unquoted(v)) {
			return v
		}
	}
	return ""
}

func (s *Survey) fault(f Fault, why string) {
	if len(s.Faults) < maxFaults {
		s.Faults = append(s.Faults, f)
	}
	if n := len(s.Faulty); n == 0 || s.Faulty[n-1] != f.Row {
		s.Faulty = append(s.Faulty, f.Row)
	}
	k := slices.IndexFunc(s.Losses, func(l Loss) bool { return l.Why == why })
	if k < 0 {
		k, s.Losses = len(s.Losses), append(s.Losses, Loss{Why: why, last: -1})
	}
	const most = 5
	if l := &s.Losses[k]; l.last != f.Row {
		if l.Rows, l.last = l.Rows+1, f.Row; l.Rows <= most {
			l.First = append(l.First, f)
		}
	}
}

// table reads a table whose cells may be anything. A row with another number of cells than most
// is a fault as a whole.
func (s *Survey) table(f *os.File, how Reading) (*Points, error) {
	s.Format = "CSV"
	file := f.Name()
	d, err := dialectOf(file, f, how.Decimal)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	also := func(format string, v ...any) {
		s.Foreign = strings.TrimPrefix(s.Foreign+"; "+fmt.Sprintf(format, v...), "; ")
	}
	if t := d.String(); t != "" {
		also("%s", t)
	}
	p := &Points{D: d.width}
	words, odd := make([]int, p.D), make([]int, p.D) // cells that are words, and no finite numbers, by column
	var unsure *doubtful
	var short []string
	before, first := []string{}, 0 // lines before those of the table
	blank, units := false, false   // a line of separators alone, one of units
	err = eachRecord(file, f, func(number int, line string) error {
		row := d.cells(line)
		if len(row) > 1 && strings.Join(row, "") == "" {
			blank = true
			return nil
		}
		for len(row) > p.D && strings.TrimSpace(row[len(row)-1]) == "" {
			row = row[:len(row)-1]
		}
		if first == 0 {
			names := d.header(line)
			if len(row) != p.D {
				if short = nil; names && len(row) == p.D-1 {
					short = row
				}
				if before = append(before, line); len(before) > maxBefore {
					return &Error{File: file, Line: number, Value: text.Plural(len(row), "column"),
						Want: fmt.Sprintf("%d, as in most lines", p.D)}
				}
				return nil
			}
			first = number
			if short != nil && !names { // names of columns, but for one
				before = before[:len(before)-1]
				p.Header = namesOf(short)
			}
			if unsure = doubt(row); unsure != nil && (how.Header == "yes" || how.Header == "no") {
				also("whether its first line is a header only you know")
			}
			if how.Header == "yes" || how.Header == found || how.Header == "" && names {
				p.Header = namesOf(row)
				if names && strings.ToUpper(line) == strings.ToLower(line) {
					p.Remarks = append(p.Remarks, fmt.Sprintf("line %d has no letter: taken for a header", number))
				}
				unsure = nil
				return nil
			}
			if how.Header != "" || len(before) > 0 || p.Header != nil {
				unsure = nil
			}
		} else if unsure != nil {
			unsure.see(row)
		} else if p.N == 0 && !units && len(p.Header) == p.D && under(row) && d.header(line) {
			if poorer(p.Header, row) { // that was a title
				before, p.Header, first = append(before, line), namesOf(row), number
				return nil
			}
			units = true
			also("its line %d has units, or words below the names of columns", number)
			p.Remarks = append(p.Remarks, fmt.Sprintf("line %d (%s) is taken for units", number, show(line)))
			return nil
		}
		if len(p.X)+p.D > maxNumbers {
			return tooMany(file)
		}
		s.Lines = append(s.Lines, number)
		i := p.N
		p.N++
		if len(row) != p.D {
			s.ragged[i] = len(row)
			p.X = append(p.X, slices.Repeat([]float64{math.NaN()}, p.D)...)
			return nil
		}
		for j, cell := range row {
			cell = strings.TrimSpace(cell)
			v, err := d.number(cell)
			if errors.Is(err, strconv.ErrSyntax) {
				v = math.NaN()
				if !absent(cell) {
					words[j]++
				}
			}
			if p.X = append(p.X, v); v-v != 0 {
				if odd[j]++; odd[j] <= maxFaults {
					s.odd[[2]int{i, j}] = show(cell)
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
	if unsure != nil && s.ragged[0] == 0 {
		switch is, certain := unsure.header(p.X[p.D:], p.D); {
		case !certain:
			return nil, unsure.asked(file, first)
		case is:
			*s = Survey{odd: map[[2]int]string{}, ragged: map[int]int{}}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
			p, err := s.table(f, Reading{Decimal: how.Decimal, Header: found})
			if err == nil {
				p.Remarks = append(p.Remarks, fmt.Sprintf("line %d (%s) is taken for the names of columns; if it is a "+
					"row: --header no", first, show(unsure.line)))
			}
			return p, err
		}
	}
	if len(p.Header) == p.D-1 && p.Header != nil { // rows end in a separator, or begin with names of their own
		switch {
		case odd[p.D-1] == p.N-len(s.ragged) && words[p.D-1] == 0:
			p.Header = append(p.Header, "")
		case 2*words[0] > p.N || ascends(p.X, p.D):
			p.Header = append([]string{""}, p.Header...)
		default:
			return nil, &Error{File: file, Line: first, Value: text.Plural(p.D-1, "column"),
				Want: fmt.Sprintf("%d, as in most lines", p.D)}
		}
	}
	if blank {
		also("some of its lines have no value")
	}
	if len(before) > 0 {
		if p.Header == nil {
			return nil, &Error{File: file, Value: fmt.Sprintf("%s before line %d", text.Counted(len(before),
				"line that is no row", "lines that are no rows"), first), Want: "names of columns below them"}
		}
		also("its table begins in line %d", first)
	}
	for j, n := range words {
		if n == 0 && odd[j] > 0 && odd[j] == p.N-len(s.ragged) {
			s.Text, s.Empty = append(s.Text, j), append(s.Empty, j)
		} else if 2*n > p.N {
			s.Text = append(s.Text, j)
		}
	}
	if len(s.Text) == p.D {
		return nil, &Error{File: file, Value: "there are no numbers: a cell is " + s.odd[[2]int{0, 0}],
			Want: wantRows(nil)}
	}
	s.Shape = []int{p.D}
	if s.totals(p) {
		s.total = p.N - 1
	}
	return p, nil
}

// totals reports whether the last row has the sums of the others in all columns of numbers, two at least, and in one of
// them is beyond all others.
func (s *Survey) totals(p *Points) bool {
	const fewest, roughly = 10, 1e-6
	columns, beyond := 0, false
	for j := range p.D {
		if slices.Contains(s.Text, j) {
			continue
		}
		sum, size, most := 0.0, 0.0, 0.0
		for i := range p.N - 1 {
			if v := p.X[i*p.D+j]; v-v == 0 {
				sum, size, most = sum+v, size+math.Abs(v), max(most, math.Abs(v))
			}
		}
		last := p.X[(p.N-1)*p.D+j]
		if !(math.Abs(last-sum) <= roughly*size) || size == 0 {
			return false
		}
		columns, beyond = columns+1, beyond || math.Abs(last) > most
	}
	return p.N > fewest && columns > 1 && beyond
}

// namesOf returns the names of columns that the cells of a header are.
func namesOf(cells []string) (names []string) {
	for _, cell := range cells {
		names = append(names, unquoted(strings.Join(strings.Fields(cell), " ")))
	}
	return names
}

// under reports whether all cells but the first have words, as those of a line of units.
func under(cells []string) bool {
	return len(cells) > 1 && !slices.ContainsFunc(cells[1:], func(c string) bool { return absent(unquoted(c)) })
}

// poorer reports whether names are missing or repeat that cells do not.
func poorer(names, cells []string) bool {
	distinct := func(all []string) int {
		seen := map[string]bool{}
		for _, v := range all {
			seen[v] = v != ""
		}
		delete(seen, "")
		return len(seen)
	}
	return distinct(names) < distinct(namesOf(cells))
}

// unquoted returns a cell without the quotes around it.
func unquoted(cell string) string {
	if n := len(cell); n > 1 && cell[0] == cell[n-1] && strings.ContainsAny(cell[:1], "\"'") {
		return cell[1 : n-1]
	}
	return cell
}

// ascends reports whether the first column has whole numbers that go up from row to row.
func ascends(x []float64, d int) bool {
	for i := 0; i < len(x); i += d {
		if x[i] != math.Trunc(x[i]) || i > 0 && x[i] <= x[i-d] {
			return false
		}
	}
	return true
}
