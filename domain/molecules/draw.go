package molecules

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
)

// draw shows data and samples: histograms of what is compared, free energies along dihedrals, two dihedrals against
// each other, all torsions on circles, energies, and the conformations in space.
func (g *guide) draw(o *domain.Observables, compared *conformers) func(c domain.Canvas, v domain.View) {
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
		compared.draw(c, v.Samples)
	}
}

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

// names returns those of the atoms: their labels, or those that PDB files have.
func (g *guide) names() (names []string) {
	for i, a := range files.Named(g.molecule) {
		if label := g.molecule.Label(i); label != strconv.Itoa(i) {
			a.Name = label
		}
		names = append(names, a.Name)
	}
	return names
}

func (g *guide) space(c domain.Canvas, v domain.View) {
	atoms := g.molecule.Atoms
	view := &figure.MoleculeView{Title: "Conformations", Names: g.names(), Bonds: make([][2]int, len(g.molecule.Bonds))}
	for k, b := range g.molecule.Bonds {
		view.Bonds[k] = b
	}
	if len(atoms) > figure.MoleculeAtoms {
		c.Note(fmt.Sprintf("The molecule has %s atoms, above the %s that a page shows in space.",
			text.Count(len(atoms)), text.Count(figure.MoleculeAtoms)))
		return
	}
	for _, a := range atoms {
		view.Elements = append(view.Elements, cmp.Or(a.Element, "X"))
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
