// Package kernel holds the loops over network rows that decide the speed:
// matrix products, the SiLU activation and its derivative, Adam.
//
// Every loop is generic over float32 (training) and float64 (exact checks).
// One row's result depends on that row alone, whatever the number of rows in
// the call; sums over rows run in row order. Shapes that do not fit panic.
package kernel

import "fmt"

// Float is the element type of networks.
type Float interface{ float32 | float64 }

func need(what string, have, want int) {
	if have < want {
		panic(fmt.Sprintf("kernel: %s has %d elements, needs %d", what, have, want))
	}
}
