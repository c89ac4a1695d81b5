package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// judgedRun begins a run on 400 rows of the demo that held-out distances end: they rise after epoch 98, on the machine
// of this writing.
func judgedRun(t *testing.T, settings ...string) *Run {
	t.Helper()
	wholeDemo(t)
	demo := begin(t)
	var rows bytes.Buffer
	for i := range 400 {
		x := demo.Data.X[9*i : 9*i+3]
		fmt.Fprintf(&rows, "%.17g,%.17g,%.17g\n", x[0], x[1], x[2])
	}
	file := t.TempDir() + "/rows.csv"
	testkit.OK(t, os.WriteFile(file, rows.Bytes(), 0o600))
	return begin(t, slices.Concat(judged, []string{"data.kind=points", "data.path=" + file, "train.batch=8",
		"train.learning_rate=0.01"}, settings)...)
}

// flatRun begins a run on the demo whose held-out distances no longer fall after epoch 211: it takes six times as long.
func flatRun(t *testing.T, settings ...string) *Run {
	t.Helper()
	wholeDemo(t)
	return begin(t, slices.Concat(judged, []string{"train.batch=32", "train.learning_rate=0.003"}, settings)...)
}

var judged = []string{"train.stop=held_out", "train.epochs=2000", "train.anneal=0.5", "train.refresh=10",
	"train.times_per_path=5", "process.steps=5", "train.checkpoint_every=1e6"}

// newest returns the newest checkpoint's weights as they lie on disk, and its state.
func newest(t *testing.T, r *Run) (string, train.State) {
	t.Helper()
	names, err := r.Folder.Checkpoints().Names()
	if err != nil || len(names) == 0 {
		t.Fatalf("no checkpoint: %v", err)
	}
	name := names[len(names)-1]
	data := testkit.Must(os.ReadFile(r.Folder.Path("checkpoints/" + name + "/weights.safetensors")))
	var s train.State
	testkit.Must(r.Folder.Checkpoints().Load(name, r.Config, &s))
	return run.Hash(data), s
}

// heard is what a state holds of held-out distances.
func heard(t *testing.T, s train.State) []byte {
	t.Helper()
	return testkit.Must(json.Marshal(s.Judged))
}

