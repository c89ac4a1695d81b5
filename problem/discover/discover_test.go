package discover

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// normals returns independent standard normal numbers.
func normals(seed uint64, n int) []float64 {
	z := make([]float64, n)
	keyed.New(seed, keyed.Probe, 0).Normals(z, 0, 0)
	return z
}

// rows makes a table of n rows by a function of each row's own normal numbers.
func rows(seed uint64, n, given int, of func(z []float64) []float64) Table {
	z := normals(seed, n*given)
	t := Table{N: n}
	for i := range n {
		x := of(z[i*given : (i+1)*given])
		t.D = len(x)
		t.X = append(t.X, x...)
	}
	return t
}

func look(t *testing.T, table Table, given ...string) *Report {
	t.Helper()
	r := testkit.Must(Look(table, given...))
	round := func(v float64) string { // round-off differs between processors
		if math.Abs(v) < 1e-9 {
			v = 0
		}
		return fmt.Sprintf("%.3g", v)
	}
	testkit.Keep(t, "%d rows of %d, %d distinct, that fill %s; %d follow; %d outliers: %v", r.Rows, r.Dim, r.Distinct,
		round(r.Fills), r.Follow, r.OutlierCount, r.Outliers)
	for _, q := range slices.Concat(r.Relations, r.Given) {
		testkit.Keep(t, "  %s %q %s: exact %v, rounded %v, off by %s, %s, %s; value %s; columns %v; but for %v of %d",
			q.Kind, q.Name, q.Expr, q.Exact, q.Rounded, round(q.Max), round(q.RMS), round(q.Violation), round(q.Value),
			q.Columns, q.Exceptions, q.ExceptionCount)
		for _, m := range q.Terms {
			testkit.Keep(t, "    %s %v %v", round(m.Coefficient), m.Columns, m.Powers)
		}
	}
	testkit.Keep(t, "  %q", written(r.Relations))
	for _, b := range r.Bounds {
		testkit.Keep(t, "  %d %s %q%v upper %v: wall %s, data %s, share %s, degrees %v", b.Column, b.Expr, b.Form, b.At,
			b.Upper, round(b.Value), round(b.Data), round(b.Share), b.Degrees)
	}
	for _, q := range r.Inequalities {
		testkit.Keep(t, "  %s: %d outside by %s, %v, else %s", q.Expr, q.Outside, round(q.Worst), q.First,
			round(q.Least))
	}
	testkit.Keep(t, "  %q", r.Remarks)
	for _, m := range r.Matrices {
		testkit.Keep(t, "  matrix %+v", *m)
	}
	return r
}

