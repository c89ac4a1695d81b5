package tasks

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment"
)

// forwardKind is states of forward paths from the training rows of a run's problem, by number.
const forwardKind = "forward"

// ForwardOptions say which paths are simulated.
type ForwardOptions struct {
	Count uint64
	Step  int     // k of the states x_k; −1: the last, N
	Seed  *uint64 // nil: the run's
}

// ahead is what parts of forward paths share.
type ahead struct {
	Seed uint64 `json:"seed"`
	Step int    `json:"step"`
}

// Forward returns forward paths of a run's problem as a list: path i begins at a training row, and is a function of the
// seed, the number of paths and i. With the run's seed their ends are those that an empirical prior is made of. Errors
// are *problem.KeyError and *TaskError.
func Forward(r *experiment.Run, o ForwardOptions) (*List, error) {
	if o.Count < 1 || o.Count > MaxRows {
		return nil, &TaskError{"forward", fmt.Sprintf("%d paths; expected 1 to %d", o.Count, uint64(MaxRows))}
	}
	paths, err := experiment.NewAhead(r.Loaded, o.Count)
	if err != nil {
		return nil, err
	}
	t := ahead{Seed: r.Problem.Seed, Step: o.Step}
	if o.Seed != nil {
		t.Seed = *o.Seed
	}
	switch n := paths.Steps(); {
	case t.Step == -1:
		t.Step = n
	case t.Step < 0 || t.Step > n:
		return nil, &TaskError{"forward", fmt.Sprintf("state %d; expected 0 to %d, the last of a path", o.Step, n)}
	}
	l := &List{Kind: forwardKind, Count: o.Count, task: t, rows: func(ctx context.Context, m *making) (any, error) {
		return m.writeRows(paths.Dim(), func(x []float64, first uint64) (int, error) {
			return paths.States(ctx, x, first, t.Step, t.Seed)
		})
	}}
	return l, l.folder(r, nil, r.Problem.Data.Path != "")
}

// joinForward writes states as an array.
func joinForward(_ context.Context, j *Joint) (*Form, error) {
	if ext := strings.ToLower(filepath.Ext(j.Out)); ext != ".npy" {
		return nil, refuse("%s: states of paths are written to .npy files", j.Out)
	}
	return &Form{Write: func(w io.Writer, rows arrayfile.Rows) error {
		return arrayfile.EncodeNPYRows(w, []int{rows.N, rows.D}, rows)
	}}, nil
}
