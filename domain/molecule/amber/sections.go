package amber

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/fault"
)

// faulty is an error about a prmtop or coordinate file: about a line, from 1, and a section, where those are known.
func faulty(path, section string, line int, format string, v ...any) error {
	s := path
	if line > 0 {
		s += fmt.Sprintf(", line %d", line)
	}
	if section != "" {
		s += ", section " + section
	}
	return fault.At(fault.Data, path, line, s+": "+fmt.Sprintf(format, v...))
}

// maxFile bounds a prmtop or coordinate file, in bytes.
const maxFile = 64 << 20

// A section is what stands after one %FLAG, in fields of fixed width.
type section struct {
	name   string
	line   int // of %FLAG
	kind   byte
	per    int // fields a line
	width  int
	fields []field
}

type field struct {
	text string // without blanks
	line int
}

// sections are those of one file, by name.
type sections struct {
	path  string
	list  []*section
	by    map[string]*section
	fault error // the first; what is read after it is empty
}

// heading, as the number of a field, is the place of a section's name.
const heading = -1

// fail notes a fault of a field of a section.
func (f *sections) fail(name string, field int, format string, v ...any) {
	line, s := 0, f.by[name]
	switch {
	case s != nil && field == heading:
		line = s.line
	case s != nil:
		line = s.fields[field].line
	}
	f.failAt(name, line, format, v...)
}

func (f *sections) failAt(name string, line int, format string, v ...any) {
	if f.fault == nil {
		f.fault = faulty(f.path, name, line, format, v...)
	}
}

// split cuts a prmtop file into its sections:
//
//	%FLAG NAME
//	%COMMENT …
//	%FORMAT(5E16.8)
//	  1.00000000E+00 …
func split(path string, data []byte) *sections {
	f := &sections{path: path, by: map[string]*section{}}
	if !bytes.HasPrefix(data, []byte("%VERSION")) && !bytes.HasPrefix(data, []byte("%FLAG")) {
		f.failAt("", 1, "begins with %q; expected %%VERSION: a prmtop file of AMBER 7 or later", clip(data))
		return f
	}
	var s *section
	for n, line := range strings.Split(string(data), "\n") {
		n++
		line = strings.TrimSuffix(line, "\r")
		switch {
		case f.fault != nil:
			return f
		case strings.HasPrefix(line, "%FLAG"):
			if s != nil && s.width == 0 {
				f.failAt(s.name, s.line, "ends at line %d without %%FORMAT: the file is damaged", n)
			}
			s = &section{name: strings.TrimSpace(line[5:]), line: n}
			if s.name == "" {
				f.failAt("", n, "%%FLAG without a name")
			} else if old := f.by[s.name]; old != nil {
				f.failAt(s.name, n, "the second of that name; the first is at line %d", old.line)
			}
			f.by[s.name] = s
			f.list = append(f.list, s)
		case strings.HasPrefix(line, "%COMMENT"), strings.HasPrefix(line, "%VERSION"):
		case strings.HasPrefix(line, "%FORMAT"):
			if s == nil || s.width > 0 {
				f.failAt("", n, "%%FORMAT without a %%FLAG before it")
			} else if !s.format(line[7:]) {
				f.failAt(s.name, n, "%s; expected a format like %%FORMAT(5E16.8), (10I8) or (20a4)", line)
			}
		case s == nil || s.width == 0:
			name := ""
			if s != nil {
				name = s.name
			}
			if strings.TrimSpace(line) != "" {
				f.failAt(name, n, "%q; expected a line that begins with %%FLAG or %%FORMAT", clip([]byte(line)))
			}
		default:
			s.cut(line, n)
		}
	}
	if s != nil && s.width == 0 {
		f.failAt(s.name, s.line, "the file ends here, without %%FORMAT: it is truncated")
	}
	return f
}

// clip returns the first characters of a line, for a message.
func clip(b []byte) string {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return string(b[:min(len(b), 40)])
}

// format reads (5E16.8), (10I8), (20a4).
func (s *section) format(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	if !strings.HasPrefix(text, "(") || !strings.HasSuffix(text, ")") {
		return false
	}
	text = text[1 : len(text)-1]
	at := strings.IndexAny(text, "aief")
	if at < 0 {
		return false
	}
	s.kind = text[at]
	per, width := text[:at], text[at+1:]
	width, _, _ = strings.Cut(width, ".")
	var err error
	if s.per, err = strconv.Atoi(per); err != nil && per != "" {
		return false
	}
	if per == "" {
		s.per = 1
	}
	w, err := strconv.Atoi(width)
	if err != nil || w < 1 || w > 256 || s.per < 1 || s.per > 1000 {
		return false
	}
	s.width = w
	return true
}

// cut adds the fields of a line. Blanks at its end are none.
func (s *section) cut(line string, n int) {
	if s.kind != 'a' {
		line = strings.TrimRight(line, " ")
	}
	for range s.per {
		if line == "" {
			return
		}
		w := min(s.width, len(line))
		s.fields = append(s.fields, field{strings.TrimSpace(line[:w]), n})
		line = line[w:]
	}
	if strings.TrimSpace(line) != "" {
		s.fields = append(s.fields, field{line, n}) // one too many: the count says so
	}
}

// take returns a section's fields, want of them unless want < 0.
func (f *sections) take(name string, kinds string, want int) []field {
	s := f.by[name]
	switch {
	case f.fault != nil:
		return nil
	case s == nil:
		f.fail(name, heading, "is missing: the file is truncated, or not of a force field of AMBER's form")
		return nil
	case !strings.ContainsRune(kinds, rune(s.kind)):
		f.fail(name, heading, "has fields of the format %q; expected one of %q", s.kind, kinds)
		return nil
	}
	fields := s.fields
	if s.kind == 'a' && want >= 0 { // the last line may be filled up with blanks
		for len(fields) > want && fields[len(fields)-1].text == "" {
			fields = fields[:len(fields)-1]
		}
	}
	if want >= 0 && len(fields) != want {
		f.fail(name, heading, "has %d values; expected %d, by POINTERS: the file is damaged or truncated", len(fields),
			want)
		return nil
	}
	return fields
}

func (f *sections) has(name string) bool { return f.by[name] != nil }

func (f *sections) ints(name string, want int) []int {
	fields := f.take(name, "i", want)
	out := make([]int, len(fields))
	for k, v := range fields {
		i, err := strconv.ParseInt(v.text, 10, 32)
		if err != nil {
			f.fail(name, k, "value %d is %q; expected a whole number", k+1, v.text)
			return nil
		}
		out[k] = int(i)
	}
	return out
}

func (f *sections) reals(name string, want int) []float64 {
	fields := f.take(name, "ef", want)
	out := make([]float64, len(fields))
	for k, v := range fields {
		x, err := real64(v.text)
		if err != nil {
			f.fail(name, k, "value %d is %q; expected a finite number", k+1, v.text)
			return nil
		}
		out[k] = x
	}
	return out
}

func (f *sections) words(name string, want int) []string {
	fields := f.take(name, "a", want)
	out := make([]string, len(fields))
	for k, v := range fields {
		out[k] = v.text
	}
	return out
}

// real64 reads a number as Fortran writes it: 1.0E+00, 1.0D+00.
func real64(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.ReplaceAll(strings.ToUpper(text), "D", "E"), 64)
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = strconv.ErrRange
	}
	return x, err
}
