package check

import (
	"context"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/levelset/fit"
	"github.com/landing-diffusion/landing/tools/testkit"
	testball "github.com/landing-diffusion/landing/tools/testkit/ball"
)

// Check reports what is wrong with the mesh of a level set, and its effect; the level set itself is sound in all cases.
func TestMesh(t *testing.T) {
	pool, sphere := parallel.New(2), testball.Mesh
	defer pool.Close()
	o := fit.Defaults()
	o.Width, o.Layers, o.Steps, o.Batch, o.Rate = 16, 2, 300, 256, 0.01
	net := testkit.Must(fit.Fit(context.Background(), sphere(3), o, pool, nil))
	far := func(m *mesh.Mesh) *mesh.Mesh { // a strip that reaches to where Newton's method is not let
		m.Vertices = append(m.Vertices, 1, 0, 0, 3, 0, 0, 3, 0.01, 0)
		n := int32(len(m.Vertices) / 3)
		m.Faces = append(m.Faces, n-3, n-2, n-1)
		return m
	}
	for name, c := range map[string]struct {
		mesh   *mesh.Mesh
		status Status
		words  []string
	}{
		"good":   {sphere(3), Pass, []string{"512 faces, closed and oriented alike, in 1 part"}},
		"near":   {sphere(3), Pass, []string{"away from points of it (mean)"}},
		"covers": {sphere(3), Pass, []string{"points of Σ the worst is"}},
		"hole": {&mesh.Mesh{Vertices: sphere(3).Vertices, Faces: sphere(3).Faces[3:]}, Warn,
			[]string{"holes: 3 edges", "uniform points are missing"}},
		"half": {&mesh.Mesh{Vertices: sphere(3).Vertices, Faces: sphere(3).Faces[:768]}, Warn,
			[]string{"points of Σ the worst is", "parts of Σ that the mesh has not"}},
		"unused": {&mesh.Mesh{Vertices: append(sphere(3).Vertices, 0, 0, 0), Faces: sphere(3).Faces}, Pass,
			[]string{"1 vertex belongs to no face"}},
		"large": {sphere(3).Scaled([3]float64{}, 1.2), Warn,
			[]string{"is it the mesh that the network was fitted to?"}},
		"strip": {far(sphere(3)), Warn, []string{"of 2000 points of the mesh cannot be moved"}},
	} {
		s, err := levelset.NewSurface(net, c.mesh)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := examine(t, s)
		says(t, r, "mesh", "", c.status, c.words...)
		if slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return f.Status > Pass && f.Check != "mesh" && f.Check != "data" && f.Check != "offset"
		}) {
			t.Errorf("%s: something else than the mesh is told: %v", name, r.Findings)
		}
		if worst := slices.MaxFunc(find(r, "mesh", ""),
			func(a, b Finding) int { return int(a.Status) - int(b.Status) }).Status; worst != c.status {
			t.Errorf("%s: the worst finding about the mesh is %v, want %v", name, worst, c.status)
		}
	}
	says(t, examine(t, levelset.New(net)), "mesh", "", Pass, "none", "from chains")
}
