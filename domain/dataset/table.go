package dataset

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/landing-diffusion/landing/internal/text"
)

// maxLine bounds the length of a line, and with it the memory that a file without line ends can take.
const maxLine = 16 << 20

// A column says what a table's column holds.
type column struct {
	name     string
	min, max float64
	want     string // the range, as in Error.Want
	exact    bool   // a header must have just this name
}

// anyNumber is the column of a table whose columns have no names.
var anyNumber = column{min: -math.MaxFloat64, max: math.MaxFloat64, want: "a finite number"}

// parse returns the number in cell, or in words (see Error.Want) what the cell should have been.
func (c column) parse(cell string) (v float64, want string) {
	v, err := strconv.ParseFloat(ascii(cell), 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, "a number"
	case v >= c.min && v <= c.max: // false for NaN
		return v, ""
	default:
		return 0, c.want
	}
}

// eachLine calls f with the lines that are neither blank nor comments, trimmed, and the number of each. It refuses a
// text without lines. The text is in UTF-8, UTF-16 or Windows-1252.
func eachLine(file string, r io.Reader, want string, f func(number int, line string) error) error {
	from := bufio.NewReader(r)
	lines := bufio.NewScanner(transform.NewReader(from, unicode.BOMOverride(encodingOf(from))))
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		line := lines.Text()
		if !utf8.ValidString(line) {
			line, _ = charmap.Windows1252.NewDecoder().String(line) // has a letter for each byte
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '%' || strings.HasPrefix(line, "//") ||
			number == 1 && len(line) == len("sep=;") && strings.HasPrefix(line, "sep=") { // for Excel
			continue
		}
		if strings.Contains(line, "\r") {
			return &Error{File: file, Line: number, Value: "lines end in carriage returns alone", Want: "line feeds"}
		}
		if err := f(number, line); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return &Error{File: file, Line: number + 1, Value: fmt.Sprintf("a line of more than %d bytes", maxLine),
			Want: "a shorter one"}
	case err != nil:
		return fmt.Errorf("%s: %w", file, err)
	case number == 0:
		return &Error{File: file, Value: "the file is empty", Want: want}
	}
	return nil
}

// encodingOf returns the decoder of a text without a byte order mark: UTF-16 has a zero byte in each ASCII character.
func encodingOf(r *bufio.Reader) transform.Transformer {
	switch head, _ := r.Peek(4); {
	case len(head) < 4:
	case head[0] != 0 && head[1] == 0 && head[2] != 0 && head[3] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder()
	case head[0] == 0 && head[1] != 0 && head[2] == 0 && head[3] != 0:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
	}
	return encoding.Nop.NewDecoder()
}

