package experiment

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A trained model is packed once for all calls that draw from it, and draws as one packed anew.
func TestPackedOnce(t *testing.T) {
	r, m := trainedRun(t)
	counted := &counted{Model: m.Model}
	once := &Trained{Model: counted, State: m.State}
	for range 3 {
		got := testkit.Must(drawn(t, r, once, 20))
		want, err := drawn(t, r, &Trained{Model: m.Model, State: m.State}, 20)
		if err != nil || !slices.Equal(got.X, want.X) {
			t.Fatalf("draws differ: %v", err)
		}
	}
	testkit.Equal(t, counted.packs.Load(), 1, "packed")
}

// counted counts how often a model is packed.
type counted struct {
	score.Model[float32]
	packs atomic.Int32
}

func (c *counted) Pack(gradients bool) score.Packed[float32] {
	c.packs.Add(1)
	return c.Model.Pack(gradients)
}

// Every worker has as many blocks, of about one size and never above the most.
func TestBlockRows(t *testing.T) {
	for workers := 1; workers <= 7; workers++ {
		pool := parallel.New(workers)
		l := &Loaded{Pool: pool}
		for n := 1; n < 1500; n++ {
			rows := blockRows(l, n)
			blocks := parallel.Blocks(n, rows)
			if rows < 1 || rows > generateRows {
				t.Fatalf("%d samples, %d workers: %d rows", n, workers, rows)
			}
			// The fewest rows that the busiest worker can have, but for the rounding of rows.
			busiest := rows * parallel.Blocks(blocks, workers)
			if busiest > parallel.Blocks(n, workers)+n/generateRows+1 {
				t.Fatalf("%d samples, %d workers: %d rows, %d for one worker", n, workers, rows, busiest)
			}
		}
		pool.Close()
	}
	pool := testkit.Pool(t, 2)
	l := &Loaded{Pool: pool}
	for n, want := range map[int]int{1: 1, 2: 1, 3: 2, 64: 32, 256: 128, 257: 65, 100000: 128} {
		testkit.Equal(t, blockRows(l, n), want, "%d samples", n)
	}
}
