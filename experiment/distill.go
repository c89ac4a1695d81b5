package experiment

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method/fewstep"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/gaussian"
	"github.com/landing-diffusion/landing/problem"
)

// A Student says what a few-step student of a run is to be.
type Student struct {
	Steps    []int    // numbers of evaluations a sample; the largest is the student's default; nil: 1, 2, 4
	Samples  int      // of the run, that it learns; 0: mostLearned, or fewer where a path has many numbers
	Settings []string // key=value, over all else
}

// MostSteps bounds the evaluations of a student.
const MostSteps = 65

// A student learns mostLearned samples. It learns fewer if their paths have more than learnedNumbers numbers, but at
// least leastLearned. It trains for learnedUpdates updates, or for fewerUpdates in many directions, where an update
// costs more and gains less. Training stops when validation rows no longer come nearer: a state at a fine level
// identifies its sample, and the answers of an overfitted network have no spread (docs/distill.md). Levels, batches and
// refreshes are those of package choose.
const (
	mostLearned, leastLearned = 20_000, 4000
	learnedNumbers            = 3e7
	learnedUpdates            = 9000
	fewerUpdates              = 3000
)

// resolved returns s with its numbers filled in, the steps in descending order; path is how many numbers a path has.
func (s Student) resolved(path int) Student {
	s.Steps = slices.Clone(s.Steps)
	if len(s.Steps) == 0 {
		s.Steps = []int{1, 2, 4}
	}
	slices.Sort(s.Steps)
	s.Steps = slices.Compact(s.Steps)
	slices.Reverse(s.Steps)
	s.Samples = cmp.Or(s.Samples, min(mostLearned, max(leastLearned, learnedNumbers/path)))
	return s
}

// canTeach returns an error if the run has no few-step students.
func canTeach(r *Run) error {
	p := r.Problem
	if _, err := langevin.ParseMethod(p.Process.Method); err != nil {
		why := fmt.Sprintf("its method is %s; students are of runs of ULLA, OLLA, ULLA-P or OLLA-P", r.Method.Name())
		if strings.HasPrefix(r.Method.Name(), fewstep.Prefix) {
			why = "it makes samples in a few evaluations itself; distill its teacher"
		}
		return fault.Errorf(fault.Config, "", "%s cannot be distilled: %s", r.Folder.Dir, why)
	}
	return nil
}

// keys are those of a student that are not its teacher's, as settings: rows is the file of samples. The network sees
// noise in the place of a momentum, its outputs have a unit of their own, and there is no window to average over.
func (s Student) keys(r *Run, rows string) []string {
	p, net := r.Problem, r.Problem.Network
	levels, batch := s.Steps[0]-1, choose.DrawBatch(s.Samples)
	_, spread := metric.Spread(r.TrainRows, r.Process.Set.Dim())
	coarse, fine := choose.Levels(spread/math.Sqrt(float64(directions(r))), r.Process.Spread(r.Process.Schedule.N),
		directions(r), levels)
	updates, stop := learnedUpdates, "epochs"
	if choose.ManyDirections(directions(r)) {
		updates, stop = fewerUpdates, "held_out_loss"
	}
	keys := []string{
		"name=" + p.Name + "-few",
		"defaults=" + problem.FixedDefaults,
		"process.method=" + fewstep.Prefix + p.Process.Method,
		fmt.Sprintf("process.options={levels: %d, coarse: %.4g, fine: %.4g}", levels, coarse, fine),
		"network.output=plain", fmt.Sprintf("network.time_octaves=%d", max(net.TimeOctaves, 4)),
		"train.window=0", "train.paths=0", "train.times_per_path=0",
		fmt.Sprintf("train.refresh=%d", choose.DrawRefresh(r.Process.Set, r.Process.Schedule.N, levels, net.Width,
			net.Layers, net.Octaves)),
		fmt.Sprintf("train.batch=%d", batch),
		fmt.Sprintf("train.epochs=%d", max(1, updates*batch/s.Samples)),
		"train.optimizer=muon", "train.precision=bfloat16", "train.learning_rate=0.005", "train.anneal=0.5",
		"train.average=0.999", "train.plateau.factor=0", "train.stop=" + stop, "train.max_seconds=0",
		fmt.Sprintf("generate.evaluations=%d", s.Steps[0]),
	}
	if net.Kind == gaussian.Kind.Name { // few-step methods have no Gaussian score to add
		keys = append(keys, "network.kind="+score.MLPKind.Name)
	}
	if net.Octaves > 0 {
		keys = append(keys, "network.octaves_of=start")
	}
	if r.Condition != nil { // samples are guided by the teacher
		keys = append(keys, "condition.drop=0", "generate.guidance=0")
	}
	return append(append(keys, s.Settings...), problem.TaughtKey+"="+rows)
}

func directions(r *Run) int { return max(1, r.Process.Set.Dim()-len(r.Process.Set.Equalities())) }

