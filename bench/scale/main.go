// Command scale says what more cores bring: it measures what problems take on one core, and computes from that how
// training under MPI and generation by workers grow. docs/scale.md has its tables.
//
//	go run ./bench/scale                       the tables, from the costs in costs.csv
//	go run ./bench/scale -measure NAME …       the costs of a problem on this machine: a line of costs.csv
package main

import (
	_ "embed"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

//go:embed costs.csv
var measured string

func main() {
	var m measurement
	name := flag.String("measure", "", "recipe or problem file to measure, under this name with -as")
	flag.StringVar(&m.as, "as", "", "name of the line")
	flag.StringVar(&m.data, "data", "", "its data file")
	flag.StringVar(&m.variant, "variant", "", "its variants")
	flag.IntVar(&m.paths, "paths", 128, "forward paths to time")
	flag.IntVar(&m.samples, "samples", 256, "samples to time")
	flag.Func("set", "replace one key (repeatable)", func(s string) error {
		m.settings = append(m.settings, s)
		return nil
	})
	flag.Parse()
	err := error(nil)
	if *name != "" {
		var c Costs
		if c, err = m.measure(*name); err == nil {
			err = write(os.Stdout, c)
		}
	} else {
		var costs []Costs
		if costs, err = read(measured); err == nil {
			err = Tables(os.Stdout, costs)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// fields are those of a line of costs.csv.
func (c *Costs) fields() []any {
	return []any{&c.Name, &c.Dim, &c.Steps, &c.Paths, &c.Refresh, &c.Updates, &c.Rows, &c.Parameters, &c.Step, &c.Row,
		&c.Update, &c.Sample}
}

func write(w io.Writer, c Costs) error {
	var line []string
	for _, f := range c.fields() {
		switch f := f.(type) {
		case *string:
			line = append(line, *f)
		case *int:
			line = append(line, strconv.Itoa(*f))
		case *float64:
			line = append(line, strconv.FormatFloat(*f, 'g', 3, 64))
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(line, ","))
	return err
}

// read reads costs.csv, whose first line names the columns.
func read(text string) ([]Costs, error) {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	var out []Costs
	for i, line := range lines[1:] {
		var c Costs
		fields := c.fields()
		if len(line) != len(fields) {
			return nil, fmt.Errorf("costs.csv: line %d has %d columns; expected %d", i+2, len(line), len(fields))
		}
		for j, f := range fields {
			switch f := f.(type) {
			case *string:
				*f = line[j]
			case *int:
				*f, err = strconv.Atoi(line[j])
			case *float64:
				*f, err = strconv.ParseFloat(line[j], 64)
			}
			if err != nil {
				return nil, fmt.Errorf("costs.csv: line %d, column %d: %w", i+2, j+1, err)
			}
		}
		out = append(out, c)
	}
	return out, nil
}
