package sweep

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/work"
)

// Options are additions to a plan that the file does not have. The zero value adds nothing.
type Options struct {
	Dir  string   // folder that data paths of the file start from; "": that of the file
	Base string   // likewise paths of problem files
	Set  []string // key=value of all cells, over all else

	Budgets []Budget         // replace the file's; nil: the file's
	Seeds   []uint64         // likewise
	Keep    func(*Cell) bool // which cells are planned; nil: all
}

// A Cell is what a row is made of: samples of a trained network. Cells of one training share it, and its run folder.
type Cell struct {
	Name     string // of the cell's unit too
	Training string // name of the run folder: that of the cell, unless others can share it
	Label    compare.Label
	Budget   Budget
	Skipped  string     // why it is left out; "": it is not
	Left     bool       // Options.Keep leaves it to another plan
	Unit     *work.Unit // nil of a cell that is left out or left

	Draw    []string // keys of generation, key=value, over those of the training
	Samples int      // 0: as many as an evaluation takes
	Report  bool     // figures and a page, with violations on the way
	Measure string   // by the registry Measures; "": what a row has

	variant    string // the problem's variants
	method     string
	methodLine int
	entry      *Problem
	alone      bool
	settings   []Setting // in order, without those of budget, method and seed
	drawn      []Setting // Draw

	load   func(more ...string) (*problem.Problem, error) // the problem, with settings over its own
	source []byte
}

func (c *Cell) String() string { return c.Name }

// shares reports whether other cells can share the training.
func (c *Cell) shares() bool { return c.Training != c.Name }

// all are the settings of the cell's training. A budget of rows needs the data, and has none here.
func (c *Cell) all() (out []Setting) {
	switch b := c.Budget; {
	case b.Seconds > 0:
		out = []Setting{{fmt.Sprintf("train.max_seconds=%v", b.Seconds), b.Line}, {"train.epochs=0", b.Line}}
	case b.Epochs > 0:
		out = []Setting{{fmt.Sprintf("train.epochs=%d", b.Epochs), b.Line}}
	}
	if c.method != "" {
		out = append(out, Setting{"process.method=" + quoted(c.method), c.methodLine})
	}
	return append(append(out, c.settings...), Setting{fmt.Sprintf("seed=%d", c.Label.Seed), 0})
}

// A Plan is the cells of a sweep, all of them valid.
type Plan struct {
	File  *File
	Cells []*Cell // in the order of the file, those that are left out too
}

// or is the grid with what another says where it says nothing.
func (g Grid) or(o Grid) Grid {
	return Grid{either(g.Variants, o.Variants), either(g.Methods, o.Methods), either(g.Settings, o.Settings),
		either(g.Draws, o.Draws), either(g.Budgets, o.Budgets), either(g.Seeds, o.Seeds)}
}

// either returns the first list that is not nil.
func either[T any](a, b []T) []T {
	if a != nil {
		return a
	}
	return b
}

// grid is that of a problem: at least one entry in each part.
func (f *File) grid(p *Problem) Grid {
	return p.Grid.or(f.Grid).or(Grid{make([]string, 1), make([]Method, 1), make([]Settings, 1), make([]Draw, 1),
		make([]Budget, 1), []uint64{problem.Defaults().Seed}})
}

// size returns a *problem.KeyError of a grid of too many cells, before any is made.
func (f *File) size() error {
	total := 0.0
	for i := range f.Problems {
		g := f.grid(&f.Problems[i])
		n := 1.0
		for _, k := range []int{len(g.Variants), len(g.Settings), len(g.Budgets)} {
			n *= float64(k)
		}
		for _, m := range g.Methods {
			total += n * float64(len(either(m.Seeds, g.Seeds))) * float64(len(either(m.Draws, g.Draws)))
		}
	}
	if total > MaxCells {
		return f.bad(1, "the grid", problem.Literal(fmt.Sprintf("of %.0f cells", total)),
			fmt.Sprintf("at most %d: fewer seeds, budgets or settings, or several sweeps", MaxCells))
	}
	return nil
}

