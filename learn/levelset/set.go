// Package levelset describes a surface as the zero level set Σ = {x : h(x) = 0} of a network: a multilayer perceptron
// with softplus between its layers, as implicit geometric regularisation fits one to a mesh.
//
// Values, gradients and Hessian-vector products are exact derivatives in
// float64. Fitting the network is the job of the folder fit.
package levelset

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"regexp"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/learn/score"
)

// blockRows is how many points a pass takes at once: two tiles of the widest
// kernel, so that their layers stay in the level-2 cache beside the weights.
const blockRows = 28

// A Set is Σ = {x : h(x) = 0}.
type Set struct {
	net    *Network
	packed *Packed
}

// New returns the zero level set of a network, whose parameters must not change from then on.
func New(n *Network) *Set { return &Set{net: n, packed: n.Pack()} }

func (s *Set) String() string       { return "level set of a network" }
func (s *Set) Dim() int             { return s.net.In() }
func (*Set) Equalities() []string   { return []string{"surface"} }
func (*Set) Inequalities() []string { return nil }

func (s *Set) Capabilities() constraint.Capabilities {
	c := constraint.Capabilities{Name: s.String(), Work: 2 * float64(len(s.net.Params))}
	if len(s.net.Params) <= mostWritten {
		c.Formulas = s.formulas
	}
	return c
}

// mostWritten is how many parameters of a network formulas may have.
const mostWritten = 1 << 18

// formulas writes the layers as sums of products.
func (s *Set) formulas(x expr.Value) []expr.Value {
	g, params := x.Graph(), s.net.Params
	for l := range s.net.Layers() {
		in, out := s.net.Sizes[l], s.net.Sizes[l+1]
		z := g.Array(params[:in*out], out, in).Mul(x).Add(g.Array(params[in*out : in*out+out]))
		params = params[in*out+out:]
		if x = z; l < s.net.Layers()-1 {
			x = expr.Softplus(z.Mul(g.Const(s.net.Beta))).Div(g.Const(s.net.Beta))
		}
	}
	return []expr.Value{x}
}

func (s *Set) NewEvaluator(rows int) constraint.Evaluator {
	e := s.evaluator(rows)
	return constraint.Evaluator{Values: e.Values, Jacobians: e.Jacobians, HessianVectors: e.HessianVectors}
}

func (s *Set) evaluator(rows int) *evaluator {
	return &evaluator{s.packed.NewPass(max(1, min(rows, blockRows))), s.Dim()}
}

// Values writes h at n points; loops keep an evaluator instead.
func (s *Set) Values(values, x []float64, n int) { s.evaluator(n).Values(values, x, n) }

func (s *Set) Jacobians(values, jac, x []float64, n int) { s.evaluator(n).Jacobians(values, jac, x, n) }
func (s *Set) HessianVectors(dst, x, v []float64, n int) { s.evaluator(n).HessianVectors(dst, x, v, n) }

// An evaluator takes points through a pass, as many at once as it has rows.
type evaluator struct {
	*Pass
	d int
}

func (e *evaluator) Values(values, x []float64, n int) {
	for lo := 0; lo < n; lo += e.rows {
		hi := min(n, lo+e.rows)
		e.Value(x[lo*e.d:], hi-lo)
		e.outputs(values[lo:hi])
	}
}

func (e *evaluator) Jacobians(values, jac, x []float64, n int) {
	for lo := 0; lo < n; lo += e.rows {
		hi := min(n, lo+e.rows)
		e.Value(x[lo*e.d:], hi-lo)
		e.Gradient()
		e.outputs(values[lo:hi])
		gather(jac[lo*e.d:], e.Grad, hi-lo, e.d)
	}
}

func (e *evaluator) HessianVectors(dst, x, v []float64, n int) {
	for lo := 0; lo < n; lo += e.rows {
		hi := min(n, lo+e.rows)
		e.Value(x[lo*e.d:], hi-lo)
		e.Gradient()
		e.Direct(v[lo*e.d:])
		e.Tangent()
		e.Adjoint(nil)
		gather(dst[lo*e.d:], e.InputAdjoint, hi-lo, e.d)
	}
}

func (q *Pass) outputs(h []float64) {
	for i := range h {
		h[i] = q.Out[i*kernel.Pad64(1)]
	}
}

