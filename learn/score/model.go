// Package score holds the networks s_θ(x, p̃, t) that learn the backward
// process: a Model is a network, how it is read as a score, and the precision of its
// products. Training, the losses, snapshots and samplers know nothing else of networks.
//
// It knows nothing of losses or processes. Rows are independent of each other.
package score

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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
	// GraphRow is Row at each point of a batch: n×In, of type T. The error is a *GraphError.
	GraphRow(at Symbols) (onnx.Value, error)
	// Gain returns m(t), not 0: the score is m(t) times the output.
	Gain(t float64) float64
}

// An Input is a point of phase space and a time, the arguments of a score.
type Input struct {
	X, P []float64 // P is nil without momentum
	T    float64
	// Item is the number of the training row whose path this point is on, for networks that read more of it than its
	// states; −1 if there is none.
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

// A Config describes a network to be made. Its zero values mean what the defaults of problem files mean.
type Config struct {
	Kind     string // a name of networks.All; "" is mlp
	Row      Kind   // the kind of that name; of the zero value package networks looks it up
	Dim      int    // of points
	Momentum bool   // rows hold p̃
	// Steps is how many steps of a sequence a point begins with, one after the other and of one
	// length; 0: none. Held is how many coordinates follow, which do not move: a condition.
	Steps, Held int

	Width      int                            // of hidden layers; 0 is 128
	Layers     int                            // hidden layers; 0 is 4
	Octaves    int                            // as in Reading
	Wavelength float64                        // as in Reading; 0 is 2
	Start      func(t float64) (b, v float64) // as in Reading
	Still      []int                          // as in Reading
	// Ahead, if not nil, returns b and v of Reading.Start, and a and c: E[x_0 | x, p̃] = x + a p̃ + c s on a flat Σ
	// without force (langevin.Process.LookAhead).
	Ahead func(t float64) (b, v, a, c float64)
	// As in Reading; a Horizon of 0 is 1.
	TimeOctaves    int
	Horizon        float64
	Share          bool
	Center, Scales []float64 // as in Reading
	Unit           float64   // as in Reading
	Options        Options   // keys of the kind's own
	// Reference is what Prepare takes from training rows, such as a conformation that points are laid on.
	Reference []float64
	// Torsions are chains of four bonded atoms of the molecule that points are, for kinds that read them.
	Torsions [][4]int

	// A condition, as in Reading.
	Given Standard
	Null  bool

	Gain      func(t float64) float64 // as in Reading; nil is 1
	Precision kernel.Precision
	Seed      uint64 // of the first parameters
}

// Reading returns how the network is read as a score.
func (c Config) Reading() Reading {
	return Reading{
		Octaves: c.Octaves, Wavelength: cmp.Or(c.Wavelength, 2), Start: c.Start, Still: c.Still,
		TimeOctaves: c.TimeOctaves, Horizon: cmp.Or(c.Horizon, 1), Gain: c.Gain,
		Share: c.Share, Center: c.Center, Unit: c.Unit, Scales: c.Scales, Given: c.Given, Null: c.Null,
	}
}

// A Kind is a kind of network, by name: what a row of the registry holds.
type Kind struct {
	Name    string
	Options []Option // keys of its own
	Refers  bool     // the network lays points on Config.Reference, and does not see how they lie
	// AsIs says why the network reads points as they are, without Config.Center and Config.Unit; "" is that it
	// reads them by these.
	AsIs  string
	Sized string // the option that most decides how large it is; "" is Config.Width
	// Fits, if not nil, returns what is expected of c instead, where there is no such network for its points.
	Fits func(c Config) string
	// Prepare, if not nil, returns c with what the network takes from the rows of training data, n×Dim.
	Prepare func(c Config, rows []float64) (Config, error)
	// Parameters returns how many parameters New would allocate, as a number that cannot
	// overflow. It and New are given every option.
	Parameters func(Config) float64
	// New makes the network, its parameters a function of Config alone.
	New func(Config) Model[float32]
}

// Resolve returns c with every number given, those of the kind's options too. The error is an *OptionError.
func (k Kind) Resolve(c Config) (Config, error) {
	c.Width, c.Layers = cmp.Or(c.Width, 128), cmp.Or(c.Layers, 4)
	var err error
	c.Options, err = c.Options.Resolve(k.Name, k.Options)
	return c, err
}

// Options are numbers by name: keys that belong to one kind alone.
type Options map[string]float64

// An Option is a key of one kind.
type Option struct {
	Name         string
	Default      float64
	Lowest, Most float64
	Whole        bool // a whole number
	Doc          string
}

// An OptionError says which option cannot be as it is.
type OptionError struct {
	Option string
	Value  float64
	Want   string
	Fault  string // instead of Value and Want: what is wrong with the option itself
}

func (e *OptionError) Error() string {
	if e.Fault != "" {
		return fmt.Sprintf("option %s: %s", e.Option, e.Fault)
	}
	return fmt.Sprintf("option %s is %v; expected %s", e.Option, e.Value, e.Want)
}

// Resolve returns the options that the kind of a name has, those that o lacks at their
// defaults. The error is an *OptionError.
func (o Options) Resolve(kind string, has []Option) (Options, error) {
	all, names := Options{}, []string(nil)
	for _, h := range has {
		v, ok := o[h.Name]
		if !ok {
			v = h.Default
		}
		if !(v >= h.Lowest && v <= h.Most) || h.Whole && v != math.Trunc(v) {
			want := fmt.Sprintf("a number in [%v, %v]", h.Lowest, h.Most)
			if h.Whole {
				want = "a whole " + want[2:]
			}
			return nil, &OptionError{Option: h.Name, Value: v, Want: want}
		}
		all[h.Name] = v
		names = append(names, h.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains(names, name) {
			continue
		}
		fault := fmt.Sprintf("there is no such option; %s has none", kind)
		if len(names) > 0 {
			fault = fmt.Sprintf("there is no such option; those of %s are %s", kind, strings.Join(names, ", "))
		}
		return nil, &OptionError{Option: name, Value: o[name], Fault: fault}
	}
	return all, nil
}

// MLPKind is the multilayer perceptron with SiLU between layers of equal width.
var MLPKind = Kind{
	Name:       "mlp",
	Parameters: func(c Config) float64 { return Parameters(c.Sizes(0, 0)) },
	New: func(c Config) Model[float32] {
		return NewMLP[float32](c.Sizes(0, 0), c.Seed).Model(c.Reading(), c.Precision)
	},
}

// Sizes returns the widths of an MLP with `read` more inputs and `said` more outputs than a row and a point have.
func (c Config) Sizes(read, said int) []int {
	sizes := []int{c.Reading().Width(c.Dim, c.Momentum) + read}
	for range c.Layers {
		sizes = append(sizes, c.Width)
	}
	return append(sizes, c.Dim+said)
}

// Parameters returns how many an MLP of such widths has, as a number that cannot overflow.
func Parameters(sizes []int) (n float64) {
	for l, in := range sizes[:len(sizes)-1] {
		n += (float64(in) + 1) * float64(sizes[l+1])
	}
	return n
}

// A Field evaluates a model as a score s_θ(x, p̃, t). One goroutine uses it at a time.
type Field[T kernel.Float] struct {
	model Model[T]
	ws    Workspace[T]
	in    []T

	guidance float64
	rows     int64 // that the network has seen
	own      [1]Ask
}

// Rows returns how many rows the network has seen in all: two a point with guidance.
func (f *Field[T]) Rows() int64 { return f.rows }

// NewField makes a score of m, with its present parameters, for blocks of up to rows points.
func NewField[T kernel.Float](m Model[T], rows int) *Field[T] { return NewFields(m, rows, 1)[0] }

// NewFields makes scores for as many goroutines, which share a packed model.
func NewFields[T kernel.Float](m Model[T], rows, goroutines int) []*Field[T] {
	return NewGuided(m, m.Pack(false), rows, goroutines, 0)
}

// NewGuided is NewFields of a model that is packed already, with classifier-free guidance of
// strength w (Ho and Salimans 2022): the score is
//
//	(1 + w) s_θ(x, p̃, t) − w s_θ(x, p̃, t with the condition hidden),
//
// of a network that can do without (Reading.Null), unless w is 0.
func NewGuided[T kernel.Float](m Model[T], packed Packed[T], rows, goroutines int, w float64) []*Field[T] {
	fields := make([]*Field[T], goroutines)
	for i := range fields {
		fields[i] = &Field[T]{model: m, ws: packed.NewWorkspace(rows, false), in: make([]T, rows*m.In()), guidance: w}
	}
	return fields
}

// An Ask is a call for scores at N rows X, P (N×d each; P nil without momentum) and a time: Dst is N×d.
type Ask struct {
	Dst, X, P []float64
	N         int
	T         float64
}

// Eval writes s at n rows x, p (n×d each; p nil without momentum): n×d.
func (f *Field[T]) Eval(dst, x, p []float64, n int, t float64) {
	f.own[0] = Ask{dst, x, p, n, t}
	f.EvalAll(f.own[:])
}

// EvalAll is Eval of several calls in one pass, which together have no more rows than there is room for.
// Each gets the numbers that Eval gives it: a row's output does not depend on the rows beside it.
func (f *Field[T]) EvalAll(asks []Ask) {
	s, d := f.pass(asks, false), f.model.Out()
	for _, a := range asks {
		m := f.model.Gain(a.T)
		for i, v := range s[:a.N*d] {
			a.Dst[i] = m * float64(v)
		}
		s = s[a.N*d:]
	}
	if f.guidance == 0 {
		return
	}
	s = f.pass(asks, true)
	for _, a := range asks {
		m := f.model.Gain(a.T)
		for i, v := range s[:a.N*d] {
			a.Dst[i] = (1+f.guidance)*a.Dst[i] - f.guidance*(m*float64(v))
		}
		s = s[a.N*d:]
	}
}

// pass returns the network's outputs.
func (f *Field[T]) pass(asks []Ask, null bool) []T {
	d, w, row := f.model.Out(), f.model.In(), 0
	for _, a := range asks {
		for i := range a.N {
			at := Input{X: a.X[i*d : (i+1)*d], T: a.T, Item: -1, Null: null}
			if a.P != nil {
				at.P = a.P[i*d : (i+1)*d]
			}
			f.model.Row(f.in[row*w:(row+1)*w], at)
			row++
		}
	}
	f.rows += int64(row)
	return f.ws.Forward(f.in, row)
}
