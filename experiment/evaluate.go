package experiment

import (
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/train"
)

// An Evaluation scores samples against the data.
type Evaluation struct {
	Run       string      `json:"run"`
	Epoch     int         `json:"epoch"`   // of the network
	Samples   int         `json:"samples"` // asked for
	Failed    int         `json:"failed"`  // of them, lost to a projection or on a wrong component
	Wrong     int         `json:"wrong_component"`
	JSD       *JSD        `json:"jsd"`   // null where no histogram metric is defined
	Start     *Start      `json:"start"` // of CompareStart; null where it was not asked
	Violation Worst       `json:"violation"`
	Component []Component `json:"components"`
	Nearest   Nearest     `json:"nearest"`
	TwoSample TwoSample   `json:"two_sample"`
	Seconds   Seconds     `json:"seconds"`
}

// JSD holds distances by histograms (natural logarithm), as Metric says: square
// roots of the Jensen–Shannon divergence, or the divergence itself.
type JSD struct {
	Metric string `json:"metric"`
	Score
	Uniform Float  `json:"uniform"` // uniform samples against all data; null without a sampler
	Parts   []Part `json:"parts,omitempty"`
}

// A Part is one of several statistics whose distances have JSD as their mean.
type Part struct {
	Name string `json:"name"`
	Score
}

// A Score is a distance of samples to the data, and what perfect copies of the
// training rows would score.
type Score struct {
	Full         Float `json:"full"`     // against all data, training rows included, as the paper does
	HeldOut      Float `json:"held_out"` // against validation and test rows
	Floor        Float `json:"floor"`    // as many draws from the training rows, against all data: mean
	FloorSD      Float `json:"floor_sd"`
	HeldOutFloor Float `json:"held_out_floor"` // the same draws against the held-out rows
}

// Worst sums up all components.
type Worst struct {
	Worst Float `json:"worst"` // largest violation of any component; null if there is no sample
	Mean  Float `json:"mean"`  // mean over samples of each sample's largest
}

// A Component is one constraint's violation over the samples: |h|, or max(g, 0).
type Component struct {
	Name   string `json:"name"`
	Worst  Float  `json:"worst"`
	Sample int    `json:"worst_sample"`
	Mean   Float  `json:"mean"`
	Median Float  `json:"median"`
	Q90    Float  `json:"q90"`
	Q99    Float  `json:"q99"`
}

// Nearest compares distances to the nearest training row: samples that are much
// nearer than held-out rows are copies.
type Nearest struct {
	Samples  Float `json:"samples_median"`
	HeldOut  Float `json:"held_out_median"`
	Ratio    Float `json:"ratio"`
	Copied   Float `json:"copied"`   // share of samples within 1e-6 of a training row
	Repeated Float `json:"repeated"` // the same share of held-out rows
}

// TwoSample is an energy-distance test of samples against held-out rows.
type TwoSample struct {
	Statistic Float `json:"statistic"`
	Floor     Float `json:"floor"` // the statistic of two samples of one law: mean
	FloorSD   Float `json:"floor_sd"`
	PValue    Float `json:"p_value"`
	Samples   int   `json:"samples"` // used
	HeldOut   int   `json:"held_out"`
}

// Seconds is time spent.
type Seconds struct {
	Train    Float `json:"train"`    // in all, simulation included
	Simulate Float `json:"simulate"` // of it, forward paths
	Generate Float `json:"generate"` // these samples
}

const (
	floorDraws   = 20
	testPoints   = 1000 // at most, on each side of the two-sample test
	permutations = 999
)

