package experiment

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
)

// Redraw returns the run as it generates with settings which need
// no training (problem.Problem.Redraw); without settings, the run itself. What the run
// has learned, and where its forward paths end, stays as it is. Errors are
// *problem.KeyError and the context's. It calls report, if that is not nil, with what it does next.
func (r *Run) Redraw(ctx context.Context, settings problem.Settings, report func(doing string)) (*Run, error) {
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
	settled, err := settle.Settle(ctx, c, r.Pool, report)
	if err != nil {
		return nil, err
	}
	l.Problem, l.Process, l.Method = settled.Problem, settled.Process, settled.Method
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