// A training that held-out distances end is the same, byte for byte, as one planned for the final number of epochs. So
// is a training that was killed or interrupted and resumed. The run records why it ended and which weights it chose.
// Samples are drawn with these weights.
func TestHeldOutDistancesEndTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("trainings: seconds, and minutes under the race detector")
	}
	runs := map[string]func(t *testing.T, settings ...string) *Run{"rising": judgedRun}
	if testkit.Longest() { // a third of a minute
		runs["flat"] = flatRun
	}
	for course, begun := range runs {
		e := begun(t)
		killed := map[int]string{}
		var verdict train.Verdict
		measures, last := 0, 0
		trainTo(t, e, Observer{
			Checkpoint: func(epoch int) {
				killed[epoch] = copyRun(t, e)
				if _, s := newest(t, e); s.Epoch != epoch { // those after the epoch that it goes back to are set aside
					t.Errorf("after epoch %d the newest checkpoint is of epoch %d", epoch, s.Epoch)
				}
			},
			HeldOut: func(m train.Measured, _ string) { measures, last = measures+1, m.Epoch },
			Verdict: func(v train.Verdict) {
				if verdict.After > 0 {
					t.Errorf("a second verdict: %+v", v)
				}
				verdict = v
			},
		})
		weights, state := newest(t, e)
		t.Logf("%s: %v", course, verdict)
		if verdict.After == 0 || verdict.Rising != (course == "rising") || verdict.Plan != (train.Plan{Epochs: 2 *
			verdict.From, Anneal: 0.5, Factor: 1}) ||
			state.Epoch != 2*verdict.From || last != state.Epoch || measures < 5 {
			t.Fatalf("%s: %+v, %d epochs, measured %d times until %d", course, verdict, state.Epoch, measures, last)
		}

		j, m, s := state.Judged, manifestOf(t, e), statusOf(t, e)
		name := run.CheckpointName(j.ChosenUpdates)
		if m.Stopped == nil || m.Stopped.Reason != verdict.String() || m.Weights == nil ||
			m.Weights.Checkpoint != name || m.Weights.Epoch != j.Chosen || s.State != "trained" ||
			s.Stopped != verdict.String() || s.Checkpoint != name || s.Epochs != state.Epoch {
			t.Errorf("%+v, %+v, %+v", m.Stopped, m.Weights, s)
		}
		if trained, err := e.Trained(""); err != nil || trained.State.Epoch != j.Chosen {
			t.Errorf("samples are drawn with another epoch than %d: %v", j.Chosen, err)
		}
		checkMarks(t, e, name)

		planned := begun(t, strings.Fields(m.Stopped.Repeat)...)
		trainTo(t, planned, Observer{})
		if got, s := newest(t, planned); got != weights || s.Judged != nil {
			t.Errorf("%s: %s gives other weights after %d epochs", course, m.Stopped.Repeat, s.Epoch)
		}
		if n := planned.Data.N; len(planned.HeldOutRows)/3 != n/10*2 || len(e.HeldOutRows)/3 != n/10 ||
			!slices.Equal(e.HeldOutRows, e.Data.Rows(e.Split.Test)) ||
			!slices.Equal(e.ValRows, e.Data.Rows(e.Split.Val)) {
			t.Errorf("held-out rows are %d of %d", len(e.HeldOutRows)/3, n)
		}

		for r, rows := range map[*Run]int{e: e.Data.N / 10, planned: e.Data.N / 10 * 2} {
			trained := testkit.Must(r.Trained(""))
			s := testkit.Must(drawn(t, r, trained, 200))
			v := testkit.Must(r.Evaluate(t.Context(), s, trained.State, nil))
			judged := r == e
			if v.TwoSample.M != rows || (v.HeldOut != "") != judged || (v.Weights != "") != judged {
				t.Errorf("%s: held against %d rows, %q, %q", course, v.TwoSample.M, v.HeldOut, v.Weights)
			}
			testkit.Must(r.Report(s, v, nil))
			if _, err := os.Stat(r.Folder.Path("figures/held-out.png")); (err == nil) != judged {
				t.Errorf("%s: a picture of held-out distances: %v", course, err)
			}
		}

		for _, epoch := range stages(killed, verdict) {
			r := testkit.Must(Open(t.Context(), killed[epoch], "", e.Pool, nil))
			trainTo(t, r, Observer{})
			got, s := newest(t, r)
			if got != weights || !bytes.Equal(heard(t, s), heard(t, state)) {
				t.Errorf("%s, killed after epoch %d: other weights after %d epochs, or %s, want %s", course, epoch,
					s.Epoch, heard(t, s), heard(t, state))
			}
			again := manifestOf(t, r)
			if again.Weights.Seconds = m.Weights.Seconds; *again.Stopped != *m.Stopped || *again.Weights != *m.Weights {
				t.Errorf("killed after epoch %d: %+v, %+v", epoch, again.Stopped, again.Weights)
			}
			checkMarks(t, r, name)
		}
	}
}

// stages are the epochs of checkpoints that a test goes on from: the first, those around the
// verdict and in the fall of the rate, and the last.
func stages(killed map[int]string, v train.Verdict) (out []int) {
	var epochs []int
	for epoch := range killed {
		epochs = append(epochs, epoch)
	}
	slices.Sort(epochs)
	for i, epoch := range epochs {
		near := epoch == v.After || epoch == v.From || i > 0 && epochs[i-1] == v.From
		if i == 0 || near || i == len(epochs)-1 {
			out = append(out, epoch)
		}
	}
	return out
}

