package check

import (
	"fmt"

	"github.com/landing-diffusion/landing/problem/discover"
)

// repeats counts rows that equal an earlier one. A few are of no harm.
func repeats(e *Evidence) []Finding {
	const few = 0.01
	r := discover.Duplicates(e.Data, len(e.Data)/e.D, e.D)
	if r.Count == 0 {
		return nil
	}
	share := float64(r.Count) / float64(r.Looked)
	f := Finding{Numbers: Numbers{"repeated": share, "first_row": float64(r.First[0][0])}, Message: fmt.Sprintf(
		"%d of %d rows equal an earlier one, as row %d does row %d", r.Count, r.Looked, r.First[0][0], r.First[0][1])}
	if share > few {
		f.add(Warn, ": rows that are held out may be copies of rows to train on, and then distances to them do not "+
			"tell what was learned by heart")
	}
	return []Finding{f}
}
