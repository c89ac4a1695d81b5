package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
	"github.com/landing-diffusion/landing/langevin"
)

// measure returns the least time of a million, in seconds.
func measure(what string, system *amber.System, solvent amber.Solvent, x0 []float64, seconds float64) (float64, error) {
	var once func(count int) error
	switch what {
	case "energies":
		field, err := amber.New(system, solvent)
		if err != nil {
			return 0, err
		}
		e, grad := field.NewEvaluator(), make([]float64, field.Dim())
		once = func(count int) error {
			for range count {
				e.Energy(grad, x0)
			}
			return nil
		}
	case "steps":
		var err error
		if once, err = steps(system, solvent, x0); err != nil {
			return 0, err
		}
	default:
		return 0, fmt.Errorf("-speed is %q; want energies or steps", what)
	}
	const count = 500
	best := math.Inf(1)
	for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(end); {
		begin := time.Now()
		if err := once(count); err != nil {
			return 0, err
		}
		best = min(best, time.Since(begin).Seconds()/count*1e6)
	}
	return best, nil
}

// steps returns steps of one chain with the first torsion of the molecule held fixed; of alanine
// dipeptide, φ.
func steps(system *amber.System, solvent amber.Solvent, x0 []float64) (func(count int) error, error) {
	energy, err := amber.NewPotential(system, solvent, 300, x0)
	if err != nil {
		return nil, err
	}
	q := conformation.Coordinate{Kind: conformation.Dihedral, Atoms: []int{4, 6, 8, 14}}
	if torsions := system.Molecule.Torsions(); len(system.Atoms) != 22 && len(torsions) > 0 {
		q.Atoms = torsions[0][:]
	}
	at := q.Value(x0)
	set, err := conformation.New(conformation.Spec{Molecule: system.Molecule,
		Conditions: []conformation.Condition{{Coordinate: q, Low: at, High: at}}})
	if err != nil {
		return nil, err
	}
	f, err := langevin.Level(set, energy)
	if err != nil {
		return nil, err
	}
	pool := parallel.New(1)
	return func(count int) error {
		p := &langevin.Process{Set: set, Method: langevin.ULLAP, Potential: f, Friction: 2,
			Schedule: langevin.Schedule{N: 1, T: 0.012, SigmaMin: 1, SigmaMax: 1}}
		chains := langevin.Chains{Process: p, Symmetric: true, Count: 1, Keep: 1, Thin: count, Seed: 1}
		_, err := chains.Run(context.Background(), pool, x0)
		return err
	}, nil
}
