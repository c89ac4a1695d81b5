package experiment

import (
	"context"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A sample that a finisher refuses is drawn again by its number and another seed; one that stays refused is lost. What
// comes is the same in blocks, and without a finisher nothing changes.
func TestSamplesAreFinished(t *testing.T) {
	r, _, _ := begun(t, "epochs: 1")
	trained, prior := learned(t, r)
	raw := testkit.Must(r.Generate(t.Context(), trained, prior, 8, 10, 1, nil))
	of := *r.Domain
	r.Domain = &of
	of.Finish = func() domain.Finisher {
		return func(_ context.Context, x []float64, seed, number uint64) (out domain.Finished) {
			switch {
			case number == 12, number == 13 && seed == 1:
				out.Fault = "refused"
			case number == 14:
				out.Changed, out.Off = true, 0.5
				x[0], x[1], x[2] = 0, 0, 1
			case number == 15:
				x[0], x[1], x[2] = 0, 0, 2 // off the sphere
			}
			return out
		}
	}
	r.Problem.Generate.MaxFailed = 1
	s := testkit.Must(r.Generate(t.Context(), trained, prior, 8, 10, 1, nil))
	f := s.Finished
	if !slices.Equal(f.Replaced, []uint64{13}) || f.Repaired != 1 || f.Unfit != 2 || f.Fault != "refused" ||
		f.Off != 0.5 || s.Failed() != 2 || !s.Lost[2] || !s.Lost[5] {
		t.Errorf("%+v, lost %v", f, s.Lost)
	}
	for i := range 8 {
		one := testkit.Must(r.Generate(t.Context(), trained, prior, 1, 10+uint64(i), 1, nil)).X
		all, drawn := s.X[3*i:3*i+3], raw.X[3*i:3*i+3]
		if same := slices.Equal(all, drawn); !s.Lost[i] && (!slices.Equal(one, all) || same != (i != 3 && i != 4)) {
			t.Errorf("sample %d is %v alone, %v among others, %v as drawn", i, one, all, drawn)
		}
	}
	r.Problem.Generate.Repair = "none"
	if s = testkit.Must(r.Generate(t.Context(), trained, prior, 8, 10, 1, nil)); s.Finished != nil ||
		!slices.Equal(s.X, raw.X) {
		t.Error("generate.repair=none changes samples")
	}
}
