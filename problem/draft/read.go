package draft

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/parquetfile"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem/discover"
)

// circles replaces each given column of angles by its cosine and sine: a point of a circle, which has no seam where an
// angle comes round. Numbers beyond ±2π are degrees.
func (l *loaded) circles(asked []string) error {
	if len(asked) == 0 {
		return nil
	}
	s := l.survey
	if l.molecule != nil {
		return fault.Errorf(fault.Usage, "", "--angles: files of molecules are taken as they are; "+
			"expected an array or a table")
	}
	unit := map[int]float64{} // radians in that of a column
	for _, want := range asked {
		j := column(s, want)
		if j < 0 || slices.Contains(s.Text, j) {
			return fault.Errorf(fault.Usage, "", "--angles: %s", noColumn(s, want))
		}
		most := 0.0
		for i := range s.N {
			if v := math.Abs(s.X[i*s.D+j]); v-v == 0 {
				most = max(most, v)
			}
		}
		name, of := "radians", 1.0
		if most > 2*math.Pi+1e-6 {
			name, of = "degrees", math.Pi/180
		}
		if unit[j] == 0 {
			l.turned = append(l.turned, fmt.Sprintf("%s is an angle, taken as %s", columnName(s, j), name))
		}
		unit[j] = of
	}
	moved := func(j int) int { // where a column goes
		to := j
		for k := range unit {
			if k < j {
				to++
			}
		}
		return to
	}
	l.find = func(want string) int {
		j := column(s, want)
		if j < 0 {
			return slices.Index(l.survey.Header, want)
		}
		return moved(j)
	}
	l.survey = turned(s, unit, moved)
	return nil
}

// turned is a survey with some columns replaced by their cosine and sine; unit has the radians in the unit of each.
func turned(s *dataset.Survey, unit map[int]float64, at func(j int) int) *dataset.Survey {
	out := *s
	out.D += len(unit)
	out.Shape, out.X, out.Header = []int{out.D}, make([]float64, 0, s.N*out.D), nil
	for i := range s.N {
		for j := range s.D {
			if v := s.X[i*s.D+j]; unit[j] == 0 {
				out.X = append(out.X, v)
			} else {
				sin, cos := math.Sincos(v * unit[j])
				out.X = append(out.X, cos, sin)
			}
		}
	}
	for j, name := range s.Header {
		if unit[j] == 0 {
			out.Header = append(out.Header, name)
		} else {
			out.Header = append(out.Header, "cos_"+name, "sin_"+name)
		}
	}
	move := func(columns []int) (moved []int) {
		for _, j := range columns {
			moved = append(moved, at(j))
		}
		return moved
	}
	out.Text, out.Empty, out.Faults = move(s.Text), move(s.Empty), slices.Clone(s.Faults)
	for k, f := range out.Faults {
		if f.Column >= 0 {
			out.Faults[k].Column = at(f.Column)
		}
	}
	out.Losses = slices.Clone(s.Losses)
	for k, loss := range out.Losses {
		out.Losses[k].First = slices.Clone(loss.First)
		for i, f := range loss.First {
			if f.Column >= 0 {
				out.Losses[k].First[i].Column = at(f.Column)
			}
		}
	}
	return &out
}

// columnName is that of a column of the file.
func columnName(s *dataset.Survey, j int) string {
	if h := s.Header; h != nil && h[j] != "" {
		return h[j]
	}
	return fmt.Sprintf("column %d", j)
}

// said is how an option names a column of the file.
func said(s *dataset.Survey, j int) string {
	if h := s.Header; h != nil && h[j] != "" && !strings.Contains(h[j], ",") {
		return text.Shell(h[j])
	}
	return fmt.Sprint(j)
}

// column finds a column of the file by its name or number from 0; −1: there is none.
func column(s *dataset.Survey, want string) int {
	if j := slices.Index(s.Header, want); j >= 0 {
		return j
	}
	k := -1
	if _, err := fmt.Sscanf(want, "%d", &k); err == nil && fmt.Sprint(k) == want && k >= 0 && k < s.D {
		return k
	}
	return -1
}

