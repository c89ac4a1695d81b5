//go:build !amd64

package geometry

var vectors = false

func factorAVX2(p *pattern, l, inverse, u, y *vec, tolerance float64, least *vec) {}
func solveAVX2(p *pattern, l, r, inverse, z *vec)                                 {}
func timesAVX2(p *pattern, z, u, x, inverse, largest *vec)                        {}
func subtractTransposedAVX2(p *pattern, x, u, z *vec)                             {}
