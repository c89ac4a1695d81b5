package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/particles"
	"github.com/landing-diffusion/landing/problem"
)

// A Given is constraints and observations that a run's training did not know, for its samples: docs/given.md.
type Given struct {
	added *problem.Added
	cut   *particles.Cut
	whole constraint.Set
	run   *Run
}

// Given reads constraints and observations from the text of a file. Errors are *problem.KeyError and
// *problem.SyntaxError.
func (r *Run) Given(text []byte, origin string) (*Given, error) {
	a, err := problem.LoadAdded(text, origin)
	if err != nil {
		return nil, err
	}
	cut, err := a.Build(r.Problem, r.Process.Set, r.Data.Names)
	if err != nil {
		return nil, err
	}
	whole, err := a.Whole(r.Problem, r.Process.Set, cut)
	if err != nil {
		return nil, err
	}
	g := &Given{added: a, cut: cut, whole: whole, run: r}
	chain := r.Method.Capabilities().Follows != nil
	switch {
	case !chain && (a.Draw == "particles" || cut.Equal()):
		return nil, fault.Errorf(fault.Problem, "", "%s: new equalities and draw: particles need the chain of a "+
			"Langevin method, and the run's method is %s. Use inequalities with draw: rejection, or a run of ULLA or "+
			"OLLA", origin, r.Method.Name())
	case cut.Equal() && (a.Draw == "rejection" || a.Draw == "repair"):
		return nil, fault.Errorf(fault.Problem, "", "%s: draw: %s finds no sample on an equality; expected particles",
			origin, a.Draw)
	case a.Draw == "repair" && !g.repairs():
		return nil, fault.Errorf(fault.Problem, "", "%s: draw: repair is for motions of an arm; expected auto, "+
			"rejection or particles", origin)
	}
	return g, nil
}

// Judged returns the run with the new constraints in its set, for judging samples.
func (g *Given) Judged() *Run {
	r, l, p := *g.run, *g.run.Loaded, *g.run.Process
	p.Set, l.Process, r.Loaded = g.whole, &p, &l
	return &r
}

func (g *Given) repairs() bool {
	return g.run.Domain.Finish != nil && g.run.Problem.Generate.Repair != "none" && g.whole != g.run.Process.Set
}

// law says what samples are draws of.
func (g *Given) law(by string) string {
	if by == "repair" {
		return "no stated law: samples of the run, repaired until they keep what is given"
	}
	text := "the run's law on its set"
	var parts []string
	if g.cut.Hard != nil && len(g.cut.Hard.Inequalities()) > 0 {
		parts = append(parts, "given the new inequalities")
	}
	switch {
	case g.cut.Equal() && g.cut.Surface:
		parts = append(parts, "its density by area on the new equalities")
	case g.cut.Equal():
		parts = append(parts, "given the values of the new equalities (disintegration)")
	}
	if g.cut.Soft != nil {
		parts = append(parts, "times the likelihood of the observations")
	}
	return text + ", " + strings.Join(parts, ", ")
}

// GivenReport says how samples were drawn under what is given.
type GivenReport struct {
	Law      string  `json:"law"`
	By       string  `json:"by"`       // rejection, particles or repair
	Share    float64 `json:"share"`    // of plain samples that keep what is given: the mean likelihood, in Attempts
	Attempts int     `json:"attempts"` // plain samples

	Particles *particles.Report `json:"particles,omitempty"`
	Low       string            `json:"low,omitempty"` // why the samples are not good
}

const (
	givenBatch     = 256     // plain samples that tell the share
	enough         = 0.2     // share from which on rejection costs no more than particles
	givenAttempts  = 100_000 // of rejection at least, and givenEach for each sample
	givenEach      = 1000
	searched       = 32      // samples that are moved to where what is given holds, if none is there
	mostInMemory   = 1 << 26 // numbers of particles
	givenSearchTol = 1e-9
)

// A GivenDrawer draws samples of a run under what is given. They are a function of the seed, the first number and how
// many there are in all.
type GivenDrawer struct {
	*Given
	*Trained
	Report GivenReport

	drawer      *Drawer
	prior       *Prior
	seed, next  uint64 // of the next plain sample
	first       uint64
	n           int
	ready       []float64 // samples that have not been asked for yet
	keeps       []func(x []float64) float64
	finishers   []domain.Finisher
	newFinisher func() domain.Finisher
}

