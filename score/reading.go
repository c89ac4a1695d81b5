package score

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/kernel"
)

// A Reading says how a network F_θ is read as a score:
//
//	s_θ(x, p̃, t) = m(t) F_θ(x, p̃, t, φ(x))
//
// The zero Reading is the paper's, s_θ = F_θ(x, p̃, t).
type Reading struct {
	// Octaves and Wavelength shape φ(x): sin and cos of 2π 2^i x_j/Wavelength for
	// each coordinate j and i < Octaves. Plain networks learn fine detail slowly;
	// with such features they start from it (Tancik et al. 2020).
	Octaves    int
	Wavelength float64
	// Gain is m; nil means m = 1.
	Gain func(t float64) float64
}

// Width returns the width of a network's input row for points in R^d.
func (r Reading) Width(d int, momentum bool) int {
	w := d + 1 + 2*d*r.Octaves
	if momentum {
		w += d
	}
	return w
}

// Row writes one input row (x, p̃, t, φ(x)) of a network; p may be nil.
func Row[T kernel.Float](dst []T, r Reading, x, p []float64, t float64) {
	d := len(x)
	for j, v := range x {
		dst[j] = T(v)
	}
	for j, v := range p {
		dst[d+j] = T(v)
	}
	dst[d+len(p)] = T(t)
	if r.Octaves == 0 {
		return
	}
	φ := dst[d+len(p)+1:][:2*d*r.Octaves]
	for j, v := range x {
		sin, cos := math.Sincos(2 * math.Pi / r.Wavelength * v)
		for i := range r.Octaves {
			φ[2*(i*d+j)], φ[2*(i*d+j)+1] = T(sin), T(cos)
			sin, cos = 2*sin*cos, (cos-sin)*(cos+sin)
		}
	}
}

// scale returns m(t).
func (r Reading) scale(t float64) float64 {
	if r.Gain == nil {
		return 1
	}
	return r.Gain(t)
}

// check panics unless a network takes the rows of the reading.
func (r Reading) check(network, d int, momentum bool) {
	if want := r.Width(d, momentum); want != network {
		panic(fmt.Sprintf("score: a row has %d numbers but the network takes %d", want, network))
	}
}
