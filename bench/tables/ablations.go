package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/bench"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
)

// The paper's component ablations (its section of that name, and the table of α and ε in
// its appendix) on alanine. Each is one trained network, from which samples are drawn by
// other keys of generation; networks are trained once and kept under -runs.
//
// A row has the square roots of the Jensen-Shannon divergences of ψ and of the RMSD to all
// data, means over samples of |h| and max(g, 0), the areas under those means over t of
// backward paths, and failed samples. What the paper printed stands in the last column.

// A network is a trained run.
type network struct {
	*experiment.Run
	trained *experiment.Trained
}

// network opens the run of a recipe's variants under o.runs, and trains it first where it
// is not there, or not to its end.
func (o options) network(ctx context.Context, w io.Writer, recipe, variants string) (*network, error) {
	dir := filepath.Join(o.runs, recipe+"-"+strings.ReplaceAll(variants, ",", "-"))
	var r *experiment.Run
	if _, err := os.Stat(filepath.Join(dir, run.ConfigFile)); err == nil {
		if r, err = experiment.Open(dir, "", o.pool); err != nil {
			return nil, err
		}
		if err := r.Folder.Lock(); err != nil {
			return nil, err
		}
	} else if r, err = o.begin(dir, recipe, variants); err != nil {
		return nil, err
	}
	defer r.Folder.Unlock()
	t, err := r.Trained("")
	if err != nil || t.State.Epoch < r.Problem.Train.Epochs {
		if err := r.Train(ctx, "", experiment.Observer{}); err != nil {
			return nil, err
		}
		if t, err = r.Trained(""); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(w, "%s, %s: %d epochs of %d paths, %.0f s of training\n\n", recipe, variants, t.State.Epoch,
		len(r.Split.Train), t.State.Seconds)
	return &network{r, t}, nil
}

// begin begins the run of a recipe's variants on the data under o.data.
func (o options) begin(dir, recipe, variants string) (*experiment.Run, error) {
	source, _, err := problem.Source(recipe)
	if err != nil {
		return nil, err
	}
	settings := []string{"train.precision=bfloat16"}
	var data string
	switch recipe {
	case "alanine":
		files := filepath.Join(o.data, "alanine")
		data = filepath.Join(files, "dipeptide_refined_phi_psiwin.npy")
		settings = append(settings, "data.reference="+filepath.Join(files, "dipeptide_center.npy"))
	default: // bunny100
		files := filepath.Join(o.data, "mesh", "bunny")
		data = files + "_eigfn100.npy"
		settings = append(settings, "set.weights="+files+"_sdf.npz", "set.mesh="+files+".ply")
	}
	if o.small {
		settings = append(settings, "train.epochs=1", "train.batch=2048", "train.times_per_path=1", "network.width=8",
			"network.layers=1")
	}
	p, err := problem.Load(source, recipe, variants, settings)
	if err != nil {
		return nil, err
	}
	p.Data.Path = data
	l, err := experiment.Load(p, o.pool)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.runs, 0o777); err != nil {
		return nil, err
	}
	f, err := run.Create(dir, false)
	if err != nil {
		return nil, err
	}
	return l.Begin(f, source, slices.Clone(os.Args))
}

// A trial is a row of an ablation: keys of generation, and what the paper has there.
type trial struct {
	name     string
	settings []string
	paper    string
}

// trials prints the table of some trials of a network.
func (o options) trials(ctx context.Context, w io.Writer, n *network, trials ...trial) error {
	a := &ablation{Writer: w}
	for _, t := range trials {
		if err := a.add(ctx, o, n, t); err != nil {
			return err
		}
	}
	return nil
}

// An ablation is a table whose rows are trials of networks.
type ablation struct {
	io.Writer
	head bool
}

// add draws samples of a trial and prints their row. A trial that cannot be drawn, by its
// keys or because its paths diverge, is a row that says so.
func (a *ablation) add(ctx context.Context, o options, n *network, t trial) error {
	parts := n.Domain.Distance.Parts
	if len(parts) == 0 {
		parts = []string{"faces"}
	}
	if !a.head {
		a.head = true
		fmt.Fprintf(a, "| drawn by | %s | mean \\|h\\| | mean g⁺ | area \\|h\\| | area g⁺ | failed | paper |\n",
			strings.Join(parts, " | "))
		fmt.Fprintf(a, "|%s\n", strings.Repeat(" --- |", len(parts)+7))
	}
	cells, err := n.row(ctx, o.pick(n.SampleCount(), 20), t.settings, len(parts))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		cells = slices.Repeat([]string{"–"}, len(parts)+5)
		t.name += ": no samples, " + err.Error()
	}
	_, err = fmt.Fprintf(a, "| %s | %s | %s |\n", t.name, strings.Join(cells, " | "), t.paper)
	return err
}

