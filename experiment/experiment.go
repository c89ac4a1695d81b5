// Package experiment carries a problem through its run folder: it loads the
// data, trains with checkpoints, generates, evaluates and reports.
//
// It joins the other packages: files, order and messages. What is computed, they
// compute.
package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/demo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/method"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/score"
)

// An Experiment is a problem with its data at hand and, once begun, its folder.
type Experiment struct {
	Problem *problem.Problem
	Process *langevin.Process
	Data    *dataset.Points
	Split   dataset.Split
	Folder  *run.Folder
	Pool    *parallel.Pool

	Warning string       // something about the run that the user should know; may be empty
	Chosen  []run.Choice // what auto became

	mixing func(steps, most int) // Observer.Mixing, or nil
	Mixing *Mixing               // of the chains behind a uniform prior, once it was made; nil in closed form

	train, heldOut []float64          // rows of Data: n×d
	uniform        langevin.Empirical // draws of chains, once made
	empirical      langevin.Empirical // ends of forward paths, once made
	config         string             // hash of config.yaml
	histogram      *histogram
}

// A DataError says that the data cannot be read or does not fit the problem.
type DataError struct {
	Path    string // empty if Problem names it
	Problem string
}

func (e *DataError) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

// New builds the problem's process and loads its data. What is auto in p is
// replaced by what is chosen. Errors are *KeyError, *dataset.Error, *DataError and
// those of the file system.
func New(p *problem.Problem, pool *parallel.Pool) (*Experiment, error) {
	proc, err := p.Build()
	if err != nil {
		return nil, err
	}
	resolved := p.Resolved()
	if again, err := problem.Load(resolved, run.ConfigFile, "", nil); err != nil || !bytes.Equal(again.Resolved(), resolved) {
		return nil, &DataError{Problem: fmt.Sprintf("the problem cannot be written to %s and read back (%v); plainer text in title and data.path helps", run.ConfigFile, err)}
	}
	e := &Experiment{Problem: p, Process: proc, Pool: pool}
	if err := e.load(); err != nil {
		return nil, err
	}
	if err := e.checkFeasible(); err != nil {
		return nil, err
	}
	e.choose()
	e.config = run.Hash(p.Resolved())
	e.Split = dataset.RandomSplit(e.Data.N, p.Data.SplitSeed)
	if err := p.CheckPaths(proc, len(e.Split.Train)); err != nil {
		return nil, err
	}
	e.train = e.Data.Rows(e.Split.Train)
	e.heldOut = e.Data.Rows(append(append([]int(nil), e.Split.Val...), e.Split.Test...))
	e.histogram = e.newHistogram()
	return e, nil
}

// load reads the data, and refuses what does not fit the set.
func (e *Experiment) load() (err error) {
	p := e.Problem
	switch p.Data.Kind {
	case "demo":
		e.Data, err = dataset.DecodeEarth(demo.EarthquakesName, demo.Earthquakes())
	case "earth", "points":
		if p.Data.Path == "" {
			return &problem.KeyError{Key: "data.path", Fault: "the problem names no data; give --data FILE"}
		}
		if p.Data.Kind == "earth" {
			e.Data, err = dataset.ReadEarth(p.Data.Path)
		} else {
			e.Data, err = dataset.ReadPoints(p.Data.Path)
		}
	}
	if err != nil {
		if errors.As(err, new(*dataset.Error)) || errors.As(err, new(*fs.PathError)) {
			return err
		}
		return &DataError{Problem: err.Error()} // a damaged file; the reader names it
	}
	if d := e.Process.Set.Dim(); e.Data.D != d {
		return &DataError{e.dataName(), fmt.Sprintf("its points have %d coordinates; expected %d, for %s", e.Data.D, d, constraint.Name(e.Process.Set))}
	}
	if e.Data.N < 2 {
		return &DataError{e.dataName(), fmt.Sprintf("it has %d point; expected at least 2", e.Data.N)}
	}
	return nil
}

func (e *Experiment) dataName() string {
	if e.Problem.Data.Path != "" {
		return e.Problem.Data.Path
	}
	return e.Data.Name
}

// checkFeasible refuses data that is further from Σ than data.tolerance, by the
// first row that is.
func (e *Experiment) checkFeasible() error {
	set, d := e.Process.Set, e.Process.Set.Dim()
	names, values := e.values(e.Data.X)
	tol, rows, first, worst := metric.Float(e.Problem.Data.Tolerance), 0, metric.Violation{}, metric.Violation{}
	for i := range e.Data.N {
		v := worstOf(metric.Violations(names, values[i*len(names):(i+1)*len(names)], 1, len(set.Equalities())))
		if v.WorstSample = i; !(v.Worst > tol) {
			continue
		}
		if rows++; rows == 1 {
			first = v
		}
		if v.Worst > worst.Worst {
			worst = v
		}
	}
	if rows > 0 {
		i := first.WorstSample
		if fault := set.Capabilities().Fault; fault != nil && math.IsInf(float64(first.Worst), 1) {
			if err := fault(e.Data.X[i*d : (i+1)*d]); err != nil {
				return &DataError{e.dataName(), fmt.Sprintf("row %d (from 0): %v", i, err)}
			}
		}
		fault := fmt.Sprintf("row %d (from 0) violates %q by %.3g; expected at most data.tolerance = %g", i, first.Component, first.Worst, tol)
		if rows > 1 {
			fault += fmt.Sprintf(". Of %d rows %d do, row %d the most, %q by %.3g", e.Data.N, rows, worst.WorstSample, worst.Component, worst.Worst)
		}
		return &DataError{e.dataName(), fault}
	}
	if i := e.unselected(e.Data.X); i >= 0 {
		return &DataError{e.dataName(), fmt.Sprintf("row %d (from 0) is not in %s, where %s", i, constraint.Name(set), e.selection())}
	}
	return nil
}

// worstOf returns the component that is violated most, the first of equals.
func worstOf(v []metric.Violation) (worst metric.Violation) {
	for _, c := range v {
		if c.Worst > worst.Worst {
			worst = c
		}
	}
	return worst
}

// violations summarises how far the rows of x are from Σ, by component.
func (e *Experiment) violations(x []float64) []metric.Violation {
	names, values := e.values(x)
	return metric.Violations(names, values, len(x)/e.Process.Set.Dim(), len(e.Process.Set.Equalities()))
}

// excess returns how far each component is from being satisfied at the rows of x,
// and the number of components.
func (e *Experiment) excess(x []float64) (excess []float64, components int) {
	names, values := e.values(x)
	metric.Excess(values, len(names), len(e.Process.Set.Equalities()))
	return values, len(names)
}

// values returns the components' names, and their values at the rows of x.
func (e *Experiment) values(x []float64) (names []string, values []float64) {
	return constraint.Components(e.Process.Set), constraint.Values(e.Process.Set, x)
}

// method returns how the problem's law is learned and drawn from.
func (e *Experiment) method() method.Method { return e.Problem.Method(e.Process) }

// model returns an untrained network of the problem.
func (e *Experiment) model() (score.Model[float32], error) {
	return score.New(e.Problem.NetworkConfig(e.method(), e.Process.Set.Dim()))
}

// onEarth reports whether points are unit vectors of places on Earth, so that
// maps and the latitude–longitude metric apply.
func (e *Experiment) onEarth() bool {
	return e.Problem.Data.Kind == "earth" || e.Problem.Data.Kind == "demo"
}
