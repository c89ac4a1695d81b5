package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Plateau lowers the learning rate when a metric stops falling: after Patience epochs without an improvement by the
// relative Threshold the rate is multiplied by Factor, and Cooldown epochs pass before counting again (PyTorch's
// ReduceLROnPlateau in mode "min").
type Plateau struct {
	Factor    float64 `yaml:"factor" bounds:"[0,0.9999999]"`
	Patience  int     `yaml:"patience" bounds:"[0,1e15]"`
	Threshold float64 `yaml:"threshold" bounds:"[0,1]"`
	Cooldown  int     `yaml:"cooldown" bounds:"[0,1e15]"`
	MinRate   float64 `yaml:"min_rate" bounds:"[0,1e15]"`
}

// PlateauState is what a Plateau remembers.
type PlateauState struct {
	Best     *float64 `json:"best"` // nil before the first epoch
	Bad      int      `json:"bad"`
	Cooldown int      `json:"cooldown"`
}

// Step returns the rate after an epoch whose metric is loss. A Factor of 0 turns the schedule off.
func (p Plateau) Step(s *PlateauState, rate, loss float64) float64 {
	if p.Factor == 0 {
		return rate
	}
	if s.Best == nil || loss < *s.Best*(1-p.Threshold) {
		s.Best, s.Bad = &loss, 0
	} else {
		s.Bad++
	}
	if s.Cooldown > 0 {
		s.Cooldown--
		s.Bad = 0
	}
	if s.Bad > p.Patience {
		s.Bad, s.Cooldown = 0, p.Cooldown
		if lower := max(rate*p.Factor, p.MinRate); rate-lower > 1e-8 {
			rate = lower
		}
	}
	return rate
}

// clip returns the factor that brings a gradient of the given norm to at most
// limit (PyTorch's clip_grad_norm_); a limit of 0 means none.
func clip(norm, limit float64) float64 {
	if limit == 0 {
		return 1
	}
	return math.Min(1, limit/(norm+1e-6))
}

// averageDecay returns the decay of update n = 1, 2, … of the moving average of
// weights, which starts from the initial weights: it warms up as (1+n)/(10+n).
func averageDecay(limit float64, n int) float64 { return math.Min(limit, float64(1+n)/float64(10+n)) }

// optimizer is the state of Adam and Muon, which share the first moments m, and a moving average of the weights.
type optimizer[T kernel.Float] struct {
	params, m, v, average []T
	muon                  []*muon[T]      // matrices that Adam leaves alone
	total                 []T             // the gradient
	squares               []float64       // of total, by segment
	step                  kernel.AdamStep // of the update in progress
	decay                 float64         // of its average; negative if there is none
}

func newOptimizer[T kernel.Float](params []T) *optimizer[T] {
	return &optimizer[T]{
		params: params, m: make([]T, len(params)), v: make([]T, len(params)),
		average: append([]T(nil), params...), squares: make([]float64, segments),
	}
}

// segments is the number of pieces that parameters are cut into for reductions and updates.
const segments = 64

func (o *optimizer[T]) segment(i int) (lo, hi int) {
	n := len(o.params)
	return i * n / segments, (i + 1) * n / segments
}

// square sums the squares of a segment of total.
func (o *optimizer[T]) square(_, segment int) {
	lo, hi := o.segment(segment)
	sq := 0.0
	for _, v := range o.total[lo:hi] {
		sq += float64(v) * float64(v)
	}
	o.squares[segment] = sq
}

// update applies Adam to a segment, but for what Muon moves, and the moving average.
func (o *optimizer[T]) update(_, segment int) {
	lo, hi := o.segment(segment)
	for _, w := range o.muon {
		if first, end := w.At, w.At+w.Out*w.In; first < hi && end > lo {
			o.adam(lo, min(first, hi))
			lo = max(lo, min(end, hi))
		}
	}
	o.adam(lo, hi)
}

func (o *optimizer[T]) adam(lo, hi int) {
	if lo >= hi {
		return
	}
	kernel.Adam(o.params[lo:hi], o.m[lo:hi], o.v[lo:hi], o.total[lo:hi], o.step)
	o.mix(lo, hi)
}

