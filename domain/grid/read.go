package grid

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/input"
)

// MostBytes bounds a case file.
const MostBytes = 8 << 20

// known are the fields that are read, and those that say nothing of balances and limits.
var known = strings.Fields("version baseMVA bus gen branch bus_name dcline gencost areas gentype genfuel")

// A token is a word, a quoted text, a bracket, a separator or the end of a line ("\n").
type token struct {
	text   string
	quoted bool
	line   int
}

var lexeme = regexp.MustCompile(`%.*|\.\.\..*|'(?:[^']|'')*'|"(?:[^"]|"")*"|[\[\]{}()=;,'"]|[^\s\[\]{}()=;,'"%]+`)

// A field is what the file assigns to one name: rows of words or texts.
type field struct {
	rows [][]token
	line int
}

// A record is a row of a matrix, by MATPOWER's names of the columns.
type record struct {
	line int
	v    map[string]float64
}

// A source is a case file, read as fields.
type source struct {
	file   string
	fields map[string]field
	err    error // the first
}

// need keeps an error unless ok.
func (s *source) need(ok bool, line int, column string, value any, want string, v ...any) bool {
	if !ok && s.err == nil {
		s.err = &dataset.Error{File: s.file, Line: line, Column: column, Value: fmt.Sprint(value),
			Want: fmt.Sprintf(want, v...)}
	}
	return ok
}

// Read reads a MATPOWER case file of version 2. The error is a *dataset.Error or one of the file system.
func Read(path string) (*Grid, error) {
	data, err := input.Read(path, MostBytes)
	if err != nil {
		return nil, err
	}
	return Parse(path, string(data))
}

// Parse is Read of the text of a file, whose name is for messages.
func Parse(path, text string) (*Grid, error) {
	s := &source{file: path, fields: map[string]field{}}
	g := &Grid{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Reference: -1}
	tokens := s.tokens(strings.TrimPrefix(text, "\ufeff"))
	for _, step := range []func(){func() { s.assignments(tokens) }, func() { s.build(g) }} {
		if step(); s.err != nil {
			return nil, s.err
		}
	}
	return g, nil
}

// tokens splits the text, without comments; a line that ends in ... goes on in the next one.
func (s *source) tokens(text string) (out []token) {
	comment, line := false, 0
	for rest := range strings.Lines(text) {
		line++
		if mark := strings.TrimSpace(rest); comment || mark == "%{" {
			comment = mark != "%}"
			continue
		}
		end := []token{{"\n", false, line}}
		for _, w := range lexeme.FindAllString(rest, -1) {
			switch quote := w[:1]; {
			case quote == "%":
			case strings.HasPrefix(w, "..."):
				end = nil
			case strings.Contains(`'"`, quote) && s.need(len(w) > 1, line, "", "a text without its end", "a %s", w):
				out = append(out, token{strings.ReplaceAll(w[1:len(w)-1], quote+quote, quote), true, line})
			default:
				out = append(out, token{w, false, line})
			}
		}
		out = append(out, end...)
	}
	return out
}

// assignments reads NAME.field = value, value being a word, a text, a matrix in [] or a list in {}.
func (s *source) assignments(tokens []token) {
	is := func(i int, texts ...string) bool {
		return i < len(tokens) && !tokens[i].quoted && slices.Contains(texts, tokens[i].text)
	}
	for i := 0; i < len(tokens) && s.err == nil; i++ {
		t := tokens[i]
		if is(i, "\n", ";") {
			continue
		}
		if is(i, "function", "return", "end", "endfunction") {
			for i < len(tokens) && !is(i, "\n") {
				i++
			}
			continue
		}
		_, name, dotted := strings.Cut(t.text, ".")
		s.need(dotted && !t.quoted && is(i+1, "="), t.line, "", strconv.Quote(t.text), "a field such as mpc.bus = "+
			"[ … ]: the file is read as data, and no MATLAB code in it runs")
		f, row, ends, open := field{line: t.line}, []token(nil), []string{"\n", ";"}, is(i+2, "[", "{")
		i += 2
		if open {
			i, ends = i+1, []string{map[string]string{"[": "]", "{": "}"}[tokens[i].text]}
		}
		for ; i < len(tokens) && !is(i, ends...); i++ {
			if open && is(i, "\n", ";") && row != nil {
				f.rows, row = append(f.rows, row), nil
			} else if !is(i, "\n", ";", ",") {
				row = append(row, tokens[i])
			}
		}
		if row != nil {
			f.rows = append(f.rows, row)
		}
		s.need(i < len(tokens), t.line, t.text, "without its end", "a closing %s", ends[0])
		s.need(!open || i+1 >= len(tokens) || is(i+1, "\n", ";"), t.line, t.text, "followed by more", "a matrix alone")
		s.need(open || len(row) == 1, t.line, t.text, "no number and no text", "one: no MATLAB code runs")
		before, twice := s.fields[name]
		s.need(!twice, t.line, t.text, "given again", "it once: it is in line %d", before.line)
		s.fields[name] = f
	}
}

