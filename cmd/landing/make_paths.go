package main

import (
	"bytes"
	"encoding/json"
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

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/trajectory"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/trajectories"
	"github.com/landing-diffusion/landing/robot/plan"
	"github.com/landing-diffusion/landing/run"
)

// arm are the flags of landing make arm.
type arm struct {
	source
	out, labels, modes, near, even string
	starts, goals                  string
	unseen                         int
	unseenOut                      string
	columns                        []string // names of the numbers of open places
	shortcuts, smooth              int
	sd, reserve                    float64
	free, graze, force             bool
	plan.Batch
}

func (a *app) makeArm() *cobra.Command {
	var o arm
	cmd := &cobra.Command{
		Use:   "arm [PROBLEM]",
		Short: "Make trajectories of a robot arm by a planner",
		Long: `arm plans trajectories of the set of a problem file or recipe (kind arm): RRT-Connect on
the constraints, shortcuts and smoothing on them, waypoints at even distances. It writes
rows of waypoints to an NPY file, the mode of each to --labels, and how they were made to
a JSON file beside it. Without a problem it is the recipe arm with the modes LR,RL.

A mode says, with a letter for each obstacle, on which side the tip passes it, seen from
above on the way from start to goal: L left, R right, * any. Modes get equal parts. With
"any" the planner takes what it finds, and labels are the sides that came.

Where the set leaves a place open (start: {position: condition}), --starts and --goals are
boxes that it is drawn from, and its numbers follow the waypoints in a row. --unseen makes
as many more rows with other places.

The rows are the same for a seed whatever the number of workers.`,
		Example: "  landing make arm -o arm_paths.npy --labels arm_labels.npy\n  landing make arm --set " +
			"set.waypoints=40 " +
			"-o paths40.npy\n  landing make arm myarm.yaml --modes any -n 1000 -o mine.npy",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &usageError{fmt.Errorf("expected one recipe or problem file, got %d arguments", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "arm"
			if len(args) == 1 {
				name = args[0]
			} else if !cmd.Flags().Changed("modes") {
				o.modes = "LR,RL"
			}
			files := []string{o.out, o.story()}
			if o.labels != "" {
				files = append(files, o.labels)
			}
			if (o.unseen > 0) != (o.unseenOut != "") {
				return &usageError{errors.New("--unseen and --unseen-output go together: how many, and where to")}
			}
			for _, path := range files {
				ext := ".npy"
				if path == o.story() {
					ext = ".json"
				}
				if err := output(path, ext, o.force); err != nil {
					return err
				}
			}
			if o.unseenOut != "" {
				ext := filepath.Ext(o.unseenOut)
				if ext != ".npy" && ext != ".csv" {
					return &usageError{fmt.Errorf("--unseen-output is %q; expected a file that ends in .npy (rows "+
						"as in -o) "+
						"or .csv (the open places alone)", o.unseenOut)}
				}
				if err := output(o.unseenOut, ext, o.force); err != nil {
					return err
				}
			}
			if err := a.prepareArm(&o, name); err != nil {
				return err
			}
			began, bar := time.Now(), a.progress()
			o.Report = func(n int) {
				bar.count(n, o.Count, func() string { return fmt.Sprintf("%d of %d paths", n, o.Count) })
			}
			paths, err := o.Run(cmd.Context(), a.workersPool())
			bar.done()
			if err != nil {
				return err
			}
			var unseen *plan.Paths
			if o.unseen > 0 {
				more := o.Unseen(o.unseen)
				more.Report = nil
				if unseen, err = more.Run(cmd.Context(), a.workersPool()); err != nil {
					return err
				}
			}
			return a.writeArm(&o, paths, unseen, time.Since(began).Seconds())
		},
	}
	o.flags(cmd.Flags())
	f := cmd.Flags()
	f.StringVarP(&o.out, "output", "o", "paths.npy", "file to write")
	f.StringVar(&o.labels, "labels", "", "file for the mode of each row, 0, 1, …")
	f.IntVarP(&o.Count, "number", "n", 400, "number of trajectories")
	f.StringVar(&o.modes, "modes", "any", "sides of the obstacles, as in LR,RL, or any (without a problem: LR,RL)")
	f.StringVar(&o.starts, "starts", "", "where a start that is open is drawn from, as in 0.3:0.5,-0.6:-0.4,0.205")
	f.StringVar(&o.goals, "goals", "", "likewise for a goal that is open")
	f.StringVar(&o.near, "near", "", "file of configurations or trajectories whose first waypoints starts are drawn "+
		"about")
	f.Float64Var(&o.sd, "sd", 0.1, "how far about them, in each joint")
	f.StringVar(&o.even, "even", "joints", "distances between waypoints are even in joints, or of the tip")
	f.IntVar(&o.shortcuts, "shortcuts", 50, "shortcuts that are tried")
	f.IntVar(&o.smooth, "smooth", 10, "passes of smoothing")
	f.Float64Var(&o.Options.Step, "step", 0.2, "length of a step of the trees, in joint space")
	f.Float64Var(&o.reserve, "reserve", 0.02, "room that the search keeps beyond the margin, in metres: "+
		"waypoints cut corners")
	f.BoolVar(&o.graze, "graze", false, "keep rows that are clear at waypoints alone, not all the way between them")
	f.IntVar(&o.Options.Nodes, "nodes", 20_000, "nodes of the trees after which a query fails")
	f.BoolVar(&o.free, "free-tip", false, "the tip itself may enter obstacles, where the set does not forbid it")
	f.IntVar(&o.unseen, "unseen", 0, "more rows, with places that are in no row of -o")
	f.StringVar(&o.unseenOut, "unseen-output", "", "file for them: .npy, or .csv for the open places alone")
	f.Uint64Var(&o.Seed, "seed", 1, "all random numbers are a function of it")
	f.BoolVar(&o.force, "force", false, "write over files that exist")
	return cmd
}

func (o *arm) story() string { return strings.TrimSuffix(o.out, filepath.Ext(o.out)) + ".json" }

// prepareArm turns the problem and the flags into a batch.
func (a *app) prepareArm(o *arm, name string) error {
	for _, c := range []struct {
		name string
		ok   bool
		v    any
		want string
	}{
		{"number", o.Count > 0 && o.Count <= 10_000_000, o.Count, "1 to 10,000,000"},
		{"shortcuts", o.shortcuts >= 0, o.shortcuts, "0 or more"},
		{"smooth", o.smooth >= 0, o.smooth, "0 or more"},
		{"step", o.Options.Step > 0 && o.Options.Step <= 2, o.Options.Step, "a number above 0, up to 2"},
		{"nodes", o.Options.Nodes >= 2 && o.Options.Nodes <= 10_000_000, o.Options.Nodes, "2 to 10,000,000"},
		{"sd", o.sd >= 0 && o.sd <= 10, o.sd, "0 to 10"},
		{"reserve", o.reserve >= 0 && o.reserve < 10, o.reserve, "0 or more"},
		{"unseen", o.unseen >= 0 && o.unseen <= 10_000_000, o.unseen, "0 to 10,000,000"},
		{"even", o.even == "joints" || o.even == "tip", o.even, "joints or tip"},
	} {
		if !c.ok {
			return badFlag(c.name, c.v, c.want)
		}
	}
	o.Options.Shortcuts, o.Options.Smooth = orNone(o.shortcuts), orNone(o.smooth)
	o.Options.Sd, o.Options.Reserve = orNone(o.sd), orNone(o.reserve)
	o.Options.Segments, o.TipToo = !o.graze, !o.free
	if o.even == "tip" {
		o.Options.Even = plan.Tip
	}
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
		return &usageError{fmt.Errorf("%s has a condition (%s) that its set does not know of; expected one of places "+
			"that the set leaves open, since the planner has no other numbers", name, strings.Join(p.Given(), ", "))}
	}
	if !ok {
		return &usageError{fmt.Errorf("the set of %s is %s; expected kind arm", name, constraint.Name(proc.Set))}
	}
	o.Set, o.Spec, o.columns = set, set.Spec(), p.Given()
	if o.Spec.Form == trajectory.Separate { // of sums, the parts are what rows keep
		o.Set = proc.Set
	}
	if o.Spec.Waypoints < 2 {
		return &usageError{fmt.Errorf("the set of %s has %d waypoint; expected two at least", name, o.Spec.Waypoints)}
	}
	o.Tip = o.Spec.Tip()
	for _, note := range o.Spec.Arm.Notes {
		a.say("warning: robot %s: %s", o.Spec.Arm.Name, note)
	}
	if o.Modes, err = plan.Modes(o.modes, len(o.Spec.Obstacles)); err != nil {
		return &usageError{fmt.Errorf("--modes: %w", err)}
	}
	if o.Count < len(o.Modes) {
		return &usageError{fmt.Errorf("-n is %d; expected one for each of %d modes", o.Count, len(o.Modes))}
	}
	if err := o.places(); err != nil {
		return err
	}
	if o.near != "" {
		if o.Options.Near, err = trajectories.Firsts(o.near, o.Spec.Arm); err != nil {
			if errors.As(err, new(*dataset.Error)) || errors.As(err, new(*fs.PathError)) {
				return err
			}
			return &usageError{fmt.Errorf("--near: %w", err)}
		}
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

// places reads where open places are drawn from.
func (o *arm) places() (err error) {
	for _, c := range []struct {
		flag, text string
		of         trajectory.Place
		to         *[2]plan.Point3
	}{{"starts", o.starts, o.Spec.Start, &o.Start}, {"goals", o.goals, o.Spec.Goal, &o.Goal}} {
		place := strings.TrimSuffix(c.flag, "s")
		switch open := c.of.Given != (trajectory.Given{}); {
		case open && c.text == "":
			return &usageError{fmt.Errorf("the set leaves its %s open: expected --%s with the box that it is drawn "+
				"from, as in 0.3:0.5,-0.6:-0.4,0.205", place, c.flag)}
		case !open && c.text != "":
			return &usageError{fmt.Errorf("--%s is %q; expected none: the set does not leave its %s open (set.%[3]s: "+
				"{position: condition} or {joints: condition})", c.flag, c.text, place)}
		case open:
			if *c.to, err = box(c.flag, c.text); err != nil {
				return err
			}
		}
	}
	if o.unseen > 0 && o.starts == "" && o.goals == "" {
		return &usageError{errors.New("--unseen is for sets that leave start or goal open; this one has the same for " +
			"all rows")}
	}
	return nil
}

// box reads three ranges LOW:HIGH, or numbers, in metres.
func box(flag, text string) (out [2]plan.Point3, err error) {
	bad := &usageError{fmt.Errorf("--%s is %q; expected three numbers or ranges LOW:HIGH in metres, as in "+
		"0.3:0.5,-0.6:-0.4,0.205", flag, text)}
	parts := strings.Split(text, ",")
	if len(parts) != 3 {
		return out, bad
	}
	for k, part := range parts {
		lo, hi, ranged := strings.Cut(strings.TrimSpace(part), ":")
		if !ranged {
			hi = lo
		}
		for e, s := range []string{lo, hi} {
			if out[e][k], err = strconv.ParseFloat(s, 64); err != nil || !(math.Abs(out[e][k]) < 1e6) {
				return out, bad
			}
		}
		if out[0][k] > out[1][k] {
			return out, bad
		}
	}
	return out, nil
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
	Graze     bool     `json:"graze"`
	Shortcuts int      `json:"shortcuts"`
	Smooth    int      `json:"smooth"`
	Step      float64  `json:"step"`
	plan.Summary
	Unseen      string  `json:"unseen,omitempty"`
	UnseenPaths int     `json:"unseen_paths,omitempty"`
	Seconds     float64 `json:"seconds"`
}

// writeArm writes what was planned, and says how.
func (a *app) writeArm(o *arm, paths, unseen *plan.Paths, seconds float64) error {
	npy := func(path string, shape []int, x []float64) ([]byte, error) {
		var b bytes.Buffer
		if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: shape, Float64: x}); err != nil {
			return nil, err
		}
		return b.Bytes(), run.WriteFile(path, b.Bytes(), o.force)
	}
	data, err := npy(o.out, []int{paths.Count, paths.Dim}, paths.X)
	if err != nil {
		return err
	}
	if o.labels != "" {
		labels := make([]float64, paths.Count)
		for i, l := range paths.Label {
			labels[i] = float64(l)
		}
		if _, err := npy(o.labels, []int{paths.Count}, labels); err != nil {
			return err
		}
	}
	s := armStory{File: o.out, SHA256: run.Hash(data), Version: run.Version(), Arm: o.Spec.Arm.Name,
		Waypoints: o.Spec.Waypoints, Unit: "cosines and sines of joints, metres",
		Open: append([]string{}, o.columns...), Seed: o.Seed, Even: o.even,
		Reserve: o.reserve, Graze: o.graze, Shortcuts: o.shortcuts, Smooth: o.smooth,
		Step: o.Options.Step, Summary: paths.Summary(o.Spec.Margin), Seconds: seconds}
	if unseen != nil {
		s.Unseen, s.UnseenPaths = o.unseenOut, unseen.Count
		if filepath.Ext(o.unseenOut) == ".npy" {
			_, err = npy(o.unseenOut, []int{unseen.Count, unseen.Dim}, unseen.X)
		} else {
			_, err = save(o.unseenOut, func(w io.Writer) error {
				n := len(o.columns)
				return domain.WriteTable(w, o.columns, "%g", arrayfile.RowsOf(unseen.Open(n), n))
			}, o.force)
		}
		if err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := run.WriteFile(o.story(), append(text, '\n'), o.force); err != nil {
		return err
	}
	for _, f := range paths.Failed {
		a.say("note: %d of %d queries found no path and were replaced (%s): %s", f.Times, paths.Queries, f.Reason,
			f.First)
	}
	return a.result(s, func(w io.Writer) {
		fmt.Fprintf(w, "%s of %d waypoints in %s, how they were made in %s\n", plural(s.Paths, "path"), s.Waypoints,
			o.out, o.story())
		for i, sides := range s.Modes {
			shown := sides
			if shown == "" {
				shown = "no obstacles"
			}
			fmt.Fprintf(w, "mode %d (%s): %d\n", i, shown, s.Shares[sides])
		}
		fmt.Fprintf(w, "worst violation %.1g; %d of %d are clear of obstacles between waypoints too\n", s.Worst,
			s.Clear, s.Paths)
		fmt.Fprintf(w, "a path took %.3g ms (median), %.3g ms (99th percentile)\n", s.TotalMedian, s.Total99)
	})
}
