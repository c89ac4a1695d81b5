package fewstep

import (
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
)

// At a level the network maps a draw of the law of x_k to a draw of the law that is learned. Forward paths pair
// them too: but then x_0 given x_k is spread over all modes in reach of s_k (at level N, over the whole law), and one
// evaluation has to find them in ξ. Any pairing has the same two laws, though, and they are all that a sample
// needs, so the states x_k of many paths are dealt out to their x_0 anew, such that the sum of ‖x_k − x_0‖² is about as
// small as can be (minibatch optimal transport: Pooladian et al. 2023, Tong et al. 2023). Then x_0 given x_k is a law
// about one place, the better known the more points of a neighbourhood are dealt out at a time, and near x_k
// wherever the law is even at the scale s_k.
//
// Hands are of random items among those whose x_0 are near each other for their level. Within such a part of the
// law paths have not exchanged their x_k with other parts, but at its border; which moves, as each refresh cuts
// the law up anew.
const (
	manyDealt, fewDealt = 1024, 256 // states of a hand at level N and below it
	reach               = 4         // of a level, in s_k: parts are cut while they deviate by more along a line
)

// hands are the room of a Source to deal.
type hands struct {
	order   []int // items that did not fail, by parts, random in each
	cells   [][2]int
	each    [][2]int
	along   []float64 // of the items of a part
	sorted  []float64
	half    []int
	dealers []*dealer   // by worker
	x0, x   [][]float64 // by worker
}

// Arrange is method.SourceCapabilities.Arrange: it pairs the states of each level with x_0, and draws ξ, anew in each
// epoch. A path that serves several epochs thus gives other pairs each time, so that the network overfits less.
func (s *Source[T]) Arrange(seed, epoch uint64) {
	s.ξ = keyed.Refreshed(keyed.LevelNoise, keyed.HeldLevelNoise, seed, epoch)
	if len(s.m.held) == 0 { // the law of x_k under one condition has one state: that of its own path
		s.deal(seed, epoch)
	}
}

func (s *Source[T]) deal(seed, epoch uint64) {
	h, n := &s.hands, len(s.failed)
	if h.dealers == nil {
		size := min(manyDealt, n)
		h.order, h.half = make([]int, n), make([]int, n)
		h.along, h.sorted = make([]float64, n), make([]float64, n)
		for range s.pool.Workers() {
			h.dealers = append(h.dealers, newDealer(size, s.d))
			h.x0, h.x = append(h.x0, make([]float64, size*s.d)), append(h.x, make([]float64, size*s.d))
		}
	}
	s.asPathsPair() // also those that failed
	h.order = h.order[:n]
	keyed.Refreshed(keyed.Hands, keyed.HeldHands, seed, epoch).Permutation(h.order, 0, 0)
	kept := h.order[:0]
	for _, i := range h.order {
		if !s.failed[i] {
			kept = append(kept, i)
		}
	}
	h.order, h.cells = kept, append(h.cells[:0], [2]int{0, len(kept)})
	size := manyDealt
	for l := len(s.ks) - 1; l >= 0; l-- { // parts of a level are cut out of those of the level above
		var cells [][2]int
		for _, c := range h.cells {
			cells = s.cut(cells, c[0], c[1], size, reach*s.m.s[len(s.ks)-1-l])
		}
		h.cells, h.each = cells, h.each[:0]
		for _, c := range cells {
			m := parallel.Blocks(c[1]-c[0], size)
			for b := range m {
				h.each = append(h.each, [2]int{c[0] + b*(c[1]-c[0])/m, c[0] + (b+1)*(c[1]-c[0])/m})
			}
		}
		s.pool.Do(len(h.each), func(w, b int) { s.dealHand(w, l, h.order[h.each[b][0]:h.each[b][1]]) })
		size = fewDealt
	}
}

// asPathsPair gives each item the states of its own path.
func (s *Source[T]) asPathsPair() {
	for i := range s.dealt {
		s.dealt[i] = i / len(s.ks)
	}
}

// cut appends the parts that the items lo to hi of the order, more than size of them, are cut into: halves along the
// line through two of their x_0, as long as they deviate by more than far along it. Their order stays random.
func (s *Source[T]) cut(cells [][2]int, lo, hi, size int, far float64) [][2]int {
	h, n, d := &s.hands, hi-lo, s.d
	whole := append(cells, [2]int{lo, hi})
	if n <= size {
		return whole
	}
	point := func(i int) []float64 { o := h.order[lo+i] * d; return s.data[o : o+d] }
	a, b := point(0), point(1)
	along, norm, mean, square := h.along[:n], 0.0, 0.0, 0.0
	for j := range d {
		norm += (a[j] - b[j]) * (a[j] - b[j])
	}
	for i := range along {
		v := 0.0
		for j, x := range point(i) {
			v += (x - a[j]) * (a[j] - b[j])
		}
		along[i] = v
		mean += v / float64(n)
	}
	for _, v := range along {
		square += (v - mean) * (v - mean) / float64(n)
	}
	if !(square > far*far*norm) { // along is in units of √norm
		return whole
	}
	sorted := h.sorted[:n]
	copy(sorted, along)
	slices.Sort(sorted)
	middle, at := sorted[n/2], lo
	right := h.half[:0]
	for i, v := range along {
		item := h.order[lo+i]
		if v < middle {
			h.order[at] = item
			at++
		} else {
			right = append(right, item)
		}
	}
	if at == lo { // half of them are one point
		return whole
	}
	copy(h.order[at:hi], right)
	return s.cut(s.cut(cells, lo, at, size, far), at, hi, size, far)
}

// dealHand deals the states of a level out among items.
func (s *Source[T]) dealHand(w, level int, items []int) {
	h, d, L := &s.hands, s.d, len(s.ks)
	for e, i := range items {
		copy(h.x0[w][e*d:(e+1)*d], s.data[i*d:(i+1)*d])
		copy(h.x[w][e*d:(e+1)*d], s.states[(i*L+level)*d:])
	}
	for e, j := range h.dealers[w].deal(h.x0[w], h.x[w], len(items)) {
		s.dealt[items[e]*L+level] = items[j]
	}
}

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
