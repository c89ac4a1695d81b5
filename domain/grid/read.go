package grid

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/input"
)

// MostBytes bounds a case file.
const MostBytes = 8 << 20

// The columns that are read of each matrix, by MATPOWER's names; least is how many a row must have.
var (
	busColumns    = columns{"bus", 13, "bus_i type Pd Qd Gs Bs area Vm Va baseKV zone Vmax Vmin"}
	genColumns    = columns{"gen", 10, "bus Pg Qg Qmax Qmin Vg mBase status Pmax Pmin"}
	branchColumns = columns{"branch", 11, "fbus tbus r x b rateA rateB rateC ratio angle status angmin angmax"}
)

type columns struct {
	field string
	least int
	names string
}

// known are the fields that are read, and those that say nothing of balances and limits.
var known = []string{"version", "baseMVA", "bus", "gen", "branch", "bus_name", "gencost", "areas", "gentype",
	"genfuel", "dcline"}

// A token is a word, a quoted text, a bracket, a separator or the end of a line ("\n").
type token struct {
	text   string
	quoted bool
	line   int
}

// A field is what the file assigns to one name: rows of words or texts.
type field struct {
	rows [][]token
	line int
}

// A source is a case file, read as fields.
type source struct {
	file   string
	fields map[string]field
}

func (s *source) bad(line int, column, value, want string, v ...any) error {
	return &dataset.Error{File: s.file, Line: line, Column: column, Value: value, Want: fmt.Sprintf(want, v...)}
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
	tokens, err := s.tokens(strings.TrimPrefix(text, "\ufeff"))
	if err == nil {
		err = s.assignments(tokens)
	}
	if err != nil {
		return nil, err
	}
	g := &Grid{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))}
	return g, s.build(g)
}

// tokens splits the text, without comments; a line that ends in ... goes on in the next one.
func (s *source) tokens(text string) (out []token, err error) {
	const marks = "[]{}()=;,"
	comment, line := false, 0
	for rest := range strings.Lines(text) {
		line++
		switch strings.TrimSpace(rest) {
		case "%{":
			comment = true
		case "%}":
			comment = false
			continue
		}
		goesOn := false
		for rest = strings.TrimRight(rest, "\r\n"); rest != "" && !comment; {
			switch c := rest[0]; {
			case c == ' ' || c == '\t':
				rest = rest[1:]
			case c == '%':
				rest = ""
			case strings.HasPrefix(rest, "..."):
				rest, goesOn = "", true
			case c == '\'' || c == '"':
				var word strings.Builder
				quote, closed := rest[:1], false
				for rest = rest[1:]; rest != "" && !closed; {
					before, after, found := strings.Cut(rest, quote)
					word.WriteString(before)
					if rest, closed = after, found; found && strings.HasPrefix(after, quote) {
						word.WriteString(quote) // two quotes stand for one
						rest, closed = after[1:], false
					}
				}
				if !closed {
					return nil, s.bad(line, "", "a text without its end", "a closing %s", quote)
				}
				out = append(out, token{word.String(), true, line})
			case strings.IndexByte(marks, c) >= 0:
				out, rest = append(out, token{rest[:1], false, line}), rest[1:]
			default:
				n := strings.IndexAny(rest, marks+" \t%'\"")
				if n < 0 {
					n = len(rest)
				}
				if dots := strings.Index(rest[:n], "..."); dots > 0 {
					n = dots
				}
				out, rest = append(out, token{rest[:n], false, line}), rest[n:]
			}
		}
		if !goesOn {
			out = append(out, token{"\n", false, line})
		}
	}
	return out, nil
}

