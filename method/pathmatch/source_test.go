package pathmatch

import (
	"context"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/cwpm"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/method"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/score"
)

// A source's losses are cwpm's on paths of its refresh, with windows fitted to paths of
// their own, bit for bit; they are balanced exactly where the output is.
func TestSourceIsPathMatching(t *testing.T) {
	const seed, refresh = 5, 3
	p := &langevin.Process{
		Set: zoo.Sphere{D: 3}, Method: langevin.ULLA, Friction: 3,
		Schedule: langevin.Schedule{N: 5, T: 1, SigmaMin: 0.2, SigmaMax: 1},
	}
	data, err := langevin.Start(p, 20, 1)
	if err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(2)
	defer pool.Close()
	sim := langevin.NewSimulator(p, pool, 16)
	var paths, own langevin.Paths
	if _, err := sim.Forward(context.Background(), &paths, data, seed, refresh); err != nil {
		t.Fatal(err)
	}
	starts := langevin.Starts(data, 3, (fitNumbers+2)/3)
	if _, err := sim.Forward(context.Background(), &own, starts, seed, keyed.WindowPaths.At(0)); err != nil {
		t.Fatal(err)
	}
	var terms []method.Term
	for i := range 20 {
		for k := range 5 {
			terms = append(terms, method.Term{Item: i, K: k, Weight: 0.2})
		}
	}
	out := make([]float64, 3*len(terms))
	for i := range out {
		out[i] = float64(i%7) - 3
	}
	for _, o := range []Options{{}, {Output: Scaled}, {Output: Balanced}, {Output: Balanced, Window: 0.5}} {
		m := New(p, o)
		reader := score.NewReader[float64](score.Reading{Gain: m.Gain()}, 3, true)
		want := cwpm.NewLoss(p, reader, len(terms), cwpm.Options{Window: o.Window, Balanced: o.Output == Balanced})
		if o.Window > 0 {
			windows := make([]cwpm.Window, 5)
			for k := range windows {
				if windows[k], err = want.FitWindow(&own, k, momenta(seed, keyed.WindowPaths.At(0))); err != nil {
					t.Fatal(err)
				}
			}
			want.SetWindows(windows)
		}
		src := NewSource[float64](m, data, pool)
		losses := []method.Loss[float64]{src.NewLoss(reader, len(terms)), src.NewLoss(reader, len(terms))}
		if err := src.Prepare(context.Background(), seed); err != nil {
			t.Fatal(err)
		}
		if _, err := src.Refresh(context.Background(), seed, refresh); err != nil {
			t.Fatal(err)
		}
		wantRows, err := want.Prepare(&paths, terms, momenta(seed, refresh))
		if err != nil {
			t.Fatal(err)
		}
		gradient, scratch := make([]float64, len(out)), make([]float64, len(out))
		value := want.Evaluate(gradient, out)
		for worker, l := range losses {
			rows, err := l.Prepare(terms)
			if err != nil {
				t.Fatal(err)
			}
			if got := l.Evaluate(scratch, out); got != value {
				t.Errorf("%+v, worker %d: loss %v, want %v", o, worker, got, value)
			}
			for i, v := range gradient {
				if scratch[i] != v {
					t.Fatalf("%+v, worker %d: derivative %d is %v, want %v", o, worker, i, scratch[i], v)
				}
			}
			for i, v := range wantRows {
				if rows[i] != v {
					t.Fatalf("%+v, worker %d: number %d of the rows is %v, want %v", o, worker, i, rows[i], v)
				}
			}
		}
	}
}
