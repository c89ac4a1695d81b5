package compare

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/study/work"
)

// A Reader reads folders. Say and Drawn may be nil.
type Reader struct {
	Pool  *parallel.Pool
	Say   func(remark string)                 // what somebody should know
	Drawn func(dir string, done, samples int) // samples of a run without an evaluation
	Line  experiment.CommandLine
}

// UnitsDir and RunsDir are the folders of units and of runs in that of a sweep.
const (
	UnitsDir = "units"
	RunsDir  = "runs"
)

// A List is sweep.json in the folder of a sweep: its cells in order.
type List struct {
	Name  string   `json:"name"`
	Title string   `json:"title,omitempty"`
	Cells []Listed `json:"cells"`
}

// A Listed is a cell of a sweep.
type Listed struct {
	Name    string `json:"name"`
	Run     string `json:"run,omitempty"` // its run folder in RunsDir, where cells share it; empty: that of its name
	Label   Label  `json:"label"`
	Skipped string `json:"skipped,omitempty"` // why it is left out
}

// ListFile is the name of a List in a sweep's folder.
const ListFile = "sweep.json"

// maxList bounds a list in bytes.
const maxList = 1 << 26

// ReadList returns the list of a sweep's folder; nil if the folder is none.
func ReadList(dir string) (*List, error) {
	path := filepath.Join(dir, ListFile)
	data, err := input.Read(path, maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l List
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fault.Errorf(fault.Run, path, "is damaged: %v", err)
	}
	return &l, nil
}

