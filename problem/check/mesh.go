package check

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/learn/levelset"
)

const (
	meshDraws = 2000 // points of the mesh that are moved to Σ
	meshFar   = 0.01 // mean distance of Σ from points of the mesh, as a share of its size: ten times that of a fit
	meshAlone = 0.05 // distance of a point of Σ from the mesh, likewise
)

// meshes looks at the mesh of a level set: its faults, how near Σ is to it, and it to Σ. A uniform prior and the
// distance on faces rest on the mesh; Σ does not.
func meshes(e *Evidence) []Finding {
	surface, ok := constraint.As[*levelset.Surface](e.Set)
	if _, bare := constraint.As[*levelset.Set](e.Set); bare {
		return []Finding{{Message: "none: a uniform prior comes from chains, and there is no distance on faces"}}
	}
	if !ok {
		return nil
	}
	var out []Finding
	if surface.Mesh.Merged > 0 {
		out = append(out, Finding{Numbers: Numbers{"merged": float64(surface.Mesh.Merged)},
			Message: surface.Mesh.MergedNote()})
	}
	for _, fault := range surface.Faults() {
		f := Finding{Status: Warn, Numbers: Numbers{"count": float64(fault.Fault.Count)}, Message: fault.String()}
		if fault.Fault.Kind == mesh.Unused {
			f.Status = Pass
		}
		out = append(out, f)
	}
	if !slices.ContainsFunc(out, func(f Finding) bool { return f.Status != Pass }) {
		_, faces := surface.Mesh.N()
		out = append(out, Finding{Numbers: Numbers{"faces": float64(faces)},
			Message: fmt.Sprintf("%d faces, closed and oriented alike, in %s", faces,
				text.Counted(surface.Mesh.Components(), "part", "parts"))})
	}
	return append(append(out, e.meshNear(surface)), e.meshUnder(surface)...)
}

// meshNear measures how far Σ is from the mesh, at points of the mesh.
func (e *Evidence) meshNear(surface *levelset.Surface) Finding {
	moved, lost := surface.Moves(keyed.MeshPoints.Stream(e.Seed, 0), meshDraws)
	size, sum := surface.Mesh.Size(), 0.0
	slices.Sort(moved)
	for _, d := range moved {
		sum += d / size
	}
	mean, q99, worst := sum/float64(len(moved)), moved[len(moved)*99/100]/size, moved[len(moved)-1]/size
	f := Finding{Numbers: Numbers{"mean": mean, "q99": q99, "worst": worst, "lost": float64(lost) / meshDraws}}
	f.Message = fmt.Sprintf("Σ is %.2g of the mesh's size away from points of it (mean), %.2g (99 %%), %.2g (worst)",
		mean, q99, worst)
	if mean > meshFar {
		f.add(Warn, ": uniform points crowd where Σ bends away, and points count on faces that are not theirs; is "+
			"it the mesh that the network was fitted to?")
	}
	if lost > 0 {
		f.add(Warn, "; %d of %d points of the mesh cannot be moved to Σ, and a uniform prior draws none "+
			"there", lost, meshDraws)
	}
	return f
}

// meshUnder measures how far points of Σ are from the mesh: Σ may have parts that the mesh has not.
func (e *Evidence) meshUnder(surface *levelset.Surface) []Finding {
	if len(e.On) == 0 {
		return nil
	}
	tree, size, far, at := mesh.NewTree(surface.Mesh), surface.Mesh.Size(), 0.0, 0
	for i, p := range e.On {
		if _, _, d := tree.Nearest([3]float64(p.X)); d/size > far {
			far, at = d/size, i
		}
	}
	f := Finding{Numbers: Numbers{"worst": far, "points": float64(len(e.On))}}
	f.Message = fmt.Sprintf("of %d points of Σ the worst is %.2g of the mesh's size away from it (%s)", len(e.On),
		far, e.On[at].From)
	if far > meshAlone {
		f.add(Warn, ": a uniform prior draws no point of the parts of Σ that the mesh has not, and points there "+
			"count on faces that are not theirs")
	}
	return []Finding{f}
}
