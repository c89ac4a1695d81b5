//go:build !amd64 && !arm64

package geometry

var vectors = false

func factorVectors(p *pattern, l, inverse, u, y *vec, tolerance float64, least *vec) {}
func solveVectors(p *pattern, l, r, inverse, z *vec)                                 {}
func timesVectors(p *pattern, z, u, x, inverse, largest *vec)                        {}
func subtractTransposedVectors(p *pattern, x, u, z *vec)                             {}
