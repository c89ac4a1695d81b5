// Package domain says what a kind of data is to the rest of the program: how its files are read and written, which
// numbers of a point are compared, by which distance, and how data and samples are drawn.
//
// Each kind is a package of its own beside this one, and a row in package domain/kinds. What it knows of data is a
// Domain; what it lacks has a default, so that a new kind brings only what is its own.
package domain

import (
	"context"
	"fmt"
	"io"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

// A Kind is a row of the registry: how a kind of data is recognised, read and made.
type Kind struct {
	Name string // of the kind
	Data string // value of data.kind in a problem file
	Dim  int    // dimension that the set must have; 0: any

	// Fits reports whether the kind is that of points on the set; nil: on any set.
	Fits func(set constraint.Set) bool

	// Read reads the data; Bundled data is in the binary, and has no path. The error is a *dataset.Error or one of the
	// file system, or a damaged file's, which it names.
	Read    func(path string) (*dataset.Points, error)
	Bundled bool

	// ReadGiven is Read of a file that holds a condition too: columns of these names, returned
	// by rows (dataset.ReadPointsGiven); nil: conditions are in files of their own.
	ReadGiven func(path string, names []string) (*dataset.Points, []float64, error)

	// Writes are the extensions of files that its domains write besides .npy and .csv, with the dot.
	Writes []string

	// Fit makes points of the set of data that was read, such as those atoms of frames that
	// the set has, or says what keeps it from them; nil: data is taken as it is.
	Fit func(set constraint.Set, data *dataset.Points) (*dataset.Points, error)

	// Open is Fit for a set of points with a condition behind them. The condition stands in columns of these names or
	// follows from the points themselves; nil: no condition.
	Open func(set constraint.Set, data *dataset.Points, names []string) (*dataset.Points, error)

	// Ends returns the condition that a start and a goal, as people write them, are of a set that
	// leaves them open; empty stands for what is not open. nil: points have no ends.
	Ends func(set constraint.Set, start, goal string) ([]float64, error)

	// New makes the domain of data that has been read.
	New func(in Input) (*Domain, error)
}

// Input is what a domain is made of. Points are rows of the set's dimension.
type Input struct {
	Set     constraint.Set
	Data    []float64 // all of it, held-out rows included
	Train   []float64 // the rows to train on
	HeldOut []float64
	Files   map[string]string // paths of the files that the problem names, by key
	Names   []string          // of the coordinates in files; nil: x0, x1, …
	Pool    *parallel.Pool

	// Of the file, where it tells: whose conformations the points are, and what its
	// reader chose among several or left out.
	Molecule *molecule.Molecule
	Remarks  []string
}

// A Domain is a kind of data on a set. What is nil or zero has the default that is named.
type Domain struct {
	// Distance is the distance that results on this kind of data are published in;
	// nil: none, and the observables' is the distance of a run.
	Distance *Distance

	// Observables are numbers of a point that are compared one by one where a
	// problem names none of its own: beside Distance, unless that is of Parts; nil: none.
	Observables *Observables

	// Samples is how many samples the distance is taken of by default, if that is less than there is data; 0: as many
	// as there is data. More says that it is Samples where there is less data too.
	Samples int
	More    bool

	// Lay returns points as their distances in R^d are taken, for copies and two-sample tests: without what their kind
	// does not tell apart, such as how a molecule lies in space; nil: as they are.
	Lay func(x []float64) []float64

	// Unit is that of distances of such points for people, and PerUnit how many are in a distance of 1; empty: the data
	// has units of its own.
	Unit    string
	PerUnit float64

	// Say says where a point is, for people; nil: by its coordinates.
	Say func(x []float64) string

	// Draw shows data and samples on a canvas; nil: they are not shown.
	Draw func(c Canvas, v View)

	// Scene shows data and samples in space, as far as a page can turn them: what Draw shows of that, without a
	// distance; nil: there is no such view.
	Scene func(c Canvas, v View)

	// Find tells what else there is to tell of samples, rows of points; nil: nothing.
	Find func(x []float64) []Finding

	// Finish makes a Finisher, for one goroutine; nil: points are what is drawn.
	Finish func() Finisher

	// Writers write points to files, by extension with its dot, in small letters; ".npy" (n×d, float64), ".csv" (Table)
	// and ".parquet" (columns x0, x1, …) are there for all.
	Writers map[string]Writer

	// Table says how points are written to CSV files; nil: by their coordinates, under the header x0,x1,….
	Table *Table

	// Rounded are what files keep of a coordinate, by extension; those that are not here
	// keep points on the set to round-off.
	Rounded map[string]func(v float64) float64

	// Faults are what is wrong with the files that the domain reads, and what that
	// does to samples and scores: a line each.
	Faults []string
}

// A Finisher makes a point that was drawn, which may have a condition behind it, one that can be used, in place: a
// function of the point, the seed and its number alone.
type Finisher func(ctx context.Context, x []float64, seed, number uint64) Finished

// Finished is what a Finisher did.
type Finished struct {
	Changed bool    // there was a fault
	Fault   string  // that is left; empty: none
	Off     float64 // how far constraints are off between what the point tells
}

// A Writer writes points. Its bytes do not depend on how they are cut into blocks.
type Writer func(w io.Writer, points arrayfile.Rows) error

var writers = map[string]Writer{".npy": writeNPY, ".csv": writeCSV, ".parquet": writeParquet}

// Writer returns how points are written to files of an extension, or nil.
func (d *Domain) Writer(ext string) Writer {
	switch w := d.Writers[ext]; {
	case w != nil:
		return w
	case ext == ".csv" && d.Table != nil:
		return d.Table.Write
	}
	return writers[ext]
}

func writeNPY(w io.Writer, points arrayfile.Rows) error {
	return arrayfile.EncodeNPYRows(w, []int{points.N, points.D}, points)
}

// EachBlock calls f on blocks of n rows, on all workers.
func EachBlock(pool *parallel.Pool, n int, f func(lo, hi int)) {
	const rows = 1024
	pool.Do(parallel.Blocks(n, rows), func(_, b int) {
		lo, hi := parallel.Block(b, n, rows)
		f(lo, hi)
	})
}

// A Finding is what a kind of data checks on samples beside distances and violations, with a verdict in words.
type Finding struct {
	Name     string    `json:"name"`
	Verdict  string    `json:"verdict"`           // a sentence, without its full stop
	Warning  bool      `json:"warning,omitempty"` // the verdict is bad
	Share    float64   `json:"share,omitempty"`   // of the samples that a warning concerns; 0 where it is not known
	Note     string    `json:"note,omitempty"`    // how it was found, in sentences
	Beside   string    `json:"beside,omitempty"`  // what samples are held against, in Measure.Data; empty: the data
	Measures []Measure `json:"measures"`
}

// A Measure is a number of samples, and that of the data; NaN where there is none.
type Measure struct {
	Name    string       `json:"name"`
	Unit    string       `json:"unit,omitempty"`
	Samples metric.Float `json:"samples"`
	Data    metric.Float `json:"data"`
	Noise   metric.Float `json:"noise"`   // standard deviation of Samples if they had the data's law
	PValue  metric.Float `json:"p_value"` // that the two are of one law
}

// A Canvas takes what a domain shows: pictures in files and on the page of a report.
// Faults of drawing and writing are the canvas's own to keep.
type Canvas interface {
	Add(name string, ref figure.FigureRef, pic figure.Picture) // PNG and SVG files, and on the page
	PNG(name string, pic figure.Picture)                       // a file alone
	Note(remark string)                                        // on the page: what is left out, and why
	Scene(s figure.Scene)                                      // on the page
}

// A View is what there is to see: the data and the samples that are left.
type View struct {
	Dim     int // of points
	Data    []float64
	Samples []float64
	Worst   metric.Float // violation of a sample; NaN without samples

	// Of the distance of the run, which is the domain's own if it has one:
	Reference *Reference // nil if there is no distance
	Marks     []float64  // of the samples
	Parts     []metric.Score
	Seed      uint64 // of the problem
}

// A Layer is the data or the samples that a view in space shows: some rows.
type Layer struct {
	Name   string    // with how many there are
	Labels []string  // of the rows
	X      []float64 // the rows
}

// Layers returns the data, with `row` as the name of a row, and the samples. shown says how many of n to take. Rows are
// taken evenly, since data may be in order.
func (v View) Layers(row string, dim int, shown func(n int) int) (out []Layer) {
	for _, l := range []struct {
		name, of string
		x        []float64
	}{{"data", row, v.Data}, {"samples", "sample", v.Samples}} {
		n := len(l.x) / dim
		count := shown(n)
		if count == 0 {
			continue
		}
		layer := Layer{Name: fmt.Sprintf("%s, %s of %s", l.name, text.Count(count), text.Count(n))}
		for k := range count {
			i := k * n / count
			layer.Labels = append(layer.Labels, fmt.Sprintf("%s %d", l.of, i))
			layer.X = append(layer.X, l.x[i*dim:(i+1)*dim]...)
		}
		out = append(out, layer)
	}
	return out
}

// WorstSample is a sentence on the worst violation of a sample, or nothing without samples.
func (v View) WorstSample() string {
	if len(v.Samples) == 0 || v.Worst.IsNaN() {
		return ""
	}
	return "The worst violation of a sample is " + text.Measured(v.Worst) + "."
}
