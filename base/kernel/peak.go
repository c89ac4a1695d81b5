package kernel

// peakLinks is how many multiply-adds MultiplyAdd makes in each of its chains.
const peakLinks = 1 << 16

// MultiplyAdd makes float32 fused multiply-adds in registers, in as many independent chains as fill the pipes, and
// returns how many operations they were, two each. It takes a fraction of a millisecond (in portable Go, where products
// and sums are separate, up to one), so that the fastest of several calls meets no interruption. What a product does in
// that time is its share of the machine's peak.
func MultiplyAdd() float64 {
	if active == nil {
		portableChains(peakLinks)
		return 2 * 12 * peakLinks
	}
	active.peak(peakLinks)
	return 2 * 12 * peakLinks * float64(active.cols/2)
}

// chainStart is a variable, and its elements differ, so that the compiler can
// neither compute the chains nor merge them.
var chainStart = [12]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}

// portableChains makes n links a ← a·x + y in each of twelve chains.
//
//go:noinline
func portableChains(n int) float32 {
	s := &chainStart
	x, y := s[1]/2, s[2]
	a, b, c, d, e, f := s[0], s[1], s[2], s[3], s[4], s[5]
	g, h, i, j, k, l := s[6], s[7], s[8], s[9], s[10], s[11]
	for range n {
		a = a*x + y
		b = b*x + y
		c = c*x + y
		d = d*x + y
		e = e*x + y
		f = f*x + y
		g = g*x + y
		h = h*x + y
		i = i*x + y
		j = j*x + y
		k = k*x + y
		l = l*x + y
	}
	return a + b + c + d + e + f + g + h + i + j + k + l
}
