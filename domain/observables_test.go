package domain

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/internal/parquetfile"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// plane observes points of the plane by their first coordinate and their angle.
func plane() *Observables {
	return &Observables{
		List: []Observable{
			{Name: "across", File: "across", Bins: metric.Bins{N: 20}},
			{Name: "angle", Unit: "rad", File: "angle", Bins: metric.Bins{Lo: -math.Pi, Hi: math.Pi, N: 30,
				Circular: true}},
		},
		Values: func(dst, x []float64, n int) {
			for i := range n {
				dst[2*i], dst[2*i+1] = x[2*i], math.Atan2(x[2*i+1], x[2*i])
			}
		},
	}
}

func cloud(n int, stream uint64) []float64 {
	x := make([]float64, 2*n)
	for i := range n {
		keyed.New(7, keyed.Probe, stream).Normals(x[2*i:2*i+2], uint64(i), 0)
	}
	return x
}

// The distance is the mean of those of the observables, each between histograms of its
// bins; the range that is not given is the data's and a tenth on both sides.
func TestObservablesDistance(t *testing.T) {
	pool := testkit.Pool(t, 3)
	data := cloud(3000, 1) // more than a block
	o := testkit.Must(plane().Over(data, 2, pool))
	lo, hi := slices.Min(metric.Column(data, 0, 2)), slices.Max(metric.Column(data, 0, 2))
	b := o.List[0].Bins
	if math.Abs(b.Lo-(lo-0.1*(hi-lo))) > 1e-12 || math.Abs(b.Hi-(hi+0.1*(hi-lo))) > 1e-12 || o.List[1].Hi != math.Pi {
		t.Errorf("ranges %+v of data in [%v, %v]", o.List, lo, hi)
	}
	d := o.Distance(2, pool)
	r := d.Against(data, data[:4000], data[4000:])
	x := cloud(500, 2)
	marks := r.Marks(x)
	got := d.Compare(marks, r.Full)
	for k, v := range o.List {
		v.Empty = 1e-6 / (v.Hi - v.Lo)
		if want := v.JSD(metric.Column(marks, k, 2), metric.Column(r.Full, k, 2)); got[1+k] != want || want < 0.01 {
			t.Errorf("%s: %v, want %v", v.Name, got[1+k], want)
		}
	}
	if math.Abs(got[0]-(got[1]+got[2])/2) > 1e-15 || !slices.Equal(d.Parts, []string{"across", "angle"}) {
		t.Errorf("distances %v of %v: the first is not the mean", got, d.Parts)
	}
	if same := d.Compare(r.Full, r.Full); same[0] != 0 {
		t.Errorf("the data is %v from itself", same)
	}
	// Floors fall with the number of samples; scores do not depend on the workers.
	few, _ := r.Score(r.Marks(x[:100]), 1)
	many, parts := r.Score(r.Marks(x), 1)
	if !(many.Mean < few.Mean) || !(many.Law < few.Law) || len(parts) != 2 || many.HeldOut.IsNaN() {
		t.Errorf("floors %v of 50 points, %v of 500", few, many)
	}
	// Scores are by hand: the floor is that of as many draws from the training rows.
	y := r.Marks(x[:100])
	floor := func(data []float64, part int) metric.Floor {
		return metric.NoiseFloor(r.Train, 2, 50, 20, 1, func(draws []float64) float64 {
			return d.Compare(draws, data)[part]
		})
	}
	whole, parts := r.Score(y, 1)
	law := metric.NewDraws(r.Full, 2, 50, 1, d.Compare)
	for k, s := range append([]metric.Score{whole}, parts...) {
		if float64(s.Full) != d.Compare(y, r.Full)[k] || float64(s.HeldOut) != d.Compare(y, r.HeldOut)[k] ||
			s.Floor != floor(r.Full, k) || s.HeldOutFloor != floor(r.HeldOut, k).Mean || s.Law != law[k] {
			t.Errorf("score %d: %+v", k, s)
		}
	}
	alone := d.Against(data, data, nil)
	if s, _ := alone.Score(y, 1); !s.HeldOut.IsNaN() || !s.HeldOutFloor.IsNaN() || s.Full != whole.Full {
		t.Errorf("without held-out rows: %+v", s)
	}
	// New draws share no row with the data: of as many they have √2 times the distance of copies, about.
	if all, _ := alone.Score(alone.Full, 1); !(all.Law > 1.2*all.Mean) || !(all.Law < 1.7*all.Mean) {
		t.Errorf("new draws %v, copies %v", all.Law, all.Mean)
	}
	testkit.Equal(t, r.To(x[:100]), whole.Full, "the distance of points")
	one := parallel.New(1)
	defer one.Close()
	testkit.EqualSlices(t, o.Distance(2, one).Marks(data), r.Full, "values depend on the workers")
}

