package kernel

//go:noescape
func tileNEON(rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int)

//go:noescape
func leftNEON(dst, src *float32, rows, stride int)

//go:noescape
func panelNEON(dst, src *float32, rows, stride int)

//go:noescape
func addNEON(dst, src *float32, n int)

//go:noescape
func mixNEON(e, p *float32, n int, decay, rest float32)

//go:noescape
func adamNEON(p, m, v, grad *float32, n int, scale, b1, a1, b2, a2, rate, root, eps float32)

//go:noescape
func biasSiLUNEON(y, z, bias *float32, n int)

//go:noescape
func siluGradNEON(d, z *float32, n int)

//go:noescape
func modulateNEON(y, u, scale, shift *float32, n int)

//go:noescape
func modulateGradNEON(d, u, scale, shift, dscale, dshift *float32, n int)

//go:noescape
func cheapestNEON(state *[5][16]uint32, cost, price *float32, n int)

//go:noescape
func tileBFMMLA(pairs, quads int, a, b *uint32, c *float32, cs, add int)

//go:noescape
func tile64NEON(rows, k int, a *float64, rs int, b, c *float64, cs, add int)

//go:noescape
func softplus64NEON(a, s, z, bias *float64, n int, beta, inverse float64)

//go:noescape
func quadsNEON(dst *uint32, step int, a, b *float32, n int)

//go:noescape
func weaveNEON(dst *uint32, step int, src *float32, stride, n int)