func noColumn(s *dataset.Survey, want string) string {
	return fmt.Sprintf("there is no column %q of numbers; expected a name of the header or a number from 0 to %d", want,
		s.D-1)
}

// Cleaned is a file of the rows and columns that can be trained on.
type Cleaned struct {
	File    string `json:"file"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"`
	Bytes   []byte `json:"-"`
}

// MaxLoss is the share of rows that may be left out for one reason.
const MaxLoss = 0.01

// lost refuses a file with too many faulty rows for one reason: without these rows the law would change, or the reader
// misunderstands the file.
func (t *sheet) lost(o Options) error {
	share := cmp.Or(o.MaxLoss, MaxLoss)
	for _, loss := range t.survey.Losses {
		most := max(1, int(share*float64(t.survey.N)))
		if loss.Rows <= most {
			continue
		}
		var first []string
		for _, f := range loss.First {
			what := f.Value
			if f.Column >= 0 {
				what = columnName(t.survey, f.Column) + " is " + what
			}
			first = append(first, fmt.Sprintf("%s (%s)", t.row(f.Row), what))
		}
		return o.unfit("%d of %d rows have %s: %s; at most %d may be left out for one reason. Repair the file, leave "+
			"a column out by --drop, or allow it by --clean FILE --max-loss %.2g", loss.Rows, t.survey.N, loss.Why,
			sequence(first, loss.Rows), most, math.Ceil(100*float64(loss.Rows)/float64(t.survey.N))/100)
	}
	return nil
}

// Names of columns that say when or in which order rows were taken, in small letters and without what is in brackets.
var (
	timeNames = strings.Fields("time t timestamp datetime date time_s time_ms time_ns timestamp_ns stamp epoch utc")
	idNames   = strings.Fields("id index idx row rowid row_id no nr num number unnamed:0 trajectory traj waypoint " +
		"frame step iteration iter sample_id record seq sequence objectid fid obs observation")
)

// order says why a column tells when rows were taken, or numbers them; "": it does neither. all has all columns.
func (t *sheet) order(j int, c discover.Column, all []float64) string {
	const fewest, near, most = 10, 0.02, 0.98
	n, d := len(t.rows), t.survey.D
	if c.Number(n) {
		return "it numbers the rows"
	}
	if n < fewest {
		return ""
	}
	first, step := all[j], all[d+j]-all[j]
	equal, up, ones, resets := 0, 0, 0, 0
	for i := 1; i < n; i++ {
		v := all[i*d+j]
		by := v - all[(i-1)*d+j]
		switch {
		case math.Abs(by-step) <= near*step:
			equal++
		case by < 0 && math.Abs(v-first) <= near*step:
			resets++
		}
		if by >= 0 {
			up++
		}
		if by == 0 || by == 1 {
			ones++
		}
	}
	enough := int(most * float64(n-1))
	clock := step > 0 && equal+resets >= enough
	name, _, _ := strings.Cut(strings.ToLower(t.names[j]), "(")
	name, _, _ = strings.Cut(name, "[")
	name = strings.ReplaceAll(strings.TrimSpace(name), " ", "")
	unix := c.Min > 9e8 && c.Max < 4e9 || c.Min > 9e11 && c.Max < 4e12 || c.Min > 9e17 && c.Max < 4e18
	switch {
	case clock && 5*resets < n && !c.Label(n) && (t.survey.Header == nil || name == ""),
		up >= enough && unix && c.Distinct > n/2,
		(clock || up+resets >= enough) && slices.Contains(timeNames, name):
		return "it is a time, or numbers rows: it goes up from row to row"
	case c.Whole && (clock || up+resets >= enough || c.Distinct > n/2) && slices.Contains(idNames, name):
		return "it numbers rows, or what they are of"
	case c.Whole && ones == n-1 && c.Distinct > fewest:
		return "it numbers groups of rows"
	case clock && resets == 0:
		t.note("%s goes up in equal steps: if it is a time, leave it out by --drop %s", t.names[j],
			said(t.survey, j))
	}
	return ""
}

