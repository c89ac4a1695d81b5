package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/problem"
)

// halves prints what new draws score of laws of which there is only data: the four catalogues, the recipe
// alanine's, and the published motions of the arm.
func halves(_ context.Context, w io.Writer, o options) error {
	for _, name := range []string{"volcano", "earthquake", "flood", "fire"} {
		if err := halvesOf(w, o, name, name, filepath.Join("earth", name+".csv")); err != nil {
			return err
		}
	}
	if err := halvesOf(w, o, "alanine", "alanine", filepath.Join("alanine", "dipeptide_refined_phi_psiwin.npy"),
		"data.reference="+filepath.Join(o.data, "alanine", "dipeptide_center.npy")); err != nil {
		return err
	}
	for l := 10; l <= 40; l += 10 {
		file := filepath.Join("robot", fmt.Sprintf("L%d_paths.npy", l))
		if err := halvesOf(w, o, "arm", fmt.Sprintf("arm, L = %d", l), file,
			fmt.Sprintf("set.waypoints=%d", l)); err != nil {
			return err
		}
	}
	return nil
}

// halvesOf prints it of the data of a recipe, called of: how far random halves, quarters and eighths are apart, which
// are draws of the law that share none, and what follows of them (metric.NewDraws).
func halvesOf(w io.Writer, o options, recipe, of, file string, settings ...string) error {
	text, _, err := problem.Source(recipe)
	if err != nil {
		return err
	}
	p, err := problem.Load(text, recipe, "", problem.ParseSettings(settings...))
	if err != nil {
		return err
	}
	proc, err := p.Build()
	if err != nil {
		return err
	}
	kind, _ := kinds.Of(p.Data.Kind, proc.Set)
	file = filepath.Join(o.data, file)
	data, err := kind.Read(file)
	if err != nil {
		return err
	}
	if kind.Fit != nil {
		if data, err = kind.Fit(proc.Set, data); err != nil {
			return err
		}
	}
	split, files := dataset.RandomSplit(data.N, p.Data.SplitSeed), p.Files()
	files["data.path"] = file
	made, err := kind.New(domain.Input{Set: proc.Set, Data: data.X, Train: data.Rows(split.Train), Files: files,
		Pool: o.pool})
	if err != nil {
		return err
	}
	distance, samples := made.Distance, cmp.Or(made.Samples, data.N)
	law := metric.NewDraws(distance.Marks(data.X), distance.Dim, samples, 1, distance.Compare)
	rng := rand.New(rand.NewPCG(1, 1))
	for part, rows := 2, data.N/2; part <= 8; part, rows = 2*part, rows/2 {
		var parts [][]float64
		for range o.pick(20, 2) {
			order := rng.Perm(data.N)
			a, b := distance.Marks(data.Rows(order[:rows])), distance.Marks(data.Rows(order[rows:2*rows]))
			parts = append(parts, distance.Compare(a, b))
		}
		for k, name := range append([]string{"mean"}, distance.Parts...) {
			if k > 0 && len(parts[0]) == 1 {
				break
			}
			var d []float64
			for _, p := range parts {
				d = append(d, p[k])
			}
			mean, sd := stat.MeanStdDev(d, nil)
			fmt.Fprintf(w, "%s, %s: two draws of %d are %.4f ± %.4f apart", of, name, rows, mean, sd)
			if part == 2 {
				fmt.Fprintf(w, "; %d new draws to all %d: %.4f", samples, data.N, law[k])
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}
