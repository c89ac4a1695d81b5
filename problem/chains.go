package problem

import (
	"cmp"
	"fmt"

	"github.com/landing-diffusion/landing/langevin"
)

// maxNumbers bounds the kept draws of all chains, and the paths that training keeps.
const maxNumbers = 1e9

// BuildChains returns the unlearned sampler that the problem describes, or a *KeyError. Only the set, the potential,
// friction, landing and curvature of the rest of the problem count.
func (p *Problem) BuildChains() (*langevin.Chains, error) {
	c := p.Sample
	if err := p.Condition.none(p.origins); err != nil {
		return nil, err
	}
	step := float64(c.Step)
	if p.StepIsAuto() { // experiment chooses it
		step = 0.1
	}
	if err := checkRanges(p); err != nil {
		return nil, err
	}
	if float64(c.Draws)*float64(c.Thin) > 1e12 {
		return nil, p.key("sample.thin", c.Thin, "at most 1e12 steps in all")
	}
	q := *p
	q.Process.Steps, q.Process.Horizon = 1, step
	q.Process.Sigma = Sigma{Min: 1, Max: 1, Schedule: "linear"}
	q.Process.TerminalProjection = false
	leaps, symmetric := 0, c.Method == "splitting" || c.Method == "chmc"
	if c.Method == "chmc" {
		leaps = cmp.Or(c.Leaps, 10)
	}
	if q.Process.Method = c.Method; symmetric {
		q.Process.Method, q.Process.Curvature = "ULLA-P", false // it projects, so the set must allow that
	}
	if _, err := langevin.ParseMethod(q.Process.Method); err != nil {
		return nil, p.key("sample.method", c.Method, "splitting, chmc, ULLA, OLLA, ULLA-P or OLLA-P")
	}
	proc, err := q.process()
	if err != nil {
		return nil, err
	}
	if err := q.Condition.none(q.origins); err != nil { // of a set that leaves numbers open
		return nil, err
	}
	if float64(c.Chains)*float64(c.Draws)*float64(proc.Set.Dim()) > maxNumbers {
		return nil, p.key("sample.draws", c.Draws, fmt.Sprintf("at most %.0g numbers in all draws of all chains",
			maxNumbers))
	}
	if b, ok := proc.Potential.(langevin.Beginner); ok && b.Begin() == nil {
		return nil, p.key(coordinatesKey, p.Potential.Coordinates,
			"an inpcrd or rst7 file: chains begin from its conformation, since a molecule at random points has no "+
				"energy")
	}
	if p.Set.Unbounded() && proc.Potential == nil {
		return nil, p.key(KeyPotentialKind, p.Potential.Kind,
			"a potential: on an unbounded set exp(−0) is no distribution")
	}
	if c.Measure == "level" {
		if proc.Potential, err = langevin.Level(proc.Set, proc.Potential); err != nil {
			return nil, p.key("sample.measure", c.Measure, "surface, since "+err.Error())
		}
	}
	return &langevin.Chains{Process: proc, Symmetric: symmetric, Leaps: leaps, Count: c.Chains, Burn: c.Burn,
		Keep: c.Draws, Thin: c.Thin, Seed: p.Seed}, nil
}

// none returns a *KeyError if there is a condition.
func (c Condition) none(o origins) error {
	if len(c.Columns) > 0 {
		return o.key(KeyConditionColumns, c.Columns, "none: chains of landing mcmc have no data to take them from; "+
			"write their values into the set")
	}
	return nil
}