// checkMarks checks that one checkpoint alone is marked as the best.
func checkMarks(t *testing.T, r *Run, best string) {
	t.Helper()
	names, err := r.Folder.Checkpoints().Names()
	if err != nil || !slices.Contains(names, best) {
		t.Fatalf("checkpoints %v, %v; want %s", names, err, best)
	}
	for _, name := range names {
		_, err := os.Stat(r.Folder.Path("checkpoints/" + name + "/best"))
		if (err == nil) != (name == best) {
			t.Errorf("of checkpoints %v, %s is marked: %v; want %s", names, name, err == nil, best)
		}
	}
}

// An interruption in an evaluation, or before it, changes nothing.
func TestHeldOutDistancesInterrupted(t *testing.T) {
	whole := flatRun(t, "train.epochs=80")
	trainTo(t, whole, Observer{})
	weights, state := newest(t, whole)
	e := flatRun(t, "train.epochs=80")
	for _, at := range []int{11, 24, 31, 80} { // 24, 31 and the last are evaluated
		ctx, cancel := context.WithCancel(context.Background())
		err := e.Train(ctx, "", Observer{Epoch: func(x train.Epoch) {
			if x.Epoch == at {
				cancel()
			}
		}})
		cancel()
		if !train.Interrupted(err) {
			t.Fatalf("after epoch %d: %v", at, err)
		}
	}
	trainTo(t, e, Observer{})
	got, s := newest(t, e)
	if got != weights || !bytes.Equal(heard(t, s), heard(t, state)) {
		t.Errorf("other weights, or %s, want %s", heard(t, s), heard(t, state))
	}
	testkit.Contains(t, statusOf(t, e).Stopped, "the held-out distance is the lowest at the end",
		"of a training with too few epochs")
}

// A training that goes on after its verdict is judged anew, and keeps the best weights of all.
func TestHeldOutDistancesOfExtendedRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("trainings: seconds, and minutes under the race detector")
	}
	e := judgedRun(t)
	trainTo(t, e, Observer{})
	_, before := newest(t, e)
	most := before.Epoch * 3 / 2
	q := extended(t, e, fmt.Sprintf("train.epochs=%d", most))
	trainTo(t, q, Observer{})
	_, s := newest(t, q)
	j := s.Judged
	if s.Epoch != most || j.Since != before.Epoch || j.Verdict != nil ||
		len(j.Measures) <= len(before.Judged.Measures) {
		t.Errorf("%d epochs, since %d, %+v", s.Epoch, j.Since, j.Verdict)
	}
	if m := manifestOf(t, q); m.Stopped != nil || m.Weights == nil || m.Weights.Epoch != j.Chosen {
		t.Errorf("%+v, %+v", m.Stopped, m.Weights)
	}
	checkMarks(t, q, run.CheckpointName(j.ChosenUpdates))
}

// With a budget the training ends by what comes first.
func TestHeldOutDistancesInABudget(t *testing.T) {
	if testing.Short() {
		t.Skip("trainings: seconds, and minutes under the race detector")
	}
	for _, c := range []struct {
		seconds float64 // an epoch takes one
		judged  bool
	}{{1e5, true}, {100, false}} {
		e := judgedRun(t, "train.epochs=0", fmt.Sprintf("train.max_seconds=%v", c.seconds))
		clock := &ticking{epoch: everySecond}
		var verdict train.Verdict
		o := clock.observe(nil)
		o.Verdict = func(v train.Verdict) { verdict = v }
		trainTo(t, clock.of(e), o)
		_, s := newest(t, e)
		m, status := manifestOf(t, e), statusOf(t, e)
		if c.judged {
			if verdict.After == 0 || s.Epoch != verdict.Plan.Epochs || status.Stopped != verdict.String() {
				t.Errorf("%+v; %d epochs, %+v", verdict, s.Epoch, status)
			}
			planned := judgedRun(t, strings.Fields(m.Stopped.Repeat)...)
			trainTo(t, planned, Observer{})
			got, _ := newest(t, planned)
			if want, _ := newest(t, e); got != want {
				t.Errorf("%s gives other weights", m.Stopped.Repeat)
			}
			continue
		}
		if verdict.After != 0 || s.Epoch < 96 || s.Epoch > 100 ||
			!strings.Contains(status.Stopped, "the budget is spent") {
			t.Errorf("%+v; %d epochs, %+v", verdict, s.Epoch, status)
		}
		last := m.Clock[len(m.Clock)-1]
		planned := judgedRun(t, strings.Fields(last.Repeat)...)
		trainTo(t, planned, Observer{})
		got, _ := newest(t, planned)
		if want, _ := newest(t, e); got != want {
			t.Errorf("%s gives other weights", last.Repeat)
		}
	}
}

