package langevin

import (
	"context"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Partway keeps of forward paths what Forward keeps, bit for bit: whatever the levels, blocks and
// workers, at walls too; rows are numbered from first.
func TestPartwayIsForward(t *testing.T) {
	hemisphere := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	for _, method := range []Method{ULLA, OLLA, ULLAP, OLLAP} {
		p := &Process{Set: hemisphere, Method: method, Friction: 3,
			Schedule: Schedule{N: 12, T: 2, SigmaMin: 0.3, SigmaMax: 1.3}}
		const n, skip, d, seed, refresh = 40, 7, 3, 5, 4
		x0 := testkit.Must(Start(t.Context(), p, n, 1))
		pool := testkit.Pool(t, 2)
		var paths Paths
		want := testkit.Must(NewSimulator(p, pool, 64).Forward(context.Background(), &paths, x0, seed, refresh))
		for _, ks := range [][]int{{12}, {1, 5, 12}, {3}} {
			got, failed := make([]float64, (n-skip)*len(ks)*d), make([]bool, n-skip)
			r := testkit.Must(NewSimulator(p, pool, 5).Partway(context.Background(), got, failed, x0[skip*d:], ks, skip,
				keyed.PathNoise.Stream(seed, refresh), keyed.PathMomentum.Stream(seed, refresh)))
			lost := 0
			for i := range n - skip {
				for l, k := range ks {
					if x := got[(i*len(ks)+l)*d : (i*len(ks)+l+1)*d]; !slices.Equal(x, paths.At(skip+i, k)) {
						t.Fatalf("%v: x_%d of path %d is %v, want %v", method, k, skip+i, x, paths.At(skip+i, k))
					}
				}
				if failed[i] {
					lost++
				}
				if ks[len(ks)-1] == p.Schedule.N && failed[i] != paths.Failed[skip+i] {
					t.Errorf("%v: path %d failed: %v", method, skip+i, failed[i])
				}
			}
			testkit.Equal(t, r.Failed, lost, "%v: the report", method)
			if ks[len(ks)-1] == 12 && want.Reflected > 0 && r.Reflected == 0 {
				t.Errorf("%v: no path met the wall", method)
			}
		}
	}
}

// A path that breaks down fails and no other does: its rows hold where it began.
func TestPartwayTolerates(t *testing.T) {
	p := &Process{Set: zoo.Sphere{D: 3}, Method: OLLA, Schedule: Schedule{N: 4, T: 1, SigmaMin: 1, SigmaMax: 1}}
	x0 := testkit.Must(Start(t.Context(), p, 6, 1))
	clear(x0[3:6]) // the centre, where the sphere's gradient vanishes
	pool := testkit.Pool(t, 1)
	got, failed := make([]float64, 6*2*3), make([]bool, 6)
	r, err := NewSimulator(p, pool, 4).Tolerate().Partway(context.Background(), got, failed, x0, []int{2, 4}, 0,
		keyed.PathNoise.Stream(1, 0), keyed.PathMomentum.Stream(1, 0))
	if err != nil || r.Failed != 1 || r.Broken != 1 || !failed[1] || slices.Contains(failed[2:], true) || failed[0] {
		t.Errorf("%d failed, %d broke down, %v: %v", r.Failed, r.Broken, failed, err)
	}
	for _, v := range got[6:12] {
		if v != 0 {
			t.Fatalf("the path that broke down holds %v", got[6:12])
		}
	}
}

// The spread of a level is that of paths on a line: x_k − x_0 is linear in independent normals.
// For ULLA from p_0 ~ N(0, 1), x_2 − x_0 = τ_0 p_1 + τ_1(a p_1 + √(1−a²) ζ) by hand.
func TestSpread(t *testing.T) {
	p := &Process{Set: zoo.Sphere{D: 3}, Method: OLLA, Friction: 2,
		Schedule: Schedule{N: 2, T: 1, SigmaMin: 1, SigmaMax: 3}}
	τ0, τ1 := p.Schedule.Tau(0), p.Schedule.Tau(1)
	near := func(got, want float64) {
		t.Helper()
		if d := got*got - want; d > 1e-12 || d < -1e-12 {
			t.Errorf("squared spread %v, want %v", got*got, want)
		}
	}
	near(p.Spread(1), τ0)
	near(p.Spread(2), τ0+τ1)
	p.Method = ULLA
	a := p.Decay(τ1)
	near(p.Spread(1), τ0*τ0)
	near(p.Spread(2), (τ0+a*τ1)*(τ0+a*τ1)+τ1*τ1*(1-a*a))
}
