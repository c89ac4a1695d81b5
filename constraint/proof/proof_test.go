package proof_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/proof"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// written returns a set of formulas: equalities, or inequalities where they have ≤ or ≥.
func written(dim int, all ...string) constraint.Set {
	spec := formula.Spec{Dim: dim}
	for _, e := range all {
		to := &spec.Equality
		if strings.Contains(e, "<=") || strings.Contains(e, ">=") {
			to = &spec.Inequality
		}
		*to = append(*to, formula.Component{Name: e, Expr: e})
	}
	s, err := formula.New(spec)
	if err != nil {
		panic(err)
	}
	return s
}

func worker(s constraint.Set) *proof.Worker {
	return proof.New(s).NewWorker()
}

func TestProve(t *testing.T) {
	disc, rotations := zoo.Sphere{D: 2}, testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{Special: true}))
	for name, c := range map[string]struct {
		set         constraint.Set
		x           []float64
		least, most float64 // of δ
		reason      string
	}{
		"on a circle":        {written(2, "norm(x) = 1"), []float64{0.6, 0.8}, 0, 1e-15, ""},
		"beside a circle":    {written(2, "norm(x) = 1"), []float64{0.6, 0.81}, 0.00806, 0.009, ""},
		"on a wall":          {written(2, "norm(x) = 1", "x[0] <= 0.6"), []float64{0.6, 0.8}, 0, 1e-15, ""},
		"beyond a wall":      {written(2, "norm(x) = 1", "x[0] <= 0.6"), []float64{0.6 + 1e-9, 0.8}, 1e-9, 2e-9, ""},
		"in a corner":        {written(2, "x[0] <= 0.1", "x[1] <= 0.3"), []float64{0.1, 0.3}, 0, 1e-15, ""},
		"inside":             {written(2, "x[0] <= 1"), []float64{0.5, 7}, 0, 0, ""},
		"a kink on Σ":        {written(2, "abs(x[0]) + x[1] = 0"), []float64{0, 1e-9}, 0, 2e-9, ""},
		"twice":              {written(2, "norm(x) = 1", "norm(x) - 1 = 0"), []float64{0.6, 0.8}, 0, 1e-15, ""},
		"two blocks":         {constraint.Product(disc, disc), []float64{1, 0, 0.6, 0.8}, 0, 1e-15, ""},
		"held":               {constraint.Hold(written(2, "norm(x) = 1"), []int{1}), []float64{0.6, 0.8}, 0, 1e-15, ""},
		"a rotation":         {rotations, []float64{0.6, -0.8, 0.8, 0.6}, 0, 1e-15, ""},
		"a reflection":       {rotations, []float64{0.6, 0.8, 0.8, -0.6}, 0, 0, "det > 0"},
		"at the centre":      {written(2, "x[0]^2 + x[1]^2 = 1"), []float64{0, 0}, 0, 0, "no gradient"},
		"empty":              {written(2, "x[0]^2 + x[1]^2 = -1e-18"), []float64{1e-9, 0}, 0, 0, "change too much"},
		"a wall that grazes": {written(2, "norm(x) = 1", "x[0] >= 1"), []float64{1, 0}, 0, 0, "no full rank"},
		"a wall that misses": {written(2, "norm(x) = 1", "x[0] >= 1.0000000000000002"), []float64{1, 0}, 0, 0,
			"no full rank"},
		"dependent": {written(2, "norm(x) = 1", "3*norm(x) = 3"), []float64{0.6, 0.8}, 0, 0,
			`"3*norm(x) = 3" depend`},
		"no value":           {written(1, "sqrt(x[0]) = 1"), []float64{-1}, 0, 0, "no value"},
		"no value of a wall": {written(1, "sqrt(x[0]) <= 1"), []float64{0}, 0, 0, ""},
		"not covered":        {constraint.All(disc, bare{disc}), []float64{1, 0}, 0, 0, "not covered"},
	} {
		switch r := worker(c.set).Prove(c.x); {
		case r.Proved != (c.reason == ""), !strings.Contains(r.Reason, c.reason):
			t.Errorf("%s: %+v; expected the reason %q", name, r, c.reason)
		case r.Delta < c.least || r.Delta > c.most:
			t.Errorf("%s: δ is %v; expected %v to %v", name, r.Delta, c.least, c.most)
		}
	}
}

