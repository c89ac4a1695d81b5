package domain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
)

// Given returns the domain of points with a condition behind their d coordinates, from that of the points alone, which
// is not changed: they are compared, drawn and laid as they were. NPY files hold the condition too, and so do CSV
// files, in columns of these names; other files do not. scale brings each number of the condition to the size of the
// points, for distances between points with it.
func Given(of *Domain, d int, names []string, scale []float64) *Domain {
	g := &given{d, d + len(names), names, scale}
	out := *of
	if own := of.Distance; own != nil {
		distance := *own
		distance.Marks = func(x []float64) []float64 { return own.Marks(g.points(x)) }
		out.Distance = &distance
	}
	if own := of.Observables; own != nil {
		observables := *own
		observables.Values = func(dst, x []float64, n int) { own.Values(dst, g.points(x[:n*g.all]), n) }
		out.Observables = &observables
	}
	out.Lay = func(x []float64) []float64 { return g.lay(x, of.Lay) }
	if of.Find != nil {
		out.Find = func(x []float64) []Finding { return of.Find(g.points(x)) }
	}
	if of.Draw != nil {
		out.Draw = func(c Canvas, v View) {
			v.Dim, v.Data, v.Samples = d, g.points(v.Data), g.points(v.Samples)
			of.Draw(c, v)
		}
	}
	if of.Scene != nil {
		out.Scene = func(c Canvas, v View) {
			v.Dim, v.Data, v.Samples = d, g.points(v.Data), g.points(v.Samples)
			of.Scene(c, v)
		}
	}
	out.Writers = map[string]Writer{}
	for ext, write := range of.Writers {
		out.Writers[ext] = func(w io.Writer, rows arrayfile.Rows) error { return write(w, rows.Map(d, g.points)) }
	}
	table := of.Writer(".csv")
	out.Writers[".csv"] = func(w io.Writer, rows arrayfile.Rows) error { return g.table(w, rows, table) }
	out.Writers[".parquet"] = func(w io.Writer, rows arrayfile.Rows) error { return tableParquet(w, g.columns(), rows) }
	if own := of.Writers[".npy"]; own != nil { // of another shape, which has no room
		out.Writers[".npy"] = writeNPY
	}
	return &out
}

type given struct {
	d, all int // coordinates of a point, and with its condition
	names  []string
	scale  []float64
}

// columns are the names of a row's numbers. A condition that is called as a coordinate is has its place behind
// its name.
func (g *given) columns() []string {
	names := coordinates(g.d)
	for k, name := range g.names {
		for slices.Contains(names, name) || slices.Contains(g.names[k+1:], name) {
			name = fmt.Sprintf("%s (%d)", name, g.d+k)
		}
		names = append(names, name)
	}
	return names
}

// points returns the points without their conditions.
func (g *given) points(x []float64) []float64 {
	out := make([]float64, 0, len(x)/g.all*g.d)
	for ; len(x) > 0; x = x[g.all:] {
		out = append(out, x[:g.d]...)
	}
	return out
}

// lay lays the points as their kind does, and the condition behind them on one scale with them.
func (g *given) lay(x []float64, own func(x []float64) []float64) []float64 {
	laid := g.points(x)
	if own != nil {
		laid = own(laid)
	}
	width := len(laid) / max(len(x)/g.all, 1)
	out := make([]float64, 0, len(x))
	for i := range len(x) / g.all {
		out = append(out, laid[i*width:(i+1)*width]...)
		for k, s := range g.scale {
			out = append(out, s*x[i*g.all+g.d+k])
		}
	}
	return out
}

// table writes the lines of the points' own writer, one or more a point, with the condition behind each.
func (g *given) table(w io.Writer, rows arrayfile.Rows, own Writer) error {
	b := bufio.NewWriter(w) // keeps the first error
	lines := &behind{to: b, header: strings.Join(g.names, ",")}
	var fault error
	points := rows.Map(g.d, func(x []float64) []float64 {
		for at := x; len(at) > 0; at = at[g.all:] { // before the writer may have lines of these points
			lines.given = append(lines.given, condition(at[g.d:g.all]))
		}
		if lines.each == 0 && len(x) > 0 {
			var one bytes.Buffer
			fault = own(&one, arrayfile.RowsOf(g.points(x[:g.all]), g.d))
			lines.each = bytes.Count(one.Bytes(), []byte("\n")) - 1
		}
		return g.points(x)
	})
	err := own(lines, points)
	if fault != nil {
		return fault
	}
	if err == nil && (lines.line > 0 || len(lines.given) > 0) {
		err = fmt.Errorf("domain: one point has %d lines, but %d points have not as many each", lines.each, rows.N)
	}
	return errors.Join(err, b.Flush())
}

// condition writes numbers as the ends of a line.
func condition(v []float64) string {
	var b strings.Builder
	for _, v := range v {
		fmt.Fprintf(&b, ",%.17g", v)
	}
	return b.String()
}

// behind is a writer that puts the condition of a point behind each of its lines.
type behind struct {
	to     *bufio.Writer
	header string   // of the conditions
	given  []string // of the points whose lines have not all come
	each   int      // lines of a point
	line   int      // of those of the first of them that have come
	begun  bool     // the header has come
}

func (l *behind) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		l.to.Write(line)
		if !whole {
			return n, nil
		}
		p = rest
		switch {
		case !l.begun:
			l.begun = true
			l.to.WriteString("," + l.header)
		case len(l.given) == 0 || l.each < 1:
			return 0, errors.New("domain: a line of no point")
		default:
			l.to.WriteString(l.given[0])
			if l.line++; l.line == l.each {
				l.given, l.line = l.given[1:], 0
			}
		}
		l.to.WriteByte('\n')
	}
}

// GivenScale returns the scale of Given from rows of points with n numbers of a condition
// behind their d coordinates: together the condition varies as much as the points do.
func GivenScale(rows []float64, d, n int) []float64 {
	all := d + n
	count := len(rows) / all
	variance := make([]float64, all)
	for j := range all {
		mean := 0.0
		for i := range count {
			mean += rows[i*all+j] / float64(count)
		}
		for i := range count {
			variance[j] += (rows[i*all+j] - mean) * (rows[i*all+j] - mean) / float64(count)
		}
	}
	total := 0.0
	for _, v := range variance[:d] {
		total += v
	}
	scale := make([]float64, n)
	for k, v := range variance[d:] {
		if v > 0 {
			scale[k] = math.Sqrt(total / float64(n) / v)
		}
	}
	return scale
}
