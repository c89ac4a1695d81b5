package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/tasks"
	"github.com/landing-diffusion/landing/study/work"
)

// generated is what generate prints.
type generated struct {
	Run       string   `json:"run"`
	File      string   `json:"file"`
	Samples   int      `json:"samples"` // asked for
	Written   int      `json:"written"`
	Failed    int      `json:"failed"`
	Lost      []uint64 `json:"failed_samples"` // their numbers
	Wrong     int      `json:"wrong_component"`
	Broken    int      `json:"broken"`
	Violation struct {
		Worst metric.Float `json:"worst"`
	} `json:"violation"`
	Seed    uint64 `json:"seed"`
	First   uint64 `json:"first"`
	Seconds struct {
		Generate float64 `json:"generate"`
	} `json:"seconds"`
	Record      string            `json:"record"` // the file that says how they were drawn
	Drawn       []problem.Drawn   `json:"drawn_by,omitempty"`
	Under       *experiment.Asked `json:"condition,omitempty"`
	Unreachable int               `json:"unreachable,omitempty"`
	Steps       *judge.Steps      `json:"steps,omitempty"`
}

// generateOptions are the flags of generate.
type generateOptions struct {
	tasks.GenerateOptions
	number           int
	out, data, shard string
	seed             uint64
	force            bool
	given            func(flag string) bool
}

func (o *generateOptions) flags(f *pflag.FlagSet) {
	o.given = f.Changed
	f.IntVarP(&o.number, "number", "n", 1000, "number of samples")
	f.StringVarP(&o.out, "output", "o", "samples.npy", "file to write: .npy, .csv, .parquet, or .pdb, .xyz, .sdf, "+
		".dcd, .json")
	checkpointFlag(f, &o.Checkpoint)
	movedFlag(f, &o.data)
	f.StringVar(&o.Condition, "condition", "", "what samples are asked under: name=value,… or a CSV or NPY file")
	f.StringVar(&o.Start, "start", "", "of an arm with an open start: x,y,z, or the values of its joints")
	f.StringVar(&o.Goal, "goal", "", "likewise of an open goal")
	f.Uint64Var(&o.seed, "seed", 0, "seed (default: the problem's)")
	f.Uint64Var(&o.First, "first", 0, "number of the first sample")
	f.BoolVar(&o.force, "force", false, "write over the file if it exists")
	shardFlag(f, &o.shard, "make part i of n of the samples")
	drawFlags(f, &o.Settings, &o.Diagnose)
}

func generateVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "generate RUN",
		Short: "Generate samples from a run",
		Long: `generate draws samples with the averaged weights of a run's newest checkpoint, or of the
best one by held-out distances (train.stop), and writes them to an NPY file (n×d,
float64), a CSV or a Parquet file; conformations of molecules (data.kind molecule) also to PDB, XYZ and
SDF files and DCD trajectories, and as NPY of n×atoms×3; motions of an arm (data.kind
trajectory) as CSV of joint values with time stamps, as JSON like ROS's JointTrajectory, and
as NPY of n×waypoints×coordinates. Sample number i is
a function of the seed and i alone. FILE.json beside FILE says how they were drawn.
--set draws by other keys than the run's, those that take no training.
The data is not needed where the prior has a closed form or lies in the run folder.
There is no bound on -n but the disk, which holds the samples twice on the way.

--shard 2/8 makes the second of eight parts, in FILE.parts; landing merge joins them to the bytes of
one call. A part that is whole is not made again.

A run with a condition (condition.columns) draws -n samples for each row of --condition: values by name, or a
CSV or NPY file. Files hold the condition behind the points. Of an arm whose set leaves start or goal open,
--start and --goal say the same: a position x,y,z in metres, or the values of the joints in radians.`,
		Example: "  landing generate runs/volcano-001 -n 10000 -o samples.npy\n" +
			"  landing generate runs/volcano-001 --set process.steps=25 -o fewer.npy\n" +
			"  landing generate runs/disc-001 --condition radius=1.5 -n 100 -o disc.csv",
		Args: args(1, "a run folder"),
	}, new(generateOptions), runGenerate)
}

