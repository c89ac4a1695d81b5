// Package scoretest is the suite that any score.Model must pass: gradients by finite
// differences, rows that are independent of each other, parameters that come back from
// their named arrays.
package scoretest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/onnxrun"
)

// rows is the number of probe rows.
const rows = 7

// Run runs the suite on m, for points of as many coordinates as m has outputs.
// momentum says whether m's rows hold p̃.
func Run(t *testing.T, m score.Model[float64], momentum bool) {
	s := &suite{m, m.Out(), momentum}
	t.Run("Row", s.row)
	t.Run("With", s.with)
	t.Run("Matrices", s.matrices)
	t.Run("Tensors", s.tensors)
	t.Run("Constants", s.constants)
	t.Run("Forward", s.forward)
	t.Run("Update", s.update)
	t.Run("Backward", s.backward)
	t.Run("Field", s.field)
	t.Run("Graph", s.graph)
	t.Run("Allocations", s.allocations)
}

// Kind runs the checks of a row of the registry on the network that c describes.
func Kind(t *testing.T, k score.Kind, c score.Config) {
	t.Helper()
	c = testkit.Must(k.Resolve(c))
	m, again := k.New(c), k.New(c)
	if n := k.Parameters(c); n != float64(len(m.Parameters())) {
		t.Errorf("it has %d parameters, and says %v", len(m.Parameters()), n)
	}
	c.Seed++
	other, differ := k.New(c), 0
	for i, v := range m.Parameters() {
		if again.Parameters()[i] != v {
			t.Fatalf("parameter %d is no function of the Config", i)
		}
		if other.Parameters()[i] != v {
			differ++
		}
	}
	if differ == 0 {
		t.Error("another seed has the same parameters")
	}
	if c.Gain == nil {
		c.Gain = func(t float64) float64 { return 1 + t }
		m = k.New(c)
	}
	if got, want := m.Gain(0.7), c.Gain(0.7); got != want {
		t.Errorf("the gain is %v, want %v", got, want)
	}
	if m.Out() != c.Dim || m.Precision() != c.Precision {
		t.Errorf("%d outputs in %v for points in R^%d in %v", m.Out(), m.Precision(), c.Dim, c.Precision)
	}
}

// Unit checks a network with a center, a unit and waves in this unit. Suppose that points are in a unit of 2ⁿ, and that
// center, unit, wavelength and Start are in this unit too. Then scores and gradients are the same to the last bit. At
// points moved far away the scores are the same to round-off. The network must use both keys.
func Unit(t *testing.T, k score.Kind, c score.Config) {
	t.Helper()
	c = testkit.Must(k.Resolve(c))
	free, plain := c.Dim-len(c.Given.Mean), c
	plain.Center, plain.Unit, plain.Scales = nil, 0, nil
	c.Unit, c.Wavelength, c.Center = 1.5, cmp.Or(c.Wavelength, 2), make([]float64, free)
	for j := range free {
		c.Center[j] = math.Cos(float64(j)) / 4
	}
	s := &suite{d: c.Dim, momentum: c.Momentum}
	// pass returns scores and gradients at the probes in a unit of 1/scale, moved by shift.
	pass := func(c score.Config, scale, shift float64) (scores, grad []float32) {
		m := k.New(c)
		in, w := make([]float32, rows*m.In()), m.In()
		for i := range rows {
			at := s.probe(i)
			for j := range free {
				at.X[j] = scale*at.X[j] + shift
			}
			m.Row(in[i*w:(i+1)*w], at)
		}
		ws := m.Pack(true).NewWorkspace(rows, true)
		scores = slices.Clone(ws.Forward(in, rows))
		grad, dout := make([]float32, len(m.Parameters())), make([]float32, len(scores))
		for i, v := range weights(len(dout)) {
			dout[i] = float32(v)
		}
		ws.Backward(grad, dout, rows, false)
		if alone := m.Pack(false).NewWorkspace(rows, false).Forward(in, rows); !slices.Equal(alone, scores) {
			t.Errorf("scale %v: passes without gradients have other scores", scale)
		}
		return scores, grad
	}
	// in returns c for points in a unit of 1/scale, moved by shift.
	in := func(c score.Config, scale, shift float64) score.Config {
		center, start := make([]float64, free), c.Start
		for j := range center {
			center[j] = scale*c.Center[j] + shift
		}
		c.Center, c.Unit, c.Wavelength, c.Scales = center, scale*c.Unit, scale*c.Wavelength, slices.Clone(c.Scales)
		for j := range c.Scales {
			c.Scales[j] *= scale
		}
		if start != nil {
			c.Start = func(t float64) (b, v float64) {
				b, v = start(t)
				return scale * b, scale * scale * v
			}
		}
		return c
	}
	want, grad := pass(c, 1, 0)
	for _, scale := range []float64{1. / 1024, 0.5, 1024, 1 << 40} {
		if s, g := pass(in(c, scale, 0), scale, 0); !slices.Equal(s, want) || !slices.Equal(g, grad) {
			t.Errorf("in a unit of %v there are other scores or gradients", 1/scale)
		}
	}
	if c.Precision == kernel.Float32 { // one bit of a coarser product can move more
		far, _ := pass(in(c, 1000, 1e6), 1000, 1e6)
		for i, v := range want {
			if math.Abs(float64(far[i]-v)) > 1e-6*(1+math.Abs(float64(v))) {
				t.Fatalf("a million away in a unit of 1/1000, output %d is %v, want %v", i, far[i], v)
			}
		}
	}
	for key, change := range map[string]func(c *score.Config){
		"center": func(c *score.Config) { c.Center = make([]float64, free); c.Center[free-1] = 0.5 },
		"unit":   func(c *score.Config) { c.Unit = 3 },
	} {
		one := plain
		change(&one)
		if a, _ := pass(plain, 1, 0); slices.Equal(first(pass(one, 1, 0)), a) {
			t.Errorf("the network does not use its %s", key)
		}
	}
}

