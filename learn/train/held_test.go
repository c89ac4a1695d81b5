package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/fewstep"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// lame is a source with one failed item.
type lame struct{ method.Source[float32] }

const lost = 3

func (l lame) Failed(item int) bool { return item == lost }

// The loss of an item is the mean of its terms' at 16 times or all, one by one, and of one that failed there is
// none; the number of workers changes no bit of it.
func TestHeldLosses(t *testing.T) {
	for _, N := range []int{5, 40} {
		p := &langevin.Process{
			Set: zoo.Sphere{D: 3}, Method: langevin.ULLA, Friction: 3,
			Schedule: langevin.Schedule{N: N, T: 1, SigmaMin: 0.2, SigmaMax: 1},
		}
		data := testkit.Must(langevin.Start(t.Context(), p, 12, 1))
		model := testkit.Must(networks.New(score.Config{Dim: 3, Momentum: true, Width: 8, Layers: 2, Seed: 4}))
		by := func(workers int) []float64 {
			pool := testkit.Pool(t, workers)
			src := lame{pathmatch.NewSource[float32](pathmatch.New(p, pathmatch.Options{}), data, pool)}
			h := testkit.Must(NewHeld(context.Background(), src, model, 5, 7, pool))
			first := h.Losses(model)
			if again := h.Losses(model); !same(first, again) {
				t.Error("the second time it has another loss")
			}
			return first
		}
		got := by(1)
		if !same(got, by(3)) {
			t.Errorf("%d steps: with more workers the losses are others", N)
		}
		pool := testkit.Pool(t, 1)
		src := pathmatch.NewSource[float32](pathmatch.New(p, pathmatch.Options{}), data, pool)
		l, ws := src.NewLoss(model, 1), model.Pack(false).NewWorkspace(1, false)
		testkit.Must(src.Refresh(context.Background(), 5, 7))
		n := min(N, HeldTimes)
		for item, v := range got {
			if item == lost {
				if !math.IsNaN(v) {
					t.Errorf("a failed item has the loss %v", v)
				}
				continue
			}
			want := 0.0
			for j := range n {
				k := int((float64(j) + 0.5) * float64(N) / float64(n))
				in := testkit.Must(l.Prepare([]method.Term{{Item: item, K: k, Weight: 1}}))
				want += l.Evaluate(make([]float32, 3), ws.Forward(in, 1)) / float64(n)
			}
			testkit.Near(t, v, want, 1e-5*math.Abs(want), "%d steps, item %d", N, item)
		}
	}
}

// A network that a source asks several times for each term has room for as many rows.
func TestHeldLossesOfSeveral(t *testing.T) {
	p := &langevin.Process{
		Set: zoo.Sphere{D: 3}, Method: langevin.ULLA, Friction: 3,
		Schedule: langevin.Schedule{N: 20, T: 1, SigmaMin: 0.2, SigmaMax: 1},
	}
	data := testkit.Must(langevin.Start(t.Context(), p, 12, 1))
	m := testkit.Must(fewstep.New(p, fewstep.Options{Levels: 2, Draws: 3, Coarse: 0.2, Fine: 0.05}))
	model := testkit.Must(networks.New(score.Config{Dim: 3, Momentum: true, Width: 8, Layers: 2, Seed: 4}))
	pool := testkit.Pool(t, 2)
	h := testkit.Must(NewHeld(context.Background(), m.Source(data, pool), model, 5, keyed.HeldPaths.At(0), pool))
	src := m.Source(data, pool)
	l, ws := src.NewLoss(model, 3), model.Pack(false).NewWorkspace(3, false)
	testkit.Must(src.Refresh(context.Background(), 5, keyed.HeldPaths.At(0)))
	src.Capabilities().Arrange(5, keyed.HeldPaths.At(0))
	for item, v := range h.Losses(model) {
		want := 0.0
		for k := range 3 {
			in := testkit.Must(l.Prepare([]method.Term{{Item: item, K: k, Weight: 1}}))
			want += l.Evaluate(make([]float32, 9), ws.Forward(in, 3)) / 3
		}
		testkit.Near(t, v, want, 1e-5*math.Abs(want), "item %d", item)
	}
}

// With Of a loss is that of the first coordinates alone.
func TestHeldLossesOfCoordinates(t *testing.T) {
	p := &langevin.Process{Set: zoo.Euclidean{D: 2}, Method: langevin.ULLA, Friction: 3,
		Schedule: langevin.Schedule{N: 20, T: 1, SigmaMin: 1, SigmaMax: 1}}
	model := testkit.Must(networks.New(score.Config{Dim: 2, Momentum: true, Width: 8, Layers: 2, Seed: 4}))
	pool := testkit.Pool(t, 1)
	src := pathmatch.NewSource[float32](pathmatch.New(p, pathmatch.Options{Output: pathmatch.Balanced}),
		[]float64{9, 1, -9, -1}, pool)
	h := testkit.Must(NewHeld(context.Background(), src, model, 5, 7, pool))
	all := h.Losses(model)
	for _, of := range []int{1, 2} {
		h.Of = of
		for i, v := range h.Losses(model) {
			if of == 2 {
				testkit.Near(t, v, all[i], 1e-6*all[i], "both coordinates of item %d", i)
			} else if !(0 < v && v < 0.999*all[i]) {
				t.Errorf("item %d: one coordinate has the loss %v of %v", i, v, all[i])
			}
		}
	}
}

// same reports whether numbers agree, NaN with NaN.
func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}

// told is a Source that records its calls.
type told struct {
	method.Source[float32]
	log []string
}

func (s *told) Refresh(ctx context.Context, seed, refresh uint64) (method.Report, error) {
	s.log = append(s.log, fmt.Sprintf("refresh %d", refresh))
	return s.Source.Refresh(ctx, seed, refresh)
}

func (s *told) Capabilities() method.SourceCapabilities[float32] {
	return method.SourceCapabilities[float32]{Arrange: s.arrange}
}

func (s *told) arrange(seed, epoch uint64) {
	s.log = append(s.log, fmt.Sprintf("arrange %d of %d", epoch, seed))
}

// A source that arranges its items does so before each epoch, after the refresh where there is one; a training that
// goes on within a refresh makes it first, and then arranges the epoch alone.
func TestArrangesEachEpoch(t *testing.T) {
	p, data := gaussian(langevin.OLLA, 12)
	pool := testkit.Pool(t, 1)
	begin := func() (*Trainer[float32], *told) {
		src := &told{Source: pathmatch.NewSource[float32](pathmatch.New(p, pathmatch.Options{}), data, pool)}
		cfg := smallConfig
		cfg.Epochs, cfg.Refresh, cfg.Seed = 4, 2, 9
		return New[float32](cfg, src, model(score.Reading{}, kernel.Float32, false), pool), src
	}
	tr, src := begin()
	for range 3 {
		testkit.Must(tr.Epoch(t.Context()))
	}
	want := []string{"refresh 0", "arrange 0 of 9", "arrange 1 of 9", "refresh 1", "arrange 2 of 9"}
	testkit.EqualSlices(t, src.log, want)
	again, src := begin()
	again.State.Epoch = 3
	testkit.Must(again.Epoch(t.Context()))
	testkit.EqualSlices(t, src.log, []string{"refresh 1", "arrange 3 of 9"}, "gone on")
}
