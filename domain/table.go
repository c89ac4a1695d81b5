package domain

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
)

func writeCSV(w io.Writer, points arrayfile.Rows) error {
	return WriteTable(w, coordinates(points.D), "%.17g", points)
}

// WriteTable writes rows, of a multiple of as many numbers as the header has names, in the format given, as lines of
// comma-separated values under the header.
func WriteTable(w io.Writer, header []string, format string, rows arrayfile.Rows) error {
	b := bufio.NewWriter(w) // keeps the first error
	b.WriteString(strings.Join(header, ","))
	for x := range rows.Blocks {
		for i, v := range x {
			if j := i % len(header); j == 0 {
				b.WriteByte('\n')
			} else {
				b.WriteByte(',')
			}
			fmt.Fprintf(b, format, v)
		}
	}
	b.WriteByte('\n')
	return b.Flush()
}
