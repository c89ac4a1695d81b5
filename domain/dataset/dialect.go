package dataset

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A dialect is how a table is written, judged by all its lines. Training reads commas between cells and points in
// numbers, without quotes.
type dialect struct {
	between string // one of betweens
	comma   bool   // numbers have decimal commas
	grouped bool   // some numbers have separators of thousands
	quoted  bool   // quotes in rows, or around separators in a header
	marked  bool   // some numbers have a mark beside them
	width   int    // cells of most lines
}

// betweens are what stands between cells. Of two that fit alike the first is taken.
var betweens = []string{";", "\t", ",", "|", " ", "\u00a0"}

// A shape is how a cell is written.
type shape int

const (
	word shape = iota
	missing
	whole       // digits alone, but for separators of thousands that are no point and no comma
	point       // certainly with a decimal point, or commas between thousands
	comma       // the other way round
	eitherPoint // 1.234: a decimal point, or a separator of thousands beside decimal commas
	eitherComma
	shapes
)

// absent reports whether a cell says that there is no value.
func absent(cell string) bool {
	switch strings.ToLower(strings.Trim(cell, "#-.?*<>()")) {
	case "", "na", "n/a", "nan", "null", "nil", "none", "missing", "nd", "n.d", "div/0!", "value!", "1.#qnan":
		return true
	}
	return false
}

// minus writes the signs that typesetting and some locales put before a number as it is read.
var minus = strings.NewReplacer("\u2212", "-", "\u2013", "-", "\u2010", "-", "\u2011", "-", "\ufe63", "-", "\uff0d",
	"-")

// ascii returns a cell with a minus sign that is read, where it has another one, and an e for the D of Fortran between
// a number with decimals and an exponent with a sign or two digits: 12D34 is a code.
func ascii(cell string) string {
	if k := strings.IndexAny(cell, "dD"); k > 0 && strings.ContainsAny(cell[:k], ".,") &&
		k+2 < len(cell) && strings.Trim(cell[k+1:], "+-0123456789") == "" {
		cell = cell[:k] + "e" + cell[k+1:]
	}
	if strings.IndexFunc(cell, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		return cell
	}
	return minus.Replace(cell)
}

// shapeOf returns the shape of a cell without blanks around it, and whether thousands are separated in it.
func shapeOf(cell string) (s shape, grouped bool) {
	if absent(cell) {
		return missing, false
	}
	cell = strings.TrimLeft(ascii(cell), "+-")
	mantissa := cell
	if k := strings.LastIndexAny(cell, "eE"); k > 0 {
		if _, err := strconv.Atoi(cell[k+1:]); err != nil {
			return word, false
		}
		mantissa = cell[:k]
	}
	const most = 8 // marks
	var marks [most]rune
	var sizes [most + 1]int // digits before each mark and behind the last
	n := 0
	for _, r := range mantissa {
		switch {
		case r >= '0' && r <= '9':
			sizes[n]++
		case n < most && (r == '.' || r == ',' || r == '\'' || r == '’' || unicode.IsSpace(r)):
			marks[n] = r
			n++
		default:
			return word, false
		}
	}
	// Thousands are separated by one mark, before a decimal mark at most.
	groups := func(upto int) bool {
		for k := range upto {
			if marks[k] != marks[0] || k > 0 && sizes[k] != 3 {
				return false
			}
		}
		return sizes[0] >= 1 && sizes[0] <= 3
	}
	last := marks[max(0, n-1)]
	decimal, other := point, comma
	if last == ',' {
		decimal, other = comma, point
	}
	switch {
	case sizes[0]+sizes[n] == 0 || last == ',' && sizes[n] == 0:
		return word, false
	case n == 0:
		return whole, false
	case last != '.' && last != ',':
		if groups(n) && sizes[n] == 3 {
			return whole, true
		}
		return word, false
	case n == 1 && sizes[0] >= 1 && sizes[0] <= 3 && sizes[1] == 3 && mantissa[0] != '0' && len(mantissa) == len(cell):
		if last == '.' {
			return eitherPoint, false
		}
		return eitherComma, false
	case n == 1:
		return decimal, false
	case groups(n) && sizes[n] == 3: // 1.234.567
		return other, true
	case groups(n-1) && sizes[n-1] == 3 && marks[0] != last: // 1.234,5
		return decimal, true
	}
	return word, false
}

const money = "$€£¥"

