package kernel

//go:generate go run ./internal/gen

//go:noescape
func tileAVX2(rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int)

//go:noescape
func tileAVX512(rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int)

//go:noescape
func leftAVX512(dst, src *float32, rows, stride int)

//go:noescape
func leftAVX2(dst, src *float32, rows, stride int)

//go:noescape
func panelAVX512(dst, src *float32, rows, stride int)

//go:noescape
func panelAVX2(dst, src *float32, rows, stride int)

//go:noescape
func addAVX2(dst, src *float32, n int)

//go:noescape
func addAVX512(dst, src *float32, n int)

//go:noescape
func mixAVX2(e, p *float32, n int, decay, rest float32)

//go:noescape
func mixAVX512(e, p *float32, n int, decay, rest float32)

//go:noescape
func adamAVX2(p, m, v, grad *float32, n int, scale, b1, a1, b2, a2, rate, root, eps float32)

//go:noescape
func adamAVX512(p, m, v, grad *float32, n int, scale, b1, a1, b2, a2, rate, root, eps float32)

//go:noescape
func biasSiLUAVX2(y, z, bias *float32, n int)

//go:noescape
func biasSiLUAVX512(y, z, bias *float32, n int)

//go:noescape
func siluGradAVX2(d, z *float32, n int)

//go:noescape
func siluGradAVX512(d, z *float32, n int)

//go:noescape
func modulateAVX2(y, u, scale, shift *float32, n int)

//go:noescape
func modulateAVX512(y, u, scale, shift *float32, n int)

//go:noescape
func modulateGradAVX2(d, u, scale, shift, dscale, dshift *float32, n int)

//go:noescape
func modulateGradAVX512(d, u, scale, shift, dscale, dshift *float32, n int)

//go:noescape
func cheapestAVX2(state *[5][16]uint32, cost, price *float32, n int)

//go:noescape
func cheapestAVX512(state *[5][16]uint32, cost, price *float32, n int)

// As tileAVX512, of pairs: l counts pairs of bfloat16 numbers.
//
//go:noescape
func tileBF16(rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int)

//go:noescape
func narrow(dst *uint32, src *float32, n int)

//go:noescape
func narrowRest(dst *uint32, src *float32, n int)

//go:noescape
func pairRows(dst *uint32, step int, src *float32, stride, n, cols int)

//go:noescape
func pairRowsRest(dst *uint32, step int, src *float32, stride, n, cols int)

//go:noescape
func turn(dst *uint32, step int, src *uint32, stride int)

//go:noescape
func stripAMX(cfg *[64]byte, steps int, a *uint32, rs, arest int, b *uint32, bstep, brest int, c *float32, cs,
	panels, add, parts int)
