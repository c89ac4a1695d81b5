package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/cwpm"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// given is a source of paths that are given.
type given struct {
	proc  *langevin.Process
	paths langevin.Paths
	last  cwpm.LastMomentum
}

func (g *given) Items() int                            { return g.paths.Count }
func (g *given) Times() int                            { return g.proc.Schedule.N }
func (g *given) Failed(int) bool                       { return false }
func (g *given) Prepare(context.Context, uint64) error { return nil }

func (g *given) Capabilities() method.SourceCapabilities[float64] {
	return method.SourceCapabilities[float64]{}
}

func (g *given) Refresh(context.Context, uint64, uint64) (method.Report, error) {
	return method.Report{}, nil
}

func (g *given) NewLoss(r score.Reader[float64], rows int) method.Loss[float64] {
	return givenLoss{cwpm.NewLoss(g.proc, r, rows, cwpm.Options{}), g}
}

type givenLoss struct {
	*cwpm.Loss[float64]
	g *given
}

func (l givenLoss) Prepare(terms []method.Term) ([]float64, error) {
	return l.Loss.Prepare(&l.g.paths, terms, l.g.last)
}

// Six updates of optim.npz: loss, gradient norm, clipping, Adam and the moving average.
func TestGoldenOptimiser(t *testing.T) {
	g, under := golden.Read(t, "optim.npz"), golden.Read(t, "sphere_under.npz")
	net := testkit.Must(score.FromLayers[float64](g, "init_layer_"))
	proc := &langevin.Process{
		Set: zoo.Sphere{D: 3}, Method: langevin.ULLA, Friction: 5,
		Landing:  langevin.Landing{Explicit: true, Rate: 10},
		Schedule: langevin.Schedule{N: 3, T: 0.12, SigmaMin: 0.5, SigmaMax: 1},
	}
	pool := testkit.Pool(t, 2)
	cfg := Config{Epochs: 6, Batch: 4, Refresh: 1, LearningRate: 0.01, Clip: 0.05, Average: 0.999}
	src := &given{proc: proc, paths: langevin.Paths{Count: 4, Steps: 3, Dim: 3, X: make([]float64, 48)}}
	for k := range 4 {
		for i := range 4 {
			copy(src.paths.At(i, k), under["loss_path"].Float64[(k*4+i)*3:][:3])
		}
	}
	src.last = func(dst []float64, path int) { copy(dst, under["loss_vN"].Float64[path*3:]) }
	tr := New(cfg, src, net.Model(score.Reading{}, kernel.Float32), pool)
	tr.order = []int{0, 1, 2, 3}
	for i, want := range g["losses"].AsFloat64() {
		tr.State.Epoch, tr.State.Step, tr.State.NormSum = i, 0, 0
		testkit.OK(t, tr.batch())
		if math.Abs(tr.State.LastLoss-want) > 1e-9 {
			t.Fatalf("loss %d is %.15g, want %.15g", i, tr.State.LastLoss, want)
		}
		if want := g["grad_norm"].AsFloat64()[i]; math.Abs(tr.State.NormSum-want) > 1e-9 {
			t.Fatalf("gradient norm %d is %.15g, want %.15g", i, tr.State.NormSum, want)
		}
	}
	final := testkit.Must(score.FromLayers[float64](g, "final_layer_"))
	var average []float64
	for i := range 6 {
		average = append(average, g[fmt.Sprintf("ema_%d", i)].AsFloat64()...)
	}
	for i := range final.Params {
		if math.Abs(net.Params[i]-final.Params[i]) > 1e-9 {
			t.Fatalf("parameter %d is %.15g, want %.15g", i, net.Params[i], final.Params[i])
		}
		if math.Abs(tr.opt.average[i]-average[i]) > 1e-9 {
			t.Fatalf("average %d is %.15g, want %.15g", i, tr.opt.average[i], average[i])
		}
	}
}

func TestGoldenPlateau(t *testing.T) {
	g := golden.Read(t, "optim.npz")
	p, s, rate := Plateau{Factor: 0.6, Patience: 3, Threshold: 5e-5, Cooldown: 2, MinRate: 1e-5}, PlateauState{}, 2e-3
	for i, loss := range g["lr_metric"].AsFloat64() {
		rate = p.Step(&s, rate, loss)
		if want := g["lr_out"].AsFloat64()[i]; math.Abs(rate-want) > 1e-15 {
			t.Fatalf("rate after metric %d is %v, want %v", i, rate, want)
		}
	}
}

// gaussian is Gaussian data on the line {x_0 + x_1 = 1} and a process on it.
func gaussian(m langevin.Method, n int) (*langevin.Process, []float64) {
	proc := &langevin.Process{
		Set: zoo.Affine{A: [][]float64{{1, 1}}, B: []float64{1}}, Method: m, Friction: 2,
		Potential: langevin.Quadratic{},
		Schedule:  langevin.Schedule{N: 32, T: 4, SigmaMin: 0.4, SigmaMax: 1},
	}
	data, z := make([]float64, 0, 2*n), make([]float64, 1)
	for i := range n {
		keyed.New(1, keyed.Probe, 3).Normals(z, uint64(i), 0)
		u := 0.8 + 0.4*z[0]
		data = append(data, 0.5+u/math.Sqrt2, 0.5-u/math.Sqrt2)
	}
	return proc, data
}

// model returns a network 16 wide for points in R².
func model(r score.Reading, p kernel.Precision, momentum bool) score.Model[float32] {
	return score.NewMLP[float32]([]int{r.Width(2, momentum), 16, 16, 2}, 4).Model(r, p)
}

// trainer makes a trainer on a process's paths from the rows of data.
func trainer[T kernel.Float](
	cfg Config, p *langevin.Process, o pathmatch.Options, data []float64, m score.Model[T], pool *parallel.Pool,
) *Trainer[T] {
	return New(cfg, pathmatch.NewSource[T](pathmatch.New(p, o), data, pool), m, pool)
}

// material is what a trainer is trained on.
func material[T kernel.Float](tr *Trainer[T]) (*langevin.Paths, cwpm.LastMomentum) {
	return tr.source.(*pathmatch.Source[T]).Paths()
}

func small(t *testing.T, cfg Config, workers int, m langevin.Method) *Trainer[float32] {
	t.Helper()
	proc, data := gaussian(m, 50)
	pool := parallel.New(workers)
	t.Cleanup(pool.Close)
	net := model(score.Reading{}, kernel.Float32, m.Underdamped())
	return trainer(cfg, proc, pathmatch.Options{}, data, net, pool)
}

var smallConfig = Config{
	Epochs: 6, Batch: 16, Refresh: 2, TimesPerPath: 3, LearningRate: 3e-3, Clip: 10, Average: 0.99, Seed: 7,
	Plateau: Plateau{Factor: 0.6, Patience: 1, Threshold: 1e-4, Cooldown: 1, MinRate: 1e-5},
}

// stopAfter is a context that is done after n looks.
type stopAfter struct {
	context.Context
	n int
}

func (s *stopAfter) Err() error {
	if s.n--; s.n < 0 {
		return context.Canceled
	}
	return nil
}

// N batches, a stop, a snapshot and the rest equal the whole run bit for bit,
// wherever it stops and at 1, 2 and 7 workers.
func TestResumeIsExact(t *testing.T) {
	finish := func(tr *Trainer[float32]) []float32 {
		for !tr.Done() {
			testkit.Must(tr.Epoch(context.Background()))
		}
		return append(append([]float32(nil), tr.opt.params...), tr.opt.average...)
	}
	for _, c := range []struct {
		m langevin.Method
		o Optimizer
		p kernel.Precision
	}{
		{langevin.ULLA, Adam, kernel.Float32}, {langevin.OLLA, Adam, kernel.Float32},
		{langevin.ULLA, Muon, kernel.Float32},
		{langevin.ULLA, Muon, kernel.BFloat16}, {langevin.ULLA, Adam, kernel.BFloat16x3},
	} {
		if kernel.Effective(c.p) != c.p {
			continue
		}
		m, cfg, reading, opt := c.m, smallConfig, score.Reading{}, pathmatch.Options{}
		cfg.Optimizer = c.o
		if c.o == Muon { // and everything else that a fast recipe sets
			reading = score.Reading{Octaves: 2, Wavelength: 4, Null: true,
				Gain: func(t float64) float64 { return 1 + t }}
			opt.Output, cfg.Anneal, cfg.Hidden = pathmatch.Balanced, 0.7, 0.3
		}
		begin := func(workers int) *Trainer[float32] {
			proc, data := gaussian(m, 50)
			pool := parallel.New(workers)
			t.Cleanup(pool.Close)
			return trainer(cfg, proc, opt, data, model(reading, c.p, m.Underdamped()), pool)
		}
		want := finish(begin(1))
		for _, workers := range []int{1, 2, 7} {
			for _, stop := range []int{0, 1, 4, 7, 11, 17} {
				first := begin(workers)
				var err error
				ctx := &stopAfter{context.Background(), stop + 20} // simulations look too
				for err == nil && !first.Done() {
					_, err = first.Epoch(ctx)
				}
				if err != nil && !Interrupted(err) {
					t.Fatal(err)
				}
				var copied []arrayfile.Named
				for _, a := range first.Snapshot() {
					a.Array.Float32 = append([]float32(nil), a.Array.Float32...)
					copied = append(copied, a)
				}
				second := begin(1 + workers%3)
				testkit.OK(t, second.Restore(copied, first.State))
				got := finish(second)
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("%v, %v, %v, %d workers, stopped in epoch %d at batch %d: parameter %d differs",
							m, c.o, c.p, workers, first.State.Epoch, first.State.Step, i)
					}
				}
			}
		}
	}
}