func first(a, _ []float32) []float32 { return a }

type suite struct {
	m        score.Model[float64]
	d        int
	momentum bool
}

// probe is row i of the points that the suite looks at.
func (s *suite) probe(i int) score.Input {
	at := score.Input{X: make([]float64, s.d), T: 0.1 + 0.3*float64(i), Item: -1}
	if s.momentum {
		at.P = make([]float64, s.d)
	}
	for j := range s.d {
		at.X[j] = math.Sin(float64(3*i + 5*j + 1))
		if s.momentum {
			at.P[j] = math.Cos(float64(7*i + 2*j + 1))
		}
	}
	return at
}

// inputs returns the rows of all probes.
func (s *suite) inputs() []float64 {
	in, w := make([]float64, rows*s.m.In()), s.m.In()
	for i := range rows {
		s.m.Row(in[i*w:(i+1)*w], s.probe(i))
	}
	return in
}

// A row is In numbers, all of them written, and says where and when it is.
func (s *suite) row(t *testing.T) {
	w := s.m.In()
	dst := make([]float64, w+1)
	write := func(at score.Input) []float64 {
		for j := range dst {
			dst[j] = math.NaN()
		}
		s.m.Row(dst[:w:w], at)
		for j, v := range dst[:w] {
			if v-v != 0 {
				t.Fatalf("number %d of a row is %v", j, v)
			}
		}
		if !math.IsNaN(dst[w]) {
			t.Fatalf("Row writes more than In = %d numbers", w)
		}
		return slices.Clone(dst[:w])
	}
	base := fmt.Sprint(write(s.probe(0)))
	for what, change := range map[string]func(*score.Input){
		"x": func(at *score.Input) { at.X[s.d-1] += 0.5 },
		"p": func(at *score.Input) { at.P[s.d-1] += 0.5 },
		"t": func(at *score.Input) { at.T += 0.5 },
	} {
		if what == "p" && !s.momentum {
			continue
		}
		at := s.probe(0)
		if change(&at); fmt.Sprint(write(at)) == base {
			t.Errorf("a row does not depend on %s", what)
		}
	}
	for i := range rows {
		if m := s.m.Gain(s.probe(i).T); !(math.Abs(m) > 0) || math.IsInf(m, 0) {
			t.Errorf("the gain at time %v is %v", s.probe(i).T, m)
		}
	}
}

// With shares nothing with the model but its architecture.
func (s *suite) with(t *testing.T) {
	θ := slices.Clone(s.m.Parameters())
	other := s.m.With(θ)
	want := s.output(s.m)
	if got := s.output(other); !slices.Equal(got, want) {
		t.Fatal("equal parameters have other outputs")
	}
	for i := range θ {
		θ[i] = math.Sin(float64(i + 1))
	}
	if got := s.output(other); slices.Equal(got, want) {
		t.Error("With does not take over its parameters")
	}
	if got := s.output(s.m); !slices.Equal(got, want) {
		t.Error("With changes the model")
	}
	if &other.Parameters()[0] != &θ[0] || other.Precision() != s.m.Precision() || other.In() != s.m.In() {
		t.Error("With returns another network, or other parameters")
	}
	defer func() {
		if recover() == nil {
			t.Error("With takes too few parameters")
		}
	}()
	s.m.With(θ[1:])
}

