package keyed

import "math/bits"

// Constants of Philox4x32 (Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC11): two multipliers, two Weyl increments.
const (
	m0 = 0xD2511F53
	m1 = 0xCD9E8D57
	w0 = 0x9E3779B9
	w1 = 0xBB67AE85
)

// philox is Philox4x32-10: a bijection of the 128-bit counter c for each 64-bit key k.
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	c0, c1, c2, c3 := c[0], c[1], c[2], c[3]
	k0, k1 := k[0], k[1]
	for range 10 {
		p0 := uint64(m0) * uint64(c0)
		p1 := uint64(m1) * uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += w0
		k1 += w1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// words returns the two 64-bit outputs of block number j of (sample, step).
func (s Stream) words(sample uint64, step, j uint32) (uint64, uint64) {
	c := philox([4]uint32{j, step, uint32(sample), uint32(sample >> 32)}, s.key)
	return uint64(c[0])<<32 | uint64(c[1]), uint64(c[2])<<32 | uint64(c[3])
}

// below returns a number uniform on [0, n) from the 64 random bits u, by
// Lemire's multiplication; the bias is below n·2⁻⁶⁴.
func below(u, n uint64) uint64 {
	hi, _ := bits.Mul64(u, n)
	return hi
}
