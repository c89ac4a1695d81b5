package settle

import (
	"testing"

	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The epochs that held-out losses end are bounded by the rows that the network sees, however many rows the data have.
func TestMostEpochs(t *testing.T) {
	for _, c := range []struct{ rows, batch, paths, times, want int }{
		{160_000, 1024, 16_384, 5, 610}, {1_600_000, 1024, 16_384, 5, 610}, {160_000, 1024, 0, 5, 62},
		{1200, 1024, 0, 5, 9765}, {200, 200, 0, 5, 10_000}, {1200, 1024, 0, 0, 976}, {10_000_000, 1_000_000, 0, 0, 1},
	} {
		got := mostEpochs(train.Config{Batch: c.batch, TimesPerPath: c.times}, c.rows, c.paths, 50)
		testkit.Equal(t, got.Value.(int), c.want, "%+v", c)
	}
}
