package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecules"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem/settle"
)

// An AbsentError says that the data of a run is not where it was, and what needs it.
type AbsentError struct {
	Path string
	For  string // what needs it; empty: all that was asked
}

func (e *AbsentError) Error() string {
	told := e.Path + ": the data of the run is not there"
	if e.For != "" {
		told += ", and " + e.For
	}
	return told + "; --data FILE says where it is now"
}

func (e *AbsentError) Place() fault.Place { return fault.Place{Kind: fault.Data, File: e.Path} }

// Unwrap makes it one of a file that does not exist.
func (e *AbsentError) Unwrap() error { return fs.ErrNotExist }

// NeedsData reports whether generation looks at the data: whether a run that is opened without it would end in an
// *AbsentError, or would have.
func (r *Run) NeedsData() bool {
	switch {
	case r.Problem.Data.Path == "": // it is in the binary
		return false
	case r.asked:
		return true
	case r.Condition != nil:
		if _, err := os.Stat(r.Folder.Path(run.ConditionFile)); err != nil {
			return true
		}
	}
	if r.Method.Prior() != nil {
		return false
	}
	file := run.EndsFile
	if r.Problem.Prior == "uniform" {
		if _, err := langevin.UniformPrior(r.Process); err == nil {
			return false
		}
		file = run.PriorFile
	}
	_, err := os.Stat(r.Folder.Path(file))
	return err != nil
}

// bareStates is how many states of the prior stand in for data that is not there, where a kind
// of data is asked how points are written.
const bareStates = 1000

// OpenToDraw is Open for drawing samples alone. If the data is not where it was, the run is
// opened without it (Bare): then it can generate what its folder, its set and its prior
// tell, and no more. An *AbsentError says that this is not enough.
func OpenToDraw(ctx context.Context, dir, dataPath string, pool *parallel.Pool, report func(doing string)) (*Run,
	error) {
	if dataPath == "" {
		if r, err := openBare(ctx, dir, pool, report); r != nil || err != nil {
			return r, err
		}
	}
	return Open(ctx, dir, dataPath, pool, report)
}

// openBare opens a run whose data is not there; nil if it is there, or if the run does not say where.
func openBare(ctx context.Context, dir string, pool *parallel.Pool, report func(string)) (*Run, error) {
	f, m, p, err := openProblem(dir)
	if err != nil {
		return nil, err
	}
	if p.Data.Path == "" {
		return nil, nil
	}
	if _, err := os.Stat(p.Data.Path); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := extendedBy(f, m, &p.Problem); err != nil {
		return nil, err
	}
	proc, err := p.Build()
	if err != nil {
		return nil, err
	}
	l := &Loaded{Pool: pool, Bare: true,
		Data: &dataset.Points{Name: m.Data.Name, SHA256: m.Data.SHA256, D: proc.Set.Dim()}}
	settled, err := settle.Settle(ctx, settle.Case{Problem: p.Problem, Process: proc}, pool, report)
	if err != nil {
		return nil, err
	}
	l.Problem, l.Process, l.Method, l.Chosen = settled.Problem, settled.Process, settled.Method, settled.Chosen
	r := &Run{Loaded: l, Folder: f, Warning: p.warning(m), Config: m.Config}
	free := constraint.At(proc.Set, make([]float64, len(p.Condition.Columns)))
	if len(p.Condition.Columns) > 0 {
		if l.Condition, err = readCondition(f, p.Condition.Columns, proc.Set.Dim()); err != nil {
			return nil, err
		}
		if l.Condition == nil {
			return nil, l.absent("the folder does not keep what was seen of the condition (it is of an older version)")
		}
		free = constraint.At(proc.Set, l.Condition.Read.Mean)
	}
	some, err := r.standIns(ctx)
	if err != nil {
		return nil, err
	}
	return r, l.bareDomain(free, some)
}

// absent is the error of what needs data that is not there.
func (l *Loaded) absent(what string) error { return &AbsentError{l.Problem.Data.Path, what} }

// standIns returns some states of the prior.
func (r *Run) standIns(ctx context.Context) ([]float64, error) {
	d := r.Process.Set.Dim()
	if own := r.Method.Prior(); own != nil {
		return langevin.SamplePrior(r.Pool, own, d, keyed.StartDraws.Stream(r.Problem.Seed, 0), bareStates), nil
	}
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return nil, err
	}
	if states := prior.states(); states != nil {
		return langevin.Starts(states, d, min(bareStates, len(states)/d)), nil
	}
	return langevin.SamplePrior(r.Pool, prior, d, keyed.StartDraws.Stream(r.Problem.Seed, 0), bareStates), nil
}

// bareDomain makes the domain from stand-ins. Of it only what does not depend on data is of
// use: how points are written.
func (l *Loaded) bareDomain(set constraint.Set, some []float64) error {
	kind, ok := kinds.Of(l.Problem.Data.Kind, set)
	if !ok {
		return l.absent("it says what points are")
	}
	if kind.Data == molecules.Kind.Data && !named(set) {
		return l.absent("its file has the names and bonds of the atoms, which the set does not")
	}
	if l.Condition != nil {
		some = l.Condition.points(some)
	}
	points, err := kind.New(domain.Input{Set: set, Data: some, Train: some, Files: l.Problem.Files(), Pool: l.Pool})
	if err != nil {
		return l.absent("how points are written depends on it: " + err.Error())
	}
	if l.points, l.Domain = points, points; l.Condition != nil {
		c := l.Condition
		l.Domain = domain.Given(points, c.At, c.Names, c.Read.Scale)
	}
	bare := *l.Domain // nothing that was measured on stand-ins
	bare.Faults, bare.Distance, bare.Observables, bare.Find, bare.Draw = nil, nil, nil, nil, nil
	l.Domain = &bare
	return nil
}

// named reports whether a set itself knows the names and bonds of its atoms.
func named(set constraint.Set) bool {
	s, ok := constraint.As[*conformation.Set](set)
	if !ok || s.Dim() != set.Dim() {
		return false
	}
	known := func(m *molecule.Molecule) bool {
		for _, a := range m.Atoms {
			if a.Name == "" && a.Element == "" {
				return false
			}
		}
		return len(m.Bonds) > 0
	}
	return known(s.Molecule())
}

// readCondition reads what a folder keeps of the condition; nil if it keeps nothing.
func readCondition(f *run.Folder, names []string, dim int) (*Condition, error) {
	c := &Condition{}
	err := f.ReadJSON(run.ConditionFile, c)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	good := len(c.Names) == len(names) && c.At == dim-len(names)
	for _, v := range [][]float64{c.Read.Mean, c.Read.Scale, c.Lo, c.Hi} {
		good = good && len(v) == len(names)
	}
	for k := 0; good && k < len(names); k++ {
		good = c.Names[k] == names[k] && c.Read.Scale[k] > 0 && c.Lo[k] <= c.Hi[k]
	}
	if !good {
		return nil, &run.FolderError{Dir: f.Path(run.ConditionFile),
			Problem: fmt.Sprintf("is damaged: expected mean, scale and range of %v", names)}
	}
	return c, nil
}
