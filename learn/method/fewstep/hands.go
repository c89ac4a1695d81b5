package fewstep

import (
	"slices"

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
// epoch. So a path that serves several is seen in other pairs each time, of which a network can learn no more by heart
// than what points there are.
func (s *Source[T]) Arrange(seed, epoch uint64) {
	s.ξ = keyed.Refreshed(keyed.LevelNoise, keyed.HeldLevelNoise, seed, epoch)
	s.deal(seed, epoch)
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
