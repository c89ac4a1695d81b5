//go:build amd64 || arm64

package geometry

import "github.com/landing-diffusion/landing/base/kernel"

//go:generate go run ../../base/kernel/internal/gen pattern_amd64.s

// vectors: the loops of a pattern run in AVX2 or NEON, with the bits of those in Go.
var vectors = kernel.Name() != "portable"

//go:noescape
func factorVectors(p *pattern, l, inverse, u, y *vec, tolerance float64, least *vec)

//go:noescape
func solveVectors(p *pattern, l, r, inverse, z *vec)

//go:noescape
func timesVectors(p *pattern, z, u, x, inverse, largest *vec)

//go:noescape
func subtractTransposedVectors(p *pattern, x, u, z *vec)
