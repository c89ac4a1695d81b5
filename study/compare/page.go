package compare

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

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
	page.Subtitle = fmt.Sprintf("%d runs side by side", entries)
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
			page.Figures = append(page.Figures, figure.FigureRef{Row: k == 0, SVG: svg,
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
