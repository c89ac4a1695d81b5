package score

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/onnx"
)

// A Graphed model says its pass as a graph of ONNX's operators, for programs that know nothing of this one.
type Graphed interface {
	// GraphForward is Forward in a workspace: n×Out from n×In.
	GraphForward(g *onnx.Graph, row onnx.Value) onnx.Value
}

// Symbols are a batch of Inputs in a graph: X and P n×d, T n. P is none without momentum.
type Symbols struct {
	*onnx.Graph
	X, P, T onnx.Value
	Times   Times
}

// Times are kΔt for k = 1 … N, the times at which a sampler evaluates the score. In graphs functions of time are tables
// on them.
type Times struct {
	Step float64
	N    int
}

// Names of the inputs and the output of a graph. Hidden is 1 at rows whose condition is hidden, 0 at others;
// it is there only with Reading.Null.
const (
	GraphX, GraphP, GraphT, GraphHidden = "x", "p", "t", "hidden"
	GraphScore                          = "score"
)

// A GraphError says why a model has no graph.
type GraphError struct{ Why string }

func (e *GraphError) Error() string { return "no graph of this network can be written: " + e.Why }

func (*GraphError) Place() fault.Place { return fault.Place{Kind: fault.Run, Key: "network.kind"} }

// Graph returns the score of m as a graph,
//
//	score(x, p, t) = m(t) F_θ(row(x, p, t)),
//
// x and p n×d, p with momentum alone, t n, score n×d. Inputs, the score and the reading are of type wide,
// the network is of type T. The error is a *GraphError.
func Graph[T kernel.Float](m Model[T], momentum bool, times Times, wide onnx.Type) (*onnx.Graph, error) {
	of, ok := m.(Graphed)
	if !ok {
		return nil, &GraphError{fmt.Sprintf("a %T has no GraphForward (score.Graphed)", m)}
	}
	if !(times.Step > 0) || times.N < 1 {
		panic(fmt.Sprintf("score: a graph for %d times with steps of %v", times.N, times.Step))
	}
	g, d := onnx.New("score", wide), m.Out()
	at := Symbols{Graph: g, Times: times, X: g.Input(GraphX, onnx.Batch, d)}
	if momentum {
		at.P = g.Input(GraphP, onnx.Batch, d)
	}
	at.T = g.Input(GraphT, onnx.Batch)
	row, err := m.GraphRow(at)
	if err != nil {
		return nil, err
	}
	s := g.Cast(of.GraphForward(g, row), wide)
	gain, err := at.Course("its gain", m.Gain)
	if err != nil {
		return nil, err
	}
	g.Output(GraphScore, g.Mul(s, g.Unsqueeze(gain, 1)), onnx.Batch, d)
	return g, nil
}

// A course is a function of time as a table: one number; or values at kΔt, linear between; or, with breaks,
// values[i] where breaks[i−1] < t ≤ breaks[i].
type course struct {
	values []float64
	breaks []float64
}

// tabulate returns f on the times, and between the first and the last; false if it is none of a course's.
func tabulate(f func(t float64) float64, times Times) (course, bool) {
	values := make([]float64, times.N)
	var at, all []float64 // four points an interval
	for k := range values {
		t := float64(k+1) * times.Step
		values[k] = f(t)
		for i := range 4 {
			if i == 0 || k < times.N-1 {
				at = append(at, t+float64(i)*times.Step/4)
				all = append(all, f(at[len(at)-1]))
			}
		}
	}
	constant, linear := true, true
	for i, v := range all {
		constant = constant && v == all[0]
		a, b := values[i/4], values[min(i/4+1, times.N-1)]
		w := float64(i%4) / 4
		linear = linear && math.Abs(v-((1-w)*a+w*b)) <= 1e-9*max(math.Abs(a), math.Abs(b))
	}
	switch {
	case constant:
		return course{values: all[:1]}, all[0]-all[0] == 0
	case linear:
		return course{values: values}, true
	}
	c := course{values: all[:1:1]}
	for i := 1; i < len(all); i++ {
		for v, lo := c.values[len(c.values)-1], at[i-1]; v != all[i]; { // the last t at which f is still v
			hi := at[i]
			for hi > math.Nextafter(lo, hi) {
				if mid := lo + (hi-lo)/2; f(mid) == v {
					lo = mid
				} else {
					hi = mid
				}
			}
			v = f(hi)
			c.breaks, c.values = append(c.breaks, lo), append(c.values, v)
			if lo = hi; len(c.breaks) > len(at) || v-v != 0 {
				return course{}, false
			}
		}
	}
	return c, true
}

// beside returns breaks a little away from the times of steps, on the side where they are, so that a step's own
// time falls on its side in float32 too.
func beside(breaks []float64, step float64) []float64 {
	out := make([]float64, len(breaks))
	for i, b := range breaks {
		tick := math.Round(b/step) * step
		switch out[i] = b; {
		case math.Abs(b-tick) > 1e-3*step:
		case tick <= b: // f at the tick is that before the break
			out[i] = tick + 1e-3*step
		default:
			out[i] = tick - 1e-3*step
		}
	}
	return out
}

// Course returns f at T, n numbers. what is what f is, for the error.
func (at Symbols) Course(what string, f func(t float64) float64) (onnx.Value, error) {
	c, ok := tabulate(f, at.Times)
	if !ok {
		return onnx.Value{}, &GraphError{what + " is neither linear between the steps of the process nor constant " +
			"in parts, so that no table has it"}
	}
	g := at.Graph
	if c.breaks != nil {
		if g.Wide == onnx.Float {
			c.breaks = beside(c.breaks, at.Times.Step)
		}
		after := g.Cast(g.Greater(g.Unsqueeze(at.T, 1), g.Constant(c.breaks, 1, len(c.breaks))), onnx.Int64)
		return g.GatherBy(g.Constant(c.values, len(c.values)), 0, g.Sum(after, 1, false)), nil
	}
	if len(c.values) == 1 {
		return g.Add(g.Mul(at.T, g.Number(0)), g.Number(c.values[0])), nil
	}
	// u = t/Δt − 1 within the table; at a step's own time, but for round-off, the step's number.
	last := float64(len(c.values) - 1)
	u := g.Sub(g.Div(at.T, g.Number(at.Times.Step)), g.Number(1))
	u = g.Op("Max", []onnx.Value{g.Op("Min", []onnx.Value{u, g.Number(last)}), g.Number(0)})
	near, close := g.Of1("Round", u), 1e-6
	if g.Wide == onnx.Float {
		close = 1e-4
	}
	u = g.Where(g.Greater(g.Number(close), g.Of1("Abs", g.Sub(u, near))), near, u)
	k := g.Of1("Floor", u)
	table, w := g.Constant(c.values, len(c.values)), g.Sub(u, k)
	next := g.Op("Min", []onnx.Value{g.Add(k, g.Number(1)), g.Number(last)})
	a := g.GatherBy(table, 0, g.Cast(k, onnx.Int64))
	b := g.GatherBy(table, 0, g.Cast(next, onnx.Int64))
	return g.Add(g.Mul(g.Sub(g.Number(1), w), a), g.Mul(w, b)), nil
}
