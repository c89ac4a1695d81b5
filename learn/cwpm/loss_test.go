package cwpm

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/reference"
)

// reads is the reader of the paper's networks.
func reads[T kernel.Float](p *langevin.Process) score.Reader[T] {
	return score.NewReader[T](score.Reading{}, p.Set.Dim(), p.Method.Underdamped())
}

// gained is a reader with a gain.
func gained(p *langevin.Process, gain func(t float64) float64) score.Reader[float64] {
	return score.NewReader[float64](score.Reading{Gain: gain}, p.Set.Dim(), p.Method.Underdamped())
}

func allTerms(paths *langevin.Paths) []Term {
	var terms []Term
	for i := range paths.Count {
		for k := range paths.Steps {
			terms = append(terms, Term{Item: i, K: k, Weight: 1 / float64(paths.Count)})
		}
	}
	return terms
}

// Loss and parameter gradients of {sphere,so10,sdf_bunny,md}_{over,under}.npz: on the sphere, on SO(10), on the bunny's
// level set, and on alanine with an inequality that is active at some points.
func TestGoldenLoss(t *testing.T) {
	sphere := langevin.Process{
		Set: zoo.Sphere{D: 3}, Friction: 5, Schedule: langevin.Schedule{N: 3, T: 0.12, SigmaMin: 0.5, SigmaMax: 1},
	}
	alanine := langevin.Process{
		Set: reference.Alanine, Friction: 10, Walls: langevin.PaperWalls,
		NewGeometry: reference.NewRidge(reference.Alanine, 1e-6, 0),
		Schedule:    langevin.Schedule{N: 3, T: 0.006, SigmaMin: 0.5, SigmaMax: 2}}
	group := testkit.Must(reference.NewGroup(10, zoo.OrthogonalOptions{}))
	so10 := langevin.Process{
		Set: group, Friction: 10,
		Schedule: langevin.Schedule{N: 3, T: 0.15, SigmaMin: 0.3, SigmaMax: 0.9, Geometric: true},
	}
	// Its set is read where it is used: the network is data of the paper.
	bunny := langevin.Process{Friction: 20, Schedule: langevin.Schedule{N: 3, T: 0.3, SigmaMin: 0.2, SigmaMax: 0.6}}
	for _, c := range []struct {
		file    string
		process langevin.Process
		method  langevin.Method
	}{
		{"sphere_over.npz", sphere, langevin.OLLA}, {"sphere_under.npz", sphere, langevin.ULLA},
		{"so10_over.npz", so10, langevin.OLLA}, {"so10_under.npz", so10, langevin.ULLA},
		{"sdf_bunny_over.npz", bunny, langevin.OLLA}, {"sdf_bunny_under.npz", bunny, langevin.ULLA},
		{"md_over.npz", alanine, langevin.OLLA}, {"md_under.npz", alanine, langevin.ULLA},
	} {
		t.Run(c.file, func(t *testing.T) {
			p := &c.process
			if p.Set == nil {
				network := testkit.Must(levelset.ReadNetwork(testkit.Shared(t, "data/mesh/bunny_sdf.npz")))
				p.Set = levelset.New(network)
			}
			p.Method, p.Landing = c.method, langevin.Landing{Explicit: true, Rate: 10}
			g := golden.Read(t, c.file)
			f := func(name string) []float64 { return g[name].AsFloat64() }
			d := p.Set.Dim()
			count := len(f("loss_path")) / (4 * d)
			paths := &langevin.Paths{Count: count, Steps: 3, Dim: d, X: make([]float64, count*4*d)}
			for k := range 4 { // the file has time first
				for i := range count {
					copy(paths.At(i, k), f("loss_path")[(k*count+i)*d:])
				}
			}
			net := testkit.Must(score.FromLayers[float64](g, "net_layer_"))
			model, terms := net.Model(score.Reading{}, kernel.Float32), allTerms(paths)
			l, ws := NewLoss(p, model, len(terms), Options{}), model.Pack(true).NewWorkspace(len(terms), true)
			in, err := l.Prepare(paths, terms, func(dst []float64, path int) { copy(dst, f("loss_vN")[path*d:]) })
			testkit.OK(t, err)
			ds, grad := make([]float64, len(terms)*d), make([]float64, len(net.Params))
			loss := l.Evaluate(ds, ws.Forward(in, len(terms)))
			if want := f("loss")[0]; math.Abs(loss-want) > 1e-9*(1+want) {
				t.Errorf("loss %.15g, want %.15g", loss, want)
			}
			// The reference differentiates through its Π, which is not idempotent on alanine
			// and SO(10): the gradient has a factor Π more. Where Π² = Π it says nothing.
			at, x := p.Geometry(len(terms)), make([]float64, 0, len(terms)*d)
			for _, term := range terms {
				x = append(x, paths.At(term.Item, term.K+1)...)
			}
			testkit.OK(t, at.At(x, len(terms)))
			at.Tangent(ds, ds)
			ws.Backward(grad, ds, len(terms), false)
			want := testkit.Must(score.FromLayers[float64](g, "lossgrad_layer_"))
			for i, v := range want.Params {
				if math.Abs(grad[i]-v) > 1e-9*(1+math.Abs(v)) {
					t.Fatalf("gradient %d is %.15g, want %.15g", i, grad[i], v)
				}
			}
		})
	}
}