// scattered are n places on Earth near one point.
func scattered(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%d,%d\n", i%17, (i*7)%23)
	}
	return b.Bytes()
}

// Too few validation rows do not judge: the epochs are those of the problem, or the default, and
// the run says so. Where rows suffice and nothing bounds the training, a documented number does.
func TestTooFewRowsToJudge(t *testing.T) {
	for _, c := range []struct {
		rows, epochs int
		settings     []string
		stop, key    string
	}{
		{190, 1000, nil, "epochs", "train.stop"}, {190, 7, []string{"train.epochs=7"}, "epochs", "train.stop"},
		{190, 0, []string{"train.max_seconds=5000"}, "epochs", "train.stop"},
		{200, train.MostJudged, nil, "held_out", "train.epochs"},
		{200, 7, []string{"train.epochs=7"}, "held_out", ""},
		{200, 0, []string{"train.max_seconds=5000"}, "held_out", ""},
	} {
		file := t.TempDir() + "/some.csv"
		testkit.OK(t, os.WriteFile(file, scattered(c.rows), 0o600))
		source := fmt.Sprintf("data: {kind: earth, path: %q}\nset: {kind: sphere, dim: 3}\n"+
			"train: {stop: held_out}\ndefaults: fixed\n", file)
		r := job.New[*Run](t, Load, []byte(source), "test", c.settings...)
		p := r.Problem.Train
		if p.Stop != c.stop || p.Epochs != c.epochs || p.Anneal != 0.5 {
			t.Errorf("%+v: %+v", c, p)
		}
		chosen := slices.DeleteFunc(slices.Clone(r.Chosen), func(x choose.Choice) bool { return x.Key == "prior" })
		if c.key == "" {
			continue
		}
		if chosen[0].Key != c.key ||
			c.stop == "epochs" && !strings.Contains(chosen[0].Reason, "19 validation rows are too few") {
			t.Errorf("%+v: %+v", c, chosen)
		}
		if again, err := problem.Load(r.Problem.Resolved(), "again", "", nil); err != nil ||
			!bytes.Equal(again.Resolved(), r.Problem.Resolved()) {
			t.Errorf("%+v: config.yaml says another thing: %v", c, err)
		}
	}
}

// Where a network memorises the forward paths of 50 rows, the chosen weights are earlier ones. Their samples are much
// nearer to test rows than those of a training without held-out distances.
func TestHeldOutDistancesKeepEarlierWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("trainings: seconds, and minutes under the race detector")
	}
	few := func(settings ...string) *Run {
		r := begin(t, append([]string{"train.stop=held_out", "train.epochs=2500", "train.batch=25", "train.anneal=0.1",
			"network.width=64", "network.layers=3", "network.octaves=3", "train.times_per_path=10", "process.steps=10",
			"train.refresh=100000", "train.learning_rate=0.002", "train.checkpoint_every=1e6"}, settings...)...)
		r.TrainRows = r.TrainRows[:50*3]
		r.Learned = r.TrainRows
		return r
	}
	judged, plain := few(), few("train.stop=epochs", "train.epochs=1300")
	var rose train.Verdict
	trainTo(t, judged, Observer{Verdict: func(v train.Verdict) { rose = v }})
	trainTo(t, plain, Observer{})
	t.Log(rose)
	if !rose.Rising || rose.From >= rose.After || rose.Plan.Epochs >= rose.After {
		t.Fatalf("%+v", rose)
	}
	to := metric.NewEnergyTo(judged.HeldOutRows, 3)
	estimate := func(r *Run) metric.Estimate {
		trained := testkit.Must(r.Trained(""))
		if epoch := trained.State.Epoch; r == judged && epoch != rose.From {
			t.Errorf("samples are drawn with the weights of epoch %d, not of %d", epoch, rose.From)
		}
		s := testkit.Must(drawn(t, r, trained, 1000))
		return to.Of(s.Good()).Numbered(s.Lost)
	}
	kept, last := estimate(judged), estimate(plain)
	if apart, noise := last.Minus(kept); !(apart > 5*noise) {
		t.Errorf("to test rows the kept weights are at %v, those of 1300 epochs at %v: %v ± %v", kept.Value,
			last.Value, apart, noise)
	}
}

