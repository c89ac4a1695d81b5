package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/particles"
	"github.com/landing-diffusion/landing/problem"
)

// A Given is constraints and observations that a run's training did not know, for its samples: docs/given.md.
type Given struct {
	draw  string // rejection, particles or repair; empty: a first batch decides
	cut   *particles.Cut
	whole constraint.Set
	run   *Run
	text  string // of the file
	chain bool   // the run's method has one, which particles need
}

// Given reads constraints and observations from the text of a file. Errors are *problem.KeyError and of kind
// fault.Problem.
func (r *Run) Given(text []byte, origin string) (*Given, error) {
	a, err := problem.LoadAdded(text, origin)
	if err != nil {
		return nil, err
	}
	cut, err := a.Build(r.Problem, r.Process.Set, r.Data.Names)
	if err != nil {
		return nil, err
	}
	g := &Given{draw: a.Draw, cut: cut, whole: a.Whole(r.Process.Set, cut), run: r, text: string(text),
		chain: r.Method.Capabilities().Follows != nil}
	if g.draw == "auto" {
		g.draw = ""
	}
	why := ""
	switch {
	case cut.Equal() && (g.draw == "rejection" || g.draw == "repair"):
		why = "new equalities need draw: particles, since no plain sample is on one"
	case g.draw == "repair" && !g.repairs():
		why = "draw: repair is for motions of an arm; expected auto, rejection or particles"
	case g.draw == "repair" && cut.SD != nil:
		why = "draw: repair weighs no observations (observe); expected auto, rejection or particles"
	case !g.chain && (g.draw == "particles" || cut.Equal()):
		why = "new equalities and draw: particles need the chain of a Langevin method, and the run's method is " +
			r.Method.Name() + ". Use inequalities with draw: rejection, or a run of ULLA or OLLA"
	}
	if why != "" {
		return nil, fault.Errorf(fault.Problem, origin, "%s", why)
	}
	if cut.Equal() {
		g.draw = "particles"
	}
	return g, nil
}

// Judged returns the run with the new constraints in its set, for judging samples.
func (g *Given) Judged() *Run {
	r, l, p := *g.run, *g.run.Loaded, *g.run.Process
	p.Set, l.Process, r.Loaded = g.whole, &p, &l
	return &r
}

// On returns g with a pool of its own.
func (g *Given) On(pool *parallel.Pool) *Given {
	o, r, l := *g, *g.run, *g.run.Loaded
	l.Pool, r.Loaded, o.run = pool, &l, &r
	return &o
}

// repairs reports whether samples are motions, which are repaired.
func (g *Given) repairs() bool {
	return g.run.Domain.Finish != nil && g.run.Problem.Generate.Repair != "none" && g.whole != g.run.Process.Set
}

// law says what samples are draws of.
func (g *Given) law(by string) string {
	if by == "repair" {
		return "no stated law: smoothed samples of the run; a planner plans those anew that break what is given"
	}
	out := "the run's law on its set"
	if len(g.cut.Set.Inequalities()) > 0 {
		out += ", given the new inequalities"
	}
	if g.cut.Equal() && g.cut.Surface {
		out += ", its density by area on the new equalities"
	} else if g.cut.Equal() {
		out += ", given the values of the new equalities (disintegration)"
	}
	if g.cut.SD != nil {
		out += ", times the likelihood of the observations"
	}
	return out
}

// GivenReport says how samples were drawn under constraints that training did not know.
type GivenReport struct {
	Text      string            `json:"text,omitempty"` // of the file
	Law       string            `json:"law"`
	By        string            `json:"by"`       // rejection, particles or repair
	Share     float64           `json:"share"`    // mean likelihood of the attempts
	Attempts  int               `json:"attempts"` // plain samples
	Moved     int               `json:"moved"`    // motions that were planned anew; all are smoothed
	Particles *particles.Report `json:"particles,omitempty"`
}

// Err is the failed check of samples that are few in effect; nil of good ones.
func (g *GivenReport) Err() error {
	if g == nil || g.Particles == nil || g.Particles.Low == "" {
		return nil
	}
	return fault.Errorf(fault.Check, "", "the samples under what is given are not good: %s", g.Particles.Low)
}

// String says how samples were drawn.
func (g *GivenReport) String() string {
	out := fmt.Sprintf("law: %s\ndrawn by %s, %d plain samples tried, share %.3g", g.Law, g.By, g.Attempts, g.Share)
	if g.By == "repair" {
		out += fmt.Sprintf(", %d motions planned anew", g.Moved)
	}
	if p := g.Particles; p != nil {
		out += fmt.Sprintf("\n%d populations of %d particles: %.0f effective samples, %d distinct, from %d starts",
			p.Populations, p.Particles, p.Effective, p.Distinct, p.Ancestors)
	}
	return out
}