// Cells makes the cells of the grid, without checks of their problems and without units.
func (f *File) Cells(o Options) (cells []*Cell, err error) {
	matched := make([]bool, len(f.Rules))
	for i := range f.Problems {
		p := &f.Problems[i]
		g := Grid{Budgets: o.Budgets}.or(f.grid(p))
		for _, v := range g.Variants {
			for _, m := range g.Methods {
				seeds, draws := either(o.Seeds, either(m.Seeds, g.Seeds)), either(m.Draws, g.Draws)
				for _, s := range g.Settings {
					for _, b := range g.Budgets {
						for _, seed := range seeds {
							c := f.cell(p, v, &m, &s, b, seed)
							f.rules(c, matched)
							cells = append(cells, c.each(draws)...)
						}
					}
				}
			}
		}
	}
	for i, r := range f.Rules {
		if !matched[i] {
			return nil, f.fault(r.Line, fmt.Sprintf("cells[%d]", i), "it matches no cell of the grid")
		}
	}
	for _, s := range o.Set {
		for _, c := range cells {
			c.settings = append(c.settings, Setting{Text: s})
		}
	}
	return cells, nil
}

// cell is the training of a point of the grid.
func (f *File) cell(p *Problem, variant string, m *Method, s *Settings, b Budget, seed uint64) *Cell {
	variants := slices.DeleteFunc([]string{variant, m.Variant}, func(v string) bool { return v == "" })
	return &Cell{Budget: b, Samples: f.Samples, Report: f.Report, Measure: f.Measure,
		Label: compare.Label{Problem: p.Name, Variant: variant, Method: m.Name, Settings: s.Name, Budget: b.String(),
			Seed: seed},
		variant: strings.Join(variants, ","), method: m.Method, methodLine: m.Line, alone: m.Alone, entry: p,
		settings: slices.Concat(f.Set, p.Set, m.Set, s.Set)}
}

// rules applies the rules that match a cell, and names it.
func (f *File) rules(c *Cell, matched []bool) {
	for i, r := range f.Rules {
		if !r.matches(c.Label) {
			continue
		}
		matched[i] = true
		c.settings = append(c.settings, r.Set...)
		if r.Budget != nil {
			c.Budget = *r.Budget
			c.Label.Budget = r.Budget.String()
		}
		c.Skipped = cmp.Or(c.Skipped, r.Skip)
		c.Measure = cmp.Or(r.Measure, c.Measure)
	}
	l := c.Label
	var parts []string
	for _, part := range []string{l.Problem, l.Variant, l.Method, l.Settings, l.Budget, fmt.Sprintf("s%d", l.Seed)} {
		if part != "" {
			parts = append(parts, inName.Replace(part))
		}
	}
	c.Name = strings.Join(parts, "-")
	c.Training = c.Name
}

// inName replaces what names of cells do not have.
var inName = strings.NewReplacer(" ", "-", ",", "+", "/", "-")

// each returns the cells of a training.
func (c *Cell) each(draws []Draw) (out []*Cell) {
	for _, d := range draws {
		if d.Problems != nil && !slices.Contains(d.Problems, c.Label.Problem) {
			continue
		}
		of := *c
		of.settings = slices.Clone(c.settings)
		if of.Label.Draw, of.drawn = d.Name, d.Set; d.Name != "" {
			of.Name += "-" + inName.Replace(d.Name)
		}
		of.Measure = cmp.Or(d.Measure, c.Measure)
		for _, s := range d.Set {
			of.Draw = append(of.Draw, s.Text)
		}
		out = append(out, &of)
	}
	return out
}

// matches reports whether a rule is for a cell.
func (r *Rule) matches(l compare.Label) bool {
	has := func(names []string, name string) bool { return names == nil || slices.Contains(names, name) }
	return has(r.Problems, l.Problem) && has(r.Variants, l.Variant) && has(r.Methods, l.Method) &&
		has(r.Settings, l.Settings) && (r.Seeds == nil || slices.Contains(r.Seeds, l.Seed)) &&
		(r.Budgets == nil || slices.ContainsFunc(r.Budgets, func(b Budget) bool { return b.String() == l.Budget }))
}

// Plan makes the cells of the file and asks of each whether it can be, without reading rows of data. Errors are
// *RefusedError, which has all that cannot, and *problem.KeyError.
func (f *File) Plan(o Options) (*Plan, error) {
	cells, err := f.Cells(o)
	if err != nil {
		return nil, err
	}
	if len(cells) == 0 {
		return nil, &problem.KeyError{Origin: f.origin, Key: "problems", Fault: "no cell is left of the grid"}
	}
	folder := filepath.Dir(f.origin)
	o.Dir, o.Base = cmp.Or(o.Dir, folder), cmp.Or(o.Base, folder)
	look := &looker{file: f, Options: o, hashes: map[string]string{}, sources: map[string]*sourced{},
		built: map[string]error{}}
	refused := &RefusedError{Origin: f.origin}
	var units []*work.Unit
	trainings := map[string]string{}
	for _, c := range cells {
		if c.Left = o.Keep != nil && !o.Keep(c); c.Left || c.Skipped != "" {
			continue
		}
		name, what := strings.ToLower(c.Training), fmt.Sprint(c.lineKey(), c.Budget.String(), c.Label.Seed, c.Training)
		if was, ok := trainings[name]; ok && was != what {
			return nil, &problem.KeyError{Origin: f.origin, Key: "the grid", Fault: fmt.Sprintf("two trainings are "+
				"called %s, or differ in upper and lower case; expected other names of problems, methods or settings",
				c.Training)}
		}
		trainings[name] = what
		err := look.at(c)
		if err == nil {
			units = append(units, c.Unit)
			continue
		}
		refused.add(c.Name, err)
	}
	p := &Plan{File: f, Cells: cells}
	if len(refused.Refused) > 0 {
		return p, refused
	}
	if err := work.Check(units); err != nil {
		return p, &problem.KeyError{Origin: f.origin, Key: "the grid", Fault: err.Error()}
	}
	return p, nil
}