// NewDrawer gets ready to draw n samples in all.
func (g *Given) NewDrawer(ctx context.Context, t *Trained, prior *Prior, n int, first, seed uint64) (*GivenDrawer,
	error) {
	r := g.run
	d := &GivenDrawer{Given: g, Trained: t, drawer: NewDrawer(r.Loaded, t, min(n, generateChunk)), prior: prior,
		seed: seed, next: first, first: first, n: n}
	for range r.Pool.Workers() {
		d.keeps = append(d.keeps, g.cut.Likelihood())
	}
	if g.repairs() {
		some, err := r.standIns(ctx)
		if err != nil {
			return nil, err
		}
		l, set := *r.Loaded, g.whole
		if l.Condition != nil {
			set = constraint.At(set, l.Condition.Read.Mean)
		}
		if err := l.bareDomain(set, some); err != nil {
			return nil, err
		}
		d.newFinisher, d.finishers = l.Domain.Finish, make([]domain.Finisher, r.Pool.Workers())
	}
	return d, d.choose(ctx)
}

// choose draws a first batch, and decides by it how samples are drawn.
func (d *GivenDrawer) choose(ctx context.Context) error {
	chain := d.run.Method.Capabilities().Follows != nil
	switch d.Report.By = d.added.Draw; {
	case d.cut.Equal():
		d.Report.By = "particles"
	case d.Report.By == "" || d.Report.By == "auto": // rejection continues with the first batch
		d.Report.By = "rejection"
		if err := d.attempt(ctx, givenBatch); err != nil {
			return err
		}
		switch {
		case d.Report.Share >= enough:
		case chain:
			d.Report.By = "particles"
		case d.repairs():
			d.Report.By = "repair"
		}
	}
	d.Report.Law = d.law(d.Report.By)
	if d.Report.By != "rejection" {
		d.ready, d.next = nil, d.first
	}
	if d.Report.By == "particles" {
		if dim := d.run.Process.Set.Dim(); float64(d.n)*float64(dim) > mostInMemory {
			return fault.Errorf(fault.Usage, "", "%d samples of %d numbers under what is given; expected at most %d "+
				"numbers in all, in as many calls as it takes (--first)", d.n, dim, mostInMemory)
		}
	}
	return nil
}

// attempt draws n plain samples, and keeps those that pass.
func (d *GivenDrawer) attempt(ctx context.Context, n int) error {
	s, err := d.drawer.Draw(ctx, d.prior, n, d.next, d.seed, nil)
	if err != nil {
		return err
	}
	chance, dim := keyed.GivenChances.Stream(d.seed, 0), s.Dim
	likely, passed := make([]float64, n), make([]bool, n)
	d.run.Pool.Do(n, func(worker, i int) {
		if s.Lost[i] || ctx.Err() != nil {
			return
		}
		x, u := s.X[i*dim:(i+1)*dim], [1]float64{}
		likely[i] = math.Exp(d.keeps[worker](x))
		chance.Uniforms(u[:], d.next+uint64(i), 0)
		if passed[i] = d.Report.By == "repair" || u[0] < likely[i]; passed[i] {
			passed[i] = d.finish(ctx, worker, x, d.next+uint64(i))
		}
	})
	kept := d.Report.Share * float64(d.Report.Attempts)
	for i, ok := range passed {
		if kept += likely[i]; ok {
			d.ready = append(d.ready, s.X[i*dim:(i+1)*dim]...)
		}
	}
	d.next += uint64(n)
	d.Report.Attempts += n
	d.Report.Share = kept / float64(d.Report.Attempts)
	return ctx.Err()
}

// finish makes a sample that can be used, where the kind of data knows how, and reports whether it keeps all.
func (d *GivenDrawer) finish(ctx context.Context, worker int, x []float64, number uint64) bool {
	if d.newFinisher == nil {
		return true
	}
	if d.finishers[worker] == nil {
		d.finishers[worker] = d.newFinisher()
	}
	f := d.finishers[worker](ctx, x, d.seed, number)
	return f.Fault == "" && judge.Largest(judge.Violations(d.whole, x)).Worst <= maxFinished
}

