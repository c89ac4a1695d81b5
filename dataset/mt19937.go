package dataset

// A mersenneTwister is the generator MT19937 of M. Matsumoto and T. Nishimura, "Mersenne Twister: a 623-dimensionally
// equidistributed uniform pseudo-random number generator", ACM TOMACS 8 (1998). It is here to repeat splits that other
// programs have made; for anything else, package keyed is the better choice.
type mersenneTwister struct {
	state [624]uint32
	next  int
}

// newMersenneTwister seeds as the authors' init_genrand does (2002).
func newMersenneTwister(seed uint32) *mersenneTwister {
	m := new(mersenneTwister)
	m.state[0] = seed
	for i := 1; i < len(m.state); i++ {
		last := m.state[i-1]
		m.state[i] = 1812433253*(last^last>>30) + uint32(i)
	}
	m.next = len(m.state)
	return m
}

func (m *mersenneTwister) uint32() uint32 {
	if m.next == len(m.state) {
		m.twist()
	}
	y := m.state[m.next]
	m.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// twist replaces the state by the next 624 words of the recurrence.
func (m *mersenneTwister) twist() {
	const (
		n, middle    = 624, 397
		upper, lower = 0x80000000, 0x7fffffff
		matrix       = 0x9908b0df
	)
	for i := range n {
		y := m.state[i]&upper | m.state[(i+1)%n]&lower
		z := m.state[(i+middle)%n] ^ y>>1
		if y&1 != 0 {
			z ^= matrix
		}
		m.state[i] = z
	}
	m.next = 0
}