// row returns the numbers of a row.
func (n *network) row(ctx context.Context, samples int, settings []string, parts int) ([]string, error) {
	r, s, err := n.draw(ctx, samples, settings, true)
	if err != nil {
		return nil, err
	}
	d := r.Domain.Distance
	between := d.Compare(d.Marks(s.Good()), d.Marks(r.Data.X))
	var cells []string
	for _, v := range between[len(between)-parts:] {
		cells = append(cells, fmt.Sprintf("%.4f", v))
	}
	components, _ := r.CheckViolation(s) // what is above the run's limit is what the table is about
	var h, g float64
	for i, c := range components {
		if i < len(r.Process.Set.Equalities()) {
			h += float64(c.Mean)
		} else {
			g += float64(c.Mean)
		}
	}
	for _, v := range []float64{h, g, float64(s.Steps.Equalities), float64(s.Steps.Inequalities)} {
		cells = append(cells, text.Number(v))
	}
	return append(cells, fmt.Sprintf("%.1f %%", 100*float64(s.Failed())/float64(s.N()))), nil
}

// draw draws samples by other keys of generation. Any number of them may fail.
func (n *network) draw(ctx context.Context, samples int, settings []string, diagnose bool) (*experiment.Run,
	*experiment.Samples, error) {
	r, err := n.Redraw(append([]string{"generate.max_failed=1"}, settings...))
	if err != nil {
		return nil, nil, err
	}
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	draw := r.Generate
	if diagnose {
		draw = r.Diagnose
	}
	s, err := draw(ctx, n.trained, prior, samples, 0, r.Problem.Seed, nil)
	if err != nil {
		return nil, nil, err
	}
	if s.Failed() == s.N() {
		return nil, nil, errors.New("all samples failed")
	}
	return r, s, nil
}

func paperWalls(ε float64) []string {
	return []string{"process.walls=paper", fmt.Sprintf("process.repulsion=%v", ε)}
}

const unprojected = "process.terminal_projection=false"

// terminal compares samples with and without terminal projection.
func terminal(ctx context.Context, w io.Writer, o options) error {
	n, err := o.network(ctx, w, "alanine", o.variant)
	if err != nil {
		return err
	}
	return o.trials(ctx, w, n,
		trial{"with terminal projection", nil, ""},
		trial{"without", []string{unprojected}, ""},
		trial{"paper's walls, with", paperWalls(0.05), "ψ 0.031, h 1.4e-7, g 6.0e-10"},
		trial{"paper's walls, without", append(paperWalls(0.05), unprojected), "ψ 0.033, h 7.2e-5, g 8.0e-5"})
}

// inertia compares OLLA with ULLA, each with a network of its own.
func inertia(ctx context.Context, w io.Writer, o options) error {
	ulla, err := o.network(ctx, w, "alanine", o.variant)
	if err != nil {
		return err
	}
	olla, err := o.network(ctx, w, "alanine", "olla,"+o.variant)
	if err != nil {
		return err
	}
	const paperULLA, paperOLLA = "ψ 0.0372, RMSD 0.0381, areas 1.52e-4, 2.14e-5",
		"ψ 0.0804, RMSD 0.7830, areas 3.93e-3, 2.96e-3"
	a := &ablation{Writer: w}
	for _, t := range []struct {
		of *network
		trial
	}{
		{ulla, trial{"ULLA", nil, ""}},
		{olla, trial{"OLLA", nil, ""}},
		{ulla, trial{"ULLA, paper's walls", paperWalls(0.05), paperULLA}},
		{olla, trial{"OLLA, paper's walls", paperWalls(0.05), paperOLLA}},
	} {
		if err := a.add(ctx, o, t.of, t.trial); err != nil {
			return err
		}
	}
	return nil
}

// curvature compares samples with and without curvature terms, on alanine and on a surface.
func curvature(ctx context.Context, w io.Writer, o options) error {
	const on = "process.curvature=true"
	n, err := o.network(ctx, w, "alanine", o.variant)
	if err != nil {
		return err
	}
	if err := o.trials(ctx, w, n,
		trial{"without curvature terms", nil, ""},
		trial{"with them", []string{on}, ""},
		trial{"paper's walls, without", paperWalls(0.05), "ψ 0.034, h 1.45e-6, g 1.20e-10"},
		trial{"paper's walls, with", append(paperWalls(0.05), on), "ψ 0.035, h 1.48e-6, g 3.90e-10"}); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if n, err = o.network(ctx, w, "bunny100", "fast"); err != nil {
		return err
	}
	return o.trials(ctx, w, n,
		trial{"without curvature terms", nil, "0.034, h 1.59e-7"},
		trial{"with them", []string{on}, "0.040, h 2.24e-5"})
}