// priced takes a currency off the front of a number, behind its sign.
func priced(cell string) (number, mark string) {
	if k := strings.IndexAny(cell, money); k == 0 || k == 1 && (cell[0] == '-' || cell[0] == '+') {
		r, size := utf8.DecodeRuneInString(cell[k:])
		if rest := strings.TrimSpace(cell[k+size:]); rest != "" && strings.IndexByte("-0123456789", rest[0]) >= 0 {
			return cell[:k] + rest, string(r)
		}
	}
	return cell, ""
}

// unmarked takes a mark off a number: %, °, the letter of a direction on Earth, or a currency on either side.
func unmarked(cell string) (number, mark string) {
	if number, mark = priced(cell); mark != "" {
		return number, mark
	}
	number = strings.TrimRight(cell, " °%NESW"+money)
	if number == "" || number[len(number)-1] < '0' || number[len(number)-1] > '9' {
		return cell, ""
	}
	mark = strings.ReplaceAll(cell[len(number):], " ", "")
	letter := strings.TrimPrefix(mark, "°")
	if letter == "N" || letter == "E" || (letter == "S" || letter == "W") && number[0] != '-' ||
		utf8.RuneCountInString(mark) == 1 && strings.Contains("%°"+money, mark) {
		return number, mark
	}
	return cell, ""
}

// shape is shapeOf of a cell of the table: beside commas between cells blanks separate no thousands.
func (d dialect) shape(cell string) (shape, bool) {
	cell, _ = unmarked(cell)
	if d.between == "," && strings.Contains(cell, " ") {
		return word, false
	}
	return shapeOf(cell)
}

// maxCell bounds the lines of a cell in quotes.
const maxCell = 50

// eachRecord is eachLine of rows: lines of one cell in quotes are one line. A quote that nothing closes within
// maxCell lines or maxLine bytes is none.
func eachRecord(file string, r io.Reader, f func(number int, line string) error) error {
	var held []string
	var numbers []int
	quoted, size := false, 0
	var take func(number int, line string) error
	apart := func() error { // the quote of the first line is none
		lines, at, give := held, numbers, f
		held, numbers, quoted, size = nil, nil, false, 0
		for k, line := range lines {
			if err := give(at[k], line); err != nil {
				return err
			}
			give = take
		}
		return nil
	}
	take = func(number int, line string) error {
		quoted = opens(line, quoted)
		if !quoted && len(held) == 0 {
			return f(number, line)
		}
		held, numbers, size = append(held, line), append(numbers, number), size+len(line)
		switch {
		case !quoted:
			whole, first := strings.Join(held, "\n"), numbers[0]
			held, numbers, size = nil, nil, 0
			return f(first, whole)
		case len(held) == maxCell || size > maxLine:
			return apart()
		}
		return nil
	}
	err := eachLine(file, r, wantRows(nil), take)
	for err == nil && len(held) > 0 {
		err = apart()
	}
	return err
}

// opens reports whether a line ends within quotes that begin a cell, or are open before it.
func opens(line string, quoted bool) bool {
	if strings.IndexByte(line, '"') < 0 {
		return quoted
	}
	begins := true
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '"' && i+1 < len(line) && line[i+1] == '"':
			i++
		case c == '"' && (quoted || begins):
			quoted, begins = !quoted, false
		case c != ' ':
			begins = strings.IndexByte(";,|\t", c) >= 0
		}
	}
	return quoted
}

// written counts what cells are if one of betweens is between them.
type written struct {
	dialect
	widths  map[int]int
	shapes  [shapes]int
	first   [shapes]Error // where the first cell of a shape is
	grouped bool
	long    bool // whole numbers of more than three digits without separators

	unpaired, zeros int // lines that are no pairs of whole numbers, and pairs whose second begins with 0, as in 1,05
}

// pair looks for decimal commas between commas: rows of whole numbers in pairs, the second without a sign.
func (w *written) pair(cells []string) {
	odd := len(cells)%2 > 0
	for j, cell := range cells {
		cell = strings.TrimSpace(cell)
		if j%2 == 0 {
			cell = strings.TrimLeft(ascii(cell), "+-")
		} else if len(cell) > 1 && cell[0] == '0' {
			w.zeros++
		}
		odd = odd || cell == "" || strings.Trim(cell, "0123456789") != "" || j%2 == 0 && len(cell) > 1 && cell[0] == '0'
	}
	if odd {
		w.unpaired++
	}
}

