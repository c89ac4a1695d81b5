package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Course is how training went.
type Course struct {
	Epochs, Planned int       // trained, and to be trained; Planned is 0 if it is not known
	Rate, Highest   float64   // learning rate: of the last epoch, and of that where it was highest
	Distances       []float64 // to the data, of evaluations in their order; NaN: none

	Chosen bool // held-out rows took these weights, of all epochs: neither rate nor distances say more
	Open   bool // it was stopped before held-out rows had ended it
}

const (
	annealed     = 0.1  // of the highest learning rate: up to it, it has fallen,
	lastEpochs   = 3    // or to that of so many epochs before the end of a fall over all of them
	trendLeast   = 6    // evaluations
	trendLevel   = 0.05 // of a trend by chance
	trendSmaller = 0.02 // relative fall that is none
)

// course tells that training ended early, where the law of samples is off: it is no test, for a good law needs no
// longer training. Its effect is that part of the law's which the fall of distances promises.
func (j *judge) course(law float64) {
	c := j.Course
	if c == nil || c.Epochs == 0 {
		j.skip(TooShort, "how training went is not known")
		return
	}
	if law == 0 && !j.lawFound() {
		return
	}
	var why []string
	if c.Planned > c.Epochs {
		why = append(why, fmt.Sprintf("it was stopped after %d of %d epochs", c.Epochs, c.Planned))
	}
	if c.Open {
		why = append(why, fmt.Sprintf("it was stopped after %d epochs, before held-out rows ended it", c.Epochs))
	}
	if !c.Chosen && c.Rate > max(annealed, lastEpochs/float64(c.Epochs))*c.Highest {
		why = append(why, fmt.Sprintf("the learning rate was not brought down: it ended at %.2g of its highest",
			c.Rate/c.Highest))
	}
	fall, p := c.Trend()
	if !c.Chosen && fall > trendSmaller && p <= trendLevel {
		why = append(why, fmt.Sprintf("distances to the data still fell, by %.0f %% over the later half of evaluations",
			100*fall))
	} else {
		fall = 0
	}
	if why == nil {
		return
	}
	j.tell(TooShort, law*min(1, fall), "training was too short: %s", strings.Join(why, "; "))
}

func (j *judge) lawFound() bool {
	return slices.ContainsFunc(j.found, func(f Finding) bool { return slices.Contains(ofLaw, f.Code) })
}

// Trend returns by which part of themselves distances fell over the later half of evaluations, and the p-value of a
// fall by chance (Mann's test: Kendall's S against the normal law). The fall is NaN of fewer than six.
func (c *Course) Trend() (fall, p float64) {
	v := finite(c.Distances[len(c.Distances)/2:])
	n := len(v)
	if n < trendLeast {
		return math.NaN(), math.NaN()
	}
	s := 0.0
	for i := range v {
		for k := range i {
			s += float64(cmp.Compare(v[k], v[i]))
		}
	}
	k := float64(n)
	z := (s - 1) / math.Sqrt(k*(k-1)*(2*k+5)/18)
	third := max(1, n/3)
	early, late := 0.0, 0.0
	for i := range third {
		early, late = early+v[i], late+v[n-1-i]
	}
	return 1 - late/early, math.Erfc(z/math.Sqrt2) / 2
}
