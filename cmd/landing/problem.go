package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/problem"
)

// source is the problem that a verb names, with its changes.
type source struct {
	data, variant string
	settings      []string
	budget        time.Duration // of train; 0: what the problem says
}

func (s *source) flags(f *pflag.FlagSet) {
	f.StringVar(&s.data, "data", "", "data file, instead of data.path")
	f.StringArrayVar(&s.settings, "set", nil, "replace one key, as in train.epochs=500 (repeatable)")
	f.StringVar(&s.variant, "variant", "", "the problem's variants to apply, in order, such as olla or olla,paper")
}

// load reads the problem and the bytes to keep as it was given.
func (s *source) load(name string) (*problem.Problem, []byte, error) {
	data, origin, err := problem.Source(name)
	if err != nil {
		return nil, nil, err
	}
	settings, err := withBudget(s.budget, s.settings, "train.epochs=0") // the problem's epochs do not bound a budget
	if err != nil {
		return nil, nil, err
	}
	p, err := problem.Load(data, origin, s.variant, problem.ParseSettings(settings...))
	if err != nil {
		return nil, nil, err
	}
	if s.data != "" {
		p.Data.Path = s.data
	}
	for key, path := range p.Files() {
		if path == "" || key == "data.path" && s.data != "" {
			continue
		}
		given := slices.ContainsFunc(s.settings, func(setting string) bool { // it, or what it is part of
			set, _, _ := strings.Cut(setting, "=")
			rest, ok := strings.CutPrefix(key, set)
			return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
		if !filepath.IsAbs(path) && !given {
			path = filepath.Join(filepath.Dir(name), path) // as the problem file means it
		}
		if key != "data.path" { // config.yaml must find it from anywhere; the manifest keeps the data's path
			if path, err = filepath.Abs(path); err != nil {
				return nil, nil, err
			}
		}
		p.SetFile(key, path)
	}
	return p, data, nil
}

// withBudget returns settings with a budget, unless it is 0, and others before them.
func withBudget(budget time.Duration, settings []string, others ...string) ([]string, error) {
	if budget == 0 {
		return settings, nil
	}
	for _, given := range settings {
		if strings.HasPrefix(given, "train.max_seconds=") {
			return nil, usage("--for says what --set train.max_seconds says; expected one of them")
		}
	}
	return slices.Concat([]string{fmt.Sprintf("train.max_seconds=%v", budget.Seconds())}, others, settings), nil
}

// Bounds of --for and --timeout.
const (
	leastBudget = time.Second
	mostBudget  = 1000 * time.Hour
)

// inTime bounds a flag of a time, if it was given.
func inTime(flag string, d time.Duration, given func(flag string) bool) bound {
	return bound{flag, !given(flag) || d >= leastBudget && d <= mostBudget, d,
		fmt.Sprintf("a time from %v to %v, such as 90s, 5m or 1h30m", leastBudget, mostBudget)}
}

// place is where a new run folder goes.
type place struct {
	out, parent string
	force       bool
}

func (w *place) flags(f *pflag.FlagSet) {
	f.StringVar(&w.out, "out", "", "run folder to make (default: the first free NAME-001 … under --runs)")
	f.StringVar(&w.parent, "runs", runsDir, "folder that holds runs")
	f.BoolVar(&w.force, "force", false, "if the run folder exists, move it aside")
}

// make makes a run folder, for a problem of a name.
func (w *place) make(out *console, name string) (f *run.Folder, err error) {
	switch {
	case w.out != "":
		f, err = run.Create(w.out, w.force)
	case w.parent == "":
		err = usage("--runs is empty; expected a folder")
	default:
		f, err = run.CreateNumbered(w.parent, name)
	}
	if err == nil && f.Moved != "" {
		out.say("the run that was there is now %s", f.Moved)
	}
	return f, err
}

// An opener opens a run: experiment.Open, or experiment.OpenToDraw, which may do without the data.
type opener func(ctx context.Context, dir, data string, pool *parallel.Pool, report func(string)) (*experiment.Run,
	error)

// open opens a run and says what the user should know of it.
func (a *app) open(ctx context.Context, dir, data string, open opener) (*experiment.Run, error) {
	report, done := a.out.preparing()
	r, err := open(ctx, dir, data, a.workersPool(), report)
	done()
	if err != nil {
		return nil, err
	}
	if r.Warning != "" {
		a.out.say("note: %s", r.Warning)
	}
	if r.Bare {
		a.out.say("note: %s is not there: drawn from what the run folder keeps", r.Problem.Data.Path)
		return r, nil
	}
	warnOfFaults(&a.out, r.Loaded)
	return r, nil
}

// warnOfFaults says what is wrong with files that the domain reads, and that data is
// too little to tell samples from copies.
func warnOfFaults(out *console, l *experiment.Loaded) {
	if len(l.HeldOutRows) == 0 {
		out.say("warning: %d data points are too few to hold any out: nothing can tell whether samples are "+
			"copies of them", l.Data.N)
	}
	for _, fault := range l.Domain.Faults {
		out.say("warning: %s", fault)
	}
}

// movedFlag is that of verbs that open a run, whose data may be elsewhere now.
func movedFlag(f *pflag.FlagSet, data *string) {
	f.StringVar(data, "data", "", "the run's data file, if it has moved")
}

// checkpointFlag is that of verbs that draw by a run, or tell of what it learned.
func checkpointFlag(f *pflag.FlagSet, name *string) {
	f.StringVar(name, "checkpoint", "", "checkpoint to use (default: the best by held-out distances, or the newest)")
}
