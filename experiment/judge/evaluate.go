package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
)

// An Evaluation scores samples against the data.
type Evaluation struct {
	Run       string             `json:"run"`
	Verdict   verdict.Verdict    `json:"verdict"`
	Drawn     []problem.Drawn    `json:"drawn_by,omitempty"` // keys of generation that were set
	Epoch     int                `json:"epoch"`              // of the network
	Weights   string             `json:"weights,omitempty"`  // why of this epoch, where held-out distances chose it
	Trained   *train.Cost        `json:"trained,omitempty"`  // what the training took in all; missing: not known
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
	Nearest   metric.Copies      `json:"nearest"`
	TwoSample metric.TwoSample   `json:"two_sample"`          // of samples against held-out rows
	AllRows   metric.TwoSample   `json:"two_sample_all"`      // against all rows; the verdict's
	MMD       metric.TwoSample   `json:"mmd"`                 // of the same
	Network   metric.Float       `json:"network_evaluations"` // a sample; null where it is not known
	Seconds   Seconds            `json:"seconds"`

	Begun int `json:"-"` // samples that found no beginning under their condition
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

// Scores are the scores of the parts; nil where there is no distance.
func (j *JSD) Scores() []metric.Score {
	if j == nil {
		return nil
	}
	var out []metric.Score
	for _, p := range j.Parts {
		out = append(out, p.Score)
	}
	return out
}

// Progress is an evaluation during training.
type Progress struct {
	Epoch       int          `json:"epoch"`
	Seconds     float64      `json:"seconds"`               // trained, without evaluations
	JSD         metric.Float `json:"jsd"`                   // against the full set; null where it is not defined
	Observables []Part       `json:"observables,omitempty"` // each with its floors
	Violation   metric.Float `json:"violation"`             // null if no sample was left
	Failed      int          `json:"failed"`
	Fault       string       `json:"fault,omitempty"` // why there are no samples: the simulation broke down
}

// Progress scores samples by a network during its training.
func (r *Reference) Progress(s *Samples, state train.State) Progress {
	p := Progress{Epoch: state.Epoch, Seconds: state.Seconds, JSD: metric.NaN, Violation: metric.NaN,
		Failed: s.Failed()}
	if s.Broken == s.N() {
		p.Fault = s.Break.Error()
	}
	good := s.Good()
	if len(good) == 0 {
		return p
	}
	p.JSD = r.DistanceTo(good)
	for _, c := range []*Compared{r.Distance, r.Observables} {
		if c != nil && c.Observables != nil {
			p.Observables = append(p.Observables, c.score(c.Marks(good), r.Problem.Seed).Parts...)
		}
	}
	p.Violation = Largest(Violations(r.Process.Set, good)).Worst
	return p
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
	excess, c := Excess(set, x)
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
	Train    metric.Float `json:"train"`    // of the epochs to these weights, simulation included
	Simulate metric.Float `json:"simulate"` // of it, forward paths
	Generate metric.Float `json:"generate"` // these samples
}

const mmdFloor = 99 // relabellings behind the floor of MMD

// About is what an evaluation says of the run that drew the samples.
type About struct {
	Name    string
	State   train.State     // of its network
	Weights string          // why those of this epoch, where held-out distances chose it
	Trained *train.Cost     // what the training took in all; nil: not known
	Drawn   []problem.Drawn // keys of generation that were set
	Start   *Start          // nil where it was not compared
	Course  *verdict.Course // of the training; nil where it is not known
	Chains  string          // what is wrong with the chains behind the prior; empty: nothing, or there are none
}

// Evaluate scores samples; remedy returns the remedy of a finding. Evaluate returns a *ViolationError beside the
// evaluation if projected samples are not feasible to generate.max_violation.
func (r *Reference) Evaluate(s *Samples, of About, remedy func(verdict.Code, *Evaluation) *verdict.Remedy) (
	*Evaluation, error) {
	v := &Evaluation{
		Run: of.Name, Epoch: of.State.Epoch, Samples: s.N(), Failed: s.Failed(), Wrong: s.Wrong, Broken: s.Broken,
		Start: of.Start, Drawn: of.Drawn, Weights: of.Weights, Trained: of.Trained,
		Steps: s.Steps, Begun: s.Begun,
		Violation: Worst{metric.NaN, metric.NaN}, Nearest: metric.NoCopies(), TwoSample: metric.NoTest(),
		AllRows: metric.NoTest(), MMD: metric.NoTest(), Network: metric.NaN,
		Seconds: Seconds{metric.Float(of.State.Seconds), metric.Float(of.State.Simulated),
			metric.Float(s.Time.Seconds())},
	}
	if r.Method.Capabilities().Follows != nil && r.Process.Elastic() {
		v.Bounces = &s.Bounces
	}
	if s.Programs.Points > 0 {
		v.Programs = &s.Programs
	}
	if r.Problem.Train.HeldOut() {
		v.HeldOut = "test rows: the training was ended by the validation rows"
	}
	if s.Evaluated > 0 {
		v.Network = metric.Float(float64(s.Evaluated) / float64(s.N()))
	}
	var e verdict.Evidence
	var off error
	if s.Failed() < s.N() {
		e, off = r.measure(v, s)
	}
	r.complete(&e, v, off, of)
	v.Verdict = verdict.Of(e)
	for i, f := range v.Verdict.Findings {
		v.Verdict.Findings[i].Remedy = remedy(f.Code, v)
	}
	return v, off
}

// measure fills in what the samples that are left say, and returns the rows and numbers that a verdict looks at. The
// error is that of CheckViolation.
func (r *Reference) measure(v *Evaluation, s *Samples) (e verdict.Evidence, off error) {
	x, d, n, seed := s.Good(), s.Dim, s.N()-s.Failed(), r.Problem.Seed
	v.Component, off = CheckViolation(r.Process.Set, s, r.Limit())
	v.Violation.Worst = Largest(v.Component).Worst
	v.Violation.Mean = metric.Float(metric.MeanLargest(Excess(r.Process.Set, x)))
	v.Families = familyViolations(r.Process.Set, x)
	v.Walls = r.Walls(x)
	for _, c := range []struct {
		by *Compared
		to **JSD
	}{{r.Distance, &v.JSD}, {r.Observables, &v.Observed}} {
		if c.by == nil {
			continue
		}
		marks := c.by.Marks(x)
		*c.to = r.Scores(c.by, marks, n)
		e.Numbers = append(e.Numbers, c.by.numbers(marks, *c.to, len(r.Given) > 0)...)
	}
	if r.Domain.Find != nil {
		v.Findings = r.Domain.Find(x)
	}
	e.Samples, e.Dim = r.Alone(x)
	e.Unit, e.PerUnit, e.Say = r.Points.Unit, r.Points.PerUnit, r.Points.Say
	e.Off = rowsOff(r.Process.Set, r.All, d)
	laid := r.Laid(x)
	if len(r.Given) == 0 {
		e.Rows, _ = r.Alone(r.All)
		v.AllRows = metric.EnergyTest(laid, r.Laid(r.All), d, settle.TestPoints, settle.Permutations, seed)
	}
	if len(r.HeldOut) > 0 {
		held := r.Laid(r.HeldOut)
		v.TwoSample = metric.EnergyTest(laid, held, d, settle.TestPoints, settle.Permutations, seed)
		v.MMD = metric.MMDTest(laid, held, d, settle.TestPoints, mmdFloor, seed)
		e.Held, _ = r.Alone(r.HeldOut)
		e.Train, _ = r.Alone(r.Train)
		if len(r.Given) > 0 { // samples have the conditions of these rows, each many times
			e.Rows, v.AllRows = e.Held, v.TwoSample
		}
		near := e.Samples
		if e.Rounded = metric.Snap(e.Samples, e.Train, e.Dim); e.Rounded != nil {
			near = e.Rounded
		}
		e.SampleNearest = metric.NearestDistances(near, e.Train, e.Dim)
		e.HeldNearest = metric.NearestDistances(e.Held, e.Train, e.Dim)
		_, spread := metric.Spread(e.Train, e.Dim)
		v.Nearest = metric.CopiesAt(e.SampleNearest, e.HeldNearest, spread)
	}
	v.Given = r.Conditional(s)
	return e, off
}

// rowsOff is how far rows are from a set, in the root mean square.
func rowsOff(set constraint.Set, x []float64, d int) float64 {
	const most = 500
	n := len(x) / d
	if set.Dim() != d || n == 0 {
		return 0
	}
	ruler, sum, count := geometry.NewRuler(set), 0.0, min(n, most)
	for k := range count {
		i := k * n / count
		step := ruler.Gap(x[i*d : (i+1)*d]).Step
		sum += step * step / float64(count)
	}
	return math.Sqrt(sum)
}

// CheckViolation summarises the violations of the samples that did not fail, by component; samples are numbered with
// the failed ones. Beside them it returns a *ViolationError if one is off the set by more than a limit above 0, and by
// more than round-off where the constraint's terms are large.
func CheckViolation(set constraint.Set, s *Samples, limit float64) ([]metric.Violation, error) {
	var number []int // of each good row
	for i, lost := range s.Lost {
		if !lost {
			number = append(number, i)
		}
	}
	if len(number) == 0 {
		return nil, nil
	}
	components := Violations(set, s.Good())
	var err error
	for i := range components {
		c := &components[i]
		c.WorstSample = number[c.WorstSample]
		if worst := float64(c.Worst); limit > 0 && worst > limit && err == nil {
			if row, worst := infeasible(set, s.Good(), i, limit); row >= 0 {
				err = &ViolationError{Component: c.Component, Sample: uint64(number[row]), Worst: worst, Limit: limit,
					Key: "generate.max_violation"}
			}
		}
	}
	return components, err
}

// Largest returns the component that is violated most, the first of equals.
func Largest(v []metric.Violation) (worst metric.Violation) {
	for _, c := range v {
		if c.Worst > worst.Worst {
			worst = c
		}
	}
	return worst
}

// Violations summarises how far the rows of x are from Σ, by component.
func Violations(set constraint.Set, x []float64) []metric.Violation {
	names, values := constraint.Components(set), constraint.Values(set, x)
	return metric.Violations(names, values, len(x)/set.Dim(), len(set.Equalities()))
}

// Excess returns how far each component is from being satisfied at the rows of x, and the number of components.
func Excess(set constraint.Set, x []float64) (excess []float64, components int) {
	names, values := constraint.Components(set), constraint.Values(set, x)
	metric.Excess(values, len(names), len(set.Equalities()))
	return values, len(names)
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

// Rounded returns the worst violation of points x, none or more, as a file of the extension holds them, and whether it
// rounds their coordinates at all.
func Rounded(of *domain.Domain, set constraint.Set, ext string, x []float64) (worst metric.Violation, rounds bool) {
	round := of.Rounded[ext]
	if round == nil || len(x) == 0 {
		return worst, false
	}
	x = slices.Clone(x)
	for i, v := range x {
		x[i] = round(v)
	}
	return Largest(Violations(set, x)), true
}

// numbers are the observables behind a distance, of points given by their marks beside all rows, or beside held-out
// ones alone.
func (c *Compared) numbers(marks []float64, scores *JSD, heldOut bool) (out []verdict.Number) {
	if c.Observables == nil {
		return nil
	}
	rows := c.Full
	if heldOut {
		rows = c.HeldOut
	}
	for k, part := range scores.Parts {
		of, period := c.Observables.List[k], 0.0
		if of.Circular {
			period = of.Hi - of.Lo
		}
		out = append(out, verdict.Number{Name: part.Name, Samples: metric.Column(marks, k, c.Dim),
			Rows: metric.Column(rows, k, c.Dim), Times: float64(part.Full / part.Floor.Mean),
			Close: of.Close, Period: period})
	}
	return out
}

// complete adds to the evidence what an evaluation says; off is the error of CheckViolation.
func (r *Reference) complete(e *verdict.Evidence, v *Evaluation, off error, of About) {
	e.Asked, e.Failed, e.Wrong, e.MaxFailed = v.Samples, v.Failed, v.Wrong, r.Problem.Generate.MaxFailed
	e.Energy, e.Seed, e.Course = v.AllRows, r.Problem.Seed, of.Course
	if off != nil {
		e.Violation = off.Error()
	} else if off := r.leftOff(v); off != "" {
		e.Violation = off
	}
	for _, w := range v.Walls {
		e.Walls = append(e.Walls, verdict.Wall{Says: w.differs("samples", "of the data"), Samples: float64(w.Samples),
			Data: float64(w.Reference), Differs: w.Warning != ""})
	}
	if t := v.Start; t != nil {
		e.Start = &verdict.Start{Prior: t.Prior, Paths: t.Paths, PValue: float64(t.PValue), Apart: float64(t.Apart)}
	}
	if g := v.Given; g != nil {
		e.Given = &verdict.Given{Test: g.Pairs, Samples: g.samples, Held: g.held, Dim: r.Dim}
		if n := g.Nearby; n != nil {
			e.Given.Nearby = &verdict.Retrieved{Rows: n.Rows, Distance: float64(n.Distance), PValue: float64(n.PValue)}
		}
	}
	for _, f := range v.Findings {
		if f.Warning {
			e.Kind = append(e.Kind, verdict.KindFault{Says: f.Verdict, Share: f.Share})
		}
	}
	if v.Start != nil && v.Start.Prior == "chains" {
		e.Chains = of.Chains
	}
}

// leftOff says that samples violate the set by more than generate.max_violation by a method that does not
// bring them to it; empty where it does, or where steps on the set were to be left as they end.
func (r *Reference) leftOff(v *Evaluation) string {
	worst, limit := Largest(v.Component), r.Problem.Generate.MaxViolation
	if r.Method.Feasible() || !method.Leaves(r.Method, r.Process.Set) || !(limit > 0 && float64(worst.Worst) > limit) {
		return ""
	}
	return fmt.Sprintf("samples are off the set: %s brings none to it; sample %d violates %q by %.3g", r.Method.Name(),
		worst.WorstSample, worst.Component, worst.Worst)
}

// A Reference is what samples are held against.
type Reference struct {
	Problem *problem.Problem // its seed and limits
	Process *langevin.Process
	Method  method.Method
	Domain  *domain.Domain // of points with their condition
	Points  *domain.Domain // of points alone; Domain where nothing is given
	Given   []string       // names of the condition, the last coordinates of points

	Dim                   int
	All, Train, HeldOut   []float64 // rows of data: n×Dim; none where the data is not there
	Distance, Observables *Compared // of the run, and of observables beside a published distance; nil: there are none
	Pool                  *parallel.Pool
}

// Compared is the data as a distance sees it.
type Compared struct {
	*domain.Reference
	Observables *domain.Observables // whose laws the parts of the distance compare; nil: it is another
	drawn       bool                // by the domain
}

// Compare makes the distances that rows of data are compared by: the domain's own distance is that of the run, and
// observables, or else the domain's if its distance is of something else, stand beside it; a domain without one is
// compared by observables, or else by the domain's.
func Compare(by *domain.Domain, observables *domain.Observables, all, train, heldOut []float64, d int,
	pool *parallel.Pool) (distance, beside *Compared, err error) {
	own := by.Distance
	if observables == nil && (own == nil || len(own.Parts) == 0) {
		observables = by.Observables
	}
	if own != nil {
		distance = &Compared{Reference: own.Against(all, train, heldOut), drawn: true}
		if of := by.Observables; of != nil && len(own.Parts) == len(of.List) {
			distance.Observables = of
		}
	}
	if observables == nil {
		return distance, nil, nil
	}
	if observables, err = observables.Over(all, d, pool); err != nil {
		return nil, nil, err
	}
	of := &Compared{Reference: observables.Distance(d, pool).Against(all, train, heldOut), Observables: observables}
	if own == nil {
		return of, nil, nil
	}
	return distance, of, nil
}

// DistanceTo returns the distance of points to all data; NaN where none is defined.
func (r *Reference) DistanceTo(x []float64) metric.Float {
	if r.Distance == nil || len(x) == 0 {
		return metric.NaN
	}
	return r.Distance.To(x)
}

// sceneRows bounds the rows of data that a scene shows.
const sceneRows = 2000

// Scene shows samples x on a canvas, as far as their kind has a view to turn, and with data some of its rows beside
// them.
func (r *Reference) Scene(c domain.Canvas, x []float64, data bool) {
	if r.Domain.Scene == nil {
		return
	}
	v := domain.View{Dim: r.Dim, Samples: x, Worst: metric.NaN, Seed: r.Problem.Seed}
	if data && len(r.All) > 0 {
		v.Data = langevin.Starts(r.All, v.Dim, min(sceneRows, len(r.All)/r.Dim))
	}
	r.Domain.Scene(c, v)
}

// Observed returns what is compared of points, with ranges, or what the problem observes beside it; nil if nothing
// is known of a point, or the data is not there.
func (r *Reference) Observed() *domain.Observables {
	switch {
	case r.Observables != nil:
		return r.Observables.Observables
	case r.Distance != nil:
		return r.Distance.Observables
	}
	return nil
}

// Laid returns points as their distances in R^d are taken.
func (r *Reference) Laid(x []float64) []float64 { return laid(r.Domain, x) }

func laid(by *domain.Domain, x []float64) []float64 {
	if by.Lay == nil {
		return x
	}
	return by.Lay(x)
}

// Alone returns points as they are compared with others without their condition, and their dimension.
func (r *Reference) Alone(x []float64) (points []float64, d int) {
	d = r.Dim - len(r.Given)
	if d == r.Dim {
		return r.Laid(x), d
	}
	points = make([]float64, 0, len(x))
	for ; len(x) > 0; x = x[r.Dim:] {
		points = append(points, x[:d]...)
	}
	return laid(r.Points, points), d
}

// Scores returns the distances to the data of n points, given by their marks.
func (r *Reference) Scores(by *Compared, marks []float64, n int) *JSD {
	out := by.score(marks, r.Problem.Seed)
	if o := by.Observables; o != nil {
		for k, h := range o.Histograms(by.Reference, marks, r.Problem.Seed) {
			out.Parts[k].Histogram = &h
		}
	}
	if prior, err := langevin.UniformPrior(r.Process); err == nil {
		out.Uniform = by.To(langevin.SamplePrior(r.Pool, prior, r.Dim, keyed.UniformScore.Stream(r.Problem.Seed, 0), n))
	}
	return out
}

// score returns the distances of points, given by their marks, to the data.
func (c *Compared) score(marks []float64, seed uint64) *JSD {
	whole, parts := c.Score(marks, seed)
	out := &JSD{Metric: c.Name, Score: whole, Uniform: metric.NaN}
	for k, name := range c.Parts {
		out.Parts = append(out.Parts, Part{Name: name, Score: parts[k]})
	}
	return out
}

// Draw shows the observables of points x, if it is they that are compared.
func (c *Compared) Draw(canvas domain.Canvas, x []float64, j *JSD, seed uint64) {
	if c != nil && c.Observables != nil && !c.drawn {
		c.Observables.Draw(canvas, c.Reference, c.Marks(x), j.Scores(), seed)
	}
}

// Limit is the largest violation that samples may have: 0, where any, if the method does not bring them to the set.
func (r *Reference) Limit() float64 {
	if !r.Method.Feasible() {
		return 0
	}
	return r.Problem.Generate.MaxViolation
}
