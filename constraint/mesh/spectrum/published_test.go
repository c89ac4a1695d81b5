package spectrum_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/constraint/mesh/spectrum"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The published points have the densities of eigenfunctions on the cut mesh: cut once, the divergence on faces is near
// what 20 000 draws have from 50 000 of the same law (0.027), and that of the function before is far above. Without a
// cut it is far off for the 100th.
func TestPublishedDensities(t *testing.T) {
	folder := filepath.Dir(testkit.Shared(t, "data/mesh/bunny.ply"))
	type surface struct {
		name   string
		sign   float64
		levels int
	}
	all := []surface{{"spot", -1, 1}, {"spot", -1, 0}, {"bunny", 1, 1}}
	if !testkit.Longest() {
		all = all[:1]
	}
	for _, c := range all {
		m := testkit.Must(mesh.Read(filepath.Join(folder, c.name+".ply")))
		tree, cut := mesh.NewTree(m), m
		_, faces := m.N()
		for range c.levels {
			cut = cut.Subdivided()
		}
		facesOf := func(x []float64) []float64 {
			out := make([]float64, len(x)/3)
			metric.NearestFaces(out, x, tree)
			return out
		}
		functions := testkit.Must(spectrum.New(cut).Lowest(t.Context(), 101, nil))
		for _, k := range []int{50, 100} {
			data := testkit.Must(arrayfile.ReadNPY(filepath.Join(folder, fmt.Sprintf("%s_eigfn%d.npy", c.name, k))))
			want := facesOf(data.AsFloat64())
			// distance is that of 20 000 points of the density of sign·f.
			distance := func(f []float64, sign float64) float64 {
				g := make([]float64, len(f))
				for v := range g {
					g[v] = sign * f[v]
				}
				d, x := spectrum.NewDensity(cut, g), make([]float64, 3*20_000)
				for i := range len(x) / 3 {
					d.Sample(x[3*i:3*i+3], keyed.EigenfunctionData.Stream(1, 0), uint64(i))
				}
				return metric.FaceJSD(facesOf(x), want, faces)
			}
			f, before := functions[k].F, functions[k-1].F
			if c.levels == 0 { // signs are those of cut meshes
				if far := min(distance(f, 1), distance(f, -1)); k == 100 && far < 0.1 {
					t.Errorf("%s %d: divergence %.4f without a cut", c.name, k, far)
				}
				continue
			}
			own, other := distance(f, c.sign), min(distance(before, 1), distance(before, -1))
			if own > 0.038 || other < 0.2 {
				t.Errorf("%s %d: divergence %.4f, of the function before %.4f", c.name, k, own, other)
			}
		}
	}
}
