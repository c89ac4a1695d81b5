// Package experiment carries a problem to its results by values that flow: a problem is Loaded with its data, gets a
// folder (Run), a Prior and a Trained network, gives Samples, an Evaluation of them and a report. Each value is made
// whole by one function, which changes none of its arguments.
//
// The package joins the others: files, order and messages. What is computed, they compute.
package experiment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/grid"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
)

// Loaded is a problem with its data at hand: all that is known before anything is computed.
type Loaded struct {
	settle.Settled
	Data        *dataset.Points
	Split       dataset.Split
	TrainRows   []float64 // of Data: n×d
	Learned     []float64 // rows that the network learns: TrainRows, or those of data.train
	ValRows     []float64 // validation rows
	HeldOutRows []float64 // that samples are judged by: the test rows, and the others if training saw nothing of them
	Domain      *domain.Domain
	Condition   *Condition // nil without one
	Pool        *parallel.Pool
	Bare        bool // the data is not there (OpenToDraw)

	loading  time.Duration   // that Load took
	distance *judge.Compared // the distance of the run; nil where none is defined
	points   *domain.Domain  // of x alone: Domain unless there is a condition
	observed *judge.Compared // of observables beside a published distance; nil where there are none
}

// badData returns the error of data that cannot be read or does not fit the problem; path may be empty.
func badData(path, format string, v ...any) error {
	return fault.Errorf(fault.Data, path, format, v...)
}

// Load builds the problem's process, reads its data and settles what is auto. It calls report, if that is not nil,
// with what it does next, such as "reading the data". A budget (train.max_seconds) ends it with an error.
// Other errors are the context's, *KeyError, those of data and those of the file system.
func Load(ctx context.Context, p *problem.Problem, pool *parallel.Pool, report func(doing string)) (*Loaded, error) {
	budget, doing := p.Train.MaxSeconds, ""
	if budget == 0 {
		return load(ctx, p, pool, report)
	}
	most := min(budget, 1e9)
	if p.Train.Clock == "processor" { // which a context cannot watch; the training does
		most = 1e9
	}
	within, cancel := context.WithTimeout(ctx, time.Duration(most*float64(time.Second)))
	defer cancel()
	tell := func(next string) {
		if doing = next; report != nil {
			report(next)
		}
	}
	l, err := load(within, p, pool, tell)
	if err == nil {
		err = l.spare(within, tell)
	}
	late := err == nil && p.Train.Clock == "processor" && l.loading.Seconds() > budget
	if late || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fault.Errorf(fault.Check, "", "the budget of %.4g s ended before the training, while %s; a larger "+
			"train.max_seconds (--for) helps", budget, doing)
	}
	return l, err
}

// load is Load without a budget: a trained run has used its budget. names, if given, are the run's names of the
// coordinates, and replace the file's.
func load(ctx context.Context, p *problem.Problem, pool *parallel.Pool, report func(doing string),
	names ...[]string) (*Loaded, error) {
	now := clock(p.Train.Clock, pool)
	start := now()
	if report == nil {
		report = func(string) {}
	}
	proc, err := p.Build()
	if err != nil {
		return nil, err
	}
	resolved := p.Resolved()
	if again, err := problem.Load(resolved, run.ConfigFile, "", nil); err != nil ||
		!bytes.Equal(again.Resolved(), resolved) {
		return nil, badData("", "the problem cannot be written to %s and read back (%v); "+
			"plainer text in title and data.path helps", run.ConfigFile, err)
	}
	report("reading the data")
	data, err := readData(ctx, p, p.DataKind, proc.Set)
	if err != nil {
		return nil, err
	}
	for _, known := range names {
		data.Names = known
	}
	report("checking the rows against the set")
	remark, err := checkFeasible(ctx, p, proc.Set, data, pool)
	if err != nil {
		return nil, err
	}
	odd := remarks(p, proc, data, remark)
	l := &Loaded{Data: data, Split: dataset.RandomSplit(data.N, p.Data.SplitSeed), Pool: pool}
	l.TrainRows, l.ValRows = data.Rows(l.Split.Train), data.Rows(l.Split.Val)
	if l.Learned = l.TrainRows; p.Data.Train != "" {
		if l.Learned, err = taught(ctx, p, proc.Set, pool); err != nil {
			return nil, err
		}
	}
	settled, err := settle.Settle(ctx, settle.Case{Problem: p, Process: proc, Rows: l.rows()}, pool, report)
	if err != nil {
		return nil, err
	}
	l.Settled = *settled
	held := l.Split.Test
	if !l.Problem.Train.HeldOut() {
		held = slices.Concat(l.Split.Val, held)
	}
	l.HeldOutRows = data.Rows(held)
	report("comparing the data with itself")
	if err := l.domains(slices.Concat(l.Notes, odd)); err != nil {
		return nil, err
	}
	l.loading = now().Sub(start)
	return l, ctx.Err()
}

