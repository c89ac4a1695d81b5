package judge

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// A Wall says how many points lie next to the edge of an inequality, where processes go wrong first: they stick to it,
// or stay away. A point is next to it where |g| is at most Step = s‖Π∇g‖, what a typical step along Σ moves g by: s is
// √τ for overdamped and τ for underdamped methods, with τ of the last step of generation, and
// ‖Π∇g‖ is taken at the points nearest to the edge.
type Wall struct {
	Component string       `json:"component"`
	Step      metric.Float `json:"step"`
	Samples   metric.Float `json:"samples"`   // share of them next to the edge
	Reference metric.Float `json:"reference"` // of the data
	PValue    metric.Float `json:"p_value"`   // that the two shares are of one law
	Warning   string       `json:"warning,omitempty"`
}

const wallNearest = 8 // points that ‖Π∇g‖ is the median over

// Shares at the edges of all inequalities together differ by chance with odds of at most wallAlpha.
var wallAlpha = verdict.Level(verdict.Walls)

// edges returns |g| of every inequality at points x, a row a point, and Step of each.
func edges(set constraint.Set, s float64, x []float64) (g []float64, steps []float64) {
	d, m, l := set.Dim(), len(set.Equalities()), len(set.Inequalities())
	c, n := m+l, len(x)/set.Dim()
	values := constraint.Values(set, x)
	g, steps = make([]float64, n*l), make([]float64, l)
	for i := range n {
		for j := range l {
			g[i*l+j] = math.Abs(values[i*c+m+j])
		}
	}
	at, smooth := set.NewEvaluator(1), geometry.New(constraint.EqualitiesOf(set), 1, 0)
	val, jac, t := make([]float64, c), make([]float64, c*d), make([]float64, d)
	for j := range l {
		var sizes []float64
		for _, i := range nearest(g, l, j, wallNearest) {
			row := x[i*d : (i+1)*d]
			if smooth.At(row, 1) != nil {
				continue
			}
			at.Jacobians(val, jac, row, 1)
			copy(t, jac[(m+j)*d:(m+j+1)*d])
			smooth.Tangent(t, t)
			if size := dense.Norm(t); size-size == 0 {
				sizes = append(sizes, size)
			}
		}
		steps[j] = s * metric.Median(sizes)
	}
	return g, steps
}

// nearest returns the rows of g (l columns) with the k least numbers in column j.
func nearest(g []float64, l, j, k int) []int {
	var out []int // in order
	for i := range len(g) / l {
		v := g[i*l+j]
		at := sort.Search(len(out), func(p int) bool { return !(g[out[p]*l+j] <= v) })
		if at < k && v-v == 0 {
			out = slices.Insert(out, at, i)
			out = out[:min(len(out), k)]
		}
	}
	return out
}

// Walls compares how many samples and how many rows of the data lie next to the edges
// of inequalities, by Fisher's exact test.
func (r *Reference) Walls(samples []float64) []Wall {
	set, d := r.Process.Set, r.Dim
	names := set.Inequalities()
	if len(names) == 0 || len(samples) == 0 {
		return nil
	}
	n, m := len(samples)/d, len(r.All)/d
	g, steps := edges(set, r.Process.Method.StepSize(r.Process.BackTau(0)), slices.Concat(samples, r.All))
	on, looked := evidence.OnWalls(set, r.All)
	out := make([]Wall, len(names))
	for j, name := range names {
		var at [2]int
		for i := range n + m {
			if g[i*len(names)+j] <= steps[j] {
				if i < n {
					at[0]++
				} else {
					at[1]++
				}
			}
		}
		w := Wall{Component: name, Step: metric.Float(steps[j])}
		w.Samples, w.Reference = metric.Float(float64(at[0])/float64(n)), metric.Float(float64(at[1])/float64(m))
		w.PValue = metric.Float(metric.FisherTest(at[0], n, at[1], m))
		if float64(w.PValue) < wallAlpha/float64(len(names)) {
			advice := r.advice(w)
			if w.atoms(on[j], looked) {
				advice = text.Percent(float64(on[j])/float64(looked)) + " of the data lie on the edge itself, " +
					"where samples, which have a density, never are: learn these rows apart"
			}
			w.Warning = fmt.Sprintf("%s. %s", w.differs(), advice)
		}
		out[j] = w
	}
	return out
}

// atoms reports whether samples lack mass next to an edge because `on` of n rows lie exactly on the edge.
func (w Wall) atoms(on, n int) bool {
	return w.Samples < w.Reference && evidence.Walled(on, n) &&
		2*float64(on)/float64(n) >= float64(w.Reference-w.Samples)
}

// differs says how the shares do.
func (w Wall) differs() string {
	how := "stick to it"
	if w.Samples < w.Reference {
		how = "keep away from it"
	}
	return fmt.Sprintf("%s of samples lie within a step (%s) of the edge of %q, and %s of the data: the samples %s",
		text.Percent(w.Samples), text.Number(w.Step), w.Component, text.Percent(w.Reference), how)
}

// Judged says in a word or two how the shares compare.
func (w Wall) Judged() string {
	switch {
	case w.Warning == "":
		return "alike"
	case w.Samples > w.Reference:
		return "too many"
	}
	return "too few"
}

// advice says what to change about samples that differ from the data at a wall.
func (r *Reference) advice(w Wall) string {
	switch {
	case r.Process.Elastic():
		return "More steps, a smaller sigma.min or a longer training help"
	case r.Process.Repulsion == 0 && w.Samples > w.Reference:
		return "With the paper's walls and process.repulsion 0 points that reach a wall stay there: " +
			"train again with --set process.walls=elastic, or --set process.repulsion=auto"
	}
	return "--set process.walls=elastic needs no repulsion; more steps or a longer training help too"
}
