package dataset

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/constraint/conformation"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/molecule"
	"github.com/landing-diffusion/landing/molecule/amber"
	"github.com/landing-diffusion/landing/parallel"
)

func TestScratch(t *testing.T) {
	s := amber.AlanineDipeptide()
	D := math.Pi / 180
	set, err := conformation.New(conformation.Spec{Molecule: s.Molecule, Conditions: []conformation.Condition{
		{Coordinate: conformation.Coordinate{Kind: conformation.Dihedral, Atoms: []int{4, 6, 8, 14}}, Low: -70 * D, High: -70 * D},
		{Coordinate: conformation.Coordinate{Kind: conformation.Dihedral, Atoms: []int{6, 8, 14, 16}}, Low: 130 * D, High: 170 * D},
	}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := amber.NewPotential(s, amber.OBC2, 300, nil)
	if err != nil {
		t.Fatal(err)
	}
	pot, err := langevin.Level(set, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ τ, γ float64 }{{0.012, 2}} {
		p := &langevin.Process{Set: set, Method: langevin.ULLAP, Potential: pot, Friction: c.γ,
			Schedule: langevin.Schedule{N: 1, T: c.τ, SigmaMin: 1, SigmaMax: 1}}
		ch := &langevin.Chains{Process: p, Symmetric: true, Count: 8, Burn: 1000, Keep: 200, Thin: 20, Seed: 1}
		x0 := make([]float64, 0)
		for range 8 {
			x0 = append(x0, amber.AlanineStart()...)
		}
		begin := time.Now()
		pool := parallel.New(1)
		d, err := ch.Run(context.Background(), pool, x0)
		if err != nil {
			fmt.Println(c, err)
			continue
		}
		var psi, en, co [][]float64
		ev := make([]float64, 1)
		mean, me, mco := 0.0, 0.0, 0.0
		for k := range 8 {
			var a, b, cc []float64
			for j := range 200 {
				x := d.X[(k*200+j)*66:][:66]
				a = append(a, molecule.Torsion(x, 6, 8, 14, 16)/D)
				f.Value(ev, x, 1)
				b = append(b, ev[0])
				cc = append(cc, molecule.Distance(x, 4, 5))
				mean += a[j] / 1600
				me += b[j] / 1600
				mco += cc[j] / 1600
			}
			psi, en, co = append(psi, a), append(en, b), append(co, cc)
		}
		fmt.Printf("τ %v γ %v: %.2f µs/step ψ %.2f±%.2f ESS ψ %.0f energy %.2f±%.2f ESS %.0f CO %.5f±%.5f fail %v turned %.4f\n", c.τ, c.γ, time.Since(begin).Seconds()*1e6/(8*5000),
			mean, metric.MCSE(psi), metric.ESS(psi), me, metric.MCSE(en), metric.ESS(en), mco, metric.MCSE(co), d.FailedShare(), d.Turned)
	}
}
