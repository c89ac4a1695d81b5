// Package score holds the networks s_θ(x, p̃, t) that learn the backward
// process: a Model is a network, how it is read as a score, and the precision of its
// products. Training, the losses, snapshots and samplers know nothing else of networks.
//
// It knows nothing of losses or processes. Rows are independent of each other.
package score

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/internal/onnx"
)

// A Model is a network F_θ together with its reading as a score,
//
//	s_θ(x, p̃, t) = m(t) F_θ(row(x, p̃, t)),
//
// and the precision of its products. Its parameters are one flat slice. A Model is
// conformant if scoretest.Run passes; docs/adding.md says how to add one.
type Model[T kernel.Float] interface {
	Reader[T]

	// Out is the width of a row of output.
	Out() int

	// Parameters returns θ. The caller may write to it; a Packed model sees that after Update.
	Parameters() []T
	// With returns the same model over other parameters, such as an average of them. It panics if their number differs.
	With(parameters []T) Model[T]
	// Matrices returns the ranges of Parameters that an optimiser may treat as matrices between hidden layers (Muon
	// does), in ascending order and apart. All else is moved number by number.
	Matrices() []Matrix
	// Precision of the products in passes, and of the optimiser's with Matrices.
	Precision() kernel.Precision

	// Parts is the number of parts in which the model is packed.
	Parts() int
	// Pack lays out the present parameters for passes: for Forward, and if gradients for Backward.
	Pack(gradients bool) Packed[T]

	// Tensors returns parameters, laid out as the model's, as named arrays that share
	// their memory. Names and shapes are promised: checkpoints hold them.
	Tensors(parameters []T) []arrayfile.Named
	// Read returns the parameters that arrays with the names and shapes of Tensors hold.
	Read(arrays map[string]arrayfile.Array) ([]T, error)
}

// A Constant model holds arrays that no training moves beside its parameters, such as a
// conformation that points are laid on. Checkpoints hold them too.
type Constant[T kernel.Float] interface {
	// Constants returns the arrays. Names and shapes are promised.
	Constants() []arrayfile.Named
	// WithConstants returns the same model with the arrays of these names and shapes, which it copies.
	WithConstants(arrays map[string]arrayfile.Array) (Model[T], error)
}

// A Reader says what a network reads and how its output is a score: all that a loss needs to know of a Model.
type Reader[T kernel.Float] interface {
	// In is the width of a row of input.
	In() int
	// Row writes one row of input.
	Row(dst []T, at Input)
	// RowAlong writes the derivative of Row(dst, at) where at.X moves with velocity v: what a Pusher reads.
	RowAlong(dst []T, at Input, v []float64)
	// GraphRow is Row at each point of a batch: n×In, of type T. The error is a *GraphError.
	GraphRow(at Symbols) (onnx.Value, error)
	// Gain returns m(t), not 0: the score is m(t) times the output.
	Gain(t float64) float64
}

// An Input is the point of phase space and time at which a score is asked for.
type Input struct {
	X, P []float64 // P is nil without momentum
	T    float64
	// Item is the number of the training row whose path this point is on, for networks
	// that are told more of it than its states; −1 if there is none.
	Item int
	// Null hides the condition from a network that can do without (Reading.Null).
	Null bool
}

// A Matrix is the out×in matrix Parameters[At : At+Out*In], row-major. A convolution's
// kernel is one with In = channels × taps.
type Matrix struct{ At, Out, In int }

// A Packed model has its parameters laid out for passes, as they were when Update was last called. Between updates any
// number of goroutines may use it, each with a Workspace of its own.
type Packed[T kernel.Float] interface {
	// Update takes over the present parameters of a part. Parts may be updated at once.
	Update(part int)
	// NewWorkspace makes room for passes over up to rows rows: forward passes alone, or with gradients both.
	NewWorkspace(rows int, gradients bool) Workspace[T]
}

// A Workspace passes rows through a packed model. One goroutine uses it at a time; passes allocate nothing.
type Workspace[T kernel.Float] interface {
	// Forward returns the output at n rows of input, n×Out. The result and what Backward
	// needs live until the next pass; in must stay as it is until Backward.
	Forward(in []T, n int) []T
	// Backward computes the gradient of a loss, laid out as Parameters, from the loss's
	// gradient with respect to the output of the last Forward, n×Out. It adds it to grad,
	// or sets grad to it unless add. Sums over rows run in row order.
	Backward(grad, dout []T, n int, add bool)
}

// ReadTensors copies arrays into those of want, as Tensors gives them, by name. The
// error says which is missing or of another shape.
func ReadTensors(arrays map[string]arrayfile.Array, want []arrayfile.Named) error {
	for _, w := range want {
		a, ok := arrays[w.Name]
		if !ok {
			return fmt.Errorf("there is no array %s", w.Name)
		}
		if !slices.Equal(a.Shape, w.Array.Shape) {
			return fmt.Errorf("array %s has shape %v; expected %v", w.Name, a.Shape, w.Array.Shape)
		}
		for i, v := range a.AsFloat64() {
			if w.Array.Float32 != nil {
				w.Array.Float32[i] = float32(v)
			} else {
				w.Array.Float64[i] = v
			}
		}
	}
	return nil
}