// A Lesson is what a student is begun with.
type Lesson struct {
	Problem *problem.Problem
	Teacher run.Teacher
	dir     string // of the file of samples, which Begin copies
}

// Remove removes the file of samples.
func (l *Lesson) Remove() { os.RemoveAll(l.dir) }

// Teach draws samples of the run into a file and returns the problem of a student that learns them.
// tick, if not nil, hears how many are drawn. Errors are *TeacherError, *problem.KeyError, those of Trained
// and of Generate; nothing is drawn if the problem is at fault.
func Teach(ctx context.Context, r *Run, s Student, checkpoint string, tick func(done, of int)) (*Lesson, error) {
	if err := canTeach(r); err != nil {
		return nil, err
	}
	s = s.resolved(r.Process.Schedule.N * r.Process.Set.Dim())
	t, err := r.Trained(checkpoint)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "landing-")
	if err != nil {
		return nil, err
	}
	l := &Lesson{dir: dir}
	if err := teach(ctx, r, s, t, l, tick); err != nil {
		l.Remove()
		return nil, err
	}
	return l, nil
}

func teach(ctx context.Context, r *Run, s Student, t *Trained, l *Lesson, tick func(done, of int)) (err error) {
	file := filepath.Join(l.dir, "learned.npy")
	keys := problem.ParseSettings(s.keys(r, file)...)
	if l.Problem, err = problem.Load(r.Problem.Resolved(), run.ConfigFile, "", keys); err != nil {
		return err
	}
	l.Problem.Data.Path = r.Problem.Data.Path
	for key, path := range r.Problem.Files() {
		if key != problem.KeyDataPath && key != problem.TaughtKey {
			l.Problem.SetFile(key, path)
		}
	}
	if _, err := l.Problem.Build(); err != nil {
		return err
	}
	if l.Teacher, err = teacher(r, run.CheckpointName(t.State.Updates)); err != nil {
		return err
	}
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return err
	}
	if r.Condition != nil {
		prior = prior.Under(r.Condition.Of(r.TrainRows), 1)
	}
	drawn, err := r.Generate(ctx, t, prior, s.Samples, lessons, r.Problem.Seed, func(done int) {
		if tick != nil {
			tick(done, s.Samples)
		}
	})
	if err != nil {
		return err
	}
	l.Teacher.Samples, l.Teacher.Failed, l.Teacher.First = s.Samples, drawn.Failed(), lessons
	l.Teacher.Seed, l.Teacher.Seconds = r.Problem.Seed, drawn.Time.Seconds()
	l.Teacher.Each = float64(drawn.Evaluated) / float64(drawn.N())
	var b bytes.Buffer
	good := drawn.Good()
	if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{len(good) / drawn.Dim, drawn.Dim},
		Float64: good}); err != nil {
		return err
	}
	return run.WriteFile(file, b.Bytes(), true)
}

// lessons is the number of the first sample that students learn: those that people ask for and judge are others.
const lessons = 1 << 40

// teacher says which run, and which weights of it, drew.
func teacher(r *Run, checkpoint string) (run.Teacher, error) {
	t := run.Teacher{Method: r.Method.Name(), Checkpoint: checkpoint, Config: r.Config}
	var err error
	if t.Run, err = filepath.Abs(r.Folder.Dir); err != nil {
		return t, err
	}
	manifest, err := r.Folder.Read(run.ManifestFile)
	if err != nil {
		return t, err
	}
	t.Manifest = run.Hash(manifest)
	t.Weights, err = r.Folder.Checkpoints().WeightsHash(checkpoint)
	return t, err
}

// Counted compares samples with a given number of evaluations of the network with the data.
type Counted struct {
	Evaluations float64      `json:"evaluations"`  // a sample
	Distance    metric.Float `json:"jsd"`          // to all data; null where none is defined
	Ratio       metric.Float `json:"over_teacher"` // of the distance to the teacher's
	Violation   metric.Float `json:"violation"`    // the worst
	Failed      int          `json:"failed"`
	Seconds     float64      `json:"seconds"`
}

// A StudentReport says how good a few-step student is.
type StudentReport struct {
	Of      Counted         `json:"teacher_samples"`
	Samples []Counted       `json:"samples"` // of the student, those of the most evaluations first
	Good    bool            `json:"good"`    // what Verdict is of
	Verdict string          `json:"verdict"`
	Remedy  *verdict.Remedy `json:"remedy,omitempty"`
}

