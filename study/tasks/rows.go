package tasks

import (
	"io"

	"github.com/landing-diffusion/landing/base/arrayfile"
)

// RowsFile is the file of a unit's rows, float64, n×d; those that failed are NaN.
const RowsFile = "rows.npy"

// blockNumbers is how many numbers of rows are made at a time: 16 MB of them.
const blockNumbers = 1 << 21

// writeRows writes rows of d numbers each, which fill makes some at a time, from row number first on; fill returns how
// many of them failed.
func (m *making) writeRows(d int, fill func(x []float64, first uint64) (failed int, err error)) (Rows, error) {
	out := Rows{Dim: d}
	var fault error
	rows := arrayfile.Rows{N: int(m.Count), D: d, Blocks: func(yield func([]float64) bool) {
		block := make([]float64, int(min(m.Count, uint64(max(blockNumbers/d, 1))))*d)
		for done := uint64(0); done < m.Count; {
			x := block[:min(uint64(len(block)), (m.Count-done)*uint64(d))]
			failed, err := fill(x, m.First+done)
			if fault = err; fault != nil {
				return
			}
			out.Failed += uint64(failed)
			if !yield(x) {
				return
			}
			done += uint64(len(x) / d)
			m.tick(done, m.Count)
		}
	}}
	err := m.write(RowsFile, func(w io.Writer) error {
		if err := arrayfile.EncodeNPYRows(w, []int{rows.N, d}, rows); fault == nil {
			return err
		}
		return fault // and so what the writer misses is no news
	})
	return out, err
}
