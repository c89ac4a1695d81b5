package geometry

import "github.com/landing-diffusion/landing/base/kernel"

// vectors: the loops of a pattern run in AVX2, with the bits of those in Go.
var vectors = kernel.Name() != "portable"

//go:noescape
func factorAVX2(p *pattern, l, inverse, u, y *vec, tolerance float64, least *vec)

//go:noescape
func solveAVX2(p *pattern, l, r, inverse, z *vec)

//go:noescape
func timesAVX2(p *pattern, z, u, x, inverse, largest *vec)

//go:noescape
func subtractTransposedAVX2(p *pattern, x, u, z *vec)