func runGenerate(ctx context.Context, a *app, o *generateOptions, args []string) (answer, error) {
	if o.given("seed") {
		o.Seed = &o.seed
	}
	part, err := shard(o.shard)
	if err != nil {
		return answer{}, err
	}
	r, l, err := a.generation(ctx, args[0], o)
	if err != nil {
		return answer{}, err
	}
	if part != (work.Shard{}) {
		if err := noPart(o.given, "force", "diagnose"); err != nil {
			return answer{}, err
		}
		return makePart(ctx, &a.out, l, part, o.out)
	}
	got, verdict := a.draw(ctx, r, l, o)
	if got == nil {
		return answer{}, verdict
	}
	return answer{got, got.print}, verdict
}

// generation opens the run, and returns with it the samples that are asked of it, after all that can be refused has
// been.
func (a *app) generation(ctx context.Context, dir string, o *generateOptions) (*experiment.Run, *tasks.List, error) {
	usage := func(format string, v ...any) (*experiment.Run, *tasks.List, error) {
		return nil, nil, &usageError{fmt.Errorf(format, v...)}
	}
	if o.number <= 0 {
		return usage("-n is %d; expected a number of samples above 0", o.number)
	}
	o.Count, o.Say = uint64(o.number), a.out.say
	ext, err := extension("output", o.out, kinds.Extensions()...)
	if err != nil {
		return nil, nil, err
	}
	if (o.Start != "" || o.Goal != "") && o.Condition != "" {
		return usage("--start and --goal say what --condition says; expected one of them")
	}
	if o.First > math.MaxUint64-o.Count {
		return usage("--first is %d; expected at most %d, for the numbers of %d samples to fit in 64 bits", o.First,
			math.MaxUint64-o.Count, o.Count)
	}
	r, err := a.openToDraw(ctx, dir, o.data)
	if err != nil {
		return nil, nil, err
	}
	if r.Domain.Writer(ext) == nil {
		return nil, nil, noWriter(o.out)
	}
	l, err := tasks.Generation(ctx, r, o.GenerateOptions)
	if errors.As(err, new(*tasks.TaskError)) || r.Condition != nil && o.Condition+o.Start+o.Goal == "" {
		return nil, nil, &usageError{err}
	}
	return r, l, err
}

// draw writes samples to a file. The error may stand beside an answer: that too many failed, or are off the set.
func (a *app) draw(ctx context.Context, r *experiment.Run, l *tasks.List, o *generateOptions) (*generated, error) {
	bar := a.out.progress()
	m, verdict := tasks.Once(ctx, l, o.out, tasks.MergeOptions{Force: o.force, Pool: a.workersPool(),
		Tick: func(done, of uint64) {
			bar.count(int(done), int(of), func() string { return fmt.Sprintf("generated %d of %d", done, of) })
		}})
	bar.done()
	if m == nil {
		return nil, verdict
	}
	d, failed := m.Drawn, len(m.Failed)
	if failed > 0 {
		a.out.say("%d of %d samples failed (%d of them on a wrong component) and are not in %s: %s", failed, m.Rows,
			d.Wrong, o.out, numbers(m.Failed))
	}
	if d.Broken > 0 {
		a.out.say("of %d the simulation broke down, the first: %s", d.Broken, d.Break)
	}
	for _, note := range m.Notes {
		a.out.say("note: %s", note)
	}
	v := &generated{Run: r.Folder.Dir, File: o.out, Samples: int(m.Rows), Written: int(m.Rows) - failed, Failed: failed,
		Lost: m.Failed, Wrong: d.Wrong, Broken: d.Broken, Seed: m.Seed, First: m.First, Record: m.Beside,
		Drawn: m.By, Under: m.Under, Unreachable: d.Begun, Steps: d.Steps}
	v.Violation.Worst, v.Seconds.Generate = d.Worst(), d.Seconds
	return v, verdict
}

func (g *generated) print(w io.Writer) {
	told := "nothing to measure"
	if g.Written > 0 {
		told = fmt.Sprintf("worst violation %.2g", float64(g.Violation.Worst))
	}
	fmt.Fprintf(w, "%d samples in %s (%.2f s), %s\n", g.Written, g.File, g.Seconds.Generate, told)
	if len(g.Drawn) > 0 {
		fmt.Fprintf(w, "drawn by %s\n", drawnBy(g.Drawn))
	}
	printSteps(func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, "  ")) }, g.Steps)
}

// maxNamed bounds the samples that a message names; --json has all.
const maxNamed = 10

// numbers lists the first samples by their numbers.
func numbers[T int | uint64](samples []T) string {
	var b strings.Builder
	for i, n := range samples {
		if i == maxNamed {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return "numbers " + b.String()
}