// decodeTable reads lines of comma-separated numbers. If columns is nil, the
// first line tells how many there are, and they hold any finite numbers.
func decodeTable(file string, r io.Reader, columns []column) (*Points, error) {
	sum := sha256.New()
	p := &Points{Name: file, D: len(columns)}
	first := 0 // number of the first line that is no comment
	var unsure *doubtful
	var word error // of a cell of the first line, which is none if that is a header
	err := eachLine(file, io.TeeReader(r, sum), wantRows(columns), func(number int, line string) error {
		cells := strings.Count(line, ",") + 1
		begins := first == 0
		if begins {
			first, p.D = number, cmp.Or(p.D, cells)
		}
		if cells != p.D {
			return &Error{File: file, Line: number, Value: text.Plural(cells, "column"),
				Want: wantColumns(p.D, first, columns)}
		}
		if begins && isHeader(line) {
			for cell := range strings.SplitSeq(line, ",") {
				p.Header = append(p.Header, strings.Trim(cell, " \t\"'"))
			}
			return checkHeader(file, number, line, columns)
		}
		if begins {
			unsure = doubt(strings.Split(line, ","))
		} else if unsure != nil {
			unsure.see(strings.Split(line, ","))
		}
		j := 0
		for cell := range strings.SplitSeq(line, ",") {
			cell = strings.TrimSpace(cell)
			c := anyNumber
			if columns != nil {
				c = columns[j]
			}
			j++
			v, want := c.parse(cell)
			if want != "" {
				err := &Error{File: file, Line: number, Column: cmp.Or(c.name, fmt.Sprintf("column %d", j)),
					Value: show(cell), Want: want}
				if !begins || unsure == nil {
					return err
				}
				word = cmp.Or(word, error(err))
			}
			if len(p.X) == maxNumbers {
				return tooMany(file)
			}
			p.X = append(p.X, v)
		}
		p.N++
		return nil
	})
	if err == nil && (p.N == 0 || word != nil && p.N == 1) {
		err = cmp.Or(word, noData(file, wantRows(columns)))
	}
	if err == nil && unsure != nil {
		is, certain := unsure.header(p.X[p.D:], p.D)
		if !certain {
			err = unsure.asked(file, first)
		} else if !is {
			err = word
		} else {
			p.Header, p.X, p.N = strings.Split(unsure.line, ","), p.X[p.D:], p.N-1
			p.Remarks = append(p.Remarks, fmt.Sprintf("line %d (%s) is taken for the names of columns", first,
				show(unsure.line)))
		}
	}
	if err != nil {
		return nil, err
	}
	p.Names = p.Header
	p.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

func noData(file, want string) error {
	return &Error{File: file, Value: "the file has no data", Want: want}
}

// maxNumbers is MaxNumbers, but in tests.
var maxNumbers = MaxNumbers

func tooMany(file string) error {
	return &Error{File: file, Value: fmt.Sprintf("more than %d numbers", maxNumbers), Want: "a smaller file"}
}

// isHeader reports whether no cell of the line is a number, in quotes or not: a
// quoted first row is a fault, not a header to skip.
func isHeader(line string) bool {
	for cell := range strings.SplitSeq(line, ",") {
		if _, err := strconv.ParseFloat(strings.Trim(cell, " \t\"'"), 64); !errors.Is(err, strconv.ErrSyntax) {
			return false
		}
	}
	return true
}

// checkHeader refuses a header that plainly names the columns in another order.
// Names are compared by their first three letters: lat, Latitude, LATITUDE.
func checkHeader(file string, number int, line string, columns []column) error {
	if columns == nil {
		return nil
	}
	for j, cell := range strings.Split(line, ",") {
		cell = strings.TrimSpace(cell)
		if c := columns[j]; c.exact {
			if name := strings.Trim(cell, `"'`); name != c.name {
				return &Error{File: file, Line: number, Column: fmt.Sprintf("column %d", j+1), Value: show(cell),
					Want: c.name}
			}
			continue
		}
		for k, c := range columns {
			if k != j && !c.exact && mapped(cell) == c.name {
				return &Error{File: file, Line: number, Column: fmt.Sprintf("column %d", j+1), Value: show(cell),
					Want: columns[j].name}
			}
		}
	}
	return nil
}

// mapped returns latitude or longitude if a name is such, or as maps have it: x, y; else "".
func mapped(name string) string {
	switch name = strings.ToLower(strings.Trim(name, "\"'")); name {
	case "x", "easting":
		return "longitude"
	case "y", "northing":
		return "latitude"
	}
	return Place(name)
}

// abroad are the names of latitude and longitude in other languages.
var abroad = map[string][]string{
	"latitude": {"breitengrad", "breedtegraad", "breddgrad", "breddegrad", "leveysaste", "szerokość geo", "enlem",
		"широт", "纬度", "緯度", "위도"},
	"longitude": {"längengrad", "laengengrad", "lengtegraad", "længdegrad", "lengdegrad", "pituusaste",
		"długość geo", "boylam", "долгот", "经度", "經度", "経度", "경도"},
}

// Place returns latitude or longitude if a column's name says one of them, as lat, lng or decimalLatitude; else "".
func Place(name string) string {
	name = strings.Replace(strings.ToLower(name), "lng", "lon", 1)
	for place, words := range abroad {
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) }) {
			return place
		}
	}
	for _, c := range earthColumns {
		if strings.HasPrefix(name, c.name[:3]) || strings.Contains(name, c.name[:len(c.name)-2]) {
			return c.name
		}
	}
	return ""
}

func wantColumns(d, first int, columns []column) string {
	if columns == nil {
		return fmt.Sprintf("%d, as in line %d", d, first)
	}
	return fmt.Sprintf("%d: %s", d, names(columns))
}

func wantRows(columns []column) string {
	if columns == nil {
		return "lines of numbers, separated by commas"
	}
	return "lines of " + names(columns)
}

func names(columns []column) string {
	s := make([]string, len(columns))
	for i, c := range columns {
		s[i] = c.name
	}
	return strings.Join(s, ",")
}

// show returns a cell for a message: as it is if it is a number, quoted if it is anything else, and never long.
func show(cell string) string {
	const limit = 40
	_, err := strconv.ParseFloat(cell, 64)
	text, more := cell, ""
	if len(text) > limit {
		text, more = text[:limit], "…"
	}
	if errors.Is(err, strconv.ErrSyntax) {
		text = strconv.Quote(text)
	}
	return text + more
}
