// Package octahedron makes a level set whose distances are known, for tests.
package octahedron

import (
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
)

// Surface is the level set Σ |x_j| = 1 but for a rounding of its edges, with the
// octahedron as its mesh.
func Surface() *levelset.Surface {
	s, err := levelset.NewSurface(Network(), ball.Mesh(0))
	if err != nil {
		panic(err)
	}
	return s
}

// Network is the network of the level set.
func Network() *levelset.Network {
	net := &levelset.Network{MLP: score.NewMLP[float64]([]int{3, 6, 1}, 1), Beta: 200}
	clear(net.Params)
	for i := range 6 {
		net.Weight(0)[3*i+i/2] = float64(2*(i%2) - 1)
		net.Weight(1)[i] = 1
	}
	net.Bias(1)[0] = -1
	return net
}
