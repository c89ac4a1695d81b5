package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/parquetfile"
)

// openParquet opens a Parquet file and returns the digest of its bytes.
func openParquet(file *os.File) (f *parquetfile.File, digest string, err error) {
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", file.Name(), err)
	}
	if f, err = parquetfile.Open(file, size); err != nil {
		return nil, "", parquetFault(file.Name(), err)
	}
	if f.Rows == 0 {
		return nil, "", noData(file.Name(), "rows of numbers")
	}
	return f, hex.EncodeToString(sum.Sum(nil)), nil
}

// parquetFault names the file in an error of package parquetfile.
func parquetFault(name string, err error) error {
	if e := new(parquetfile.NumberError); errors.As(err, &e) {
		return &Error{File: name, Column: fmt.Sprintf("row %d (from 0), column %q", e.Row, e.Column), Value: e.Value,
			Want: wantExact}
	}
	if e := new(parquetfile.Error); errors.As(err, &e) {
		if e.Column != "" {
			return &Error{File: name, Column: fmt.Sprintf("column %q", e.Column), Value: "not read: " + e.Fault,
				Want: "a column of numbers"}
		}
		return &Error{File: name, Value: e.Fault, Want: "a Parquet file of numbers"}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// columnsOf returns the places of all columns, or of the requested ones, each by its name: in full if exact, else in
// full or by how it begins. The columns of the result hold any numbers unless they are requested.
func columnsOf(name string, f *parquetfile.File, asked []column) (at []int, of []column, err error) {
	if asked == nil {
		for i, c := range f.Columns {
			if !c.Numbers {
				return nil, nil, &Error{File: name, Column: fmt.Sprintf("column %q", c.Name), Value: c.Type,
					Want: "numbers: float32, float64 or whole ones, and a column for each number of a list"}
			}
			at, of = append(at, i), append(of, anyNumber)
		}
		return at, of, nil
	}
	for _, a := range asked {
		var found []int
		for _, is := range []func(column string) bool{ // a whole name says more than a beginning
			func(column string) bool { return column == a.name || !a.exact && strings.EqualFold(column, a.name) },
			func(column string) bool { return !a.exact && Place(column) == a.name },
		} {
			for i, c := range f.Columns {
				if len(found) < 2 && is(c.Name) {
					found = append(found, i)
				}
			}
			if len(found) > 0 {
				break
			}
		}
		switch len(found) {
		case 0:
			return nil, nil, &Error{File: name, Value: "there is no such column", Want: a.name}
		case 2:
			return nil, nil, &Error{File: name, Value: fmt.Sprintf("columns %q and %q", f.Columns[found[0]].Name,
				f.Columns[found[1]].Name), Want: "one " + a.name}
		}
		at, of = append(at, found[0]), append(of, a)
	}
	return at, of, nil
}

// decodeParquet reads the columns of a Parquet file: all of them, or the requested ones.
func decodeParquet(file *os.File, asked []column) (*Points, error) {
	name := file.Name()
	f, digest, err := openParquet(file)
	if err != nil {
		return nil, err
	}
	at, of, err := columnsOf(name, f, asked)
	if err != nil {
		return nil, err
	}
	x, err := f.Read(at, maxNumbers)
	if err != nil {
		return nil, parquetFault(name, err)
	}
	p := &Points{Name: name, N: f.Rows, D: len(at), X: x, SHA256: digest}
	for _, i := range at {
		p.Header = append(p.Header, f.Columns[i].Name)
	}
	p.Names = p.Header
	for i, v := range x {
		if c := of[i%p.D]; !(v >= c.min && v <= c.max) {
			return nil, &Error{File: name, Column: fmt.Sprintf("row %d (from 0), column %q", i/p.D, p.Header[i%p.D]),
				Value: shownNumber(v), Want: c.want}
		}
	}
	return p, nil
}

// parquet reads a Parquet file of any columns: those that hold no numbers are NaN.
func (s *Survey) parquet(file *os.File) (*Points, error) {
	name := file.Name()
	f, digest, err := openParquet(file)
	if err != nil {
		return nil, err
	}
	p := &Points{Name: name, N: f.Rows, D: len(f.Columns), SHA256: digest}
	if float64(p.N)*float64(p.D) > float64(maxNumbers) {
		return nil, tooMany(name)
	}
	var at []int
	kinds := map[string]bool{}
	for i, c := range f.Columns {
		p.Header = append(p.Header, c.Name)
		if c.Numbers {
			at = append(at, i)
			kinds[c.Type] = true
		} else {
			s.Text = append(s.Text, i)
			if s.Kinds == nil {
				s.Kinds = map[int]string{}
			}
			s.Kinds[i] = strings.TrimPrefix(c.Type, "is ")
		}
	}
	if len(at) == 0 {
		c := f.Columns[0]
		return nil, &Error{File: name, Column: fmt.Sprintf("column %q", c.Name), Value: c.Type,
			Want: "columns of numbers: float32, float64 or whole ones, and a column for each number of a list"}
	}
	s.Format = "Parquet"
	if len(kinds) == 1 {
		s.Format += ", " + f.Columns[at[0]].Type
	}
	beyond := make([]int, len(at)) // whole numbers that are rounded: names of something rather than numbers
	x, err := f.ReadAll(at, maxNumbers, func(e *parquetfile.NumberError, k int) error {
		if beyond[k]++; beyond[k] <= maxFaults {
			s.odd[[2]int{e.Row, at[k]}] = e.Value
		}
		return nil
	})
	if err != nil {
		return nil, parquetFault(name, err)
	}
	odd := make([]int, len(at))
	for i, v := range x {
		if v-v != 0 {
			odd[i%len(at)]++
		}
	}
	for k, j := range at {
		switch {
		case odd[k] == p.N && beyond[k] == 0: // as of a table without a cell in a column
			s.Text, s.Empty = append(s.Text, j), append(s.Empty, j)
		case 2*beyond[k] > p.N:
			s.Text, s.Beyond = append(s.Text, j), append(s.Beyond, j)
		}
	}
	if len(s.Text) == p.D {
		return nil, &Error{File: name, Value: "there are no numbers", Want: "a column of numbers"}
	}
	slices.Sort(s.Text)
	p.X = x
	if len(at) < p.D {
		p.X = make([]float64, p.N*p.D)
		for i := range p.N {
			for j := range p.D {
				p.X[i*p.D+j] = math.NaN()
			}
			for k, j := range at {
				p.X[i*p.D+j] = x[i*len(at)+k]
			}
		}
	}
	s.Shape = []int{p.D}
	return p, nil
}

// wantExact is what is wanted of whole numbers, which points hold as float64.
const wantExact = "a whole number of at most 2^53, beyond which float64 rounds"

// shownNumber is a number of a Parquet file in words.
func shownNumber(v float64) string {
	if math.IsNaN(v) {
		return "NaN or missing"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