func (w *written) see(file string, number int, line string, header bool) {
	cells := w.cells(line)
	if w.widths[len(cells)]++; w.widths[len(cells)] > w.widths[w.width] {
		w.width = len(cells)
	}
	if strings.Contains(line, `"`) && (!header || len(cells) <= strings.Count(line, w.between) ||
		strings.Contains(line, "\n")) {
		w.quoted = true
	}
	if header && w.header(line) {
		return
	}
	if w.between == "," {
		w.pair(cells)
	}
	for j, cell := range cells {
		s, grouped := w.shape(strings.TrimSpace(cell))
		_, mark := unmarked(strings.TrimSpace(cell))
		w.marked = w.marked || s > missing && mark != ""
		if w.shapes[s]++; w.shapes[s] == 1 {
			w.first[s] = Error{File: file, Line: number, Column: fmt.Sprintf("column %d", j), Value: show(cell)}
		}
		w.grouped = w.grouped || grouped
		w.long = w.long || s == whole && !grouped && len(cell) > 3
	}
}

// share is how much of what is there are numbers, if there are several cells in most lines.
func (w *written) share() float64 {
	if numbers := w.shapes[whole] + w.shapes[point] + w.shapes[comma] + w.shapes[eitherPoint] +
		w.shapes[eitherComma]; w.width > 1 && numbers > 0 {
		return float64(numbers) / float64(numbers+w.shapes[word])
	}
	return 0
}

// dialectOf judges how a table is written by all its lines. decimal is what the user says of numbers: "point",
// "comma", or "".
func dialectOf(file string, r io.Reader, decimal string) (dialect, error) {
	all := make([]*written, len(betweens))
	for k, between := range betweens {
		all[k] = &written{dialect: dialect{between: between}, widths: map[int]int{}}
	}
	header := true
	err := eachRecord(file, r, func(number int, line string) error {
		for k, w := range all {
			if k < 4 && !strings.Contains(line, w.between) && w.between != "," { // a glance is enough
				w.widths[1]++
				continue
			}
			w.see(file, number, line, header)
		}
		header = false
		return nil
	})
	if err != nil {
		return dialect{}, err
	}
	best := all[2]
	for _, w := range all {
		if w.share() > best.share() {
			best = w
		}
	}
	return best.settle(decimal)
}

// settle says which mark numbers have before their decimals, or asks where nothing tells.
func (w *written) settle(decimal string) (dialect, error) {
	d := w.dialect
	d.comma = w.shapes[comma] > w.shapes[point]
	certain := w.shapes[comma]+w.shapes[point] > 0
	switch {
	case decimal != "point" && d.between == "," && w.unpaired == 0 && w.zeros > 0:
		e := w.first[whole]
		e.Column, e.Value = "", "numbers seem to have decimal commas, and commas stand between them"
		e.Want = "semicolons between cells, or decimal points; landing init --decimal point if all are whole numbers"
		return d, &e
	case decimal != "":
		d.comma = decimal == "comma"
	case !certain && w.shapes[eitherComma] > 0:
		return d, w.first[eitherComma].doubt(",")
	case !certain && w.shapes[eitherPoint] > 0 && !w.long && (d.between == ";" || w.shapes[whole] > 0):
		return d, w.first[eitherPoint].doubt(".")
	}
	d.grouped = w.grouped || !d.comma && w.shapes[eitherComma] > 0 || d.comma && w.shapes[eitherPoint] > 0
	return d, nil
}

// doubt asks what the mark in a number is.
func (e Error) doubt(mark string) error {
	number := strings.Trim(e.Value, `"`)
	e.Want = fmt.Sprintf("a number without doubt: it can be %s or %s, and no other number tells; landing init "+
		"--decimal point or --decimal comma says which", strings.Replace(number, mark, ".", 1),
		strings.Replace(number, mark, "", 1))
	return &e
}

func (d dialect) cells(line string) []string {
	switch d.between {
	case " ":
		return strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	case "\u00a0":
		return strings.Fields(line)
	}
	if strings.Contains(line, `"`) {
		r := csv.NewReader(strings.NewReader(line))
		r.Comma, r.LazyQuotes, r.TrimLeadingSpace = rune(d.between[0]), true, d.between != "\t"
		if cells, err := r.Read(); err == nil {
			for j := range cells {
				cells[j] = strings.TrimSpace(cells[j])
			}
			return cells
		}
	}
	return strings.Split(line, d.between)
}