// A network that trains for too long overfits: its held-out loss rises, and training continues from the epoch of the
// lowest loss. A killed training resumes to the same end. The samples are no copies.
func TestHeldOutLossEndsTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("a training of seconds")
	}
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([][]float64, 220)
	for i := range rows {
		x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		size := math.Sqrt(x[0]*x[0] + x[1]*x[1] + x[2]*x[2])
		rows[i] = []float64{x[0] / size, x[1] / size, x[2] / size}
	}
	l := testkit.Must(ofRows(t, "set: {kind: sphere, dim: 3}\n", rows, "train.stop=held_out_loss", "train.epochs=3000",
		"network.width=64", "network.layers=2", "train.batch=44", "train.checkpoint_every=1e6"))
	e := job.Begin[*Run](t, l, []byte("set: {}"))
	var verdict train.Verdict
	var told []run.Record
	killed := map[int]string{}
	losses := map[int]float64{}
	trainTo(t, e, follow(&told, Observer{
		Checkpoint: func(epoch int) { killed[epoch] = copyRun(t, e) },
		HeldOut:    func(m train.Measured, _ string) { losses[m.Epoch] = float64(m.Distance) },
		Verdict:    func(v train.Verdict) { verdict = v },
	}))
	whole := recorded(t, e)
	testkit.EqualSlices(t, whole, lines(told), "told")
	weights, state := newest(t, e)
	j := state.Judged
	t.Logf("%v; chosen epoch %d of %d", verdict, j.Chosen, state.Epoch)
	if !verdict.Loss || !verdict.Rising || !strings.Contains(verdict.String(), "held-out loss") ||
		!(losses[verdict.After] > losses[verdict.Against]) || verdict.From < verdict.Against || state.Epoch >= 3000 {
		t.Fatalf("%+v after %d epochs: losses %v", verdict, state.Epoch, losses)
	}
	if m := manifestOf(t, e); m.Weights == nil || !strings.HasPrefix(m.Weights.Reason, "held-out loss") {
		t.Errorf("%+v", m.Weights)
	}
	undone := verdict.After - verdict.From
	for what, c := range map[string]*train.Cost{"status": statusOf(t, e).Trained,
		"manifest": manifestOf(t, e).Trained} {
		if c == nil || c.Epochs != state.Epoch+undone || c.Seconds < state.Seconds {
			t.Errorf("%s: a training of %d epochs, of which %d were undone, cost %+v", what, state.Epoch, undone, c)
		}
	}
	for _, epoch := range stages(killed, verdict)[1:2] {
		again := testkit.Must(Open(t.Context(), killed[epoch], "", e.Pool, nil))
		told = testkit.Must(again.Folder.Metrics())
		// stopped between two measures, and where the rate falls
		for _, stop := range []struct{ epoch, trained int }{{epoch + 1, epoch + 1},
			{verdict.From + 2, verdict.From + 2 + undone}} {
			ctx, cancel := context.WithCancel(t.Context())
			o := follow(&told, Observer{})
			o.Epoch = func(x train.Epoch) {
				if x.Epoch == stop.epoch && x.Trained == stop.trained {
					cancel()
				}
			}
			if err := again.Train(ctx, "", o); !train.Interrupted(err) {
				t.Errorf("not stopped after epoch %d: %v", stop.epoch, err)
			}
			cancel()
		}
		trainTo(t, again, follow(&told, Observer{}))
		if c := statusOf(t, again).Trained; c == nil || c.Epochs != state.Epoch+undone {
			t.Errorf("killed after epoch %d: it cost %+v", epoch, c)
		}
		if got, s := newest(t, again); got != weights || !bytes.Equal(heard(t, s), heard(t, state)) {
			t.Errorf("killed after epoch %d: other weights after %d epochs", epoch, s.Epoch)
		}
		if got := recorded(t, again); !slices.Equal(got, whole) || !slices.Equal(got, lines(told)) {
			t.Errorf("killed after epoch %d: told of\n%v, metrics.jsonl has\n%v, want\n%v", epoch, lines(told), got,
				whole)
		}
	}
}

