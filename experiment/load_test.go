package experiment

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A budget ends the loading when it is spent and names what was going on. An interruption ends it with the context's
// error. Without either every step is reported.
func TestLoadEnds(t *testing.T) {
	pool := testkit.Pool(t, 1)
	data, origin, err := problem.Source("demo")
	testkit.OK(t, err)
	load := func(ctx context.Context, settings ...string) (said []string, err error) {
		p, err := problem.Load(data, origin, "fixed", problem.ParseSettings(append(settings, "prior=auto",
			"process.horizon=0.01")...))
		testkit.OK(t, err)
		_, err = Load(ctx, p, pool, func(doing string) {
			if said = append(said, doing); len(said) == 1 && p.Train.MaxSeconds == 1 {
				time.Sleep(1100 * time.Millisecond)
			}
		})
		return said, err
	}
	said, err := load(t.Context(), "train.max_seconds=1")
	testkit.Refused(t, err, "before the training, while "+said[len(said)-1]+"; a larger", "a budget that is spent")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, settings := range [][]string{nil, {"train.max_seconds=60"}} {
		if _, err := load(ctx, settings...); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted, with %v: %v", settings, err)
		}
	}
	said, err = load(t.Context())
	if all := strings.Join(said, "; "); err != nil || !strings.HasPrefix(all, "reading the data; ") ||
		!strings.Contains(all, "simulating 2000 paths") {
		t.Errorf("%v, %v", said, err)
	}
}
