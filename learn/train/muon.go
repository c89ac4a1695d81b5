package train

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/learn/score"
)

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
	for o, s := range optimizerNames {
		if s == name {
			return Optimizer(o), nil
		}
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

// step updates W and M from the gradient g, of which clipping leaves the share scale; rate is η.
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
