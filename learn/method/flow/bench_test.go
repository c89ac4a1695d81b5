package flow

import (
	"context"
	"testing"

	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A refresh of the paths to 1000 points of the bunny, on one core.
func BenchmarkPathsOnBunny(b *testing.B) {
	net := testkit.Must(levelset.ReadNetwork(testkit.Shared(b, "data/mesh/bunny_sdf.npz")))
	s := testkit.Must(levelset.NewSurface(net, testkit.Must(mesh.Read(testkit.Shared(b, "data/mesh/bunny.ply")))))
	m := testkit.Must(New(s, nil, Options{}))
	pool := testkit.Pool(b, 1)
	const n = 1000
	src := NewSource[float32](m, rows(m, n), pool)
	testkit.OK(b, src.Prepare(context.Background(), 1))
	failed := 0
	for i := 0; b.Loop(); i++ {
		r := testkit.Must(src.Refresh(context.Background(), 1, uint64(i)))
		failed += r.Failed
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/path")
	b.ReportMetric(float64(failed)/float64(b.N), "failed")
}
