package kernel

import (
	"fmt"
	"math"
)

// CheapestPad is what lengths of Cheapest's arrays are multiples of.
const CheapestPad = 16

// Cheapest returns the least and the second least of the sums cost[j] + price[j], and the first j of the least: +∞
// and 0 where there is none below +∞, which pads arrays to a multiple of CheapestPad. No sum may be NaN. The results
// are the same on all loops.
func Cheapest(cost, price []float32) (least, second float32, at int) {
	if len(cost) != len(price) || len(cost)%CheapestPad != 0 {
		panic(fmt.Sprintf("kernel: Cheapest: %d costs and %d prices; expected as many, a multiple of %d", len(cost),
			len(price), CheapestPad))
	}
	inf := float32(math.Inf(1))
	least, second = inf, inf
	im := active
	if im == nil {
		price = price[:len(cost)]
		for j, c := range cost {
			if v := c + price[j]; v < second {
				if second = v; v < least {
					least, second, at = v, least, j
				}
			}
		}
		return least, second, at
	}
	if len(cost) == 0 {
		return least, second, 0
	}
	var state [5][CheapestPad]uint32
	lanes := im.cols / 2
	for l := range lanes {
		state[0][l], state[1][l] = math.Float32bits(inf), math.Float32bits(inf)
		state[3][l], state[4][l] = uint32(l), uint32(lanes)
	}
	im.cheapest(&state, &cost[0], &price[0], len(cost))
	for l := range lanes { // of equal ones the first
		v, s, j := math.Float32frombits(state[0][l]), math.Float32frombits(state[1][l]), int(state[2][l])
		if v < least || v == least && v < inf && j < at {
			least, v, at = v, least, j
		}
		second = min(second, v, s)
	}
	return least, second, at
}