// rates are the landing rates α at ε = 0.05 and the repulsions ε at α = 50 of the paper's
// walls, all without terminal projection.
func rates(ctx context.Context, w io.Writer, o options) error {
	n, err := o.network(ctx, w, "alanine", o.variant)
	if err != nil {
		return err
	}
	type of struct {
		value float64
		paper string // ψ, RMSD, mean |h|, mean g⁺
	}
	alphas := []of{
		{0.1, "0.419, 0.045, 5.40e-3, 3.79e-3"}, {0.5, "0.247, 0.036, 5.39e-3, 2.82e-3"},
		{1, "0.134, 0.034, 5.51e-3, 1.60e-3"}, {5, "0.060, 0.033, 2.97e-3, 3.42e-4"},
		{10, "0.053, 0.034, 1.02e-3, 1.46e-4"}, {20, "0.043, 0.035, 2.09e-4, 4.28e-7"},
		{50, "0.033, 0.034, 7.20e-5, 7.95e-8"}, {100, "0.051, 0.035, 3.70e-5, 6.92e-7"},
		{200, "0.059, 0.183, 2.73e-3, 4.19e-3"}, {400, "0.235, NaN, 6.74e-1, 9.95e-1"},
	}
	epsilons := []of{
		{0.001, "0.084, 0.036, 7.00e-5, 3.49e-6"}, {0.005, "0.054, 0.033, 7.30e-5, 3.58e-5"},
		{0.01, "0.048, 0.032, 7.00e-5, 5.49e-7"}, {0.05, "0.033, 0.034, 7.20e-5, 7.95e-8"},
		{0.1, "0.052, 0.035, 2.57e-4, 5.26e-4"}, {0.5, "0.081, 0.738, 2.37e-1, 1.98e-1"},
		{1, "0.107, 0.788, 3.01e-1, 1.95e-1"}, {5, "0.134, 0.796, 7.34e-1, 2.97e-1"},
		{10, "0.188, 0.796, 1.05, 1.08"},
	}
	var all []trial
	for _, α := range alphas {
		all = append(all, trial{fmt.Sprintf("α = %v, ε = 0.05", α.value), append(paperWalls(0.05), unprojected,
			fmt.Sprintf("process.landing.rate=%v", α.value)), α.paper})
	}
	for _, ε := range epsilons {
		all = append(all, trial{fmt.Sprintf("α = 50, ε = %v", ε.value), append(paperWalls(ε.value), unprojected),
			ε.paper})
	}
	return o.trials(ctx, w, n, all...)
}

// overhead measures what projections cost: the processor time of samples with them, less
// that of the same samples with landing alone, the least of several rounds that draw all
// kinds in turn.
func overhead(ctx context.Context, w io.Writer, o options) error {
	n, err := o.network(ctx, w, "alanine", o.variant)
	if err != nil {
		return err
	}
	kinds := []trial{
		{"ULLA, no projection", []string{unprojected}, ""},
		{"ULLA", nil, "0.13 ms, 7.7 %, 0.0 %"},
		{"ULLA-P", []string{"process.method=ULLA-P"}, "1.13 ms, 91.2 %, 20.0 %"},
		{"ULLA-P, paper's walls", append(paperWalls(0.05), "process.method=ULLA-P"), "1.13 ms, 91.2 %, 20.0 %"},
	}
	samples := o.pick(4000, 20)
	ms := slices.Repeat([]float64{math.Inf(1)}, len(kinds)) // of processor time a sample
	drawn := make([]*experiment.Samples, len(kinds))
	for range o.pick(5, 1) {
		for i, t := range kinds {
			before := bench.CPU()
			_, s, err := n.draw(ctx, samples, t.settings, false)
			if err != nil {
				return err
			}
			ms[i], drawn[i] = min(ms[i], 1000*(bench.CPU()-before)/float64(samples)), s
		}
	}
	fmt.Fprintln(w, "| | ms a sample | of it projection | share | Newton iterations a sample | failed | paper |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- |")
	for i, t := range kinds {
		p := max(0, ms[i]-ms[0])
		fmt.Fprintf(w, "| %s | %.3f | %.3f | %.1f %% | %.1f | %.2f %% | %s |\n", t.name, ms[i], p, 100*p/ms[i],
			float64(drawn[i].Newton)/float64(samples), 100*float64(drawn[i].Failed())/float64(samples), t.paper)
	}
	return nil
}
