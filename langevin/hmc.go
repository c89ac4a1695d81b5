package langevin

import (
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/geometry"
)

// hmc is constrained Hamiltonian Monte Carlo (Lelièvre, Rousset and Stoltz, "Hybrid Monte Carlo methods for sampling
// probability measures on submanifolds", 2019), for sampling exp(−f) on Σ without an error of the step:
//
//	p ← Πζ
//	leaps times:  p ← p − (τ/2)Π∇f,  a flight of τ (RATTLE),  p ← p − (τ/2)Π∇f
//	accept with probability min(1, exp(−ΔH)), H = f + ‖p‖²/2; else back to the start
//
// A flight whose projection fails, or that does not lead back to where it came from,
// or ends beyond an inequality, turns back as in splitting: every flight is then an
// involution with the momentum reversed and keeps volume, so the law is exact.
type hmc struct {
	*splitting
	leaps   int
	start   []float64 // rows×d: points
	u       []float64 // rows
	refused int       // by Metropolis
	moves   int
}

func newHMC(p *Process, leaps, rows int) *hmc {
	s := newSplitting(p, rows)
	s.h, s.back = s.τ, make([]float64, rows*s.d)
	return &hmc{splitting: s, leaps: leaps, start: make([]float64, rows*s.d), u: make([]float64, rows)}
}

// step moves x in place; p is scratch. uniform(i) is a number in [0, 1) for row i.
func (c *hmc) step(
	x, p, ζ []float64, uniform func(i int) float64, failed []bool, n int,
) (o geometry.Outcome, err error) {
	nd, w := n*c.d, &c.watched
	if err := c.set.At(x, n); err != nil {
		return o, err
	}
	copy(c.start, x[:nd])
	c.set.Tangent(p, ζ[:nd])
	w.of(w.before, x[:nd], p[:nd], n)
	for leap := range c.leaps {
		if err := c.project.Err(); err != nil {
			return o, err
		}
		c.kick(x, p, n)
		if leap == 0 { // later ones may leave the numbers: that is a move to refuse
			if err := finite("p", p[:nd], c.d); err != nil {
				return o, err
			}
		}
		if err := c.flight(x, p, failed, n, &o); err != nil {
			return o, err
		}
		c.kick(x, p, n)
	}
	w.of(w.after, x[:nd], p[:nd], n)
	for i := range n {
		c.moves++
		if !(math.Log(uniform(i)) < w.before[i]-w.after[i]) {
			c.refused++
			copy(x[i*c.d:(i+1)*c.d], c.start[i*c.d:(i+1)*c.d])
		}
	}
	return o, nil
}

// hmcChains is the kernel of HMC. Each step draws its own momenta.
type hmcChains struct {
	*hmc
	inPlace
	uniforms keyed.Stream
}

func (k *hmcChains) start(x []float64, _ keyed.Stream) error {
	copy(k.x, x)
	return nil
}

func (k *hmcChains) step(step int, ζ []float64, failed []bool) (info Info, err error) {
	info.Projections, err = k.hmc.step(k.x, k.p, ζ, func(i int) float64 {
		k.uniforms.Uniforms(k.u[:1], uint64(k.lo+i), step)
		return k.u[0]
	}, failed, k.n)
	if err == nil {
		info.Worst = k.w.excess(k.components(k.x, k.n), k.n)
	}
	return info, err
}

func (k *hmcChains) moved() moves {
	return moves{flights: k.flights, turned: k.turned, refused: float64(k.refused) / float64(max(k.hmc.moves, 1))}
}
