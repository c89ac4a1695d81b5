package domain

import (
	"fmt"
	"io"
	"math"
	"slices"

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
	out.Table = g.table(of.Table)
	under := g.columns()
	if of.Table != nil && of.Writers[".parquet"] != nil { // names of the points' own
		under = out.Table.Header
	}
	out.Writers[".parquet"] = func(w io.Writer, rows arrayfile.Rows) error { return tableParquet(w, under, rows) }
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

// table returns the table of the points' kind with the condition behind each line.
func (g *given) table(own *Table) *Table {
	if own == nil {
		own = &Table{Header: coordinates(g.d)}
	}
	width := len(own.Header)
	out := *own
	out.Header, out.behind = slices.Concat(own.Header, g.names), len(g.names)
	out.Lines = func(x []float64, first int) (all []float64) {
		for ; len(x) > 0; x, first = x[g.all:], first+1 {
			lines := x[:g.d]
			if own.Lines != nil {
				lines = own.Lines(lines, first)
			}
			for ; len(lines) > 0; lines = lines[width:] {
				all = append(append(all, lines[:width]...), x[g.d:g.all]...)
			}
		}
		return all
	}
	return &out
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
