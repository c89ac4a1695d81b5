package dataset

import (
	"fmt"

	"gonum.org/v1/gonum/mathext/prng"
)

// A Split parts the rows of a data set. The three lists are disjoint and hold every row once.
type Split struct{ Train, Val, Test []int }

// RandomSplit parts n rows 80/10/10: ⌊n/10⌋ rows each for validation and test, the rest for training. It repeats
// PyTorch's random_split with a CPU generator of this seed, whose low 32 bits count, so that results can be compared
// with those of other programs row by row. PyTorch itself changes method from about 2·10⁸ rows on; there the two
// differ.
func RandomSplit(n int, seed uint64) Split {
	if n < 0 {
		panic(fmt.Sprintf("dataset: split of %d rows", n))
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	random := prng.NewMT19937()
	random.Seed(seed)
	for i := range n - 1 {
		j := i + int(uint64(random.Uint32())%uint64(n-i))
		order[i], order[j] = order[j], order[i]
	}
	held := int(0.1 * float64(n))
	train, val := n-2*held, n-held
	// Full slice expressions: appending to one part must not reach the next.
	return Split{Train: order[:train:train], Val: order[train:val:val], Test: order[val:]}
}
