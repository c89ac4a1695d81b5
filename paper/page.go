package paper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/figure"
	"github.com/landing-diffusion/landing/internal/text"
)

// Page makes the HTML page of an exhibit: its tables, and of a figure the pictures that its cells left in the
// folder of runs. What there is not is told in its notes.
func (c *Config) Page(e *Exhibit, rows []Row) ([]byte, error) {
	r := &figure.Report{Title: e.Title, Subtitle: "The paper's numbers and ours. " + Legend}
	tables := e.Tables(rows, c.Settings)
	for i := range tables {
		t := &tables[i]
		out := figure.Table{Title: t.Title, Header: append([]string{t.Corner}, t.Columns...), Note: t.Says}
		for _, line := range t.Rows {
			cells := []string{line.Name}
			for _, p := range line.Places {
				cells = append(cells, p.text())
			}
			out.Rows = append(out.Rows, cells)
		}
		r.Tables = append(r.Tables, out)
		r.Notes = append(r.Notes, t.Notes...)
	}
	if err := c.draw(e, tables, r); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (c *Config) draw(e *Exhibit, tables []Table, r *figure.Report) error {
	switch {
	case len(e.Drawing) > 0:
		return c.pictures(e, r)
	case e.Name == "figure-5":
		return c.curves(e, r)
	case e.Name == "figure-1" || e.Extra:
		return byN(&tables[0], r)
	}
	return nil
}

// add puts a chart on a page.
func add(r *figure.Report, ref figure.FigureRef, chart *figure.Chart) error {
	var b bytes.Buffer
	if err := chart.WriteSVG(&b); err != nil {
		return err
	}
	ref.SVG = b.Bytes()
	r.Figures = append(r.Figures, ref)
	return nil
}

// byN draws distances against N, a curve for each method.
func byN(t *Table, r *figure.Report) error {
	var curves []figure.Series
	for _, line := range t.Rows {
		s := figure.Series{Name: line.Name}
		for i, p := range line.Places {
			n, err := strconv.ParseFloat(t.Columns[i], 64)
			if err != nil {
				return err
			}
			if len(p.Ours) > 0 {
				s.X, s.Y = append(s.X, n), append(s.Y, float64(p.Ours[0].Mean))
			}
		}
		if len(s.X) > 0 {
			curves = append(curves, s)
		}
	}
	if len(curves) == 0 {
		r.Notes = append(r.Notes, "No cell has been run: there is nothing to draw.")
		return nil
	}
	return add(r, figure.FigureRef{Title: "Distance against N", Caption: "T is that of each method."},
		figure.Lines(figure.LineOptions{XLabel: "N", YLabel: "distance to all data", LogX: true}, curves...))
}

// curves draws the norms of Jacobians over time.
func (c *Config) curves(e *Exhibit, r *figure.Report) error {
	var curves []figure.Series
	var seen []string
	for _, entry := range e.Entries {
		if slices.Contains(seen, entry.Row) {
			continue
		}
		seen = append(seen, entry.Row)
		file := filepath.Join(c.shown(Due{cells[entry.Cells[0]], 1}), jacobianFile)
		data, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			r.Notes = append(r.Notes, absent(entry.Cells[0]))
			continue
		}
		if err != nil {
			return err
		}
		var norms []Norm
		if err := json.Unmarshal(data, &norms); err != nil {
			return &RowsError{File: file, Fault: err.Error()}
		}
		s := figure.Series{Name: entry.Row}
		for _, n := range norms {
			s.X, s.Y = append(s.X, n.T), append(s.Y, n.Norm)
		}
		curves = append(curves, s)
	}
	if len(curves) == 0 {
		return nil
	}
	return add(r, figure.FigureRef{Title: "‖∇s‖ over time", Caption: "Root mean square over states of " +
		text.Count(jacobianSamples) + " backward paths."},
		figure.Lines(figure.LineOptions{XLabel: "t", YLabel: "‖∇s‖", LogY: true}, curves...))
}

func absent(cell string) string {
	return fmt.Sprintf("%s: its pictures are not in this folder: it was not run here with this budget.", cell)
}

// pictures puts what reports of cells have drawn on the page.
func (c *Config) pictures(e *Exhibit, r *figure.Report) error {
	for _, d := range e.Drawing {
		dir := c.shown(Due{cells[d.Cell], 1})
		files, err := fs.Glob(os.DirFS(dir), d.Picture+".svg")
		if err != nil {
			return err
		}
		if len(files) == 0 {
			r.Notes = append(r.Notes, absent(d.Cell))
		}
		for _, file := range files {
			svg, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				return err
			}
			title := d.Cell
			if len(files) > 1 {
				title += ", " + strings.TrimSuffix(file, ".svg")
			}
			r.Figures = append(r.Figures, figure.FigureRef{Title: title, SVG: svg, Wide: d.Picture == "map-panels"})
		}
	}
	return nil
}
