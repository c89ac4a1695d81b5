package spectrum_test

import (
	"path/filepath"
	"testing"

	"github.com/landing-diffusion/landing/internal/testkit"
	"github.com/landing-diffusion/landing/internal/testkit/published"
)

// The published points have the densities of eigenfunctions on the cut mesh: cut once, the divergence on faces is near
// what 20 000 draws have from 50 000 of the same law (0.027), and that of the function before is far above. Without a
// cut it is far off for the 100th.
func TestPublishedDensities(t *testing.T) {
	folder := filepath.Dir(testkit.Shared(t, "data/mesh/bunny.ply"))
	compare := func(name string, levels int) []published.Row {
		rows := testkit.Must(published.Compare(t.Context(), folder, name, levels, false))
		if len(rows) != 2 {
			t.Fatalf("%d files of %s", len(rows), name)
		}
		return rows
	}
	for _, name := range []string{"bunny", "spot"} {
		for _, r := range compare(name, 1) {
			if r.Distance > 0.038 || r.Before < 0.2 {
				t.Errorf("%v: divergence %.4f, of the function before %.4f", r.Points, r.Distance, r.Before)
			}
		}
	}
	for _, r := range compare("spot", 0) {
		if r.K == 100 && r.Distance < 0.1 {
			t.Errorf("%v: divergence %.4f without a cut", r.Points, r.Distance)
		}
	}
}