const (
	givenBatch    = 256     // plain samples that tell the share
	enough        = 0.2     // share from which on rejection costs little more than particles
	givenAttempts = 100_000 // of rejection, and givenEach more for each sample
	givenEach     = 1000
	givenRepairs  = 64      // motions that are repaired for each that comes out, at most, after a first batch
	motionBatch   = 64      // of motions, which take longer than other samples, instead of givenBatch
	motionShare   = 0.05    // share from which on motions are rejected, for their law, though repair is faster
	motionTries   = 2048    // of motions by rejection, and givenEach more for each that came out
	searched      = 32      // samples that are moved to where the constraints hold, if none is there
	mostInMemory  = 1 << 25 // numbers of samples by particles, which have up to ten times as many
)

// A GivenDrawer draws samples of a run under what is given. They are a function of the seed, the first number and how
// many there are in all. One goroutine uses it at a time.
type GivenDrawer struct {
	*Given
	Report GivenReport

	trained     *Trained
	drawer      *Drawer
	prior       *Prior
	seed        uint64
	first, next uint64 // numbers of plain samples
	finished    uint64 // number of the next motion that is finished
	n, dim      int
	made        int       // samples so far
	batch       int       // plain samples behind the choice of repair
	failed      int       // plain samples that failed
	fault       string    // of the last sample that could not be used
	ready       []float64 // samples that have not been asked for yet
	keeps       []func(x []float64) float64
	finishers   []domain.Finisher
	newFinisher func() domain.Finisher
}

// NewDrawer gets ready to draw n samples in all, and decides how by a first batch.
func (g *Given) NewDrawer(ctx context.Context, t *Trained, prior *Prior, n int, first, seed uint64) (*GivenDrawer,
	error) {
	l, room := g.run.Loaded, max(n, givenBatch)
	if g.draw == "repair" {
		room = n
	}
	d := &GivenDrawer{Given: g, trained: t, drawer: NewDrawer(l, t, min(room, generateChunk)),
		prior: prior, seed: seed, first: first, next: first, finished: first, n: n, dim: l.Process.Set.Dim(),
		finishers: make([]domain.Finisher, l.Pool.Workers())}
	for range d.finishers {
		d.keeps = append(d.keeps, g.cut.Likelihood())
	}
	if g.repairs() {
		whole, set := *l, g.whole
		if l.Condition != nil {
			set = constraint.At(set, l.Condition.Read.Mean)
		}
		if err := whole.bareDomain(set, g.run.standIns(prior, 1)); err != nil {
			return nil, err
		}
		d.newFinisher = whole.Domain.Finish
	}
	if d.Report.By = g.draw; g.draw == "" {
		d.Report.By = "rejection" // which continues with the first batch
		batch, least, other := givenBatch, enough, "particles"
		switch {
		case g.repairs() && g.cut.SD == nil:
			batch, least, other = motionBatch, motionShare, "repair"
		case !g.chain:
			other = "rejection"
		}
		passed := func() bool { return d.Report.Share*float64(d.Report.Attempts) >= least*float64(batch) }
		for d.Report.Attempts < batch && !passed() { // further ones would not change the choice
			if err := d.attempt(ctx, batch/4); err != nil {
				return nil, err
			}
		}
		if d.batch = batch; !passed() {
			d.Report.By = other
		}
	}
	d.Report.Text = g.text
	if d.Report.Law = g.law(d.Report.By); d.Report.By != "rejection" {
		d.ready, d.next = nil, first
	}
	if d.Report.By == "particles" && float64(n)*float64(d.dim) > mostInMemory {
		return nil, fault.Errorf(fault.Usage, "", "%d samples of %d numbers under what is given; expected at most %d "+
			"numbers in all, in as many calls as it takes (--first)", n, d.dim, mostInMemory)
	}
	if d.Report.Share == 0 && (d.Report.Attempts > 0 || g.cut.Equal()) && !g.repairs() {
		return d, d.possible(ctx)
	}
	return d, nil
}

// attempt draws n plain samples, and keeps those that pass.
func (d *GivenDrawer) attempt(ctx context.Context, n int) error {
	s, err := d.drawer.Draw(ctx, d.prior, n, d.next, d.seed, nil)
	if err != nil {
		return err
	}
	chance, likely, passed := keyed.GivenChances.Stream(d.seed, 0), make([]float64, n), make([]bool, n)
	d.run.Pool.Do(n, func(worker, i int) {
		if s.Lost[i] || ctx.Err() != nil {
			return
		}
		x, u := s.X[i*d.dim:(i+1)*d.dim], [1]float64{}
		likely[i] = math.Exp(d.keeps[worker](x))
		chance.Uniforms(u[:], d.next+uint64(i), 0)
		passed[i] = d.Report.By == "repair" || u[0] < likely[i]
	})
	kept := d.Report.Share * float64(d.Report.Attempts)
	for i, ok := range passed {
		if s.Lost[i] {
			d.failed++
		}
		if kept += likely[i]; ok {
			d.ready = append(d.ready, s.X[i*d.dim:(i+1)*d.dim]...)
		}
	}
	d.next += uint64(n)
	d.Report.Attempts += n
	d.Report.Share = kept / float64(d.Report.Attempts)
	return ctx.Err()
}

