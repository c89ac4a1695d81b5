package problems

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A view has the rows of its problem moved, or in another order: its own set knows them to round-off, its own numbers
// of them are those of the problem's rows, and their distances are c times as large. Its files are accepted.
func TestViews(t *testing.T) {
	const n = 120
	pool := testkit.Pool(t, 2)
	count := 0
	for _, p := range All() {
		if p.chains != nil || p.Dim > 20 || p.Rows > 4000 {
			continue // chains take long; matrices of 300 rows and files of 200 000 say nothing more
		}
		base := draw(t, &p, 2, 3, 0, n)
		was := testkit.Must(p.Observables())
		for _, v := range Views() {
			q, err := p.In(v)
			if p.formulas() == "" && (v.Turned || v.Unit != 0) {
				var none *ViewError
				if !errors.As(err, &none) || !strings.Contains(err.Error(), "torus") {
					t.Errorf("%s, %s: %v", p.Name, v.Name, err)
				}
				continue
			}
			testkit.OK(t, err)
			count++
			_, proc, err := q.Load()
			if err != nil {
				t.Fatalf("%s: %v", q.Name, err)
			}
			x, c := draw(t, &q, 1, 3, 0, n), v.unit()
			values, m := constraint.Values(proc.Set, x), len(constraint.Components(proc.Set))
			for i := range n { // constraints are numbers of y, or of x in the unit of the file
				w, at := constraint.Worst(values[i*m:(i+1)*m], len(proc.Set.Equalities()))
				if !(w <= 1e-11*max(1, size(x)/c)) {
					t.Fatalf("%s: row %d violates %q by %g", q.Name, i, constraint.Components(proc.Set)[at], w)
				}
			}
			want := slices.Clone(base)
			if v.Shuffled {
				from, to := sorted(base, p.Dim), sorted(x, p.Dim)
				if !slices.EqualFunc(from, to, slices.Equal) || slices.Equal(base, x) {
					t.Errorf("%s: rows are not those of the problem in another order", q.Name)
				}
				continue
			}
			testkit.Equal(t, !slices.Equal(want, x), (v.Turned || v.Unit != 0), "%s: rows are moved", q.Name)
			for i := range n - 1 {
				a, b := i*p.Dim, (i+1)*p.Dim
				is, should := far(x[a:b], x[b:b+p.Dim]), c*far(base[a:b], base[b:b+p.Dim])
				if math.Abs(is-should) > 1e-11*c*max(1, size(base)) {
					t.Fatalf("%s: rows %d and %d are %v apart, want %v", q.Name, i, i+1, is, should)
				}
			}
			is, err := q.Observables()
			if err != nil {
				t.Fatalf("%s: %v", q.Name, err)
			}
			a, b := was.Distance(p.Dim, pool).Marks(base), is.Distance(p.Dim, pool).Marks(x)
			for i := range a {
				o := was.List[i%len(was.List)]
				off := math.Abs(a[i] - b[i])
				if o.Circular {
					off = min(off, math.Abs(2*math.Pi-off))
				}
				if !(off <= 1e-8*max(1, math.Abs(a[i]))) {
					t.Fatalf("%s: %q of row %d is %v, of the problem's %v", q.Name, o.Name, i/len(was.List), b[i], a[i])
				}
			}
		}
	}
	if count < 5*12 {
		t.Errorf("%d views", count)
	}
}

func far(x, y []float64) float64 {
	sum := 0.0
	for j := range x {
		sum += (x[j] - y[j]) * (x[j] - y[j])
	}
	return math.Sqrt(sum)
}

func size(x []float64) (most float64) {
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	return most
}

func sorted(x []float64, d int) [][]float64 {
	return slices.SortedFunc(slices.Chunk(x, d), slices.Compare[[]float64])
}

// Views come by problem, in the order they were asked for; none is the problem itself, and one that
// is not there is an error that names those that are.
func TestSeen(t *testing.T) {
	some := testkit.Must(Named([]string{"box", "torus"}))
	seen, err := Seen(some, []string{"turned", "itself"})
	if err != nil || len(seen) != 4 || seen[0].Name != "torus-turned" || seen[1].Name != "torus" ||
		seen[2].Name != "box-turned" || !strings.Contains(string(seen[2].Source()), "*x)/1") {
		t.Error(seen, err)
	}
	if same, err := Seen(some, nil); err != nil || len(same) != 2 {
		t.Error(same, err)
	}
	var none *ViewError
	if _, err := Seen(some, []string{"inverted"}); !errors.As(err, &none) ||
		!strings.Contains(err.Error(), "itself, larger, smaller, turned, shuffled") {
		t.Error(err)
	}
}
