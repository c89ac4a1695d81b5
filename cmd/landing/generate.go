package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/tasks"
	"github.com/landing-diffusion/landing/work"
)

// maxNumbers bounds the numbers that one call generates: with the file, they are in
// memory about three times.
const maxNumbers = 100_000_000

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
	Drawn       []problem.Setting `json:"drawn_by,omitempty"`
	Under       *experiment.Asked `json:"condition,omitempty"`
	Unreachable int               `json:"unreachable,omitempty"`
	Steps       *experiment.Steps `json:"steps,omitempty"`
}

func (a *app) generate() *cobra.Command {
	var n int
	var out, checkpoint, data, condition, start, goal, share string
	var seed, first uint64
	var force, diagnose bool
	var settings []string
	cmd := &cobra.Command{
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

--shard 2/8 makes the second of eight parts, in FILE.parts; landing merge joins them to the bytes of
one call. A part that is whole is not made again, and there is no bound on -n but the disk.

A run with a condition (condition.columns) draws -n samples for each row of --condition: values by name, or a
CSV or NPY file. Files hold the condition behind the points. Of an arm whose set leaves start or goal open,
--start and --goal say the same: a position x,y,z in metres, or the values of the joints in radians.`,
		Example: "  landing generate runs/volcano-001 -n 10000 -o samples.npy\n" +
			"  landing generate runs/volcano-001 --set process.steps=25 -o fewer.npy\n" +
			"  landing generate runs/disc-001 --condition radius=1.5 -n 100 -o disc.csv",
		Args: args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n <= 0 {
				return &usageError{fmt.Errorf("-n is %d; expected a number of samples above 0", n)}
			}
			part, err := shard(share)
			if err != nil {
				return err
			}
			ext := strings.ToLower(filepath.Ext(out))
			if known := kinds.Extensions(); !slices.Contains(known, ext) {
				return &usageError{fmt.Errorf("-o is %q; expected a file that ends in %s", out,
					strings.Join(known, " or "))}
			}
			r, err := a.openToDraw(args[0], data)
			if err != nil {
				return err
			}
			if part != (work.Shard{}) {
				o := tasks.GenerateOptions{Checkpoint: checkpoint, Settings: settings, First: first, Count: uint64(n),
					Condition: condition, Start: start, Goal: goal}
				if cmd.Flags().Changed("seed") {
					o.Seed = &seed
				}
				return a.generatePart(cmd, r, o, part, out)
			}
			if r, err = r.Redraw(settings); err != nil {
				return err
			}
			asked, err := a.asked(r, condition, start, goal)
			if err != nil {
				return err
			}
			each, rows := n, 1
			if asked != nil {
				rows = asked.N(r.Condition)
			}
			if rows > 1 && n > maxNumbers/rows {
				return &usageError{fmt.Errorf(
					"-n is %d under each of %d conditions; expected at most %d samples in all", n,
					rows, maxNumbers)}
			}
			n *= rows
			write := r.Domain.Writer(ext)
			if write == nil {
				return &usageError{fmt.Errorf("-o is %q; this kind of data is not written to such files, but to .npy "+
					"or .csv", out)}
			}
			if float64(n)*float64(r.Data.D) > maxNumbers {
				return &usageError{fmt.Errorf("-n is %d; expected at most %.0g numbers in all samples; --first goes "+
					"on from an earlier call", n, float64(maxNumbers))}
			}
			if first > math.MaxUint64-uint64(n) {
				return &usageError{fmt.Errorf("--first is %d; expected at most %d, for the numbers of %d samples to "+
					"fit in 64 bits",
					first, math.MaxUint64-uint64(n), n)}
			}
			if !force {
				if err := run.Free(out); err != nil {
					return err
				}
				if _, err := experiment.ReadRecord(out); err != nil { // what is there is no left-over of ours
					return &run.ExistsError{Path: experiment.RecordName(out)}
				}
			}
			t, err := r.Trained(checkpoint)
			if err != nil {
				return err
			}
			if w := r.Weights(); checkpoint == "" && w != nil {
				a.say("weights: of epoch %d, checkpoint %s: %s", w.Epoch, w.Checkpoint, w.Reason)
			}
			for _, says := range r.Standing(t) {
				a.say("note: %s", says)
			}
			if !cmd.Flags().Changed("seed") {
				seed = r.Problem.Seed
			}
			prior, err := r.Prior(cmd.Context(), nil)
			if err != nil {
				return err
			}
			if asked != nil {
				prior = prior.Under(asked.Rows, each)
			}
			bar := a.progress()
			draw := r.Generate
			if diagnose {
				draw = r.Diagnose
			}
			s, failed := draw(cmd.Context(), t, prior, n, first, seed, func(done int) {
				bar.count(done, n, func() string { return fmt.Sprintf("generated %d of %d", done, n) })
			})
			bar.done()
			if s == nil {
				return failed
			}
			var b bytes.Buffer
			if err := write(&b, arrayfile.RowsOf(s.Good(), s.Dim)); err != nil {
				return err
			}
			if err := run.WriteFile(out, b.Bytes(), force); err != nil {
				return err
			}
			record := r.Record(s, t.State, first, seed, b.Bytes())
			if asked != nil {
				record.Under = &experiment.Asked{Names: r.Condition.Names, Given: condition, Rows: rows, Each: each}
			}
			if err := record.Write(out, true); err != nil {
				return err
			}
			components, violated := r.CheckViolation(s)
			worst, told := math.NaN(), "nothing to measure"
			if len(components) > 0 {
				worst = 0
				for _, c := range components {
					worst = max(worst, float64(c.Worst))
				}
				told = fmt.Sprintf("worst violation %.2g", worst)
			}
			lost := record.Failed
			if len(lost) > 0 {
				a.say("%d of %d samples failed (%d of them on a wrong component) and are not in %s: %s",
					len(lost), n, s.Wrong,
					out, numbers(lost))
			}
			if s.Broken > 0 {
				a.say("of %d the simulation broke down, the first: %v", s.Broken, s.Break)
			}
			if off, rounds := r.Rounded(ext, s); rounds {
				a.sayRounded(out, off, worst)
			}
			result := generated{Run: r.Folder.Dir, File: out, Samples: s.N(), Written: s.N() - s.Failed(),
				Failed: len(lost), Lost: lost, Wrong: s.Wrong, Broken: s.Broken, Seed: seed, First: first,
				Record: experiment.RecordName(out), Drawn: r.Drawn, Under: record.Under, Steps: s.Steps}
			result.Violation.Worst, result.Seconds.Generate = metric.Float(worst), s.Time.Seconds()
			if record.Under != nil {
				result.Unreachable = s.Begun
			}
			if err := a.result(result, func(w io.Writer) {
				fmt.Fprintf(w, "%d samples in %s (%.2f s), %s\n", s.N()-s.Failed(), out, s.Time.Seconds(), told)
				if len(r.Drawn) > 0 {
					fmt.Fprintf(w, "drawn by %s\n", drawnBy(r.Drawn))
				}
				printSteps(func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, "  ")) }, s.Steps)
			}); err != nil {
				return err
			}
			return errors.Join(failed, violated)
		},
	}
	cmd.Flags().IntVarP(&n, "number", "n", 1000, "number of samples")
	cmd.Flags().StringVarP(&out, "output", "o", "samples.npy", "file to write: .npy, .csv, .parquet, or .pdb, "+
		".xyz, .sdf, .dcd, .json")
	checkpointFlag(cmd.Flags(), &checkpoint)
	movedFlag(cmd.Flags(), &data)
	cmd.Flags().StringVar(&condition, "condition", "", "what samples are asked under: name=value,… or a CSV or "+
		"NPY file")
	cmd.Flags().StringVar(&start, "start", "", "of an arm with an open start: x,y,z, or the values of its joints")
	cmd.Flags().StringVar(&goal, "goal", "", "likewise of an open goal")
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed (default: the problem's)")
	cmd.Flags().Uint64Var(&first, "first", 0, "number of the first sample")
	cmd.Flags().BoolVar(&force, "force", false, "write over the file if it exists")
	shardFlag(cmd.Flags(), &share, "make part i of n of the samples")
	drawFlags(cmd.Flags(), &settings, &diagnose)
	return cmd
}

// generatePart makes a part of the samples of a run.
func (a *app) generatePart(cmd *cobra.Command, r *experiment.Run, o tasks.GenerateOptions, s work.Shard,
	out string) error {
	if err := noPart(cmd.Flags().Changed, "force", "diagnose"); err != nil {
		return err
	}
	if write := r.Domain.Writer(strings.ToLower(filepath.Ext(out))); write == nil {
		return &usageError{fmt.Errorf("-o is %q; this kind of data is not written to such files, but to .npy or .csv",
			out)}
	}
	l, err := tasks.Generation(r, o)
	if errors.As(err, new(*tasks.TaskError)) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	return a.makePart(cmd.Context(), l, s, out, func(result *tasks.Result) (told, warning string, err error) {
		var d tasks.Drawn
		if err := json.Unmarshal(result.Detail, &d); err != nil {
			return "", "", err
		}
		if d.Failed > 0 {
			warning = fmt.Sprintf("%d samples of the part failed (%d of them on a wrong component)", d.Failed, d.Wrong)
		}
		return fmt.Sprintf(", worst violation %.2g", float64(d.Worst())), warning, nil
	})
}

// asked reads the conditions that samples are asked under; nil of a run without one.
func (a *app) asked(r *experiment.Run, condition, start, goal string) (asked *experiment.Conditions, err error) {
	switch ends := start != "" || goal != ""; {
	case ends && condition != "":
		return nil, &usageError{errors.New("--start and --goal say what --condition says; expected one of them")}
	case ends:
		asked, err = r.Between(start, goal)
	case condition != "":
		asked, err = r.Conditions(condition)
	case r.Condition == nil:
		return nil, nil
	default:
		return nil, &usageError{fmt.Errorf("the run has a condition: expected --condition with values of %s, or a "+
			"file with a row for each", strings.Join(r.Condition.Names, ", "))}
	}
	if err == nil && asked.Warning != "" {
		a.say("warning: %s", asked.Warning)
	}
	return asked, err
}

// maxNamed bounds the samples that a message names; --json has all.
const maxNamed = 10

// numbers lists the first samples by their numbers.
func numbers(samples []uint64) string {
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
