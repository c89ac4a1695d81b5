// Package kernel holds the loops over network rows that decide the speed: the matrix products of linear layers, the
// SiLU activation and its derivative, Adam.
//
// Every loop is generic over float32 (training) and float64 (exact checks). float64 runs in portable Go; float32 in the
// best of AVX-512, AVX2 with FMA and portable Go that the machine has, or in the one that the environment variable
// LANDING_KERNEL names (amx, avx512, avx2, portable). A name that is unknown, or not to be had here, ends the program
// at its start. Products of float32 may be permitted a lower Precision. Geometry that is itself a network has float64
// loops in assembly: Mul64 and Softplus64.
//
// One row's result depends on that row alone, whatever the number of rows in the call, and one element's on no
// neighbour; sums over rows run in an order that their number fixes, that of the rows but in bfloat16. Shapes that do
// not fit, and products over their own operands, panic. Nothing allocates but NewWeights and NewMatrix64. Not-a-numbers
// and infinities travel as the formulas have them.
package kernel

import "fmt"

// Float is the element type of networks.
type Float interface{ float32 | float64 }

func need(what string, have, want int) {
	if have < want {
		panic(fmt.Sprintf("kernel: %s has %d elements, needs %d", what, have, want))
	}
}
