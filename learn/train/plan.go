package train

import (
	"fmt"
	"math"
)

// A Plan says when a training ends and how its learning rate falls until then: at epoch e,
// of which a fraction counts batches, the rate is multiplied by
//
//	Factor · min(1, (1 − e/Epochs) / Anneal),
//
// or by Factor where Anneal is 0. A plan of Factor 1 is what the keys train.epochs and
// train.anneal say, so it can be given by them.
type Plan struct {
	Epochs int     `json:"epochs"`
	Anneal float64 `json:"anneal"` // share of the epochs, the last, over which the rate falls linearly to 0
	Factor float64 `json:"factor"` // of the rate before it falls
}

// At returns the factor of the learning rate at an epoch.
func (p Plan) At(epoch float64) float64 {
	if p.Anneal == 0 {
		return p.Factor
	}
	return p.Factor * min(1, (1-epoch/float64(p.Epochs))/p.Anneal)
}

// Falling reports whether the rate has begun to fall after so many epochs.
func (p Plan) Falling(epoch int) bool { return p.At(float64(epoch)) < p.Factor }

// Until returns the plan of a training that goes by p and, after the given epoch, is to end at another one. Where the
// rate has not begun to fall, it falls over the same share of the epochs, or over all that are left if these are fewer:
// what was trained is what the new plan would have trained. Where it has, it goes on from where it is, linearly to 0.
func (p Plan) Until(epoch, epochs int) Plan {
	if epochs <= epoch { // no update comes after it
		return Plan{max(epoch, 1), 0, p.At(float64(epoch))}
	}
	if p.Anneal == 0 {
		return Plan{epochs, 0, p.Factor}
	}
	left := 1 - float64(epoch)/float64(epochs)
	if !p.Falling(epoch) {
		return Plan{epochs, min(p.Anneal, left), p.Factor}
	}
	return Plan{epochs, left, p.At(float64(epoch))}
}

// Validate returns an error unless a training can go by the plan. It is for plans from files.
func (p Plan) Validate() error {
	for _, v := range []struct {
		key       string
		value, lo float64
		hi        float64
	}{{"epochs", float64(p.Epochs), 1, maxCount}, {"anneal", p.Anneal, 0, 1}, {"factor", p.Factor, 0, 1}} {
		if math.IsNaN(v.value) || v.value < v.lo || v.value > v.hi {
			return fmt.Errorf("%s is %v; expected a number from %v to %g", v.key, v.value, v.lo, v.hi)
		}
	}
	return nil
}
