// Package keyed makes random numbers that are a pure function of (seed, stream, sample, step).
//
// Nothing is drawn "next": a number is looked up by its address. Two workers that simulate different samples, a run
// that is cut in other batches, and a run that resumes after a kill therefore all see the same numbers.
//
// The generator is Philox4x32-10 of Random123, with the counter (block, step, sample) and a key derived from (seed,
// stream). Its outputs for a given address are promised: golden tests hold them. It is not for cryptography.
package keyed

import (
	"fmt"
	"math"
	"math/bits"
)

// Purpose says what a stream's numbers are for. Two purposes never share numbers, whatever their indices.
type Purpose uint32

// The purposes used by this module; what follows names the indices of each. Values
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

// The ledger: every (purpose, index) that this module draws from, by name. Code takes its streams from here, so that
// two uses cannot collide; a test holds the blocks of one purpose apart. Values are part of the promise: append, never
// renumber.

// A Block is a range of indices, First to Last.
type Block struct{ First, Last uint64 }

// At returns index i of the block. It panics beyond its end.
func (b Block) At(i uint64) uint64 {
	if i > b.Last-b.First {
		panic(fmt.Sprintf("keyed: index %d of a block of %d to %d", i, b.First, b.Last))
	}
	return b.First + i
}

func one(index uint64) Block { return Block{index, index} }

// A Use is a block of a purpose's indices, and what its numbers are for.
type Use struct {
	purpose Purpose
	block   Block
	what    string
	scope   string // of Synthetic: the data set; two scopes number as they like
}

// Stream returns stream i of the use under seed. It panics beyond the block's end.
func (u *Use) Stream(seed, i uint64) Stream { return New(seed, u.purpose, u.block.At(i)) }

// Refreshed returns the stream of a refresh, of a use that training's refreshes number; held is in its place for
// HeldPaths.
func Refreshed(training, held *Use, seed, refresh uint64) Stream {
	if refresh == HeldPaths.First {
		return held.Stream(seed, 0)
	}
	return training.Stream(seed, refresh)
}

// Refreshes: which set of forward paths. The purposes ForwardNoise,
// ForwardMomentum and LastMomentum are addressed by it.
var (
	TrainingPaths = Block{0, 1<<40 - 1} // those of training; index: refresh number
	PriorPaths    = one(1 << 40)        // those whose ends are an empirical prior
	CheckPaths    = one(1 << 41)        // those that the doctor looks at
	TerminalPaths = one(1 << 42)        // those whose ends the doctor compares with the prior
	StartPaths    = one(1 << 43)        // those whose ends an evaluation compares with the prior
	HeldPaths     = one(1 << 44)        // those of validation rows, by whose loss a training is judged
	WindowPaths   = one(math.MaxUint64) // those that windows of the loss are fitted to
)

// The blocks above, for the test that holds them apart.
var refreshes = []*Block{&TrainingPaths, &PriorPaths, &CheckPaths, &TerminalPaths, &StartPaths, &HeldPaths,
	&WindowPaths}

const all = math.MaxUint64

