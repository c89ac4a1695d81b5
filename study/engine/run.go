package engine

import (
	"context"
	"sync"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Run is a run that is ready to draw: its network, prior and set are in memory, so that what becomes of its
// folder changes nothing.
type Run struct {
	*experiment.Run
	Name    string
	Trained *experiment.Trained

	prior   *experiment.Prior
	network *network

	spare [len(classes)]sync.Pool // of drawers
	own   sync.Mutex              // of the domain, whose calls share a pool
}

// classes are the numbers of samples that drawers have room for.
var classes = [...]int{1, smallRows, partRows}

// Ready makes a run ready, with its newest or chosen weights. Its prior is made on its pool, which is of no use
// afterwards; the domain needs one of its own. progress, which may be nil, hears of the chains of a uniform prior,
// as in experiment.Run.Prior.
func (e *Engine) Ready(ctx context.Context, name string, r *experiment.Run, progress func(steps, most int)) (
	*Run, error) {
	t, err := r.Trained("")
	if err != nil {
		return nil, err
	}
	prior, err := r.Prior(ctx, progress)
	if err != nil {
		return nil, err
	}
	own, alone := *r, *r.Loaded
	alone.Pool = parallel.New(1)
	own.Loaded = &alone
	n := &network{fields: experiment.Fields(r.Loaded, t, passRows, e.workers),
		asks: make([][]score.Ask, e.workers), room: passRows}
	return &Run{Run: &own, Name: name, Trained: t, prior: prior, network: n}, nil
}

// Prior says what kind of prior samples begin with.
func (r *Run) Prior() string { return r.prior.Kind }

// Own calls f while nobody else uses the run's domain.
func (r *Run) Own(f func() error) error {
	r.own.Lock()
	defer r.own.Unlock()
	return f()
}

// drawer returns one with room for n samples.
func (r *Run) drawer(e *Engine, n int) *drawer {
	class := 0
	for classes[class] < n {
		class++
	}
	if d, ok := r.spare[class].Get().(*drawer); ok {
		return d
	}
	d := &drawer{fiber: e.schedule.fiber(), of: r.network, class: class}
	own := *r.Loaded
	own.Pool = parallel.New(1) // which takes one call at a time
	d.Drawer = experiment.NewDrawerBy(&own, classes[class], func(int) method.Score { return d })
	return d
}

// keep keeps a drawer for another part, which may have it before keep returns.
func (r *Run) keep(d *drawer) {
	if d.token >= 0 {
		panic("engine: a drawer is handed on before its token")
	}
	r.spare[d.class].Put(d)
}
