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
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method/fewstep"
	"github.com/landing-diffusion/landing/problem"
)

// learned returns the rows that the network learns.
func (l *Loaded) learned() []float64 {
	if l.Taught != nil {
		return l.Taught
	}
	return l.TrainRows
}

// taught returns the rows of data.train; nil without.
func taught(ctx context.Context, p *problem.Problem, set constraint.Set, pool *parallel.Pool) ([]float64, error) {
	path := p.Data.Train
	if path == "" {
		return nil, nil
	}
	points, err := dataset.ReadPoints(path)
	if err != nil {
		return nil, err
	}
	if d := set.Dim(); points.D != d || points.N < 1 {
		return nil, badData(path, "has %d points of %d coordinates; expected points of %d (%s)",
			points.N, points.D, d, problem.TaughtKey)
	}
	if fault, _ := offSet(ctx, p, set, points, pool); fault != "" {
		return nil, badData(path, "%s", fault)
	}
	return points.X, nil
}

// A Student says what a few-step student of a run is to be.
type Student struct {
	Steps    []int    // numbers of evaluations that it is asked for; the largest is its own; nil: 1, 2, 4
	Samples  int      // of the run, that it learns; 0: mostLearned, or fewer where a path has many numbers
	Settings []string // key=value, over all else
}

// MostSteps bounds the evaluations of a student.
const MostSteps = 65

// A student learns mostLearned samples, or as many as have so many numbers on their paths, but at least
// leastLearned, in so many updates; in many directions in fewer, which cost more and gain less from each other, and no
// more than bring validation rows nearer: there a state at a fine level tells which sample it is of, and a network that
// knows them by heart has answers without spread (docs/distill.md). Levels, batches and refreshes are those of
// package choose.
const (
	mostLearned, leastLearned = 20_000, 4000
	learnedNumbers            = 3e7
	learnedUpdates            = 9000
	fewerUpdates              = 3000
)

// resolved returns s with its numbers given, the steps in descending order, for paths of so many numbers.
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
	if r.Condition != nil {
		return fault.Errorf(fault.Config, "", "%s cannot be distilled: it has a condition (condition.columns), which "+
			"few-step methods do not know", r.Folder.Dir)
	}
	return nil
}

// keys are those of a student that are not its teacher's, as settings: rows is the file of samples. The network sees
// noise in the place of a momentum, its outputs have a unit of their own, and there is no window to average over.
func (s Student) keys(r *Run, rows string) []string {
	p, net := r.Problem, r.Problem.Network
	levels, batch := s.Steps[0]-1, choose.DrawBatch(s.Samples)
	coarse, fine := choose.Levels(spread(r), r.Process.Spread(r.Process.Schedule.N), directions(r), levels)
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
	if net.Octaves > 0 {
		keys = append(keys, "network.octaves_of=start")
	}
	return append(append(keys, s.Settings...), problem.TaughtKey+"="+rows)
}

// spread returns the root mean square distance of the training rows from their mean, a direction of Σ.
func spread(r *Run) float64 {
	d := r.Process.Set.Dim()
	n, mean, sum := len(r.TrainRows)/d, make([]float64, d), 0.0
	for i, v := range r.TrainRows {
		mean[i%d] += v / float64(n)
	}
	for i, v := range r.TrainRows {
		sum += (v - mean[i%d]) * (v - mean[i%d])
	}
	return math.Sqrt(sum / float64(n*directions(r)))
}

// directions returns how many there are along Σ.
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
	t.Weights, err = r.Folder.WeightsHash(checkpoint)
	return t, err
}
