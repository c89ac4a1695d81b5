package experiment

import (
	"testing"

	"github.com/landing-diffusion/landing/parallel"
)

// Every worker has as many blocks, of about one size and never above the most.
func TestBlockRows(t *testing.T) {
	for workers := 1; workers <= 7; workers++ {
		pool := parallel.New(workers)
		l := &Loaded{Pool: pool}
		for n := 1; n < 1500; n++ {
			rows := l.blockRows(n)
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
	pool := parallel.New(2)
	defer pool.Close()
	l := &Loaded{Pool: pool}
	for n, want := range map[int]int{1: 1, 2: 1, 3: 2, 64: 32, 256: 128, 257: 65, 100000: 128} {
		if got := l.blockRows(n); got != want {
			t.Errorf("%d samples: %d rows, want %d", n, got, want)
		}
	}
}
