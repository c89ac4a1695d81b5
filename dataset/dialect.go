package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// A dialect is how the cells of a table are written. The zero value is that of tables that are
// trained on: commas between cells, points in numbers.
type dialect struct {
	between string // "" a comma, ";", a tab, or " " for any blanks
	comma   bool   // numbers have decimal commas
}

// dialectOf guesses a table's dialect from its first lines, without reading on. utf16 says that it is no
// text in UTF-8.
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
	for _, between := range []string{";", "\t", " "} {
		d := dialect{between: between}
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
	return dialect{}, false
}

func (d dialect) cells(line string) []string {
	switch d.between {
	case "":
		return strings.Split(line, ",")
	case " ":
		return strings.Fields(line)
	}
	return strings.Split(line, d.between)
}

// number reads a cell.
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
	default:
		return ""
	}
	if d.comma {
		s += " and its numbers have decimal commas"
	}
	return s + ", where training reads cells separated by commas, with decimal points"
}
