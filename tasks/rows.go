package tasks

import (
	"io"

	"github.com/landing-diffusion/landing/arrayfile"
)

// RowsFile is the file of a unit's rows, float64, n×d; those that failed are NaN.
const RowsFile = "rows.npy"

// blockNumbers is how many numbers of rows are made at a time: 16 MB of them.
const blockNumbers = 1 << 21

// writeRows writes the rows of a unit, of d numbers each, which makes fills in from a number on, some at a time; it
// returns how many of them failed.
func (j *Job) writeRows(r Range, d int, fill func(x []float64, first uint64) (failed int, err error)) (Rows, error) {
	out := Rows{Dim: d}
	var fault error
	rows := arrayfile.Rows{N: int(r.Count), D: d, Blocks: func(yield func([]float64) bool) {
		block := make([]float64, int(min(r.Count, uint64(max(blockNumbers/d, 1))))*d)
		for done := uint64(0); done < r.Count; {
			x := block[:min(uint64(len(block)), (r.Count-done)*uint64(d))]
			failed, err := fill(x, r.First+done)
			if fault = err; fault != nil {
				return
			}
			out.Failed += uint64(failed)
			if !yield(x) {
				return
			}
			done += uint64(len(x) / d)
			j.Tick(done, r.Count)
		}
	}}
	err := j.Write(RowsFile, func(w io.Writer) error {
		if err := arrayfile.EncodeNPYRows(w, []int{rows.N, d}, rows); fault == nil {
			return err
		}
		return fault // and so what the writer misses is no news
	})
	return out, err
}