func problem(set constraint.Set, m langevin.Method, c langevin.Convention) (*langevin.Process, *langevin.Paths) {
	p := &langevin.Process{
		Set: set, Method: m, Friction: 2, Convention: c,
		Landing: langevin.Landing{Explicit: true, Rate: 1}, Potential: langevin.Quadratic{},
		Schedule: langevin.Schedule{N: 4, T: 0.8, SigmaMin: 0.3, SigmaMax: 0.8},
	}
	d := set.Dim()
	paths := &langevin.Paths{Count: 3, Steps: 4, Dim: d, X: make([]float64, 3*5*d)}
	keyed.New(1, keyed.Probe, 0).Normals(paths.X, 0, 0)
	return p, paths
}

func noise(dst []float64, path int) { keyed.New(1, keyed.Probe, 1).Normals(dst, uint64(path), 0) }

// The gradient with respect to the score by central differences: the loss is
// quadratic in s, so they are exact up to round-off.
func TestGradient(t *testing.T) {
	for name, set := range map[string]constraint.Set{
		"torus": zoo.Torus{Major: 2, Minor: 0.6}, "R3": zoo.Euclidean{D: 3},
	} {
		for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
			for _, c := range []langevin.Convention{langevin.Paper, langevin.Reference} {
				p, paths := problem(set, m, c)
				terms := allTerms(paths)
				terms[2].Weight = 0.7
				l := NewLoss(p, reads[float64](p), len(terms), Options{})
				testkit.Must(l.Prepare(paths, terms, noise))
				n := 3 * len(terms)
				s, ds, scratch := make([]float64, n), make([]float64, n), make([]float64, n)
				for i := range s {
					s[i] = math.Sin(float64(i))
				}
				l.Evaluate(ds, s)
				for i := range s {
					at := s[i]
					s[i] = at + 0.1
					up := l.Evaluate(scratch, s)
					s[i] = at - 0.1
					down := l.Evaluate(scratch, s)
					s[i] = at
					if fd := (up - down) / 0.2; math.Abs(fd-ds[i]) > 1e-9*(1+up) {
						t.Fatalf("%s %v: gradient %v, differences %v", name, m, ds[i], fd)
					}
				}
			}
		}
	}
}

// With a gain m the loss of an output F is that of the score m(t_{k+1}) F without, and the derivative is m times it.
func TestGain(t *testing.T) {
	gain := func(t float64) float64 { return 1 + 3*t }
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		p, paths := problem(zoo.Torus{Major: 2, Minor: 0.6}, m, langevin.Paper)
		plain, scaled := NewLoss(p, reads[float64](p), 1, Options{}), NewLoss(p, gained(p, gain), 1, Options{})
		for k := range 4 {
			term := []Term{{Item: 1, K: k, Weight: 0.6}}
			for _, l := range []*Loss[float64]{plain, scaled} {
				testkit.Must(l.Prepare(paths, term, noise))
			}
			c, f, s := gain(p.Schedule.Time(k+1)), []float64{0.3, -0.2, 0.9}, make([]float64, 3)
			for j := range s {
				s[j] = c * f[j]
			}
			df, ds := make([]float64, 3), make([]float64, 3)
			got, want := scaled.Evaluate(df, f), plain.Evaluate(ds, s)
			testkit.Near(t, got, want, 1e-13*want, "%v, k = %d: loss", m, k)
			for j := range df {
				testkit.Near(t, df[j], c*ds[j], 1e-12*(1+math.Abs(df[j])),
					"%v, k = %d: derivative %v, want %v times %v", m, k, df, c, ds)
			}
		}
	}
}

