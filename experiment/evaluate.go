package experiment

import (
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/method"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/train"
	"github.com/landing-diffusion/landing/verdict"
)

// An Evaluation scores samples against the data.
type Evaluation struct {
	Run       string             `json:"run"`
	Verdict   verdict.Verdict    `json:"verdict"`
	Drawn     []problem.Drawn    `json:"drawn_by,omitempty"` // keys of generation that were set
	Epoch     int                `json:"epoch"`              // of the network
	Weights   string             `json:"weights,omitempty"`  // why of this epoch, where held-out distances chose it
	HeldOut   string             `json:"held_out,omitempty"` // which rows count as held out, where not all are
	Samples   int                `json:"samples"`            // asked for
	Failed    int                `json:"failed"`             // of them, lost to a projection or on a wrong component
	Wrong     int                `json:"wrong_component"`
	Broken    int                `json:"broken,omitempty"`   // of the failed, whose simulation broke down
	JSD       *JSD               `json:"jsd"`                // null where no histogram metric is defined
	Observed  *JSD               `json:"observed,omitempty"` // of what the problem observes beside a published distance
	Start     *Start             `json:"start"`              // of CompareStart; null where it was not asked
	Violation Worst              `json:"violation"`
	Component []metric.Violation `json:"components"`
	Families  []FamilyViolation  `json:"families,omitempty"`    // of components that are alike
	Findings  []domain.Finding   `json:"findings,omitempty"`    // of the kind of data
	Walls     []Wall             `json:"walls,omitempty"`       // of inequalities, samples held against the data
	Bounces   *method.Bounces    `json:"bounces,omitempty"`     // of all backward steps, where walls are elastic
	Programs  *method.Programs   `json:"programs,omitempty"`    // of optimisation within steps, where there are any
	Steps     *Steps             `json:"steps,omitempty"`       // of Diagnose
	Given     *Conditional       `json:"conditional,omitempty"` // under a condition
	NLL       *Likelihood        `json:"likelihood,omitempty"`  // of test rows, where a method knows it
	Nearest   metric.Copies      `json:"nearest"`
	TwoSample metric.TwoSample   `json:"two_sample"`          // of samples against held-out rows
	AllRows   metric.TwoSample   `json:"two_sample_all"`      // against all rows; the verdict's
	MMD       metric.TwoSample   `json:"mmd"`                 // of the same
	Network   metric.Float       `json:"network_evaluations"` // a sample; null where it is not known
	Seconds   Seconds            `json:"seconds"`

	begun int // samples that found no beginning under their condition
}

// JSD holds distances by histograms (natural logarithm), as Metric says: square
// roots of the Jensen–Shannon divergence, or the divergence itself.
type JSD struct {
	Metric string `json:"metric"`
	metric.Score
	Uniform metric.Float `json:"uniform"` // uniform samples against all data; null without a sampler
	Parts   []Part       `json:"parts,omitempty"`
}

// A Part is one of several statistics whose distances have JSD as their mean.
type Part struct {
	Name string `json:"name"`
	metric.Score
	Histogram *domain.Histogram `json:"histogram,omitempty"` // of an observable
}

// Worst sums up all components.
type Worst struct {
	Worst metric.Float `json:"worst"` // largest violation of any component; null if there is no sample
	Mean  metric.Float `json:"mean"`  // mean over samples of each sample's largest
}

// A FamilyViolation sums up components that are alike: over samples and components.
type FamilyViolation struct {
	metric.Violation
	Unit       string `json:"unit,omitempty"`
	Components int    `json:"components"`
	At         string `json:"at"` // the component that is violated most
}

// familyViolations sums up the violations of rows of points by the set's families.
func familyViolations(set constraint.Set, x []float64) (out []FamilyViolation) {
	families := set.Capabilities().Families
	if families == nil {
		return nil
	}
	excess, c := excess(set, x)
	names := constraint.Components(set)
	for _, f := range families {
		var all []float64
		for i := range len(x) / set.Dim() {
			for _, a := range f.Of {
				all = append(all, excess[i*c+a])
			}
		}
		v := metric.Violations([]string{f.Name}, all, len(all), 0)[0]
		at := names[f.Of[v.WorstSample%len(f.Of)]]
		v.WorstSample /= len(f.Of)
		out = append(out, FamilyViolation{v, f.Unit, len(f.Of), at})
	}
	return out
}

