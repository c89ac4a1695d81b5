package domain

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
)

// Given returns the domain of points with a condition behind their d coordinates, from that
// of the points alone, which is not changed: they are compared, drawn and laid as they were.
// NPY files hold the condition too, and so do CSV files, in columns of these names; other
// files do not. scale brings each number of the condition to the size of the points, for
// distances between points with it.
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
	out.Writers = map[string]Writer{}
	for ext, write := range of.Writers {
		out.Writers[ext] = func(w io.Writer, x []float64, _ int) error { return write(w, g.points(x), d) }
	}
	table := of.Writer(".csv")
	out.Writers[".csv"] = func(w io.Writer, x []float64, _ int) error { return g.table(w, x, table) }
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

// points returns the points without their conditions.
func (g *given) points(x []float64) []float64 {
	out := make([]float64, 0, len(x)/g.all*g.d)
	for ; len(x) > 0; x = x[g.all:] {
		out = append(out, x[:g.d]...)
	}
	return out
}

// lay lays the points as their kind does, and the condition behind them on one scale with
// them.
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

// table writes the lines of the points' own writer, one or more a point, with the condition
// behind each.
func (g *given) table(w io.Writer, x []float64, own Writer) error {
	var b bytes.Buffer
	if err := own(&b, g.points(x), g.d); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	n := len(x) / g.all
	each := (len(lines) - 1) / max(n, 1) // lines of a point
	if len(lines) != each*n+1 {
		return fmt.Errorf("domain: %d lines for %d points under a header", len(lines), n)
	}
	b.Reset()
	b.WriteString(lines[0] + "," + strings.Join(g.names, ",") + "\n")
	for i, line := range lines[1:] {
		b.WriteString(line)
		for _, v := range x[i/each*g.all+g.d : (i/each+1)*g.all] {
			fmt.Fprintf(&b, ",%.17g", v)
		}
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
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
