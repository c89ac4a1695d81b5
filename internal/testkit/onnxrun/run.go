package onnxrun

import (
	"fmt"
	"math"
	"slices"
)

// Run computes the outputs at inputs, by name.
func (m *Model) Run(inputs map[string]*Tensor) (out map[string]*Tensor, err error) {
	defer func() { // what a wrong graph does to the indices below
		if v := recover(); v != nil && err == nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	values := map[string]*Tensor{}
	for name, t := range m.Tensors {
		values[name] = t
	}
	for _, p := range m.Inputs {
		t := inputs[p.Name]
		if t == nil || t.Type != p.Type || len(t.Dims) != len(p.Dims) {
			return nil, fmt.Errorf("input %s is %v, want type %d and dims %v", p.Name, t, p.Type, p.Dims)
		}
		for i, d := range p.Dims {
			if d != "n" && d != fmt.Sprint(t.Dims[i]) {
				return nil, fmt.Errorf("input %s has dims %d, want %v", p.Name, t.Dims, p.Dims)
			}
		}
		values[p.Name] = t.round()
	}
	for i, n := range m.Nodes {
		in := make([]*Tensor, len(n.In))
		for j, name := range n.In {
			if in[j] = values[name]; in[j] == nil {
				return nil, fmt.Errorf("node %d, %s: nothing before it makes %q", i, n.Op, name)
			}
		}
		t, err := n.run(in)
		if err != nil {
			return nil, fmt.Errorf("node %d, %s: %w", i, n.Op, err)
		}
		if len(n.Out) != 1 || values[n.Out[0]] != nil {
			return nil, fmt.Errorf("node %d, %s: outputs %q", i, n.Op, n.Out)
		}
		values[n.Out[0]] = t.round()
	}
	out = map[string]*Tensor{}
	for _, p := range m.Outputs {
		t := values[p.Name]
		if t == nil || t.Type != p.Type || len(t.Dims) != len(p.Dims) {
			return nil, fmt.Errorf("output %s is %v, want type %d and dims %v", p.Name, t, p.Type, p.Dims)
		}
		out[p.Name] = t
	}
	return out, nil
}

func (t *Tensor) round() *Tensor {
	if t.Type == float {
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

var binary2 = map[string]func(a, b float64) float64{
	"Add": func(a, b float64) float64 { return a + b }, "Sub": func(a, b float64) float64 { return a - b },
	"Mul": func(a, b float64) float64 { return a * b }, "Div": func(a, b float64) float64 { return a / b },
	"Max": math.Max, "Min": math.Min, "Greater": func(a, b float64) float64 {
		if a > b {
			return 1
		}
		return 0
	},
}

func (n *Node) run(in []*Tensor) (*Tensor, error) {
	if f := unary[n.Op]; f != nil {
		out := &Tensor{in[0].Type, in[0].Dims, make([]float64, len(in[0].X))}
		for i, v := range in[0].X {
			out.X[i] = f(v)
		}
		return out, nil
	}
	if f := binary2[n.Op]; f != nil {
		if in[0].Type != in[1].Type {
			return nil, fmt.Errorf("of types %d and %d", in[0].Type, in[1].Type)
		}
		out := together(in, func(v []float64) float64 { return f(v[0], v[1]) })
		if n.Op == "Greater" {
			out.Type = boolean
		}
		return out, nil
	}
	attr := func(name string) int { return int(n.Integers[name][0]) }
	switch n.Op {
	case "Where":
		if in[0].Type != boolean || in[1].Type != in[2].Type {
			return nil, fmt.Errorf("of types %d, %d and %d", in[0].Type, in[1].Type, in[2].Type)
		}
		return together(in, func(v []float64) float64 {
			if v[0] != 0 {
				return v[1]
			}
			return v[2]
		}), nil
	case "Cast":
		out := &Tensor{int64(attr("to")), in[0].Dims, slices.Clone(in[0].X)}
		for i, v := range out.X {
			if out.Type == int64s {
				out.X[i] = math.Trunc(v)
			}
		}
		return out, nil
	case "Reshape":
		return reshape(in[0], in[1].X)
	case "Unsqueeze":
		at := int(in[1].X[0])
		if at < 0 {
			at += len(in[0].Dims) + 1
		}
		return &Tensor{in[0].Type, slices.Insert(slices.Clone(in[0].Dims), at, 1), in[0].X}, nil
	case "ReduceSum":
		return sum(in[0], int(in[1].X[0]), attr("keepdims") == 1), nil
	case "Concat":
		return concat(in, attr("axis"))
	case "Gather":
		return gather(in[0], in[1], attr("axis"))
	case "Transpose":
		return transpose(in[0], n.Integers["perm"]), nil
	case "MatMul":
		return matmul(in[0], in[1])
	case "Gemm":
		return gemm(in, attr("transB"))
	case "Conv":
		return conv(in[0], in[1], n)
	case "Pad":
		return pad(in[0], in[1].X)
	}
	return nil, fmt.Errorf("there is no such operator here")
}

// together applies f to tensors whose axes of size 1 are repeated.
func together(in []*Tensor, f func([]float64) float64) *Tensor {
	rank := 0
	for _, t := range in {
		rank = max(rank, len(t.Dims))
	}
	dims := make([]int, rank)
	for i := range dims {
		dims[i] = 1
		for _, t := range in {
			if j := i - (rank - len(t.Dims)); j >= 0 && t.Dims[j] != 1 {
				if dims[i] != 1 && dims[i] != t.Dims[j] {
					panic(fmt.Sprintf("dims %d and %d", in[0].Dims, t.Dims))
				}
				dims[i] = t.Dims[j]
			}
		}
	}
	out := &Tensor{in[len(in)-1].Type, dims, make([]float64, size(dims))}
	v := make([]float64, len(in))
	for k := range out.X {
		for i, t := range in {
			at, stride, rest := 0, 1, k
			for j := rank - 1; j >= 0; j-- {
				index := rest % dims[j]
				rest /= dims[j]
				if e := j - (rank - len(t.Dims)); e >= 0 {
					if t.Dims[e] != 1 {
						at += index * stride
					}
					stride *= t.Dims[e]
				}
			}
			v[i] = t.X[at]
		}
		out.X[k] = f(v)
	}
	return out
}

func reshape(t *Tensor, to []float64) (*Tensor, error) {
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
		return nil, fmt.Errorf("of dims %d to %v", t.Dims, to)
	}
	return &Tensor{t.Type, dims, t.X}, nil
}

// around returns how many numbers stand before and behind an axis.
func around(dims []int, axis int) (before, behind int) {
	return size(dims[:axis]), size(dims[axis+1:])
}

func sum(t *Tensor, axis int, keep bool) *Tensor {
	before, behind := around(t.Dims, axis)
	n, dims := t.Dims[axis], slices.Clone(t.Dims)
	dims[axis] = 1
	if !keep {
		dims = slices.Delete(dims, axis, axis+1)
	}
	out := &Tensor{t.Type, dims, make([]float64, before*behind)}
	for i := range before {
		for j := range n {
			for k := range behind {
				out.X[i*behind+k] += t.X[(i*n+j)*behind+k]
			}
		}
	}
	return out
}

func concat(in []*Tensor, axis int) (*Tensor, error) {
	if axis < 0 {
		axis += len(in[0].Dims)
	}
	dims := slices.Clone(in[0].Dims)
	dims[axis] = 0
	for _, t := range in {
		same := slices.Clone(t.Dims)
		same[axis] = dims[axis]
		if !slices.Equal(same, dims) || t.Type != in[0].Type {
			return nil, fmt.Errorf("dims %d beside %d, types %d and %d", t.Dims, dims, t.Type, in[0].Type)
		}
		dims[axis] += t.Dims[axis]
	}
	out := &Tensor{Type: in[0].Type, Dims: dims}
	before, _ := around(dims, axis)
	for i := range before {
		for _, t := range in {
			n := len(t.X) / max(before, 1)
			out.X = append(out.X, t.X[i*n:(i+1)*n]...)
		}
	}
	return out, nil
}

func gather(t, at *Tensor, axis int) (*Tensor, error) {
	before, behind := around(t.Dims, axis)
	n := t.Dims[axis]
	dims := slices.Concat(t.Dims[:axis], at.Dims, t.Dims[axis+1:])
	out := &Tensor{Type: t.Type, Dims: dims}
	for i := range before {
		for _, v := range at.X {
			if at.Type != int64s || v < 0 || int(v) >= n {
				return nil, fmt.Errorf("index %v of %d", v, n)
			}
			out.X = append(out.X, t.X[(i*n+int(v))*behind:][:behind]...)
		}
	}
	return out, nil
}

func transpose(t *Tensor, perm []int64) *Tensor {
	dims := make([]int, len(perm))
	for i, p := range perm {
		dims[i] = t.Dims[p]
	}
	out := &Tensor{t.Type, dims, make([]float64, len(t.X))}
	for k := range out.X {
		index, rest := make([]int, len(dims)), k
		for i := len(dims) - 1; i >= 0; i-- {
			index[perm[i]] = rest % dims[i]
			rest /= dims[i]
		}
		at := 0
		for i, d := range t.Dims {
			at = at*d + index[i]
		}
		out.X[k] = t.X[at]
	}
	return out
}

// matmul multiplies the last two axes; those before are repeated as numbers are.
func matmul(a, b *Tensor) (*Tensor, error) {
	ra, rb := len(a.Dims), len(b.Dims)
	m, k, n := a.Dims[ra-2], a.Dims[ra-1], b.Dims[rb-1]
	if b.Dims[rb-2] != k || a.Type != b.Type {
		return nil, fmt.Errorf("dims %d and %d, types %d and %d", a.Dims, b.Dims, a.Type, b.Type)
	}
	lead := a.Dims[:ra-2]
	if rb > ra {
		lead = b.Dims[:rb-2]
	}
	at := func(t *Tensor, i, each int) []float64 { // block i
		switch size(t.Dims[:len(t.Dims)-2]) {
		case 1:
			return t.X
		case size(lead):
			return t.X[i*each:]
		}
		panic(fmt.Sprintf("dims %d and %d", a.Dims, b.Dims))
	}
	out := &Tensor{a.Type, append(slices.Clone(lead), m, n), make([]float64, size(lead)*m*n)}
	for i := range size(lead) {
		x, y := at(a, i, m*k), at(b, i, k*n)
		for r := range m {
			for c := range n {
				s := 0.0
				for e := range k {
					s += x[r*k+e] * y[e*n+c]
				}
				out.X[(i*m+r)*n+c] = s
			}
		}
	}
	return out, nil
}

func gemm(in []*Tensor, transB int) (*Tensor, error) {
	x, w, b := in[0], in[1], in[2]
	if transB != 1 || len(x.Dims) != 2 || len(w.Dims) != 2 || len(b.Dims) != 1 ||
		x.Dims[1] != w.Dims[1] || len(b.X) != w.Dims[0] || x.Type != w.Type || w.Type != b.Type {
		return nil, fmt.Errorf("dims %d, %d and %d", x.Dims, w.Dims, b.Dims)
	}
	n, out, k := x.Dims[0], w.Dims[0], w.Dims[1]
	y := &Tensor{x.Type, []int{n, out}, make([]float64, n*out)}
	for i := range n {
		for o := range out {
			s := b.X[o]
			for e := range k {
				s += x.X[i*k+e] * w.X[o*k+e]
			}
			y.X[i*out+o] = s
		}
	}
	return y, nil
}

func conv(x, w *Tensor, n *Node) (*Tensor, error) {
	pads, stride, taps := n.Integers["pads"], int(n.Integers["strides"][0]), w.Dims[2]
	if int(n.Integers["kernel_shape"][0]) != taps || x.Dims[1] != w.Dims[1] || x.Type != w.Type {
		return nil, fmt.Errorf("dims %d and %d, kernel %v", x.Dims, w.Dims, n.Integers["kernel_shape"])
	}
	rows, in, L, out := x.Dims[0], x.Dims[1], x.Dims[2], w.Dims[0]
	to := (L+int(pads[0]+pads[1])-taps)/stride + 1
	y := &Tensor{x.Type, []int{rows, out, to}, make([]float64, rows*out*to)}
	for i := range rows {
		for o := range out {
			for l := range to {
				s := 0.0
				for c := range in {
					for k := range taps {
						if at := l*stride + k - int(pads[0]); at >= 0 && at < L {
							s += x.X[(i*in+c)*L+at] * w.X[(o*in+c)*taps+k]
						}
					}
				}
				y.X[(i*out+o)*to+l] = s
			}
		}
	}
	return y, nil
}

// pad appends zeros to the last of two axes.
func pad(t *Tensor, pads []float64) (*Tensor, error) {
	if len(t.Dims) != 2 || len(pads) != 4 || pads[0] != 0 || pads[1] != 0 || pads[2] != 0 {
		return nil, fmt.Errorf("dims %d by %v", t.Dims, pads)
	}
	n, w, more := t.Dims[0], t.Dims[1], int(pads[3])
	out := &Tensor{Type: t.Type, Dims: []int{n, w + more}}
	for i := range n {
		out.X = append(append(out.X, t.X[i*w:(i+1)*w]...), make([]float64, more)...)
	}
	return out, nil
}