// Windows are fitted to paths of their own: a run that stops and goes on has those of the whole run.
func TestResumeWithWindows(t *testing.T) {
	cfg, opt := smallConfig, pathmatch.Options{Window: 0.5}
	cfg.Epochs = 3
	make := func() *Trainer[float32] {
		_, data := gaussian(langevin.ULLA, 50)
		proc := &langevin.Process{
			Set: zoo.Sphere{D: 2}, Method: langevin.ULLA, Friction: 3,
			Schedule: langevin.Schedule{N: 6, T: 1, SigmaMin: 0.2, SigmaMax: 1},
		}
		for i := range len(data) / 2 {
			r := math.Hypot(data[2*i], data[2*i+1])
			data[2*i], data[2*i+1] = data[2*i]/r, data[2*i+1]/r
		}
		pool := parallel.New(2)
		t.Cleanup(pool.Close)
		return trainer(cfg, proc, opt, data, model(score.Reading{}, kernel.Float32, true), pool)
	}
	epoch := func(tr *Trainer[float32]) {
		testkit.Must(tr.Epoch(context.Background()))
	}
	whole := make()
	epoch(whole)
	epoch(whole)
	second := make()
	testkit.OK(t, second.Restore(whole.Snapshot(), whole.State))
	epoch(whole)
	epoch(second)
	for i, v := range whole.opt.params {
		if second.opt.params[i] != v {
			t.Fatalf("parameter %d differs", i)
		}
	}
	opt.Window = 0
	plain := make()
	for range 3 {
		epoch(plain)
	}
	if plain.opt.params[0] == whole.opt.params[0] {
		t.Error("windows change nothing")
	}
}

// The rate stays, and falls to 0 in equal steps over the last share of all updates.
func TestAnneal(t *testing.T) {
	cfg := smallConfig
	cfg.Epochs, cfg.Anneal, cfg.Plateau.Factor = 4, 0.5, 0
	tr := small(t, cfg, 1, langevin.OLLA)
	const batches = 3
	for n := range cfg.Epochs * batches {
		if n%batches == 0 {
			testkit.OK(t, tr.prepare(context.Background()))
		}
		testkit.OK(t, tr.batch())
		if tr.State.Step == batches {
			tr.State.Step, tr.State.Epoch = 0, tr.State.Epoch+1
		}
		want := cfg.LearningRate * min(1, 2*(1-float64(n)/12))
		testkit.Near(t, tr.opt.step.Rate, want, 1e-15, "update %d: rate", n)
	}
}

