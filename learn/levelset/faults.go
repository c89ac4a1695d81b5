package levelset

import "github.com/landing-diffusion/landing/constraint/mesh"

// A MeshFault is a fault of a surface's mesh, seen by those who use the surface.
type MeshFault struct{ Fault mesh.Fault }

// String names the fault and what it does to uniform points and to counts of points on the mesh's faces.
func (f MeshFault) String() string {
	return f.Fault.Name() + "; " + [...]string{
		mesh.Hole: "uniform points are missing on Σ there, and points of Σ there count on the faces at the rim",
		mesh.NonManifold: "where faces are doubled or inside, uniform points are too many and counts are split " +
			"between faces",
		mesh.Flipped: "points beside an edge may count on the other of its two faces, in data and samples " +
			"alike, and pictures are shaded wrongly there",
		mesh.InsideOut: "points beside an edge count on the other of its two faces, in data and samples alike, " +
			"and pictures are shaded as from inside",
		mesh.Degenerate: "no uniform point starts on them, but points of neighbouring faces may count on them",
		mesh.Unused:     "they are passed over",
	}[f.Fault.Kind]
}

// Faults returns the faults of the surface's mesh, one of each kind at most. With
// any of them the surface works; the level set itself is that of the network.
func (s *Surface) Faults() []MeshFault {
	var out []MeshFault
	for _, f := range s.Mesh.Check() {
		out = append(out, MeshFault{f})
	}
	return out
}