// records reads a matrix of numbers, with zeros for columns that may be left out: those beyond least.
func (s *source) records(name string, least int, columns string) (out []record) {
	f, ok := s.fields[name]
	s.need(ok, 0, "mpc."+name, "missing", "a matrix")
	names := strings.Fields(columns)
	for _, row := range f.rows {
		r := record{row[0].line, map[string]float64{}}
		s.need(len(row) >= least, r.line, "mpc."+name, fmt.Sprintf("a row of %d numbers", len(row)), "the columns %s",
			strings.Join(names[:least], ", "))
		for k, column := range names[:min(len(names), len(row))] {
			v, err := strconv.ParseFloat(row[k].text, 64)
			limit := strings.Contains(column, "max") || strings.Contains(column, "min") || column == "rateA"
			s.need(err == nil && !math.IsNaN(v) && (limit || !math.IsInf(v, 0)), r.line, name+"."+column,
				strconv.Quote(row[k].text), "a number")
			r.v[column] = v
		}
		out = append(out, r)
	}
	return out
}

// build makes the grid of the fields, in per unit and radians.
func (s *source) build(g *Grid) {
	for name, f := range s.fields {
		if !slices.Contains(known, name) {
			g.Notes = append(g.Notes, fmt.Sprintf("%s:%d: mpc.%s is not used", s.file, f.line, name))
		}
	}
	slices.Sort(g.Notes)
	version, base, direct := s.fields["version"], s.fields["baseMVA"], s.fields["dcline"]
	s.need(direct.rows == nil, direct.line, "mpc.dcline", "there", "none: the balances have no direct-current lines")
	s.need(version.rows == nil || version.rows[0][0].text == "2", version.line, "mpc.version", "another",
		"2")
	if s.need(base.rows != nil, 0, "mpc.baseMVA", "missing", "a power in MVA") {
		g.Base, _ = strconv.ParseFloat(base.rows[0][0].text, 64)
		s.need(g.Base > 0 && !math.IsInf(g.Base, 0), base.line, "mpc.baseMVA", base.rows[0][0].text, "a power above 0")
	}
	at, lines := map[float64]int{}, []int(nil)
	buses := s.records("bus", 13, "bus_i type Pd Qd Gs Bs area Vm Va baseKV zone Vmax Vmin")
	names := s.fields["bus_name"]
	s.need(names.rows == nil || len(names.rows) == len(buses), names.line, "mpc.bus_name",
		fmt.Sprintf("%d names", len(names.rows)), "%d, one a bus", len(buses))
	for i, r := range buses {
		if s.err != nil {
			return
		}
		n, kind := r.v["bus_i"], r.v["type"]
		_, twice := at[n]
		s.need(!twice && n == math.Trunc(n) && n >= 1 && n < 1e9, r.line, "bus.bus_i", n,
			"a whole number from 1 on that no other bus has")
		s.need(kind == 1 || kind == 2 || kind == 3 || kind == 4, r.line, "bus.type", kind,
			"1 (PQ), 2 (PV), 3 (reference) or 4 (isolated)")
		s.need(kind != 3 || g.Reference < 0, r.line, "bus.type", kind, "one reference, and there is one before")
		b := Bus{Number: int(n), G: r.v["Gs"] / g.Base, B: r.v["Bs"] / g.Base, V: r.v["Vm"], Theta: radians(r.v["Va"]),
			VMax: r.v["Vmax"], VMin: r.v["Vmin"], Load: Power{r.v["Pd"] / g.Base, r.v["Qd"] / g.Base}}
		s.need(b.VMin >= 0 && b.VMin <= b.VMax, r.line, "bus.Vmin", b.VMin, "0 to Vmax, which is %v", b.VMax)
		if names.rows != nil {
			b.Name = names.rows[i][0].text
		}
		if at[n] = len(g.Buses); kind == 4 {
			at[n] = -1
			g.Notes = append(g.Notes, fmt.Sprintf("bus %s is isolated (type 4) and left out", b.Label()))
			continue
		} else if kind == 3 {
			g.Reference = len(g.Buses)
		}
		g.Buses, lines = append(g.Buses, b), append(lines, r.line)
	}
	s.need(g.Reference >= 0, s.fields["bus"].line, "bus.type", "3 at no bus", "a reference (slack) bus")
	bus := func(r record, matrix, column string) int {
		i, ok := at[r.v[column]]
		s.need(ok, r.line, matrix+"."+column, r.v[column], "the number of a bus in mpc.bus")
		return i
	}
	for _, r := range s.records("gen", 10, "bus Pg Qg Qmax Qmin Vg mBase status Pmax Pmin") {
		i := bus(r, "gen", "bus")
		s.need(r.v["Pmin"] <= r.v["Pmax"], r.line, "gen.Pmin", r.v["Pmin"], "at most Pmax, which is %v", r.v["Pmax"])
		s.need(r.v["Qmin"] <= r.v["Qmax"], r.line, "gen.Qmin", r.v["Qmin"], "at most Qmax, which is %v", r.v["Qmax"])
		if s.err != nil {
			return
		}
		if i >= 0 && r.v["status"] > 0 { // those of one bus add up
			b := &g.Buses[i]
			b.Generates = true
			for column, to := range map[string]*float64{"Pg": &b.Generation.P, "Qg": &b.Generation.Q, "Pmax": &b.Max.P,
				"Qmax": &b.Max.Q, "Pmin": &b.Min.P, "Qmin": &b.Min.Q} {
				*to += r.v[column] / g.Base
			}
		}
	}
	for k, r := range s.records("branch", 11, "fbus tbus r x b rateA rateB rateC ratio angle status angmin angmax") {
		b := Branch{Row: k + 1, From: bus(r, "branch", "fbus"), To: bus(r, "branch", "tbus"), Charging: r.v["b"],
			Tap: r.v["ratio"], Shift: radians(r.v["angle"]), Rate: r.v["rateA"] / g.Base, AngleMin: math.Inf(-1),
			AngleMax: math.Inf(1)}
		if r.v["status"] <= 0 || b.From < 0 || b.To < 0 {
			continue
		}
		if b.Tap == 0 {
			b.Tap = 1
		}
		square, low, high := r.v["r"]*r.v["r"]+r.v["x"]*r.v["x"], r.v["angmin"], r.v["angmax"]
		s.need(b.From != b.To, r.line, "branch.tbus", r.v["tbus"], "another bus than fbus")
		s.need(square > 0, r.line, "branch.x", "0, as r is", "an impedance: write one such as 0.0001, or make "+
			"one bus of both")
		s.need(b.Tap > 0, r.line, "branch.ratio", b.Tap, "0 or more")
		s.need(b.Rate >= 0, r.line, "branch.rateA", r.v["rateA"], "0 or more")
		s.need(low < high || low == 0 && high == 0, r.line, "branch.angmin", low, "less than angmax, which is %v", high)
		b.Y = complex(r.v["r"]/square, -r.v["x"]/square)
		if low > -360 && (low != 0 || high != 0) { // both 0: no limits
			b.AngleMin = radians(low)
		}
		if high < 360 && (low != 0 || high != 0) {
			b.AngleMax = radians(high)
		}
		g.Branches = append(g.Branches, b)
	}
	if s.err == nil {
		b := g.Buses[g.Reference]
		s.need(b.Generates, lines[g.Reference], "bus "+b.Label(), "the reference without a generator in service", "one")
		s.connected(g, lines)
	}
}

// connected needs a way from the reference to each bus.
func (s *source) connected(g *Grid, lines []int) {
	reached := make([]bool, len(g.Buses))
	reached[g.Reference] = true
	for more := true; more; {
		more = false
		for _, b := range g.Branches {
			if reached[b.From] != reached[b.To] {
				reached[b.From], reached[b.To], more = true, true, true
			}
		}
	}
	if i := slices.Index(reached, false); i >= 0 {
		s.need(false, lines[i], "bus "+g.Buses[i].Label(), "in an island: no branches in service lead there from the "+
			"reference", "one grid; write each island to a file of its own")
	}
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }
