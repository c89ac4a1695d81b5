package judge

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
)

// Start compares where forward paths from the training rows end with the prior
// that backward paths start from. What is above the floor no network makes good:
// the paths have not forgotten the data.
type Start struct {
	Prior    string       `json:"prior"`    // Prior.Kind
	Metric   string       `json:"metric"`   // the histogram's, else the energy distance
	Distance metric.Float `json:"distance"` // null for an empirical prior: it is made of such ends
	Floor    metric.Float `json:"floor"`    // two sets of draws of one law: mean
	FloorSD  metric.Float `json:"floor_sd"`
	PValue   metric.Float `json:"p_value"`           // of the energy test, which sees what a histogram may not
	Apart    metric.Float `json:"apart"`             // largest distance of distribution functions along a direction
	Paths    int          `json:"paths"`             // that did not fail; the prior gives as many draws
	Warning  string       `json:"warning,omitempty"` // where the energy test rejects the prior, with the remedy
}

// startAlarm is the p-value up to which the prior is rejected, the least that the test
// can give: one false alarm in a thousand.
var startAlarm = metric.Float(verdict.Level(verdict.StartLaw))

// Judge sets the warning.
func (s *Start) Judge() {
	if !(s.PValue <= startAlarm) {
		return
	}
	s.Warning = "generation starts where forward paths do not end, so the network never learned from there"
	if s.Prior == "uniform" || s.Prior == "chains" {
		s.Warning += "; --set prior=empirical, which takes no training, or a longer process.horizon mend it"
	}
}

// LikelihoodChange is by how many nats a likelihood may change from half as many steps without a warning.
const LikelihoodChange = 0.005

// A Likelihood is how likely a network holds test rows, by the measure of Σ: the mean over rows of
// minus the logarithm of the density, in nats.
type Likelihood struct {
	NLL     metric.Float `json:"nll"`     // null if the density of a row cannot be followed
	SE      metric.Float `json:"se"`      // standard error over rows; those that repeat count as others
	Uniform metric.Float `json:"uniform"` // of the uniform law
	Rows    int          `json:"rows"`
	Lost    int          `json:"lost"`   // of them, whose density cannot be followed
	Steps   int          `json:"steps"`  // of Runge and Kutta
	Change  metric.Float `json:"change"` // of NLL, from half as many
}

// String writes it for people, with a verdict where it is not exact.
func (l *Likelihood) String() string {
	if l.Lost > 0 {
		return fmt.Sprintf("not known: the density at %d of %d test points cannot be followed; longer training helps "+
			"a network that sends points away", l.Lost, l.Rows)
	}
	told := fmt.Sprintf("%.3f ± %.3f nats a point (%d test points; uniform law %.3f; %d steps, half as many change it "+
		"by %.1g)", l.NLL, l.SE, l.Rows, l.Uniform, l.Steps, l.Change)
	if math.Abs(float64(l.Change)) > LikelihoodChange {
		told += "; WARN: the steps are too long for more digits"
	}
	return told
}