// dates are what dates have beside digits and marks: months, in full or short, behind a day or year.
var dates = regexp.MustCompile(`(?i)\d[-/., ]+(jan(uary?|vier)?|feb(ruary?)?|mar(ch|s)?|apr(il)?|ma[iy]|ju[nl]|` +
	`june|juni|july|juli|aug(ust)?|sept?|septem(ber|bre)|o[ck]t(o(ber|bre))?|(nov|de[cz])(em(ber|bre))?)\b|` +
	`(:\d\d) ?[ap]\.?m\b`)

// harmless reports whether a file of what can be used holds all rows and all numbers.
func (l *loaded) harmless() bool {
	for _, j := range l.dropped {
		if kind := l.survey.Kinds[j]; kind == "a decimal" || kind == "float16" { // numbers that are not read
			return false
		}
		word := dates.ReplaceAllString(strings.TrimLeft(l.survey.Word(j), "\"+-$€£ "), "0")
		left := strings.Trim(strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) || strings.ContainsRune("-/.:TZ+ ", r) { // of a date
				return -1
			}
			return r
		}, word), `"`)
		if word != "" && unicode.IsDigit(rune(word[0])) && left != "" { // 12 km
			return false
		}
	}
	return len(l.survey.Faulty) == 0 && !l.template
}

// clean writes the file for training if the user requests it or if it changes no number. It returns an error if
// training needs this file and there is none.
func (l *loaded) clean(o *Options, d *Draft) error {
	if err := l.lost(*o); err != nil {
		return err
	}
	reasons := l.reasons(*o, d)
	if o.Clean == "" && len(reasons) > 0 && l.harmless() {
		ext := strings.NewReplacer(".txt", ".csv", ".tsv", ".csv").Replace(strings.ToLower(filepath.Ext(o.Path)))
		if ext == ".npz" || l.kind == "molecule" {
			ext = ".npy"
		}
		o.Clean = filepath.Join(l.folder, d.Name+"-clean"+ext)
	}
	if o.Clean == "" {
		if len(reasons) > 0 {
			return fault.At(fault.Data, o.Path, 0, fmt.Sprintf("%s cannot be trained on as it is: "+
				"%s; --clean FILE writes the rows and columns that can (.csv, .npy or .parquet), and the problem "+
				"file for those", o.Path, strings.Join(reasons, "; ")))
		}
		return nil
	}
	if l.template {
		return fault.Errorf(fault.Usage, "", "--clean: files of molecules are taken as they are; "+
			"expected an array or a table")
	}
	d.Notes = append(d.Notes, reasons...)
	names := l.columnNames()
	l.given = names[len(l.coordinate):]
	x, n, dim := l.everything()
	out := &Cleaned{File: o.Clean, Rows: n, Columns: dim}
	var b bytes.Buffer
	switch ext := strings.ToLower(filepath.Ext(o.Clean)); ext {
	case ".csv":
		b.WriteString(strings.Join(names, ",") + "\n")
		for i := range n {
			cells := make([]string, dim)
			for k, v := range x[i*dim : (i+1)*dim] {
				cells[k] = number(v)
			}
			b.WriteString(strings.Join(cells, ",") + "\n")
		}
	case ".npy":
		if l.kind == "earth" {
			return fault.Errorf(fault.Usage, "", "--clean: places on Earth are read from .csv and .parquet files")
		}
		shape := append([]int{n}, l.survey.Shape...)
		if dim != l.survey.D {
			shape = []int{n, dim}
		}
		if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: shape, Float64: x}); err != nil {
			return err
		}
	case ".parquet":
		w := parquetfile.NewWriter(&b, names)
		if err := errors.Join(w.Write(x), w.Close()); err != nil {
			return err
		}
	default:
		return fault.Errorf(fault.Usage, "", "--clean: %q; expected a file that ends in .csv, .npy or .parquet",
			o.Clean)
	}
	if ext := strings.ToLower(filepath.Ext(o.Clean)); l.kind == "molecule" && ext != ".npy" {
		return fault.Errorf(fault.Usage, "", "--clean: conformations are read from .npy files")
	}
	out.Bytes = b.Bytes()
	d.Cleaned = out
	return nil
}