// A bare set knows nothing of itself.
type bare struct{ constraint.Set }

func (bare) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

// Of planted faults none has a proof that is false: the distance to Σ, and the empty sets, are known exactly.
func TestPlantedFaults(t *testing.T) {
	n := 20_000
	if os.Getenv("LANDING_LONG") == "all" {
		n = 1_000_000
	}
	sphere, wall := worker(zoo.Sphere{D: 3}), worker(written(3, "norm(x) = 1", "x[2] >= 0.25"))
	empty := []*proof.Worker{ // by a sign, by one unit in the last place, and by a wall
		worker(written(3, "x[0]^2 + x[1]^2 + x[2]^2 = -1e-20")),
		worker(written(3, "norm(x) = 1", "x[2] >= 1.0000000000000002")),
		worker(written(3, "norm(x) = 1", "x[2] >= 0.25", "x[2] <= 0.24999999999999997")),
		worker(written(3, "x[0] = 0.25", "x[0] >= 0.25000000000000006")),
	}
	r, proved := rand.New(rand.NewPCG(5, 6)), 0
	for i := range n {
		x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		size := math.Sqrt(x[0]*x[0] + x[1]*x[1] + x[2]*x[2])
		for j := range x {
			x[j] /= size
		}
		if i%2 == 0 { // beside the wall, or the pole
			x[2] = []float64{0.25, math.Nextafter(0.25, 0), 1, 1e-9}[i/2%4]
			for s := math.Sqrt((1 - x[2]*x[2]) / (x[0]*x[0] + x[1]*x[1])); s > 0; s = 0 {
				x[0], x[1] = x[0]*s, x[1]*s
			}
		}
		shift := math.Pow(10, -17*r.Float64())
		for j := range x {
			x[j] += shift * r.NormFloat64() * float64(i%3)
		}
		if i%5 == 0 {
			x[0] = 0.25
		}
		if got := empty[i%len(empty)].Prove(x); got.Proved {
			t.Fatalf("a point of an empty set is beside %v: %+v", x, got)
		}
		for _, w := range []*proof.Worker{sphere, wall} {
			got := w.Prove(x)
			if !got.Proved {
				continue
			}
			proved++
			if least := distance(x, w == wall); least.Cmp(big.NewFloat(got.Delta)) > 0 {
				t.Fatalf("%v is %v from Σ; δ is %v", x, least, got.Delta)
			}
		}
	}
	if proved < n {
		t.Errorf("%d proofs of true points beside %d faults; the test expects more", proved, n)
	}
}

// distance is that of x to the unit sphere, or a bound of that to its part above z = ¼, in 300 binary digits.
func distance(x []float64, wall bool) *big.Float {
	z := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	sum := z(0)
	for _, v := range x {
		sum.Add(sum, new(big.Float).Mul(z(v), z(v)))
	}
	off := new(big.Float).Abs(sum.Sub(sum.Sqrt(sum), z(1)))
	if below := z(0).Sub(z(0.25), z(x[2])); wall && below.Cmp(off) > 0 {
		return below
	}
	return off
}

// Formulas at random, evaluated at points of a box in 300 binary digits, are in their enclosures: proofs of h = h(x₀)
// with a rounded right-hand side have a δ that reaches a zero which bisection finds.
func TestRandomFormulas(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var make func(depth int) string
	make = func(depth int) string {
		if depth == 0 {
			return []string{"x[0]", "x[1]", "0.7", "1.3"}[r.IntN(4)]
		}
		a, b := make(depth-1), make(depth-1)
		return fmt.Sprintf([]string{"(%s + %s)", "(%s - %s)", "(%s * %s)", "(%s / (2 + (%s)^2))",
			"sqrt(1 + (%s)^2 + (%s)^2)",
			"sin(%s + %s)", "cos(%s * %s)", "exp(-abs(%s) - abs(%s))", "log(2 + (%s)^2 + abs(%s))",
			"atan2(%s, 3 + abs(%s))",
			"max(%s, %s)", "tanh(%s - %s)", "softplus(%s + %s)", "min(%s, %s)"}[r.IntN(14)], a, b)
	}
	shown := 0
	for range 400 {
		e := "x[0] + 0.1 * " + make(3)
		x := []float64{r.NormFloat64(), r.NormFloat64()}
		at := constraint.Values(written(2, e+" = 0"), x)[0]
		s := written(2, fmt.Sprintf("%s = %v", e, at))
		got := worker(s).Prove(x)
		if !got.Proved {
			continue
		}
		shown++
		if got.Delta > 1e-13*(1+math.Abs(at)) {
			t.Errorf("%s at %v: δ is %v", e, x, got.Delta)
		}
		// The sign of h − at changes between points that are 10⁻⁹ apart along the gradient.
		x[0] += 1e-9
		up := constraint.Values(s, x)[0]
		x[0] -= 2e-9
		if down := constraint.Values(s, x)[0]; up*down > 0 {
			t.Errorf("%s: no zero beside %v, where one is proved", e, x)
		}
	}
	if shown < 300 {
		t.Errorf("%d of 400 are proved", shown)
	}
}