// assignments reads NAME.field = value, value being a word, a text, a matrix in [] or a list in {}.
func (s *source) assignments(tokens []token) error {
	is := func(i int, text string) bool { return i < len(tokens) && !tokens[i].quoted && tokens[i].text == text }
	for i := 0; i < len(tokens); {
		t := tokens[i]
		_, name, ok := strings.Cut(t.text, ".")
		switch {
		case is(i, "\n"), is(i, ";"), is(i, "return"), is(i, "end"), is(i, "endfunction"):
			i++
			continue
		case is(i, "function"):
			for i < len(tokens) && !is(i, "\n") {
				i++
			}
			continue
		case !ok || t.quoted || !is(i+1, "=") || i+2 >= len(tokens) || is(i+2, "\n"):
			return s.bad(t.line, "", strconv.Quote(t.text), "a field such as mpc.bus = [ … ]: the file is read as "+
				"data, and no MATLAB code in it runs")
		}
		f := field{line: t.line}
		end, open := map[string]string{"[": "]", "{": "}"}[tokens[i+2].text], !tokens[i+2].quoted
		if i += 2; end == "" || !open {
			f.rows, i = [][]token{{tokens[i]}}, i+1
		} else {
			var row []token
			for i++; ; i++ {
				if i == len(tokens) {
					return s.bad(t.line, "mpc."+name, "without its end", "a closing %s", end)
				}
				if closing := is(i, end); closing || is(i, ";") || is(i, "\n") {
					if row != nil {
						f.rows, row = append(f.rows, row), nil
					}
					if closing {
						i++
						break
					}
				} else if !is(i, ",") {
					row = append(row, tokens[i])
				}
			}
		}
		if !is(i, ";") && !is(i, "\n") && i < len(tokens) {
			return s.bad(t.line, "mpc."+name, "followed by "+strconv.Quote(tokens[i].text),
				"a number, a text, [ … ] or { … } alone: no MATLAB code runs")
		}
		if before, twice := s.fields[name]; twice {
			return s.bad(t.line, "mpc."+name, "given again", "it once: it is in line %d", before.line)
		}
		s.fields[name] = f
	}
	return nil
}

// A record is a row of a matrix.
type record struct {
	line int
	v    []float64
}

// records reads a matrix of numbers, with zeros for columns that may be left out.
func (s *source) records(c columns) (out []record, err error) {
	f, ok := s.fields[c.field]
	if !ok {
		return nil, s.bad(0, "mpc."+c.field, "missing", "a matrix")
	}
	names := strings.Fields(c.names)
	for _, row := range f.rows {
		r := record{row[0].line, make([]float64, len(names))}
		if len(row) < c.least {
			return nil, s.bad(r.line, "mpc."+c.field, fmt.Sprintf("a row of %d numbers", len(row)),
				"the columns %s", strings.Join(names[:c.least], ", "))
		}
		for k, name := range names[:min(len(names), len(row))] {
			v, err := strconv.ParseFloat(row[k].text, 64)
			limit := strings.Contains(name, "max") || strings.Contains(name, "min") || strings.HasPrefix(name, "rate")
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) && !limit {
				return nil, s.bad(r.line, c.field+"."+name, strconv.Quote(row[k].text), "a number")
			}
			r.v[k] = v
		}
		out = append(out, r)
	}
	return out, nil
}

// build makes the grid of the fields, in per unit and radians.
func (s *source) build(g *Grid) error {
	if f, ok := s.fields["version"]; ok && f.rows[0][0].text != "2" {
		return s.bad(f.line, "mpc.version", f.rows[0][0].text, "2")
	}
	if f, ok := s.fields["dcline"]; ok && len(f.rows) > 0 {
		return s.bad(f.line, "mpc.dcline", fmt.Sprintf("of %d lines", len(f.rows)),
			"none: the balances have no direct-current lines")
	}
	base, ok := s.fields["baseMVA"]
	if !ok {
		return s.bad(0, "mpc.baseMVA", "missing", "a power in MVA")
	}
	v, err := strconv.ParseFloat(base.rows[0][0].text, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return s.bad(base.line, "mpc.baseMVA", strconv.Quote(base.rows[0][0].text), "a power above 0, in MVA")
	}
	g.Base = v
	for name, f := range s.fields {
		if !slices.Contains(known, name) {
			g.Notes = append(g.Notes, fmt.Sprintf("%s:%d: mpc.%s is not used", s.file, f.line, name))
		}
	}
	slices.Sort(g.Notes)
	at, lines, err := s.buses(g)
	if err == nil {
		err = s.generators(g, at)
	}
	if err == nil {
		err = s.branches(g, at)
	}
	if err != nil {
		return err
	}
	if !g.Buses[g.Reference].Generates {
		return s.bad(lines[g.Reference], "bus "+g.Buses[g.Reference].Label(), "the reference without a generator in "+
			"service", "one there")
	}
	return s.connected(g, lines)
}

