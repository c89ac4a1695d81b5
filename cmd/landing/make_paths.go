package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/robot/plan"
	"github.com/landing-diffusion/landing/domain/trajectories"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/experiment/run"
)

// armOptions are the flags of make arm.
type armOptions struct {
	source
	outFile
	labels, unseenOut, modes, near, even string
	starts, goals, reserve               string
	unseen                               int
	columns                              []string // names of the numbers of open places
	shortcuts, smooth                    int
	sd                                   float64
	free, graze                          bool
	plan.Batch
}

func (o *armOptions) flags(f *pflag.FlagSet) {
	o.source.flags(f)
	o.outFile.flags(f, "paths.npy", "file to write")
	f.StringVar(&o.labels, "labels", "", "file for the mode of each row, 0, 1, …")
	f.IntVarP(&o.Count, "number", "n", 400, "number of trajectories")
	f.StringVar(&o.modes, "modes", "any", "sides of the obstacles, as in LR,RL, or any (without a problem: LR,RL)")
	f.StringVar(&o.starts, "starts", "", "where a start that is open is drawn from, as in 0.3:0.5,-0.6:-0.4,0.205")
	f.StringVar(&o.goals, "goals", "", "where a goal that is open is drawn from")
	f.StringVar(&o.near, "near", "", "joint values that starts are drawn about, as in 0.1,-0.5,1.2, or a file of "+
		"configurations or trajectories, for their first waypoints")
	f.Float64Var(&o.sd, "sd", 0.1, "standard deviation of the starts about them, in each joint")
	f.StringVar(&o.even, "even", "joints", "distances between waypoints are even in joints, or of the tip")
	f.IntVar(&o.shortcuts, "shortcuts", 50, "shortcuts that are tried")
	f.IntVar(&o.smooth, "smooth", 10, "passes of smoothing")
	f.Float64Var(&o.Options.Step, "step", 0.2, "length of a step of the trees, in joint space")
	f.StringVar(&o.reserve, "reserve", "0.02", "clearance that the search keeps beyond the margin, in metres: "+
		"waypoints cut corners; LOW:HIGH draws it for each row")
	f.BoolVar(&o.graze, "graze", false, "keep rows that are clear at waypoints alone, not all the way between them")
	f.BoolVar(&o.free, "free-tip", false, "the tip itself may enter obstacles, where the set does not forbid it")
	f.IntVar(&o.unseen, "unseen", 0, "more rows, with places that are in no row of -o")
	f.StringVar(&o.unseenOut, "unseen-output", "", "file for them: .npy, or .csv for the open places alone")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of all random numbers")
}

// check looks at the flags, and completes the options of the planner, whose zeros stand for defaults.
func (o *armOptions) check(given func(flag string) bool, args []string) error {
	if len(args) == 0 && !given("modes") {
		o.modes = "LR,RL"
	}
	if (o.unseen > 0) != (o.unseenOut != "") {
		return usage("--unseen and --unseen-output go together: how many, and where to")
	}
	if ext := filepath.Ext(o.unseenOut); o.unseenOut != "" && ext != ".npy" && ext != ".csv" {
		return badFlag("unseen-output", o.unseenOut, "a file that ends in .npy (rows as in -o) or .csv (the open "+
			"places alone)")
	}
	for _, f := range []*outFile{&o.outFile, {o.labels, o.force}} {
		if _, err := f.ready(".npy"); f.path != "" && err != nil {
			return err
		}
	}
	for _, path := range []string{o.beside(".json").path, o.unseenOut} {
		if path != "" && !o.force {
			if err := run.Free(path); err != nil {
				return err
			}
		}
	}
	low, high, ok := rangeOrNumber(o.reserve)
	if err := bounds(
		bound{"number", o.Count > 0 && o.Count <= 10_000_000, o.Count, "1 to 10,000,000"},
		bound{"shortcuts", o.shortcuts >= 0 && o.shortcuts <= 10_000, o.shortcuts, "0 to 10,000"},
		bound{"smooth", o.smooth >= 0 && o.smooth <= 10_000, o.smooth, "0 to 10,000"},
		bound{"step", o.Options.Step > 0 && o.Options.Step <= 2, o.Options.Step, "a number above 0, up to 2"},
		bound{"sd", o.sd >= 0 && o.sd <= 10, o.sd, "0 to 10"},
		bound{"reserve", ok && low >= 0 && high < 10, o.reserve, "a number or a range LOW:HIGH, 0 or more"},
		bound{"unseen", o.unseen >= 0 && o.unseen <= 10_000_000, o.unseen, "0 to 10,000,000"},
		oneOfWords("even", o.even, "joints", "tip"),
	); err != nil {
		return err
	}
	o.Options.Shortcuts, o.Options.Smooth = orNone(o.shortcuts), orNone(o.smooth)
	o.Options.Sd, o.Options.Reserve = orNone(o.sd), orNone(low)
	o.Spread = high - low
	o.Options.Segments, o.TipToo = !o.graze, !o.free
	if o.even == "tip" {
		o.Options.Even = plan.Tip
	}
	return nil
}

