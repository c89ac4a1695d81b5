package kernel

var doubleAVX2 = doubles{rows: 6, cols: 8, tile: tile64AVX2, softplus: softplus64AVX2}

var doubleAVX512 = doubles{rows: 14, cols: 16, tile: tile64AVX512, softplus: softplus64AVX512}

// double returns the float64 loops of the active instruction set, or nil.
func double() *doubles {
	switch Name() {
	case "avx2":
		return &doubleAVX2
	case "avx512", "amx":
		return &doubleAVX512
	}
	return nil
}

//go:noescape
func tile64AVX2(rows, k int, a *float64, rs int, b, c *float64, cs, add int)

//go:noescape
func tile64AVX512(rows, k int, a *float64, rs int, b, c *float64, cs, add int)

//go:noescape
func softplus64AVX2(a, s, z, bias *float64, n int, beta, inverse float64)

//go:noescape
func softplus64AVX512(a, s, z, bias *float64, n int, beta, inverse float64)
