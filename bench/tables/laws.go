package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/levelset"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/mesh/spectrum"
	"github.com/landing-diffusion/landing/problem"
)

// laws prints what draws of the very law that a recipe's data was drawn from score: as
// many as an evaluation takes, to all data, and to the rows that are held out of training.
// A model that has learned the law and not the rows does no better.
func laws(ctx context.Context, w io.Writer, o options) error {
	for _, name := range []string{"so10-3", "so10-5", "bunny50", "bunny100", "spot50", "spot100"}[:o.pick(6, 2)] {
		if err := lawOf(ctx, w, o, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

const lawDraws = 5 // sets of draws

func lawOf(ctx context.Context, w io.Writer, o options, name string) error {
	text, _, err := problem.Source(name)
	if err != nil {
		return err
	}
	body := strings.TrimRight(name, "0123456789")
	files := filepath.Join(o.data, "mesh", body)
	var settings []string
	surface := !strings.HasPrefix(name, "so10")
	if surface {
		settings = []string{"set.weights=" + files + "_sdf.npz", "set.mesh=" + files + ".ply"}
	}
	p, err := problem.Load(text, name, "", problem.ParseSettings(settings...))
	if err != nil {
		return err
	}
	proc, err := p.Build()
	if err != nil {
		return err
	}
	var data, draws []float64
	if surface {
		data, draws, err = densityDraws(ctx, proc.Set, files, strings.TrimPrefix(name, body))
	} else {
		modes := map[string]int{"so10-3": 3, "so10-5": 5}[name]
		data, draws, err = rotationDraws(modes, o.pick(10_000, 40))
	}
	if err != nil {
		return err
	}
	d := proc.Set.Dim()
	points := dataset.Points{N: len(data) / d, D: d, X: data}
	split := dataset.RandomSplit(points.N, p.Data.SplitSeed)
	train, held := points.Rows(split.Train), points.Rows(append(append([]int{}, split.Val...), split.Test...))
	kind, _ := kinds.Of("points", proc.Set)
	of, err := kind.New(domain.Input{Set: proc.Set, Data: data, Train: train, Files: p.Files(), Pool: o.pool})
	if err != nil {
		return err
	}
	full, apart := of.Distance.Marks(data), of.Distance.Marks(held)
	n := len(draws) / lawDraws
	var toFull, toHeld []string
	for k := range lawDraws {
		marks := of.Distance.Marks(draws[k*n : (k+1)*n])
		toFull = append(toFull, fmt.Sprintf("%.4f", of.Distance.Between(marks, full)))
		toHeld = append(toHeld, fmt.Sprintf("%.4f", of.Distance.Between(marks, apart)))
	}
	fmt.Fprintf(w, "%s, %d draws of the law: to all data %s; to held-out rows %s\n", name, n/d,
		strings.Join(toFull, ", "), strings.Join(toHeld, ", "))
	return nil
}

// rotationDraws returns the data of docs/data.md, n matrices, and lawDraws times as many
// that come after them.
func rotationDraws(modes, n int) (data, draws []float64, err error) {
	p, _, err := dataset.RotationMixture{Modes: modes, Count: (1 + lawDraws) * n, Seed: 1}.Generate()
	if err != nil {
		return nil, nil, err
	}
	return p.X[:n*p.D], p.X[n*p.D:], nil
}

// densityDraws returns the published points of an eigenfunction and lawDraws times 20 000
// others of its density, on the level set.
func densityDraws(ctx context.Context, set constraint.Set, files, k string) (data, draws []float64, err error) {
	published, err := dataset.ReadPoints(files + "_eigfn" + k + ".npy")
	if err != nil {
		return nil, nil, err
	}
	s, _ := constraint.As[*levelset.Surface](set)
	cut, err := spectrum.Cut(s.Mesh, spectrum.Levels(s.Mesh))
	if err != nil {
		return nil, nil, err
	}
	e := dataset.Eigenfunction{Mesh: cut, K: map[string]int{"50": 50, "100": 100}[k], Surface: s, Seed: 1,
		Negative: strings.HasSuffix(files, "spot"), Count: lawDraws * 20_000}
	sample, err := e.Generate(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	return published.X, sample.X, nil
}