// Read returns the entries of folders, in order: of a sweep those of its cells that have ended, of a run its own.
// A run that keeps no evaluation, or one of other weights, is drawn from and judged; the evaluation is kept in its
// folder where there is none. Errors are those of experiment.Open, those of a run folder and of work.Damaged.
func (r *Reader) Read(ctx context.Context, dirs []string) ([]Entry, error) {
	var out []Entry
	seen := map[string]bool{}
	var last *experiment.Run // behind which files stand
	for _, dir := range dirs {
		if name, file, ok := samplesFile(dir); ok {
			e, err := r.file(ctx, last, name, file)
			if err != nil {
				return nil, err
			}
			out = append(out, *e)
			continue
		}
		clean, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if seen[clean] {
			return nil, fault.Errorf(fault.Run, dir, "is given twice; expected each folder once")
		}
		seen[clean] = true
		list, err := ReadList(dir)
		if err != nil {
			return nil, err
		}
		var some []Entry
		if list != nil {
			some, err = r.Sweep(dir, list)
			if err == nil && len(some) == 0 {
				err = fault.Errorf(fault.Run, dir, "is a sweep without a finished cell")
			}
		} else {
			some, last, err = r.run(ctx, dir)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

func (r *Reader) say(format string, v ...any) {
	if r.Say != nil {
		r.Say(fmt.Sprintf(format, v...))
	}
}

// Sweep returns the entries of the cells of a sweep that have ended.
func (r *Reader) Sweep(dir string, list *List) (out []Entry, err error) {
	store := &work.Store{Dir: filepath.Join(dir, UnitsDir)}
	begun, err := store.Names()
	if err != nil {
		return nil, err
	}
	open := 0
	for _, c := range list.Cells {
		if c.Skipped != "" {
			continue
		}
		if !slices.Contains(begun, c.Name) {
			open++
			continue
		}
		u, err := store.Unit(c.Name)
		if err != nil {
			return nil, err
		}
		st, err := store.Status(u)
		if err != nil {
			return nil, err
		}
		e, err := Ended(store, u, c.Label, st)
		switch {
		case err != nil:
			return nil, err
		case e == nil:
			open++
			continue
		case st.State == work.Done:
			e.Folder = filepath.Join(dir, RunsDir, cmp.Or(c.Run, c.Name))
		}
		out = append(out, *e)
	}
	if open > 0 {
		r.say("%s: %d of %d cells have not ended and are left out", dir, open, len(list.Cells))
	}
	return out, nil
}

// Ended is the entry of a cell of a label by the status of its unit in a store; nil if that has not ended.
func Ended(store *work.Store, u *work.Unit, label Label, st work.Status) (*Entry, error) {
	switch st.State {
	case work.Done:
		var e Entry
		if err := json.Unmarshal(st.Result, &e); err != nil {
			return nil, work.Damaged(filepath.Join(store.Dir, u.Name), "%v", err)
		}
		return &e, nil
	case work.Failed:
		version := cmp.Or(st.Version, u.Version)
		return &Entry{Row: NoRow(u.Name, label, u.Key(), version, st.Reason), Cost: NoCost()}, nil
	}
	return nil, nil
}

// samplesFile reads FILE or NAME=FILE; ok: it is a file and no folder.
func samplesFile(arg string) (name, file string, ok bool) {
	isFile := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && !info.IsDir()
	}
	if isFile(arg) {
		return filepath.Base(arg), arg, true
	}
	name, file, ok = strings.Cut(arg, "=")
	return name, file, ok && isFile(file)
}

// file returns the entry of a file of samples, held against the data of a run.
func (r *Reader) file(ctx context.Context, of *experiment.Run, name, file string) (*Entry, error) {
	if of == nil {
		return nil, fault.Errorf(fault.Usage, "", "%s is a file of samples; expected a run before it, whose data the "+
			"samples are held against", file)
	}
	v, _, off, err := experiment.JudgeFile(ctx, of, file, r.Line)
	if err != nil {
		return nil, err
	}
	e := Of(of, v, train.State{}, Said(off))
	e.Row.Name, e.Row.Config, e.Folder, e.Cost = file, "file "+file, "", NoCost()
	e.Row.Label = Label{Problem: of.Problem.Name, Method: name, Seed: of.Problem.Seed}
	return &e, nil
}

// run returns the entry of a run, and the run.
func (r *Reader) run(ctx context.Context, dir string) ([]Entry, *experiment.Run, error) {
	opened, err := experiment.Open(ctx, dir, "", r.Pool, nil)
	if err != nil {
		return nil, nil, err
	}
	t, err := opened.Trained("")
	if err != nil {
		return nil, nil, err
	}
	kept, stale, err := experiment.KeptEvaluation(opened)
	if err != nil {
		return nil, nil, err
	}
	var e Entry
	if kept != nil && stale == "" {
		e = Of(opened, kept.Evaluation, t.State, kept.Fault)
		e.Row.Version = kept.Version
	} else {
		if stale != "" {
			r.say("%s: judged anew, for the evaluation that it keeps is none of it now: %s", dir, stale)
		}
		n := opened.SampleCount()
		_, v, fault, err := experiment.Judge(ctx, opened, experiment.Judging{Trained: t, Samples: n,
			Seed: opened.Problem.Seed, Line: r.Line, Tick: func(done int) {
				if r.Drawn != nil {
					r.Drawn(dir, done, n)
				}
			}})
		if err != nil {
			return nil, nil, err
		}
		if kept == nil {
			if err := experiment.KeepEvaluation(opened, v, t.State, opened.Problem.Seed, fault); err != nil {
				r.say("%s: judged, and not kept: %v", dir, err)
			} else {
				r.say("%s: judged; kept as %s", dir, run.EvaluationFile)
			}
		}
		e = Of(opened, v, t.State, Said(fault))
	}
	e.given, e.Note = given(opened.Folder), unfinished(opened.Folder)
	return []Entry{e}, opened, nil
}

// Said is what an error says; empty if it is nil.
func Said(fault error) string {
	if fault == nil {
		return ""
	}
	return fault.Error()
}

// given returns what somebody wrote of a run's problem, but for seed and names; nil if the folder does not tell.
func given(f *run.Folder) map[string]string {
	m, _ := f.Manifest()
	if m.Given == nil {
		return nil
	}
	out := map[string]string{}
	for _, g := range m.Given {
		if !slices.Contains([]string{"seed", "name", "title", "data.path", "process.method", "defaults"}, g.Key) {
			out[g.Key] = fmt.Sprint(g.Value)
		}
	}
	for _, x := range m.Extensions {
		out["extended"] += "; " + strings.Join(x.Settings, " ")
	}
	return out
}

// unfinished says that a run was not trained to its end; empty if it was.
func unfinished(f *run.Folder) string {
	s, err := f.Status()
	if err != nil || s.State == "trained" {
		return ""
	}
	return fmt.Sprintf("%s after epoch %d", s.State, s.Epoch)
}

// Curve returns the distances of a run during its training, by seconds; nil if none was taken.
func (e *Entry) Curve() (seconds, distance []float64) {
	if e.Folder == "" {
		return nil, nil
	}
	records, err := (&run.Folder{Dir: e.Folder}).Metrics()
	if err != nil {
		return nil, nil
	}
	var last float64
	for _, rec := range records {
		switch rec.Kind {
		case "epoch":
			var t train.Epoch
			if json.Unmarshal(rec.Data, &t) == nil {
				last = t.Seconds
			}
		case "evaluation":
			p := judge.Progress{JSD: metric.NaN}
			if json.Unmarshal(rec.Data, &p) == nil && !p.JSD.IsNaN() {
				seconds, distance = append(seconds, max(p.Seconds, last)), append(distance, float64(p.JSD))
			}
		}
	}
	return seconds, distance
}

// Bounds of a page.
const (
	maxCurves   = 8       // that a chart can tell apart
	maxPictures = 24      // side by side
	maxPicture  = 4 << 20 // bytes of one
)

// own are the figures of a run's page that are not of the samples themselves.
var own = []string{"loss", "rate", "jsd", "held-out", "nearest", "violation", "steps"}

// WriteHTML writes the comparison as a page with curves and, of runs that have a report, their pictures side by side.
func (c *Comparison) WriteHTML(w io.Writer, title string, commands []string) error {
	page := &figure.Report{Title: title, Commands: commands}
	entries := 0
	for i := range c.Groups {
		g := &c.Groups[i]
		for _, l := range g.Lines {
			entries += len(l.Entries)
		}
		page.Notes = append(page.Notes, g.draw(page)...)
		page.Facts = append(page.Facts, g.fact()...)
	}
	for _, t := range c.Tables() {
		t.Note = strings.Join(t.Notes, " ")
		page.Tables = append(page.Tables, t.Table)
	}
	page.Subtitle = text.Plural(entries, "run") + " side by side"
	page.Verdict = strings.Join(c.Notes, " ")
	return page.WriteHTML(w)
}

// fact is the best line of a group.
func (g *Group) fact() []figure.Fact {
	if g.Best < 0 {
		return nil
	}
	l := &g.Lines[g.Best]
	_, _, floor := l.Entries[0].Row.Main()
	return []figure.Fact{{Label: g.Title + ", smallest distance", Value: fixed(l.Distance.Mean),
		Note: fmt.Sprintf("%s; floor %s ± %s", l.Name, fixed(floor.Mean), fixed(floor.SD))}}
}

// draw adds a group's charts and pictures to a page, and returns what is left out.
func (g *Group) draw(page *figure.Report) (notes []string) {
	var curves, ends []figure.Series
	for i := range g.Lines {
		l := &g.Lines[i]
		for k := range l.Entries {
			if x, y := l.Entries[k].Curve(); len(x) > 1 { // of the first seed that has one
				name := l.Name
				if len(l.Entries) > 1 {
					name += fmt.Sprintf(", seed %d", l.Entries[k].Row.Seed)
				}
				curves = append(curves, figure.Series{Name: name, X: x, Y: y})
				break
			}
		}
		train := l.Over(func(e *Entry) metric.Float { return e.Cost.Train })
		if l.Distance.N > 0 && !train.Mean.IsNaN() {
			ends = append(ends, figure.Series{Name: l.Name, X: []float64{float64(train.Mean)},
				Y: []float64{float64(l.Distance.Mean)}})
		}
	}
	chart := func(title, caption string, series []figure.Series) {
		if n := len(series); n > maxCurves {
			notes = append(notes, fmt.Sprintf("%s: %d of %d lines are drawn; the table has all.", title, maxCurves, n))
			series = series[:maxCurves]
		}
		if floor := g.floor(series); len(floor.X) > 0 {
			series = append(series, floor)
		}
		var svg bytes.Buffer
		axes := figure.LineOptions{XLabel: "seconds of training", YLabel: "distance", LogX: true}
		if err := figure.Lines(axes, series...).WriteSVG(&svg); err != nil {
			notes = append(notes, fmt.Sprintf("%s: %v.", title, err))
			return
		}
		page.Figures = append(page.Figures, figure.FigureRef{Title: title, Caption: caption, SVG: svg.Bytes()})
	}
	if len(curves) > 0 {
		chart("Distance against seconds: "+g.Title, "In the course of training, one seed of each line; the floor is "+
			"what draws from the training rows score.", curves)
	}
	if len(ends) > 0 {
		chart("What it costs: "+g.Title, "Mean distance against mean seconds of training at the end, a point a line.",
			ends)
	}
	return append(notes, g.pictures(page)...)
}

// floor is a line at the group's floor over the range of x of some series.
func (g *Group) floor(series []figure.Series) figure.Series {
	var lo, hi float64
	for i, s := range series {
		if a := slices.Min(s.X); i == 0 || a < lo {
			lo = a
		}
		hi = max(hi, slices.Max(s.X))
	}
	for _, l := range g.Lines {
		for _, e := range l.Entries {
			if _, _, floor := e.Row.Main(); !floor.Mean.IsNaN() && lo > 0 && hi > lo {
				y := float64(floor.Mean)
				return figure.Series{Name: "floor", X: []float64{lo, hi}, Y: []float64{y, y}}
			}
		}
	}
	return figure.Series{}
}

// pictures adds the pictures of samples that runs have, of each line those of its first seed, so that those of one
// kind stand side by side.
func (g *Group) pictures(page *figure.Report) (notes []string) {
	type picture struct {
		line string
		path string
	}
	by := map[string][]picture{} // by name
	var names []string
	for i := range g.Lines {
		l := &g.Lines[i]
		for _, e := range l.Entries {
			files := Figures(e.Folder, e.Drawn)
			if len(files) == 0 {
				continue
			}
			for _, path := range files {
				name := strings.TrimSuffix(filepath.Base(path), ".svg")
				if slices.Contains(own, name) || strings.HasSuffix(name, "-panels") { // the same, otherwise laid out
					continue
				}
				if by[name] == nil {
					names = append(names, name)
				}
				by[name] = append(by[name], picture{fmt.Sprintf("%s, seed %d", l.Name, e.Row.Seed), path})
			}
			break
		}
	}
	shown, all := 0, 0
	for _, name := range names {
		for k, p := range by[name] {
			if all++; shown == maxPictures {
				continue
			}
			svg, err := input.Read(p.path, maxPicture)
			if err == nil {
				err = figure.Inline(svg)
			}
			if err != nil {
				notes = append(notes, fmt.Sprintf("%s is left out: %v.", p.path, err))
				continue
			}
			shown++
			page.Figures = append(page.Figures, figure.FigureRef{Row: k == 0 && len(g.Lines) > 1, SVG: svg,
				Title: strings.ReplaceAll(name, "-", " ") + ": " + p.line})
		}
	}
	if all > shown {
		notes = append(notes, fmt.Sprintf("%s: %d of %d pictures are shown; the run folders have all.", g.Title, shown,
			all))
	}
	return notes
}

// Figures returns the paths of the drawings of a run's report, in order.
func Figures(folder, drawn string) (paths []string) {
	if folder == "" {
		return nil
	}
	dir := filepath.Join(folder, filepath.FromSlash(drawn), "figures")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".svg") && e.Name()[0] != '.' {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}
