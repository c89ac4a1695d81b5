package metric

// CopyDistance is the distance below which a sample counts as a copy of a training row, in the spread of the training
// rows: their root mean square distance from their mean.
const CopyDistance = 1e-6

// Copies compares how close the samples and the held-out rows, which were not trained on, come to the training rows. A
// perfect model's samples are as far away as held-out rows are; a memoriser's are on top of them.
type Copies struct {
	Samples Float `json:"samples_median"`  // median distance of samples to their nearest training row
	HeldOut Float `json:"held_out_median"` // the same of held-out rows

	// Ratio is Samples / HeldOut: 1 for a perfect model, near 0 for a memoriser,
	// above 1 for one that blurs. NaN if both are 0.
	Ratio Float `json:"ratio"`

	// Copied is the share of samples within CopyDistance of a training row, and Repeated that of held-out rows: data
	// may itself repeat places, and only the excess of Copied over Repeated is the model's.
	Copied   Float `json:"copied"`
	Repeated Float `json:"repeated"`
}

// NoCopies is what is known of copies where nothing was measured.
func NoCopies() Copies { return Copies{NaN, NaN, NaN, NaN, NaN} }

// CountCopies measures points of dimension d in the Euclidean distance. Each
// of the three sets must have at least one point.
func CountCopies(samples, heldOut, train []float64, d int) Copies {
	_, spread := Spread(train, d)
	return CopiesAt(NearestDistances(nil, samples, train, d), NearestDistances(nil, heldOut, train, d), spread)
}

// CopiesAt is CountCopies of points at these distances from their nearest training rows, whose spread is
// given; 0, of rows that are one point, counts as 1.
func CopiesAt(s, h []float64, spread float64) Copies {
	bound := CopyDistance
	if spread > 0 {
		bound *= spread
	}
	c := Copies{
		Samples:  Float(median(s)),
		HeldOut:  Float(median(h)),
		Copied:   Float(shareBelow(s, bound)),
		Repeated: Float(shareBelow(h, bound)),
	}
	c.Ratio = c.Samples / c.HeldOut
	return c
}

// shareBelow returns the share of the numbers x that are less than bound.
func shareBelow(x []float64, bound float64) float64 {
	var n int
	for _, v := range x {
		if v < bound {
			n++
		}
	}
	return float64(n) / float64(len(x))
}
