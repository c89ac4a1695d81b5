package metric

// CopyDistance is the distance below which a sample counts as a copy of a
// training row.
const CopyDistance = 1e-6

// Copies compares how close the samples and the held-out rows, which were not
// trained on, come to the training rows. A perfect model's samples are as far
// away as held-out rows are; a memoriser's are on top of them.
type Copies struct {
	Samples Quantiles // distances of samples to their nearest training row
	HeldOut Quantiles // the same of held-out rows

	// Ratio is Samples.Median / HeldOut.Median: 1 for a perfect model, near 0
	// for a memoriser, above 1 for one that blurs. NaN if both are 0.
	Ratio float64

	// Copied is the share of samples within CopyDistance of a training row, and
	// Repeated that of held-out rows: data may itself repeat places, and only
	// the excess of Copied over Repeated is the model's.
	Copied, Repeated float64
}

// CountCopies measures points of dimension d in the Euclidean distance. Each
// of the three sets must have at least one point.
func CountCopies(samples, heldOut, train []float64, d int) Copies {
	s := NearestDistances(nil, samples, train, d)
	h := NearestDistances(nil, heldOut, train, d)
	c := Copies{
		Samples:  Summary(s),
		HeldOut:  Summary(h),
		Copied:   shareBelow(s, CopyDistance),
		Repeated: shareBelow(h, CopyDistance),
	}
	c.Ratio = c.Samples.Median / c.HeldOut.Median
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