// gather copies padded rows to rows of d numbers.
func gather(dst, src []float64, n, d int) {
	stride := kernel.Pad64(d)
	for i := range n {
		copy(dst[i*d:(i+1)*d], src[i*stride:])
	}
}

// A Network is h: R^d → R, linear layers with softplus (ln(1+e^(βz))/β) between.
type Network struct {
	*score.MLP[float64]
	Beta float64
}

// Beta is the β of networks whose file names none.
const Beta = 10

// maxWidth bounds a network's layers; the memory of a pass grows with it.
const maxWidth = 4096

// maxParameters bounds a network's parameters.
const maxParameters = 1 << 27

// ReadNetwork reads an NPZ file with arrays lin0_weight (out×in), lin0_bias, lin1_weight, … and an optional scalar
// beta.
func ReadNetwork(path string) (*Network, error) {
	arrays, err := readArrays(path)
	if errors.As(err, new(*fs.PathError)) {
		return nil, err
	}
	if err != nil {
		return nil, fault.Errorf(fault.Data, path, "%s", strings.TrimPrefix(err.Error(), path+": "))
	}
	return fromArrays(path, arrays)
}

// readArrays reads the arrays that ReadNetwork names, and no others.
func readArrays(path string) (map[string]arrayfile.Array, error) {
	z, err := arrayfile.OpenNPZ(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	arrays, left := map[string]arrayfile.Array{}, maxParameters
	for _, name := range z.Names() {
		if name != "beta" && !layer.MatchString(name) {
			continue
		}
		a, err := z.Read(name, min(left, maxWidth*maxWidth))
		if err != nil {
			return nil, err
		}
		arrays[name], left = a, left-a.Len()
	}
	return arrays, nil
}

// layer is the name of an array of a layer.
var layer = regexp.MustCompile(`^lin[0-9]+[._](weight|bias)$`)

func fromArrays(path string, arrays map[string]arrayfile.Array) (*Network, error) {
	bad := func(format string, v ...any) (*Network, error) {
		return nil, fault.Errorf(fault.Data, path, format, v...)
	}
	if _, ok := arrays["lin0_weight"]; !ok {
		return bad("it has no array lin0_weight; expected the layers of a level-set network: lin0_weight, " +
			"lin0_bias, lin1_weight, …")
	}
	mlp, err := score.FromLayers[float64](arrays, "lin")
	if err != nil {
		return bad("%v", err)
	}
	n := &Network{mlp, Beta}
	if b, ok := arrays["beta"]; ok {
		if b.Len() != 1 || !(b.AsFloat64()[0] > 0) || math.IsInf(b.AsFloat64()[0], 1) {
			return bad("beta is %v; expected one number above 0", b.AsFloat64())
		}
		n.Beta = b.AsFloat64()[0]
	}
	if n.Out() != 1 || n.Layers() < 2 {
		return bad("its layers have widths %v; expected at least one hidden layer and one output", n.Sizes)
	}
	for l, w := range n.Sizes {
		if w < 1 || w > maxWidth {
			return bad("layer %d is %d wide; expected 1 to %d", l, w, maxWidth)
		}
	}
	for i, v := range n.Params {
		if v-v != 0 {
			return bad("parameter %d of %d is %v; expected finite numbers", i, len(n.Params), v)
		}
	}
	return n, nil
}

// Write writes the network as float32 arrays that ReadNetwork reads.
func (n *Network) Write(w io.Writer) error {
	z := zip.NewWriter(w)
	entry := func(name string, data []float64, shape ...int) error {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		single := make([]float32, len(data))
		for i, v := range data {
			single[i] = float32(v)
		}
		return arrayfile.EncodeNPY(f, arrayfile.Array{Shape: shape, Float32: single})
	}
	for l := range n.Layers() {
		if err := entry(fmt.Sprintf("lin%d_weight", l), n.Weight(l), n.Sizes[l+1], n.Sizes[l]); err != nil {
			return err
		}
		if err := entry(fmt.Sprintf("lin%d_bias", l), n.Bias(l), n.Sizes[l+1]); err != nil {
			return err
		}
	}
	if err := entry("beta", []float64{n.Beta}); err != nil {
		return err
	}
	return z.Close()
}

// Round rounds the parameters to float32, what Write keeps of them.
func (n *Network) Round() {
	for i, v := range n.Params {
		n.Params[i] = float64(float32(v))
	}
}