func (l *Loaded) rows() *settle.Rows {
	return &settle.Rows{All: l.Data.X, Train: l.TrainRows, Learned: l.Learned, Validation: len(l.Split.Val)}
}

// domains makes the domain of x, with the faults that were found, that of (x, c) where there is a condition, and the
// distances that samples are held against the data by.
func (l *Loaded) domains(faults []string) (err error) {
	files, names := l.Problem.Files(), l.Problem.Set.Coordinates()
	observables, err := l.Problem.Observables(l.Data.D)
	if err != nil {
		return err
	}
	set, all, train, held := l.Process.Set, l.Data.X, l.TrainRows, l.HeldOutRows
	if names := l.Problem.Condition.Columns; len(names) > 0 {
		l.Condition = newCondition(names, l.TrainRows, l.Data.D)
		set = constraint.At(set, l.Condition.Read.Mean)
		all, train, held = l.Condition.points(all), l.Condition.points(train), l.Condition.points(held)
	}
	if names != nil {
		l.Data.Names = names
	}
	l.Data.Names = domain.Usable(l.Data.Names, set.Dim(), l.Problem.Condition.Columns)
	l.points, err = l.Problem.DataKind.New(domain.Input{Set: set, Data: all, Train: train, HeldOut: held,
		Files: files, Pool: l.Pool, Molecule: l.Data.Molecule, Remarks: l.Data.Remarks,
		Names: l.Data.Names})
	if err != nil {
		return err
	}
	l.points.Faults = append(l.points.Faults, faults...)
	if l.Domain = l.points; l.Condition != nil {
		l.Domain = l.Condition.domain(l.points, l.TrainRows)
	}
	l.distance, l.observed, err = judge.Compare(l.Domain, observables, l.Data.X, l.TrainRows, l.HeldOutRows, l.Data.D,
		l.Pool)
	if err != nil {
		return badData(dataName(l.Problem, l.Data), "%v", err)
	}
	return nil
}

// readData reads the problem's data, which are of a kind, and refuses what does not fit the set.
func readData(ctx context.Context, p *problem.Problem, kind domain.Kind, set constraint.Set) (data *dataset.Points,
	err error) {
	if kind.Read == nil {
		return nil, &problem.KeyError{Key: problem.KeyDataKind, Value: p.Data.Kind, Want: "one of " +
			strings.Join(kinds.Names(), ", ")}
	}
	if !kind.Bundled && p.Data.Path == "" {
		return nil, &problem.KeyError{Key: problem.KeyDataPath,
			Fault: "the problem names no data; give --data FILE"}
	}
	data, err = parallel.Until(ctx, func() (*dataset.Points, error) {
		return readPoints(kind, set, p.Data.Path, p.Condition.Columns, p.Condition.Path)
	})
	switch {
	case ctx.Err() != nil:
	case err == nil && data.N < 2:
		err = badData(dataName(p, data), "it has %d point; expected at least 2", data.N)
	case err == nil:
		err = cmp.Or(Ordered(p, set, data.Names, dataName(p, data)), sized(dataName(p, data), data))
	case errors.Is(err, fs.ErrNotExist) && p.Data.Kind == "trajectory":
		err = badData("", "%v; landing make arm plans motions: the comments of a drafted problem have the command",
			err)
	case fault.KindOf(err) == fault.Failure:
		err = badData("", "%v", err) // a damaged file; the reader names it
	}
	return data, err
}

// Ordered refuses columns of a file in another order than that of the set's names.
func Ordered(p *problem.Problem, set constraint.Set, columns []string, file string) error {
	names := p.Set.Coordinates()
	if g, ok := constraint.As[*grid.Set](set); ok && g.Dim() == set.Dim() {
		names = g.Names
	}
	for j, name := range columns {
		if i := slices.Index(names, name); i >= 0 && i != j {
			return badData(file, "column %d (from 0) is %s, which is coordinate %d of the set; "+
				"expected columns in the order of the set", j, name, i)
		}
	}
	return nil
}

// Sizes of numbers, and of their spread, with which squares, ratios and float32 numbers stay within their ranges.
const (
	smallestSize = 1e-12
	largestSize  = 1e12
)