// Seconds is time spent.
type Seconds struct {
	Train    metric.Float `json:"train"`    // in all, simulation included
	Simulate metric.Float `json:"simulate"` // of it, forward paths
	Generate metric.Float `json:"generate"` // these samples
}

const (
	testPoints   = 1000 // at most, on each side of the two-sample test
	permutations = 999
	mmdFloor     = 99 // relabellings behind the floor of MMD
)

// Evaluate scores samples; state is that of their network, start of CompareStart, or
// nil. A *ViolationError, returned beside the evaluation, says that projected samples
// are not feasible to generate.max_violation.
func (r *Run) Evaluate(s *Samples, state train.State, start *Start) (*Evaluation, error) {
	x, d := s.Good(), s.Dim
	v := &Evaluation{
		Run: r.Folder.Dir, Epoch: state.Epoch, Samples: s.N(), Failed: s.Failed(), Wrong: s.Wrong, Broken: s.Broken,
		Start: start, Drawn: r.Drawn, Steps: s.Steps, begun: s.Begun, NLL: s.Likelihood,
		Violation: Worst{metric.NaN, metric.NaN}, Nearest: metric.NoCopies(), TwoSample: metric.NoTest(),
		AllRows: metric.NoTest(), MMD: metric.NoTest(), Network: metric.NaN,
		Seconds: Seconds{metric.Float(state.Seconds), metric.Float(state.Simulated), metric.Float(s.Time.Seconds())},
	}
	if r.Method.Capabilities().Follows != nil && r.Process.Elastic() {
		v.Bounces = &s.Bounces
	}
	if s.Programs.Points > 0 {
		v.Programs = &s.Programs
	}
	if w := r.Weights(); w != nil && w.Epoch == state.Epoch {
		v.Weights = w.Reason
	}
	if r.Problem.Train.HeldOut() {
		v.HeldOut = "test rows: the training was ended by the validation rows"
	}
	if s.Evaluated > 0 {
		v.Network = metric.Float(float64(s.Evaluated) / float64(s.N()))
	}
	n := len(x) / d
	if n == 0 {
		v.Verdict = r.verdict(v, points{}, nil)
		return v, nil
	}
	var err error
	var at points
	v.Component, err = r.CheckViolation(s)
	v.Violation.Worst = worstOf(v.Component).Worst
	v.Violation.Mean = metric.Float(metric.MeanLargest(excess(r.Process.Set, x)))
	v.Families = familyViolations(r.Process.Set, x)
	v.Walls = r.walls(x)
	for _, c := range []struct {
		by *compared
		to **JSD
	}{{r.distance, &v.JSD}, {r.observed, &v.Observed}} {
		if c.by == nil {
			continue
		}
		marks := c.by.Marks(x)
		*c.to = r.jsd(c.by, marks, n)
		at.observe(c.by, marks, *c.to, r.Condition != nil)
	}
	if r.Domain.Find != nil {
		v.Findings = r.Domain.Find(x)
	}
	at.samples, at.d = r.alone(x)
	laid := r.laid(x)
	if r.Condition == nil {
		at.rows, _ = r.alone(r.Data.X)
		v.AllRows = metric.EnergyTest(laid, r.laid(r.Data.X), d, testPoints, permutations, r.Problem.Seed)
	}
	if len(r.HeldOutRows) > 0 {
		held := r.laid(r.HeldOutRows)
		v.TwoSample = metric.EnergyTest(laid, held, d, testPoints, permutations, r.Problem.Seed)
		v.MMD = metric.MMDTest(laid, held, d, testPoints, mmdFloor, r.Problem.Seed)
		at.held, _ = r.alone(r.HeldOutRows)
		at.train, _ = r.alone(r.TrainRows)
		if r.Condition != nil { // samples have the conditions of these rows, each many times
			at.rows, v.AllRows = at.held, v.TwoSample
		}
		at.sampleNearest = metric.NearestDistances(nil, at.samples, at.train, at.d)
		at.heldNearest = metric.NearestDistances(nil, at.held, at.train, at.d)
		_, spread := metric.Spread(at.train, at.d)
		v.Nearest = metric.CopiesAt(at.sampleNearest, at.heldNearest, spread)
	}
	v.Given = r.conditional(s)
	v.Verdict = r.verdict(v, at, err)
	return v, err
}

// laid returns points as their distances in R^d are taken.
func (l *Loaded) laid(x []float64) []float64 {
	if l.Domain.Lay == nil {
		return x
	}
	return l.Domain.Lay(x)
}

