package domain

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

func writeCSV(w io.Writer, x []float64, d int) error {
	header := make([]string, d)
	for j := range header {
		header[j] = fmt.Sprintf("x%d", j)
	}
	return WriteTable(w, header, "%.17g", x)
}

// WriteTable writes rows of numbers, in the format given, as lines of
// comma-separated values under a header.
func WriteTable(w io.Writer, header []string, format string, x []float64) error {
	b := bufio.NewWriter(w) // keeps the first error
	b.WriteString(strings.Join(header, ","))
	for i, v := range x {
		if j := i % len(header); j == 0 {
			b.WriteByte('\n')
		} else {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, format, v)
	}
	b.WriteByte('\n')
	return b.Flush()
}
