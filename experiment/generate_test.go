package experiment

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Samples that a network sends away count as failed: above generate.max_failed they are a
// *judge.FailedError that tells the first, below it samples beside it.
func TestSamplesThatBreakDown(t *testing.T) {
	e := begin(t)
	model := testkit.Must(e.model())
	p := model.Parameters()
	for i := range p {
		p[i] = float32(math.NaN())
	}
	broken := &Trained{Model: model}
	s, err := drawn(t, e, broken, 50)
	var failed *judge.FailedError
	if !errors.As(err, &failed) || failed.Broken != 50 || failed.Failed != 50 || s.Broken != 50 ||
		errors.As(err, new(*langevin.DivergedError)) || !strings.Contains(err.Error(),
		"50 of 50 samples failed, above the allowed share 0.01 (generate.max_failed): of 50 the simulation broke "+
			"down, "+
			"the first: backward simulation broke down at sample 0, step ") {
		t.Fatalf("%v", err)
	}
	for i, v := range s.X {
		if v-v != 0 {
			t.Fatalf("number %d of the samples is %v", i, v)
		}
	}
	q := *e.Loaded
	problem := *q.Problem
	problem.Generate.MaxFailed = 1
	q.Problem = &problem
	prior, err := e.Prior(t.Context(), nil)
	testkit.OK(t, err)
	if s, err = q.Generate(t.Context(), broken, prior, 50, 0, 1, nil); err != nil || s.Failed() != 50 ||
		len(s.Good()) > 0 {
		t.Errorf("all allowed to fail: %v, %d failed", err, s.Failed())
	}
	v, err := e.Evaluate(t.Context(), s, train.State{}, nil)
	if err != nil || v.Broken != 50 {
		t.Errorf("%+v, %v", v, err)
	}
}