// Draw writes the next samples to x (rows of a point); tick, which may be nil, gets how many are done.
func (d *GivenDrawer) Draw(ctx context.Context, x []float64, tick func(done int)) (*judge.Samples, error) {
	dim := d.run.Process.Set.Dim()
	s := &judge.Samples{X: x, Dim: dim, Lost: make([]bool, len(x)/dim)}
	if d.Report.By == "particles" && d.ready == nil {
		if err := d.particles(ctx, tick); err != nil {
			return nil, err
		}
	}
	for len(d.ready) < len(x) {
		have := len(d.ready) / dim
		if tick != nil {
			tick(have)
		}
		if most := givenAttempts + givenEach*float64(d.n); float64(d.Report.Attempts) >= most {
			return nil, fault.Errorf(fault.Check, "", "%s found %d of %d samples among %d of the run: what is given "+
				"holds for too small a share of them", d.Report.By, have, s.N(), d.Report.Attempts)
		}
		rate := max(float64(have), 1) / max(float64(d.Report.Attempts), givenBatch)
		n := min(generateChunk, max(givenBatch, int(1.1*float64(s.N()-have)/rate)))
		if err := d.attempt(ctx, n); err != nil {
			return nil, err
		}
		if d.Report.Attempts <= generateChunk+givenBatch && len(d.ready) == 0 {
			if err := d.possible(ctx); err != nil {
				return nil, err
			}
		}
	}
	copy(x, d.ready)
	d.ready = d.ready[len(x):]
	for i := range s.Lost {
		s.Lost[i] = math.IsNaN(x[i*dim])
	}
	return s, nil
}

// possible returns an error if no point near the samples keeps the constraints.
func (d *GivenDrawer) possible(ctx context.Context) error {
	if d.repairs() || d.cut.Hard == nil {
		return nil
	}
	s, err := d.drawer.Draw(ctx, d.prior, searched, d.first, d.seed, nil)
	if err != nil {
		return err
	}
	solver, best := geometry.NewSolver(d.whole, 0).Until(ctx), judge.Largest(nil)
	for i, lost := range s.Lost {
		x := s.X[i*s.Dim : (i+1)*s.Dim]
		if lost {
			continue
		}
		if solver.Project(x, 0) || solver.Descend(x, givenSearchTol) {
			return nil
		}
		if v := judge.Largest(judge.Violations(d.whole, x)); best.Component == "" || v.Worst < best.Worst {
			best = v
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.Errorf(fault.Check, "", "no point of the set keeps what is given, as far as a search from %d samples "+
		"can tell: the nearest point violates %q by %.3g", searched, best.Component, best.Worst)
}

// particles draws all samples by sequential Monte Carlo.
func (d *GivenDrawer) particles(ctx context.Context, tick func(done int)) error {
	l, dim := d.run.Loaded, d.run.Process.Set.Dim()
	if d.Report.Share == 0 {
		if err := d.possible(ctx); err != nil {
			return err
		}
	}
	fields := Fields(l, d.Trained, generateRows, l.Pool.Workers())
	o := particles.Options{Process: l.Process, Cut: d.cut, Whole: d.whole, Pool: l.Pool, Seed: d.seed, First: d.first,
		Scores: func(worker int) langevin.Score { return fields[worker] },
		Begin: func(seed, first uint64, failed []bool) langevin.Prior {
			if l.Condition == nil {
				return d.prior.Prior
			}
			states, _ := l.starts(d.prior, failed, first, seed)
			return numbered{states, first}
		}}
	if tick != nil {
		o.Tick = func(done, of int) { tick(min(d.n-1, done*d.n/of)) }
	}
	x, report, err := particles.Draw(ctx, o, d.n)
	d.Report.Particles = report
	var low *particles.LowError
	if errors.As(err, &low) {
		d.Report.Low = low.Error()
	} else if err != nil {
		return err
	}
	if d.Report.Share == 0 && !d.cut.Equal() {
		d.Report.Share = math.Exp(report.LogShare)
	}
	d.ready = x
	l.Pool.Do(d.n, func(worker, i int) {
		if row := x[i*dim : (i+1)*dim]; ctx.Err() == nil && !d.finish(ctx, worker, row, d.first+uint64(i)) {
			row[0] = math.NaN()
		}
	})
	return ctx.Err()
}

// Err is the failed check of samples that are few in effect; nil of good ones.
func (g *GivenReport) Err() error {
	if g == nil || g.Low == "" {
		return nil
	}
	return fault.Errorf(fault.Check, "", "%s", g.Low)
}

// String says in a line how samples were drawn.
func (g *GivenReport) String() string {
	out := fmt.Sprintf("law: %s\ndrawn by %s, %d plain samples tried, share %.3g", g.Law, g.By, g.Attempts, g.Share)
	if p := g.Particles; p != nil {
		out += fmt.Sprintf("\n%d populations of %d particles: %.0f effective samples, %d distinct, from %d starts",
			p.Populations, p.Particles, p.Effective, p.Distinct, p.Ancestors)
	}
	return out
}