// Lines of metrics.jsonl are there once, whenever a training is killed: also that of a held-out distance which was
// interrupted before, so that the checkpoint of its epoch does not know of it; and those from before there was any
// checkpoint.
func TestRecordsOnce(t *testing.T) {
	var rows [][]float64
	for i := range 240 {
		s, c := math.Sincos(float64(i))
		rows = append(rows, []float64{c, s})
	}
	l, err := ofRows(t, "set: {kind: sphere, dim: 2}\n", rows, "train.stop=held_out", "train.epochs=2",
		"process.steps=5", "network.width=8", "network.layers=1", "train.times_per_path=2", "generate.max_failed=1",
		"train.checkpoint_every=1e6")
	testkit.OK(t, err)
	e := job.Begin[*Run](t, l, []byte("set: {}"))
	var early, late string
	var from []int
	ctx, cancel := context.WithCancel(context.Background())
	err = e.Train(ctx, "", Observer{Record: func(r run.Record) {
		if r.Kind == "epoch" && r.Epoch == 1 {
			early = copyRun(t, e)
		} else {
			cancel() // before the held-out distance at the end
		}
	}})
	if !train.Interrupted(err) {
		t.Fatal(err)
	}
	trainTo(t, e, Observer{Record: func(r run.Record) {
		if r.Kind != "held-out" || r.Epoch != 2 {
			t.Errorf("%s of epoch %d comes again", r.Kind, r.Epoch)
		}
		late = copyRun(t, e)
	}})
	want := []string{"epoch 1", "epoch 2", "held-out 2"}
	testkit.EqualSlices(t, recorded(t, e), want)
	for _, dir := range []string{early, late} {
		again := testkit.Must(Open(t.Context(), dir, "", e.Pool, nil))
		trainTo(t, again, Observer{From: func(epoch int) { from = append(from, epoch) }})
		testkit.EqualSlices(t, recorded(t, again), want, "killed")
	}
	testkit.EqualSlices(t, from, []int{-1, 2}, "what stays is told as that up")
}

// follow records the lines of metrics.jsonl that an observer receives.
func follow(told *[]run.Record, o Observer) Observer {
	o.From = func(epoch int) {
		*told = slices.DeleteFunc(*told, func(r run.Record) bool { return r.Epoch > epoch })
	}
	o.Record = func(r run.Record) { *told = append(*told, r) }
	return o
}

// lines are the kinds and epochs of records.
func lines(records []run.Record) (out []string) {
	for _, r := range records {
		out = append(out, fmt.Sprint(r.Kind, " ", r.Epoch))
	}
	return out
}

// recorded are the lines of a run's metrics.jsonl.
func recorded(t *testing.T, r *Run) []string {
	t.Helper()
	records := testkit.Must(r.Folder.Metrics())
	return lines(records)
}
