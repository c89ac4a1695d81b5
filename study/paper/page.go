package paper

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/study/compare"
)

// Page makes the HTML page of an exhibit: its tables, and of a figure the pictures that its cells left in the folders
// of runs. What there is not is told in its notes.
func (c *Config) Page(e *Exhibit, tables []Table, rows []Row) ([]byte, error) {
	r := &figure.Report{Title: e.Title, Subtitle: "The paper's numbers and ours. " + Legend}
	for i := range tables {
		r.Tables = append(r.Tables, tables[i].Written().Table)
		r.Notes = append(r.Notes, tables[i].Notes...)
	}
	var err error
	switch {
	case e.Pictures != nil:
		err = c.pictures(e, rows, r)
	case e.Name == "figure-5":
		err = c.curves(e, rows, r)
	case e.Name == "figure-1" || e.Extra:
		err = byN(&tables[0], r)
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = r.WriteHTML(&b)
	return b.Bytes(), err
}

// add puts a chart on a page.
func add(r *figure.Report, ref figure.FigureRef, chart *figure.Chart) error {
	var b bytes.Buffer
	err := chart.WriteSVG(&b)
	ref.SVG = b.Bytes()
	r.Figures = append(r.Figures, ref)
	return err
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

// folder returns the run folder of a cell's first seed, and where its samples lie in it; empty if there is none here.
func (c *Config) folder(cell string, rows []Row) (folder, drawn string) {
	for i := range rows {
		r := &rows[i]
		if r.Cell == cell && r.Row.Seed == 1 && r.Folder != "" && r.budget() == c.Budget.Seconds() {
			folder, drawn = filepath.Join(c.Out, filepath.FromSlash(r.Folder)), r.Drawn
		}
	}
	return folder, drawn
}

// curves draws the norms of Jacobians over time.
func (c *Config) curves(e *Exhibit, rows []Row, r *figure.Report) error {
	var curves []figure.Series
	for _, line := range e.Rows {
		cell := line.entries(&e.Columns[0])[0].cells[0]
		folder, drawn := c.folder(cell, rows)
		file := filepath.Join(folder, filepath.FromSlash(drawn), jacobianFile)
		data, err := os.ReadFile(file)
		if folder == "" || errors.Is(err, fs.ErrNotExist) {
			r.Notes = append(r.Notes, absent(cell))
			continue
		}
		if err != nil {
			return err
		}
		var norms []Norm
		if err := json.Unmarshal(data, &norms); err != nil {
			return fault.Errorf(fault.Config, file, "%v", err)
		}
		s := figure.Series{Name: line.Name}
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
func (c *Config) pictures(e *Exhibit, rows []Row, r *figure.Report) error {
	for _, p := range e.Pictures {
		for _, cell := range p.Cells {
			files := slices.DeleteFunc(compare.Figures(c.folder(cell, rows)), func(file string) bool {
				is, err := path.Match(p.Picture+".svg", filepath.Base(file))
				return err != nil || !is
			})
			if len(files) == 0 {
				r.Notes = append(r.Notes, absent(cell))
			}
			for _, file := range files {
				svg, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				title := cell
				if len(files) > 1 {
					title += ", " + strings.TrimSuffix(filepath.Base(file), ".svg")
				}
				r.Figures = append(r.Figures, figure.FigureRef{Title: title, SVG: svg, Wide: p.Picture == "map-panels"})
			}
		}
	}
	return nil
}
