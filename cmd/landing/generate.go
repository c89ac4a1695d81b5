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
	"github.com/landing-diffusion/landing/internal/text"
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
	Finished    *judge.Finished   `json:"finished,omitempty"`  // of motions
	Certified   *verified         `json:"certified,omitempty"` // of --certify

	Given *experiment.GivenReport `json:"given,omitempty"`
}

// generateOptions are the flags of generate.
type generateOptions struct {
	tasks.GenerateOptions
	outFile
	data    string
	seed    uint64
	part    work.Shard
	certify bool
}

func (o *generateOptions) flags(f *pflag.FlagSet) {
	f.Uint64VarP(&o.Count, "number", "n", 1000, "number of samples")
	o.outFile.flags(f, "samples.npy", "file to write: .npy, .csv, .parquet, or .pdb, .xyz, .sdf, .dcd, .json")
	checkpointFlag(f, &o.Checkpoint)
	movedFlag(f, &o.data)
	f.StringVar(&o.Condition, "condition", "", "values of the condition: name=value,… or a CSV or NPY file")
	f.StringVar(&o.Start, "start", "", "of an arm with an open start: x,y,z in metres, or values of its joints (rad)")
	f.StringVar(&o.Goal, "goal", "", "likewise of an open goal")
	f.StringVar(&o.Given, "given", "", "a YAML file of constraints and observations that training did not know")
	f.Uint64Var(&o.seed, "seed", 0, "seed (default: the problem's)")
	f.Uint64Var(&o.First, "first", 0, "number of the first sample")
	f.BoolVar(&o.certify, "certify", false, "prove that true points of the set are beside the samples, as verify does")
	shardFlag(f, &o.part, "make part i of n of the samples")
	drawFlags(f, &o.Settings, &o.Diagnose)
}

func (o *generateOptions) check(given func(flag string) bool, _ []string) error {
	if given("seed") {
		o.Seed = &o.seed
	}
	for _, flag := range []string{"force", "diagnose", "certify"} {
		if o.part.N > 0 && given(flag) {
			return usage("--%s and --shard do not go together: a part that is whole is not made again, and landing "+
				"merge writes the file", flag)
		}
	}
	switch {
	case o.Given != "" && (o.part.N > 0 || o.Diagnose):
		return usage("--given goes with neither --shard nor --diagnose: its samples depend on each other")
	case o.Count == 0:
		return badFlag("number", o.Count, "a number of samples above 0")
	case (o.Start != "" || o.Goal != "") && o.Condition != "":
		return usage("--start and --goal say what --condition says; expected one of them")
	case o.First > math.MaxUint64-o.Count:
		return badFlag("first", o.First, fmt.Sprintf("at most %d, for the numbers of %d samples to fit in 64 bits",
			math.MaxUint64-o.Count, o.Count))
	}
	_, err := o.extension(kinds.Extensions()...)
	return err
}

func generateVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "generate RUN",
		Short: "Generate samples from a run",
		Long: `generate draws samples with the averaged weights of a run's newest checkpoint, or of the best one by
held-out distances (train.stop). It writes an NPY file (n×d, float64), a CSV or a Parquet file. Conformations of
molecules also go to PDB, XYZ, SDF and DCD files, and to NPY as n×atoms×3. Motions of an arm go to CSV with
joint values and times, to JSON as ROS's JointTrajectory, and to NPY as n×waypoints×coordinates. Sample
number i is a function of the seed and i alone. FILE.json beside FILE says how the samples were drawn.
The data is not needed where the prior has a closed form or lies in the run folder.
A call writes at most 10¹¹ numbers; the disk holds the samples twice on the way.

--shard 2/8 makes the second of eight parts, in FILE.parts; landing merge joins them to the bytes of
one call. A part that is whole is not made again.

A run with a condition (condition.columns) draws -n samples for each row of --condition: values by name, or a
CSV or NPY file. Files hold the condition behind the points.

--given FILE draws under more constraints and observations: equality, inequality, observe, obstacles of an arm, internal
coordinates of a molecule. The output says which law the samples have. docs/given.md describes the file.`,
		Example: "  landing generate runs/volcano-001 -n 10000 -o samples.npy\n" +
			"  landing generate runs/volcano-001 --set process.steps=25 -o fewer.npy\n" +
			"  landing generate runs/disc-001 --condition radius=1.5 -n 100 -o disc.csv",
	}, new(generateOptions), runGenerate)
}

