package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Times are counted from the second call on; an interruption and an error of the function end them.
func TestTime(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	got := testkit.Must(Time(ctx, 0, 3, func() error { calls++; return nil }))
	if calls != 4 || got.Runs != 3 || got.P50 < got.Best || got.P99 < got.P50 {
		t.Errorf("%d calls, %+v", calls, got)
	}
	broken := errors.New("broken")
	if _, err := Time(ctx, 0, 1, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a failing function: %v", err)
	}
	if _, err := Time(ctx, 1e9, 1, func() error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestQuantile(t *testing.T) {
	x := make([]float64, 200)
	for i := range x {
		x[i] = float64(i)
	}
	for q, want := range map[float64]float64{0: 0, 0.5: 100, 0.99: 198, 1: 199} {
		testkit.Equal(t, quantile(x, q), want, "the %v-quantile of 0 … 199", q)
	}
}
