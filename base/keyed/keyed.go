// Package keyed makes random numbers that are a pure function of (seed, stream, sample, step).
//
// Nothing is drawn "next": a number is looked up by its address. Two workers that simulate different samples, a run
// that is cut in other batches, and a run that resumes after a kill therefore all see the same numbers.
//
// The generator is Philox4x32-10 of Random123, with the counter (block, step, sample) and a key derived from (seed,
// stream). Its outputs for a given address are promised: golden tests hold them. It is not for cryptography.
package keyed

import (
	"math"
	"math/bits"
)

// Purpose says what a stream's numbers are for. Two purposes never share numbers, whatever their indices.
type Purpose uint32

// The purposes used by this module; ledger.go names the indices of each. Values
// are part of the promise: append, never renumber.
const (
	ForwardNoise    Purpose = 1  // ζ_k of forward paths; index: refresh number
	ForwardMomentum Purpose = 2  // p̃_0 of forward paths; index: refresh number
	LastMomentum    Purpose = 3  // p̃_N in the underdamped loss; index: refresh number
	BackwardNoise   Purpose = 4  // ζ_k of generated paths
	Prior           Purpose = 5  // x_N and p̃_N of generated paths
	Shuffle         Purpose = 6  // order of training rows; index: epoch
	TimeSubset      Purpose = 7  // which times of a path a batch sees; index: epoch
	InitWeights     Purpose = 8  // network weights; index: layer
	Evaluation      Purpose = 9  // noise floors, permutation tests
	ChainNoise      Purpose = 10 // ζ_k of unlearned chains
	ChainStart      Purpose = 11 // x_0 and p_0 of unlearned chains
	Probe           Purpose = 12 // tests and diagnostics
	Synthetic       Purpose = 13 // generated data; index: which numbers of it
	SurfaceFit      Purpose = 20 // points that a level set is fitted to; index: kind of point
	SurfaceData     Purpose = 21 // data sets drawn on meshes
	Conditions      Purpose = 30 // who sees a condition, and what begins under one
	FewStep         Purpose = 31 // noise that few-step methods see or make
	FlowStart       Purpose = 40 // x_0 of the conditional paths of a flow; index: refresh number
	FlowTime        Purpose = 41 // times at which they are looked at; index: refresh number
)

// A Stream is an addressable sequence of random numbers. The zero value is
// usable but belongs to no seed; take streams from New.
type Stream struct{ key [2]uint32 }

// New returns the stream of the given purpose and index under seed; code of this module takes its streams from the
// ledger instead. Keys of different (purpose, index) are outputs of the generator itself under the key seed, so streams
// are independent of each other.
func New(seed uint64, p Purpose, index uint64) Stream {
	c := philox([4]uint32{uint32(p), 0x6c616e64, uint32(index), uint32(index >> 32)},
		[2]uint32{uint32(seed), uint32(seed >> 32)})
	return Stream{key: [2]uint32{c[0], c[1]}}
}

// Part returns a stream of its own for part i of a sample that is drawn in parts: a function of s and i, independent of
// s and of other parts. Parts have parts. Its key is an output of s at a block that no draw reaches.
func (s Stream) Part(i uint64) Stream {
	u, _ := s.words(i, 0x70617274, math.MaxUint32)
	return Stream{key: [2]uint32{uint32(u >> 32), uint32(u)}}
}

// Normals fills dst with independent standard normal numbers, those of
// (sample, step). A longer dst begins with the same numbers as a shorter one.
func (s Stream) Normals(dst []float64, sample uint64, step int) {
	n := len(dst)
	for i := 0; i < n; i += 2 {
		a, b := s.words(sample, uint32(step), uint32(i/2))
		// Box–Muller: u in (0, 1], so that the logarithm is finite.
		r := math.Sqrt(-2 * math.Log(float64(a>>11+1)*0x1p-53))
		sin, cos := math.Sincos(float64(b>>11) * (2 * math.Pi * 0x1p-53))
		dst[i] = r * cos
		if i+1 < n {
			dst[i+1] = r * sin
		}
	}
}

// Uniforms fills dst with independent numbers uniform on [0, 1), those of (sample, step).
func (s Stream) Uniforms(dst []float64, sample uint64, step int) {
	for i := 0; i < len(dst); i += 2 {
		a, b := s.words(sample, uint32(step), uint32(i/2))
		dst[i] = float64(a>>11) * 0x1p-53
		if i+1 < len(dst) {
			dst[i+1] = float64(b>>11) * 0x1p-53
		}
	}
}

// Permutation fills dst with a uniformly random order of 0 … len(dst)−1 (Fisher–Yates), that of (sample, step).
func (s Stream) Permutation(dst []int, sample uint64, step int) {
	for i := range dst {
		dst[i] = i
	}
	for i := len(dst) - 1; i > 0; i-- {
		u, _ := s.words(sample, uint32(step), uint32(i))
		j := int(below(u, uint64(i+1)))
		dst[i], dst[j] = dst[j], dst[i]
	}
}

// Index returns a number uniform on 0 … n−1, that of (sample, step).
func (s Stream) Index(n int, sample uint64, step int) int {
	if n <= 0 {
		panic("keyed: Index of an empty range")
	}
	u, _ := s.words(sample, uint32(step), 0)
	return int(below(u, uint64(n)))
}

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
