package langevin_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Chains with elastic walls keep the law of half line, box, cap (uniform and with a density), half torus and simplex at
// γτ from 0.01 to 5: the mean of a number that is uniform on [0, 1], and the mass of the twentieth of the law next to
// the wall. 200 chains from exact draws; each of 60 numbers may be off by 5.5 standard errors (rate 4·10⁻⁸ each) and
// the bias of the scheme: nothing that 400 chains could see but on the cap with a density, where the gradient of f
// gives 0.03 at the first friction. The paper's walls are off by 0.05 to 0.4 in the mean for γτ ≤ 0.05.
func TestElasticLaws(t *testing.T) {
	pool := testkit.Pool(t, 0)
	all := allWalled()
	if testing.Short() {
		all = all[1:3]
	}
	for _, b := range all {
		bias := 0.004
		if b.Name == "cap, exp(−3z)" {
			bias = 0.035
		}
		for _, r := range []chainRun{
			{Method: langevin.ULLA, Tau: 0.05, Friction: 0.2}, {Method: langevin.ULLA, Tau: 0.05, Friction: 100},
			{Method: langevin.ULLAP, Tau: 0.05, Friction: 1}, {Method: langevin.OLLA, Tau: 0.005},
			{Method: langevin.OLLAP, Tau: 0.005},
		} {
			r.Count, r.Step, r.Seed = 200, 4, 7
			m := testkit.Must(wallChain{chainRun: r, Burn: 300, Keep: 100}.Stationary(t.Context(), b, pool))
			if math.Abs(m.Mean-0.5) > 5.5*m.MeanError+bias || math.Abs(m.Edge-0.05) > 5.5*m.EdgeError+bias/4 {
				t.Errorf("%s, %v τ=%v γ=%v: mean %.4f ± %.4f, %.4f ± %.4f at the wall", b.Name, r.Method, r.Tau,
					r.Friction, m.Mean, m.MeanError, m.Edge, m.EdgeError)
			}
			if m.Outside > 0 || m.Report.Failed > 0 || m.Report.Reflected == 0 {
				t.Errorf("%s, %v: %+v", b.Name, r.Method, m)
			}
		}
	}
}

// On the cap with a density the error of the first-order scheme halves with the step: 0.060, 0.030, 0.013 ± 0.004 with
// 400 chains. Each may be off by 5 standard errors (rate 6·10⁻⁷ each). The least must be at most half the largest; here
// it is a fifth.
func TestElasticErrorFalls(t *testing.T) {
	if testing.Short() {
		t.Skip("a law, for seconds")
	}
	pool := testkit.Pool(t, 0)
	b := allWalled()[3]
	var off []float64
	for i, τ := range []float64{0.1, 0.05, 0.025} {
		r := chainRun{Method: langevin.ULLA, Tau: τ, Friction: 0.2, Count: 400, Step: 4, Seed: 7}
		m := testkit.Must(wallChain{chainRun: r, Burn: 200 << i, Keep: 75 << i}.Stationary(t.Context(), b, pool))
		if e := math.Abs(m.Mean - 0.5 + 0.6*τ); e > 5*m.MeanError {
			t.Errorf("τ = %v: mean %.4f ± %.4f, expected %.4f", τ, m.Mean, m.MeanError, 0.5-0.6*τ)
		}
		off = append(off, 0.5-m.Mean)
	}
	t.Logf("errors %.4f", off)
	if off[2] > off[0]/2 {
		t.Errorf("errors of the mean %.4f do not fall with the step", off)
	}
}

// Backward steps with the score of the law that they start from keep it: with elastic
// walls on all sets, and on a torus, whose tube is not flat. 2000 samples of 80 steps; each
// of 86 numbers may be off by 5.5 standard errors (rate 4·10⁻⁸ each), 0.036 of a mean and
// 0.027 of an edge, and the bias of the scheme, as forward. The paper's walls have
// means below 0.45 and edges above 0.1 at the first friction; they run where they hold, with momenta that are forgotten
// in a step and ε half a step, and are off by what falls like √τ: up to 0.025 at the edge (history/benchmarks.md).
func TestBackwardKeepsTheLaw(t *testing.T) {
	pool := testkit.Pool(t, 0)
	elastic := []chainRun{
		{Method: langevin.ULLA, Tau: 0.05, Friction: 0.2}, {Method: langevin.ULLA, Tau: 0.05, Friction: 100},
		{Method: langevin.ULLAP, Tau: 0.05, Friction: 1}, {Method: langevin.OLLA, Tau: 0.005},
		{Method: langevin.OLLAP, Tau: 0.005},
	}
	var paper []chainRun
	for _, m := range []langevin.Method{langevin.ULLA, langevin.OLLA, langevin.ULLAP, langevin.OLLAP} {
		r := chainRun{Method: m, Walls: langevin.PaperWalls, Tau: 0.0025}
		if m.Underdamped() {
			r.Tau, r.Friction = 0.05, 200
		}
		r.Repulsion = r.Length() / 2
		paper = append(paper, r)
	}
	for i, b := range append(allWalled(), wholeTorus) {
		runs, mean, edge := elastic, 0.004, 0.001
		switch b.Name {
		case "cap, exp(−3z)":
			mean, edge = 0.035, 0.009
		case "half line, Gaussian", "cap":
			runs = append(runs, paper...)
		}
		if testing.Short() && i != 2 {
			continue
		}
		for _, r := range runs {
			r.Count, r.Step, r.Seed = 2000, 80, 7
			m := testkit.Must(wallChain{chainRun: r}.Backward(t.Context(), b, pool))
			mean, edge := mean, edge
			if r.Walls == langevin.PaperWalls {
				mean, edge = 0.02, 0.025
			}
			if math.Abs(m.Mean-0.5) > 5.5*m.MeanError+mean || math.Abs(m.Edge-0.05) > 5.5*m.EdgeError+edge {
				t.Errorf("%s, %v %v τ=%v γ=%v: mean %.4f ± %.4f, %.4f ± %.4f at the wall", b.Name, r.Walls, r.Method,
					r.Tau, r.Friction, m.Mean, m.MeanError, m.Edge, m.EdgeError)
			}
		}
	}
}
