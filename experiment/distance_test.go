package experiment

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
)

func rotations(t *testing.T, pool *parallel.Pool, change func(x []float64)) (*Experiment, error) {
	t.Helper()
	data, _, err := dataset.RotationMixture{N: 3, Modes: 2, Count: 40, Seed: 1}.Generate()
	if err != nil {
		t.Fatal(err)
	}
	change(data.X)
	var b bytes.Buffer
	if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{40, 3, 3}, Float64: data.X}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "r.npy")
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := problem.Load([]byte("set: {kind: special_orthogonal, n: 3}"), "r.yaml", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Data.Path = file
	return New(p, pool)
}

// Data with det < 0 is refused with its row; samples there are lost, counted and
// written out nowhere; the distance is that of the power traces.
func TestWrongComponent(t *testing.T) {
	pool := parallel.New(1)
	defer pool.Close()
	flip := func(x []float64) { // another sign of the first row
		for j := range 3 {
			x[j] = -x[j]
		}
	}
	_, err := rotations(t, pool, func(x []float64) { flip(x[9*7:]) })
	var data *DataError
	if !errors.As(err, &data) || !strings.Contains(err.Error(), "row 7 (from 0) is not in SO(3), where det > 0") {
		t.Errorf("got %v", err)
	}
	e, err := rotations(t, pool, func([]float64) {})
	if err != nil {
		t.Fatal(err)
	}
	s := &Samples{X: append([]float64(nil), e.Data.X...), Dim: 9, Lost: make([]bool, 40)}
	flip(s.X[9*3:])
	flip(s.X[9*30:])
	flip(s.X[9*31:])
	s.Lost[3] = true // a projection was lost there already
	e.reject(s, 0, 31)
	e.reject(s, 31, 40)
	if s.Wrong != 2 || s.Failed() != 3 || len(s.Good()) != 37*9 {
		t.Errorf("%d on a wrong component, %d lost, %d numbers left", s.Wrong, s.Failed(), len(s.Good()))
	}
	if h := e.histogram; h == nil || h.compare(h.full, h.full) != 0 || !(h.compare(h.marks(s.X[:90]), h.full) > 0) {
		t.Error("no distance between sets of rotations")
	}
	// The distance is the mean of the parts, against all data; its marks are the rows.
	some, h := s.X[:90], e.histogram
	each, mean := metric.PowerTraceJSD(some, e.Data.X, 3)
	if got := e.parts(some); h.compare(some, h.full) != mean || float64(got["trace2"]) != each[1] || float64(got["trace4"]) != each[2] {
		t.Errorf("parts %v and mean %v, want %v", got, h.compare(some, h.full), each)
	}
	if !slices.Equal(h.full, e.Data.X) || !slices.Equal(h.train, e.train) || !slices.Equal(h.heldOut, e.heldOut) || len(h.heldOut) == 0 || h.dim != 9 || e.SampleCount() != 40 {
		t.Errorf("%d, %d and %d marks of dimension %d", len(h.full), len(h.train), len(h.heldOut), h.dim)
	}
	if e.unselected(s.X) != 3 || e.unselected(e.Data.X) != -1 || !slices.Equal(s.Lost[29:33], []bool{false, true, true, false}) {
		t.Errorf("the first on a wrong component is %d, lost are %v", e.unselected(s.X), s.Lost)
	}
	if got := e.parts(e.Data.X); len(got) != 4 || got["trace5"] != 0 {
		t.Errorf("parts %v", got)
	}
	if text := (&FailedError{Failed: 5, Samples: 40, Limit: 0.01, Wrong: 2}).Error(); !strings.HasPrefix(text, "3 of 40 samples failed a projection and 2 are on a wrong component") {
		t.Error(text)
	}
}
