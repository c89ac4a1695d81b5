package dataset

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
)

// rounded is a surface h(x) = Σ_j softplus(x_j) + softplus(−x_j) − 1.2 with a rough mesh of it.
func rounded(t *testing.T) *levelset.Surface {
	t.Helper()
	n := &levelset.Network{MLP: score.NewMLP[float64]([]int{3, 6, 1}, 1), Beta: 10}
	copy(n.Weight(0), []float64{1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1})
	clear(n.Bias(0))
	copy(n.Weight(1), []float64{1, 1, 1, 1, 1, 1})
	n.Bias(1)[0] = -1.2
	return testkit.Must(levelset.NewSurface(n, ball.Mesh(0)))
}

// Points have the law of the eigenfunction's positive part, or its negative one, on
// the mesh or on the level set near it, and depend on the seed and their number.
func TestEigenfunction(t *testing.T) {
	surface := rounded(t)
	e := Eigenfunction{Mesh: surface.Mesh.Subdivided().Subdivided(), K: 1, Count: 500, Seed: 3}
	tree := mesh.NewTree(e.Mesh)
	on, err := e.Generate(context.Background(), nil)
	if err != nil || on.N != 500 || on.D != 3 || len(on.X) != 1500 || on.Lost != 0 {
		t.Fatalf("%+v, %v", on, err)
	}
	e.Negative = true
	other, err := e.Generate(context.Background(), nil)
	if err != nil || other.Lambda != on.Lambda {
		t.Fatal(err)
	}
	sum := [2][3]float64{}
	for i := range 500 {
		for s, p := range []*EigenfunctionSample{on, other} {
			x := [3]float64(p.X[3*i : 3*i+3])
			if _, _, d := tree.Nearest(x); d > 1e-12 {
				t.Fatalf("point %d is %.3g off the mesh", i, d)
			}
			for j := range x {
				sum[s][j] += x[j] / 500
			}
		}
	}
	// The first eigenfunctions of an octahedron are odd: the two halves are opposite.
	// Means of 500 points are right to 0.03 a coordinate; 0.2 is six deviations.
	length := 0.0
	for j := range 3 {
		length += sum[0][j] * sum[0][j]
		if math.Abs(sum[0][j]+sum[1][j]) > 0.2 {
			t.Errorf("means %v and %v; want opposite ones", sum[0], sum[1])
		}
	}
	if math.Sqrt(length) < 0.2 {
		t.Errorf("mean %v: the points are not on one half", sum[0])
	}
	e.Surface, e.Negative = surface, false
	moved := testkit.Must(e.Generate(context.Background(), nil))
	h := make([]float64, moved.N)
	surface.Values(h, moved.X, moved.N)
	for i, v := range h {
		if math.Abs(v) > 1e-12 {
			t.Fatalf("point %d: h = %.3g", i, v)
		}
	}
	e.Count = 100
	fewer := testkit.Must(e.Generate(context.Background(), nil))
	for i, v := range fewer.X {
		if v != moved.X[i] {
			t.Fatalf("number %d of 100 points is another than of 500", i/3)
		}
	}
}

func TestEigenfunctionFaults(t *testing.T) {
	surface := rounded(t)
	fine := surface.Mesh.Subdivided()
	for want, e := range map[string]Eigenfunction{
		"eigenfunction: k is 18, expected 1 to 17, as the mesh has 18 vertices":  {Mesh: fine, K: 18},
		"eigenfunction: k is -1, expected 1 to 17, as the mesh has 18 vertices":  {Mesh: fine, K: -1},
		"eigenfunction: k is 100, expected 1 to 17, as the mesh has 18 vertices": {Mesh: fine},
		"eigenfunction: count is -2, expected 1 to 100000000 points":             {Mesh: fine, K: 1, Count: -2},
		"eigenfunction: surface is not near the mesh (102 of 102 points could not be moved to it), expected the " +
			"level set fitted to the mesh": {Mesh: fine.Scaled([3]float64{}, 9), K: 1, Count: 10, Surface: surface},
	} {
		_, err := e.Generate(context.Background(), nil)
		if fault := (*Error)(nil); !errors.As(err, &fault) || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := (Eigenfunction{Mesh: fine, K: 1}).Generate(ctx, nil); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}