// finish makes a sample that can be used, where the kind of data knows how, and returns what keeps it from
// use, and whether a repair moved it.
func (d *GivenDrawer) finish(ctx context.Context, worker int, x []float64, number uint64) (wrong string, moved bool) {
	if d.newFinisher == nil || ctx.Err() != nil {
		return "", false
	}
	if d.finishers[worker] == nil {
		d.finishers[worker] = d.newFinisher()
	}
	f := d.finishers[worker](ctx, x, d.seed, number)
	if v := judge.Largest(judge.Violations(d.whole, x)); f.Fault == "" && v.Worst > maxFinished {
		f.Fault = fmt.Sprintf("it violates %q by %.3g", v.Component, v.Worst)
	}
	return f.Fault, f.Changed
}

// Draw writes the next samples to x (rows of a point); tick, which may be nil, gets how many are done.
func (d *GivenDrawer) Draw(ctx context.Context, x []float64, tick func(done int)) (*judge.Samples, error) {
	n, have := len(x)/d.dim, 0
	s := &judge.Samples{X: x, Dim: d.dim, Lost: make([]bool, n)}
	all := d.Report.By == "particles"
	if all && d.Report.Particles == nil {
		if err := d.particles(ctx, tick); err != nil {
			return nil, err
		}
	}
	for have < n {
		if tick != nil && !all {
			tick(have)
		}
		if len(d.ready) == 0 {
			enough, hint := givenAttempts+givenEach*float64(d.n), ""
			switch {
			case d.Report.By == "repair":
				if enough = float64(d.batch + givenRepairs*(1+d.made)); d.fault != "" {
					hint = ". The last: " + d.fault
				}
			case d.repairs():
				if enough = float64(motionTries + givenEach*d.made); d.cut.SD == nil {
					hint = "; draw: repair moves motions around obstacles"
				}
			}
			if float64(d.Report.Attempts) >= enough {
				return nil, fault.Errorf(fault.Check, "", "%s found %d of %d samples among %d of the run, %d of "+
					"which failed: what is given holds for too small a share of them%s", d.Report.By, have, n,
					d.Report.Attempts, d.failed, hint)
			}
			most := n - have // of a repair, which mostly helps
			if d.Report.By != "repair" {
				rate := 1.0 // until a first batch tells it
				if d.Report.Attempts > 0 {
					rate = max(d.Report.Share, 1/float64(givenBatch+d.Report.Attempts))
				}
				most = min(generateChunk, max(givenBatch, int(1.1*float64(most)/rate)))
			}
			if err := d.attempt(ctx, min(most, generateChunk, int(enough)-d.Report.Attempts)); err != nil {
				return nil, err
			}
			continue
		}
		m := min(len(d.ready)/d.dim, n-have)
		if d.newFinisher != nil { // so that progress shows early
			m = min(m, 2*d.run.Pool.Workers())
		}
		some, wrong, moved := d.ready[:m*d.dim], make([]string, m), make([]bool, m)
		d.run.Pool.Do(m, func(worker, i int) {
			wrong[i], moved[i] = d.finish(ctx, worker, some[i*d.dim:(i+1)*d.dim], d.finished+uint64(i))
		})
		if d.ready, d.finished = d.ready[m*d.dim:], d.finished+uint64(m); ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i, why := range wrong {
			ok := why == ""
			if d.fault = cmp.Or(why, d.fault); ok || all {
				copy(x[have*d.dim:], some[i*d.dim:(i+1)*d.dim])
				s.Lost[have], have, d.made = !ok, have+1, d.made+1
				if moved[i] {
					d.Report.Moved++
				}
			}
		}
	}
	return s, nil
}

// possible returns an error if no point near the samples keeps the constraints.
func (d *GivenDrawer) possible(ctx context.Context) error {
	if d.cut.Hard() == nil {
		return nil
	}
	s, err := d.drawer.Draw(ctx, d.prior, searched, d.first, d.seed, nil)
	if err != nil {
		return err
	}
	solver, best := geometry.NewSolver(d.whole, 0).Until(ctx), metric.Violation{}
	for x := s.Good(); len(x) > 0; x = x[d.dim:] {
		at := x[:d.dim]
		if solver.Project(at, 0) || solver.Descend(at, maxFinished) || ctx.Err() != nil {
			return ctx.Err()
		}
		if v := judge.Largest(judge.Violations(d.whole, at)); best.Component == "" || v.Worst < best.Worst {
			best = v
		}
	}
	return fault.Errorf(fault.Check, "", "no point of the set keeps what is given, as far as a search from %d samples "+
		"can tell: the nearest point violates %q by %.3g", searched, best.Component, best.Worst)
}

// particles draws all samples by sequential Monte Carlo.
func (d *GivenDrawer) particles(ctx context.Context, tick func(done int)) error {
	l := d.run.Loaded
	fields := Fields(l, d.trained, generateRows, l.Pool.Workers())
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
	var err error
	if d.ready, d.Report.Particles, err = particles.Draw(ctx, o, d.n); err != nil {
		return err
	}
	if d.Report.Share == 0 && !d.cut.Equal() {
		d.Report.Share = math.Exp(d.Report.Particles.LogShare)
	}
	return ctx.Err()
}
