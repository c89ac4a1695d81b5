package molecules

import (
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/constraint"
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

// A chart takes points to positions.
type chart struct{ *conformation.Internal }

// placed returns the positions of points.
func (c chart) placed(points []float64) []float64 {
	d, wide := c.Dim(), c.Positions().Dim()
	out := make([]float64, len(points)/d*wide)
	for i := 0; i*d < len(points); i++ {
		c.Place(out[i*wide:(i+1)*wide], points[i*d:(i+1)*d])
	}
	return out
}

// far is how far, in Å (RMSD), torsions and angles alone may put the atoms of a frame: bonds differ by less.
const far = 0.5

// fitInternal makes points of frames: bonds get the set's lengths, angles and torsions stay.
func fitInternal(set constraint.Set, data *dataset.Points) (*dataset.Points, error) {
	in, _ := constraint.As[*conformation.Internal](set)
	frames, err := fitBent(in.Positions(), data)
	if err != nil || frames.D != in.Positions().Dim() {
		return frames, err
	}
	out := *frames
	out.D, out.X, out.Shape = in.Dim(), make([]float64, frames.N*in.Dim()), nil
	moved, place := make([]float64, frames.N), make([]float64, frames.D)
	for i := range frames.N {
		x, to := frames.X[i*frames.D:(i+1)*frames.D], out.X[i*out.D:(i+1)*out.D]
		if err := in.Point(to, x); err != nil {
			return nil, fmt.Errorf("frame %d (from 0): %w", i, err)
		}
		in.Place(place, to)
		r, err := superpose.New(place)
		if err != nil {
			return nil, fmt.Errorf("frame %d (from 0): %w", i, err)
		}
		if moved[i] = r.RMSD(x); !(moved[i] <= far) {
			return nil, fmt.Errorf("frame %d (from 0) has another shape than its torsions and angles give with the "+
				"bonds and rigid groups of the set, by %.2g Å (RMSD); expected at most %v", i, moved[i], far)
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
	c := chart{set}
	in.Set, in.Data, in.Train, in.HeldOut = set.Positions(), c.placed(in.Data), c.placed(in.Train), c.placed(in.HeldOut)
	d, err := New(in)
	if err != nil {
		return nil, err
	}
	d.Lay, d.Unit, d.PerUnit, d.Rounded = nil, "", 0, nil // distances are of points
	if o := d.Observables; o != nil {
		values, marks := o.Values, d.Distance.Marks
		o.Values = func(dst, x []float64, n int) { values(dst, c.placed(x[:n*c.Dim()]), n) }
		d.Distance.Marks = func(x []float64) []float64 { return marks(c.placed(x)) }
	}
	draw, scene, find := d.Draw, d.Scene, d.Find
	d.Find = func(x []float64) []domain.Finding { return find(c.placed(x)) }
	view := func(v domain.View) domain.View {
		v.Dim, v.Data, v.Samples = set.Positions().Dim(), c.placed(v.Data), c.placed(v.Samples)
		return v
	}
	d.Draw = func(to domain.Canvas, v domain.View) { draw(to, view(v)) }
	d.Scene = func(to domain.Canvas, v domain.View) { scene(to, view(v)) }
	for ext, w := range d.Writers {
		d.Writers[ext] = func(to io.Writer, points arrayfile.Rows) error {
			blocks := points.Blocks
			points.D, points.Blocks = set.Positions().Dim(), func(yield func([]float64) bool) {
				for b := range iter.Seq[[]float64](blocks) {
					if !yield(c.placed(b)) {
						return
					}
				}
			}
			return w(to, points)
		}
	}
	return d, nil
}