// ReportStudent judges samples of a checkpoint of a teacher, and samples of its student by each number of evaluations.
func ReportStudent(ctx context.Context, teacher, student *Run, checkpoint string, steps []int) (*StudentReport, error) {
	of, err := teacher.counted(ctx, checkpoint)
	if err != nil {
		return nil, err
	}
	over := func(c Counted) Counted {
		if of.Distance > 0 {
			c.Ratio = c.Distance / of.Distance
		}
		return c
	}
	report := &StudentReport{Of: over(of)}
	for _, n := range slices.Backward(steps) {
		r, err := student.Redraw(ctx, problem.Settings{{Key: problem.KeyGenerateEvaluations, Value: n}})
		if err != nil {
			return nil, err
		}
		c, err := r.counted(ctx, "")
		if err != nil {
			return nil, err
		}
		report.Samples = append(report.Samples, over(c))
	}
	last, err := LastEpoch(student.Folder)
	if err != nil {
		return nil, err
	}
	m, err := student.Folder.Manifest()
	if err != nil {
		return nil, err
	}
	report.judge(student.Problem, student.Folder.Dir, m.Teacher.Run, last.Epoch, m.Stopped != nil)
	return report, nil
}

func (r *Run) counted(ctx context.Context, checkpoint string) (Counted, error) {
	c := Counted{Ratio: metric.NaN}
	t, err := r.Trained(checkpoint)
	if err != nil {
		return c, err
	}
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return c, err
	}
	n := r.SampleCount()
	s, failed := r.Generate(ctx, t, prior, n, 0, r.Problem.Seed, nil)
	if s == nil {
		return c, failed
	}
	good := s.Good()
	c.Evaluations, c.Distance = float64(s.Evaluated)/float64(n), r.Reference().DistanceTo(good)
	c.Failed, c.Seconds = s.Failed(), s.Time.Seconds()
	if len(good) > 0 {
		c.Violation = judge.Largest(judge.Violations(r.Process.Set, good)).Worst
	}
	return c, nil
}

// faithful is how far from the data, in distances of the teacher's, samples of a good student are at most.
const faithful = 1.5

// judge says whether a student is as good as it should be by the most evaluations of its network, and what to do.
// student and teacher are run folders; ended says that validation rows ended the student's training, which may have
// been too long. In many directions each evaluation may bring samples closer together, so that fewer are nearer to the
// data (docs/distill.md).
func (d *StudentReport) judge(p *problem.Problem, student, teacher string, epochs int, ended bool) {
	c := d.Samples[0]
	of := "samples of " + text.Plural(int(math.Round(c.Evaluations)), "evaluation")
	far := fmt.Sprintf("%s are %.2f times as far from the data as the teacher's", of, float64(c.Ratio))
	faulty := func(c Counted) bool {
		return c.Failed > d.Of.Failed || float64(c.Violation) > max(float64(d.Of.Violation), p.Generate.MaxViolation)
	}
	longer := &verdict.Remedy{Verb: verdict.GoOn, Run: student, Seconds: math.Ceil(2 * p.Train.MaxSeconds)}
	if p.Train.MaxSeconds == 0 {
		longer.Settings = []string{fmt.Sprintf("train.epochs=%d", 3*p.Train.Epochs)}
	}
	switch d.Remedy = longer; {
	case c.Failed > d.Of.Failed:
		d.Verdict = fmt.Sprintf("of %s %d failed, of the teacher's %d: they could not be brought to the set", of,
			c.Failed, d.Of.Failed)
		return
	case faulty(c):
		d.Verdict = fmt.Sprintf("%s violate the set by %.2g, the teacher's by %.2g", of, float64(c.Violation),
			float64(d.Of.Violation))
		return
	case c.Ratio.IsNaN():
		d.Verdict = "no distance is defined for these data: landing report --text says what samples are worth"
		d.Remedy = &verdict.Remedy{Verb: verdict.Evaluate, Run: student}
		return
	case c.Ratio <= faithful:
		d.Good, d.Remedy = true, nil
		d.Verdict = fmt.Sprintf("%s, within %v", far, faithful)
		return
	}
	best := c
	for _, fewer := range d.Samples[1:] {
		if fewer.Ratio < best.Ratio && !faulty(fewer) {
			best = fewer
		}
	}
	if n := int(math.Round(best.Evaluations)); best.Ratio <= faithful {
		d.Verdict = fmt.Sprintf("%s, above %v: take %d, whose samples are %.2f times as far", far, faithful, n,
			float64(best.Ratio))
		d.Remedy = &verdict.Remedy{Verb: verdict.Generate, Run: student,
			Settings: []string{fmt.Sprintf("generate.evaluations=%d", n)}}
		return
	}
	mends := "longer"
	if ended {
		mends = "shorter"
		d.Remedy = &verdict.Remedy{Verb: verdict.Distill, Run: teacher,
			Settings: []string{"train.stop=epochs", fmt.Sprintf("train.epochs=%d", max(1, epochs/2))}}
	}
	d.Verdict = fmt.Sprintf("%s, above %v: %s training may bring them nearer, or a student of more evaluations "+
		"(--steps %d)", far, faithful, mends, 2*int(math.Round(c.Evaluations)))
}
