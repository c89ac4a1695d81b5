package molecules

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
)

// A conformers holds samples against held-out rows: by torsions, energies and shapes.
type conformers struct {
	*guide
	domain.Input
	d     int
	field *amber.ForceField // nil: no parameters are known
}

// compare makes it of the data. The error is a *files.Error or one of a file of parameters.
func (g *guide) compare(in domain.Input) (c *conformers, err error) {
	c = &conformers{guide: g, Input: in, d: g.molecule.Dim()}
	path := cmp.Or(in.Files[PrmtopKey], in.Files["potential.prmtop"])
	if path == "" {
		return c, nil
	}
	system, err := amber.ReadPrmtop(path)
	if err != nil {
		return nil, err
	}
	if n := len(system.Atoms); 3*n != c.d {
		return nil, &files.Error{File: path, Frame: -1, Problem: fmt.Sprintf("it has %d atoms, expected %d as "+
			"in the set", n, c.d/3)}
	}
	if c.field, err = amber.New(system, amber.OBC2); err != nil { // it lacks radii
		c.field, err = amber.New(system, amber.Vacuum)
	}
	return c, err
}

// energies returns those of rows, in kcal/mol.
func (c *conformers) energies(x []float64) []float64 {
	out := make([]float64, len(x)/c.d)
	domain.EachBlock(c.Pool, len(out), func(lo, hi int) {
		e := c.field.NewEvaluator()
		for i := lo; i < hi; i++ {
			out[i] = e.Energy(nil, x[i*c.d:(i+1)*c.d]).Sum()
		}
	})
	return out
}

// The usual thresholds of coverage: for molecules of at most smallMolecule heavy atoms (QM9), and for larger ones
// (drugs).
const (
	smallMolecule   = 9
	near, nearLarge = 0.5, 0.75 // Å
	mostShapes      = 300       // rows whose RMSDs to each other are taken
)

// find tells how well samples, and as many training rows in the column of the data, cover the held-out rows.
func (c *conformers) find(x []float64) []domain.Finding {
	heavy, δ := c.molecule.Heavy(), near
	if len(heavy) > smallMolecule {
		δ = nearLarge
	}
	shapes := func(x []float64, n int) (out []*superpose.Reference) {
		for row := range slices.Chunk(langevin.Starts(x, c.d, n), c.d) {
			var y []float64
			for _, i := range heavy {
				y = append(y, row[3*i:3*i+3]...)
			}
			if r, err := superpose.New(y); err == nil { // atoms on a line have none
				out = append(out, r)
			}
		}
		return out
	}
	n, m := min(len(x)/c.d, len(c.Train)/c.d, mostShapes), min(len(c.HeldOut)/c.d, mostShapes)
	held := shapes(c.HeldOut, m)
	if n == 0 || len(held) == 0 {
		return nil
	}
	f := domain.Finding{Name: "coverage", Note: fmt.Sprintf("By the RMSD of the %d heavy atoms after alignment, of %d "+
		"samples and %d held-out rows. COV-R is the share of held-out rows with a sample within %.2g Å, MAT-R their "+
		"mean RMSD to the nearest sample. COV-P and MAT-P are those of samples and the nearest held-out row. The "+
		"column of the data has as many training rows instead of samples.", len(heavy), n, m, δ)}
	samples, data := coverage(shapes(x, n), held, δ), coverage(shapes(c.Train, n), held, δ)
	for k, name := range []string{"COV-R", "COV-P", "MAT-R", "MAT-P"} {
		f.Measures = append(f.Measures, domain.Measure{Name: name, Unit: []string{"", "Å"}[k/2],
			Samples: metric.Float(samples[k]), Data: metric.Float(data[k]), Noise: metric.NaN, PValue: metric.NaN})
	}
	f.Verdict = fmt.Sprintf("%.1f %% of held-out rows have a sample within %.2g Å, %.1f %% a training row",
		100*samples[0], δ, 100*data[0])
	return []domain.Finding{f}
}

// A contact is of atoms nearer than in any row of the data.
const (
	adjacent    = 3      // bonds between two atoms, up to which these set their distance
	touching    = 1.5    // Å: atoms farther apart, less their covalent radii, do not touch (C–C 3.0 Å)
	nearer      = 0.2    // Å, at least
	touches     = 2e8    // pairs that are looked at, at most, of all rows
	mostTouch   = 2000   // atoms
	contactRisk = 0.0005 // of a false alarm
)

