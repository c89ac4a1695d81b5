package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
)

// Open loads the problem of a run folder. dataPath, if not empty, replaces
// the path that the run was started with; the data must be the same bytes. The
// files of the set are those that the folder keeps, or in a folder of a version
// that kept none, those that config.yaml names.
func Open(ctx context.Context, dir, dataPath string, pool *parallel.Pool, report func(doing string)) (*Run, error) {
	f, m, p, err := openProblem(dir)
	if err != nil {
		return nil, err
	}
	if dataPath != "" {
		p.Data.Path = dataPath
	}
	if err := extendedBy(f, m, &p.Problem); err != nil {
		return nil, err
	}
	l, err := load(ctx, p.Problem, pool, report)
	if _, gone := os.Stat(p.Data.Path); err != nil && dataPath == "" && p.Data.Path != "" &&
		errors.Is(gone, fs.ErrNotExist) {
		return nil, &AbsentError{Path: p.Data.Path}
	}
	if err != nil {
		return nil, err
	}
	if l.Data.SHA256 != m.Data.SHA256 {
		return nil, &DataError{dataName(p.Problem, l.Data), fmt.Sprintf("is not the data of this run: its SHA-256 is "+
			"%.12s…, expected %.12s…", l.Data.SHA256, m.Data.SHA256)}
	}
	return &Run{Loaded: l, Folder: f, Warning: p.warning(m), Config: m.Config}, nil
}

// opened is the problem of a run folder, and the keys that it was written without: this version has
// them besides.
type opened struct {
	*problem.Problem
	fresh []string
}

// warning says what of the run is not as here, by a manifest.
func (o *opened) warning(m *run.Manifest) string {
	w := kernelWarning(m.Machine, run.ThisMachine(), o.Train.Precision)
	if len(o.fresh) == 0 {
		return w
	}
	if w != "" {
		w = "; " + w
	}
	return fmt.Sprintf("the run was made by version %s, which did not know %s; they have the values that stand for "+
		"what it did", m.Version, strings.Join(o.fresh, ", ")) + w
}

// openProblem reads a folder's problem, with its data where the manifest says and the files of
// the set that the folder keeps.
func openProblem(dir string) (*run.Folder, *run.Manifest, *opened, error) {
	f, err := run.Open(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	var m run.Manifest
	if err := f.ReadJSON(run.ManifestFile, &m); err != nil {
		return nil, nil, nil, err
	}
	config, p, err := openConfig(f, &m)
	if err != nil {
		return nil, nil, nil, err
	}
	fresh, changed := p.Since(config)
	if changed != "" {
		return nil, nil, nil, &run.FolderError{Dir: f.Path(run.ConfigFile), Problem: fmt.Sprintf(
			"was written by version %s of the program, in which %s meant something else", m.Version, changed)}
	}
	if p.Process.Walls == "" { // written before there was a choice, or there are none
		p.Process.Walls = langevin.PaperWalls.String()
	}
	if p.Data.Kind != "demo" {
		p.Data.Path = m.Data.Path
	}
	return f, &m, &opened{p, fresh}, openFiles(f, &m, p)
}

// extendedBy sets what the manifest's extensions say over a problem.
func extendedBy(f *run.Folder, m *run.Manifest, p **problem.Problem) error {
	for _, x := range m.Extensions {
		q, _, err := (*p).Extend(problem.ParseSettings(x.Settings...))
		if err != nil {
			return &run.FolderError{Dir: f.Path(run.ManifestFile), Problem: "has an extension that cannot be: " +
				err.Error()}
		}
		*p = q
	}
	return nil
}

// openConfig reads config.yaml, which must be that of the manifest, and its problem.
func openConfig(f *run.Folder, m *run.Manifest) ([]byte, *problem.Problem, error) {
	config, err := f.Read(run.ConfigFile)
	if err != nil {
		return nil, nil, err
	}
	if got := run.Hash(config); got != m.Config {
		return nil, nil, &run.FolderError{Dir: f.Path(run.ConfigFile), Problem: fmt.Sprintf(
			"was changed or belongs to another problem: its SHA-256 is %.12s…, manifest.json says %.12s…; start a "+
				"new run for other settings", got, m.Config)}
	}
	p, err := problem.Load(config, f.Path(run.ConfigFile), "", nil)
	return config, p, err
}

// openFiles points the problem to the files that the folder keeps, and checks
// that each is what the run was made with.
func openFiles(f *run.Folder, m *run.Manifest, p *problem.Problem) error {
	paths := setFiles(p)
	for _, key := range slices.Sorted(maps.Keys(m.Files)) {
		path, ok := paths[key]
		if !ok {
			return &run.FolderError{Dir: f.Path(run.ManifestFile), Problem: fmt.Sprintf(
				"names a file for %q, which is no file of the set in %s; the run was made by another version of the "+
					"program, or the manifest is damaged", key, run.ConfigFile)}
		}
		if name, kept := m.Kept[key]; kept {
			if filepath.Base(name) != name {
				return &run.FolderError{Dir: f.Path(run.ManifestFile),
					Problem: fmt.Sprintf("keeps %q as %q; expected the name of a file in the folder", key, name)}
			}
			path = f.Path(name)
			p.SetFile(key, path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if got, want := run.Hash(data), m.Files[key]; got != want {
			return &DataError{path, fmt.Sprintf("is not the %s of this run: its SHA-256 is %.12s…, expected %.12s…",
				key, got,
				want)}
		}
	}
	return nil
}

// kernelWarning says what differs between the machine of a run and this one.
func kernelWarning(was, here run.Machine, precision string) string {
	if was.Kernel != here.Kernel {
		return fmt.Sprintf("the run was made with %s kernels, here are %s: results may differ in the last bits",
			was.Kernel,
			here.Kernel)
	}
	if then, ok := was.Products[precision]; ok && then != here.Products[precision] {
		return fmt.Sprintf("the run's products, %s, ran as %s and run as %s here: results may differ", precision, then,
			here.Products[precision])
	}
	return ""
}

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
	file := r.priorFile()
	if file == "" {
		return false
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