// buses returns the index of each bus by its number, −1 of one that is out of service, and the line of each index.
func (s *source) buses(g *Grid) (at map[int]int, lines []int, err error) {
	records, err := s.records(busColumns)
	if err != nil {
		return nil, nil, err
	}
	names := s.fields["bus_name"]
	if n := len(names.rows); n > 0 && n != len(records) {
		return nil, nil, s.bad(names.line, "mpc.bus_name", fmt.Sprintf("%d names", n), "%d, one a bus", len(records))
	}
	at = map[int]int{}
	g.Reference = -1
	for i, r := range records {
		b := Bus{Number: int(r.v[0]), G: r.v[4] / g.Base, B: r.v[5] / g.Base, V: r.v[7], Theta: radians(r.v[8]),
			VMax: r.v[11], VMin: r.v[12], Load: Power{r.v[2] / g.Base, r.v[3] / g.Base}}
		if _, twice := at[b.Number]; twice || float64(b.Number) != r.v[0] || b.Number < 1 || b.Number > 1e9 {
			return nil, nil, s.bad(r.line, "bus.bus_i", strconv.FormatFloat(r.v[0], 'g', -1, 64),
				"a whole number from 1 on that no other bus has")
		}
		if names.rows != nil {
			b.Name = names.rows[i][0].text
		}
		b.Controlled = r.v[1] == 2 || r.v[1] == 3
		switch kind := r.v[1]; {
		case kind == 4:
			at[b.Number] = -1
			g.Notes = append(g.Notes, fmt.Sprintf("bus %s is isolated (type 4) and left out", b.Label()))
			continue
		case kind != 1 && kind != 2 && kind != 3:
			return nil, nil, s.bad(r.line, "bus.type", fmt.Sprint(kind), "1 (PQ), 2 (PV), 3 (reference) or 4 "+
				"(isolated)")
		case kind == 3 && g.Reference >= 0:
			return nil, nil, s.bad(r.line, "bus.type", "3", "one reference: bus %s is it", g.Buses[g.Reference].Label())
		case kind == 3:
			g.Reference = len(g.Buses)
		}
		if !(b.VMin >= 0 && b.VMin <= b.VMax && b.VMax > 0) {
			return nil, nil, s.bad(r.line, "bus.Vmin", fmt.Sprint(b.VMin), "0 to Vmax, which is %v", b.VMax)
		}
		at[b.Number] = len(g.Buses)
		g.Buses, lines = append(g.Buses, b), append(lines, r.line)
	}
	if g.Reference < 0 {
		return nil, nil, s.bad(s.fields["bus"].line, "bus.type", "3 at no bus", "a reference (slack) bus")
	}
	return at, lines, nil
}

// bus returns the index of the bus that a number of a record names.
func (s *source) bus(at map[int]int, r record, column string, k int) (int, error) {
	i, ok := at[int(r.v[k])]
	if !ok || r.v[k] != math.Trunc(r.v[k]) {
		return 0, s.bad(r.line, column, strconv.FormatFloat(r.v[k], 'g', -1, 64), "the number of a bus in mpc.bus")
	}
	return i, nil
}

