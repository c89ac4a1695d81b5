package constrainttest_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// broken is a sphere with a fault.
type broken struct {
	constraint.Set
	spoil func(*constraint.Evaluator, *constraint.Capabilities)
}

func (b broken) NewEvaluator(n int) constraint.Evaluator {
	e := b.Set.NewEvaluator(n)
	b.spoil(&e, new(constraint.Capabilities))
	return e
}

func (b broken) Capabilities() constraint.Capabilities {
	c := b.Set.Capabilities()
	b.spoil(new(constraint.Evaluator), &c)
	return c
}

func times(v []float64, by float64) {
	for i := range v {
		v[i] *= by
	}
}

// place matches what changes from run to run: lines of the suite, and times.
var place = regexp.MustCompile(`\w+\.go:\d+: |\d+\.\d+s`)

// Each fault of a set fails the check of the suite that is for it.
func TestFaultsAreFound(t *testing.T) {
	for name, spoil := range testkit.Ordered(map[string]func(*constraint.Evaluator, *constraint.Capabilities){
		"none": func(*constraint.Evaluator, *constraint.Capabilities) {},
		"on/blocks": func(e *constraint.Evaluator, _ *constraint.Capabilities) {
			e.Values = func(v, x []float64, n int) { v[0] = 1e-9 }
		},
		"off/evaluators": func(e *constraint.Evaluator, _ *constraint.Capabilities) {
			of, kept := e.Values, [][]float64{}
			e.Values = func(v, x []float64, n int) { of(v, x, n); kept = append(kept[:0], slices.Clone(x)) }
		},
		"on/jacobian": func(e *constraint.Evaluator, _ *constraint.Capabilities) {
			of := e.Jacobians
			e.Jacobians = func(v, jac, x []float64, n int) { of(v, jac, x, n); times(jac, 1.0001) }
		},
		"off/hessian": func(e *constraint.Evaluator, _ *constraint.Capabilities) {
			of := e.HessianVectors
			e.HessianVectors = func(dst, x, v []float64, n int) { of(dst, x, v, n); times(dst, 1.001) }
		},
		"on/curvature": func(e *constraint.Evaluator, _ *constraint.Capabilities) {
			of := e.HessianVectors
			e.HessianVectors = func(dst, x, v []float64, n int) { of(dst, x, v, n); times(dst, -1) }
		},
		"retraction": func(e *constraint.Evaluator, _ *constraint.Capabilities) {
			of := e.Retract
			e.Retract = func(dst, base, v []float64) bool { ok := of(dst, base, v); dst[0] += 1e-6; return ok }
		},
		"geodesics": func(e *constraint.Evaluator, _ *constraint.Capabilities) {
			of := e.Log
			e.Log = func(v, x, y []float64) bool { ok := of(v, x, y); times(v, 1.001); return ok }
		},
		"samplers": func(_ *constraint.Evaluator, c *constraint.Capabilities) {
			of := c.SampleUniform
			c.SampleUniform = func(dst []float64, s keyed.Stream, i uint64) { of(dst, s, i); times(dst, 1.001) }
		},
	}) {
		if of := os.Getenv("LANDING_BROKEN"); of == name {
			constrainttest.Run(t, broken{zoo.Sphere{D: 3, R: 1}, spoil}, constrainttest.Options{Points: 4})
		} else if of == "" {
			c := exec.Command(os.Args[0], "-test.run=^TestFaultsAreFound$")
			c.Env = append(os.Environ(), "LANDING_BROKEN="+name)
			out, err := c.CombinedOutput()
			found := strings.Contains(string(out), "--- FAIL: TestFaultsAreFound/"+name)
			if found != (name != "none") || found != (err != nil) {
				t.Errorf("%s: found %v, %v\n%.2000s", name, found, err, out)
			}
			said := strings.SplitSeq(place.ReplaceAllString(string(out), ""), "\n")
			testkit.KeepValue(t, slices.Sorted(said)) // the suite's order is that of a map
		}
	}
}
