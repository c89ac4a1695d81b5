package kernel

// peakLinks is how many multiply-adds MultiplyAdd makes in each of its chains.
const peakLinks = 1 << 16

// MultiplyAdd makes float32 fused multiply-adds in registers, in as many
// independent chains as fill the pipes, and returns how many operations they
// were, two each. It takes a fraction of a millisecond (in portable Go, where
// products and sums are separate, up to one), so that the fastest of several
// calls meets no interruption. What a product does in that time is its share of
// the machine's peak.
func MultiplyAdd() float64 {
	if active == nil {
		portableChains(peakLinks)
		return 2 * 8 * peakLinks
	}
	active.peak(peakLinks)
	return 2 * 12 * peakLinks * float64(active.cols/2)
}

// chainStart is a variable, and its elements differ, so that the compiler can
// neither compute the chains nor merge them.
var chainStart = [8]float32{0, 1, 2, 3, 4, 5, 6, 7}

// portableChains makes n links a ← a·x + y in each of eight chains.
//
//go:noinline
func portableChains(n int) float32 {
	s := &chainStart
	x, y := s[1]/2, s[2]
	a, b, c, d, e, f, g, h := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	for range n {
		a = a*x + y
		b = b*x + y
		c = c*x + y
		d = d*x + y
		e = e*x + y
		f = f*x + y
		g = g*x + y
		h = h*x + y
	}
	return a + b + c + d + e + f + g + h
}