// looker asks of cells whether they can be, of what they have in common once.
type looker struct {
	Options
	file    *File
	hashes  map[string]string // of files, by path
	sources map[string]*sourced
	built   map[string]error
}

// sourced is a problem file.
type sourced struct {
	data         []byte
	origin, from string // from: the folder that its paths start from
	err          error
}

func (l *looker) source(p *Problem) *sourced {
	if s, ok := l.sources[p.Problem]; ok {
		return s
	}
	s := &sourced{}
	name := p.Problem
	if !slices.Contains(problem.Recipes(), name) && !filepath.IsAbs(name) {
		name = filepath.Join(l.Base, filepath.FromSlash(name))
		if !strings.ContainsAny(p.Problem, `/\.`) { // no file looks so: it is meant as a recipe
			name = p.Problem
		}
	}
	s.data, s.origin, s.err = problem.Source(name)
	s.from = filepath.Dir(name)
	var syntax *problem.SyntaxError
	if errors.As(s.err, &syntax) { // there is no such file
		s.err = l.file.bad(p.Line, "problem", p.Problem, "a problem file, or one of the recipes "+
			strings.Join(problem.Recipes(), ", ")+text.Suggest(p.Problem, problem.Recipes()))
	}
	l.sources[p.Problem] = s
	return s
}

// at makes the problem and the unit of a cell, or says why there are none.
func (l *looker) at(c *Cell) error {
	src := l.source(c.entry)
	if src.err != nil {
		return src.err
	}
	c.source = src.data
	if c.alone {
		var err error
		if c.source, err = alone(src.data); err != nil {
			return err
		}
	}
	if measures[c.Measure] == nil {
		return &problem.KeyError{Origin: l.file.origin, Key: "measure", Value: c.Measure, Want: "one of " +
			strings.Join(slices.Sorted(maps.Keys(measures))[1:], ", ")}
	}
	if err := l.file.clash(c); err != nil {
		return err
	}
	var settings []string
	for _, s := range c.all() {
		settings = append(settings, s.Text)
	}
	c.load = func(more ...string) (*problem.Problem, error) {
		p, err := problem.Load(c.source, src.origin, c.variant, problem.ParseSettings(slices.Concat(settings, more)...))
		if err != nil {
			return nil, l.placed(c, err)
		}
		p.Shared() // cells of several methods have the settings of the file in common
		return p, l.paths(c, p, src.from)
	}
	p, err := c.load()
	if err != nil {
		return err
	}
	if err := l.build(c, p); err != nil {
		return l.placed(c, err)
	}
	c.Label.Method = cmp.Or(c.Label.Method, p.Process.Method)
	c.Unit, err = l.unit(c, p)
	return err
}

// clash returns a *problem.KeyError if a setting says what the grid says.
func (f *File) clash(c *Cell) error {
	by := map[string]string{"seed": "seeds"}
	if c.method != "" {
		by["process.method"] = "methods"
	}
	if c.Budget != (Budget{}) {
		by["train.max_seconds"] = "budget"
	}
	if c.Budget.Epochs > 0 || c.Budget.Rows > 0 {
		by["train.epochs"] = "budget"
	}
	for _, s := range c.settings {
		key, _, _ := strings.Cut(s.Text, "=")
		if axis, ok := by[key]; ok && !(axis == "budget" && s.Line == 0) {
			origin := f.where(s.Line)
			if s.Line == 0 {
				origin = "--set " + s.Text
			}
			return &problem.KeyError{Origin: origin, Key: key, Fault: axis + " says what it is; expected one of them"}
		}
	}
	return nil
}