// generators adds those in service to their buses: limits and powers of several at a bus add up.
func (s *source) generators(g *Grid, at map[int]int) error {
	records, err := s.records(genColumns)
	for _, r := range records {
		i, err := s.bus(at, r, "gen.bus", 0)
		switch {
		case err != nil:
			return err
		case i < 0 || r.v[7] <= 0:
			continue
		case !(r.v[9] <= r.v[8]):
			return s.bad(r.line, "gen.Pmin", fmt.Sprint(r.v[9]), "at most Pmax, which is %v", r.v[8])
		case !(r.v[4] <= r.v[3]):
			return s.bad(r.line, "gen.Qmin", fmt.Sprint(r.v[4]), "at most Qmax, which is %v", r.v[3])
		}
		b := &g.Buses[i]
		b.Generates, b.VSet = true, r.v[5]
		for _, c := range []struct {
			to *float64
			k  int
		}{{&b.Generation.P, 1}, {&b.Generation.Q, 2}, {&b.Max.P, 8}, {&b.Max.Q, 3}, {&b.Min.P, 9}, {&b.Min.Q, 4}} {
			*c.to += r.v[c.k] / g.Base
		}
	}
	return err
}

func (s *source) branches(g *Grid, at map[int]int) error {
	records, err := s.records(branchColumns)
	for row, r := range records {
		from, err := s.bus(at, r, "branch.fbus", 0)
		if err != nil {
			return err
		}
		to, err := s.bus(at, r, "branch.tbus", 1)
		if err != nil {
			return err
		}
		if r.v[10] <= 0 || from < 0 || to < 0 {
			continue
		}
		b := Branch{Row: row + 1, From: from, To: to, Charging: r.v[4], Tap: r.v[8], Shift: radians(r.v[9]),
			Rate: r.v[5] / g.Base, AngleMin: math.Inf(-1), AngleMax: math.Inf(1)}
		if b.Tap == 0 {
			b.Tap = 1
		}
		square := r.v[2]*r.v[2] + r.v[3]*r.v[3]
		switch {
		case from == to:
			return s.bad(r.line, "branch.tbus", fmt.Sprint(r.v[1]), "another bus than fbus")
		case square == 0:
			return s.bad(r.line, "branch.x", "0, as r is", "an impedance: write one such as 0.0001, or make one "+
				"bus of the two")
		case b.Tap < 0 || b.Rate < 0:
			return s.bad(r.line, "branch", fmt.Sprintf("of ratio %v and rateA %v", r.v[8], r.v[5]), "none below 0")
		}
		b.Y = complex(r.v[2]/square, -r.v[3]/square)
		if low, high := r.v[11], r.v[12]; low != 0 || high != 0 { // both 0: no limits
			if low > high {
				return s.bad(r.line, "branch.angmin", fmt.Sprint(low), "at most angmax, which is %v", high)
			}
			if low > -360 {
				b.AngleMin = radians(low)
			}
			if high < 360 {
				b.AngleMax = radians(high)
			}
		}
		g.Branches = append(g.Branches, b)
	}
	return err
}

// connected returns an error if branches in service do not lead from the reference to all buses.
func (s *source) connected(g *Grid, lines []int) error {
	beside := make([][]int, len(g.Buses))
	for _, b := range g.Branches {
		beside[b.From], beside[b.To] = append(beside[b.From], b.To), append(beside[b.To], b.From)
	}
	reached, queue := make([]bool, len(g.Buses)), []int{g.Reference}
	reached[g.Reference] = true
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, i := range beside[next] {
			if !reached[i] {
				reached[i], queue = true, append(queue, i)
			}
		}
	}
	if i := slices.Index(reached, false); i >= 0 {
		n := 0
		for _, r := range reached {
			if !r {
				n++
			}
		}
		return s.bad(lines[i], "bus "+g.Buses[i].Label(), fmt.Sprintf("in an island: branches in service do not lead "+
			"from the reference to it and %d others", n-1), "one grid; write the islands to files of their own")
	}
	return nil
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }
