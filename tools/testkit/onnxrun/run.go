// Package onnxrun computes what graphs of ONNX operators say, for tests of what builds them: the operators in use
// by their definitions, one after the other and slow. It shares no code with what builds and writes graphs.
package onnxrun

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/internal/onnx"
)

// A Tensor has numbers of a type: those of Float are rounded to it.
type Tensor struct {
	Type onnx.Type
	Dims []int
	X    []float64
}

// Run computes the outputs of a graph at inputs, by name.
func Run(g *onnx.Graph, inputs map[string]*Tensor) (out map[string]*Tensor, err error) {
	at := "inputs"
	defer func() { // what is wrong with the graph panics, here or at an index below
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("%s: %v", at, v)
		}
	}()
	values := map[string]*Tensor{}
	put := func(name string, t *Tensor) {
		if values[name] != nil || size(t.Dims) != len(t.X) {
			panic(fmt.Sprintf("%d numbers of dims %d for %q", len(t.X), t.Dims, name))
		}
		values[name] = t.round()
	}
	for _, t := range g.Tensors {
		put(t.Name, &Tensor{t.Type(), t.Shape, slices.Concat(wide(t.Float32), t.Float64, wide(t.Int64))})
	}
	for _, p := range g.Inputs {
		put(p.Name, holds(p, inputs[p.Name]))
	}
	for i, n := range g.Nodes {
		at = fmt.Sprintf("node %d, %s", i, n.Op)
		in := make([]*Tensor, len(n.In))
		for j, name := range n.In {
			if in[j] = values[name]; in[j] == nil {
				panic(fmt.Sprintf("nothing before it makes %q", name))
			}
		}
		of := node{n.Op, map[string][]int64{}}
		for _, a := range n.Attributes {
			if of.integers[a.Name] = a.List; a.List == nil {
				of.integers[a.Name] = []int64{a.Int}
			}
		}
		put(n.Out, of.run(in))
	}
	at, out = "outputs", map[string]*Tensor{}
	for _, p := range g.Outputs {
		out[p.Name] = holds(p, values[p.Name])
	}
	return out, nil
}

// holds returns t, which must be of the port's type and dimensions.
func holds(p onnx.Port, t *Tensor) *Tensor {
	if t == nil || t.Type != p.Type || !slices.EqualFunc(p.Dims, t.Dims, func(want, have int) bool {
		return want == onnx.Batch || want == have
	}) {
		panic(fmt.Sprintf("%s is %v, want type %d and dims %v", p.Name, t, p.Type, p.Dims))
	}
	return t
}

func wide[T float32 | int64](x []T) (y []float64) {
	for _, v := range x {
		y = append(y, float64(v))
	}
	return y
}

