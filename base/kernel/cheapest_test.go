package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The least two of sums, and the first place of the least, are those that sorting finds, on all loops: with equal sums,
// with +∞ behind a length that is no multiple, and where nothing is below +∞. Arrays end where memory does.
func TestCheapest(t *testing.T) {
	each(t, func(t *testing.T) {
		costs, prices := fence(t, 256), fence(t, 256)
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, 200).Draw(t, "n")
			values := rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "values")
			number := rapid.IntRange(-values, values)
			padded := roundUp(n, CheapestPad)
			cost, price := costs[len(costs)-padded:], prices[len(prices)-padded:]
			var sums []float32
			for j := range padded {
				cost[j], price[j] = float32(math.Inf(1)), 0
				if j < n {
					cost[j], price[j] = float32(number.Draw(t, "cost"))/8, float32(number.Draw(t, "price"))/8
					sums = append(sums, cost[j]+price[j])
				}
			}
			least, second, at := Cheapest(cost, price)
			want := [2]float32{float32(math.Inf(1)), float32(math.Inf(1))}
			copy(want[:], slices.Sorted(slices.Values(sums)))
			if place := max(0, slices.Index(sums, want[0])); least != want[0] || second != want[1] || at != place {
				t.Fatalf("%v: got %v, %v at %d; want %v at %d", sums, least, second, at, want, place)
			}
		})
	})
}

func BenchmarkCheapest(b *testing.B) {
	each(b, func(b *testing.B) {
		cost, price := fill[float32](1024, 1), fill[float32](1024, 2)
		for b.Loop() {
			Cheapest(cost, price)
		}
	})
}