// A number that the data holds still has a range; one that has no value is an error.
func TestObservablesOver(t *testing.T) {
	pool := testkit.Pool(t, 1)
	o := &Observables{List: []Observable{{Name: "held", Bins: metric.Bins{N: 4}}},
		Values: func(dst, x []float64, n int) {
			for i := range n {
				dst[i] = 20
			}
		}}
	over, err := o.Over([]float64{1, 2}, 1, pool)
	if err != nil || over.List[0].Lo != 18 || over.List[0].Hi != 22 || o.List[0].Hi != 0 {
		t.Errorf("%+v, %v; before %+v", over, err, o.List)
	}
	o.Values = func(dst, _ []float64, n int) {
		for i := range n {
			dst[i] = math.NaN()
		}
	}
	testkit.Refused(t, testkit.Err(o.Over([]float64{1, 2}, 1, pool)), `"held" is finite at no row`)
}

type canvas struct {
	names []string
	refs  []figure.FigureRef
	svg   []string
}

func (c *canvas) Scene(figure.Scene) {}
func (c *canvas) Add(name string, ref figure.FigureRef, pic figure.Picture) {
	var b bytes.Buffer
	if err := pic.WriteSVG(&b); err != nil {
		panic(err)
	}
	c.names, c.refs, c.svg = append(c.names, name), append(c.refs, ref), append(c.svg, b.String())
}
func (c *canvas) PNG(string, figure.Picture) {}
func (c *canvas) Note(string)                {}

// Each observable is a picture with distance, floor and what the range does.
func TestObservablesDraw(t *testing.T) {
	pool := testkit.Pool(t, 1)
	data := cloud(200, 1)
	o := testkit.Must(plane().Over(data, 2, pool))
	r := o.Distance(2, pool).Against(data, data, nil)
	marks := r.Marks([]float64{50, 0, -50, 0, 0, 1})
	_, parts := r.Score(marks, 1)
	var c canvas
	o.Draw(&c, r, marks, parts, 1)
	if !slices.Equal(c.names, []string{"across", "angle"}) || !strings.Contains(c.refs[0].Caption,
		"Distance to all data 0.") || !strings.Contains(c.refs[0].Caption, "2 of the samples are outside the range") ||
		!strings.Contains(c.refs[1].Caption, "Circular: -3.142 and 3.142 are one place.") {
		t.Errorf("%v %+v", c.names, c.refs)
	}
	for i, want := range []string{"across", "angle, rad (circular"} {
		for _, text := range []string{want, "density", "data, 200", "samples, 3", "draws from the training rows, 3"} {
			testkit.Contains(t, c.svg[i], text, "picture %d", i)
		}
	}
	// A value on the edge of the range is inside; no sample is outside by it.
	edge := r.Marks([]float64{o.List[0].Hi, 0, o.List[0].Lo, 0})
	o.Draw(&c, r, edge, nil, 1)
	if n := len(c.refs); n != 4 || c.refs[2].Caption != "" || strings.Contains(c.refs[3].Caption, "Distance") {
		t.Errorf("%+v", c.refs[2:])
	}
	// Shares of the data and of the draws, by hand.
	h := o.Histograms(r, marks, 1)
	drawn := r.draw(3, 1)
	for k := range h {
		if b := o.List[k].Bins; !slices.Equal(h[k].Data, b.Shares(metric.Column(r.Full, k, 2))) ||
			!slices.Equal(h[k].Floor, b.Shares(metric.Column(drawn, k, 2))) {
			t.Errorf("histogram %d: %+v", k, h[k])
		}
	}
	if len(h) != 2 || !h[1].Circular || h[1].Unit != "rad" || len(h[0].Data) != 20 || len(h[0].Floor) != 20 {
		t.Fatalf("%+v", h)
	}
	// Two samples outside: in the bins at the ends.
	if math.Abs(h[0].Samples[0]-1./3) > 1e-15 || math.Abs(h[0].Samples[19]-1./3) > 1e-15 {
		t.Errorf("shares %v", h[0].Samples)
	}
}

// Points are written as tables and arrays; a domain's own writer goes first.
func TestWriters(t *testing.T) {
	d := &Domain{Writers: map[string]Writer{".xyz": writeCSV}}
	var b bytes.Buffer
	if err := d.Writer(".csv")(&b, arrayfile.RowsOf([]float64{1, 0.5, -2, 3}, 2)); err != nil ||
		b.String() != "x0,x1\n1,0.5\n-2,3\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	for _, ext := range []string{".csv", ".npy"} {
		testkit.InBlocks(t, ext, d.Writer(ext), []float64{1, 0.5, -2, 3, 7, 8, 9, 1, 2, 1}, 2)
	}
	if d.Writer(".npy") == nil || d.Writer(".xyz") == nil || d.Writer(".txt") != nil {
		t.Error("writers by extension")
	}
	b.Reset()
	testkit.OK(t, d.Writer(".npy")(&b, arrayfile.RowsOf([]float64{1, 0.5, -2, 3, 7, 8}, 2)))
	if a, err := arrayfile.DecodeNPY(&b); err != nil || !slices.Equal(a.Shape, []int{3, 2}) || a.Float64[5] != 8 {
		t.Errorf("%+v, %v", a, err)
	}
	b.Reset()
	if err := writeCSV(&b, arrayfile.RowsOf(nil, 2)); err != nil || b.String() != "x0,x1\n" {
		t.Errorf("no points: %q, %v", b.String(), err)
	}
}