// The precision of the trained model is the averaged one's, and it changes what
// training computes exactly where the machine has it.
func TestPrecision(t *testing.T) {
	train := func(p kernel.Precision) *Trainer[float32] {
		proc, data := gaussian(langevin.ULLA, 50)
		pool := parallel.New(1)
		t.Cleanup(pool.Close)
		net := model(score.Reading{}, p, true)
		tr := trainer(smallConfig, proc, pathmatch.Options{}, data, net, pool)
		for range 3 {
			if got := tr.Average().Precision(); got != p {
				t.Fatalf("after %d epochs the network to generate with has precision %v, not %v",
					tr.State.Epoch, got, p)
			}
			testkit.Must(tr.Epoch(context.Background()))
		}
		return tr
	}
	base := train(kernel.Float32)
	for _, p := range []kernel.Precision{kernel.BFloat16x3, kernel.BFloat16} {
		tr, d, s := train(p), 0.0, 0.0
		for i, v := range tr.opt.params {
			w := base.opt.params[i]
			d += float64(v-w) * float64(v-w)
			s += float64(w) * float64(w)
		}
		// Adam moves a parameter whose gradient is noise by up to the rate, 3e-3, an update.
		if d = math.Sqrt(d / s); (d > 0) != (kernel.Effective(p) != kernel.Float32) || d > 0.05 {
			t.Errorf("%v, which runs as %v: parameters differ from those of float32 by %.3g", p, kernel.Effective(p), d)
		}
	}
}

// What generation loads and evaluates is the average, once there is one.
func TestGenerationUsesAverage(t *testing.T) {
	tr := small(t, smallConfig, 1, langevin.ULLA)
	check := func(want []float32) {
		t.Helper()
		loaded := testkit.Must(Load(tr.model, tr.Snapshot(), tr.State))
		for i, v := range want {
			if l, a := loaded.Parameters()[i], tr.Average().Parameters()[i]; l != v || a != v {
				t.Fatalf("parameter %d: loaded %v, averaged %v, want %v", i, l, a, v)
			}
		}
	}
	testkit.Must(tr.Epoch(context.Background()))
	check(tr.opt.params)
	testkit.Must(tr.Epoch(context.Background()))
	check(tr.opt.average)
}

func TestClip(t *testing.T) {
	for _, c := range []struct{ norm, limit, want float64 }{{0.5, 10, 1}, {20, 10, 10 / (20 + 1e-6)}, {20, 0, 1}} {
		testkit.Near(t, clip(c.norm, c.limit), c.want, 1e-15, "clip(%v, %v)", c.norm, c.limit)
	}
}

// The learning rate follows the last batch's loss of each epoch; each epoch has
// its own order; paths and last momenta change with each refresh and only then.
func TestEpochs(t *testing.T) {
	cfg := smallConfig
	cfg.Plateau.Threshold = 0
	tr := small(t, cfg, 1, langevin.ULLA)
	least := math.Inf(1)
	var order []int
	var path, last []float64
	for epoch := range 4 {
		e := testkit.Must(tr.Epoch(context.Background()))
		updates := 3 * (epoch + 1) // 50 paths in batches of 16
		if tr.State.Updates != updates || e.Rows != int64(updates*16*3) {
			t.Errorf("epoch %d: %d updates on %d rows", epoch, tr.State.Updates, e.Rows)
		}
		least = min(least, e.LastLoss)
		if e.Rate != tr.opt.step.Rate || !(e.Rate > 0) {
			t.Errorf("epoch %d: rate %v, of its last batch %v", epoch, e.Rate, tr.opt.step.Rate)
		}
		if got := *tr.State.Plateau.Best; got != least || e.Loss == e.LastLoss {
			t.Errorf("epoch %d: the schedule's best is %v, want %v", epoch, got, least)
		}
		same := func(a, b []float64) bool {
			for i := range a {
				if a[i] != b[i] {
					return false
				}
			}
			return len(a) == len(b)
		}
		if order != nil && fmt.Sprint(order) == fmt.Sprint(tr.order) {
			t.Errorf("epoch %d has the order of the one before", epoch)
		}
		order = append([]int(nil), tr.order...)
		v := make([]float64, 2)
		paths, momentum := material(tr)
		momentum(v, 3)
		if fresh := epoch%cfg.Refresh == 0; epoch > 0 && (same(path, paths.X) == fresh || same(last, v) == fresh) {
			t.Errorf("epoch %d: fresh paths %v, fresh momenta %v, want %v",
				epoch, !same(path, paths.X), !same(last, v), fresh)
		}
		path, last = append([]float64(nil), paths.X...), v
	}
}

// untilStep is a context that is done after a given step of a trainer's epoch.
type untilStep struct {
	context.Context
	tr   *Trainer[float32]
	step int
}

func (u untilStep) Err() error {
	if u.tr.State.Step >= u.step {
		return context.Canceled
	}
	return nil
}