// Matrices are within the parameters, in order and apart.
func (s *suite) matrices(t *testing.T) {
	end := 0
	for i, w := range s.m.Matrices() {
		if w.At < end || w.Out < 1 || w.In < 1 || w.At+w.Out*w.In > len(s.m.Parameters()) {
			t.Errorf("matrix %d is %+v, after one that ends at %d, of %d parameters", i, w, end, len(s.m.Parameters()))
		}
		end = w.At + w.Out*w.In
	}
}

// The named arrays hold every parameter once, share its memory, and are read back bit
// for bit; arrays that lack a number are refused.
func (s *suite) tensors(t *testing.T) {
	θ := make([]float64, len(s.m.Parameters()))
	for i := range θ {
		θ[i] = float64(i)
	}
	seen, named := make([]bool, len(θ)), s.m.Tensors(θ)
	arrays := byName(t, named)
	for _, a := range named {
		size := 1
		for _, n := range a.Array.Shape {
			size *= n
		}
		if size != len(a.Array.Float64) {
			t.Errorf("%s has shape %v and %d numbers", a.Name, a.Array.Shape, len(a.Array.Float64))
		}
		for _, v := range a.Array.Float64 {
			if seen[int(v)] {
				t.Fatalf("parameter %v is in two arrays", v)
			}
			seen[int(v)] = true
		}
	}
	for i, ok := range seen {
		if !ok {
			t.Fatalf("parameter %d is in no array", i)
		}
	}
	back, err := s.m.Read(arrays)
	if err != nil || !slices.Equal(back, θ) {
		t.Fatalf("the arrays are not read back: %v", err)
	}
	for i := range θ {
		θ[i] = -1
	}
	if named[0].Array.Float64[0] != -1 {
		t.Error("the arrays do not share the parameters' memory")
	}
	if len(back) > 0 && back[0] == -1 {
		t.Error("Read returns the memory of the arrays")
	}
	refusesPart(t, arrays, func() error { return testkit.Err(s.m.Read(arrays)) })
}

// byName returns arrays by their names; each name belongs to one array.
func byName(t *testing.T, named []arrayfile.Named) map[string]arrayfile.Array {
	t.Helper()
	arrays := map[string]arrayfile.Array{}
	for _, a := range named {
		if _, twice := arrays[a.Name]; twice || a.Name == "" {
			t.Fatalf("two arrays are called %q", a.Name)
		}
		arrays[a.Name] = a.Array
	}
	return arrays
}

// refusesPart checks that arrays are not read where one is not there or lacks a number.
func refusesPart(t *testing.T, arrays map[string]arrayfile.Array, read func() error) {
	t.Helper()
	for name, a := range arrays {
		delete(arrays, name)
		if read() == nil {
			t.Errorf("arrays without %s are read", name)
		}
		values := a.AsFloat64()
		arrays[name] = arrayfile.Of(values[1:], len(values)-1)
		if read() == nil {
			t.Errorf("arrays with too short %s are read", name)
		}
		arrays[name] = a
	}
}

// Constants make the network that they are of; others make another, and leave it alone.
func (s *suite) constants(t *testing.T) {
	c, ok := s.m.(score.Constant[float64])
	if !ok {
		return
	}
	arrays := byName(t, c.Constants())
	rows := func(m score.Model[float64]) []float64 { return (&suite{m, s.d, s.momentum}).inputs() }
	same, err := c.WithConstants(arrays)
	if err != nil {
		t.Fatalf("the constants are not taken: %v", err)
	}
	want := rows(s.m)
	if !slices.Equal(rows(same), want) || !slices.Equal(s.output(same), s.output(s.m)) {
		t.Error("equal constants make another network")
	}
	for name, a := range arrays {
		values := a.AsFloat64()
		other := make([]float64, len(values))
		for i, v := range values {
			other[i] = v + math.Sin(float64(i+1))
		}
		arrays[name] = arrayfile.Of(other, a.Shape...)
		moved, err := c.WithConstants(arrays)
		if err != nil || slices.Equal(rows(moved), want) && slices.Equal(s.output(moved), s.output(s.m)) {
			t.Errorf("another %s makes no other network: %v", name, err)
		}
		if !slices.Equal(rows(s.m), want) {
			t.Errorf("another %s changes the network that it was given to", name)
		}
		if moved != nil {
			before := rows(moved)
			for i := range other {
				other[i] = 0
			}
			if !slices.Equal(rows(moved), before) {
				t.Errorf("WithConstants does not copy %s", name)
			}
		}
		arrays[name] = a
	}
	refusesPart(t, arrays, func() error { return testkit.Err(c.WithConstants(arrays)) })
}

