package experiment

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
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

	Engine *train.Engine // that computes gradients for Train; nil: they are computed here

	asked bool             // Redraw chose keys by the data
	now   func() time.Time // the clock of trainings; nil is time.Now
}

// Begin fills a new folder: config, verbatim problem, the files of the set and the manifest.
func (l *Loaded) Begin(f *run.Folder, source []byte, command []string) (*Run, error) {
	if err := f.Lock(); err != nil {
		return nil, err
	}
	data := run.Data{Name: l.Data.Name, SHA256: l.Data.SHA256, Points: l.Data.N, Dim: l.Data.D,
		Columns: l.Data.Names}
	if p := l.Problem.Data.Path; p != "" {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, err
		}
		data.Path = abs
	}
	asked, files, config := askedOf(l.Problem), setFiles(l.Problem), l.Problem.Resolved()
	given := l.Problem.Written(config)
	if err := f.Write(run.ConfigFile, config); err != nil {
		return nil, err
	}
	if err := f.Write(run.ProblemFile, source); err != nil {
		return nil, err
	}
	kept, hashes, err := keepFiles(f, files)
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
		Asked: asked, Seed: l.Problem.Seed, Data: data, Config: r.Config, Files: hashes,
		Kept: kept, Chosen: l.Chosen,
		Given:   given,
		Machine: run.ThisMachine(),
	})
}

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

// keepFiles copies files by key into the folder, so that it can be moved, and returns the copies' names and hashes.
func keepFiles(f *run.Folder, files map[string]string) (names, hashes map[string]string, err error) {
	names, hashes = map[string]string{}, map[string]string{}
	for key, path := range files {
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

// setFiles returns the paths of the files that the problem's set is read from, by key.
func setFiles(p *problem.Problem) map[string]string {
	files := p.Files()
	maps.DeleteFunc(files, func(key, path string) bool { return path == "" || key == problem.KeyDataPath })
	return files
}

// Redraw returns the run as it generates with settings which need no training (problem.Problem.Redraw); without
// settings, the run itself. What the run has learned, and where its forward paths end, stays as it is. Errors are
// *problem.KeyError and the context's.
func (r *Run) Redraw(ctx context.Context, settings problem.Settings) (*Run, error) {
	if len(settings) == 0 {
		return r, nil
	}
	p, err := r.Problem.Redraw(settings)
	if err != nil {
		return nil, err
	}
	proc, err := p.BuildRedraw()
	if err != nil {
		return nil, err
	}
	prior, repulsion := p.Prior == problem.AutoPrior,
		p.RepulsionIsAuto(len(proc.Set.Inequalities()) > 0 && !proc.Elastic())
	if r.Bare && prior {
		return nil, r.absent("prior: auto asks where forward paths from it end")
	}
	if r.Bare && repulsion {
		return nil, r.absent("process.repulsion: auto is chosen by it")
	}
	l, q := *r.Loaded, *r
	q.asked = r.asked || prior || repulsion
	c := settle.Case{Problem: p, Process: proc, Method: func(p *problem.Problem, proc *langevin.Process) (method.Method,
		error) {
		return p.Redrawn(r.Method, proc)
	}}
	if !r.Bare {
		c.Rows = r.rows()
	}
	settled, err := settle.Settle(ctx, c, r.Pool, nil)
	if err != nil {
		return nil, err
	}
	l.Settled = *settled
	l.Chosen = slices.Concat(r.Chosen, settled.Chosen)
	q.Loaded = &l
	q.Drawn, err = r.Problem.Drawn(l.Problem, l.Process)
	return &q, err
}

// maxFolder bounds the keys in the name of a folder of samples, in bytes.
const maxFolder = 180

// Out returns the name in the run folder of a file that is made of samples: name, or if they
// are drawn by other keys than the run's, that in a folder named by these.
func (r *Run) Out(name string) string {
	keys := problem.Changed(r.Drawn)
	if len(keys) == 0 {
		return name
	}
	for i, s := range keys {
		keys[i] = strings.TrimPrefix(s, "process.")
	}
	folder := strings.Join(keys, ",")
	if len(folder) > maxFolder { // file systems bound names
		folder = folder[:maxFolder] + "-" + run.Hash([]byte(folder))[:12]
	}
	return path.Join(run.DrawnDir, folder, name)
}
