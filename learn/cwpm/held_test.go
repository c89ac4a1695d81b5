package cwpm

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The loss on a set with held coordinates is that on its slices: targets, of one step and averaged over windows, and
// value are the same; the gradient along what is held is 0, whatever the network says there.
func TestHeldLossIsThatOfTheSlice(t *testing.T) {
	b := formula.NewBuilder(6)
	b.Equality("radius", expr.Norm(b.X().Slice(0, 4)).Sub(b.X().At(4)))
	b.Inequality("wall", b.X().At(2).Sub(b.X().At(5)))
	set := testkit.Must(b.Set())
	held, c := constraint.Hold(set, []int{4, 5}), []float64{1.5, 0.6}
	for name, pair := range map[string][2]constraint.Set{
		"formulas": {held, constraint.Slice(held, c)},
		"sphere":   {constraint.Given(zoo.Sphere{D: 4, R: 1.5}, 2), zoo.Sphere{D: 4, R: 1.5}},
		"flat":     {constraint.Given(plane(4), 2), plane(4)},
	} {
		for _, m := range []langevin.Method{langevin.ULLA, langevin.OLLA, langevin.ULLAP, langevin.OLLAP} {
			for _, walls := range []langevin.Walls{langevin.ElasticWalls, langevin.PaperWalls} {
				for _, window := range []float64{0, 0.4} {
					heldLoss(t, fmt.Sprint(name, m, walls, window), pair, c, m, walls, window)
				}
			}
		}
	}
}

// plane is R^d.
type plane int

func (d plane) Dim() int                            { return int(d) }
func (plane) Equalities() []string                  { return nil }
func (plane) Inequalities() []string                { return nil }
func (plane) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }
func (plane) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: func(_, _ []float64, _ int) {}, Jacobians: func(_, _, _ []float64, _ int) {}}
}

func heldLoss(t *testing.T, name string, pair [2]constraint.Set, c []float64, m langevin.Method, walls langevin.Walls,
	window float64) {
	t.Helper()
	const count, d = 150, 4
	pool := testkit.Pool(t, 1)
	process := func(s constraint.Set) *langevin.Process {
		return &langevin.Process{Set: s, Method: m, Friction: 3, Walls: walls, Repulsion: 0.01,
			Schedule: langevin.Schedule{N: 8, T: 1, SigmaMin: 0.3, SigmaMax: 1}}
	}
	p, q := process(pair[0]), process(pair[1])
	x0, st := make([]float64, count*(d+2)), keyed.New(2, keyed.Probe, 9)
	for i := range count {
		row := x0[i*(d+2) : (i+1)*(d+2)]
		st.Normals(row, uint64(i), 0)
		row[2] = -math.Abs(row[2])
		r := math.Sqrt(row[0]*row[0] + row[1]*row[1] + row[2]*row[2] + row[3]*row[3])
		for j := range d {
			row[j] *= 1.5 / r
		}
		copy(row[d:], c)
	}
	var paths langevin.Paths
	if _, err := langevin.NewSimulator(p, pool, 64).Forward(context.Background(), &paths, x0, 3, 0); err != nil {
		t.Fatal(name, err)
	}
	// A shorter row of noise is the beginning of a longer one, so these are the same paths.
	y0, narrow := make([]float64, count*d), &langevin.Paths{}
	for i := range count {
		copy(y0[i*d:(i+1)*d], x0[i*(d+2):])
	}
	if _, err := langevin.NewSimulator(q, pool, 64).Forward(context.Background(), narrow, y0, 3, 0); err != nil {
		t.Fatal(name, err)
	}
	for i := range count {
		for j := range d {
			if !(math.Abs(paths.At(i, 8)[j]-narrow.At(i, 8)[j]) < 1e-9) {
				t.Fatalf("%s: path %d ends at %v, on the slice at %v", name, i, paths.At(i, 8), narrow.At(i, 8))
			}
		}
	}
	noise := keyed.New(5, keyed.Probe, 9)
	last := func(dst []float64, path int) {
		row := make([]float64, d+2)
		noise.Normals(row, uint64(path), 0)
		copy(dst, row)
	}
	a := NewLoss(p, score.NewReader[float64](score.Reading{}, d+2, m.Underdamped()), 60, Options{Window: window})
	b := NewLoss(q, score.NewReader[float64](score.Reading{}, d, m.Underdamped()), 60, Options{Window: window})
	if window > 0 {
		var wa, wb []Window
		for k := range p.Schedule.N {
			for _, l := range []struct {
				*Loss[float64]
				paths *langevin.Paths
				to    *[]Window
			}{{a, &paths, &wa}, {b, narrow, &wb}} {
				w, err := l.FitWindow(l.paths, k, last)
				if err != nil {
					t.Fatal(name, err)
				}
				*l.to = append(*l.to, w)
			}
			for e, v := range wa[k].Coefficients {
				if math.Abs(v-wb[k].Coefficients[e]) > 1e-6*(1+math.Abs(v)) {
					t.Fatalf("%s: step %d has coefficient %d %v, on the slice %v", name, k, e, v, wb[k].Coefficients[e])
				}
			}
		}
		a.SetWindows(wa)
		b.SetWindows(wa)
	}
	var terms []Term
	for i := range 60 {
		terms = append(terms, Term{Item: i, K: i % p.Schedule.N, Weight: 1 + float64(i)})
	}
	if _, err := a.Prepare(&paths, terms, last); err != nil {
		t.Fatal(name, err)
	}
	if _, err := b.Prepare(narrow, terms, last); err != nil {
		t.Fatal(name, err)
	}
	sa, sb := make([]float64, len(terms)*(d+2)), make([]float64, len(terms)*d)
	for i := range terms {
		noise.Normals(sa[i*(d+2):(i+1)*(d+2)], uint64(i), 1)
		copy(sb[i*d:(i+1)*d], sa[i*(d+2):])
	}
	da, db := make([]float64, len(sa)), make([]float64, len(sb))
	va, vb := a.Evaluate(da, sa), b.Evaluate(db, sb)
	if !(math.Abs(va-vb) <= 1e-10*math.Abs(vb)) {
		t.Fatalf("%s: the loss is %v, on the slice %v", name, va, vb)
	}
	for i := range terms {
		for j := range d {
			if e := math.Abs(da[i*(d+2)+j] - db[i*d+j]); !(e <= 1e-9*(1+math.Abs(db[i*d+j]))) {
				t.Fatalf("%s: the gradient of term %d is %v, on the slice %v", name, i, da[i*(d+2):(i+1)*(d+2)],
					db[i*d:(i+1)*d])
			}
		}
		if da[i*(d+2)+d] != 0 || da[i*(d+2)+d+1] != 0 {
			t.Fatalf("%s: the network learns %v along what is held", name, da[i*(d+2)+d:(i+1)*(d+2)])
		}
	}
}