// output returns the outputs at the probes.
func (s *suite) output(m score.Model[float64]) []float64 {
	return slices.Clone(m.Pack(false).NewWorkspace(rows, false).Forward(s.inputs(), rows))
}

// A row's output has the same bits in any block and in a workspace with gradients.
func (s *suite) forward(t *testing.T) {
	in, want, w := s.inputs(), s.output(s.m), s.m.In()
	if len(want) != rows*s.m.Out() {
		t.Fatalf("%d rows have %d outputs of %d numbers", rows, len(want), s.m.Out())
	}
	packed := s.m.Pack(true)
	for _, gradients := range []bool{false, true} {
		ws := packed.NewWorkspace(rows, gradients)
		for n := 1; n <= rows; n++ {
			for i := 0; i+n <= rows; i++ {
				got := ws.Forward(in[i*w:(i+n)*w], n)
				if !slices.Equal(got, want[i*s.d:(i+n)*s.d]) {
					t.Fatalf("rows %d to %d alone (gradients: %v) have other outputs", i, i+n-1, gradients)
				}
			}
		}
	}
}

// A packed model that was updated is one packed anew.
func (s *suite) update(t *testing.T) {
	m := s.m.With(slices.Clone(s.m.Parameters()))
	packed := m.Pack(true)
	for i := range m.Parameters() {
		m.Parameters()[i] += 0.1 * math.Cos(float64(i))
	}
	for part := range m.Parts() {
		packed.Update(part)
	}
	grad := func(p score.Packed[float64]) []float64 {
		ws, g := p.NewWorkspace(rows, true), make([]float64, len(m.Parameters()))
		out := slices.Clone(ws.Forward(s.inputs(), rows))
		ws.Backward(g, weights(len(out)), rows, false)
		return append(out, g...)
	}
	if !slices.Equal(grad(packed), grad(m.Pack(true))) {
		t.Error("Update does not take over all parameters")
	}
}

func weights(n int) []float64 {
	c := make([]float64, n)
	for i := range c {
		c[i] = math.Cos(float64(2*i + 1))
	}
	return c
}

// The gradient of Σ c y at every parameter against central differences by slope: their
// error falls with the square of the step, to round-off.
func (s *suite) backward(t *testing.T) {
	m := s.m.With(slices.Clone(s.m.Parameters()))
	packed := m.Pack(true)
	ws, in, θ := packed.NewWorkspace(rows, true), s.inputs(), m.Parameters()
	c := weights(rows * s.m.Out())
	loss := func() (sum float64) {
		for part := range m.Parts() {
			packed.Update(part)
		}
		for i, y := range ws.Forward(in, rows) {
			sum += c[i] * y
		}
		return sum
	}
	loss()
	grad := make([]float64, len(θ))
	for i := range grad {
		grad[i] = math.NaN() // numbers that are not set show
	}
	ws.Backward(grad, c, rows, false)
	for i := range θ {
		at := θ[i]
		off := func(h float64) float64 {
			θ[i] = at + h
			up := loss()
			θ[i] = at - h
			down := loss()
			θ[i] = at
			return math.Abs((up-down)/(2*h) - grad[i])
		}
		coarse, fine := off(1e-2), off(1e-3)
		size := 1 + math.Abs(grad[i])
		if !(fine <= 1e-10*size) && !(fine <= coarse/50) || !(fine <= 1e-4*size) {
			t.Fatalf("the derivative by parameter %d is %v: off by %.3g at step 1e-2 and %.3g at 1e-3",
				i, grad[i], coarse, fine)
		}
	}
	loss()
	sum := slices.Clone(grad)
	ws.Backward(sum, c, rows, true)
	for i, v := range sum {
		if math.Abs(v-2*grad[i]) > 1e-12*(1+math.Abs(grad[i])) {
			t.Fatalf("Backward does not add to the derivative by parameter %d", i)
		}
	}
}