// An epoch's loss is the mean of its batches'.
func TestEpochMeans(t *testing.T) {
	whole, parts := small(t, smallConfig, 1, langevin.ULLA), small(t, smallConfig, 1, langevin.ULLA)
	want := testkit.Must(whole.Epoch(context.Background()))
	loss := 0.0
	for step := 1; step < 3; step++ { // 50 paths in batches of 16
		if _, err := parts.Epoch(untilStep{context.Background(), parts, step}); !Interrupted(err) {
			t.Fatal(err)
		}
		loss += parts.State.LastLoss
	}
	got := testkit.Must(parts.Epoch(context.Background()))
	if mean := (loss + got.LastLoss) / 3; math.Abs(want.Loss-mean) > 1e-12*mean || got.Loss != want.Loss {
		t.Errorf("loss %v and %v, of the batches %v", want.Loss, got.Loss, mean)
	}
}

// Every field of State passes through JSON.
func TestStateSurvivesJSON(t *testing.T) {
	var s State
	n := 0.0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range v.Len() {
				fill(v.Index(i))
			}
		case reflect.Float64:
			n++
			v.SetFloat(0.1 * n)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			n++
			v.SetString(fmt.Sprint("text ", n))
		default:
			n++
			v.SetInt(int64(n))
		}
	}
	fill(reflect.ValueOf(&s).Elem())
	data := testkit.Must(json.Marshal(s))
	var back State
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(s, back) {
		t.Errorf("%+v became %+v, %v", s, back, err)
	}
}

// The averaged weights are others than the raw ones, and taking them changes neither.
func TestAverageDoesNotLeak(t *testing.T) {
	tr, twin := small(t, smallConfig, 1, langevin.ULLA), small(t, smallConfig, 1, langevin.ULLA)
	for range 3 {
		testkit.Must(tr.Epoch(context.Background()))
		f := score.NewField(tr.Average(), 1)
		f.Eval(make([]float64, 2), []float64{1, 0}, []float64{0, 0}, 1, 0.3)
		testkit.Must(twin.Epoch(context.Background()))
	}
	same := true
	for i, v := range tr.opt.params {
		same = same && v == tr.opt.average[i]
		if v != twin.opt.params[i] {
			t.Fatal("evaluating the average changed training")
		}
	}
	if same {
		t.Error("the average equals the raw weights")
	}
}

// The mean of the subset gradient over many draws is the full gradient: exactly
// so for one path when the strata are enumerated.
func TestTimeSubsetIsUnbiased(t *testing.T) {
	for _, m := range []int{1, 3, 5, 32} {
		cfg := smallConfig
		cfg.TimesPerPath = m
		tr := small(t, cfg, 1, langevin.ULLA)
		N := tr.source.Times()
		weight := make([]float64, N)
		const draws = 4000
		for e := range draws {
			tr.State.Epoch = e
			tr.pick([]int{3})
			if len(tr.terms) != m {
				t.Fatalf("%d terms, want %d", len(tr.terms), m)
			}
			sum := 0.0
			for j, term := range tr.terms {
				weight[term.K] += term.Weight / draws
				sum += term.Weight
				if lo, hi := j*N/m, (j+1)*N/m; term.K < lo || term.K >= hi || term.Weight != float64(hi-lo) {
					t.Fatalf("term %d is time %d with weight %v, outside its stratum [%d, %d)",
						j, term.K, term.Weight, lo, hi)
				}
			}
			if sum != float64(N) {
				t.Fatalf("weights sum to %v, want %d", sum, N)
			}
		}
		// Each time has expected weight 1; its standard deviation is below
		// √(32/4000) = 0.09, and 6 of them bound all 32 at level 1e-7.
		for k, w := range weight {
			testkit.Near(t, w, 1, 0.54, "%d times a path: time %d has weight", m, k)
		}
	}
}

