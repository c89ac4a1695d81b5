package experiment

import (
	"cmp"
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

// Open loads the problem of a run folder. dataPath, if not empty, replaces the path that the run was started with; the
// data must be the same bytes. The files of the set are those that the folder keeps, or in a folder of a version that
// kept none, those that config.yaml names.
func Open(ctx context.Context, dir, dataPath string, pool *parallel.Pool, report func(doing string)) (*Run, error) {
	o, err := openFolder(dir, dataPath)
	if err != nil {
		return nil, err
	}
	return o.load(ctx, dataPath != "", pool, report)
}

// OpenToDraw is Open for drawing samples alone. If the data is not where it was, the run is opened without it (Bare):
// then it can generate what its folder, its set and its prior tell, and no more. An *AbsentError says that this is not
// enough.
func OpenToDraw(ctx context.Context, dir, dataPath string, pool *parallel.Pool, report func(doing string)) (*Run,
	error) {
	o, err := openFolder(dir, dataPath)
	if err != nil {
		return nil, err
	}
	if dataPath == "" && o.dataIsGone() {
		return o.bare(ctx, pool, report)
	}
	r, err := o.load(ctx, dataPath != "", pool, report)
	if err == nil {
		r.Domain.Faults = nil // training and reports tell of them
	}
	return r, err
}

// An opened is a run folder and its problem, with what extensions changed, before data is read.
type opened struct {
	folder   *run.Folder
	manifest run.Manifest
	problem  *problem.Problem
	warning  string // what is not as it was when the run was made
}

// openFolder reads a folder's problem, with its data where the manifest or dataPath says and the files of the set that
// the folder keeps.
func openFolder(dir, dataPath string) (*opened, error) {
	f, err := run.Open(dir)
	if err != nil {
		return nil, err
	}
	o := &opened{folder: f}
	if o.manifest, err = f.Manifest(); err != nil {
		return nil, err
	}
	m := &o.manifest
	config, err := f.Read(run.ConfigFile)
	if err != nil {
		return nil, err
	}
	path := f.Path(run.ConfigFile)
	if got := run.Hash(config); got != m.Config {
		return nil, fault.Errorf(fault.Run, path, "was changed or belongs to another problem: its SHA-256 is %.12s…, "+
			"manifest.json says %.12s…; start a new run for other settings", got, m.Config)
	}
	p, err := problem.Load(config, path, "", nil)
	if err != nil {
		return nil, err
	}
	fresh, changed := p.Since(config)
	if changed != "" {
		return nil, fault.Errorf(fault.Run, path, "was written by version %s of the program, in which %s meant "+
			"something else", m.Version, changed)
	}
	if p.Process.Walls == "" { // written before there was a choice, or there are none
		p.Process.Walls = langevin.PaperWalls.String()
	}
	if p.Data.Kind != "demo" {
		p.Data.Path = m.Data.Path
	}
	p.Data.Path = cmp.Or(dataPath, p.Data.Path)
	if err := openFiles(f, m, p); err != nil {
		return nil, err
	}
	for _, x := range m.Extensions {
		if p, _, err = p.Extend(problem.ParseSettings(x.Settings...)); err != nil {
			return nil, fault.Errorf(fault.Run, f.Path(run.ManifestFile), "has an impossible extension: %v", err)
		}
	}
	o.problem, o.warning = p, kernelWarning(m.Machine, run.ThisMachine(), p.Train.Precision)
	if len(fresh) > 0 {
		o.warning = strings.TrimSuffix(fmt.Sprintf("the run was made by version %s, which did not know %s; they have "+
			"the values that stand for what it did; %s", m.Version, strings.Join(fresh, ", "), o.warning), "; ")
	}
	return o, nil
}

// dataIsGone reports whether the problem names a file of data that does not exist.
func (o *opened) dataIsGone() bool {
	_, err := os.Stat(o.problem.Data.Path)
	return o.problem.Data.Path != "" && errors.Is(err, fs.ErrNotExist)
}

// load reads the data; moved says that it is not where it was.
func (o *opened) load(ctx context.Context, moved bool, pool *parallel.Pool, report func(string)) (*Run, error) {
	l, err := load(ctx, o.problem, pool, report, o.manifest.Data.Columns)
	if err != nil && !moved && o.dataIsGone() {
		return nil, &AbsentError{Path: o.problem.Data.Path}
	}
	if err != nil {
		return nil, err
	}
	if want := o.manifest.Data.SHA256; l.Data.SHA256 != want {
		return nil, badData(dataName(o.problem, l.Data), "is not the data of this run: its SHA-256 is %.12s…, "+
			"expected %.12s…", l.Data.SHA256, want)
	}
	return o.run(l), nil
}

func (o *opened) run(l *Loaded) *Run {
	return &Run{Loaded: l, Folder: o.folder, Warning: o.warning, Config: o.manifest.Config}
}

// openFiles points the problem to the files that the folder keeps, and checks that each is what the run was made with.
func openFiles(f *run.Folder, m *run.Manifest, p *problem.Problem) error {
	paths := setFiles(p)
	for _, key := range slices.Sorted(maps.Keys(m.Files)) {
		path, ok := paths[key]
		if !ok {
			return fault.Errorf(fault.Run, f.Path(run.ManifestFile), "names a file for %q, which is no file of the "+
				"set in %s; the run was made by another version of the "+
				"program, or the manifest is damaged", key, run.ConfigFile)
		}
		if name, kept := m.Kept[key]; kept {
			if filepath.Base(name) != name {
				return fault.Errorf(fault.Run, f.Path(run.ManifestFile), "keeps %q as %q; expected the name of a file "+
					"in the folder", key, name)
			}
			path = f.Path(name)
			p.SetFile(key, path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if got, want := run.Hash(data), m.Files[key]; got != want {
			return badData(path, "is not the %s of this run: its SHA-256 is %.12s…, expected %.12s…", key, got, want)
		}
	}
	return nil
}

// kernelWarning says what differs between the machine of a run and this one.
func kernelWarning(was, here run.Machine, precision string) string {
	if was.Kernel != here.Kernel || was.Arch != "" && was.Arch != here.Arch {
		return fmt.Sprintf("the run was made with %s kernels on %s, here are %s on %s: results may differ in the last "+
			"bits", was.Kernel, was.Arch, here.Kernel, here.Arch)
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
	if r.Problem.Data.Path == "" { // it is in the binary
		return false
	}
	kept := func(name string) bool {
		_, err := os.Stat(r.Folder.Path(name))
		return err == nil
	}
	file := r.priorFile()
	return r.asked || r.Condition != nil && !kept(run.ConditionFile) || file != "" && !kept(file)
}

// bareStates is how many states of the prior replace missing data, where a kind of data needs points to know how it
// writes them.
const bareStates = 1000

// bare opens a run without its data.
func (o *opened) bare(ctx context.Context, pool *parallel.Pool, report func(string)) (*Run, error) {
	proc, err := o.problem.Build()
	if err != nil {
		return nil, err
	}
	l := &Loaded{Pool: pool, Bare: true, Data: &dataset.Points{Name: o.manifest.Data.Name,
		SHA256: o.manifest.Data.SHA256, D: proc.Set.Dim(), Names: o.manifest.Data.Columns}}
	settled, err := settle.Settle(ctx, settle.Case{Problem: o.problem, Process: proc}, pool, report)
	if err != nil {
		return nil, err
	}
	l.Settled = *settled
	free := proc.Set
	if names := l.Problem.Condition.Columns; len(names) > 0 {
		l.Condition, err = readCondition(o.folder, names, proc.Set.Dim())
		if errors.Is(err, fs.ErrNotExist) {
			return nil, l.absent("the folder does not keep what was seen of the condition (it is of an older version)")
		}
		if err != nil {
			return nil, err
		}
		free = constraint.At(proc.Set, l.Condition.Read.Mean)
	}
	r := o.run(l)
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return nil, err
	}
	return r, l.bareDomain(free, r.standIns(prior, bareStates))
}

// absent is the error of what needs data that is not there.
func (l *Loaded) absent(what string) error { return &AbsentError{l.Problem.Data.Path, what} }

// standIns returns at most n states of the prior.
func (r *Run) standIns(prior *Prior, n int) []float64 {
	d := r.Process.Set.Dim()
	if states := prior.states(); states != nil {
		return langevin.Starts(states, d, min(n, len(states)/d))
	}
	return langevin.SamplePrior(r.Pool, prior, d, keyed.StartDraws.Stream(r.Problem.Seed, 0), n)
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
	points, err := kind.New(domain.Input{Set: set, Data: some, Train: some, Files: l.Problem.Files(), Pool: l.Pool,
		Names: domain.Usable(l.Data.Names, set.Dim(), l.Problem.Condition.Columns)})
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
	if in, ok := constraint.As[*conformation.Internal](set); ok {
		set = in.Positions()
	}
	s, ok := constraint.As[*conformation.Set](set)
	if !ok || s.Dim() != set.Dim() {
		return false
	}
	m := s.Molecule()
	nameless := func(a molecule.Atom) bool { return a.Name == "" && a.Element == "" }
	return len(m.Bonds) > 0 && !slices.ContainsFunc(m.Atoms, nameless)
}

// readCondition reads what a folder keeps of the condition.
func readCondition(f *run.Folder, names []string, dim int) (*Condition, error) {
	c := &Condition{}
	if err := f.ReadJSON(run.ConditionFile, c); err != nil {
		return nil, err
	}
	good := slices.Equal(c.Names, names) && c.At == dim-len(names)
	for _, v := range [][]float64{c.Read.Mean, c.Read.Scale, c.Lo, c.Hi} {
		good = good && len(v) == len(names)
	}
	for k := 0; good && k < len(names); k++ {
		good = c.Read.Scale[k] > 0 && c.Lo[k] <= c.Hi[k]
	}
	if !good {
		return nil, fault.Errorf(fault.Run, f.Path(run.ConditionFile), "is damaged: expected mean, scale and range of "+
			"%v", names)
	}
	return c, nil
}
