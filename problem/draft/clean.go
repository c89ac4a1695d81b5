package draft

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/parquetfile"
)

// Cleaned is a file of the rows and columns that can be trained on.
type Cleaned struct {
	File    string `json:"file"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"`
	Bytes   []byte `json:"-"`
}

// clean makes the file that can be trained on, if that is asked for, and refuses to go on
// without it where the file as it is cannot.
func (l *loaded) clean(o Options, d *Draft) error {
	reasons := l.reasons(o, d)
	if o.Clean == "" {
		if len(reasons) > 0 {
			return &UnfitError{Path: o.Path, Reasons: reasons}
		}
		return nil
	}
	if l.template {
		return &OptionError{"--clean", "files of molecules are taken as they are; expected an array or a table"}
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
			return &OptionError{"--clean", "places on Earth are read from .csv and .parquet files"}
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
		return &OptionError{"--clean", fmt.Sprintf("%q; expected a file that ends in .csv, .npy or .parquet", o.Clean)}
	}
	if ext := strings.ToLower(filepath.Ext(o.Clean)); l.kind == "molecule" && ext != ".npy" {
		return &OptionError{"--clean", "conformations are read from .npy files"}
	}
	out.Bytes = b.Bytes()
	d.Cleaned = out
	return nil
}

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
		out = append(out, fmt.Sprintf("%s is no coordinate: %s", l.names[j], d.Columns[j].Why))
	}
	if o.Array != "" {
		if _, err := dataset.ReadSurvey(o.Path, ""); err != nil {
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