// The gradient is a mean over paths, whatever their number: that of 200 paths, whose lanes pass through the network in
// several parts, is the mean of those of four times 50 and of 200 times one, in which most lanes are empty.
func TestGradientIsMeanOverPaths(t *testing.T) {
	proc, data := gaussian(langevin.ULLA, 200)
	pool := testkit.Pool(t, 2)
	cfg := smallConfig
	cfg.Batch, cfg.TimesPerPath = 200, 0
	for _, times := range []int{0, 3} {
		cfg.TimesPerPath = times
		net := score.NewMLP[float64]([]int{5, 8, 8, 2}, 4).Model(score.Reading{}, kernel.Float32)
		tr := trainer(cfg, proc, pathmatch.Options{}, data, net, pool)
		testkit.OK(t, tr.prepare(context.Background()))
		whole, _, err := tr.gradient(tr.order)
		testkit.OK(t, err)
		want := append([]float64(nil), tr.grads[0]...)
		for _, size := range []int{50, 1} {
			mean, sum := make([]float64, len(want)), 0.0
			for lo := 0; lo < 200; lo += size {
				loss, _, err := tr.gradient(tr.order[lo : lo+size])
				testkit.OK(t, err)
				sum += loss * float64(size) / 200
				for i, v := range tr.grads[0] {
					mean[i] += v * float64(size) / 200
				}
			}
			testkit.Near(t, sum/whole, 1, 1e-12, "%d times, batches of %d: loss %v, want %v", times, size, sum, whole)
			for i, v := range want {
				if math.Abs(mean[i]-v) > 1e-11*(1+math.Abs(v)) {
					t.Fatalf("%d times, batches of %d: gradient %d is %v, want %v", times, size, i, mean[i], v)
				}
			}
		}
	}
}

// Each path of a batch has times of its own.
func TestTimesOfPaths(t *testing.T) {
	tr := small(t, smallConfig, 1, langevin.ULLA)
	tr.pick([]int{0, 1, 2, 3, 4, 5, 6, 7})
	seen := map[[3]int]bool{}
	for i := 0; i < len(tr.terms); i += 3 {
		if tr.terms[i].Item != i/3 || tr.terms[i+2].Item != i/3 {
			t.Fatalf("terms %d to %d are %v", i, i+2, tr.terms[i:i+3])
		}
		seen[[3]int{tr.terms[i].K, tr.terms[i+1].K, tr.terms[i+2].K}] = true
	}
	if len(seen) < 6 { // of 10·11·11 triples
		t.Errorf("8 paths have %d choices of times", len(seen))
	}
}

// A batch after the first allocates nothing.
func TestBatchAllocatesNothing(t *testing.T) {
	for _, o := range []Optimizer{Adam, Muon} {
		cfg := smallConfig
		cfg.Optimizer = o
		tr := small(t, cfg, 2, langevin.ULLA)
		testkit.OK(t, tr.prepare(context.Background()))
		if n := testing.AllocsPerRun(10, func() {
			tr.State.Step = 0
			testkit.OK(t, tr.batch())
		}); n != 0 {
			t.Errorf("%v: %v allocations", o, n)
		}
	}
}

// A loss that is not finite stops with the sample and step named.
func TestLossError(t *testing.T) {
	tr := small(t, smallConfig, 1, langevin.ULLA)
	testkit.OK(t, tr.prepare(context.Background()))
	tr.opt.params[len(tr.opt.params)-1] = float32(math.Inf(1)) // a bias of the output
	for _, at := range [][2]int{{0, 0}, {4, 2}} {
		tr.State.Epoch, tr.State.Step = at[0], at[1]
		err := tr.batch() // all terms are not finite: the first is named
		testkit.Refused(t, err, fmt.Sprintf("the loss is not finite in epoch %d, batch %d, at sample %d, step %d; a "+
			"lower", at[0]+1, at[1]+1, tr.terms[0].Item, tr.terms[0].K))
		testkit.Equal(t, fault.KindOf(err), fault.Diverged)
	}
}

// unread is a network that cannot read the points of training row 7.
type unread struct{ score.Model[float32] }

func (m unread) Row(dst []float32, at score.Input) {
	m.Model.Row(dst, at)
	if at.Item == 7 {
		dst[1] = float32(math.NaN())
	}
}

// A point that a network cannot read stops with the sample named, and no talk of the learning rate.
func TestUnreadPoint(t *testing.T) {
	proc, data := gaussian(langevin.ULLA, 12)
	pool := testkit.Pool(t, 1)
	m := unread{model(score.Reading{}, kernel.Float32, true)}
	cfg := Config{Epochs: 1, Batch: 12, LearningRate: 1e-3}
	tr := trainer[float32](cfg, proc, pathmatch.Options{}, data, m, pool)
	_, err := tr.Epoch(context.Background())
	testkit.Refused(t, err, "cannot read the point of sample 7, step ")
	if fault.KindOf(err) != fault.Diverged || strings.Contains(err.Error(), "rate") {
		t.Errorf("got %v", err)
	}
}

