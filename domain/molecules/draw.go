package molecules

import (
	"fmt"
	"math"
	"strings"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

// draw shows data and samples: histograms of what is compared, two dihedrals against each
// other, free energies along dihedrals, and the conformations in space.
func (g *guide) draw(o *domain.Observables) func(c domain.Canvas, v domain.View) {
	return func(c domain.Canvas, v domain.View) {
		g.space(c, v)
		if v.Reference == nil {
			return
		}
		o.Draw(c, v.Reference, v.Marks, v.Parts, v.Seed)
		drawn := 0
		for k := range g.seen {
			if g.seen[k].Kind == conformation.Dihedral && drawn < mostEnergies {
				g.energy(c, v, k, o.List[k])
				drawn++
			}
		}
		g.torsions(c, v)
	}
}

// mostEnergies bounds the pictures of free energies.
const mostEnergies = 2

func (g *guide) torsions(c domain.Canvas, v domain.View) {
	if g.plane == nil {
		return
	}
	a, b := &g.plane[0], &g.plane[1]
	pairs := func(x []float64) []float64 {
		var out []float64
		for i := 0; i < len(x); i += v.Dim {
			out = append(out, a.value(x[i:i+v.Dim]), b.value(x[i:i+v.Dim]))
		}
		return out
	}
	opts := figure.TorsionOptions{X: a.name, Y: b.name, FeasibleX: a.feasible(), FeasibleY: b.feasible()}
	c.Add("torsions", figure.FigureRef{Title: a.name + " and " + b.name,
		Caption: "A point for each conformation; both angles are circular."},
		figure.Torsions(opts, figure.PointLayer{Name: "data", Points: pairs(v.Data)},
			figure.PointLayer{Name: "samples", Points: pairs(v.Samples)}))
}

// feasible returns the window, nil if there is none.
func (c *coordinate) feasible() []float64 {
	if !c.fixed && c.window[0] == c.window[1] {
		return nil
	}
	return c.window[:]
}

// Bins of a free energy: those of a window, and of the whole circle.
const (
	energyBins = 30
	circleBins = 36
)

// kT at 300 K, for people who think in kJ/mol.
const kT300 = 2.494

// energy draws the free energy along the k-th coordinate: F = −kT ln p.
func (g *guide) energy(c domain.Canvas, v domain.View, k int, of domain.Observable) {
	b := metric.Bins{Lo: of.Feasible[0], Hi: of.Feasible[1], N: energyBins}
	if b.Lo == b.Hi {
		b = metric.Bins{Lo: of.Lo, Hi: of.Hi, N: circleBins, Circular: true}
	}
	dim := v.Reference.Dim
	data := energyOf("data", b, metric.Column(v.Reference.Full, k, dim))
	samples := energyOf("samples", b, metric.Column(v.Marks, k, dim))
	low := math.Inf(1)
	for _, f := range data.Y {
		if f < low { // false for NaN
			low = f
		}
	}
	if math.IsInf(low, 1) {
		return // no value is in the window
	}
	data.shift(low)
	samples.shift(low)
	caption := fmt.Sprintf("F = −kT ln p in units of kT (%.2f kJ/mol at 300 K), from %d bins; least 0 in the "+
		"data. Bands: "+
		"95 %% by the counts, as if conformations were independent, which samples are and frames of a trajectory "+
		"are not.", kT300, b.N)
	if worst, at := apart(data, samples); at >= 0 {
		caption += fmt.Sprintf(" Where both have %d or more in a bin they differ by at most %.2f kT, at %.4g°.", enough,
			worst, data.X[at])
	}
	curves := []figure.Series{data.Series}
	if len(v.Samples) > 0 {
		curves = append(curves, samples.Series)
	}
	c.Add("energy-"+of.File, figure.FigureRef{Title: "Free energy along " + of.Name, Caption: caption},
		figure.Lines(figure.LineOptions{XLabel: of.Name + ", °", YLabel: "F, kT"}, curves...))
}

type energy struct {
	figure.Series
	counts []float64
}

// energyOf returns −ln p(x) of values in bins, p a density per bin width times the number of bins, and a 95 % band by
// the variance (1 − q)/(n q) of ln q for a share q of n values. Bins that are empty have none.
func energyOf(name string, b metric.Bins, values []float64) *energy {
	e := &energy{Series: figure.Series{Name: name}, counts: make([]float64, b.N)}
	n := 0.0
	for _, v := range values {
		if v-v == 0 && (b.Circular || v >= b.Lo && v <= b.Hi) {
			e.counts[b.Bin(v)]++
			n++
		}
	}
	for k, count := range e.counts {
		q := count / n
		f, σ := -math.Log(q*float64(b.N)), math.Sqrt((1-q)/count)
		if count == 0 {
			f, σ = math.NaN(), math.NaN()
		}
		e.X = append(e.X, b.Lo+(float64(k)+0.5)*(b.Hi-b.Lo)/float64(b.N))
		e.Y, e.Lo, e.Hi = append(e.Y, f), append(e.Lo, f-1.96*σ), append(e.Hi, f+1.96*σ)
	}
	return e
}

func (e *energy) shift(by float64) {
	for k := range e.Y {
		e.Y[k], e.Lo[k], e.Hi[k] = e.Y[k]-by, e.Lo[k]-by, e.Hi[k]-by
	}
}

// enough counts in a bin for a difference of free energies to mean something.
const enough = 30

// apart returns the largest difference of two free energies and its bin; −1 if there are too few counts.
func apart(a, b *energy) (worst float64, at int) {
	at = -1
	for k := range a.Y {
		if a.counts[k] >= enough && b.counts[k] >= enough && math.Abs(a.Y[k]-b.Y[k]) >= worst {
			worst, at = math.Abs(a.Y[k]-b.Y[k]), k
		}
	}
	return worst, at
}

func (g *guide) space(c domain.Canvas, v domain.View) {
	atoms := files.Named(g.molecule)
	view := &figure.MoleculeView{Title: "Conformations", Bonds: make([][2]int, len(g.molecule.Bonds))}
	for k, b := range g.molecule.Bonds {
		view.Bonds[k] = b
	}
	if len(atoms) > figure.MoleculeAtoms {
		c.Note(fmt.Sprintf("The molecule has %s atoms, above the %s that a page shows in space.",
			text.Count(len(atoms)), text.Count(figure.MoleculeAtoms)))
		return
	}
	for i, a := range atoms {
		view.Elements = append(view.Elements, a.Element)
		name := g.molecule.Label(i)
		if g.molecule.Atoms[i].Name == "" {
			name = a.Name
		}
		view.Names = append(view.Names, name)
	}
	dim := g.molecule.Dim()
	for _, l := range v.Layers("frame", dim, view.Shown) {
		layer := figure.MoleculeLayer{Name: l.Name, Frames: l.X}
		for k, label := range l.Labels {
			x := l.X[k*dim : (k+1)*dim]
			if g.reference != nil {
				pose := g.reference.Fit(x)
				pose.Apply(x, x)
			}
			layer.Labels = append(layer.Labels, label+": "+g.label(x))
		}
		view.Layers = append(view.Layers, layer)
	}
	if view.Layers == nil {
		return
	}
	view.Caption = "Taken evenly. "
	if g.reference != nil {
		view.Caption = "Taken evenly and laid on the reference. "
	}
	if g.molecule.Guessed {
		view.Caption += "Bonds are guessed by distances. "
	}
	view.Caption = strings.TrimSpace(view.Caption + v.WorstSample())
	c.Scene(view)
}

// label tells the first few numbers of a conformation.
func (g *guide) label(x []float64) string {
	var out []string
	for k := range g.seen {
		if k == 3 {
			break
		}
		c := &g.seen[k]
		digits, unit := 2, " "+c.unit()
		if c.angular() {
			digits, unit = 1, c.unit()
		}
		out = append(out, fmt.Sprintf("%s %.*f%s", c.name, digits, c.value(x), unit))
	}
	if g.reference != nil {
		out = append(out, fmt.Sprintf("RMSD %.3f Å", g.reference.RMSD(x)))
	}
	return strings.Join(out, ", ")
}
