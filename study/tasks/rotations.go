package tasks

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/dataset"
)

// rotationsKind is rotation matrices of a mixture, by number.
const rotationsKind = "data-so"

// mixture is what parts of rotations share.
type mixture struct {
	N     int     `json:"n"`
	Modes int     `json:"modes"`
	SD    float64 `json:"sd"`
	Seed  uint64  `json:"seed"`
}

func (m mixture) mix() dataset.RotationMixture {
	return dataset.RotationMixture{N: m.N, Modes: m.Modes, SD: m.SD, Count: 1, Seed: m.Seed}
}

// Rotations returns so many matrices of a mixture as a list; its Count is not looked at. Errors are those of its Rows,
// and *TaskError.
func Rotations(mix dataset.RotationMixture, count uint64) (*List, error) {
	if count < 1 || count > MaxRows {
		return nil, &TaskError{"data-so", fmt.Sprintf("%d matrices; expected 1 to %d", count, uint64(MaxRows))}
	}
	m := mixture{mix.N, mix.Modes, mix.SD, mix.Seed}
	draw, err := m.mix().Rows()
	if err != nil {
		return nil, err
	}
	d := m.N * m.N
	return &List{Kind: rotationsKind, Count: count, task: m, rows: func(ctx context.Context, to *making) (any, error) {
		return to.writeRows(d, func(x []float64, first uint64) (int, error) {
			for i := range uint64(len(x) / d) {
				if i%256 == 0 && ctx.Err() != nil {
					return 0, ctx.Err()
				}
				if _, err := draw(x[i*uint64(d):(i+1)*uint64(d)], first+i); err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
	}}, nil
}

// joinRotations writes matrices as an array of n×N×N.
func joinRotations(_ context.Context, j *Joint) (*Form, error) {
	if ext := strings.ToLower(filepath.Ext(j.Out)); ext != ".npy" {
		return nil, refuse("%s: rotation matrices are written to .npy files", j.Out)
	}
	var m mixture
	if err := j.Task(&m); err != nil {
		return nil, err
	}
	n := m.N
	if j.Dim != n*n {
		return nil, refuse("rows have %d numbers; expected %d×%[2]d, as their task says", j.Dim, n)
	}
	return &Form{Write: func(w io.Writer, rows arrayfile.Rows) error {
		return arrayfile.EncodeNPYRows(w, []int{rows.N, n, n}, rows)
	}}, nil
}