func TestFailedPathsStopTraining(t *testing.T) {
	proc := &langevin.Process{
		Set: zoo.Sphere{D: 3}, Method: langevin.OLLAP,
		Schedule: langevin.Schedule{N: 4, T: 0.4, SigmaMin: 1, SigmaMax: 1.3},
	}
	x0 := testkit.Must(langevin.Start(t.Context(), proc, 40, 1))
	pool := testkit.Pool(t, 1)
	cfg := Config{Epochs: 1, Batch: 4, Refresh: 1, LearningRate: 1e-3, MaxFailed: 0.05}
	begin := func() *Trainer[float32] {
		net := score.NewMLP[float32]([]int{4, 4, 3}, 1).Model(score.Reading{}, kernel.Float32)
		return trainer(cfg, proc, pathmatch.Options{}, x0, net, pool)
	}
	refused := testkit.Err(begin().Epoch(context.Background()))
	testkit.Refused(t, refused, "forward paths failed a projection")
	cfg.MaxFailed = 1
	tr := begin()
	done, err := tr.Epoch(context.Background())
	testkit.OK(t, err)
	testkit.Equal(t, strings.HasPrefix(refused.Error(), fmt.Sprint(done.Failed, " of 40 ")), true, "%v", refused)
	for _, i := range tr.order {
		if tr.source.Failed(i) {
			t.Error("a failed path is trained on")
		}
	}
}

// End to end on {x_0 + x_1 = 1} with Gaussian data: the best score is linear, so its loss is known from the covariance
// of the forward chain, and training must come within 4 % of it. Samples must have the mean and variance that the best
// linear score gives with the same noise, which are the data's up to the size of steps: 0.171 for OLLA and 0.155 for
// ULLA.
func TestGaussianEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	for _, c := range []struct {
		m langevin.Method
		p kernel.Precision
	}{{langevin.ULLA, kernel.Float32}, {langevin.OLLA, kernel.Float32}, {langevin.ULLA, kernel.BFloat16}} {
		if kernel.Effective(c.p) != c.p {
			continue
		}
		const n = 4000
		m := c.m
		proc, data := gaussian(m, n)
		proc.Convention = langevin.Reference
		pool := parallel.New(0)
		cfg := Config{
			Epochs: 24, Batch: 250, TimesPerPath: 8, Refresh: 1, LearningRate: 2e-2, Optimizer: Muon, Clip: 10,
			Average: 0.98, Seed: 3,
			Anneal: 0.8,
		}
		in := score.Reading{}.Width(2, m.Underdamped())
		net := score.NewMLP[float32]([]int{in, 32, 32, 2}, 4).Model(score.Reading{}, c.p)
		tr := trainer(cfg, proc, pathmatch.Options{Output: pathmatch.Balanced}, data, net, pool)
		var last Epoch
		for !tr.Done() {
			last = testkit.Must(tr.Epoch(context.Background()))
		}
		best, linear := bestLinear(t, proc, tr)
		if last.Loss > 1.04*best || last.Loss < 0.96*best {
			t.Errorf("%v, %v: loss %v, the best linear score has %v", m, c.p, last.Loss, best)
		}
		prior := langevin.Empirical{}
		paths, _ := material(tr)
		for i := range paths.Count {
			prior.States = append(prior.States, paths.At(i, proc.Schedule.N)...)
		}
		sim, net := langevin.NewSimulator(proc, pool, 64), tr.Average()
		moments := func(field func(int) langevin.Score) (mean, variance float64) {
			out, failed := make([]float64, 2*n), make([]bool, n)
			testkit.Must(sim.Backward(context.Background(), out, failed, 0, 9, prior, field))
			sq := 0.0
			for i := range n {
				u := (out[2*i] - out[2*i+1]) / math.Sqrt2
				mean += u / n
				sq += u * u / n
				if h := math.Abs(out[2*i] + out[2*i+1] - 1); h > 1e-14 {
					t.Fatalf("sample %d is %g off the line", i, h)
				}
			}
			return mean, sq - mean*mean
		}
		mean, variance := moments(func(int) langevin.Score { return score.NewField(net, 64) })
		wantMean, wantVariance := moments(func(int) langevin.Score { return linear })
		pool.Close()
		t.Logf("%v, %v: mean %.4f and variance %.4f, best %.4f and %.4f", m, c.p, mean, variance, wantMean,
			wantVariance)
		// The two have the same noise, so what is left is training's. Data have 0.8 and 0.16.
		if math.Abs(mean-wantMean) > 0.012 || math.Abs(variance-wantVariance) > 0.014 {
			t.Errorf("%v, %v: mean %.4f and variance %.4f, with the best linear score %.4f and %.4f", m, c.p, mean,
				variance, wantMean, wantVariance)
		}
		if math.Abs(wantMean-0.8) > 0.015 || math.Abs(wantVariance-0.16) > 0.015 {
			t.Errorf("%v: the best linear score draws mean %.4f and variance %.4f", m, wantMean, wantVariance)
		}
	}
}

