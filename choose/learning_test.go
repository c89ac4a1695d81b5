package choose

import (
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/run"
)

// chosen returns what a key became, nil if nothing.
func chosen(of []run.Choice, key string) any {
	if i := slices.IndexFunc(of, func(c run.Choice) bool { return c.Key == key }); i >= 0 {
		return of[i].Value
	}
	return nil
}

// An epoch has at most 16 batches and its paths a gigabyte; few rows are all in one batch.
func TestBatches(t *testing.T) {
	for _, c := range []struct{ rows, d, steps, batch, paths int }{
		{160, 3, 50, 160, 160},
		{5000, 3, 50, 1024, 5000},
		{200_000, 3, 50, 1024, 16_384},
		{200_000, 300, 50, 1024, 1 << 27 / (51 * 300)},
		{20, 1 << 22, 1000, 1, 1},
	} {
		batch, paths := batches(c.rows, c.d, c.steps)
		if batch != c.batch || paths != c.paths {
			t.Errorf("%d rows in R^%d, %d steps: batches of %d, %d paths", c.rows, c.d, c.steps, batch, paths)
		}
		l := earth
		l.Rows, l.Coordinates = c.rows, c.d
		out := Learning(&l, Noise{Steps: c.steps, Horizon: 1, Max: 1, Min: 0.1})
		want := any(c.paths)
		if c.paths == c.rows { // silent: one of every row
			want = nil
		}
		if got := chosen(out, "train.paths"); got != want || chosen(out, "train.batch") != c.batch {
			t.Errorf("%d rows in R^%d: train.paths %v, train.batch %v", c.rows, c.d, got, chosen(out, "train.batch"))
		}
	}
}
