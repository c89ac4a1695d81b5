package domain

import (
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/judge/metric"
)

// A Distance is one between sets of points by what is counted of them. It compares marks: numbers, Dim of them a point,
// that say in which cells it is, so that a point is looked up once.
type Distance struct {
	Name, Note string // what it is; how it is taken
	Dim        int
	Marks      func(x []float64) []float64

	// Compare returns the distance between points given by their marks. If the distance has parts, it is their mean,
	// and they follow.
	Compare func(a, b []float64) []float64
	Parts   []string // their names
}

// floorDraws is how many sets of draws from the training rows a floor is taken over.
const floorDraws = 20

// A Reference is the data that points are compared with.
type Reference struct {
	*Distance
	Full, Train, HeldOut []float64 // marks
}

// Against returns the reference of data: all rows, those of training and those held out of it.
func (d *Distance) Against(full, train, heldOut []float64) *Reference {
	return &Reference{d, d.Marks(full), d.Marks(train), d.Marks(heldOut)}
}

// Between returns the distance between points given by their marks.
func (d *Distance) Between(a, b []float64) float64 { return d.Compare(a, b)[0] }

// To returns the distance of the points x to all data.
func (r *Reference) To(x []float64) metric.Float { return metric.Float(r.Between(r.Marks(x), r.Full)) }

// Score returns the distance of points, given by their marks, to the data, and that of each part. Floors are those of
// as many draws from the training rows, and Law is that of as many new draws of their law: functions of the seed.
func (r *Reference) Score(marks []float64, seed uint64) (whole metric.Score, parts []metric.Score) {
	n := len(marks) / r.Dim
	scores := make([]metric.Score, 1+len(r.Parts))
	floors, law := r.floors(r.Full, n, seed), metric.NewDraws(r.Full, r.Dim, n, seed, r.Compare)
	for k, v := range r.Compare(marks, r.Full) {
		scores[k] = metric.Score{Full: metric.Float(v), Floor: floors[k], HeldOut: metric.NaN, HeldOutFloor: metric.NaN,
			Law: law[k]}
	}
	if len(r.HeldOut) > 0 {
		floors := r.floors(r.HeldOut, n, seed)
		for k, v := range r.Compare(marks, r.HeldOut) {
			scores[k].HeldOut, scores[k].HeldOutFloor = metric.Float(v), floors[k].Mean
		}
	}
	return scores[0], scores[1:]
}

// floors returns the noise floors of the distance to data and of its parts, of n points.
func (r *Reference) floors(data []float64, n int, seed uint64) []metric.Floor {
	each := make([][]float64, 1+len(r.Parts))
	metric.NoiseFloor(r.Train, r.Dim, n, floorDraws, seed, func(y []float64) float64 {
		all := r.Compare(y, data)
		for k, v := range all {
			each[k] = append(each[k], v)
		}
		return all[0]
	})
	out := make([]metric.Floor, len(each))
	for k, v := range each {
		out[k] = metric.NewFloor(v)
	}
	return out
}

// draw returns the marks of n training rows, drawn with replacement: those of the first
// set of draws of a floor. They are nil if there is nothing to draw.
func (r *Reference) draw(n int, seed uint64) []float64 {
	rows := len(r.Train) / r.Dim
	if n == 0 || rows == 0 {
		return nil
	}
	out := make([]float64, 0, n*r.Dim)
	stream := keyed.FloorDraws.Stream(seed, 0)
	for i := range n {
		at := stream.Index(rows, uint64(i), 0)
		out = append(out, r.Train[at*r.Dim:(at+1)*r.Dim]...)
	}
	return out
}