// orNone is a number as the planner's options have it, whose zeros stand for defaults.
func orNone[T int | float64](v T) T {
	if v == 0 {
		return plan.None
	}
	return v
}

func makeArmVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "arm [PROBLEM]",
		Short: "Make trajectories of a robot arm by a planner",
		Long: `arm plans trajectories of the set of a problem file or recipe (kind arm): RRT-Connect on the
constraints, then shortcuts and smoothing on them, waypoints at even distances. It writes rows of
waypoints to an NPY file, the mode of each row to --labels, and how the rows were made to a JSON file
beside it. Without a problem it takes the recipe arm with the modes LR,RL.

A mode has a letter for each obstacle: the side on which the tip passes it, seen from above on the way
from start to goal. L is left, R is right, * is either. Modes get equal parts. With "any" the planner
takes what it finds, and labels are the sides that it found.

Where the set leaves a place open (start: {position: condition}), --starts and --goals are boxes that
the place is drawn from. Its numbers follow the waypoints in a row. --unseen makes as many more rows
with other places.

The rows are the same for a seed, whatever the number of workers.`,
		Example: "  landing make arm -o arm_paths.npy --labels arm_labels.npy\n" +
			"  landing make arm --set set.waypoints=40 -o paths40.npy\n" +
			"  landing make arm myarm.yaml --modes any -n 1000 -o mine.npy",
	}, new(armOptions), runMakeArm)
}

func runMakeArm(ctx context.Context, a *app, o *armOptions, args []string) (answer, error) {
	if err := a.prepareArm(o, append(args, "arm")[0]); err != nil {
		return answer{}, err
	}
	began := time.Now()
	tick, end := counting[int](&a.out, "path")
	o.Report = func(n int) { tick(n, o.Count) }
	paths, err := o.Run(ctx, a.workersPool())
	end()
	if err != nil {
		return answer{}, err
	}
	var unseen *plan.Paths
	if o.unseen > 0 {
		more := o.Unseen(o.unseen)
		more.Report = nil
		if unseen, err = more.Run(ctx, a.workersPool()); err != nil {
			return answer{}, err
		}
	}
	s, err := o.write(paths, unseen, time.Since(began).Seconds())
	if err != nil {
		return answer{}, err
	}
	for _, f := range paths.Failed {
		a.out.say("note: %d of %d queries found no path and were replaced (%s): %s", f.Times, paths.Queries, f.Reason,
			f.First)
	}
	return answer{s, s.print}, nil
}

// prepareArm turns the problem and the flags into a batch.
func (a *app) prepareArm(o *armOptions, name string) error {
	p, _, err := o.load(name)
	if err != nil {
		return err
	}
	proc, err := p.Build()
	if err != nil {
		return err
	}
	set, ok := constraint.As[*trajectory.Set](proc.Set)
	if _, beside := constraint.Free(proc.Set); beside {
		return usage("%s has a condition (%s) that its set does not know of; expected one of places "+
			"that the set leaves open, since the planner has no other numbers",
			name, strings.Join(p.Condition.Columns, ", "))
	}
	if !ok {
		return usage("the set of %s is %s; expected kind arm", name, constraint.Name(proc.Set))
	}
	o.Set, o.Spec, o.columns = proc.Set, set.Spec(), p.Condition.Columns
	if o.Spec.Waypoints < 2 {
		return usage("the set of %s has %d waypoint; expected two at least", name, o.Spec.Waypoints)
	}
	o.Tip = o.Spec.Tip()
	for _, note := range o.Spec.Arm.Notes {
		a.out.say("warning: robot %s: %s", o.Spec.Arm.Name, note)
	}
	if o.Modes, err = plan.Modes(o.modes, len(o.Spec.Obstacles)); err != nil {
		return usage("--modes: %w", err)
	}
	if o.Count < len(o.Modes) {
		return usage("-n is %d; expected one for each of %d modes", o.Count, len(o.Modes))
	}
	if err := o.places(); err != nil {
		return err
	}
	if q := jointValues(o.near); len(q) == o.Spec.Arm.Moving() {
		o.Options.Near = [][]float64{q}
	} else if q != nil {
		return usage("--near has %d joint values; expected %d of the joints of %s", len(q), o.Spec.Arm.Moving(),
			o.Spec.Arm.Name)
	} else if o.near != "" {
		if o.Options.Near, err = trajectories.Firsts(o.near, o.Spec.Arm); err != nil {
			if errors.As(err, new(*dataset.Error)) || errors.As(err, new(*fs.PathError)) {
				return err
			}
			return usage("--near: %w", err)
		}
	}
	return nil
}

