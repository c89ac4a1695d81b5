package experiment

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/keyed"
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
	Metric       string `json:"metric"`
	Full         Float  `json:"full"`     // against all data, training rows included, as the paper does
	HeldOut      Float  `json:"held_out"` // against validation and test rows
	Floor        Float  `json:"floor"`    // as many draws from the training rows, against all data: mean
	FloorSD      Float  `json:"floor_sd"`
	HeldOutFloor Float  `json:"held_out_floor"` // the same draws against the held-out rows
	Uniform      Float  `json:"uniform"`        // uniform samples against all data; null without a sampler

	Parts map[string]Float `json:"parts,omitempty"` // of Full, where it is a mean over several statistics
}

// Worst sums up all components.
type Worst struct {
	Worst Float `json:"worst"` // largest violation of any component
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
		Nearest: Nearest{Float(nan), Float(nan), Float(nan), Float(nan), Float(nan)}, TwoSample: TwoSample{Float(nan), Float(nan), Float(nan), Float(nan), 0, 0},
		Seconds: Seconds{Float(state.Seconds), Float(state.Simulated), Float(s.Time.Seconds())},
	}
	n := len(x) / d
	if n == 0 {
		return v, nil
	}
	components, err := e.CheckViolation(s)
	for _, c := range components {
		v.Component = append(v.Component, Component{c.Component, Float(c.Worst), c.WorstSample, Float(c.Mean), Float(c.Median), Float(c.Q90), Float(c.Q99)})
		v.Violation.Worst = max(v.Violation.Worst, Float(c.Worst))
	}
	v.Violation.Mean = Float(metric.MeanLargest(e.excess(x)))
	if h := e.histogram; h != nil {
		full := func(y []float64) float64 { return h.compare(y, h.full) }
		held := func(y []float64) float64 { return h.compare(y, h.heldOut) }
		marks := h.marks(x)
		floor := metric.NoiseFloor(h.train, h.dim, n, floorDraws, e.Problem.Seed, full)
		v.JSD = &JSD{Metric: h.Name, Full: Float(full(marks)), Floor: Float(floor.Mean), FloorSD: Float(floor.SD), HeldOut: Float(nan), HeldOutFloor: Float(nan), Uniform: Float(nan), Parts: e.parts(x)}
		if u, ok := e.Process.Set.(constraint.UniformSampler); ok {
			y, stream := make([]float64, n*d), keyed.New(e.Problem.Seed, keyed.Evaluation, 1<<33)
			e.eachBlock(n, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					u.SampleUniform(y[i*d:(i+1)*d], stream, uint64(i))
				}
			})
			v.JSD.Uniform = Float(full(h.marks(y)))
		}
		if len(e.heldOut) > 0 {
			v.JSD.HeldOut = Float(held(marks))
			v.JSD.HeldOutFloor = Float(metric.NoiseFloor(h.train, h.dim, n, floorDraws, e.Problem.Seed, held).Mean)
		}
	}
	if len(e.heldOut) > 0 {
		c := metric.CountCopies(x, e.heldOut, e.train, d)
		v.Nearest = Nearest{Float(c.Samples.Median), Float(c.HeldOut.Median), Float(c.Ratio), Float(c.Copied), Float(c.Repeated)}
		t := metric.EnergyTest(x, e.heldOut, d, testPoints, permutations, e.Problem.Seed)
		v.TwoSample = TwoSample{Float(t.Statistic), Float(t.Floor.Mean), Float(t.Floor.SD), Float(t.PValue), t.N, t.M}
	}
	return v, err
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