// The checker agrees with proofs of every operation, and refuses proofs that are spoilt.
func TestChecker(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	dir := t.TempDir()
	checker := filepath.Join(dir, "check_proof.py")
	testkit.OK(t, os.WriteFile(checker, proof.Checker, 0o666))
	s := written(4, "norm(x) = 2",
		"x[0]^2.5 + exp(sin(x[1])) / cos(0.2*x[2]) + log(3 + x[0]) + atan2(x[1], 2 + x[2]) = 4.7",
		"max(x[0], 0.1) + tan(0.3*x[1]) + asin(0.2*x[2]) + acos(0.1*x[3]) <= 9", "min(x[0], x[1]) + tanh(x[2]) <= 8",
		"sinh(x[0]) + cosh(x[1]) + atan(x[2]) + softplus(x[3]) + logistic(x[0]) <= 30", "abs(x[3]) <= 1", "x[2] <= 0.7",
		"where(x[3], x[0], x[1] + 9) <= 7")
	x, numbers := []float64{}, []uint64{}
	w, r := worker(s), rand.New(rand.NewPCG(9, 9))
	for try := uint64(0); len(numbers) < 5 && try < 1e4; try++ {
		p := []float64{1 + 0.3*r.NormFloat64(), 1 + 0.3*r.NormFloat64(), 0.6 + 0.1*r.NormFloat64(), 1}
		if w.Prove(p).Proved {
			x, numbers = append(x, p...), append(numbers, try)
		}
	}
	pool := parallel.New(2)
	defer pool.Close()
	var b bytes.Buffer
	sum, err := proof.New(s).Write(t.Context(), &b, x, numbers, 9, pool, func(int, int) {})
	testkit.OK(t, err)
	if sum.Proved != 5 {
		t.Fatalf("%+v", sum)
	}
	run := func(data string) (string, int) {
		path := filepath.Join(dir, "p.jsonl")
		testkit.OK(t, os.WriteFile(path, []byte(data), 0o666))
		cmd := exec.Command(python, checker, path)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run(b.String()); code != 0 || !strings.Contains(out, "5 proofs hold, 0 do not") {
		t.Errorf("exit %d: %s", code, out)
	}
	for name, spoil := range map[string][2]string{
		"a smaller δ":    {`"delta":[0-9.e-]+`, `"delta":1e-25`},
		"another target": {`"target":\["0x0p\+00"`, `"target":["0x1p-20"`},
		"a smaller ρ":    {`"radius":\["[^"]*"`, `"radius":["0x1p-90"`}, "no blocks": {`"blocks":.*`, `"blocks":[]}`},
		"another x": {`"x":\["[^"]*"`, `"x":["0x1p+01"`}, "another formula": {`\["sin",`, `["cos",`},
		"a δ above the largest": {`"within":9`, `"within":1e-30`},
	} {
		spoilt := regexp.MustCompile(spoil[0]).ReplaceAllString(b.String(), spoil[1])
		if out, code := run(spoilt); code == 0 || spoilt == b.String() {
			t.Errorf("%s: exit %d: %s", name, code, out)
		}
	}
	var head map[string]any
	testkit.OK(t, json.NewDecoder(&b).Decode(&head))
	if lines := strings.Count(string(proof.Checker), "\n"); lines >= 300 {
		t.Errorf("the checker has %d lines; expected less than 300", lines)
	}
}
