package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/problem"
)

// halves prints what new draws of a law score of which there is only data: the recipe
// alanine's. Random halves of n/2 frames are draws of the law that share none. The
// square of the distance between histograms of a and b draws goes as 1/a + 1/b, so
// that of N new draws to all n frames is d √((1/N + 1/n)/(4/n)) of the halves' d.
// Draws from the data itself, which a memoriser makes, have 1/N alone.
func halves(_ context.Context, w io.Writer, o options) error {
	text, _, err := problem.Source("alanine")
	if err != nil {
		return err
	}
	file := filepath.Join(o.data, "alanine", "dipeptide_refined_phi_psiwin.npy")
	p, err := problem.Load(text, "alanine", "",
		[]string{"data.reference=" + filepath.Join(o.data, "alanine", "dipeptide_center.npy")})
	if err != nil {
		return err
	}
	proc, err := p.Build()
	if err != nil {
		return err
	}
	kind, _ := kinds.Of(p.Data.Kind, proc.Set)
	data, err := kind.Read(file)
	if err != nil {
		return err
	}
	split := dataset.RandomSplit(data.N, p.Data.SplitSeed)
	of, err := kind.New(domain.Input{Set: proc.Set, Data: data.X, Train: data.Rows(split.Train), Files: p.Files(),
		Pool: o.pool})
	if err != nil {
		return err
	}
	distance, n, samples := of.Distance, float64(data.N), float64(of.Samples)
	scale := math.Sqrt((1/samples + 1/n) / (4 / n))
	rng := rand.New(rand.NewPCG(1, 1))
	var parts [][]float64
	for range o.pick(20, 2) {
		order := rng.Perm(data.N)
		a, b := distance.Marks(data.Rows(order[:data.N/2])), distance.Marks(data.Rows(order[data.N/2:]))
		parts = append(parts, distance.Compare(a, b))
	}
	for k, name := range append([]string{"mean"}, distance.Parts...) {
		var d []float64
		for _, p := range parts {
			d = append(d, p[k])
		}
		mean, sd := stat.MeanStdDev(d, nil)
		fmt.Fprintf(w, "alanine, %s: halves %.4f ± %.4f apart; %d new draws to all %d: %.4f\n", name, mean, sd,
			of.Samples, data.N, scale*mean)
	}
	return nil
}