// lineScore is θ_k·(1, y, p) along the line's direction e, y = e·x, at t_{k+1}.
type lineScore struct {
	θ    [][]float64
	proc *langevin.Process
}

var along = [2]float64{1 / math.Sqrt2, -1 / math.Sqrt2}

func (s lineScore) Eval(dst, x, p []float64, n int, t float64) {
	θ := s.θ[int(math.Round(t/s.proc.Schedule.Dt()))-1]
	for i := range n {
		v := θ[0] + θ[1]*(x[2*i]*along[0]+x[2*i+1]*along[1])
		if p != nil {
			v += θ[2] * (p[2*i]*along[0] + p[2*i+1]*along[1])
		}
		dst[2*i], dst[2*i+1] = v*along[0], v*along[1]
	}
}

// bestLinear fits, for each time apart, the linear score that minimises the loss on the trainer's last paths: least
// squares of u on (1, x, p̃) along the line. It returns their loss, too.
func bestLinear(t *testing.T, proc *langevin.Process, tr *Trainer[float32]) (float64, langevin.Score) {
	t.Helper()
	total, best := 0.0, lineScore{proc: proc}
	paths, last := material(tr)
	reader := score.NewReader[float64](score.Reading{}, 2, proc.Method.Underdamped())
	l := cwpm.NewLoss(proc, reader, paths.Count, cwpm.Options{Balanced: true})
	for k := range proc.Schedule.N {
		var terms []cwpm.Term
		for i := range paths.Count {
			terms = append(terms, cwpm.Term{Item: i, K: k, Weight: 1 / float64(paths.Count)})
		}
		in := testkit.Must(l.Prepare(paths, terms, last))
		n, w := len(terms), len(in)/len(terms)
		s, ds := make([]float64, 2*n), make([]float64, 2*n)
		value := l.Evaluate(ds, s)
		// With s = (f·θ) e along the line, the loss is quadratic in θ; its gradient at 0 is Σ f (ds·e) and its Hessian
		// Σ c² f fᵀ/n with c² read off one more evaluation.
		e := along
		features := func(i int) []float64 {
			row := in[i*w : (i+1)*w]
			f := []float64{1, row[0]*e[0] + row[1]*e[1]}
			if w == 5 {
				f = append(f, row[2]*e[0]+row[3]*e[1])
			}
			return f
		}
		f0 := len(features(0))
		b, a := make([]float64, f0), make([]float64, f0*f0)
		slope := make([]float64, n)
		for i := range n {
			slope[i] = ds[2*i]*e[0] + ds[2*i+1]*e[1]
			s[2*i], s[2*i+1] = e[0], e[1]
		}
		l.Evaluate(ds, s)
		for i := range n {
			c2 := ds[2*i]*e[0] + ds[2*i+1]*e[1] - slope[i]
			f := features(i)
			for p := range f {
				b[p] -= slope[i] * f[p]
				for q := range f {
					a[p*f0+q] += c2 * f[p] * f[q]
				}
			}
		}
		for p := range f0 { // solve a θ = b by elimination; a is positive definite
			for q := p + 1; q < f0; q++ {
				r := a[q*f0+p] / a[p*f0+p]
				for j := p; j < f0; j++ {
					a[q*f0+j] -= r * a[p*f0+j]
				}
				b[q] -= r * b[p]
			}
			value -= b[p] * b[p] / a[p*f0+p] / 2
		}
		for p := f0 - 1; p >= 0; p-- { // back again, for θ itself
			for q := p + 1; q < f0; q++ {
				b[p] -= a[p*f0+q] * b[q]
			}
			b[p] /= a[p*f0+p]
		}
		best.θ = append(best.θ, b)
		total += value
	}
	return total, best
}
