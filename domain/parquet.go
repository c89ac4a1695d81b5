package domain

import (
	"fmt"
	"io"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/internal/parquetfile"
)

func writeParquet(w io.Writer, points arrayfile.Rows) error {
	return tableParquet(w, coordinates(points.D), points)
}

// coordinates are the names of columns that have none of their own.
func coordinates(d int) []string {
	names := make([]string, d)
	for j := range names {
		names[j] = fmt.Sprintf("x%d", j)
	}
	return names
}

// tableParquet writes rows as a Parquet file of float64 columns of these names.
func tableParquet(w io.Writer, names []string, rows arrayfile.Rows) error {
	p := parquetfile.NewWriter(w, names)
	for x := range rows.Blocks {
		if err := p.Write(x); err != nil {
			return err
		}
	}
	return p.Close()
}
