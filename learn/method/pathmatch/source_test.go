package pathmatch

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/cwpm"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// onSphere returns ULLA with this number of steps on the sphere, points of it, and workers.
func onSphere(t *testing.T, steps, points int) (*langevin.Process, []float64, *parallel.Pool) {
	t.Helper()
	p := &langevin.Process{Set: zoo.Sphere{D: 3}, Method: langevin.ULLA, Friction: 3,
		Schedule: langevin.Schedule{N: steps, T: 1, SigmaMin: 0.2, SigmaMax: 1}}
	data := testkit.Must(langevin.Start(t.Context(), p, points, 1))
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	return p, data, pool
}

// A source's losses are cwpm's on paths of its refresh, with windows fitted to paths of
// their own, bit for bit; they are balanced exactly where the output is.
func TestSourceIsPathMatching(t *testing.T) {
	const seed, refresh = 5, 3
	p, data, pool := onSphere(t, 5, 20)
	sim := langevin.NewSimulator(p, pool, 16)
	var paths, own langevin.Paths
	testkit.Must(sim.Forward(context.Background(), &paths, data, seed, refresh))
	starts := langevin.Starts(data, 3, (FitNumbers+2)/3)
	testkit.Must(sim.Forward(context.Background(), &own, starts, seed, keyed.WindowPaths.At(0)))
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
				w := testkit.Must(want.FitWindow(&own, k, momenta(seed, keyed.WindowPaths.At(0))))
				windows[k] = w
			}
			want.SetWindows(windows)
		}
		src := NewSource[float64](m, data, pool)
		losses := []method.Loss[float64]{src.NewLoss(reader, len(terms)), src.NewLoss(reader, len(terms))}
		testkit.OK(t, src.Prepare(context.Background(), seed))
		testkit.Must(src.Refresh(context.Background(), seed, refresh))
		wantRows := testkit.Must(want.Prepare(&paths, terms, momenta(seed, refresh)))
		gradient, scratch := make([]float64, len(out)), make([]float64, len(out))
		value := want.Evaluate(gradient, out)
		for worker, l := range losses {
			rows := testkit.Must(l.Prepare(terms))
			testkit.Equal(t, l.Evaluate(scratch, out), value, "%+v, worker %d: loss", o, worker)
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

// Windows are fitted to fewer paths where a set takes long or each step a projection, and to a thousand at least.
func TestDearWindows(t *testing.T) {
	for _, c := range []struct {
		steps  int
		work   float64
		method langevin.Method
		want   int
	}{
		{20, 0, langevin.ULLA, 43_691}, {20, 1000, langevin.ULLA, 43_691}, {30, 68_352, langevin.ULLA, 43_691},
		{400, 68_352, langevin.ULLA, 5026}, {400, 1e9, langevin.ULLA, fewestFitted},
		{400, 0, langevin.OLLA, 43_691}, {20, 0, langevin.ULLAP, 43_691}, {80, 0, langevin.ULLAP, 26_214},
		{400, 0, langevin.OLLAP, 5242}, {400, 68_352, langevin.OLLAP, 5026}, {4000, 0, langevin.OLLAP, fewestFitted},
	} {
		p, data, pool := onSphere(t, c.steps, 20)
		p.Method = c.method
		p.Set = constrainttest.Working(p.Set, c.work)
		s, ok := New(p, Options{Window: 0.5}).Source(data, pool).(*Source[float32])
		if !ok {
			t.Fatal("another source")
		}
		testkit.Equal(t, s.fitted(), c.want, "%d steps of %g multiply-adds", c.steps, c.work)
	}
}

// Where there are fewer paths than rows, rows take turns: after any number of refreshes each has begun
// as many paths as any other, but for one, in another order each round, whatever was made before.
func TestRowsTakeTurns(t *testing.T) {
	const rows, few, seed = 10, 4, 5
	p, data, pool := onSphere(t, 2, rows)
	starts := func(s *Source[float64], refresh uint64) (out []int) {
		testkit.Must(s.Refresh(context.Background(), seed, refresh))
		paths, _ := s.Paths()
		for i := range paths.Count {
			x := paths.At(i, 0)
			for r := range rows {
				if slices.Equal(x, data[3*r:3*r+3]) {
					out = append(out, r)
				}
			}
		}
		return out
	}
	src := NewSource[float64](New(p, Options{Paths: few}), data, pool)
	if src.Items() != few {
		t.Fatalf("%d items, want %d", src.Items(), few)
	}
	var all []int
	count := make([]int, rows)
	for refresh := range uint64(15) {
		now := starts(src, refresh)
		if len(now) != few {
			t.Fatalf("refresh %d begins at rows %v", refresh, now)
		}
		for _, r := range now {
			count[r]++
		}
		if slices.Max(count)-slices.Min(count) > 1 {
			t.Errorf("after refresh %d rows have begun %v paths", refresh, count)
		}
		all = append(all, now...)
	}
	if slices.Equal(all[:rows], all[rows:2*rows]) {
		t.Errorf("two rounds have one order: %v", all)
	}
	testkit.EqualSlices(t, starts(src, 3), all[3*few:4*few], "refresh 3 begins")
	for _, paths := range []int{rows, rows + 1} {
		if all := starts(NewSource[float64](New(p, Options{Paths: paths}), data, pool), 2); !slices.IsSorted(all) ||
			len(all) != rows {
			t.Errorf("%d paths of %d rows begin at %v", paths, rows, all)
		}
	}
}

// A source beside another has its windows, whichever is prepared first, and paths of its own rows.
func TestBesideHasItsWindows(t *testing.T) {
	p, data, pool := onSphere(t, 4, 30)
	m := New(p, Options{Window: 0.5})
	reader := score.NewReader[float64](score.Reading{Gain: m.Gain()}, 3, true)
	prepared := func(src method.Source[float64]) *Source[float64] {
		for range 2 {
			src.NewLoss(reader, 4)
		}
		testkit.OK(t, src.Prepare(context.Background(), 5))
		return src.(*Source[float64])
	}
	own := prepared(NewSource[float64](m, data[:60], pool))
	other := prepared(NewSource[float64](m, data[60:], pool))
	for _, first := range []bool{true, false} {
		src := NewSource[float64](m, data[:60], pool)
		src.NewLoss(reader, 4)
		src.NewLoss(reader, 4)
		if first {
			prepared(src)
		}
		b := prepared(src.Beside(data[60:]))
		foreign := reflect.DeepEqual(b.windows, other.windows)
		if b.Items() != 10 || !reflect.DeepEqual(b.windows, own.windows) || foreign {
			t.Errorf("prepared first: %v: %d items, windows of its own: %v", first, b.Items(), foreign)
		}
	}
}