// jsd returns the distances to the data of n points, given by their marks.
func (l *Loaded) jsd(ref *compared, marks []float64, n int) *JSD {
	out := ref.score(marks, l.Problem.Seed)
	if o := ref.observables; o != nil {
		for k, h := range o.Histograms(ref.Reference, marks, l.Problem.Seed) {
			out.Parts[k].Histogram = &h
		}
	}
	if prior, err := langevin.UniformPrior(l.Process); err == nil {
		d := l.Data.D
		out.Uniform = ref.To(langevin.SamplePrior(l.Pool, prior, d, keyed.UniformScore.Stream(l.Problem.Seed, 0), n))
	}
	return out
}

// score returns the distances of points, given by their marks, to the data.
func (c *compared) score(marks []float64, seed uint64) *JSD {
	whole, parts := c.Score(marks, seed)
	out := &JSD{Metric: c.Name, Score: whole, Uniform: metric.NaN}
	for k, name := range c.Parts {
		out.Parts = append(out.Parts, Part{Name: name, Score: parts[k]})
	}
	return out
}

// CheckViolation summarises the violations of the samples that did not fail, by
// component; samples are numbered with the failed ones. Beside them it returns a
// *ViolationError if samples are projected and not feasible to
// generate.max_violation, nor to round-off where the constraint's terms are large.
func (l *Loaded) CheckViolation(s *Samples) ([]metric.Violation, error) {
	var number []int // of each good row
	for i, lost := range s.Lost {
		if !lost {
			number = append(number, i)
		}
	}
	if len(number) == 0 {
		return nil, nil
	}
	components := violations(l.Process.Set, s.Good())
	limit, projected := l.Problem.Generate.MaxViolation, l.Method.Feasible()
	var err error
	for i := range components {
		c := &components[i]
		c.WorstSample = number[c.WorstSample]
		if worst := float64(c.Worst); limit > 0 && projected && worst > limit && err == nil {
			if row, worst := infeasible(l.Process.Set, s.Good(), i, limit); row >= 0 {
				err = &ViolationError{Component: c.Component, Sample: uint64(number[row]), Worst: worst, Limit: limit,
					Key: "generate.max_violation"}
			}
		}
	}
	return components, err
}

// roundoff is the violation that arithmetic may leave, in the terms of a constraint: what projections leave
// where these are of size 1.
const roundoff = 1e-13

// infeasible returns the row of x that violates a component by most of those that do so by more than limit, and by
// more than the round-off of its terms, Σ_j |x_j ∂_j c|; −1 if there is none. In a unit in which points are of
// size 10⁴, ‖x‖² = r² cannot be kept to 10⁻⁹.
func infeasible(set constraint.Set, x []float64, component int, limit float64) (row int, worst float64) {
	c, m, d := len(constraint.Components(set)), len(set.Equalities()), set.Dim()
	e, values := set.NewEvaluator(1), make([]float64, c)
	support, from := set.Capabilities().Support, component*d
	size := c * d
	if support != nil {
		size = 0
		for i, s := range support {
			if i == component {
				from = size
			}
			size += len(s)
		}
	}
	row, jac := -1, make([]float64, size)
	for i := range len(x) / d {
		xi := x[i*d : (i+1)*d]
		e.Values(values, xi, 1)
		v := constraint.Excess(values[component], component < m)
		if v <= limit || v <= worst {
			continue
		}
		terms := 0.0
		if support != nil {
			e.SparseJacobians(values, jac, xi, 1)
			for k, j := range support[component] {
				terms += math.Abs(jac[from+k] * xi[j])
			}
		} else {
			e.Jacobians(values, jac, xi, 1)
			for j, u := range jac[from : from+d] {
				terms += math.Abs(u * xi[j])
			}
		}
		if !(v <= roundoff*terms) {
			row, worst = i, v
		}
	}
	return row, worst
}

// Rounded returns the worst violation of samples as a file of the extension holds them,
// and whether it rounds their coordinates at all.
func (l *Loaded) Rounded(ext string, s *Samples) (worst metric.Violation, rounds bool) {
	return rounded(l.Domain, l.Process.Set, ext, s.Good())
}

// rounded is Rounded of points x, none or more.
func rounded(of *domain.Domain, set constraint.Set, ext string, x []float64) (worst metric.Violation, rounds bool) {
	round := of.Rounded[ext]
	if round == nil || len(x) == 0 {
		return worst, false
	}
	x = slices.Clone(x)
	for i, v := range x {
		x[i] = round(v)
	}
	return worstOf(violations(set, x)), true
}
