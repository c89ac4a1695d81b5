package tasks

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/dataset"
)

// rotations is rotation matrices of a mixture, by number.
var rotations = Kind{Name: "data-so", Do: doRotations, Join: joinRotations}

// mixture is what units of rotations share.
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
	if _, err := m.mix().Rows(); err != nil {
		return nil, err
	}
	return &List{Kind: rotations.Name, Count: count, task: m}, nil
}

func doRotations(ctx context.Context, j *Job) (any, error) {
	var m mixture
	rows, err := task(j.Unit, &m)
	if err != nil {
		return nil, err
	}
	draw, err := m.mix().Rows()
	if err != nil {
		return nil, err
	}
	d := m.N * m.N
	return j.writeRows(rows, d, func(x []float64, first uint64) (int, error) {
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