// orthogonal applies Muon to a matrix.
func (o *optimizer[T]) orthogonal(_, i int) {
	w := o.muon[i]
	lo, hi := w.At, w.At+w.Out*w.In
	w.step(o.params[lo:hi], o.m[lo:hi], o.total[lo:hi], o.step.Scale, o.step.Rate)
	o.mix(lo, hi)
}

func (o *optimizer[T]) mix(lo, hi int) {
	if o.decay >= 0 {
		kernel.Mix(o.average[lo:hi], o.params[lo:hi], o.decay)
	}
}

// prefixed are numbers for each parameter, under a prefix of snapshots.
type prefixed[T kernel.Float] struct {
	prefix string
	data   []T
}

func (o *optimizer[T]) parameters() []prefixed[T] {
	return []prefixed[T]{{PrefixRaw, o.params}, {PrefixAverage, o.average}, {prefixM, o.m}, {prefixV, o.v}}
}

// An Optimizer says how weights move.
type Optimizer int

const (
	// Adam moves every parameter (Kingma and Ba 2015); the paper's.
	Adam Optimizer = iota
	// Muon moves the matrices between hidden layers along their orthogonalised
	// momentum, and everything else as Adam does (Jordan et al. 2024).
	Muon
)

var optimizerNames = [...]string{"adam", "muon"}

func (o Optimizer) String() string { return optimizerNames[o] }

// ParseOptimizer reads an optimiser's name.
func ParseOptimizer(name string) (Optimizer, error) {
	if i := slices.Index(optimizerNames[:], name); i >= 0 {
		return Optimizer(i), nil
	}
	return 0, fmt.Errorf("train: optimiser %q; want adam or muon", name)
}

const (
	muonMomentum   = 0.95
	muonIterations = 5
)

// muon holds the scratch space of one hidden matrix W, out×in. With M the
// moving average of its gradient and N = βM + (1−β)g,
//
//	W ← W − η · 0.2 √max(out, in) · orth(N)
//
// where orth(N) = UVᵀ for N = UΣVᵀ, up to singular values within 0.7 … 1.2: five Newton–Schulz iterations X ← 3.4445 X
// − 4.7750 (XXᵀ)X + 2.0315 (XXᵀ)²X from N/‖N‖. The factor gives updates the size of Adam's (Liu et al. 2025), so that
// one learning rate serves both.
type muon[T kernel.Float] struct {
	score.Matrix // W

	x, c    []T // out×in
	a, b    []T // out×out
	wx, wa  *kernel.Weights[T]
	scratch []T
}

func newMuon[T kernel.Float](w score.Matrix, p kernel.Precision) *muon[T] {
	in, out := w.In, w.Out
	return &muon[T]{
		Matrix: w,
		x:      make([]T, out*in), c: make([]T, out*in), a: make([]T, out*out), b: make([]T, out*out),
		wx:      kernel.NewWeights[T](out, in, true, p),
		wa:      kernel.NewWeights[T](out, out, false, p),
		scratch: make([]T, max(kernel.Scratch[T](out, out, in), kernel.Scratch[T](out, out, out))),
	}
}

// step updates W and M from the gradient g. Clipping scales g by `scale`; rate is η.
func (o *muon[T]) step(w, m, g []T, scale, rate float64) {
	const β = muonMomentum
	kernel.Blend(m, g, β, (1-β)*scale)
	copy(o.x, g)
	kernel.Blend(o.x, m, (1-β)*scale, β)
	sum := 0.0
	for _, v := range o.x {
		sum += float64(v) * float64(v)
	}
	if sum == 0 {
		return
	}
	kernel.Blend(o.x, o.x, 1/math.Sqrt(sum), 0)
	for range muonIterations {
		o.wx.Set(o.x)
		kernel.MulTransposed(o.a, o.x, o.wx, o.Out, o.scratch) // A = XXᵀ
		o.wa.Set(o.a)
		kernel.MulTransposed(o.b, o.a, o.wa, o.Out, o.scratch) // A² = AAᵀ
		kernel.Blend(o.b, o.a, 2.0315, -4.7750)
		kernel.MulWeights(o.c, o.b, o.wx, o.Out, o.scratch)
		kernel.Blend(o.x, o.c, 3.4445, 1)
	}
	kernel.Blend(w, o.x, 1, -rate*0.2*math.Sqrt(float64(max(o.Out, o.In))))
}
