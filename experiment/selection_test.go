package experiment

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func rotations(t *testing.T, pool *parallel.Pool, change func(x []float64)) (*Loaded, error) {
	t.Helper()
	data, _, err := dataset.RotationMixture{N: 3, Modes: 2, Count: 40, Seed: 1}.Generate(t.Context())
	testkit.OK(t, err)
	change(data.X)
	var b bytes.Buffer
	testkit.OK(t, arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{40, 3, 3}, Float64: data.X}))
	file := filepath.Join(t.TempDir(), "r.npy")
	testkit.OK(t, os.WriteFile(file, b.Bytes(), 0o666))
	p := testkit.Must(problem.Load([]byte("set: {kind: special_orthogonal, n: 3}"), "r.yaml", "", nil))
	p.Data.Path = file
	return Load(t.Context(), p, pool, nil)
}

// Data with det < 0 is refused with its row; samples there are lost, counted and written out nowhere.
func TestWrongComponent(t *testing.T) {
	pool := testkit.Pool(t, 1)
	flip := func(x []float64) { // another sign of the first row
		for j := range 3 {
			x[j] = -x[j]
		}
	}
	_, err := rotations(t, pool, func(x []float64) { flip(x[9*7:]) })
	if fault.KindOf(err) != fault.Data ||
		!strings.Contains(err.Error(), "row 7 (from 0) is not in SO(3), where det > 0") {
		t.Errorf("got %v", err)
	}
	e := testkit.Must(rotations(t, pool, func([]float64) {}))
	s := &judge.Samples{X: append([]float64(nil), e.Data.X...), Dim: 9, Lost: make([]bool, 40)}
	flip(s.X[9*3:])
	flip(s.X[9*30:])
	flip(s.X[9*31:])
	s.Lost[3] = true // a projection was lost there already
	s.Reject(e.Process.Set, 0, 31)
	s.Reject(e.Process.Set, 31, 40)
	if s.Wrong != 2 || s.Failed() != 3 || len(s.Good()) != 37*9 {
		t.Errorf("%d on a wrong component, %d lost, %d numbers left", s.Wrong, s.Failed(), len(s.Good()))
	}
	if unselected(e.Process.Set, s.X) != 3 || unselected(e.Process.Set, e.Data.X) != -1 ||
		!slices.Equal(s.Lost[29:33], []bool{false, true, true, false}) {
		t.Errorf("the first on a wrong component is %d, lost are %v", unselected(e.Process.Set, s.X), s.Lost)
	}
	if text := (&judge.FailedError{Failed: 5, Samples: 40, Limit: 0.01, Wrong: 2}).Error(); !strings.HasPrefix(text,
		"3 of 40 samples failed a projection and 2 are on a wrong component") {
		t.Error(text)
	}
}

// The distance between sets of rotations is the mean of those of four power traces,
// each with its floors; a point's traces are taken once.
func TestPowerTraceHistogram(t *testing.T) {
	pool := testkit.Pool(t, 2)
	e := testkit.Must(rotations(t, pool, func([]float64) {}))
	h, some := e.distance, e.Data.X[:90]
	if h == nil || h.Dim != 4 || !slices.Equal(h.Full, metric.PowerTraces(nil, e.Data.X, 3)) ||
		!slices.Equal(h.Train, metric.PowerTraces(nil, e.TrainRows, 3)) ||
		!slices.Equal(h.HeldOut, metric.PowerTraces(nil, e.HeldOutRows, 3)) || len(h.HeldOut) == 0 ||
		e.SampleCount() != 40 {
		t.Fatalf("the marks are not the power traces: %+v", h)
	}
	j := e.Reference().Scores(h, h.Marks(some), len(some)/9)
	if len(j.Parts) != 4 || j.Parts[0].Name != "tr X" || j.Parts[3].Name != "tr X⁵" {
		t.Fatalf("parts %+v", j.Parts)
	}
	for _, c := range []struct {
		data       []float64
		got, floor func(s metric.Score) metric.Float
	}{
		{e.Data.X, func(s metric.Score) metric.Float { return s.Full },
			func(s metric.Score) metric.Float { return s.Floor.Mean }},
		{e.HeldOutRows, func(s metric.Score) metric.Float { return s.HeldOut },
			func(s metric.Score) metric.Float { return s.HeldOutFloor }},
	} {
		each, mean := metric.TraceJSD(metric.PowerTraces(nil, some, 3), metric.PowerTraces(nil, c.data, 3))
		if float64(c.got(j.Score)) != mean || mean == 0 {
			t.Errorf("distance %v, want %v", c.got(j.Score), mean)
		}
		floor := metric.NoiseFloor(e.TrainRows, 9, 10, 20, e.Problem.Seed, func(y []float64) float64 {
			_, mean := metric.TraceJSD(metric.PowerTraces(nil, y, 3), metric.PowerTraces(nil, c.data, 3))
			return mean
		})
		testkit.Equal(t, c.floor(j.Score), floor.Mean, "floor")
		for k, p := range j.Parts {
			floor := metric.NoiseFloor(e.TrainRows, 9, 10, 20, e.Problem.Seed, func(y []float64) float64 {
				each, _ := metric.TraceJSD(metric.PowerTraces(nil, y, 3), metric.PowerTraces(nil, c.data, 3))
				return each[k]
			})
			if float64(c.got(p.Score)) != each[k] || c.floor(p.Score) != floor.Mean {
				t.Errorf("%s: %v and floor %v, want %v and %v", p.Name, c.got(p.Score), c.floor(p.Score),
					each[k], floor.Mean)
			}
		}
	}
}