func (t *Tensor) round() *Tensor {
	if t.Type == onnx.Float {
		t = &Tensor{t.Type, t.Dims, slices.Clone(t.X)}
		for i, v := range t.X {
			t.X[i] = float64(float32(v))
		}
	}
	return t
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

var unary = map[string]func(float64) float64{
	"Sin": math.Sin, "Cos": math.Cos, "Exp": math.Exp, "Sqrt": math.Sqrt, "Abs": math.Abs, "Floor": math.Floor,
	"Round": math.RoundToEven, "Neg": func(v float64) float64 { return -v },
	"Identity": func(v float64) float64 { return v },
	"Sigmoid":  func(v float64) float64 { return 1 / (1 + math.Exp(-v)) },
}

var several = map[string]func(v []float64) float64{
	"Add": func(v []float64) float64 { return v[0] + v[1] }, "Sub": func(v []float64) float64 { return v[0] - v[1] },
	"Mul": func(v []float64) float64 { return v[0] * v[1] }, "Div": func(v []float64) float64 { return v[0] / v[1] },
	"Max": func(v []float64) float64 { return math.Max(v[0], v[1]) },
	"Min": func(v []float64) float64 { return math.Min(v[0], v[1]) },
	"Greater": func(v []float64) float64 {
		if v[0] > v[1] {
			return 1
		}
		return 0
	},
	"Where": func(v []float64) float64 {
		if v[0] != 0 {
			return v[1]
		}
		return v[2]
	},
}

// build makes a tensor of what f says of each place, which it must not keep.
func build(kind onnx.Type, dims []int, f func(at []int) float64) *Tensor {
	t := &Tensor{kind, dims, make([]float64, size(dims))}
	at := make([]int, len(dims))
	for k := range t.X {
		for i, rest := len(dims)-1, k; i >= 0; i-- {
			at[i], rest = rest%dims[i], rest/dims[i]
		}
		t.X[k] = f(at)
	}
	return t
}

// at returns the number at a place, whose last axes are those of t. Axes of size 1 are repeated.
func (t *Tensor) at(place ...int) float64 {
	k := 0
	for i, d := range t.Dims {
		if v := place[len(place)-len(t.Dims)+i]; d > 1 || v < d {
			if v < 0 || v >= d {
				panic(fmt.Sprintf("place %d of dims %d", place, t.Dims))
			}
			k = k*d + v
		}
	}
	return t.X[k]
}

// together returns the dims of tensors whose axes of size 1 are repeated.
func together(of ...[]int) (dims []int) {
	for _, d := range of {
		for len(dims) < len(d) {
			dims = slices.Insert(dims, 0, 1)
		}
		for i, v := range d {
			switch have := &dims[len(dims)-len(d)+i]; {
			case *have == 1:
				*have = v
			case v != 1 && v != *have:
				panic(fmt.Sprintf("dims %d", of))
			}
		}
	}
	return dims
}

// sum adds f(0), f(1), ….
func sum(n int, f func(i int) float64) (s float64) {
	for i := range n {
		s += f(i)
	}
	return s
}

// A node applies an operator with attributes.
type node struct {
	op       string
	integers map[string][]int64
}

// run computes the output of a node. What is wrong with its inputs panics.
func (n node) run(in []*Tensor) *Tensor {
	x, kind := in[0], in[0].Type
	for _, t := range in {
		of := map[string]onnx.Type{"Reshape": onnx.Int64, "Unsqueeze": onnx.Int64, "ReduceSum": onnx.Int64,
			"Gather": onnx.Int64, "Pad": onnx.Int64}
		if want := of[n.op]; t != x && t.Type != kind && t.Type != want && n.op != "Where" {
			panic(fmt.Sprintf("of types %d and %d", kind, t.Type))
		}
	}
	attr := func(name string) int { return int(n.integers[name][0]) }
	if f := unary[n.op]; f != nil {
		return build(kind, x.Dims, func(i []int) float64 { return f(x.at(i...)) })
	}
	if f := several[n.op]; f != nil {
		var dims [][]int
		for _, t := range in {
			dims = append(dims, t.Dims)
		}
		switch last := in[len(in)-1].Type; {
		case n.op == "Greater":
			kind = onnx.Bool
		case n.op == "Where" && (kind != onnx.Bool || in[1].Type != last):
			panic(fmt.Sprintf("of types %d, %d and %d", kind, in[1].Type, last))
		default:
			kind = last
		}
		v := make([]float64, len(in))
		return build(kind, together(dims...), func(i []int) float64 {
			for k, t := range in {
				v[k] = t.at(i...)
			}
			return f(v)
		})
	}
	switch n.op {
	case "Cast":
		to := onnx.Type(attr("to"))
		return build(to, x.Dims, func(i []int) float64 {
			if to == onnx.Int64 {
				return math.Trunc(x.at(i...))
			}
			return x.at(i...)
		})
	case "Reshape":
		return reshape(x, in[1].X)
	case "Unsqueeze":
		at := int(in[1].X[0])
		if at < 0 {
			at += len(x.Dims) + 1
		}
		return &Tensor{kind, slices.Insert(slices.Clone(x.Dims), at, 1), x.X}
	case "ReduceSum":
		axis := int(in[1].X[0])
		dims := slices.Clone(x.Dims)
		dims[axis] = 1
		out := build(kind, dims, func(i []int) float64 {
			i = slices.Clone(i)
			return sum(x.Dims[axis], func(k int) float64 { i[axis] = k; return x.at(i...) })
		})
		if attr("keepdims") != 1 {
			out.Dims = slices.Delete(out.Dims, axis, axis+1)
		}
		return out
	case "Concat":
		return concat(in, attr("axis"))
	case "Gather":
		axis, places := attr("axis"), in[1]
		dims := slices.Concat(x.Dims[:axis], places.Dims, x.Dims[axis+1:])
		return build(kind, dims, func(i []int) float64 {
			end := axis + len(places.Dims)
			k := places.at(i[axis:end]...)
			if k < 0 || int(k) >= x.Dims[axis] {
				panic(fmt.Sprintf("index %v of %d", k, x.Dims[axis]))
			}
			return x.at(slices.Concat(i[:axis], []int{int(k)}, i[end:])...)
		})
	case "Transpose":
		perm := n.integers["perm"]
		dims, from := make([]int, len(perm)), make([]int, len(perm))
		for i, p := range perm {
			dims[i] = x.Dims[p]
		}
		return build(kind, dims, func(i []int) float64 {
			for k, p := range perm {
				from[p] = i[k]
			}
			return x.at(from...)
		})
	case "MatMul", "Gemm":
		return multiply(n, in)
	case "Conv":
		return conv(x, in[1], n)
	case "Pad": // zeros behind the last of two axes
		if pads := in[1].X; len(x.Dims) != 2 || len(pads) != 4 || pads[0] != 0 || pads[1] != 0 || pads[2] != 0 {
			panic(fmt.Sprintf("dims %d by %v", x.Dims, pads))
		}
		return build(kind, []int{x.Dims[0], x.Dims[1] + int(in[1].X[3])}, func(i []int) float64 {
			if i[1] >= x.Dims[1] {
				return 0
			}
			return x.at(i...)
		})
	}
	panic("there is no such operator here")
}

func reshape(t *Tensor, to []float64) *Tensor {
	dims, open, n := make([]int, len(to)), -1, 1
	for i, v := range to {
		if dims[i] = int(v); dims[i] < 0 {
			open = i
			continue
		}
		n *= dims[i]
	}
	if open >= 0 {
		dims[open] = len(t.X) / n
	}
	if size(dims) != len(t.X) {
		panic(fmt.Sprintf("of dims %d to %v", t.Dims, to))
	}
	return &Tensor{t.Type, dims, t.X}
}

func concat(in []*Tensor, axis int) *Tensor {
	if axis < 0 {
		axis += len(in[0].Dims)
	}
	dims := slices.Clone(in[0].Dims)
	dims[axis] = 0
	for _, t := range in {
		same := slices.Clone(t.Dims)
		if same[axis] = dims[axis]; !slices.Equal(same, dims) {
			panic(fmt.Sprintf("dims %d beside %d", t.Dims, dims))
		}
		dims[axis] += t.Dims[axis]
	}
	return build(in[0].Type, dims, func(i []int) float64 {
		i = slices.Clone(i)
		for _, t := range in {
			if i[axis] < t.Dims[axis] {
				return t.at(i...)
			}
			i[axis] -= t.Dims[axis]
		}
		panic("beyond all")
	})
}

// multiply is MatMul of the last two axes, where those before are repeated as numbers are, and Gemm of x, wᵀ and b.
func multiply(n node, in []*Tensor) *Tensor {
	x, w := in[0], in[1]
	rx, rw := len(x.Dims), len(w.Dims)
	gemm := n.op == "Gemm"
	k, columns := x.Dims[rx-1], w.Dims[rw-1]
	inner := w.Dims[rw-2]
	if gemm {
		inner, columns = columns, inner
		if n.integers["transB"][0] != 1 || rx != 2 || rw != 2 || len(in[2].Dims) != 1 || in[2].Dims[0] != columns {
			panic(fmt.Sprintf("dims %d, %d and %d", x.Dims, w.Dims, in[2].Dims))
		}
	}
	if inner != k {
		panic(fmt.Sprintf("dims %d and %d", x.Dims, w.Dims))
	}
	lead := together(x.Dims[:rx-2], w.Dims[:rw-2])
	return build(x.Type, append(slices.Clone(lead), x.Dims[rx-2], columns), func(i []int) float64 {
		r, c, a, b := i[len(lead)], i[len(lead)+1], slices.Clone(i), slices.Clone(i)
		if gemm {
			return in[2].X[c] + sum(k, func(e int) float64 { return x.X[r*k+e] * w.X[c*k+e] })
		}
		return sum(k, func(e int) float64 {
			a[len(lead)+1], b[len(lead)] = e, e
			return x.at(a...) * w.at(b...)
		})
	})
}

func conv(x, w *Tensor, n node) *Tensor {
	pads, stride, taps := n.integers["pads"], int(n.integers["strides"][0]), w.Dims[2]
	if int(n.integers["kernel_shape"][0]) != taps || x.Dims[1] != w.Dims[1] {
		panic(fmt.Sprintf("dims %d and %d, kernel %v", x.Dims, w.Dims, n.integers["kernel_shape"]))
	}
	L := x.Dims[2]
	to := (L+int(pads[0]+pads[1])-taps)/stride + 1
	return build(x.Type, []int{x.Dims[0], w.Dims[0], to}, func(i []int) float64 {
		return sum(x.Dims[1]*taps, func(e int) float64 {
			at := i[2]*stride + e%taps - int(pads[0])
			if at < 0 || at >= L {
				return 0
			}
			return x.at(i[0], e/taps, at) * w.at(i[1], e/taps, e%taps)
		})
	})
}