// Uses by purpose.
var (
	// Forward paths; index: a refresh, from the blocks above.
	PathNoise        = use(ForwardNoise, Block{0, all}, "ζ_k of forward paths")
	PathMomentum     = use(ForwardMomentum, Block{0, all}, "p̃_0 of forward paths")
	PathLastMomentum = use(LastMomentum, Block{0, all}, "p̃_N in the underdamped loss")

	// Generated paths.
	GeneratedNoise    = use(BackwardNoise, one(0), "ζ_k of generated paths")
	GeneratedStart    = use(Prior, one(0), "x_N of generated paths")
	GeneratedMomentum = use(Prior, one(1), "p̃_N of generated paths")
	GeneratedEarly    = use(BackwardNoise, one(1), "η_k of generated paths: noise before the score is evaluated")

	// Few-step methods; index: an epoch, or in generation how many evaluations came before. The
	// step of a latent is the level and which draw it is, or in generation the try.
	LevelNoise         = use(FewStep, Block{0, 1<<40 - 1}, "ξ of a level in training")
	GeneratedLatent    = use(FewStep, Block{1 << 40, 1<<40 + 1<<20}, "ξ of generated samples")
	GeneratedAgain     = use(FewStep, Block{1 << 41, 1<<41 + 1<<20}, "ζ_k of samples on their way back to a level")
	Hands              = use(FewStep, Block{1 << 43, 1<<44 - 1}, "which states of a level are dealt out together")
	GeneratedAgainward = use(FewStep, Block{1 << 42, 1<<42 + 1<<20}, "p̃_0 of these ways")
	HeldLevelNoise     = use(FewStep, one(1<<44), "ξ of a level on paths of validation rows")
	HeldHands          = use(FewStep, one(1<<44+1), "which of their states are dealt out together")
	// Flows; index: a refresh, from the blocks above. Of FlowTimes that of training.
	FlowStarts = use(FlowStart, Block{0, all}, "x_0 of the conditional paths of a flow")
	FlowTimes  = use(FlowTime, Block{0, 1<<40 - 1}, "their times, within strata")
	HeldTimes  = use(FlowTime, one(1<<44), "times of paths to validation rows")
	FlowSpeeds = use(FlowTime, one(1<<40), "pairs of points that say how long such paths are")

	// Training; index: epoch, or layer of the network. A layer's sample 0 is its
	// weights, 1 its biases, LevelSetWeights those of a level set.
	RowOrder   = use(Shuffle, Block{0, 1<<40 - 1}, "order of training rows")
	PathRows   = use(Shuffle, Block{1 << 40, 1<<41 - 1}, "rows that paths begin at; index: round through all of them")
	BatchTimes = use(TimeSubset, Block{0, all}, "times of a path that a batch sees")
	Layers     = use(InitWeights, Block{0, 1<<32 - 1}, "weights before training")

	// Conditions; index: epoch.
	HiddenConditions = use(Conditions, Block{0, 1<<40 - 1}, "terms whose condition the network does not see")
	GivenStarts      = use(Conditions, one(1<<40), "ends of paths that samples under a condition begin with")
	ArmRepairs       = use(Conditions, one(1<<40+1), "ways around what a motion touches; sample: number, step: draw")
	GivenPicks       = use(Conditions, one(1<<40+2), "particles that go on; sample: population, step: k")
	GivenChances     = use(Conditions, one(1<<40+3), "samples that an observation keeps; sample: number")

	// Evaluation.
	FloorDraws   = use(Evaluation, Block{0, 1<<32 - 1}, "draws from the training rows behind a floor; index: draw")
	Subsample    = use(Evaluation, one(1<<32), "points that an energy test takes")
	Relabelling  = use(Evaluation, one(1<<32+1), "permutations of an energy test")
	PairSwaps    = use(Evaluation, one(1<<32+2), "pairs that a test of conditional laws swaps")
	RegionStarts = use(Evaluation, one(1<<32+3), "rows that regions of a verdict begin from")
	SpreadLabels = use(Evaluation, one(1<<32+4), "permutations of a test of spread")
	RegionOrder  = use(Evaluation, one(1<<32+5), "order of points that regions of a verdict are made of")
	HalvedRows   = use(Evaluation, one(1<<32+6), "orders of the data, whose halves and quarters are compared")
	NearRows     = use(Evaluation, one(1<<32+7), "training rows of conditions near to those of held-out rows")
	UniformScore = use(Evaluation, one(1<<33), "prior draws that are scored beside the samples")
	StartDraws   = use(Evaluation, Block{1 << 34, 1<<35 - 1}, "prior draws beside the ends of paths; index: set")

	// Unlearned chains.
	ChainSteps   = use(ChainNoise, one(0), "ζ_k of chains")
	ChainMomenta = use(ChainStart, one(0), "p_0 of chains")
	ChainPoints  = use(ChainStart, one(1), "x_0 of chains")

	// Diagnostics.
	SurfaceProbe       = use(Probe, one(0), "points of a mesh that are moved to Σ when both are joined")
	SuiteProbe         = use(Probe, Block{1, 4}, "points of the suite that sets must pass")
	LanczosStart       = use(Probe, one(5), "the first vector of a Krylov space")
	LanczosRestart     = use(Probe, one(6), "vectors that extend it")
	TerminalPrior      = use(Probe, one(0x7e0), "prior draws beside the ends of the doctor's paths")
	TerminalDirections = use(Probe, one(0x7e1), "prior draws that say along which directions to look")
	SubspaceStart      = use(Probe, one(0x7e2), "the first vectors of a subspace iteration")
	ReachStart         = use(Probe, one(0x7e3), "configurations that a search for a place of an arm begins from")
	MeasuredRows       = use(Probe, Block{0x7e4, 0x7e5}, "rows of data that are measured; 1: tangents at them")
	EvidencePoints     = use(Probe, one(0xd0c), "starts and directions around Σ")
	MeshPoints         = use(Probe, one(0xd0d), "points of a mesh that are held against Σ")

	// Level sets fitted to a mesh.
	FitSurface = use(SurfaceFit, one(0), "points of the mesh in a batch")
	FitNear    = use(SurfaceFit, one(1), "their shifts off the mesh")
	FitVolume  = use(SurfaceFit, one(2), "points of the space around")
	FitReport  = use(SurfaceFit, one(3), "points that a fit is judged at")

	// Data that is made here.
	EigenfunctionData = use(SurfaceData, Block{0, all}, "points by an eigenfunction's density; index: k")
	RotationCentres   = synthetic(one(0), "centres", "mixtures of rotations")
	RotationChoice    = synthetic(one(1), "part of each point", "mixtures of rotations")
	RotationTangent   = synthetic(one(2), "points about their centres", "mixtures of rotations")
	ArmPaths          = synthetic(one(0), "samples of a planner; sample: query, step: draw", "paths of arms")
	ArmPairs          = synthetic(one(1), "places that starts and goals are drawn from", "paths of arms")
	ArmReserves       = synthetic(one(2), "room that a query of a planner keeps", "paths of arms")
	GridRows          = synthetic(one(0), "loads, generation, voltages; sample: row, step: try", "states of grids")
	SuiteRows         = synthetic(Block{0, 1<<32 - 1}, "rows; index: batch, 0 being the data", "suite of problems")
	OwnData           = synthetic(Block{0, all}, "numbers of a program that makes its own data", "examples")
)

// LevelSetWeights is the sample of a layer's stream that level sets are fitted from.
const LevelSetWeights = 2

// Round returns the seed of a round of chains; that of round 0 is seed.
func Round(seed uint64, round int) uint64 { return seed + uint64(round)<<32 }

var ledger []*Use

func use(p Purpose, b Block, what string) *Use { return scoped(p, b, what, "") }

func synthetic(b Block, what, scope string) *Use { return scoped(Synthetic, b, what, scope) }

func scoped(p Purpose, b Block, what, scope string) *Use {
	u := &Use{p, b, what, scope}
	ledger = append(ledger, u)
	return u
}