// placed replaces the place of a setting in an error of Load by the line of the sweep file.
func (l *looker) placed(c *Cell, err error) error {
	var e *problem.KeyError
	if !errors.As(err, &e) {
		return err
	}
	told := *e
	if e.Key == "variant" {
		told.Origin = l.file.where(c.entry.Line) + ": " + e.Origin
	}
	for _, s := range slices.Concat(c.all(), c.drawn) {
		if e.Origin == "--set "+s.Text && s.Line > 0 {
			told.Origin = l.file.where(s.Line)
		}
	}
	return &told
}

// paths makes the problem's paths absolute: those of the problem file start from its folder, those that the sweep
// file names from the data folder.
func (l *looker) paths(c *Cell, p *problem.Problem, from string) error {
	if c.entry.Data != "" {
		p.Data.Path = c.entry.Data
	}
	for key, path := range p.Files() {
		if path == "" {
			continue
		}
		given := key == "data.path" && c.entry.Data != ""
		for _, s := range c.settings {
			set, _, _ := strings.Cut(s.Text, "=")
			rest, ok := strings.CutPrefix(key, set)
			given = given || ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
		}
		if !filepath.IsAbs(path) {
			if given {
				path = filepath.Join(l.Dir, filepath.FromSlash(path))
			} else {
				path = filepath.Join(from, filepath.FromSlash(path))
			}
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		p.SetFile(key, path)
	}
	if p.Data.Path == "" && p.Data.Kind != "demo" {
		return l.file.bad(c.entry.Line, "data", nil, "a data file: the problem names none")
	}
	return nil
}

// lineKey names what cells that differ in seed, budget and draw alone have in common.
func (c *Cell) lineKey() string {
	return fmt.Sprintf("%q %q %t %q %v", c.entry.Name, c.variant, c.alone, c.method, c.settings)
}

// build asks whether the problem's process and method can be, and can draw as the cell says: once of cells that differ
// in seed and budget alone. With a measure of its own, a cell may be there to show that a way to draw breaks down.
func (l *looker) build(c *Cell, p *problem.Problem) error {
	draw := c.Draw
	if c.Measure != "" {
		draw = nil
	}
	id := c.lineKey() + fmt.Sprintf(" %q", draw)
	err, ok := l.built[id]
	if !ok {
		err = drawable(p, draw)
		l.built[id] = err
	}
	return err
}

func drawable(p *problem.Problem, draw []string) error {
	proc, err := p.Build()
	if err != nil || len(draw) == 0 {
		return err
	}
	m, err := p.Method(proc)
	if err != nil {
		return err
	}
	q, err := p.Redraw(problem.ParseSettings(draw...))
	if err != nil {
		return err
	}
	if proc, err = q.BuildRedraw(); err != nil {
		return err
	}
	_, err = q.Redrawn(m, proc)
	return err
}

// Kind is that of the units of sweeps.
const Kind = "sweep-cell"

// task is what a unit of a sweep does.
type task struct {
	Problem string   `json:"problem"` // resolved, without paths
	Written []string `json:"written"` // keys that somebody wrote: the others follow from the data
	Variant string   `json:"variant,omitempty"`
	Budget  string   `json:"budget,omitempty"`
	Samples int      `json:"samples,omitempty"`
	Draw    []string `json:"draw,omitempty"`
	Measure string   `json:"measure,omitempty"`
}

// unit describes a cell's work by content: paths do not count, the bytes of files do.
func (l *looker) unit(c *Cell, p *problem.Problem) (*work.Unit, error) {
	bare := *p
	t := task{Variant: c.variant, Budget: c.Budget.String(), Samples: c.Samples, Written: []string{}, Draw: c.Draw,
		Measure: c.Measure}
	inputs := map[string]string{}
	for key, path := range p.Files() {
		if path == "" {
			continue
		}
		if _, ok := l.hashes[path]; !ok {
			hash, err := run.HashFile(path)
			if err != nil {
				return nil, err
			}
			l.hashes[path] = hash
		}
		inputs[key] = l.hashes[path]
		bare.SetFile(key, "")
	}
	t.Problem = string(bare.Resolved())
	for _, g := range p.Written(p.Resolved()) {
		t.Written = append(t.Written, g.Key)
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return &work.Unit{Name: c.Name, Kind: Kind, Task: raw, Inputs: inputs, Version: run.Version()}, nil
}

// alone returns of a problem's text what says data and set: all else follows from the rows, as for any problem that a
// user writes down.
func alone(text []byte) ([]byte, error) {
	var keys yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &keys, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	return yaml.Marshal(slices.DeleteFunc(keys, func(k yaml.MapItem) bool {
		return !slices.Contains([]any{"name", "title", "data", "set"}, k.Key)
	}))
}
