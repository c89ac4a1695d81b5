package molecules

import (
	"fmt"
	"io"
	"slices"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/dataset"
)

// Internal is data.kind molecule on sets of internal coordinates: files have positions.
var Internal = domain.Kind{Name: "molecule by internal coordinates", Data: "molecule", Fits: fitsInternal, Read: Read,
	Fit: fitInternal, New: newInternal, Writes: Kind.Writes}

func fitsInternal(set constraint.Set) bool {
	_, ok := constraint.As[*conformation.Internal](set)
	return ok
}

// far is how far, in Å (RMSD), torsions and angles alone may put the atoms of a frame: bonds differ by less.
const far = 0.5

// nearly is how far from the set, in the size of its terms, a frame whose rings are closed by steps may end.
const nearly = 1e-9

// fitInternal makes points of frames: bonds get the set's lengths, angles and torsions stay.
func fitInternal(set constraint.Set, data *dataset.Points) (*dataset.Points, error) {
	in, _ := constraint.As[*conformation.Internal](set)
	frames, err := fitBent(in.Positions(), data)
	if err != nil {
		return nil, err
	}
	d, wide := in.Dim(), in.Positions().Dim()
	if frames.D != wide {
		return nil, fmt.Errorf("its frames have %d coordinates; expected %d", frames.D, wide)
	}
	out := *frames
	out.D, out.X, out.Shape = d, make([]float64, frames.N*d), nil
	moved := make([]float64, frames.N)
	closes, solver := set.Capabilities().Open != nil, geometry.NewSolver(set, 0)
	for i := range frames.N {
		x, point := frames.X[i*wide:(i+1)*wide], out.X[i*d:(i+1)*d]
		err := in.Point(point, x)
		if err == nil {
			if closes && solver.Descend(point, nearly) {
				solver.Project(point, 0)
			}
			var r *superpose.Reference
			if r, err = superpose.New(in.Placed(point)); err == nil {
				moved[i] = r.RMSD(x)
			}
		}
		if err == nil && !(moved[i] <= far) {
			err = fmt.Errorf("its torsions and angles with the bonds and rigid groups of the set give another shape, "+
				"by %.2g Å (RMSD); expected at most %v", moved[i], far)
		}
		if err != nil {
			return nil, fmt.Errorf("frame %d (from 0): %w", i, err)
		}
	}
	slices.Sort(moved)
	out.Remarks = append(slices.Clone(out.Remarks), fmt.Sprintf("Frames keep torsions and angles, and get the set's "+
		"bonds and rigid groups: that moves atoms by %.2g Å (RMSD; median) to %.2g Å.", moved[len(moved)/2],
		moved[len(moved)-1]))
	return &out, nil
}

// newInternal makes the domain of positions, and lets it see points.
func newInternal(in domain.Input) (*domain.Domain, error) {
	set, _ := constraint.As[*conformation.Internal](in.Set)
	in.Set, in.Data, in.Train = set.Positions(), set.Placed(in.Data), set.Placed(in.Train)
	in.HeldOut = set.Placed(in.HeldOut)
	d, err := New(in)
	if err != nil {
		return nil, err
	}
	d.Lay, d.Unit, d.PerUnit, d.Rounded = nil, "rad (over torsions and angles)", 1, nil // distances are of points
	if say := d.Say; say != nil {
		d.Say = func(x []float64) string { return say(set.Placed(x)) }
	}
	if o := d.Observables; o != nil {
		values, name := o.Values, d.Distance.Name
		o.Values = func(dst, x []float64, n int) { values(dst, set.Placed(x[:n*set.Dim()]), n) }
		d.Distance = o.Distance(set.Dim(), in.Pool) // of points: that of positions asks o for their values
		d.Distance.Name = name
	}
	draw, scene, find := d.Draw, d.Scene, d.Find
	d.Find = func(x []float64) []domain.Finding { return find(set.Placed(x)) }
	view := func(v domain.View) domain.View {
		v.Dim, v.Data, v.Samples = in.Set.Dim(), set.Placed(v.Data), set.Placed(v.Samples)
		return v
	}
	d.Draw = func(to domain.Canvas, v domain.View) { draw(to, view(v)) }
	d.Scene = func(to domain.Canvas, v domain.View) { scene(to, view(v)) }
	for ext, w := range d.Writers {
		d.Writers[ext] = func(to io.Writer, points arrayfile.Rows) error {
			blocks := points.Blocks
			points.D, points.Blocks = in.Set.Dim(), func(yield func([]float64) bool) {
				blocks(func(b []float64) bool { return yield(set.Placed(b)) })
			}
			return w(to, points)
		}
	}
	return d, nil
}
