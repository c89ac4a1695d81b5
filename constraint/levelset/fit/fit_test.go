package fit

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/internal/testkit/ball"
	"github.com/landing-diffusion/landing/mesh"
	"github.com/landing-diffusion/landing/parallel"
)

// small are options that fit a sphere in a second.
func small() Options {
	o := Defaults()
	o.Width, o.Layers, o.Steps, o.Batch, o.Rate = 32, 2, 400, 512, 0.01
	return o
}

// A sphere away from the origin is fitted to a hundredth of its size, with slopes
// near one, normals within degrees and no stray part.
func TestFitSphere(t *testing.T) {
	pool := parallel.New(0)
	defer pool.Close()
	m := ball.Mesh(3).Scaled([3]float64{-0.2, 0.1, 0.3}, 0.8)
	steps := 0
	n, err := Fit(context.Background(), m, small(), pool, func(s Step) { steps = s.Step })
	if err != nil {
		t.Fatal(err)
	}
	r := Examine(n, m, pool)
	if steps != 400 || r.Residual.Mean > 0.002 || r.Residual.Max > 0.02 || math.Abs(r.Slope.Mean-1) > 0.05 || r.Angle.Mean > 6 || r.Inside != 1 || r.Outside != 1 || r.Parts != 1 {
		t.Errorf("%d steps, %+v", steps, r)
	}
}

// The fit is a function of the mesh and the options, whatever the workers.
func TestFitIsDeterministic(t *testing.T) {
	o := small()
	o.Steps = 5
	var params [][]float64
	for _, workers := range []int{1, 3} {
		pool := parallel.New(workers)
		n, err := Fit(context.Background(), ball.Mesh(1), o, pool, nil)
		pool.Close()
		if err != nil {
			t.Fatal(err)
		}
		params = append(params, n.Params)
	}
	for i, v := range params[0] {
		if params[1][i] != v {
			t.Fatalf("parameter %d is %v with one worker, %v with three", i, v, params[1][i])
		}
	}
}

// The gradient of a step is that of its loss, against central differences.
func TestGradient(t *testing.T) {
	pool := parallel.New(1)
	defer pool.Close()
	o := small()
	o.Width, o.Batch, o.Rate = 9, 64, 1e-9
	o.Value, o.Normal, o.Eikonal = 2, 0.7, 0.4
	f := newFitter(ball.Mesh(1), o, pool)
	params := append([]float64(nil), f.net.Params...)
	loss := func(i int, by float64) float64 {
		copy(f.net.Params, params)
		f.net.Params[i] += by
		f.packed.Set()
		clear(f.m)
		clear(f.v)
		s := f.step(0)
		return o.Value*s.Value*s.Value + o.Normal*s.Normal*s.Normal + o.Eikonal*s.Eikonal*s.Eikonal
	}
	for i := range params {
		loss(i, 0)
		got := f.grad[i]
		const step = 1e-5
		if want := (loss(i, step) - loss(i, -step)) / (2 * step); math.Abs(got-want) > 1e-7*(1+math.Abs(want)) {
			t.Fatalf("parameter %d: gradient %v, by differences %v", i, got, want)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	pool := parallel.New(1)
	defer pool.Close()
	m := ball.Mesh(1)
	m.Faces[0], m.Faces[1] = m.Faces[1], m.Faces[0]
	var fault mesh.Fault
	if _, err := Fit(context.Background(), m, small(), pool, nil); !errors.As(err, &fault) || fault.Kind != mesh.Flipped {
		t.Errorf("flipped faces: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Fit(ctx, ball.Mesh(1), small(), pool, nil); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	o := small()
	o.Rate, o.Steps = 1e300, 10
	if _, err := Fit(context.Background(), ball.Mesh(1), o, pool, nil); err == nil {
		t.Error("a fit that diverges returns a network")
	}
}

// A level set that is empty has no part inside.
func TestExamineEmpty(t *testing.T) {
	pool := parallel.New(0)
	defer pool.Close()
	m := ball.Mesh(2)
	n, err := Fit(context.Background(), m, small(), pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	top := n.Bias(n.Layers() - 1)
	top[0] = 100 // nothing is inside
	if r := Examine(n, m, pool); r.Inside != 0 || r.Outside != 1 {
		t.Errorf("an empty set has %d parts inside and %d outside", r.Inside, r.Outside)
	}
}

// BenchmarkStep times a step of the default size.
func BenchmarkStep(b *testing.B) {
	pool := parallel.New(0)
	defer pool.Close()
	f := newFitter(ball.Mesh(3), Defaults(), pool)
	k := 0
	for b.Loop() {
		f.step(k % f.o.Steps)
		k++
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/float64(f.o.Batch), "µs/point")
}
