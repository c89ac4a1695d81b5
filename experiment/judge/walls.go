package judge

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

// A Wall says how many points lie next to the edge of an inequality, where processes go wrong first: they stick to it,
// or stay away. A point is next to it where |g| is at most Step = s‖Π∇g‖, what a typical step along Σ moves g by: s is
// √τ for overdamped and τ for underdamped methods, with τ of the last step of generation (of every step, in chains),
// and ‖Π∇g‖ is taken at the points nearest to the edge.
type Wall struct {
	Component string       `json:"component"`
	Step      metric.Float `json:"step"`
	Samples   metric.Float `json:"samples"`   // share of them next to the edge
	Reference metric.Float `json:"reference"` // of what they are held against; null if that is nothing
	PValue    metric.Float `json:"p_value"`   // that the two shares are of one law
	Warning   string       `json:"warning,omitempty"`

	of string // what Reference is a share of; the data
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
	set, d := r.Process.Walked(), r.Dim
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
			w.Warning = fmt.Sprintf("%s. %s", w.differs("samples", "of the data"), advice)
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

// ChainWalls says how many draws of chains lie next to the edges of inequalities. Draws of a method that is off there
// are held against as many of the splitting, which is not; the test looks at effective draws.
func ChainWalls(
	ctx context.Context, seed uint64, c *langevin.Chains, pool *parallel.Pool, draws *langevin.Draws,
) ([]Wall, error) {
	set, names := c.Process.Set, c.Process.Set.Inequalities()
	if len(names) == 0 {
		return nil, nil
	}
	x := draws.X
	if !c.Symmetric {
		again, proc := *c, *c.Process
		again.Process, again.Symmetric, again.Progress = &proc, true, nil
		if proc.Method, proc.Curvature = langevin.ULLAP, false; !c.Process.Method.Underdamped() {
			proc.Schedule.T, proc.Friction = math.Sqrt(c.Process.Schedule.T), 1/math.Sqrt(c.Process.Schedule.T)
		}
		x0, err := langevin.Start(ctx, &proc, c.Count, seed)
		if err != nil {
			return nil, err
		}
		exact, err := again.Run(ctx, pool, x0)
		if err != nil {
			return nil, err
		}
		x = slices.Concat(x, exact.X)
	}
	g, steps := edges(set, c.Process.Method.StepSize(c.Process.Schedule.Tau(0)), x)
	out := make([]Wall, len(names))
	for j, name := range names {
		near := func(set int) (share, se float64) {
			series := make([][]float64, c.Count)
			for k := range series {
				series[k] = make([]float64, c.Keep)
				for i := range series[k] {
					if g[((set*c.Count+k)*c.Keep+i)*len(names)+j] <= steps[j] {
						series[k][i] = 1
						share += 1 / float64(c.Count*c.Keep)
					}
				}
			}
			return share, metric.MCSE(series)
		}
		w := Wall{
			Component: name, Step: metric.Float(steps[j]), Reference: metric.NaN, PValue: metric.NaN,
			of: "the splitting's",
		}
		share, se := near(0)
		if w.Samples = metric.Float(share); !c.Symmetric {
			exact, error := near(1)
			w.Reference, w.PValue = metric.Float(exact), metric.Float(normalTest(share-exact, se, error))
			if float64(w.PValue) < wallAlpha/float64(len(names)) {
				w.Warning = w.differs("draws", "of the splitting's") + ". " + mendChains(c.Process, w)
			}
		}
		out[j] = w
	}
	return out, nil
}

// normalTest returns the two-sided p-value of a difference of two means with such
// standard errors. One that is unknown, of draws that never change, counts as 0.
func normalTest(difference, se1, se2 float64) float64 {
	v := 0.0
	for _, se := range []float64{se1, se2} {
		if se-se == 0 {
			v += se * se
		}
	}
	if difference == 0 {
		return 1
	}
	return math.Erfc(math.Abs(difference) / math.Sqrt(2*v))
}

// mendChains says what to change about draws that differ at a wall.
func mendChains(p *langevin.Process, w Wall) string {
	if !p.Elastic() && p.Repulsion == 0 && w.Samples > w.Reference {
		return "With the paper's walls and process.repulsion 0 points that reach a wall stay there: " +
			"--set process.walls=elastic, --set process.repulsion=auto or --set sample.method=splitting helps"
	}
	return "--set sample.method=splitting is exact there"
}

// differs says how the shares do.
func (w Wall) differs(points, than string) string {
	how := "stick to it"
	if w.Samples < w.Reference {
		how = "keep away from it"
	}
	return fmt.Sprintf("%s of %s lie within a step (%s) of the edge of %q, and %s %s: the %s %s",
		text.Percent(w.Samples), points, text.Number(w.Step), w.Component, text.Percent(w.Reference), than, points, how)
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

// String says the shares, and what is wrong with them.
func (w Wall) String() string {
	s := fmt.Sprintf("%s of samples within %s", text.Percent(w.Samples), text.Number(w.Step))
	if !w.Reference.IsNaN() {
		s += fmt.Sprintf(", %s of %s; p = %.3f", text.Percent(w.Reference), cmp.Or(w.of, "the data"), w.PValue)
	}
	if w.Warning != "" {
		s += "; WARN: " + w.Warning
	}
	return s
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
