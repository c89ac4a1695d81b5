// Package method says what training and generation need of a method: where its training rows and targets come from, its
// loss on network outputs, how it generates, and what it counts. Packages train and experiment know no more of one.
//
// It holds no method. The four Langevin processes of the paper are one, in folder pathmatch.
package method

import (
	"context"
	"errors"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Method is a way to learn the law of points on Σ and to draw from it.
type Method interface {
	// Name is that of the registry.
	Name() string
	// Momentum reports whether the score is a function of (x, p̃) and not of x alone.
	Momentum() bool
	// Gain is m(t) of package score, which brings a network's outputs to one size at all times; nil is m = 1.
	Gain() func(t float64) float64
	// Feasible reports whether samples that do not fail are on Σ to round-off.
	Feasible() bool
	// Prior returns the law of the states that generation begins with, or nil: then it is
	// the uniform law on Σ or that of the Sampler's Ends, as the problem says.
	Prior() Prior
	// Capabilities says what else it can do.
	Capabilities() Capabilities

	// Source returns what a network is trained on, to learn the law of the rows of data (n×d).
	Source(data []float64, pool *parallel.Pool) Source[float32]
	// Sampler allocates memory to generate in blocks of `rows` rows.
	Sampler(rows int, pool *parallel.Pool) Sampler
}

// A Source makes what a network is trained on: items, each of a training row, with as many terms as there are times.
// There is one of every row, or of some of them after each refresh. All that it makes is a function of the data, the
// seed and the refresh number: neither of the workers nor of what it made before. It belongs to one Trainer.
type Source[T kernel.Float] interface {
	Items() int
	Times() int
	// NewLoss makes room for the terms of up to rows network rows, as r reads them. One
	// goroutine uses a loss at a time.
	NewLoss(r score.Reader[T], rows int) Loss[T]
	// Prepare is called once, after NewLoss and before the first Refresh of a Trainer, resumed ones too.
	Prepare(ctx context.Context, seed uint64) error
	// Refresh replaces the items by fresh ones.
	Refresh(ctx context.Context, seed, refresh uint64) (Report, error)
	// Failed reports whether an item is not to be trained on.
	Failed(item int) bool
	// Capabilities says what else it can do.
	Capabilities() SourceCapabilities[T]
}

// SourceCapabilities are what a Source may be able to do; nil functions it cannot.
type SourceCapabilities[T kernel.Float] struct {
	// Beside makes another source of the same method, of other rows: its targets are made by what Prepare found of the
	// receiver's rows.
	Beside func(data []float64) Source[T]
	// Arrange makes parts of some items anew for each epoch, at little cost, between refreshes too. The result is a
	// function of the data, the seed, the refresh and the epoch. The trainer calls it after Refresh and before losses.
	// Held-out rows have one refresh alone, and Arrange then gets its number.
	Arrange func(seed, epoch uint64)
	// Prepares is how many paths Prepare simulates.
	Prepares int
	// Among divides each Refresh among the ranks of a group, until it is called with nil. All ranks call Refresh with
	// the same arguments, and each has afterwards what one process would have.
	Among func(g ranks.Group)
	// Draws is how often losses ask the network for each term: rows of a loss are those of its terms in turn, each so
	// often. 0 is once.
	Draws int
}

// A Term is one summand of the loss: time K of an item.
type Term struct {
	Item, K int
	Weight  float64 // factor of the term; 1/items for the mean over a batch
	Null    bool    // the network does not see the item's condition (score.Input.Null)
}

// A Loss evaluates terms of its Source's present items. No method allocates.
type Loss[T kernel.Float] interface {
	// Rows is the number of terms there is room for.
	Rows() int
	// Prepare makes the network rows of the terms, one a row, and their targets. They are valid until the next call.
	Prepare(terms []Term) ([]T, error)
	// Evaluate returns the weighted sum of the prepared terms for network outputs s (n×d),
	// and writes its gradient with respect to s to ds.
	Evaluate(ds, s []T) float64
}

// Squares is a Loss whose terms are w/2 ‖u − c Π s‖², so that other programs can compute it.
type Squares interface {
	// Squares writes c, w and u of the prepared terms, each to the begin of width numbers; it returns Π's geometry.
	Squares(dst []float32, width int) geometry.Geometry
}

// A Sampler generates. One goroutine uses it at a time.
type Sampler interface {
	// Generate makes the samples first … first+n−1 of a seed, n×d, with the score of each worker: sample i is a
	// function of the seed, i, the prior and the score alone. failed (n) is set for samples that are lost.
	Generate(ctx context.Context, dst []float64, failed []bool, first, seed uint64,
		prior Prior, scores func(worker int) Score) (Report, error)
	// Ends returns the states, m×d, in which training's way of noising leaves the points
	// x0 (n×d), but for those that failed.
	Ends(ctx context.Context, x0 []float64, seed, refresh uint64) ([]float64, error)
	// NewTrace makes a trace of how far states are from Σ on the way; nil: the sampler tells nothing of its steps.
	// Watch has Generate add to a trace, until it is given another one or nil: then nothing is gathered.
	NewTrace() *Trace
	Watch(t *Trace)
}

// Capabilities are what a Method may be able to do or say; what is nil or 0 it cannot.
type Capabilities struct {
	// Follows is the process of package langevin whose paths, forward and backward, are the method's: what is known of
	// the process holds of the method.
	Follows *langevin.Process
	// Noising is the process of package langevin by which the method noises points, on Σ or in the space around it.
	Noising *langevin.Process
	// Start says where, as far as what its network reads tells, a path began: b and v of score.Reading.Start. Nil: that
	// of Noising.
	Start func() func(t float64) (b, v float64)
	// Horizon is the end of the method's times, where it is another than the process's.
	Horizon float64

	// With returns the method that draws a sample in this number of evaluations. The error is a *ConfigError.
	With func(evaluations int) (Method, error)
	// Redraw returns the method that generates by another process than the one its network was trained by, and in all
	// else is the receiver. The error is a *langevin.ConfigError: what of p takes another training.
	Redraw func(p *langevin.Process) (Method, error)
	// Recast replaces Redraw for a method whose network serves other methods too. It returns the method that generates
	// as `by` does; a problem with other keys of generation makes `by`. The error is a *langevin.ConfigError.
	Recast func(by Method) (Method, error)
}

// Leaves reports whether m noises points of a set in a way that leaves the set, so that no law on Σ
// is one to begin with.
func Leaves(m Method, s constraint.Set) bool {
	p := m.Capabilities().Noising
	return p != nil && fewer(p.Set, s)
}

// A Trace is how far generated states are from Σ, step by step.
type Trace = langevin.Trace

// A Report is what a Source or a Sampler counts.
type Report struct {
	Failed     int       // items or samples
	Worst      []float64 // largest violation of each component on the way
	Iterations int       // of Newton's method, or of Programs, in all
	Bounces    Bounces   // off elastic walls
	Programs   Programs  // within steps

	Broken int   // of the failed, those whose simulation broke down
	Break  error // the first of them, and where; nil if there is none
}

// Told is what a simulator of package langevin counted, as a Source or a Sampler tells it.
func Told(r langevin.Report) Report {
	out := Report{Failed: r.Failed, Worst: r.Worst, Iterations: r.NewtonIterations, Bounces: r.Bounces,
		Broken: r.Broken}
	if r.Break != nil {
		out.Break = r.Break
	}
	return out
}

// Shared returns a share of n paths, at least some; a share of 0 is all.
func Shared(n int, share float64, least int) int {
	if share == 0 {
		return n
	}
	return max(min(n, least), int(share*float64(n)))
}

// Ends are those of the forward paths of a simulator, as Sampler has them.
func Ends(ctx context.Context, sim *langevin.Simulator, x0 []float64, seed, refresh uint64) ([]float64, error) {
	ends, err := sim.EmpiricalPrior(ctx, x0, seed, refresh)
	if errors.As(err, new(*langevin.PriorError)) { // all failed
		err = nil
	}
	return ends.States, err
}

// Programs count points that a method brought to Σ by a program of optimisation within its steps.
type Programs struct {
	Points     int `json:"points"`
	Iterations int `json:"iterations"`
	Failed     int `json:"failed"` // points that it found none for; a sample is lost only where it ends so
}

// Add adds o's counts.
func (p *Programs) Add(o Programs) {
	p.Points += o.Points
	p.Iterations += o.Iterations
	p.Failed += o.Failed
}

// Bounces count what elastic walls did.
type Bounces = langevin.Bounces

// A Prior writes the state that one sample begins with: a function of (s, sample) alone.
type Prior = langevin.Prior

// A Score is a network read as one, such as a score.Field. One goroutine uses it at a time.
type Score = langevin.Score

// A Kind is a method by name: what a row of the registry holds.
type Kind struct {
	Name    string // in any case
	Alias   string // another name, or ""
	Options []score.Option
	// Forward returns the process of package langevin by which the method noises points, of a problem's process, on the
	// problem's set or another: what rules say of processes then holds of the method. Nil: it has a way of its own.
	Forward func(langevin.Process) langevin.Process
	// Steps is process.steps of a problem that says nothing of it; 0 is that of all.
	Steps int
	// Kept is how many points it keeps of the path of an item; 0 is one a step, and the start.
	Kept int
	// Idle are the fields of Config, and of its Process, that mean nothing to the method; Prior is that of generation.
	Idle []string
	// Velocity is of methods whose network learns a velocity at times from 0 to 1.
	Velocity bool
	// Draws is of methods whose network draws where a path began, of some of its states: levels, whose
	// spreads the options coarse and fine say.
	Draws bool
	// New makes the method. It is given every option. The error is a *ConfigError.
	New func(Config) (Method, error)
}

// Make makes the method that c describes, whatever its name there. Errors are *score.OptionError and *ConfigError.
func (k Kind) Make(c Config) (m Method, err error) {
	if c.Options, err = c.Options.Resolve(k.Name, k.Options); err != nil {
		return nil, err
	}
	return k.New(c)
}

// Leaves is as Leaves says of a method of this kind.
func (k Kind) Leaves(p *langevin.Process) bool {
	return k.Forward != nil && fewer(k.Forward(*p).Set, p.Set)
}

// fewer reports whether a has fewer components than b.
func fewer(a, b constraint.Set) bool {
	return len(constraint.Components(a)) < len(constraint.Components(b))
}

// A Config describes a method to be made. What means nothing to a method it ignores; what it cannot do it refuses.
type Config struct {
	Name string
	// Process has the set, the schedule and the constants of the problem. Its Method is
	// that of the Kind's Forward, or the zero one without.
	Process *langevin.Process
	Window  float64 // as in cwpm.Options
	Paths   int     // as in pathmatch.Options
	Share   float64 // as in pathmatch.Options
	Output  string  // plain, scaled or balanced, as in pathmatch.Options
	Options score.Options
}

// A ConfigError says which field of Config, or of its process, a method cannot do with.
type ConfigError = langevin.ConfigError

// Turns say which rows of data a Source takes, where it takes fewer at a time than there are. All rows stand in a
// random order, in another one each round; refresh r of p rows takes the places rp to rp + p − 1, and what is beyond
// the end is of the next round. So every row has as many turns as any other, but for one. The zero value is ready.
type Turns struct {
	order []int
	round uint64 // that order is of, plus one; 0: of none
	of    uint64 // the seed of the order
	index []int
}

// Of returns the numbers of the rows, items of them, whose turn it is. They are valid until the next call.
func (t *Turns) Of(rows, items int, seed, refresh uint64) []int {
	t.index = t.index[:0]
	if items == rows {
		for i := range rows {
			t.index = append(t.index, i)
		}
		return t.index
	}
	if len(t.order) != rows || t.of != seed {
		t.order, t.round, t.of = make([]int, rows), 0, seed
	}
	n, p := uint64(rows), uint64(items)
	for at := refresh * p; at < refresh*p+p; at++ {
		if round := at / n; t.round != round+1 {
			keyed.PathRows.Stream(seed, round).Permutation(t.order, 0, 0)
			t.round = round + 1
		}
		t.index = append(t.index, t.order[at%n])
	}
	return t.index
}
