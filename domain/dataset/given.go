package dataset

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/internal/text"
)

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