// contacts reports samples whose atoms come nearer to each other than in any row of the data.
func (c *conformers) contacts(x []float64) []domain.Finding {
	type pair struct {
		i, j  int
		radii float64
	}
	var pairs []pair
	neighbours, atoms := c.molecule.Neighbours(), c.molecule.Atoms
	if len(atoms) > mostTouch {
		return []domain.Finding{{Name: "contacts", Verdict: fmt.Sprintf("Not looked at: %d atoms; expected at most %d",
			len(atoms), mostTouch)}}
	}
	for i := range atoms {
		within, ring := map[int]bool{i: true}, []int{i}
		for range adjacent {
			var next []int
			for _, a := range ring {
				for _, b := range neighbours[a] {
					if !within[b] {
						within[b], next = true, append(next, b)
					}
				}
			}
			ring = next
		}
		for j := range i {
			if !within[j] {
				pairs = append(pairs, pair{j, i, molecule.Radius(atoms[i].Element) + molecule.Radius(atoms[j].Element)})
			}
		}
	}
	if len(pairs) == 0 || len(x) == 0 || len(c.Data) == 0 {
		return nil
	}
	// closest are the distances, less the radii, of the nearest pairs of some rows, and these pairs.
	closest := func(x []float64) (rows, r []float64, at []pair) {
		rows = langevin.Starts(x, c.d, min(len(x)/c.d, max(1, touches/len(pairs))))
		r, at = slices.Repeat([]float64{math.Inf(1)}, len(rows)/c.d), make([]pair, len(rows)/c.d)
		domain.EachBlock(c.Pool, len(r), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				for _, p := range pairs {
					if v := molecule.Distance(rows[i*c.d:(i+1)*c.d], p.i, p.j) - p.radii; v < r[i] {
						r[i], at[i] = v, p
					}
				}
			}
		})
		return rows, r, at
	}
	rows, own, _ := closest(c.Data)
	_, r, at := closest(x)
	limit, worst, n := min(slices.Min(own), touching)-nearer, slices.Index(r, slices.Min(r)), 0
	for _, v := range r {
		if v < limit {
			n++
		}
	}
	share, p := float64(n)/float64(len(r)), metric.FisherTest(n, len(r), 0, len(own))
	f := domain.Finding{Name: "contacts", Verdict: "Atoms of samples keep the distances of the data",
		Note: fmt.Sprintf("Of atoms more than %d bonds apart, by their distance less covalent radii; a contact is "+
			"nearer than in any row of the data by %g Å.", adjacent, nearer),
		Measures: []domain.Measure{{Name: "share", Samples: metric.Float(share), Noise: metric.NaN,
			PValue: metric.Float(p)}}}
	if a, least := at[worst], math.Inf(1); n > 0 {
		for row := range slices.Chunk(rows, c.d) {
			least = min(least, molecule.Distance(row, a.i, a.j))
		}
		f.Verdict = fmt.Sprintf("%s of the samples have atoms closer by %g Å than in any of %d rows of the data: "+
			"%s and %s are %.2f Å apart, in these rows at least %.2f Å", text.Percent(share), nearer, len(own),
			c.molecule.Label(a.i), c.molecule.Label(a.j), r[worst]+a.radii, least)
		f.Warning, f.Share = p <= contactRisk, share
	}
	return []domain.Finding{f}
}

// coverage returns COV-R, COV-P, MAT-R and MAT-P of samples x and held-out rows.
func coverage(x, held []*superpose.Reference, δ float64) (out [4]float64) {
	far := []float64{math.Inf(1)}
	least := [2][]float64{slices.Repeat(far, len(held)), slices.Repeat(far, len(x))}
	for i, a := range x {
		for j, b := range held {
			d := b.RMSD(a.Positions())
			least[0][j], least[1][i] = min(least[0][j], d), min(least[1][i], d)
		}
	}
	for side, all := range least {
		for _, d := range all {
			out[2+side] += d
			if d <= δ {
				out[side]++
			}
		}
		out[side], out[2+side] = out[side]/float64(len(all)), out[2+side]/float64(len(all))
	}
	return out
}

// draw shows torsions and energies of held-out rows and samples.
func (c *conformers) draw(canvas domain.Canvas, samples []float64) {
	if len(c.HeldOut) == 0 || len(samples) == 0 {
		return
	}
	columns := func(of func(x []float64) []float64) []figure.Column {
		return []figure.Column{{Name: "held-out rows", Values: of(c.HeldOut)}, {Name: "samples", Values: of(samples)}}
	}
	var circles []figure.Circle
	names := c.names()
	for _, t := range c.turns {
		a := t.Atoms
		name := fmt.Sprintf("%s – %s – %s – %s", names[a[0]], names[a[1]], names[a[2]], names[a[3]])
		circles = append(circles, figure.Circle{Name: name, Columns: columns(func(x []float64) (out []float64) {
			for row := range slices.Chunk(x, c.d) {
				out = append(out, t.value(row))
			}
			return out
		})})
	}
	if circles != nil {
		canvas.Add("torsion-circles", figure.FigureRef{Title: "Torsions", Caption: "Histograms on circles, of 10° a " +
			"bin: the area of a bin is its share of the rows. 0° is above, angles go clockwise."},
			figure.Circles(circles...))
	}
	if c.field != nil {
		u := columns(c.energies)
		low, high := slices.Min(u[0].Values), slices.Max(u[0].Values)
		canvas.Add("energies", figure.FigureRef{Title: "Energies", Caption: fmt.Sprintf("By the parameters of the "+
			"prmtop file. Medians: %.4g kcal/mol of held-out rows, %.4g of samples. Values outside of the range "+
			"count in the bins at its ends.", metric.Median(u[0].Values), metric.Median(u[1].Values))},
			figure.Histogram(figure.HistogramOptions{XLabel: "energy, kcal/mol", Lo: low - (high-low)/5,
				Hi: high + (high-low)/2, Density: true}, u...))
	}
}
