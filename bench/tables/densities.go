package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/landing-diffusion/landing/internal/testkit/published"
)

// densities prints how far published points are from 20 000 of their
// eigenfunction, by how often each face is cut in four first.
func densities(ctx context.Context, w io.Writer, o options) error {
	for _, name := range []string{"bunny", "spot"}[:o.pick(2, 1)] {
		for levels := range o.pick(3, 1) {
			rows, err := published.Compare(ctx, filepath.Join(o.data, "mesh"), name, levels, true)
			if err != nil {
				return err
			}
			for _, r := range rows {
				fmt.Fprintf(w, "%s %d, cut %d times: divergence %.4f; from 50 000 points of its own %.4f; of the "+
					"function before %.4f\n",
					name, r.K, levels, r.Distance, r.Floor, r.Before)
			}
		}
	}
	return nil
}