// Evaluate scores samples; state is that of their network. A *ViolationError,
// returned beside the evaluation, says that projected samples are not feasible
// to generate.max_violation.
func (e *Experiment) Evaluate(s *Samples, state train.State) (*Evaluation, error) {
	x, d := s.Good(), s.Dim
	v := &Evaluation{
		Run: e.Folder.Dir, Epoch: state.Epoch, Samples: s.N(), Failed: s.Failed(), Wrong: s.Wrong,
		Violation: Worst{Float(nan), Float(nan)},
		Nearest:   Nearest{Float(nan), Float(nan), Float(nan), Float(nan), Float(nan)}, TwoSample: TwoSample{Float(nan), Float(nan), Float(nan), Float(nan), 0, 0},
		Seconds: Seconds{Float(state.Seconds), Float(state.Simulated), Float(s.Time.Seconds())},
	}
	n := len(x) / d
	if n == 0 {
		return v, nil
	}
	components, err := e.CheckViolation(s)
	v.Violation.Worst = Float(worstOf(components).Worst)
	for _, c := range components {
		v.Component = append(v.Component, Component{c.Component, Float(c.Worst), c.WorstSample, Float(c.Mean), Float(c.Median), Float(c.Q90), Float(c.Q99)})
	}
	v.Violation.Mean = Float(metric.MeanLargest(e.excess(x)))
	v.JSD = e.jsd(x)
	if len(e.heldOut) > 0 {
		c := metric.CountCopies(x, e.heldOut, e.train, d)
		v.Nearest = Nearest{Float(c.Samples.Median), Float(c.HeldOut.Median), Float(c.Ratio), Float(c.Copied), Float(c.Repeated)}
		t := metric.EnergyTest(x, e.heldOut, d, testPoints, permutations, e.Problem.Seed)
		v.TwoSample = TwoSample{Float(t.Statistic), Float(t.Floor.Mean), Float(t.Floor.SD), Float(t.PValue), t.N, t.M}
	}
	return v, err
}

// jsd returns the distances of points by histograms, or nil where none is defined.
func (e *Experiment) jsd(x []float64) *JSD {
	h := e.histogram
	if h == nil {
		return nil
	}
	n, marks := len(x)/e.Process.Set.Dim(), h.marks(x)
	scores := make([]Score, 1+len(h.parts))
	floors := h.floors(h.full, n, e.Problem.Seed)
	for k, v := range h.compare(marks, h.full) {
		scores[k] = Score{Full: Float(v), Floor: Float(floors[k].Mean), FloorSD: Float(floors[k].SD), HeldOut: Float(nan), HeldOutFloor: Float(nan)}
	}
	if len(h.heldOut) > 0 {
		floors := h.floors(h.heldOut, n, e.Problem.Seed)
		for k, v := range h.compare(marks, h.heldOut) {
			scores[k].HeldOut, scores[k].HeldOutFloor = Float(v), Float(floors[k].Mean)
		}
	}
	out := &JSD{Metric: h.Name, Score: scores[0], Uniform: Float(nan)}
	for k, name := range h.parts {
		out.Parts = append(out.Parts, Part{name, scores[1+k]})
	}
	if prior, err := langevin.UniformPrior(e.Process); err == nil {
		out.Uniform = Float(h.distance(h.marks(e.draws(prior, keyed.UniformScore.Stream(e.Problem.Seed, 0), n)), h.full))
	}
	return out
}

// draws returns n draws of a prior.
func (e *Experiment) draws(prior langevin.Prior, st keyed.Stream, n int) []float64 {
	d := e.Process.Set.Dim()
	y := make([]float64, n*d)
	e.eachBlock(n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			prior.Sample(y[i*d:(i+1)*d], st, uint64(i))
		}
	})
	return y
}

// CheckViolation summarises the violations of the samples that did not fail, by
// component; samples are numbered with the failed ones. Beside them it returns a
// *ViolationError if samples are projected and not feasible to
// generate.max_violation.
func (e *Experiment) CheckViolation(s *Samples) ([]metric.Violation, error) {
	var number []int // of each good row
	for i, lost := range s.Lost {
		if !lost {
			number = append(number, i)
		}
	}
	if len(number) == 0 {
		return nil, nil
	}
	components := e.violations(s.Good())
	limit, projected := e.Problem.Generate.MaxViolation, e.Process.Terminal || e.Process.Method.Projected()
	var err error
	for i := range components {
		c := &components[i]
		c.WorstSample = number[c.WorstSample]
		if limit > 0 && projected && c.Worst > limit && err == nil {
			err = &ViolationError{Component: c.Component, Sample: c.WorstSample, Worst: c.Worst, Limit: limit, Key: "generate.max_violation"}
		}
	}
	return components, err
}
