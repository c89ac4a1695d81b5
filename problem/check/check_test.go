package check

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

func init() { pathmatch.FitNumbers = 1 << 13 } // what is trained is small

// A term is a function of one point with its gradient.
type term func(x []float64) (float64, []float64)

// terms is a set of components given as terms.
type set struct {
	d, m  int
	names []string
	terms []term
}

func (s *set) String() string         { return "test set" }
func (s *set) Dim() int               { return s.d }
func (s *set) Equalities() []string   { return s.names[:s.m] }
func (s *set) Inequalities() []string { return s.names[s.m:] }
func (s *set) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String()}
}

func (s *set) NewEvaluator(int) constraint.Evaluator { return sets.Evaluator(s) }

func (s *set) Values(v, x []float64, n int) {
	s.Jacobians(v, make([]float64, n*len(s.terms)*s.d), x, n)
}

func (s *set) Jacobians(v, j, x []float64, n int) {
	for i := range n {
		for a, f := range s.terms {
			value, grad := f(x[i*s.d : (i+1)*s.d])
			v[i*len(s.terms)+a] = value
			copy(j[(i*len(s.terms)+a)*s.d:], grad)
		}
	}
}

func (s *set) add(name string, f term) *set {
	s.names, s.terms = append(s.names, name), append(s.terms, f)
	return s
}

func equality(d int) *set { return &set{d: d} }

// equal adds an equality; all of them come before the inequalities.
func (s *set) equal(name string, f term) *set {
	s.m++
	return s.add(name, f)
}

// linear is a·x − b.
func linear(b float64, a ...float64) term {
	return func(x []float64) (float64, []float64) {
		v := -b
		for j := range x {
			v += a[j] * x[j]
		}
		return v, a
	}
}

// circle is x_i² + x_j² − r².
func circle(i, j int, r float64) term {
	return func(x []float64) (float64, []float64) {
		g := make([]float64, len(x))
		g[i], g[j] = 2*x[i], 2*x[j]
		return x[i]*x[i] + x[j]*x[j] - r*r, g
	}
}

// ball is ‖x‖ − r.
func ball(r float64) term {
	return func(x []float64) (float64, []float64) {
		n := dense.Norm(x)
		g := make([]float64, len(x))
		for j := range g {
			g[j] = x[j] / n
		}
		return n - r, g
	}
}

// through is f(t(x)), from f and its derivative.
func through(t term, f func(v float64) (float64, float64)) term {
	return func(x []float64) (float64, []float64) {
		v, g := t(x)
		out := append([]float64(nil), g...)
		y, slope := f(v)
		for j := range out {
			out[j] *= slope
		}
		return y, out
	}
}

func square(v float64) (float64, float64) { return v * v, 2 * v }

func relu(v float64) (float64, float64) {
	if v > 0 {
		return v, 1
	}
	return 0, 0
}

func sum(terms ...term) term {
	return func(x []float64) (float64, []float64) {
		total, grad := 0.0, make([]float64, len(x))
		for _, t := range terms {
			v, g := t(x)
			total += v
			dense.AddScaled(grad, grad, 1, g)
		}
		return total, grad
	}
}

// gentle is a process with small steps on s.
func gentle(s constraint.Set) *langevin.Process {
	return &langevin.Process{Set: s, Method: langevin.ULLA, Friction: 5, Walls: langevin.PaperWalls, Repulsion: 0.02,
		Convention: langevin.Paper, Schedule: langevin.Schedule{N: 20, T: 2, SigmaMin: 0.1, SigmaMax: 0.6}}
}

func run(t *testing.T, in Input) *Report {
	t.Helper()
	r := testkit.Must(Run(context.Background(), in, testkit.Pool(t, 2)))
	kept := *r
	kept.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Check == "forecast" })
	keep(t, r.Set, kept.Findings...)
	return r
}

var findings = map[string][]string{} // of tests that run, by their names

// roundOff is what kernels compute in different orders.
var roundOff = regexp.MustCompile(`-?\d(\.\d+)?e-(1[3-9]|[2-9]\d)\b`)