// noItem fails where a row of generation names a training row.
type noItem struct {
	score.Model[float64]
	t *testing.T
}

func (m noItem) Row(dst []float64, at score.Input) {
	if at.Item != -1 {
		m.t.Errorf("a score is evaluated at training row %d", at.Item)
	}
	m.Model.Row(dst, at)
}

// The score is the gain times the output, one row at a time.
func (s *suite) field(t *testing.T) {
	f, want := score.NewField[float64](noItem{s.m, t}, rows), s.output(s.m)
	got := make([]float64, s.d)
	for i := range rows {
		at := s.probe(i)
		f.Eval(got, at.X, at.P, 1, at.T)
		for j, v := range got {
			if v != s.m.Gain(at.T)*want[i*s.d+j] {
				t.Fatalf("row %d: the score is %v, the output %v, the gain %v", i, v, want[i*s.d+j], s.m.Gain(at.T))
			}
		}
	}
}

func (s *suite) allocations(t *testing.T) {
	ws, in, w := s.m.Pack(true).NewWorkspace(rows, true), s.inputs(), s.m.In()
	grad, c, at := make([]float64, len(s.m.Parameters())), weights(rows*s.m.Out()), s.probe(1)
	if n := testing.AllocsPerRun(10, func() {
		s.m.Row(in[:w], at)
		ws.Forward(in, rows)
		ws.Backward(grad, c, rows, true)
	}); n != 0 {
		t.Errorf("passes allocate %v times", n)
	}
}

// graph checks that the ONNX file of a model's graph, read back and computed operator by operator, has the
// model's scores: hidden conditions too, where there are any.
func (s *suite) graph(t *testing.T) {
	if _, ok := s.m.(score.Graphed); !ok {
		t.Skip("the model has no graph")
	}
	Graph(t, s.m, s.momentum, func(i int) score.Input { return s.probe(i) }, score.Times{Step: 0.1, N: 30}, onnx.Double,
		1e-11)
}

// Graph checks the graph of m, with numbers of a type, at points of a batch: to so much of the largest score,
// or 1.
func Graph[T float32 | float64](t *testing.T, m score.Model[T], momentum bool, probe func(i int) score.Input,
	times score.Times, wide onnx.Type, tolerance float64) {
	t.Helper()
	g := testkit.Must(score.Graph(m, momentum, times, wide))
	d, w, n := m.Out(), m.In(), rows
	ws := m.Pack(false).NewWorkspace(n, false)
	hides := false
	for _, p := range g.Inputs {
		hides = hides || p.Name == score.GraphHidden
	}
	for _, hidden := range []bool{false, true} {
		if hidden && !hides {
			break
		}
		tensor := func(dims ...int) *onnxrun.Tensor { return &onnxrun.Tensor{Type: wide, Dims: dims} }
		x, p, at, null := tensor(n, d), tensor(n, d), tensor(n), tensor(n)
		in, gains := make([]T, n*w), make([]float64, n)
		for i := range n {
			probe := probe(i)
			if wide == onnx.Float { // points in the precision of the network's input
				for _, v := range [][]float64{probe.X, probe.P} {
					for j := range v {
						v[j] = float64(float32(v[j]))
					}
				}
			}
			x.X, p.X = append(x.X, probe.X...), append(p.X, probe.P...)
			at.X, null.X = append(at.X, probe.T), append(null.X, 0)
			if hidden && i%2 == 0 {
				null.X[i], probe.Null = 1, true
			}
			m.Row(in[i*w:(i+1)*w], probe)
			gains[i] = m.Gain(probe.T)
		}
		inputs := map[string]*onnxrun.Tensor{score.GraphX: x, score.GraphT: at}
		if momentum {
			inputs[score.GraphP] = p
		}
		if hides {
			inputs[score.GraphHidden] = null
		}
		if len(inputs) != len(g.Inputs) {
			t.Fatalf("the graph has %d inputs, want %d", len(g.Inputs), len(inputs))
		}
		out := testkit.Must(onnxrun.Run(g, inputs))
		want, largest := ws.Forward(in, n), 1.0
		for i, v := range want {
			largest = max(largest, math.Abs(gains[i/d]*float64(v)))
		}
		for i, v := range want {
			s := gains[i/d] * float64(v)
			if got := out[score.GraphScore].X[i]; !(math.Abs(got-s) <= tolerance*largest) {
				t.Fatalf("hidden %v, row %d: score %d of the graph is %v, want %v", hidden, i/d, i%d, got, s)
			}
		}
	}
}
