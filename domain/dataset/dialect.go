package dataset

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A dialect is how the cells of a table are written. The zero value is that of tables that are
// trained on: commas between cells, points in numbers.
type dialect struct {
	between string // "" a comma, ";", a tab, or " " for any blanks
	comma   bool   // numbers have decimal commas
	quoted  bool   // cells may be in quotes: what is between these is no end of a cell
}

// dialectOf guesses a table's dialect from its first lines, without reading on. utf16 says that it is no text in UTF-8.
func dialectOf(r *bufio.Reader) (d dialect, utf16 bool) {
	const head, most = 1 << 16, 20
	b, err := r.Peek(head)
	if bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff}) {
		return d, true
	}
	var lines []string
	all := strings.Split(string(b), "\n")
	if !errors.Is(err, io.EOF) {
		all = all[:len(all)-1] // the last one goes on
	}
	for _, line := range all {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && len(lines) < most {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return d, false
	}
	quotes := slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, `"`) })
	for _, between := range []string{";", "\t", " "} {
		d := dialect{between: between, quoted: quotes && between != " "}
		width, alike := len(d.cells(lines[len(lines)-1])), true
		for k, line := range lines {
			// A header of names with blanks in them says nothing of blanks.
			alike = alike && (len(d.cells(line)) == width || between == " " && k == 0)
		}
		if !alike || width < 2 {
			continue
		}
		numbers := 0
		for _, line := range lines {
			for _, cell := range d.cells(line) {
				cell = strings.TrimSpace(cell)
				if _, err := strconv.ParseFloat(cell, 64); err == nil {
					numbers++
				} else if _, err := strconv.ParseFloat(strings.Replace(cell, ",", ".", 1), 64); err == nil {
					d.comma = true
					numbers++
				}
			}
		}
		if numbers > 0 && (between != " " || numbers >= width*(len(lines)-1) && !d.comma) {
			return d, false
		}
	}
	if d := (dialect{quoted: true}); quotes && d.inQuotes(lines) {
		return d, false
	}
	return dialect{}, false
}

// inQuotes reports whether lines of cells between commas are another table without a look at the quotes: where
// these hold commas, or numbers of a row below the first. It finds decimal commas.
func (d *dialect) inQuotes(lines []string) (is bool) {
	for k, line := range lines {
		bare, cells := strings.Split(line, ","), d.cells(line)
		is = is || len(cells) != len(bare)
		for j, cell := range cells {
			_, err := strconv.ParseFloat(cell, 64)
			_, comma := strconv.ParseFloat(strings.Replace(cell, ",", ".", 1), 64)
			d.comma = d.comma || k > 0 && err != nil && comma == nil
			is = is || k > 0 && comma == nil && j < len(bare) && strings.TrimSpace(bare[j]) != cell
		}
	}
	return is
}

func (d dialect) cells(line string) []string {
	between := d.between
	switch between {
	case "":
		between = ","
	case " ":
		return strings.Fields(line)
	}
	if d.quoted && strings.Contains(line, `"`) {
		r := csv.NewReader(strings.NewReader(line))
		r.Comma, r.LazyQuotes, r.TrimLeadingSpace = rune(between[0]), true, between != "\t"
		if cells, err := r.Read(); err == nil {
			for j := range cells {
				cells[j] = strings.TrimSpace(cells[j])
			}
			return cells
		}
	}
	return strings.Split(line, between)
}

func (d dialect) number(cell string) (float64, error) {
	if d.comma {
		cell = strings.Replace(cell, ",", ".", 1)
	}
	return strconv.ParseFloat(cell, 64)
}

// header reports whether no cell of a line is a number.
func (d dialect) header(line string) bool {
	for _, cell := range d.cells(line) {
		if _, err := d.number(strings.Trim(cell, " \t\"'")); !errors.Is(err, strconv.ErrSyntax) {
			return false
		}
	}
	return true
}

// String says in words what is not as training reads it.
func (d dialect) String() string {
	s := ""
	switch d.between {
	case ";":
		s = "its cells are separated by semicolons"
	case "\t":
		s = "its cells are separated by tabs"
	case " ":
		s = "its cells are separated by blanks"
	case "":
		if !d.quoted {
			return ""
		}
		s = "its numbers, or commas of its header, are in quotes"
	}
	if d.comma {
		s += " and its numbers have decimal commas"
	}
	return s + ", where training reads numbers separated by commas, with decimal points"
}