// Parquet files hold the numbers that NPY files hold, by columns, conditions too; however the rows come.
func TestParquet(t *testing.T) {
	x := []float64{1, 2, 0.1, 3, 4, math.Pi}
	of := Given(&Domain{}, 2, []string{"x1"}, []float64{1})
	for name, rows := range map[string]arrayfile.Rows{"whole": arrayfile.RowsOf(x, 3), "by rows": {N: 2, D: 3,
		Blocks: func(yield func([]float64) bool) { _ = yield(x[:3]) && yield(x[3:]) }}} {
		var b, plain bytes.Buffer
		testkit.OK(t, of.Writer(".parquet")(&b, rows))
		f := testkit.Must(parquetfile.Open(bytes.NewReader(b.Bytes()), int64(b.Len())))
		got, err := f.Read([]int{0, 1, 2}, 6)
		if err != nil || !slices.Equal(got, x) || f.Columns[2].Name != "x1 (2)" || f.Columns[1].Name != "x1" {
			t.Errorf("%s: %v of columns %+v, %v", name, got, f.Columns, err)
		}
		if err := (&Domain{}).Writer(".parquet")(&plain, rows); err != nil || plain.Len() == 0 {
			t.Error(err)
		}
	}
}

// What a domain does with points it does with those of points with a condition, which files keep.
func TestGiven(t *testing.T) {
	said := func(what string) func(c Canvas, v View) {
		return func(_ Canvas, v View) { testkit.Keep(t, "%s %d %v %v", what, v.Dim, v.Data, v.Samples) }
	}
	rows := func(x []float64) arrayfile.Rows { return arrayfile.RowsOf(x, 4) }
	x := []float64{1, 2, 1. / 3, 40, -3, 0.5, 0.25, 10, 2, 2, 0.75, 30}
	of := &Domain{
		Distance:    &Distance{Marks: func(x []float64) []float64 { return append([]float64{-1}, x...) }},
		Observables: plane(), Draw: said("draw"), Scene: said("scene"),
		Find: func(x []float64) []Finding { return []Finding{{Note: fmt.Sprint(x)}} },
		Lay: func(x []float64) (out []float64) { // three numbers a point
			for i := 0; i < len(x); i += 2 {
				out = append(out, x[i], x[i+1], x[i]*x[i+1])
			}
			return out
		},
		Table: &Table{Header: []string{"i", "a", "b"}, Format: "%.2f",
			Lines: func(x []float64, first int) (out []float64) { // two a point
				for i := range len(x) / 2 {
					out = append(out, float64(first+i), x[2*i], x[2*i+1], float64(first+i), x[2*i+1], x[2*i])
				}
				return out
			}},
		Writers: map[string]Writer{".npy": writeCSV, ".xyz": writeCSV, ".parquet": writeParquet},
	}
	scale := GivenScale(x, 2, 2)
	testkit.Keep(t, "scale %.12g, of what does not vary %.12g, no rows %v", scale,
		GivenScale([]float64{1, 5, 2, 1, 5, 4}, 1, 2), GivenScale(nil, 1, 2))
	for _, names := range [][]string{{"p", "q"}, {"x0", "x1"}} {
		for _, own := range []*Domain{of, {}, {Lay: of.Lay, Writers: map[string]Writer{}}} {
			g := Given(own, 2, names, scale)
			testkit.Keep(t, "%q laid %.12g, table %q", names, g.Lay(x), g.Table.Header)
			if own.Find != nil {
				values := make([]float64, 6)
				g.Observables.Values(values, x, 3)
				testkit.Keep(t, "%v, %.12g, %v", g.Distance.Marks(x), values, g.Find(x))
				g.Draw(nil, View{Dim: 4, Data: x, Samples: x[:8]})
				g.Scene(nil, View{Dim: 4, Data: x[4:], Samples: x})
			}
			for _, ext := range []string{".csv", ".xyz", ".npy", ".parquet"} {
				if write := g.Writer(ext); write != nil {
					var b bytes.Buffer
					testkit.OK(t, write(&b, rows(x)))
					testkit.Keep(t, "%s %q", ext, b.String())
				}
			}
		}
	}
	testkit.Equal(t, of.Distance.Marks(x[:2])[0], -1) // the domain is as it was
	long := strings.Repeat("x", 100)
	for _, names := range [][]string{{"a", "b"}, {"a", "a"}, {"a", ""}, {"a", "1"}, {"a", "é"}, {"a", "x,"},
		{"a", "NaN"}, {"a", "o"}, {"a"}, {"a", "b", "c"}, {long, "b"}, {long + "x", "b"}, {"a", "_b"}, {"a", "b\t"},
		{"a", "inf"}} {
		testkit.Keep(t, "usable %q of %q", Usable(names, 2, []string{"o"}), names)
	}
}
