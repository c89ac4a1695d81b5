package superpose

import (
	"fmt"
	"math"
)

// A DegenerateError says that no rotation of a frame onto the reference is nearest.
type DegenerateError struct{ Frame int }

func (e *DegenerateError) Error() string {
	return fmt.Sprintf("frame %d (from 0) has no alignment to the reference: its atoms lie on one line, or it is as "+
		"near to the reference's mirror image", e.Frame)
}

// Check returns a *DegenerateError that names the first of the frames, n×A×3, without an alignment to the reference.
func (r *Reference) Check(frames []float64) error {
	w := len(r.y)
	for i := 0; (i+1)*w <= len(frames); i++ {
		if p := r.Fit(frames[i*w : (i+1)*w]); p.Degenerate() {
			return &DegenerateError{i}
		}
	}
	return nil
}

// meanSteps is how often the mean shape is made again; it settles after two or three.
const meanSteps = 5

// Central returns the number of the frame that is nearest to the mean shape of the frames, n×A×3, by RMSD: the first of
// several. The mean shape is that of the frames laid on it (generalised Procrustes analysis without scaling), begun
// with the first frame that can be a reference; frames without an alignment do not count. The error is that of New for
// the last frame, if none can be one.
func Central(frames []float64, atoms int) (int, error) {
	w := 3 * atoms
	if w == 0 || len(frames) < w || len(frames)%w != 0 {
		panic(fmt.Sprintf("superpose: %d numbers for frames of %d atoms", len(frames), atoms))
	}
	n := len(frames) / w
	mean, err := New(frames[:w])
	for i := 1; err != nil && i < n; i++ {
		mean, err = New(frames[i*w : (i+1)*w])
	}
	if err != nil {
		return 0, err
	}
	sum, laid := make([]float64, w), make([]float64, w)
	for range meanSteps {
		clear(sum)
		count := 0.0
		for i := range n {
			x := frames[i*w : (i+1)*w]
			p := mean.Fit(x)
			if p.Degenerate() {
				continue
			}
			p.Apply(laid, x)
			for j, v := range laid {
				sum[j] += v
			}
			count++
		}
		for j := range sum {
			sum[j] /= count
		}
		next, err := New(sum)
		if err != nil { // the frames average out: any of them will do as well
			break
		}
		mean = next
	}
	nearest, least := -1, math.Inf(1)
	for i := range n {
		x := frames[i*w : (i+1)*w]
		if d := mean.RMSD(x); d < least {
			if _, err = New(x); err == nil {
				nearest, least = i, d
			}
		}
	}
	if nearest < 0 {
		return 0, err
	}
	return nearest, nil
}
