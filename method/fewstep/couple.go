package fewstep

import "math"

// A dealer pairs points, up to n with n. It is scratch space for one goroutine.
type dealer struct {
	n      int
	cost   []float32 // n×n
	price  []float64
	owner  []int // of a column: the row, or −1
	column []int // of a row
	queue  []int
}

func newDealer(n int) *dealer {
	return &dealer{n, make([]float32, n*n), make([]float64, n), make([]int, n), make([]int, n), make([]int, 0, n)}
}

// Shares of the mean cost: ε of the auction's first and last phase, and the factor between.
const (
	firstBid, lastBid, bidFactor = 0.25, 1e-3, 0.2
)

// deal returns for each of the n rows of a (n×d) a row of b, each once, such that the mean of their
// squared distances is least but for a share lastBid of the mean of all: by an auction with falling
// ε (Bertsekas 1988). A row bids for the column of the best value, −cost − price, and raises its price to where
// the second best is as good, and ε above. The result is that of the next call's memory.
func (o *dealer) deal(a, b []float64, n, d int) []int {
	mean := 0.0
	for i := range n {
		for j := range n {
			c := 0.0
			for k, v := range a[i*d : (i+1)*d] {
				v -= b[j*d+k]
				c += v * v
			}
			o.cost[i*n+j] = float32(c)
			mean += c
		}
	}
	mean /= float64(n * n)
	clear(o.price[:n])
	for share := firstBid; ; share = max(share*bidFactor, lastBid) {
		o.auction(n, share*mean)
		if share <= lastBid {
			return o.column[:n]
		}
	}
}

// auction assigns all rows, with the prices there are to begin with.
func (o *dealer) auction(n int, ε float64) {
	o.queue = o.queue[:0]
	for i := range n {
		o.owner[i], o.queue = -1, append(o.queue, n-1-i)
	}
	for len(o.queue) > 0 {
		i := o.queue[len(o.queue)-1]
		o.queue = o.queue[:len(o.queue)-1]
		best, second, at := math.Inf(-1), math.Inf(-1), 0
		for j, c := range o.cost[i*n : (i+1)*n] {
			if v := -float64(c) - o.price[j]; v > best {
				best, second, at = v, best, j
			} else if v > second {
				second = v
			}
		}
		if n > 1 {
			o.price[at] += best - second
		}
		o.price[at] += ε
		if was := o.owner[at]; was >= 0 {
			o.queue = append(o.queue, was)
		}
		o.owner[at], o.column[i] = i, at
	}
}