// sized refuses data in a unit in which its numbers are too large or small for all that is computed of them.
func sized(name string, data *dataset.Points) error {
	size, spread := 0.0, 0.0
	for j := range data.D {
		low, high := data.X[j], data.X[j]
		for i := j; i < len(data.X); i += data.D {
			low, high = min(low, data.X[i]), max(high, data.X[i])
		}
		size, spread = max(size, -low, high), max(spread, high/2-low/2)
	}
	if size > 2*largestSize || spread > 0 && spread < smallestSize/2 {
		return badData(name, "its numbers are up to %.2g in size and differ by up to %.2g; expected sizes and "+
			"differences between %g and %g: bring the data to a unit in which they are about 1", size, 2*spread,
			smallestSize, largestSize)
	}
	return nil
}

// withoutCondition returns the set of points x, of a set of points (x, c) with a condition of these names.
func withoutCondition(set constraint.Set, names []string) constraint.Set {
	if len(names) == 0 {
		return set
	}
	return constraint.At(set, make([]float64, len(names)))
}

// readPoints reads points of a set from a file of a kind. Those with a condition of some names have it as their last
// coordinates: it is in the file, or in a file of its own, given.
func readPoints(kind domain.Kind, set constraint.Set, path string, names []string, given string) (*dataset.Points,
	error) {
	inside := len(names) > 0 && given == ""
	var condition []float64
	var points *dataset.Points
	var err error
	if inside && kind.ReadGiven != nil {
		points, condition, err = kind.ReadGiven(path, names)
	} else {
		points, err = kind.Read(path)
	}
	if err != nil {
		return nil, err
	}
	name := cmp.Or(path, points.Name)
	switch free := withoutCondition(set, names); {
	case inside && kind.Open != nil:
		points, err = kind.Open(set, points, names)
	case kind.Fit != nil:
		set = free
		points, err = kind.Fit(set, points)
	default:
		set = free
	}
	if err != nil {
		return nil, badData(name, "%v", err)
	}
	own := set.Capabilities()
	if s := points.Shape; own.StepNames != nil && len(s) == 3 && (s[1] != own.Steps || s[2] != own.StepDim) {
		return nil, badData(name, "an array of shape %d; expected [n %d %d], for %s", s, own.Steps, own.StepDim,
			own.Name)
	}
	if d := set.Dim(); points.D != d {
		return nil, badData(name, "its points have %d coordinates; expected %d, for %s", points.D, d,
			constraint.Name(set))
	}
	if given != "" {
		if condition, err = dataset.ReadGiven(given, names, points.N); err != nil {
			return nil, err
		}
	}
	if condition != nil {
		points = beside(points, condition)
	}
	return points, nil
}

func dataName(p *problem.Problem, data *dataset.Points) string { return cmp.Or(p.Data.Path, data.Name) }

// Title returns the problem's title, or its name.
func (l *Loaded) Title() string { return cmp.Or(l.Problem.Title, l.Problem.Name) }

// mostSamples bounds the samples of an evaluation that nobody gave a number of: more tell little that is new, and of
// a million rows they would take longer than the training.
const mostSamples = 50_000

// SampleCount returns how many samples an evaluation takes by default: as many as there is data, up to mostSamples, or
// what the domain's distance is published with if that is less, or the domain says so.
func (l *Loaded) SampleCount() int {
	switch n := l.Domain.Samples; {
	case n > 0 && l.Domain.More:
		return n
	case n > 0:
		return min(l.Data.N, n)
	}
	return min(l.Data.N, mostSamples)
}

// Reference returns what samples are held against.
func (l *Loaded) Reference() *judge.Reference {
	r := &judge.Reference{Problem: l.Problem, Process: l.Process, Method: l.Method, Domain: l.Domain, Points: l.points,
		Dim: l.Data.D, All: l.Data.X, Train: l.TrainRows, HeldOut: l.HeldOutRows, Distance: l.distance,
		Observables: l.observed, Pool: l.Pool}
	if l.Condition != nil {
		r.Given = l.Condition.Names
	}
	return r
}

// taught returns the rows of data.train.
func taught(ctx context.Context, p *problem.Problem, set constraint.Set, pool *parallel.Pool) ([]float64, error) {
	path := p.Data.Train
	points, err := parallel.Until(ctx, func() (*dataset.Points, error) { return dataset.ReadPoints(path) })
	if err != nil {
		return nil, err
	}
	if d := set.Dim(); points.D != d || points.N < 1 {
		return nil, badData(path, "has %d points of %d coordinates; expected points of %d (%s)",
			points.N, points.D, d, problem.TaughtKey)
	}
	if fault, _ := offSet(ctx, p, set, points, pool); fault != "" {
		return nil, badData(path, "%s", fault)
	}
	return points.X, nil
}
