package fewstep

import (
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
)

// A dealer pairs points of R^d, up to n with n. It is scratch space for one goroutine.
type dealer struct {
	d      int
	cost   []float32 // n rows of stride(n)
	price  []float32 // +∞ has no place here: it is the cost of what pads rows
	owner  []int     // of a column: the row, or −1
	column []int     // of a row
	queue  []int

	centre           []float64
	left, right      []float32 // points about the centre, in units of the root of the mean cost: n×d
	leftSq, rightSq  []float32
	panel            *kernel.Weights[float32] // panelColumns×d of right
	product, scratch []float32
}

// panelColumns is how many columns of the cost are computed at a time.
const panelColumns = 64

// stride returns how far rows of n costs are apart.
func stride(n int) int { return (n + kernel.CheapestPad - 1) / kernel.CheapestPad * kernel.CheapestPad }

func newDealer(n, d int) *dealer {
	points := func() []float32 { return make([]float32, (n+panelColumns)*d) }
	each := func() []float32 { return make([]float32, stride(n)) }
	return &dealer{d: d, cost: make([]float32, n*stride(n)), price: each(), owner: make([]int, n),
		column: make([]int, n), queue: make([]int, 0, n), centre: make([]float64, d), left: points(), right: points(),
		leftSq: each(), rightSq: each(), panel: kernel.NewWeights[float32](panelColumns, d, false, kernel.Float32),
		product: make([]float32, n*panelColumns), scratch: make([]float32, kernel.Scratch[float32](n, panelColumns, d))}
}

// Shares of the mean cost: ε of the auction's first and last phase, and the factor between.
const (
	firstBid, lastBid, bidFactor = 0.25, 1e-3, 0.2
)

// deal returns for each of the n rows of a (n×d) a row of b, each once, such that the mean of their
// squared distances is least but for a share lastBid of the mean of all: by an auction with falling
// ε (Bertsekas 1988). A row bids for the column of the least cost and price, and raises its price to where
// the second least is as much, and ε above. Costs have float32's errors, 10⁻⁶ of their mean. The result is that of
// the next call's memory; if all distances are 0, or one is not finite, it is i for row i.
func (o *dealer) deal(a, b []float64, n int) []int {
	if !o.costs(a, b, n) {
		for i := range n {
			o.column[i] = i
		}
		return o.column[:n]
	}
	clear(o.price[:stride(n)])
	for share := firstBid; ; share = max(share*bidFactor, lastBid) {
		o.auction(n, float32(share))
		if share <= lastBid {
			return o.column[:n]
		}
	}
}

// costs makes those of rows and columns, in units of their mean, from
//
//	‖a_i − b_j‖² = ‖a_i‖² + ‖b_j‖² − 2 a_i·b_j
//
// about the mean of a. It returns false if there is no such unit.
func (o *dealer) costs(a, b []float64, n int) bool {
	d := o.d
	clear(o.centre)
	for i, v := range a[:n*d] {
		o.centre[i%d] += v / float64(n)
	}
	sum := 0.0
	for i, v := range b[:n*d] {
		v -= o.centre[i%d]
		u := a[i] - o.centre[i%d]
		sum += v*v + u*u
	}
	mean := sum / float64(n) // Σ_ij a_i·b_j = 0 about the mean of a
	unit := 1 / math.Sqrt(mean)
	if !(mean > 0) || unit == 0 || math.IsInf(unit, 0) {
		return false
	}
	around := func(dst, square []float32, src []float64) {
		clear(square)
		for i, v := range src {
			c := float32((v - o.centre[i%d]) * unit)
			dst[i] = c
			square[i/d] += c * c
		}
	}
	around(o.left, o.leftSq, a[:n*d])
	around(o.right, o.rightSq, b[:n*d])
	clear(o.right[n*d : (n+panelColumns)*d])
	inf := float32(math.Inf(1))
	for lo := 0; lo < stride(n); lo += panelColumns {
		o.panel.Set(o.right[min(lo, n)*d:])
		kernel.MulTransposed(o.product, o.left, o.panel, n, o.scratch)
		hi := min(lo+panelColumns, stride(n))
		for i := range n {
			row, product := o.cost[i*stride(n)+lo:i*stride(n)+hi], o.product[i*panelColumns:]
			for j := range row {
				if row[j] = inf; lo+j < n {
					row[j] = o.leftSq[i] + o.rightSq[lo+j] - 2*product[j]
				}
			}
		}
	}
	return true
}

// auction assigns all rows, with the prices there are to begin with.
func (o *dealer) auction(n int, ε float32) {
	o.queue = o.queue[:0]
	for i := range n {
		o.owner[i], o.queue = -1, append(o.queue, n-1-i)
	}
	s := stride(n)
	for len(o.queue) > 0 {
		i := o.queue[len(o.queue)-1]
		o.queue = o.queue[:len(o.queue)-1]
		least, second, at := kernel.Cheapest(o.cost[i*s:(i+1)*s], o.price[:s])
		if n > 1 {
			o.price[at] += second - least
		}
		o.price[at] += ε
		if was := o.owner[at]; was >= 0 {
			o.queue = append(o.queue, was)
		}
		o.owner[at], o.column[i] = i, at
	}
}