const (
	notCoordinate = " is no coordinate: "
	mostNotes     = 3 // that are printed
)

// reasons says why training would refuse the file as it is.
func (l *loaded) reasons(o Options, d *Draft) (out []string) {
	s := l.survey
	if s.Foreign != "" {
		out = append(out, s.Foreign)
	}
	out = append(out, l.turned...)
	if n := len(s.Faulty); n > 0 {
		out = append(out, fmt.Sprintf("%d of %d rows have a cell that is no finite number: %s", n, s.N,
			sequence(d.Faulty.First, n)))
	}
	// Of a catalogue in a Parquet file columns are read by their names, and others are passed over.
	byName := l.kind == "earth" && strings.EqualFold(filepath.Ext(o.Path), ".parquet")
	for _, j := range l.dropped {
		if byName {
			break
		}
		out = append(out, fmt.Sprintf("%s%s%s", l.names[j], notCoordinate, d.Columns[j].Why))
	}
	if len(d.keepable) > 0 {
		out = append(out, fmt.Sprintf("--keep %s takes these for coordinates", strings.Join(d.keepable, ",")))
	}
	if o.Array != "" {
		if _, err := dataset.ReadSurvey(o.Path, dataset.Reading{}); err != nil {
			out = append(out, "training does not know which of its arrays is meant")
		}
	}
	if l.kind == "earth" && !byName && (l.earth != [2]int{0, 1} || !slices.IsSorted(l.condition)) {
		out = append(out, "latitude and longitude are not its first two columns, in this order")
	}
	if len(l.condition) == 0 {
		return out
	}
	l.given = l.columnNames()[len(l.coordinate):]
	if s.Header == nil {
		if l.condition[0] != s.D-len(l.condition) {
			labels := make([]string, len(l.condition))
			for k, j := range l.condition {
				labels[k] = l.names[j]
			}
			out = append(out, fmt.Sprintf("the labels (%s) are not its last columns", strings.Join(labels, ", ")))
		}
		return out
	}
	for k, j := range l.condition {
		if s.Header[j] != l.given[k] {
			out = append(out, fmt.Sprintf("%q is no name that a condition can have", s.Header[j]))
		}
	}
	return out
}

// columnNames are the names of coordinates and then of conditions in a file that is written:
// those of the header where they serve.
func (l *loaded) columnNames() (out []string) {
	if l.kind == "earth" {
		out = []string{"latitude", "longitude"}
	}
	for k, j := range slices.Concat(l.coordinate, l.condition) {
		if k < len(out) {
			continue
		}
		name := fmt.Sprintf("x%d", k)
		condition := k >= len(l.coordinate)
		if condition {
			name = fmt.Sprintf("label%d", k-len(l.coordinate))
		}
		if h := l.survey.Header; h != nil && plain(h[j]) && !slices.Contains(out, h[j]) &&
			(!condition || usable([]string{h[j]})) {
			name = h[j]
		}
		for slices.Contains(out, name) {
			name += "_"
		}
		out = append(out, name)
	}
	return out
}

// plain reports whether a name can stand in a header: it has a letter first, and no commas or
// quotes, and is no number such as inf.
func plain(name string) bool {
	if name == "" || strings.ContainsAny(name, ",\"'\n#") {
		return false
	}
	_, err := strconv.ParseFloat(name, 64)
	return err != nil
}

// sequence writes the first of count things, and how many more there are.
func sequence(first []string, count int) string {
	s := strings.Join(first, ", ")
	if more := count - len(first); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