// Adding a normal vector at x_{k+1} to x_k, or to the score, changes nothing.
func TestLossSeesOnlyTangents(t *testing.T) {
	set := zoo.Sphere{D: 3}
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		p, paths := problem(set, m, langevin.Paper)
		l := NewLoss(p, reads[float64](p), 1, Options{})
		for k := range 4 {
			term := []Term{{Item: 1, K: k, Weight: 1}}
			s, ds := []float64{0.3, -0.2, 0.9}, make([]float64, 3)
			value := func() float64 {
				testkit.Must(l.Prepare(paths, term, noise))
				return l.Evaluate(ds, s)
			}
			before := value()
			normal := append([]float64(nil), paths.At(1, k+1)...)
			for j, v := range normal {
				s[j] += 2 * v
			}
			testkit.Near(t, value(), before, 1e-10*before, "%v: a normal part of the score changes the loss from", m)
			for j, v := range normal {
				paths.At(1, k)[j] += 0.37 * v
			}
			testkit.Near(t, value(), before, 1e-10*before, "%v: a normal part of x_k changes the loss from", m)
		}
	}
}

// With s such that the backward mean is x_k the loss is zero: the loss and the
// backward step share their formulas, in both conventions.
func TestLossMatchesBackwardStep(t *testing.T) {
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		for _, c := range []langevin.Convention{langevin.Paper, langevin.Reference} {
			set := zoo.Euclidean{D: 3}
			p, paths := problem(set, m, c)
			st := p.NewStepper(1)
			for k := range 3 {
				s := []float64{0.4, -1, 0.2}
				next := make([]float64, 3)
				x, after, still := paths.At(0, k+1), paths.At(0, k+2), make([]float64, 3)
				_, err := st.Backward(next, x, after, still, make([]bool, 1), 1, k, constant(s))
				testkit.OK(t, err)
				copy(paths.At(0, k), next)
				l := NewLoss(p, reads[float64](p), 1, Options{})
				testkit.Must(l.Prepare(paths, []Term{{Item: 0, K: k, Weight: 1}}, noise))
				if v := l.Evaluate(make([]float64, 3), s); v > 1e-24 {
					t.Errorf("%v %v k = %d: loss %v", m, c, k, v)
				}
			}
		}
	}
}

type constant []float64

func (c constant) Eval(dst, _, _ []float64, _ int, _ float64) { copy(dst, c) }