// jointValues reads numbers with commas between them; nil if the text is something else.
func jointValues(text string) (out []float64) {
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || v-v != 0 {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// places reads where open places are drawn from.
func (o *armOptions) places() (err error) {
	for _, c := range []struct {
		flag, text string
		of         trajectory.Place
		to         *[2]plan.Point3
	}{{"starts", o.starts, o.Spec.Start, &o.Start}, {"goals", o.goals, o.Spec.Goal, &o.Goal}} {
		place := strings.TrimSuffix(c.flag, "s")
		switch open := c.of.Given != (trajectory.Given{}); {
		case open && c.text == "":
			return usage("the set leaves its %s open: expected --%s with the box that it is drawn "+
				"from, as in 0.3:0.5,-0.6:-0.4,0.205", place, c.flag)
		case !open && c.text != "":
			return usage("--%s is %q; expected none: the set does not leave its %s open (set.%[3]s: "+
				"{position: condition} or {joints: condition})", c.flag, c.text, place)
		case open:
			if *c.to, err = box(c.flag, c.text); err != nil {
				return err
			}
		}
	}
	if o.unseen > 0 && o.starts == "" && o.goals == "" {
		return usage("--unseen is for sets that leave start or goal open; this one has the same for all rows")
	}
	return nil
}

// box reads three ranges LOW:HIGH, or numbers, in metres.
func box(flag, text string) (out [2]plan.Point3, err error) {
	bad := badFlag(flag, text, "three numbers or ranges LOW:HIGH in metres, as in 0.3:0.5,-0.6:-0.4,0.205")
	parts := strings.Split(text, ",")
	if len(parts) != 3 {
		return out, bad
	}
	for k, part := range parts {
		lo, hi, ok := rangeOrNumber(part)
		if !ok || !(math.Abs(lo) < 1e6) || !(math.Abs(hi) < 1e6) {
			return out, bad
		}
		out[0][k], out[1][k] = lo, hi
	}
	return out, nil
}

// rangeOrNumber reads LOW:HIGH, or a number as both.
func rangeOrNumber(text string) (lo, hi float64, ok bool) {
	if !strings.Contains(text, ":") {
		text += ":" + text
	}
	return rangeOf(text)
}

// armStory is how paths were made.
type armStory struct {
	File      string   `json:"file"`
	SHA256    string   `json:"sha256"`
	Version   string   `json:"version"`
	Arm       string   `json:"arm"`
	Waypoints int      `json:"waypoints"`
	Unit      string   `json:"unit"`
	Open      []string `json:"open"`
	Seed      uint64   `json:"seed"`
	Even      string   `json:"even"`
	Reserve   float64  `json:"reserve"`
	Most      float64  `json:"reserve_most"`
	Graze     bool     `json:"graze"`
	Shortcuts int      `json:"shortcuts"`
	Smooth    int      `json:"smooth"`
	Step      float64  `json:"step"`
	plan.Summary
	Unseen      string  `json:"unseen,omitempty"`
	UnseenPaths int     `json:"unseen_paths,omitempty"`
	Seconds     float64 `json:"seconds"`

	story *outFile
}

// write writes what was planned, and how.
func (o *armOptions) write(paths, unseen *plan.Paths, seconds float64) (*armStory, error) {
	data, err := o.saveNPY(paths.X, paths.Count, paths.Dim)
	if err != nil {
		return nil, err
	}
	if o.labels != "" {
		labels := make([]float64, paths.Count)
		for i, l := range paths.Label {
			labels[i] = float64(l)
		}
		if _, err := (&outFile{o.labels, o.force}).saveNPY(labels, paths.Count); err != nil {
			return nil, err
		}
	}
	low := max(o.Options.Reserve, 0)
	s := &armStory{File: o.path, SHA256: run.Hash(data), Version: run.Version(), Arm: o.Spec.Arm.Name,
		Waypoints: o.Spec.Waypoints, Unit: "cosines and sines of joints, metres",
		Open: append([]string{}, o.columns...), Seed: o.Seed, Even: o.even,
		Reserve: low, Most: low + o.Spread, Graze: o.graze, Shortcuts: o.shortcuts, Smooth: o.smooth,
		Step: o.Options.Step, Summary: paths.Summary(o.Spec.Margin), Seconds: seconds, story: o.beside(".json")}
	if unseen != nil {
		s.Unseen, s.UnseenPaths = o.unseenOut, unseen.Count
		to := &outFile{o.unseenOut, o.force}
		if filepath.Ext(to.path) == ".npy" {
			_, err = to.saveNPY(unseen.X, unseen.Count, unseen.Dim)
		} else {
			_, err = to.save(func(w io.Writer) error {
				n := len(o.columns)
				return (&domain.Table{Header: o.columns, Format: "%g"}).Write(w, arrayfile.RowsOf(unseen.Open(n), n))
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return s, s.story.saveStory(s)
}

func (s *armStory) print(w io.Writer) {
	fmt.Fprintf(w, "%s of %d waypoints in %s, how they were made in %s\n", plural(s.Paths, "path"), s.Waypoints, s.File,
		s.story.path)
	for i, sides := range s.Modes {
		fmt.Fprintf(w, "mode %d (%s): %d\n", i, cmp.Or(sides, "no obstacles"), s.Shares[sides])
	}
	fmt.Fprintf(w, "worst violation %.1g; %d of %d are clear of obstacles between waypoints too\n", s.Worst, s.Clear,
		s.Paths)
	fmt.Fprintf(w, "a path took %.3g ms (median), %.3g ms (99th percentile)\n", s.TotalMedian, s.Total99)
}