func runGenerate(ctx context.Context, a *app, o *generateOptions, args []string) (answer, error) {
	r, err := a.open(ctx, args[0], o.data, experiment.OpenToDraw)
	if err != nil {
		return answer{}, err
	}
	if ext, _ := o.extension(kinds.Extensions()...); r.Domain.Writer(ext) == nil {
		return answer{}, noWriter(o.path)
	}
	o.Say = a.out.say
	l, err := tasks.Generation(ctx, r, o.GenerateOptions)
	if err != nil && r.Condition != nil && o.Condition+o.Start+o.Goal == "" {
		return answer{}, usage("%w", err)
	}
	if err != nil {
		return answer{}, err
	}
	if o.part.N > 0 {
		return makePart(ctx, &a.out, l, o.part, o.path)
	}
	tick, end := counting[uint64](&a.out, "generated")
	m, verdict := tasks.Once(ctx, l, o.path, tasks.MergeOptions{Force: o.force, Pool: a.workersPool(), Tick: tick})
	end()
	if m == nil {
		return answer{}, verdict
	}
	d, failed := m.Drawn, len(m.Failed)
	if failed > 0 {
		a.out.say("%d of %d samples failed (%d of them on a wrong component) and are not in %s: %s", failed, m.Rows,
			d.Wrong, o.path, numbers(m.Failed))
	}
	if d.Broken > 0 {
		a.out.say("of %d the simulation broke down, the first: %s", d.Broken, d.Break)
	}
	a.out.notes(m.Notes)
	v := &generated{Run: r.Folder.Dir, File: o.path, Samples: int(m.Rows), Written: int(m.Rows) - failed,
		Failed: failed, Lost: m.Failed, Wrong: d.Wrong, Broken: d.Broken, Seed: m.Seed, First: m.First,
		Record: m.Beside, Drawn: m.By, Under: m.Under, Unreachable: d.Begun, Steps: d.Steps, Finished: d.Finished,
		Given: d.Given}
	v.Violation.Worst, v.Seconds.Generate = d.Worst(), d.Seconds
	if o.certify && v.Written > 0 {
		var c error
		v.Certified, c = a.verifyRun(ctx, r, o.path, 0, &outFile{force: o.force})
		verdict = errors.Join(verdict, c)
	}
	return answer{v, v.print}, verdict // that too many failed, or are off the set
}

func (g *generated) print(w io.Writer) {
	told := "nothing to measure"
	switch {
	case g.Written > 0 && g.Violation.Worst.IsNaN():
		told = "there are no constraints"
	case g.Written > 0:
		told = fmt.Sprintf("worst violation %.2g", float64(g.Violation.Worst))
	}
	fmt.Fprintf(w, "%d samples in %s (%.2f s), %s\n", g.Written, g.File, g.Seconds.Generate, told)
	if f := g.Finished; f != nil {
		which := ""
		if len(f.Replaced) > 0 {
			which = " (" + numbers(f.Replaced) + ")"
		}
		fmt.Fprintf(w, "motions that can be run: %d repaired, %d drawn again%s; between waypoints tasks are off by at "+
			"most %.2g\n", f.Repaired, len(f.Replaced), which, float64(f.Off))
	}
	if g.Given != nil {
		fmt.Fprintln(w, g.Given)
	}
	if len(g.Drawn) > 0 {
		var by []string
		for _, d := range g.Drawn {
			by = append(by, d.String())
		}
		fmt.Fprintf(w, "drawn by %s\n", strings.Join(by, ", "))
	}
	if g.Steps != nil && len(g.Steps.Component) > 0 {
		fmt.Fprintf(w, "on the way: %s\n", g.Steps)
	}
	if g.Certified != nil {
		g.Certified.print(w)
	}
}

// madePart is what generate prints of a part.
type madePart struct {
	Shard   string       `json:"shard"`
	Parts   string       `json:"parts"`          // folder of all parts
	Part    string       `json:"part,omitempty"` // folder of this one; missing if it is empty
	First   uint64       `json:"first"`          // number of its first row
	Rows    uint64       `json:"rows"`
	Made    bool         `json:"made"` // by this call
	Files   []tasks.File `json:"files,omitempty"`
	Kernel  string       `json:"kernel,omitempty"`
	Seconds float64      `json:"seconds"` // that it took to make
	Detail  *tasks.Drawn `json:"detail,omitempty"`
}

// makePart makes a part of a list in the folder of the parts of a file, and prints what it made.
func makePart(ctx context.Context, c *console, l *tasks.List, s work.Shard, out string) (answer, error) {
	lo, hi := s.Range(l.Count)
	p := madePart{Shard: s.String(), Parts: out + partsDir, First: l.From + lo, Rows: hi - lo}
	tick, end := counting[uint64](c, fmt.Sprintf("part %s: row", s))
	part, before, err := l.Part(ctx, &work.Store{Dir: p.Parts}, s, tick)
	end()
	if err != nil {
		return answer{}, err
	}
	if part == nil {
		return answer{p, func(w io.Writer) {
			fmt.Fprintf(w, "part %s of %s is empty: there are more parts than rows\n", s, plural(int(l.Count), "row"))
		}}, nil
	}
	r := part.Result
	if d := r.Detail; d.Failed > 0 {
		c.say("%d samples of the part failed (%d of them on a wrong component)", d.Failed, d.Wrong)
	}
	p.Part, p.Made = part.Dir, before.State != work.Done
	p.Files, p.Kernel, p.Seconds, p.Detail = r.Files, r.Kernel, r.Seconds, &r.Detail
	return answer{p, func(w io.Writer) {
		word := "made"
		if !p.Made {
			word = "is whole already, made"
		}
		fmt.Fprintf(w, "part %s: rows %d to %d of %d in %s, %s in %.2f s, worst violation %.2g\n", s, p.First,
			p.First+p.Rows-1, l.Count, p.Part, word, r.Seconds, float64(r.Detail.Worst()))
		fmt.Fprintf(w, "when all parts are there:  landing merge %s\n", text.Shell(p.Parts))
	}}, nil
}

// maxNamed bounds the samples that a message names; --json has all.
const maxNamed = 10

// numbers lists the first samples by their numbers.
func numbers(samples []uint64) string {
	more := ""
	if len(samples) > maxNamed {
		samples, more = samples[:maxNamed], ", …"
	}
	return "numbers " + strings.ReplaceAll(strings.Trim(fmt.Sprint(samples), "[]"), " ", ", ") + more
}
