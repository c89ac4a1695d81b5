package grid

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/input"
)

// MostBytes bounds a case file, and most its numbers, so that no product of them is infinite.
const MostBytes, most = 8 << 20, 1e12

// known are the fields that are read, and those that say nothing of balances and limits.
var known = strings.Fields("version baseMVA bus gen branch bus_name dcline gencost areas gentype genfuel")

const quoted = `'(?:[^'\n]|'')*'|"[^"\n]*"`

var (
	hidden   = regexp.MustCompile(quoted + `|%\{[ \t]*\n(?s:.*?)\n[ \t]*%\}|%[^\n]*|\.\.\.[^\n]*\n`)
	skipped  = regexp.MustCompile(`^(?:[\s;]+|function\b[^\n]*|(?:return|end|endfunction)\b)`)
	assigned = regexp.MustCompile(`^\w+\.(\w+)\s*=\s*(\[[^\]]*\]|\{(?:` + quoted + `|[^}'"])*\}|` + quoted +
		`|[^\s;'"]+)[ \t]*(?:;|\n|$)`)
	text = regexp.MustCompile(quoted)
)

// A field is what the file assigns to one name.
type field struct {
	text string
	line int
}

// scalar is the field's number or text, without quotes and brackets.
func (f field) scalar() string { return strings.Trim(f.text, "'\"[] ") }

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
func Parse(path, rest string) (*Grid, error) {
	rest = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(rest, "\ufeff"))
	s, line := &source{file: path, fields: map[string]field{}}, 1
	// Comments go, and a line that ends in ... goes on in the next one: \f stands for its end.
	rest = hidden.ReplaceAllStringFunc(rest, func(found string) string {
		if found[0] == '\'' || found[0] == '"' {
			return found
		}
		return strings.Repeat(map[bool]string{true: "\f", false: "\n"}[found[0] == '.'], strings.Count(found, "\n"))
	})
	for rest != "" && s.err == nil {
		end, first := skipped.FindStringIndex(rest), rest[:min(len(rest), 60)]
		if m := assigned.FindStringSubmatchIndex(rest); end == nil && m != nil {
			name := rest[m[2]:m[3]]
			before, twice := s.fields[name]
			s.need(!twice, line, "mpc."+name, "given again", "it once: it is in line %d", before.line)
			s.fields[name], end = field{rest[m[4]:m[5]], line}, m[:2]
		}
		if s.need(end != nil, line, "", strconv.Quote(strings.SplitN(first, "\n", 2)[0]), "mpc.NAME = a number, "+
			"a text, [ … ] or { … } with its end: the file is read as data, and no MATLAB code in it runs") {
			line += strings.Count(rest[:end[1]], "\n") + strings.Count(rest[:end[1]], "\f")
			rest = rest[end[1]:]
		}
	}
	g := &Grid{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Reference: -1}
	if s.err == nil {
		s.build(g)
	}
	return g, s.err
}

// records reads a matrix of numbers, with zeros for columns that may be left out: those beyond least.
func (s *source) records(name string, least int, columns string) (out []record) {
	f, ok := s.fields[name]
	s.need(ok, 0, "mpc."+name, "missing", "a matrix")
	names, line := strings.Fields(columns), f.line
	for _, row := range regexp.MustCompile(`[^;\n]*[;\n]?`).FindAllString(strings.Trim(f.text, "[]"), -1) {
		words := strings.Fields(strings.Trim(strings.ReplaceAll(row, ",", " "), ";\n"))
		r := record{line, map[string]float64{}}
		line += strings.Count(row, "\n") + strings.Count(row, "\f")
		if len(words) == 0 {
			continue
		} else if !s.need(len(out) < formula.MaxComponents, r.line, "mpc."+name, "another row", "at most %d",
			formula.MaxComponents) || s.err != nil {
			return out
		}
		s.need(len(words) >= least, r.line, "mpc."+name, fmt.Sprintf("a row of %d numbers", len(words)),
			"the columns %s", strings.Join(names[:least], ", "))
		for k, column := range names[:min(len(names), len(words))] {
			v, err := strconv.ParseFloat(words[k], 64)
			limit := strings.Contains(column, "max") || strings.Contains(column, "min") || column == "rateA"
			top := most
			if column == "Va" || column == "angle" {
				top = 36000
			} else if limit && math.Abs(v) > most {
				v, top, err = math.Copysign(math.Inf(1), v), math.Inf(1), nil
			}
			s.need(err == nil && math.Abs(v) <= top, r.line, name+"."+column, strconv.Quote(words[k]),
				"a number of at most %g", top)
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
	s.need(direct.scalar() == "", direct.line, "mpc.dcline", "there", "none: the balances have no direct-current lines")
	s.need(version.line == 0 || version.scalar() == "2", version.line, "mpc.version", version.scalar(), "2")
	g.Base, _ = strconv.ParseFloat(base.scalar(), 64)
	s.need(g.Base >= 1/most && g.Base <= most, base.line, "mpc.baseMVA", strconv.Quote(base.text),
		"a power above 0, of at most %g", most)
	at, lines := map[float64]int{}, []int(nil)
	buses := s.records("bus", 13, "bus_i type Pd Qd Gs Bs area Vm Va baseKV zone Vmax Vmin")
	named := s.fields["bus_name"]
	names := text.FindAllString(named.text, -1)
	s.need(names == nil || len(names) == len(buses), named.line, "mpc.bus_name", fmt.Sprintf("%d names", len(names)),
		"%d, one a bus", len(buses))
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
		s.need(b.VMin >= 0 && b.VMin <= min(b.VMax, most), r.line, "bus.Vmin", b.VMin,
			"a number from 0 to Vmax, which is %v", b.VMax)
		if names != nil { // in it two quotes stand for one
			b.Name = strings.ReplaceAll(names[i][1:len(names[i])-1], "''", "'")
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
		for _, k := range []string{"P", "Q"} {
			s.need(r.v[k+"min"] <= min(r.v[k+"max"], most) && r.v[k+"max"] >= -most, r.line, "gen."+k+"min",
				r.v[k+"min"], "at most %smax, which is %v, and finite", k, r.v[k+"max"])
		}
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
		s.need(square > 1/most/most, r.line, "branch.x", r.v["x"], "an impedance: write one such as 0.0001, or make "+
			"one bus of both")
		s.need(b.Tap >= 1e-3 && b.Tap <= 1e3, r.line, "branch.ratio", b.Tap, "0, or 0.001 to 1000")
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