func TestLossAllocatesNothing(t *testing.T) {
	p, paths := problem(zoo.Sphere{D: 3}, langevin.ULLA, langevin.Paper)
	terms := allTerms(paths)
	l := NewLoss(p, reads[float32](p), len(terms), Options{})
	s, ds, last := make([]float32, 3*len(terms)), make([]float32, 3*len(terms)), LastMomentum(noise)
	if n := testing.AllocsPerRun(20, func() {
		if _, err := l.Prepare(paths, terms, last); err != nil {
			t.Fatal(err)
		}
		l.Evaluate(ds, s)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The loss on paths that bounce off the end of a half line, term by term: where the step
// from x to z bounced, its proposal is −z and the mirror image of x is −x, so the momentum
// that left x is (−z − x)/τ and the backward step from z aims at −x.
func TestLossAtABounce(t *testing.T) {
	half := testkit.Must(zoo.NewBox([]float64{0}, nil))
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA, langevin.OLLAP, langevin.ULLAP} {
		for _, c := range []langevin.Convention{langevin.Reference, langevin.Paper} {
			p := &langevin.Process{
				Set: half, Method: m, Friction: 2, Convention: c, Potential: langevin.Quadratic{},
				Schedule: langevin.Schedule{N: 6, T: 0.6, SigmaMin: 0.5, SigmaMax: 1.5},
			}
			testkit.OK(t, p.Validate())
			pool := parallel.New(1)
			var paths langevin.Paths
			x0 := make([]float64, 40)
			for i := range x0 {
				x0[i] = 0.02 * float64(i)
			}
			testkit.Must(langevin.NewSimulator(p, pool, 7).Forward(t.Context(), &paths, x0, 3, 0))
			pool.Close()
			l := NewLoss(p, reads[float64](p), 1, Options{})
			bounced, left := 0, 0
			for i := range paths.Count {
				for k := range paths.Steps {
					testkit.Must(l.Prepare(&paths, []Term{{Item: i, K: k, Weight: 0.7}}, noise))
					at := func(k int) float64 { return paths.At(i, k)[0] }
					x, aim, s := at(k+1), at(k), 0.4
					if &paths.Proposal(i, k+1)[0] != &paths.At(i, k+1)[0] {
						aim = -aim
						bounced++
					}
					τ := p.BackTau(k)
					mean, variance := x+τ/2*(x+s), τ
					if m.Underdamped() {
						a, momentum := math.Exp(-2*τ), make([]float64, 1)
						if k+2 > paths.Steps {
							noise(momentum, i)
						} else {
							to := at(k + 2)
							if &paths.Proposal(i, k+2)[0] != &paths.At(i, k+2)[0] {
								to = -to
								left++
							}
							momentum[0] = (to - x) / p.MomentumTau(k)
						}
						mean, variance = x-τ*(a*momentum[0]+τ*(x+s)), τ*τ*(1-a*a)
					}
					want, ds := 0.7*(aim-mean)*(aim-mean)/(2*variance), make([]float64, 1)
					if got := l.Evaluate(ds, []float64{s}); math.Abs(got-want) > 1e-12*(1+want) {
						t.Fatalf("%v %v, path %d, k = %d: loss %v, want %v", m, c, i, k, got, want)
					}
				}
			}
			if bounced < 10 || m.Underdamped() && left < 10 {
				t.Errorf("%v: %d terms bounced, %d left for the wall", m, bounced, left)
			}
		}
	}
}

func refusal(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

// More terms than there is room for, windows that nobody gave, and fewer or more of them than terms
// are refused by name; as many as there is room for are taken.
func TestRefusedUses(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 3}, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 4, T: 0.2, SigmaMin: 0.5, SigmaMax: 1}}
	starts := []float64{0, 0, 1, 0, 1, 0, 1, 0, 0}
	paths, last := forward(t, p, starts, 1)
	terms := []Term{{Item: 0, K: 1, Weight: 1}, {Item: 1, K: 2, Weight: 1}, {Item: 2, K: 3, Weight: 1}}
	prepare := func(o Options, rows int, windows []Window) string {
		l := NewLoss(p, reads[float64](p), rows, o)
		return refusal(func() {
			if windows != nil {
				l.SetWindows(windows)
			}
			if _, err := l.Prepare(paths, terms, last); err != nil {
				t.Error(err)
			}
		})
	}
	window := Options{Window: 0.1}
	for _, c := range []struct {
		got, want string
	}{
		{prepare(Options{}, 3, nil), ""}, {prepare(Options{}, 2, nil), "cwpm: 3 terms in a loss for 2"},
		{prepare(window, 3, nil), "cwpm: Prepare without SetWindows"},
		{prepare(window, 3, make([]Window, 3)), "cwpm: 3 windows for 4 terms"},
		{prepare(window, 3, make([]Window, 5)), "cwpm: 5 windows for 4 terms"},
		{prepare(window, 3, make([]Window, 4)), ""}, {prepare(Options{}, 5, nil), ""},
	} {
		testkit.Equal(t, c.got, c.want)
	}
}