// written are relations as families are written, sorted.
func written(relations []Relation) (out []string) {
	for _, f := range Families(relations) {
		s := f.Expr
		if f.For != "" {
			s += " for " + f.For
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func unit(v []float64) []float64 { return times(1/dense.Norm(v), v) }

func times(c float64, v []float64) []float64 {
	u := make([]float64, len(v))
	for k := range v {
		u[k] = c * v[k]
	}
	return u
}

// rotation is a matrix of SO(3), from six normal numbers.
func rotation(z []float64) []float64 {
	a, b := unit(z[:3]), z[3:6]
	d := a[0]*b[0] + a[1]*b[1] + a[2]*b[2]
	b = unit([]float64{b[0] - d*a[0], b[1] - d*a[1], b[2] - d*a[2]})
	return append(append(a, b...), a[1]*b[2]-a[2]*b[1], a[2]*b[0]-a[0]*b[2], a[0]*b[1]-a[1]*b[0])
}

func circles(z []float64) (x []float64) {
	for _, a := range z {
		x = append(x, math.Cos(2*a), math.Sin(2*a))
	}
	return x
}

func plane(z []float64) []float64 { return []float64{z[0], z[1], 2*z[0] - 3*z[1] + 1} }

func noisy(t Table, sd float64) Table {
	z := normals(77, len(t.X))
	return mapped(t, func(i int, v float64) float64 { return v + sd*z[i] })
}

func mapped(t Table, f func(i int, v float64) float64) Table {
	t.X = slices.Clone(t.X)
	for k, v := range t.X {
		t.X[k] = f(k, v)
	}
	return t
}

// reflected turns all rows by the reflection that takes e_1 to a random direction.
func reflected(t Table) Table {
	u := unit(normals(9, t.D))
	t.X = slices.Clone(t.X)
	for i := range t.N {
		x := t.X[i*t.D : (i+1)*t.D]
		d := 0.0
		for k := range x {
			d += u[k] * x[k]
		}
		for k := range x {
			x[k] -= 2 * d * u[k]
		}
	}
	return t
}

// Data made with known relations has those, exactly, and no others; in any unit.
func TestRelations(t *testing.T) {
	for _, c := range []struct {
		name string
		t    Table
	}{
		{"sphere", rows(1, 300, 4, unit)},
		{"circles", rows(1, 300, 3, circles)},
		{"cosines, then sines", rows(1, 300, 6, func(z []float64) []float64 {
			x := make([]float64, 12)
			for k, a := range z {
				x[6*(k/3)+k%3], x[6*(k/3)+k%3+3] = math.Cos(a), math.Sin(a)
			}
			return x
		})},
		{"plane", rows(1, 300, 2, plane)},
		{"simplex", rows(1, 300, 4, func(z []float64) (x []float64) {
			s := 0.0
			for _, v := range z {
				x, s = append(x, math.Exp(v)), s+math.Exp(v)
			}
			return times(1/s, x)
		})},
		{"a sum of some", rows(1, 300, 6, func(z []float64) []float64 {
			return append(slices.Clone(z), 7-z[3]-z[4]-z[5])
		})},
		{"rotation", rows(1, 300, 6, rotation)},
		{"pose", rows(1, 300, 9, func(z []float64) []float64 {
			r := rotation(z)
			return slices.Concat(r[:3], z[6:7], r[3:6], z[7:8], r[6:], z[8:9], []float64{0, 0, 0, 1})
		})},
		{"columns of a matrix", rows(1, 300, 6, func(z []float64) []float64 {
			r := rotation(z)
			return []float64{r[0], r[3], r[1], r[4], r[2], r[5]}
		})},
		{"torus", rows(1, 600, 2, func(z []float64) []float64 {
			ρ := 2 + 0.6*math.Cos(3*z[1])
			return []float64{ρ * math.Cos(3*z[0]), ρ * math.Sin(3*z[0]), 0.6 * math.Sin(3*z[1])}
		})},
		{"ellipse", rows(1, 600, 1, func(z []float64) []float64 {
			return []float64{2*math.Cos(3*z[0]) + 5, 0.6*math.Sin(3*z[0]) - 1}
		})},
		{"circle far from 0", rows(1, 600, 1, func(z []float64) []float64 {
			return []float64{0.5*math.Cos(3*z[0]) + 40, 0.5*math.Sin(3*z[0]) - 70}
		})},
		{"Cassini oval", rows(1, 600, 1, func(z []float64) []float64 {
			c := math.Cos(6 * z[0])
			r := math.Sqrt(c + math.Sqrt(0.5+c*c))
			return []float64{r * math.Cos(3*z[0]), r * math.Sin(3*z[0])}
		})},
		{"chain", rows(1, 600, 9, func(z []float64) (x []float64) {
			x = slices.Clone(z[:3])
			for b := range 2 {
				u := unit(z[3+3*b : 6+3*b])
				for k := range 3 {
					x = append(x, x[3*b+k]+1.5*u[k])
				}
			}
			return x
		})},
		{"two quadrics", rows(1, 1000, 6, func(z []float64) []float64 {
			a, b := unit(z[:3]), z[3:6]
			d := a[0]*b[0] + a[1]*b[1] + a[2]*b[2] - 0.5
			return append(a, b[0]-d*a[0], b[1]-d*a[1], b[2]-d*a[2])
		})},
		{"product far from 0", rows(1, 400, 2, func(z []float64) []float64 {
			return []float64{z[0] + 50, z[1] - 80, (z[0] + 50) * (z[1] - 80)}
		})},
		{"constant", rows(1, 100, 2, func(z []float64) []float64 { return []float64{z[0], 3.5, z[1]} })},
		{"equal columns", rows(1, 100, 2, func(z []float64) []float64 { return []float64{z[0], z[1], z[0]} })},
	} {
		r := look(t, c.t)
		if len(r.Relations) != len(r.Exact()) {
			t.Errorf("%s: nearly kept: %s", c.name, written(r.Relations))
		}
		for _, unit := range []float64{1e3, 1e-3} {
			s := look(t, mapped(c.t, func(_ int, v float64) float64 { return v * unit }))
			testkit.Equal(t, len(s.Exact()), len(r.Exact()), "%s, numbers times %g", c.name, unit)
			testkit.Equal(t, len(s.Relations), len(r.Relations), "%s, numbers times %g", c.name, unit)
			for i, q := range s.Relations {
				testkit.Equal(t, q.Kind, r.Relations[i].Kind, "%s, numbers times %g: %s", c.name, unit, q.Expr)
			}
		}
	}
}

// Relations are written as a person would write them: sums apart from other linear ones, decimals, centres and radii,
// cosines and sines of angles, and what flows into the buses of a grid.
func TestPlainly(t *testing.T) {
	turn := rotation([]float64{1, 2, 3, -1, 0.5, 2})
	torus := func(z []float64) []float64 {
		ρ := 3 + 0.7*math.Cos(3*z[1])
		return []float64{ρ*math.Cos(3*z[0]) + 1.5, 0.7*math.Sin(3*z[1]) + 0.25, ρ*math.Sin(3*z[0]) - 2}
	}
	weights := func(z []float64) []float64 { // w·(1, 1, 1, 1, 1) = 1 and w·(0.6, 0.8, 1, 1.15, 1.4) = 1.05
		w := []float64{0, 0.2 + 0.06*z[0], 0.2 + 0.06*z[1], 0.2 + 0.06*z[2], 0}
		a, b := 1-w[1]-w[2]-w[3], 1.05-0.8*w[1]-w[2]-1.15*w[3]
		w[4] = (b - 0.6*a) / 0.8
		w[0] = a - w[4]
		return w
	}
	decimals := func(t Table, k float64) Table {
		return mapped(t, func(_ int, v float64) float64 { return math.Round(v*k) / k })
	}
	// Three buses: the first holds its voltage, nothing flows into the third; volts and amperes in any unit.
	y := [3][3]complex128{{3 - 9i, -2 + 5i, -1 + 4i}, {-2 + 5i, 3 - 8i, -1 + 3i}, {-1 + 4i, -1 + 3i, 2 - 7i}}
	grid := func(z []float64, polar bool) []float64 {
		v := [3]complex128{1, cmplx.Rect(1+0.05*z[0], 0.2*z[1])}
		v[2] = -(y[2][0]*v[0] + y[2][1]*v[1]) / y[2][2]
		x := make([]float64, 10)
		for i := range v {
			if x[i], x[3+i] = real(v[i]), imag(v[i]); polar {
				x[i], x[3+i] = cmplx.Abs(v[i]), cmplx.Phase(v[i])*180/math.Pi
			}
			if of := v[i] * cmplx.Conj(y[i][0]*v[0]+y[i][1]*v[1]+y[i][2]*v[2]); i < 2 {
				x[6+i], x[8+i] = real(of), imag(of)
			}
		}
		return x
	}
	const buses = "v1 v2 v3 va1 va2 va3 p1 p2 q1 q2"
	for _, c := range []struct {
		name  string
		t     Table
		names string
	}{
		{"steady to units of the last place", rows(1, 100, 3, func(z []float64) []float64 {
			return []float64{z[0], 0.4 + 0x1p-54*math.Trunc(3*z[1]), z[2]}
		}), ""},
		{"rounding errors about 0", rows(1, 100, 3, func(z []float64) []float64 {
			return []float64{z[0], 1e-17 * z[1], z[2]}
		}), ""},
		{"what a solver leaves", noisy(rows(1, 300, 2, plane), 1e-10), ""},
		{"weights and exposure", rows(1, 300, 3, weights), ""},
		{"weights of four decimals", decimals(rows(1, 600, 3, weights), 1e4), ""},
		{"exposures of four decimals", rows(1, 300, 3, func(z []float64) []float64 { // to a shift and a sign
			w := []float64{0, 0.2 + 0.06*z[0], 0.2 + 0.06*z[1], 0.2 + 0.06*z[2], 0}
			a, b := 1-w[1]-w[2]-w[3], 1.02-1.1045*w[1]-0.6002*w[2]-0.9511*w[3]
			w[4] = (b - 0.8123*a) / (1.3371 - 0.8123)
			w[0] = a - w[4]
			return w
		}), ""},
		{"percentages", decimals(rows(1, 300, 3, func(z []float64) []float64 {
			a, b, c := math.Exp(z[0]), math.Exp(z[1]), math.Exp(z[2])
			return []float64{100 * a / (a + b + c), 100 * b / (a + b + c), 100 * c / (a + b + c)}
		}), 10), ""},
		{"two balances and degrees of two scales", rows(1, 300, 5, func(z []float64) []float64 {
			return []float64{z[0], z[1], z[0] + z[1], z[2], 1.8*z[2] + 32, z[3], z[4], z[2] + z[3] - z[4]}
		}), ""},
		{"torus beside 0", rows(1, 600, 2, torus), ""},
		{"tilted torus", rows(1, 600, 3, func(z []float64) []float64 {
			x := torus(z)
			return []float64{dense.Dot(turn[:3], x), dense.Dot(turn[3:6], x), dense.Dot(turn[6:], x), z[2]}
		}), ""},
		{"tilted circle beside a number", rows(1, 300, 2, func(z []float64) []float64 {
			s, c := math.Sincos(3 * z[0])
			return []float64{1.5 + (c+2*s)*0.7/3, -2 + (2*c+s)*0.7/3, 0.5 + (2*c-2*s)*0.7/3, z[1]}
		}), ""},
		{"circle in x = y", rows(1, 300, 1, func(z []float64) []float64 {
			s, c := math.Sincos(3 * z[0])
			return []float64{1.25 + c/math.Sqrt2, 1.25 + c/math.Sqrt2, s - 4}
		}), ""},
		{"points of a linkage beside an angle", rows(1, 300, 2, func(z []float64) []float64 {
			s, c := math.Sincos(3 * z[0])
			u, v := math.Sincos(3 * z[1])
			return []float64{math.Mod(3*z[0], 2*math.Pi), 0.5 + c, 0.25 + s, 0.5 + c + 2*v, 0.25 + s + 2*u}
		}), ""},
		{"loop of angles", rows(1, 300, 1, func(z []float64) []float64 { // 2e^ia + 3e^ib = c with c ≥ 0 along x
			a := 2 * math.Tanh(z[0])
			b := -math.Asin(2 * math.Sin(a) / 3)
			return []float64{a, b, 2*math.Cos(a) + 3*math.Cos(b)}
		}), ""},
		{"wind, rounded", decimals(rows(1, 600, 2, func(z []float64) []float64 {
			a, v := math.Round(math.Mod(900+100*z[0], 360)), 5+2*math.Tanh(z[1])
			return []float64{a, v, -v * math.Sin(a*math.Pi/180), -v * math.Cos(a*math.Pi/180)}
		}), 10), "wd ws u v"},
		{"pendulum", rows(1, 300, 2, func(z []float64) []float64 {
			a := 2 * math.Tanh(z[0])
			return []float64{a, z[1], 0.5*z[1]*z[1] + 9.81*(1-math.Cos(a))}
		}), ""},
		{"grid, of eight decimals", decimals(rows(1, 600, 2, func(z []float64) []float64 {
			return grid(z, true)
		}), 1e8), buses},
		{"grid", rows(1, 300, 2, func(z []float64) []float64 { return grid(z, false) }), buses},
		{"grid, by angles", rows(1, 300, 2, func(z []float64) []float64 { return grid(z, true) }),
			buses},
		{"named numbers", rows(1, 300, 10, func(z []float64) []float64 { return z }), buses},
	} {
		if c.names != "" {
			c.t.Names = strings.Fields(c.names)
		}
		testkit.Keep(t, "%s:", c.name)
		look(t, c.t)
	}
}

// A relation between columns of very different units is the same relation.
func TestUnitsOfColumns(t *testing.T) {
	units := []float64{1e-6, 1e4, 1}
	for _, sd := range []float64{0, 1e-3} {
		a := noisy(rows(1, 300, 2, plane), sd)
		r, s := look(t, a), look(t, mapped(a, func(i int, v float64) float64 { return v * units[i%3] }))
		if len(r.Relations) != 1 || len(s.Relations) != 1 {
			t.Fatalf("noise %g: %s and %s; expected one each", sd, written(r.Relations), written(s.Relations))
		}
		p, q := r.Relations[0], s.Relations[0]
		if p.Exact != q.Exact || p.Exact != (sd == 0) || sd > 0 && math.Abs(p.RMS/q.RMS-1) > 0.02 {
			t.Errorf("noise %g: %s with residual %.4g, and %s with %.4g", sd, p.Expr, p.RMS, q.Expr, q.RMS)
		}
	}
}

// The residual of a sphere with noise is that of a formula written down here, and it decides
// what is said: at 10⁻⁸ between round-off and not, at 0.02 between nearly kept and nothing.
func TestThresholds(t *testing.T) {
	const n = 400
	for _, c := range []struct {
		sd          float64
		told, exact bool
	}{
		{1e-14, true, true}, {1.5e-9, true, true}, {5e-8, true, false}, {1e-6, true, false}, {1e-3, true, false},
		{0.0085, true, false}, {0.013, false, false}, {0.1, false, false},
	} {
		table := noisy(rows(3, n, 4, unit), c.sd)
		r := look(t, table)
		if told := len(r.Relations) > 0; told != c.told {
			t.Errorf("noise %g: told %v; expected %v", c.sd, told, c.told)
			continue
		}
		if !c.told {
			continue
		}
		q := r.Relations[0]
		if len(r.Relations) != 1 || q.Expr != "norm(x) = 1" || q.Exact != c.exact {
			t.Errorf("noise %g: %s, exact %v; expected norm(x) = 1, %v", c.sd, written(r.Relations), q.Exact, c.exact)
		}
		var worst, square float64
		for i := range n {
			x := table.X[4*i : 4*i+4]
			below := 0.0
			for j, v := range x {
				below += math.Pow(v/dense.Norm(x)*sdOf(table, j), 2)
			}
			res := math.Abs(dense.Norm(x)-1) / math.Sqrt(below)
			worst, square = max(worst, res), square+res*res/n
		}
		if c.sd > 1e-13 && (math.Abs(q.Max/worst-1) > 1e-4 || math.Abs(q.RMS/math.Sqrt(square)-1) > 1e-4) {
			t.Errorf("noise %g: residual max %g, rms %g; expected %g, %g", c.sd, q.Max, q.RMS, worst, math.Sqrt(square))
		}
	}
}

func sdOf(t Table, j int) float64 {
	var mean, square float64
	for i := range t.N {
		mean += t.X[i*t.D+j] / float64(t.N)
	}
	for i := range t.N {
		square += math.Pow(t.X[i*t.D+j]-mean, 2) / float64(t.N)
	}
	return math.Sqrt(square)
}

// What rounding the numbers of a file does to a relation is round-off, if they have digits enough to say so.
func TestRounding(t *testing.T) {
	sphere := rows(1, 300, 4, unit)
	decimals := func(k float64) Table {
		return mapped(sphere, func(_ int, v float64) float64 { return math.Round(v*k) / k })
	}
	half := func(t Table) Table { // 11 significant bits
		return mapped(t, func(_ int, v float64) float64 {
			fraction, exponent := math.Frexp(v)
			return math.Ldexp(math.Round(fraction*0x1p11), exponent-11)
		})
	}
	for _, c := range []struct {
		name string
		t    Table
	}{
		{"single", mapped(sphere, func(_ int, v float64) float64 { return float64(float32(v)) })},
		{"six decimals", decimals(1e6)},
		{"two decimals", decimals(1e2)},
		{"half precision", half(sphere)},
		{"half precision, with noise", half(noisy(sphere, 2e-3))},
		{"three digits", mapped(sphere, func(_ int, v float64) float64 { return rounded(v, 3) })},
		{"single, with noise", noisy(mapped(sphere, func(_ int, v float64) float64 { return float64(float32(v)) }),
			1e-6)},
		{"noise in six decimals", mapped(noisy(sphere, 1e-5), func(_ int, v float64) float64 {
			return math.Round(v*1e6) / 1e6
		})},
		{"noise beyond two decimals", mapped(noisy(sphere, 0.01), func(_ int, v float64) float64 {
			return math.Round(v*1e2) / 1e2
		})},
	} {
		testkit.Keep(t, "%s:", c.name)
		look(t, c.t)
	}
}

// Turned data keeps as many relations, to round-off.
func TestTurned(t *testing.T) {
	for _, c := range []struct {
		name string
		t    Table
	}{
		{"sphere", rows(1, 300, 5, unit)},
		{"circles", rows(1, 600, 2, circles)},
		{"plane", rows(1, 300, 2, plane)},
		{"circle on a plane", rows(1, 600, 1, func(z []float64) []float64 {
			return []float64{math.Cos(2 * z[0]), math.Sin(2 * z[0]), 0.5}
		})},
		{"two planes", rows(1, 300, 3, func(z []float64) []float64 {
			return []float64{z[0], z[1], z[2], z[0] + z[1], z[1] - z[2]}
		})},
		{"ellipse", rows(1, 600, 1, func(z []float64) []float64 {
			return []float64{math.Cos(3 * z[0]), 0.3 * math.Sin(3*z[0])}
		})},
	} {
		testkit.Keep(t, "%s:", c.name)
		for _, q := range look(t, reflected(c.t)).Relations {
			if q.Max > 1e-12 {
				t.Errorf("%s: %s has residual %g", c.name, q.Expr, q.Max)
			}
		}
	}
}

// Relations that follow from others are counted, not listed. The listed ones have independent gradients; their number
// and the dimension of the data sum to the number of columns.
func TestIndependent(t *testing.T) {
	rigid := []float64{0, 0, 0, 1.5, 0, 0, 0.3, 1.4, 0, 0.2, -0.4, 1.3, 1.1, 1.2, -0.7}
	for _, c := range []struct {
		name string
		t    Table
	}{
		{"rotation, of which 20 quadrics are known", rows(1, 400, 6, rotation)},
		{"rigid body of five points, with ten distances", rows(1, 400, 9, func(z []float64) (x []float64) {
			r := rotation(z)
			for a := range 5 {
				for k := range 3 {
					v := z[6+k]
					for m := range 3 {
						v += r[3*k+m] * rigid[3*a+m]
					}
					x = append(x, v)
				}
			}
			return x
		})},
		{"a column twice and its double", rows(1, 400, 3, func(z []float64) []float64 {
			return []float64{z[0], z[1], z[0], 2 * z[0], z[2]}
		})},
		{"sums of sums", rows(1, 400, 4, func(z []float64) []float64 {
			a, b := z[0]+z[1], z[2]+z[3]
			return []float64{z[0], z[1], z[2], z[3], a, b, a + b}
		})},
		{"circles whose squares add up", rows(1, 400, 2, circles)},
		{"the same in single precision", mapped(rows(1, 400, 2, circles), func(_ int, v float64) float64 {
			return float64(float32(v))
		})},
		{"rotation in single precision", mapped(rows(1, 400, 6, rotation), func(_ int, v float64) float64 {
			return float64(float32(v))
		})},
	} {
		testkit.Keep(t, "%s:", c.name)
		look(t, c.t)
	}
	look(t, rows(1, 400, 6, rotation))
	flipped := rows(1, 400, 6, rotation)
	for k := range 3 {
		flipped.X[k] = -flipped.X[k]
	}
	look(t, flipped)
}

// The report has each nearly kept relation once, in its simplest form, without its powers and its products with
// coordinates.
func TestNearlyKept(t *testing.T) {
	for _, c := range []struct {
		name string
		t    Table
	}{
		{"plane", noisy(rows(1, 300, 2, plane), 1e-2)},
		{"circles", noisy(rows(1, 300, 3, circles), 5e-3)},
		{"two quadrics", noisy(rows(1, 1000, 6, func(z []float64) []float64 {
			a, b := unit(z[:3]), z[3:6]
			d := a[0]*b[0] + a[1]*b[1] + a[2]*b[2] - 0.5
			return append(a, b[0]-d*a[0], b[1]-d*a[1], b[2]-d*a[2])
		}), 1e-3)},
		{"chain of points", noisy(rows(1, 500, 9, func(z []float64) []float64 {
			u, v := unit(z[3:6]), unit(z[6:9])
			return []float64{z[0], z[1], z[2], z[0] + u[0], z[1] + u[1], z[2] + u[2],
				z[0] + u[0] + v[0], z[1] + u[1] + v[1], z[2] + u[2] + v[2]}
		}), 2e-3)},
		// (‖x‖² − 1)² is within Near, and is no constraint: it has no gradient where it is 0.
		{"thick sphere", rows(1, 2000, 4, func(z []float64) []float64 {
			return times(1+0.0095*z[3], unit([]float64{z[0] + 1, z[1] + 1, z[2]}))
		})},
		{"thicker circle", rows(1, 2000, 2, func(z []float64) []float64 {
			return times(1+0.018*z[1], []float64{math.Cos(2 * z[0]), math.Sin(2 * z[0])})
		})},
	} {
		testkit.Keep(t, "%s:", c.name)
		testkit.Equal(t, len(look(t, c.t).Exact()), 0, "%s: relations that are exact", c.name)
	}
}

// Independent Gaussian numbers have no relation: none in 240 tables, and the chance of a false one
// is below 10⁻⁹ each (see spare). Were it 2 % a table, this would see it 99 times in a hundred.
func TestFalseAlarms(t *testing.T) {
	seed := uint64(100)
	for _, c := range []struct{ n, d, tables int }{
		{40, 2, 60}, {45, 3, 60}, {60, 5, 40}, {64, 12, 40}, {120, 9, 20}, {200, 20, 12}, {50, 50, 6}, {600, 6, 2},
	} {
		for range c.tables {
			seed++
			r := testkit.Must(Look(rows(seed, c.n, c.d, func(z []float64) []float64 { return z })))
			if len(r.Relations) > 0 {
				t.Errorf("%d rows of %d, seed %d: %s", c.n, c.d, seed, written(r.Relations))
			}
		}
	}
	// Heavy tails, skewed and clustered columns, and a walk have none either.
	for _, table := range []Table{
		rows(1, 400, 4, func(z []float64) []float64 {
			return []float64{z[0] * z[0] * z[0], math.Exp(z[1]), z[2], z[3]}
		}),
		rows(2, 400, 3, func(z []float64) []float64 {
			return []float64{z[0] + math.Copysign(10, z[2]), z[1]}
		}),
		rows(3, 400, 3, func(z []float64) []float64 {
			return []float64{math.Round(3 * z[0]), z[1], z[2]}
		}),
		rows(4, 400, 2, func(z []float64) []float64 { return []float64{1e12 * z[0], z[1] / 1e6} }),
	} {
		if r := look(t, table); len(r.Relations) > 0 {
			t.Errorf("%d columns: %s", table.D, written(r.Relations))
		}
	}
}

// A short piece of a smooth curve is near many polynomials, to many digits: none is said to hold.
func TestShortCurve(t *testing.T) {
	curve := func(z []float64) []float64 {
		s := 0.3 * math.Tanh(z[0])
		return []float64{math.Exp(s), math.Sin(2 * s), math.Log(2 + s), math.Sqrt(1 + s)}
	}
	r := look(t, rows(1, 400, 1, curve))
	// x[3]² = 1 + s and exp(x[2]) = 2 + s, but no polynomial joins two columns.
	if exact := r.Exact(); len(exact) > 0 {
		t.Errorf("%s", written(exact))
	}
	if len(r.Relations) == 0 || r.Relations[0].RMS > 1e-6 {
		t.Errorf("nearly kept: %+v", r.Relations)
	}
	r = look(t, mapped(rows(1, 400, 1, curve), func(_ int, v float64) float64 { return math.Round(v*1e8) / 1e8 }))
	if exact := r.Exact(); len(exact) > 0 {
		t.Errorf("of eight decimals: %s", written(exact))
	}
}

// Too few rows show no relation, and a remark says this. The report still has columns that do not vary.
func TestFewRows(t *testing.T) {
	for _, n := range []int{1, 2, 39} {
		look(t, rows(1, n, 4, unit))
	}
	look(t, rows(1, 2, 1, func(z []float64) []float64 { return []float64{z[0], 5} }))
	// Fewer rows than columns: linear relations of neighbours are found, and others not claimed.
	look(t, rows(1, 80, 70, func(z []float64) []float64 {
		x := slices.Clone(z)
		x[5] = x[3] + x[4]
		return x
	}))
	few := rows(1, 30, 4, unit) // equal rows count once
	few.X = slices.Repeat(few.X, 20)
	few.N *= 20
	look(t, few)
}

// Numbers with powers that overflow or vanish give a remark instead of relations.
func TestSizes(t *testing.T) {
	for _, size := range []float64{1e-19, 1e19, 1e-21, 1e22} {
		look(t, mapped(rows(1, 300, 4, unit), func(_ int, v float64) float64 { return size * v }))
	}
}

// A few bad rows do not hide a relation, are named, and keep it from being called exact.
func TestBadRows(t *testing.T) {
	for _, row := range []int{16, 17} { // one that is fitted to, one that is held out
		sphere := rows(1, 300, 4, unit)
		for k := range 4 {
			sphere.X[4*row+k] *= 1.3
		}
		look(t, sphere)
		flat := rows(1, 300, 2, plane)
		flat.X[3*row] += 0.3
		look(t, flat)
	}
	many := rows(1, 6000, 2, func(z []float64) []float64 { return z })
	for i := range 30 { // more than are listed
		many.X[2*40*i] = 40 * math.Pow(1.3, float64(i))
	}
	look(t, many)
	// Coefficients that no guess finds: the bad row, which is fitted to, must be left out.
	crooked := rows(1, 300, 2, func(z []float64) []float64 {
		return []float64{z[0], z[1], math.Sqrt2*z[0] - math.E*z[1] + math.Pi}
	})
	crooked.X[3*16] += 0.3
	look(t, crooked)
	wild := noisy(rows(1, 300, 4, unit), 1e-3)
	for _, row := range []int{16, 17} {
		for k := range 4 {
			wild.X[4*row+k] *= 1.6
		}
	}
	look(t, wild)
	spiked := rows(1, 300, 3, func(z []float64) []float64 { return z })
	spiked.X[3*40+1] = -9999
	spiked.X[3*50+2] = 12 // six interquartile ranges are 8.1 standard deviations, from 0.7
	spiked.X[3*51+2] = 7
	look(t, spiked)
}

func TestColumns(t *testing.T) {
	const n = 100
	z := normals(1, n)
	of := func(f func(i int) float64) Column {
		x := make([]float64, n)
		for i := range x {
			x[i] = f(i)
		}
		return Columns(x, n, 1)[0]
	}
	c := of(func(i int) float64 { return math.Round(z[i]*1e4) / 1e4 })
	if c.Decimals != 4 || c.Last != 0.5e-4 || c.Whole {
		t.Errorf("four decimals: %+v", c)
	}
	if c := of(func(i int) float64 { return float64(float32(z[i])) }); !c.Single || c.Decimals != -1 ||
		c.Last != 0x1p-24*max(c.Max, -c.Min) {
		t.Errorf("single: %+v", c)
	}
	if c := of(func(i int) float64 { return z[i] }); c.Single || c.Last > 1e-15 {
		t.Errorf("double: %+v", c)
	}
	if c := of(func(i int) float64 { return float64(i % 4) }); !c.Label(n) || c.Number(n) || c.Distinct != 4 {
		t.Errorf("labels: %+v", c)
	}
	if c := of(func(i int) float64 { return float64(i % 31) }); c.Label(n) {
		t.Errorf("31 values of 100 rows are called labels: %+v", c)
	}
	if c := of(func(i int) float64 { return float64(1000 + i + i/50) }); c.Label(n) || !c.Number(n) {
		t.Errorf("numbers of rows: %+v", c)
	}
	if c := of(func(i int) float64 { return float64((i * 37) % n) }); c.Number(n) {
		t.Errorf("whole numbers in another order: %+v", c)
	}
	if c := of(func(int) float64 { return -2.5 }); !c.Constant() || c.Label(n) {
		t.Errorf("constant: %+v", c)
	}
	if c := of(func(i int) float64 { return 0.01*z[i] + 1e6 }); c.Constant() {
		t.Errorf("a little about a million: %+v", c)
	}
}

func TestDuplicates(t *testing.T) {
	x := []float64{1, 2, 3, 4, 1, 2, 0, 5, math.Copysign(0, -1), 5, 1, 2}
	r := Duplicates(x, 6, 2)
	if r.Count != 3 || !slices.Equal(r.First, [][2]int{{2, 0}, {4, 3}, {5, 0}}) {
		t.Errorf("%+v", r)
	}
}

// Families stand for the relations that they are made of: at random points they have the same values, and names differ.
func TestFamilies(t *testing.T) {
	var all []Relation
	for l := range 3 {
		for j := range 4 {
			all = append(all, *relation(Circle, 1, "norm([x[@0], x[@1]]) = 1", "circle", 10*l+j, 10*l+5+j))
		}
	}
	for a := range 4 {
		for b := a + 1; b < 4; b++ {
			all = append(all, *relation(Distance, 2, "distance(x[@0:@0+2], x[@1:@1+2]) = 2", "distance", 3+2*a, 3+2*b))
		}
	}
	all = append(all, *relation(Circle, 2, "norm(x[@0:@0+2]) = 2", "circle", 20), *relation(Constant, 5, "x[@0] = 5",
		"constant", 3), *relation(Constant, 5, "x[@0] = 5", "constant", 1), *relation(Constant, 5, "x[@0] = 5",
		"constant", 8))
	for _, order := range [][]int{nil, {5, 3, 17, 0}} {
		mixed := slices.Clone(all)
		for k, i := range order {
			mixed[k], mixed[i] = mixed[i], mixed[k]
		}
		families := Families(mixed)
		if len(families) != 6 {
			t.Errorf("%d families: %+v", len(families), families)
		}
		var whole formula.Spec
		whole.Dim = 30
		var members []int
		for _, f := range families {
			whole.Equality = append(whole.Equality, f.Component)
			members = append(members, f.Members...)
		}
		single := formula.Spec{Dim: 30}
		for k, i := range members {
			single.Equality = append(single.Equality, formula.Component{Name: fmt.Sprint("n", k), Expr: mixed[i].Expr})
		}
		a := testkit.Must(formula.New(whole))
		b := testkit.Must(formula.New(single))
		x := normals(5, 30)
		u, v := make([]float64, len(members)), make([]float64, len(members))
		a.Values(u, x, 1)
		b.Values(v, x, 1)
		if !slices.Equal(u, v) || len(all) != len(members) {
			t.Errorf("families have %v; expected %v", u, v)
		}
	}
}

// A formula of the user is measured; what follows from it is not told again; one that cannot be is an error.
func TestGiven(t *testing.T) {
	sphere := rows(1, 300, 4, unit)
	r := look(t, sphere, "sum(x[0:4]) = 2", "dot(x, x) = 1", "x[0] <= 0.5", "x[1] >= -3")
	if len(r.Given) != 2 || r.Given[0].Exact || r.Given[0].RMS < 0.5 || !r.Given[1].Exact {
		t.Errorf("given: %+v", r.Given)
	}
	if len(r.Relations) != 1 || r.Relations[0].Expr != "dot(x, x) = 1" {
		t.Errorf("with the sphere given: %s", written(r.Relations))
	}
	outside := 0
	for i := range 300 {
		if sphere.X[4*i] > 0.5 {
			outside++
		}
	}
	if len(r.Inequalities) != 2 || r.Inequalities[0].Outside != outside || r.Inequalities[1].Outside != 0 ||
		r.Inequalities[1].Least < 2 {
		t.Errorf("inequalities: %+v, %d rows outside", r.Inequalities, outside)
	}
	for _, text := range []string{"x[4] = 0", "x[0] = ", "y = 1", "sqrt(x[0]) = 1", "x = 1"} {
		_, err := Look(sphere, text)
		var e *GivenError
		if !errors.As(err, &e) || e.Formula != text || (text == "sqrt(x[0]) = 1") != (e.Row >= 0) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, table := range []Table{
		{X: []float64{1, 2, 3}, N: 2, D: 2}, {N: 0, D: 2}, {X: []float64{1, math.NaN()}, N: 1, D: 2},
		{X: make([]float64, MaxDim+1), N: 1, D: MaxDim + 1}, {X: make([]float64, 6), N: 1, D: 6, Shape: []int{2, 2}},
		{X: make([]float64, 6), N: 1, D: 6, Molecule: molecule.Anonymous(3)},
	} {
		if _, err := Look(table); !errors.As(err, new(*Error)) {
			t.Errorf("%d rows of %d: %v", table.N, table.D, err)
		}
	}
}

// The dimension that rows fill, within what 600 points can tell.
func TestFills(t *testing.T) {
	for _, c := range []struct {
		name string
		t    Table
		want float64
	}{
		{"curve", rows(1, 600, 1, circles), 1},
		{"sphere", rows(1, 600, 3, unit), 2},
		{"plane", rows(1, 600, 2, plane), 2},
		{"box", rows(1, 600, 3, func(z []float64) []float64 { return z }), 3},
	} {
		// The estimate's standard error is p/√n: 4 % of it here; a tenth is the edge's, too.
		if r := look(t, c.t); math.Abs(r.Fills/c.want-1) > 0.16 {
			t.Errorf("%s fills %.2f dimensions; expected %g", c.name, r.Fills, c.want)
		}
	}
	for n := 99; n <= 100; n++ {
		if r := look(t, rows(1, n, 3, unit)); math.IsNaN(r.Fills) != (n < 100) {
			t.Errorf("%d rows fill %g dimensions", n, r.Fills)
		}
	}
}

// The report has ends that are walls, but not those of a Gaussian.
func TestBounds(t *testing.T) {
	look(t, rows(1, 2000, 3, func(z []float64) []float64 {
		return []float64{math.Abs(math.Remainder(z[0]*5, 2)), z[1], 3 * math.Erf(z[2]/math.Sqrt2)}
	}))
}

// A dihedral is measured on the circle.
func TestMeasure(t *testing.T) {
	for _, c := range []struct {
		at, width float64 // radians
	}{{math.Pi, 0}, {math.Pi - 0.1, 0.3}, {-70 * math.Pi / 180, 1e-3}} {
		table := rows(1, 2000, 1, func(z []float64) []float64 {
			sin, cos := math.Sincos(c.at + c.width*math.Erf(z[0]/math.Sqrt2))
			return []float64{0.5, 1.3, 0, 0, 0, 0, 1.5, 0, 0, 2, 1.3 * cos, 1.3 * sin}
		})
		q := Measure(table.X, table.N, table.D, []int{0, 1, 2, 3})
		most := c.width*180/math.Pi + 1e-9
		if δ := math.Remainder(q.Mean-c.at*180/math.Pi, 360); math.Abs(δ) > 0.1*most+1e-9 || q.Most-q.Mean > 1.1*most ||
			q.Mean-q.Least > 1.1*most {
			t.Errorf("about %g: %+v", c.at, q)
		}
	}
}

// The same table gives the same report.
func TestDeterministic(t *testing.T) {
	table := noisy(rows(1, 500, 6, rotation), 1e-4)
	a, b := look(t, table), look(t, table)
	if fmt.Sprintf("%+v", written(a.Relations)) != fmt.Sprintf("%+v", written(b.Relations)) || a.Fills != b.Fills {
		t.Error("two reports of one table differ")
	}
}

// Of more columns than are looked at together the pairs, neighbours and the sum of all are found, and
// what was not looked for is said.
func TestWide(t *testing.T) {
	const n, d = 60, 720
	z := normals(12, n*d)
	for i := range n {
		x := z[i*d : (i+1)*d]
		for _, pair := range [][2]int{{3, 4}, {10, 700}} {
			r := math.Hypot(x[pair[0]], x[pair[1]])
			x[pair[0]], x[pair[1]] = x[pair[0]]/r, x[pair[1]]/r
		}
		sum := 0.0
		for _, v := range x[:d-1] {
			sum += v
		}
		x[d-1] = 7 - sum
	}
	r := testkit.Must(Look(Table{X: z, N: n, D: d}))
	var got []string
	for _, q := range r.Relations {
		if q.Exact {
			got = append(got, q.Expr)
		}
	}
	testkit.EqualSlices(t, got, []string{"norm(x[3:5]) = 1", "norm([x[10], x[700]]) = 1", "sum(x) = 7"})
	if !slices.ContainsFunc(r.Remarks, func(s string) bool { return strings.Contains(s, "at most 600") }) {
		t.Errorf("%q", r.Remarks)
	}
}

// A law that is narrow in many directions is near very many polynomials: they are not all measured, that
// is said, and what holds to round-off is found beside them.
func TestCrowded(t *testing.T) {
	const n, d = 200, 48
	z := normals(13, n*(d+2))
	x := make([]float64, 0, n*d)
	for i := range n {
		u := z[i*(d+2):]
		row := make([]float64, d)
		for j := range row { // about a curve, with noise of a hundredth
			row[j] = math.Sin(u[d]*float64(1+j%3)/3+float64(j)) + 0.01*u[j]
		}
		row[d-2], row[d-1] = math.Cos(u[d+1]), math.Sin(u[d+1])
		x = append(x, row...)
	}
	r := testkit.Must(Look(Table{X: x, N: n, D: d}))
	if len(r.Exact()) != 1 || r.Exact()[0].Expr != fmt.Sprintf("norm(x[%d:%d]) = 1", d-2, d) {
		t.Errorf("%+v", r.Exact())
	}
	if !slices.ContainsFunc(r.Remarks, func(s string) bool { return strings.Contains(s, "very many polynomials") }) {
		t.Errorf("%d relations, %q", len(r.Relations), r.Remarks)
	}
}

// There is no wall where the set found ends itself, and there is one where only the data ends: on a sphere that is cut
// at 0.9, far from and near to the pole, on chains of points about a ball, and in angles between bonds. A law without
// walls gives none.
func TestWalls(t *testing.T) {
	ends := func(r *Report) (out []string) {
		for _, b := range r.Bounds {
			out = append(out, fmt.Sprintf("%s %v %g", b.Expr, b.Upper, b.Value))
		}
		slices.Sort(out)
		return out
	}
	cut := func(at float64) Table {
		table, z := Table{D: 3}, normals(21, 3*8000)
		for i := range 8000 {
			if u := unit(z[3*i : 3*i+3]); u[2] <= at {
				table.X, table.N = append(table.X, u...), table.N+1
			}
		}
		return table
	}
	for _, c := range []struct {
		at   float64
		want []string
	}{{2, nil}, {0.9, []string{"x[2] true 0.9"}}, {0.95, []string{"x[2] true 0.95"}}} {
		testkit.EqualSlices(t, ends(look(t, cut(c.at))), c.want, "cut at %g", c.at)
	}
	for _, b := range []int{2, 3} { // two points in the plane or in space, each within a ball
		table := rows(5, 2000, 2*b+2, func(z []float64) (x []float64) {
			for i := range 2 {
				u := math.Pow(0.5+0.5*math.Erf(z[2*b+i]/math.Sqrt2), 1/float64(b))
				x = append(x, times(u, unit(z[i*b:(i+1)*b]))...)
			}
			return x
		})
		table.Shape = []int{2, b}
		got := ends(testkit.Must(Look(table)))
		if want := fmt.Sprintf("norm(x[%d:%d]) true 1", b, 2*b); !slices.Contains(got, want) {
			t.Errorf("%q; expected %s", got, want)
		}
	}
	// Of few rows of the whole sphere the last may be far from a pole, by chance, and stand in the data many
	// times. Of 360 ends each 2 and 1 are taken for walls (a fifth of the 31 that once were is the limit).
	for _, c := range []struct{ rows, times int }{{150, 20}, {300, 1}} {
		walls := 0
		for seed := range 60 {
			table, few := Table{D: 3, N: c.rows * c.times}, normals(uint64(40+seed), 3*c.rows)
			for i := range table.N {
				k := 3 * (i % c.rows)
				table.X = append(table.X, unit(slices.Clone(few[k:k+3]))...)
			}
			walls += len(ends(look(t, table)))
		}
		if walls > 6 {
			t.Errorf("of 60 files of %d rows, %d times each, %d ends are taken for walls", c.rows, c.times, walls)
		}
	}
	// A whole ellipsoid has no wall where its norm is least, though that rises steeply from there.
	for seed := range 20 {
		z := normals(uint64(100+seed), 3*900)
		table := rows(0, 900, 0, func([]float64) []float64 {
			u := unit(z[:3])
			z = z[3:]
			return []float64{2 * u[0], u[1], u[2] / 2}
		})
		for _, end := range ends(look(t, table)) {
			if strings.HasPrefix(end, "norm") {
				t.Errorf("an ellipsoid's end is taken for a wall: %s", end)
			}
		}
	}
	// Three points with two bonds of 1, the angle between them uniform from 60 to 100 degrees, turned anyhow.
	chain := rows(22, 4000, 7, func(z []float64) []float64 {
		u := unit(z[:3])
		v := unit(cross(u, unit(z[3:6])))
		sin, cos := math.Sincos((80 + 20*math.Erf(z[6]/math.Sqrt2)) * math.Pi / 180)
		x := append(make([]float64, 0, 9), 0, 0, 0)
		w := []float64{-cos*u[0] + sin*v[0], -cos*u[1] + sin*v[1], -cos*u[2] + sin*v[2]}
		return append(append(x, u...), u[0]+w[0], u[1]+w[1], u[2]+w[2])
	})
	for i := range chain.N { // and moved about
		for j := range 9 {
			chain.X[9*i+j] += 3 * math.Sin(float64(i*i%977)+float64(j%3))
		}
	}
	got := ends(look(t, chain))
	for _, want := range []string{"angle(x[0:3], x[3:6], x[6:9]) false 60", "angle(x[0:3], x[3:6], x[6:9]) true 100"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q has no %q", got, want)
		}
	}
	if got := ends(look(t, rows(23, 4000, 4, func(z []float64) []float64 { return z }))); got != nil {
		t.Errorf("normal numbers: %q", got)
	}
}

func cross(u, v []float64) []float64 {
	return []float64{u[1]*v[2] - u[2]*v[1], u[2]*v[0] - u[0]*v[2], u[0]*v[1] - u[1]*v[0]}
}

// A tail that thins out is no outlier, however long; a number beyond a gap is.
func TestTails(t *testing.T) {
	table := rows(24, 4000, 2, func(z []float64) []float64 {
		return []float64{z[0] * math.Exp(0.5*math.Abs(z[0])), z[1]}
	})
	most := 0.0
	for i := range table.N {
		most = max(most, math.Abs(table.X[2*i]))
	}
	c := Columns(table.X, table.N, 2)[0]
	if most < c.High+fence*(c.High-c.Low) {
		t.Fatal("the tail ends within the fences: the test says nothing")
	}
	beyond := 0
	for i := range table.N {
		if math.Abs(table.X[2*i]) > c.High+fence*(c.High-c.Low) {
			beyond++
		}
	}
	if got := look(t, table).Outliers; beyond < 8 || len(got) > 2 { // the last may stand apart
		t.Errorf("of %d numbers beyond the fences %v are outliers", beyond, got)
	}
	table.X[2*77+1], table.X[2*78] = 30, -400
	r := look(t, table)
	for _, want := range []Outlier{{77, 1, 30}, {78, 0, -400}} {
		if !slices.Contains(r.Outliers, want) {
			t.Errorf("%v has no %v", r.Outliers, want)
		}
	}
}
