package draft

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Numbers proposed for a set are those that mean something on it: they load with the draft, have the
// values that the data was made with, and are few. Where raw coordinates do as well there are none.
func TestObserve(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 400
	z := normals(20 * n)
	// A row of each, and the number of a name that it was made with.
	for _, c := range []struct {
		name string
		row  func(z []float64) (x []float64, of map[string]float64)
		most int
	}{
		{"circles", func(z []float64) ([]float64, map[string]float64) {
			sin, cos := math.Sincos(z[0])
			sin2, cos2 := math.Sincos(2 * z[1])
			return []float64{cos, sin, 3 * cos2, 3 * sin2, z[2]}, map[string]float64{"angle[0]": math.Atan2(sin, cos),
				"angle[2]": math.Atan2(sin2, cos2), "coordinate[4]": z[2]}
		}, 3},
		{"ellipse", func(z []float64) ([]float64, map[string]float64) {
			sin, cos := math.Sincos(2 * z[0])
			return []float64{2 * cos, sin}, map[string]float64{"angle[0]": math.Atan2(sin, 2*cos)}
		}, 1},
		{"torus", func(z []float64) ([]float64, map[string]float64) {
			sin, cos := math.Sincos(2 * z[0])
			sin2, cos2 := math.Sincos(2 * z[1])
			r := 2 + 0.6*cos2
			return []float64{r * cos, r * sin, 0.6 * sin2}, map[string]float64{
				"around the hole[0]": math.Atan2(sin, cos), "around the tube[0]": math.Atan2(sin2, cos2)}
		}, 2},
		{"chain", func(z []float64) ([]float64, map[string]float64) {
			// Bonds along x, in the plane of x and y, and anyhow: the torsion is the last's turn about the second.
			sin, cos := math.Sincos(z[0])
			p := []float64{z[4], z[5], z[6]}
			x := slices.Clone(p)
			for _, step := range [][]float64{{1, 0, 0}, {0, 1, 0}, {-cos, 0, sin}} {
				for k := range p {
					p[k] += step[k]
				}
				x = append(x, p...)
			}
			// From (1, 0, 0) backwards, seen along (0, 1, 0).
			return x, map[string]float64{"torsion[0,3,6,9]": math.Atan2(-sin, cos)}
		}, 8},
		{"linkage", func(z []float64) ([]float64, map[string]float64) { // in the plane, pinned beside the origin
			x, α := []float64{3, 1}, 0.0
			for i, turn := range []float64{z[0], -1 + 0.5*z[1], z[2]} {
				sin, cos := math.Sincos(α + turn)
				α += turn
				x = append(x, x[2*i]+cos, x[2*i+1]+sin)
			}
			return x[2:], map[string]float64{"direction[0,2]": z[0] - 1 + 0.5*z[1], "turn[0,2,4]": z[2]}
		}, 6},
		{"shares", func(z []float64) ([]float64, map[string]float64) {
			a, b, c := math.Exp(z[0]), math.Exp(z[1]), math.Exp(z[2])
			return []float64{a / (a + b + c), b / (a + b + c), c / (a + b + c)}, map[string]float64{
				"log-ratio[0,1]": z[1] - z[0], "log-ratio[1,2]": z[2] - z[1]}
		}, 8},
		{"turns", func(z []float64) ([]float64, map[string]float64) { // rows by Gram and Schmidt, of Haar's law
			x := slices.Clone(z[:16])
			for i := range 4 {
				row := x[4*i : 4*i+4]
				for k := range i {
					dense.Axpy(row, -dense.Dot(row, x[4*k:4*k+4]), x[4*k:4*k+4])
				}
				dense.Scaled(row, 1/dense.Norm(row), row)
			}
			if mat.Det(mat.NewDense(4, 4, slices.Clone(x))) < 0 {
				dense.Scaled(x[:4], -1, x[:4])
			}
			traces := metric.PowerTraces(nil, x, 4)
			return x, map[string]float64{"trace[0]": traces[0], "trace of power 2": traces[1],
				"trace of power 4": traces[2], "trace of power 5": traces[3]}
		}, 4},
		{"free", func(z []float64) ([]float64, map[string]float64) { return z[:4], nil }, 0},
	} {
		var x []float64
		var want []map[string]float64
		for i := range n {
			row, of := c.row(z[20*i : 20*i+20])
			x, want = append(x, row...), append(want, of)
		}
		d := len(x) / n
		saveArray(t, c.name+".npy", x, n, d)
		got := draft(t, Options{Path: c.name + ".npy"})
		p := testkit.Must(problem.Load([]byte(got.YAML), c.name, "", nil))
		o := testkit.Must(p.Observables(d))
		if o == nil {
			if c.most > 0 {
				t.Errorf("%s: none\n%s", c.name, got.YAML)
			}
			continue
		}
		if len(o.List) > c.most || len(o.List) > mostObserved {
			t.Errorf("%s: %d numbers", c.name, len(o.List))
		}
		v := make([]float64, n*len(o.List))
		o.Values(v, x, n)
		found := map[string]bool{}
		for k, q := range o.List {
			found[q.Name] = true
			for i := range n {
				w, is := want[i][q.Name]
				if !is {
					continue
				}
				e := v[i*len(o.List)+k] - w
				if q.Circular {
					e = math.Remainder(e, 2*math.Pi)
				}
				if strings.HasPrefix(q.Name, "torsion") { // its sign and zero are a convention
					e = math.Abs(math.Cos(v[i*len(o.List)+k])) - math.Abs(math.Cos(w))
				}
				if !(math.Abs(e) < 1e-9) {
					t.Fatalf("%s: %s of row %d is off by %g", c.name, q.Name, i, e)
				}
			}
		}
		for name := range want[0] {
			if !found[name] {
				t.Errorf("%s has no %q:\n%s", c.name, name, got.YAML)
			}
		}
	}
}

// Symmetric matrices are observed by their entries and determinant. That none has a negative eigenvalue is proposed
// only where it is so.
func TestSymmetric(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 300
	z := normals(6 * n)
	for _, shift := range []float64{0, -1} {
		var x []float64
		for i := range n {
			b := z[6*i : 6*i+6]
			var a [9]float64
			for j := range 3 {
				for k := range 3 {
					a[3*j+k] = b[j]*b[k] + b[3+j]*b[3+k]
				}
				a[4*j] += 0.1 + shift
			}
			x = append(x, a[:]...)
		}
		saveArray(t, "m.npy", x, n, 9)
		d := draft(t, Options{Path: "m.npy"})
		if got := strings.Contains(d.YAML, `det([[x[0], x[1]], [x[3], x[4]]]) >= 0`); got != (shift == 0) {
			t.Errorf("shift %g: minors proposed: %v\n%s", shift, got, d.YAML)
		}
		for _, want := range []string{`expr: "x[1]"`, `expr: "x[2]"`, `expr: "x[5]"`, "det(reshape(x, 3, 3))"} {
			testkit.Contains(t, d.YAML, want)
		}
		os.Remove("m.npy")
	}
}