func (d dialect) number(cell string) (float64, error) {
	if v, err := strconv.ParseFloat(cell, 64); !d.comma && !errors.Is(err, strconv.ErrSyntax) {
		return v, err
	}
	cell, mark := unmarked(ascii(cell))
	switch s, _ := d.shape(cell); {
	case s == point && d.comma, s == comma && !d.comma:
		return 0, strconv.ErrSyntax
	case s > missing:
		cell = strings.Map(func(r rune) rune {
			switch {
			case d.comma && r == ',':
				return '.'
			case r == '.' && d.comma, r == ',', r == '\'', r == '’', unicode.IsSpace(r):
				return -1
			}
			return r
		}, cell)
	}
	v, err := strconv.ParseFloat(cell, 64)
	if letter := strings.Trim(mark, "°%"+money); letter != "" && math.Abs(v) > 180 {
		return 0, strconv.ErrSyntax
	} else if letter == "S" || letter == "W" {
		v = -v
	}
	return v, err
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
	s := map[string]string{";": "its cells are separated by semicolons", "\t": "its cells are separated by tabs",
		"|": "its cells are separated by bars (|)",
		" ": "its cells are separated by blanks", "\u00a0": "its cells are separated by blanks"}[d.between]
	if s == "" && d.quoted {
		s = "its numbers, or commas of its header, are in quotes"
	}
	for _, also := range []struct {
		is  bool
		say string
	}{{d.comma, "its numbers have decimal commas"}, {d.grouped, "some of its numbers have separators of thousands"},
		{d.marked, "some of its numbers have a mark beside them (%, °, $, N, E; S and W are read as below 0)"}} {
		if also.is {
			s = strings.TrimPrefix(s+" and "+also.say, " and ")
		}
	}
	if s == "" {
		return ""
	}
	return s + ", where training reads numbers separated by commas, with decimal points"
}

// A doubtful first line holds whole numbers: a row, or names of columns as 0,1,2 of pandas, years and ids.
type doubtful struct {
	line  string // as it is shown
	at    []int  // columns of its whole numbers
	value []float64
	named []int // its other columns
	bare  []int // of at: how many whole numbers other rows have
}

// doubt returns the first line if it may be a header of whole numbers, else nil.
func doubt(cells []string) *doubtful {
	f := &doubtful{line: strings.Join(cells, ",")}
	for j, cell := range cells {
		switch s, grouped := shapeOf(strings.TrimSpace(cell)); {
		case s == whole && !grouped && !strings.ContainsAny(cell, "eE"):
			v, _ := strconv.ParseFloat(strings.TrimSpace(cell), 64)
			f.at, f.value = append(f.at, j), append(f.value, v)
		case s == word || s == missing:
			f.named = append(f.named, j)
		default:
			return nil
		}
	}
	if len(f.at) == 0 {
		return nil
	}
	f.bare = make([]int, len(f.at))
	return f
}

// see counts the whole numbers of another row.
func (f *doubtful) see(cells []string) {
	for k, j := range f.at {
		if j < len(cells) && !strings.ContainsAny(cells[j], ".,eE") {
			f.bare[k]++
		}
	}
}

// header reports whether the line is a header above the numbers x of rows of d. If it is not certain, somebody must
// say.
func (f *doubtful) header(x []float64, d int) (is, certain bool) {
	if len(x) < 2*d {
		return false, true
	}
	m, free := len(f.at), 0
	counts, ascends, beyond := f.value[0] == 0 || f.value[0] == 1, m > 2, true
	for k, v := range f.value {
		low, high := x[f.at[k]], x[f.at[k]]
		for i := f.at[k]; i < len(x); i += d {
			low, high = min(low, x[i]), max(high, x[i])
		}
		if f.bare[k] == 0 {
			free++
		}
		counts = counts && v == f.value[0]+float64(k)
		ascends = ascends && (k == 0 || v > f.value[k-1]) && (v < low || v > high)
		beyond = beyond && max(v, -v) > 10*max(high, -low)
	}
	for _, j := range f.named {
		numbers := 0
		for i := j; i < len(x); i += d {
			if x[i]-x[i] == 0 {
				numbers++
			}
		}
		if 2*numbers < len(x)/d { // a column of words
			return false, true
		}
	}
	switch {
	case free == 0 || m < 3 && free < m:
		return false, true
	case len(f.named) > 0, counts && m > 1:
		return true, true
	default:
		return false, !(counts || free == m && (ascends || beyond))
	}
}

// asked is the error of a first line that only the user knows to be a header or not.
func (f *doubtful) asked(file string, number int) error {
	return &Error{File: file, Line: number, Value: show(f.line) + " can be a header of whole numbers or a row",
		Want: "names with letters, or numbers with decimals (1.0); landing init --header yes or no says which"}
}
