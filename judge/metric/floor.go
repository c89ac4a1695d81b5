package metric

import (
	"fmt"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/base/keyed"
)

// Floor is the mean and standard deviation of a score over Draws repetitions.
type Floor struct {
	Mean  Float `json:"floor"`
	SD    Float `json:"floor_sd"`
	Draws int   `json:"-"`
}

// NewFloor returns the floor of scores.
func NewFloor(scores []float64) Floor {
	mean, sd := stat.MeanStdDev(scores, nil)
	return Floor{Float(mean), Float(sd), len(scores)}
}

// NoiseFloor returns what a perfect memoriser would score: it draws n rows uniformly with replacement from the points
// train of dimension d, scores them, and repeats this draws times, at least twice. A model that scores clearly above
// the floor misses something; one at the floor cannot be told from the training rows by this score.
//
// The slice given to score is n×d and is overwritten by the next draw. Draw k depends on seed and k only.
func NoiseFloor(train []float64, d, n, draws int, seed uint64, score func(sample []float64) float64) Floor {
	rows := rowsOf("NoiseFloor", train, d)
	if rows == 0 || n < 1 || draws < 2 {
		panic(fmt.Sprintf("metric: noise floor from %d draws of %d of %d rows", draws, n, rows))
	}
	sample := make([]float64, n*d)
	scores := make([]float64, draws)
	for k := range scores {
		stream := keyed.FloorDraws.Stream(seed, uint64(k))
		for i := range n {
			r := stream.Index(rows, uint64(i), 0)
			copy(sample[i*d:(i+1)*d], train[r*d:(r+1)*d])
		}
		scores[k] = score(sample)
	}
	return NewFloor(scores)
}