// The error of a state without a geometry names the row of the term, also with windows, and the path of a window.
func TestStatesThatCannotBeRead(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 3}, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 4, T: 0.2, SigmaMin: 0.5, SigmaMax: 1}}
	starts := []float64{0, 0, 1, 0, 1, 0, 1, 0, 0}
	paths, last := forward(t, p, starts, 1)
	paths.At(1, 3)[0] = math.NaN()
	for _, length := range []float64{0, 0.3} {
		l := NewLoss(p, reads[float64](p), 3, Options{Window: length})
		if length > 0 {
			l.SetWindows(make([]Window, 4))
		}
		var e *geometry.NonFiniteError
		terms := []Term{{Item: 0, K: 2}, {Item: 2, K: 2}, {Item: 1, K: 2}}
		if _, err := l.Prepare(paths, terms, last); !errors.As(err, &e) || e.Row != 2 {
			t.Errorf("window %v: %v", length, err)
		}
		if _, err := l.Prepare(paths, terms[:2], last); err != nil {
			t.Errorf("window %v, states that can be read: %v", length, err)
		}
		if length > 0 {
			if _, err := l.FitWindow(paths, 2, last); !errors.As(err, &e) ||
				!strings.Contains(err.Error(), "not finite") {
				t.Errorf("a fit: %v", err)
			}
			paths.Failed[1] = true
			if _, err := l.FitWindow(paths, 2, last); err != nil {
				t.Errorf("a fit without the path: %v", err)
			}
		}
	}
}

// With the paper's walls a window begins with its own step if any wall is within three standard deviations of the
// window's displacement, and ε, of x_{k+1}: of several walls, whose gradients are of several lengths, on a set with an
// equality, for every row of a block. Distances are in the first order, as a wall's gradient says them.
func TestWhereWindowsBegin(t *testing.T) {
	set := testkit.Must(formula.New(formula.Spec{
		Dim:      3,
		Equality: []formula.Component{{Name: "plane", Expr: "5*x[2] = 0"}},
		Inequality: []formula.Component{
			{Name: "left", Expr: "x[0] >= 0"}, {Name: "top", Expr: "7*x[1] <= 7"},
			{Name: "rim", Expr: "dot(x, x) <= 4"},
		},
	}))
	p := &langevin.Process{
		Set: set, Method: langevin.OLLAP, Walls: langevin.PaperWalls, Repulsion: 0.02,
		Schedule: langevin.Schedule{N: 5, T: 0.02, SigmaMin: 0.5, SigmaMax: 1},
	}
	const side = 40
	paths := &langevin.Paths{Count: side * side, Steps: 5, Dim: 3, X: make([]float64, side*side*6*3),
		Failed: make([]bool, side*side)}
	for i := range paths.Count {
		for k := range 6 {
			x := paths.At(i, k)
			x[0], x[1] = 0.003+1.4*float64(i%side)/side, -1+2.05*float64(i/side)/side
		}
	}
	l := NewLoss(p, reads[float64](p), 7, Options{Window: 0.12})
	near := 0
	for k := range p.Schedule.N {
		variance := 0.0
		for i := l.start[k]; i <= k; i++ {
			variance += p.Schedule.Tau(i)
		}
		if k > 2 && l.start[k] == k {
			t.Fatalf("the window of term %d is one step", k)
		}
		reach := 3 * math.Sqrt(variance)
		for lo := 0; lo < paths.Count; lo += l.Rows() {
			var terms []Term
			for i := lo; i < min(lo+l.Rows(), paths.Count); i++ {
				terms = append(terms, Term{Item: i, K: k})
			}
			testkit.OK(t, l.load(paths, terms, nil))
			l.begin(terms)
			for i, term := range terms {
				x := paths.At(term.Item, k+1)
				r := math.Hypot(x[0], x[1])
				want := l.start[k]
				if min(x[0]-0.02, 1-x[1]-0.02/7, (4-r*r-0.02)/(2*r)) <= reach {
					want = k
					near++
				}
				if l.from[i] != want {
					t.Fatalf("at %v the window of term %d begins at %d, want %d", x, k, l.from[i], want)
				}
			}
		}
	}
	if all := paths.Count * p.Schedule.N; near < all/10 || near > 9*all/10 {
		t.Errorf("%d of %d are near a wall", near, all)
	}
}