// keep compares findings, with their numbers, with those kept. Those of one test may be in any order.
func keep(t *testing.T, of string, all ...Finding) {
	name := t.Name()
	if strings.Contains(name, "/") {
		return
	}
	if findings[name] == nil {
		t.Cleanup(func() {
			slices.Sort(findings[name])
			testkit.Keep(t, "%s", strings.Join(findings[name], "\n"))
			delete(findings, name)
		})
	}
	text := of
	for _, f := range all {
		text += fmt.Sprintf("\n%v %s, %s: %s %s", f.Status, f.Check, f.Component, f.Message, f.Key)
		for _, k := range slices.Sorted(maps.Keys(f.Numbers)) {
			text += fmt.Sprintf(" %s %.3g", k, f.Numbers[k])
		}
	}
	findings[name] = append(findings[name], roundOff.ReplaceAllString(text, "~0"))
}

func examine(t *testing.T, s constraint.Set) *Report {
	t.Helper()
	return run(t, Input{Process: gentle(s)})
}

// find returns the findings of a check about a component.
func find(r *Report, check, component string) []Finding {
	var out []Finding
	for _, f := range r.Findings {
		if f.Check == check && f.Component == component {
			out = append(out, f)
		}
	}
	return out
}

// says fails the test unless a finding has this status and its message holds all of the words.
func says(t *testing.T, r *Report, check, component string, status Status, words ...string) {
	t.Helper()
	all := find(r, check, component)
	for _, f := range all {
		good := f.Status == status
		for _, w := range words {
			good = good && strings.Contains(f.Message, w)
		}
		if good {
			return
		}
	}
	var b strings.Builder
	testkit.OK(t, r.Write(&b, false))
	t.Errorf("%s, %q: got %v, want %v with %q\n%s", check, component, all, status, words, b.String())
}

// clean fails the test if anything is above PASS.
func clean(t *testing.T, r *Report, limit Status) {
	t.Helper()
	if r.Status() > limit {
		var b strings.Builder
		testkit.OK(t, r.Write(&b, false))
		t.Errorf("a finding is above %v:\n%s", limit, b.String())
	}
}

// arm is a planar chain of joints with cosines and sines, in the separate form or in the summed form of the paper.
func arm(joints int, summed bool) *set {
	d := 2 * joints
	var h, g []term
	var hn, gn []string
	for j := range joints {
		h, hn = append(h, circle(j, joints+j, 1)), append(hn, "unit")
	}
	ends := make([]float64, d)
	for j := range joints {
		ends[j] = 1
	}
	h, hn = append(h, linear(0.4*float64(joints), ends...)), append(hn, "end")
	for j := range joints {
		floor := make([]float64, d)
		floor[joints+j] = -1
		g, gn = append(g, linear(0.5, floor...)), append(gn, "floor")
	}
	s := &set{d: d}
	if !summed {
		for i := range h {
			s.equal(hn[i]+string(rune('0'+i)), h[i])
		}
		for i := range g {
			s.add(gn[i]+string(rune('0'+i)), g[i])
		}
		return s
	}
	for i := range h {
		h[i] = through(h[i], square)
	}
	for i := range g {
		g[i] = through(g[i], relu)
	}
	return s.equal("h", sum(h...)).add("g", sum(g...))
}

// The paper's summed form fails, by name and with the rewrite; the separate form passes.
func TestArm(t *testing.T) {
	r := examine(t, arm(3, true))
	says(t, r, "gradient on Σ", "h", Fail, "sum of squares", "separate equalities")
	says(t, r, "gradient on Σ", "g", Fail, "ReLU", "separate inequalities")
	clean(t, examine(t, arm(3, false)), Warn)
	if n := examine(t, arm(3, false)).Count(Fail); n != 0 {
		t.Errorf("%d FAIL in the separate form", n)
	}
}

func TestGood(t *testing.T) {
	r := run(t, Input{Process: gentle(equality(3).equal("h", ball(1))), Data: []float64{0, 0, 1, 0, 1, 0, 1, 0, 0}})
	clean(t, r, Pass)
	if math.IsNaN(r.Findings[0].Numbers["d"]) {
		t.Error("no numbers")
	}
}
