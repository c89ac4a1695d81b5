package domain

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/internal/parquetfile"
)

// A Table says how points are written as lines of comma-separated values under a header.
type Table struct {
	Header []string
	Format string // of a number; "": %.17g, which keeps it

	// Lines returns the lines of points, one or more each, whose first is number first of the file; nil: the points.
	Lines func(x []float64, first int) []float64

	behind int // how many columns, the last ones, are of a condition and written in %.17g
}

// Write writes a table of points.
func (t *Table) Write(w io.Writer, points arrayfile.Rows) error {
	b := bufio.NewWriter(w) // keeps the first error
	b.WriteString(strings.Join(t.Header, ","))
	first := 0
	for block := range points.Blocks {
		for x := range slices.Chunk(block, 1024*points.D) { // so that few lines are held at a time
			t.lines(b, x, first)
			first += len(x) / points.D
		}
	}
	b.WriteByte('\n')
	return b.Flush()
}

// lines writes the lines of points, each behind the end of the line before.
func (t *Table) lines(b *bufio.Writer, x []float64, first int) {
	if t.Lines != nil {
		x = t.Lines(x, first)
	}
	const exact = "%.17g"
	for i, v := range x {
		j, format := i%len(t.Header), cmp.Or(t.Format, exact)
		if j == 0 {
			b.WriteByte('\n')
		} else {
			b.WriteByte(',')
		}
		if j >= len(t.Header)-t.behind {
			format = exact
		}
		fmt.Fprintf(b, format, v)
	}
}

// coordinates are the names of columns that have none of their own.
func coordinates(d int) []string {
	names := make([]string, d)
	for j := range names {
		names[j] = fmt.Sprintf("x%d", j)
	}
	return names
}

func writeCSV(w io.Writer, points arrayfile.Rows) error {
	return (&Table{Header: coordinates(points.D)}).Write(w, points)
}

func writeParquet(w io.Writer, points arrayfile.Rows) error {
	return tableParquet(w, coordinates(points.D), points)
}

// Named has points written to tables under names of their columns.
func (d *Domain) Named(names []string) {
	d.Table = &Table{Header: names}
	d.Writers = map[string]Writer{".parquet": func(w io.Writer, points arrayfile.Rows) error {
		return tableParquet(w, names, points)
	}}
}

// Usable returns the names if they can be those of d columns of a table beside others: each begins with a letter and
// differs from all; else nil.
func Usable(names []string, d int, others []string) []string {
	const longest = 100
	for i, name := range names {
		if name == "" || len(name) > longest || !unicode.IsLetter([]rune(name)[0]) ||
			strings.ContainsAny(name, ",;\"'\t\n\r") || slices.Contains(names[:i], name) ||
			slices.Contains(others, name) {
			return nil
		}
		if _, err := strconv.ParseFloat(name, 64); err == nil {
			return nil
		}
	}
	if len(names) != d {
		return nil
	}
	return names
}

// tableParquet writes rows as a Parquet file of float64 columns of these names.
func tableParquet(w io.Writer, names []string, rows arrayfile.Rows) error {
	p := parquetfile.NewWriter(w, names)
	for x := range rows.Blocks {
		if err := p.Write(x); err != nil {
			return err
		}
	}
	return p.Close()
}
