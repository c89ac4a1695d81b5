package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
)

// A Run is a loaded problem and its folder.
type Run struct {
	*Loaded
	Folder  *run.Folder
	Warning string          // something about the folder that the user should know; may be empty
	Drawn   []problem.Drawn // of Redraw: how samples are drawn, where not only as the run says
	Workers int             // that other ranks of Group are to have; 0: one for each of their cores

	Group  ranks.Group // among which Train divides its work: the others are in Follow; nil: all is done here
	Config string      // hash of config.yaml, which tells runs apart

	asked bool             // Redraw chose keys by the data
	now   func() time.Time // the clock of trainings; nil is time.Now
}

// Begin fills a new folder: config, verbatim problem, the files of the set and the
// manifest.
func (l *Loaded) Begin(f *run.Folder, source []byte, command []string) (*Run, error) {
	if err := f.Lock(); err != nil {
		return nil, err
	}
	data := run.Data{Name: l.Data.Name, SHA256: l.Data.SHA256, Points: l.Data.N, Dim: l.Data.D}
	if p := l.Problem.Data.Path; p != "" {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, err
		}
		data.Path = abs
	}
	config := l.Problem.Resolved()
	if err := f.Write(run.ConfigFile, config); err != nil {
		return nil, err
	}
	if err := f.Write(run.ProblemFile, source); err != nil {
		return nil, err
	}
	kept, hashes, err := keepFiles(f, l.Problem)
	if err != nil {
		return nil, err
	}
	if l.Condition != nil {
		if err := f.WriteJSON(run.ConditionFile, l.Condition); err != nil {
			return nil, err
		}
	}
	r := &Run{Loaded: l, Folder: f, Config: run.Hash(config)}
	return r, f.WriteJSON(run.ManifestFile, run.Manifest{
		Version: run.Version(), Go: runtime.Version(), Created: time.Now().UTC().Round(time.Second), Command: command,
		Asked: askedOf(l.Problem), Seed: l.Problem.Seed, Data: data, Config: r.Config, Files: hashes,
		Kept: kept, Chosen: l.Chosen,
		Given:   l.Problem.Written(),
		Machine: run.ThisMachine(),
	})
}

// askedOf says what a problem was asked for with.
func askedOf(p *problem.Problem) *run.Asked {
	variant, settings := p.Asked()
	a := &run.Asked{Variant: variant}
	for _, s := range settings {
		if strings.HasPrefix(s, "train.max_seconds=") {
			a.Timed = true
		} else {
			a.Settings = append(a.Settings, s)
		}
	}
	return a
}

// keepFiles copies the files that the set is read from into the folder, so that
// it can be moved, and returns the copies' names and hashes by key.
func keepFiles(f *run.Folder, p *problem.Problem) (names, hashes map[string]string, err error) {
	names, hashes = map[string]string{}, map[string]string{}
	for key, path := range setFiles(p) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		name := key + strings.ToLower(filepath.Ext(path)) // readers go by the extension
		if err := f.Write(name, data); err != nil {
			return nil, nil, err
		}
		names[key], hashes[key] = name, run.Hash(data)
	}
	return names, hashes, nil
}

// setFiles returns the paths of the files that the problem's set is read from, by
// key.
func setFiles(p *problem.Problem) map[string]string {
	files := p.Files()
	maps.DeleteFunc(files, func(key, path string) bool { return path == "" || key == problem.KeyDataPath })
	return files
}

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
