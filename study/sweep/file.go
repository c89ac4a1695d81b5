// Package sweep trains a grid of problems, variants, methods, settings, budgets and seeds, each cell as an ordinary
// run, and makes a row of each.
//
//	file, err := sweep.Parse(data, "table.yaml")          // keys and types, by line
//	plan, err := file.Plan(sweep.Options{Dir: "."})       // cells; *RefusedError names those that cannot be
//	out, err := plan.Run(ctx, sweep.Runner{Dir: "sweeps/table", Pool: pool})
//	for _, e := range out.Entries { … e.Row, e.Cost … }   // compare.Entry
//
// A cell is a unit of work (package work): it is done once, by whichever process claims it; a process that is killed
// leaves it to be gone on with from its last checkpoint, to the same bytes unless a clock ends the training. The
// sweep's folder has units/NAME (what a cell is, and its result) and runs/NAME (its run folder).
package sweep

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/sets"
)

// MaxCells bounds the cells of a sweep.
const MaxCells = 10_000

// A File is a sweep file. The tags of fields name its keys (docs/sweeps.md). After a comma they tell the reader how to
// read them. A needed key must be there. With single, one entry may replace a list. With plain, text may replace a
// mapping: it is the value of this key.
type File struct {
	Name     string    `key:"name"`
	Title    string    `key:"title"`
	Problems []Problem `key:"problems,needed"`
	Grid
	Set     []Setting `key:"set"`   // of all cells
	Rules   []Rule    `key:"cells"` // in order
	Samples int       `key:"samples" bounds:"[1,1e9]"`
	Report  bool      `key:"report"`  // figures and a page of each cell
	Measure string    `key:"measure"` // by the registry Measures; "": what a row has

	origin string
	source []byte
}

// A Grid is what a problem is combined with. A part that is nil is not said.
type Grid struct {
	Variants []string   `key:"variants"` // "" is a problem as it is
	Methods  []Method   `key:"methods"`
	Settings []Settings `key:"settings"`
	Draws    []Draw     `key:"draws"` // cells that differ in these alone share a training
	Budgets  []Budget   `key:"budget,single"`
	Seeds    []uint64   `key:"seeds"`
}

// A Problem is a recipe or a problem file, with the parts of the grid that are other than the sweep's for it.
type Problem struct {
	Problem string    `key:"problem,needed,plain"` // recipe, or path from the sweep file's folder
	Name    string    `key:"name"`                 // in the table
	Data    string    `key:"data"`                 // path from the data folder; "": what the problem says
	Set     []Setting `key:"set"`
	Grid
	Line int
}

// A Method is a name of process.method, a variant, or both, and keys.
type Method struct {
	Name    string    `key:"name"`         // in the table
	Method  string    `key:"method,plain"` // process.method; "": the problem's
	Variant string    `key:"variant"`      // after that of the grid
	Alone   bool      `key:"alone"`        // of the problem only name, data and set
	Set     []Setting `key:"set"`
	Draws   []Draw    `key:"draws"` // nil: the problem's, or the sweep's
	Seeds   []uint64  `key:"seeds"` // likewise
	Line    int
}

// Settings are keys under a name.
type Settings struct {
	Name string    `key:"name,needed"`
	Set  []Setting `key:"set"`
}

// A Draw is a way to draw samples: keys of generation under a name.
type Draw struct {
	Name     string    `key:"name,needed"`
	Set      []Setting `key:"set"`
	Problems []string  `key:"problem,single"` // the problems that it applies to; nil: all
	Measure  string    `key:"measure"`        // replaces the file's
}

// A Budget says how long a cell trains: one of the three, or as the problem says.
type Budget struct {
	Seconds float64 `key:"seconds" bounds:"[1,3.6e6]"`
	Epochs  int     `key:"epochs" bounds:"[1,1e9]"`
	Rows    int64   `key:"rows" bounds:"[1,1e15]"` // that the network sees in training, to a whole number of epochs
	Line    int
}

// mostEpochs bounds the epochs of a budget.
const mostEpochs = 1e9

// String is the budget as names of cells have it; empty where the problem says.
func (b Budget) String() string {
	switch {
	case b.Seconds > 0:
		return fmt.Sprintf("%gs", b.Seconds)
	case b.Epochs > 0:
		return fmt.Sprintf("%depochs", b.Epochs)
	case b.Rows > 0:
		return fmt.Sprintf("%drows", b.Rows)
	}
	return ""
}

// A Setting is key=value, as --set takes it, and the line it is written on.
type Setting struct {
	Text string
	Line int
}

// A Rule changes the cells that it matches: those of any of its problems, and so on; a part that is nil matches all.
type Rule struct {
	Problems []string `key:"problem,single"` // by names in the table, as the next three
	Variants []string `key:"variant,single"`
	Methods  []string `key:"method,single"`
	Settings []string `key:"settings,single"`
	Budgets  []Budget `key:"budget,single"`
	Seeds    []uint64 `key:"seed,single"`

	Set     []Setting `key:"set"`
	Budget  *Budget   `key:"train"`
	Measure string    `key:"measure"` // replaces the file's
	Skip    string    `key:"skip"`    // why these cells are left out; "": they are not
	Line    int
}

// A RefusedError says which cells of a sweep cannot be, and why. Nothing was run.
type RefusedError struct {
	Origin  string
	Refused []Refusal
}

// A Refusal is a reason and the cells that it holds for.
type Refusal struct {
	Cells []string `json:"cells"`
	Why   string   `json:"why"`
	err   error
}

// add notes why a cell is refused.
func (e *RefusedError) add(cell string, err error) {
	i := slices.IndexFunc(e.Refused, func(r Refusal) bool { return r.Why == err.Error() })
	if i < 0 {
		i = len(e.Refused)
		e.Refused = append(e.Refused, Refusal{Why: err.Error(), err: err})
	}
	e.Refused[i].Cells = append(e.Refused[i].Cells, cell)
}

// maxNamed bounds the cells that a line of a message names.
const maxNamed = 5

// Error has a line for each refusal.
func (e *RefusedError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns what Error has lines of: how many cells, and the refusals with their reasons.
func (e *RefusedError) Unwrap() []error {
	n, lines := 0, make([]error, 1+len(e.Refused))
	for i, r := range e.Refused {
		n += len(r.Cells)
		named := r.Cells[:min(len(r.Cells), maxNamed)]
		more := ""
		if left := len(r.Cells) - len(named); left > 0 {
			more = fmt.Sprintf(" and %d more", left)
		}
		lines[1+i] = fmt.Errorf("%s%s: %w", strings.Join(named, ", "), more, r.err)
	}
	lines[0] = fmt.Errorf("%s: %s cannot run; nothing was run", e.Origin, text.Plural(n, "cell"))
	return lines
}

// bad makes a *problem.KeyError of a line of the file.
func (f *File) bad(line int, key string, value any, want string) error {
	return &problem.KeyError{Origin: f.where(line), Key: key, Value: value, Want: want}
}

// fault likewise.
func (f *File) fault(line int, key, format string, v ...any) error {
	return &problem.KeyError{Origin: f.where(line), Key: key, Fault: fmt.Sprintf(format, v...)}
}

func (f *File) where(line int) string { return fmt.Sprintf("%s:%d", f.origin, line) }

// Parse reads a sweep file; origin names it in messages. Keys, types and the size of the grid are checked, and that
// names are there once; whether cells can be, Plan says. Errors are *problem.KeyError and *problem.SyntaxError.
func Parse(data []byte, origin string) (*File, error) {
	f := &File{origin: origin, source: slices.Clone(data), Name: stem(origin)}
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	body, err := problem.Document(data, f.where)
	if err != nil {
		return nil, err
	}
	if err := f.read(body, "", reflect.ValueOf(f).Elem(), nil, ""); err != nil {
		return nil, err
	}
	if f.Name != stem(origin) {
		if err := f.named(body, "name", f.Name); err != nil {
			return nil, err
		}
	}
	return f, f.size()
}

// stem returns a file's name without folder and ending.
func stem(name string) string {
	base := filepath.Base(name)
	if s := strings.TrimSuffix(base, filepath.Ext(base)); s != "" && s != "." {
		return s
	}
	return "sweep"
}

// label is how a table names a recipe or a problem file.
func label(name string) string {
	if strings.ContainsAny(name, `/\.`) {
		return stem(path.Base(filepath.ToSlash(name)))
	}
	return name
}

// What a value of a sweep file must be beside its type, and what follows where a key is not there.
func (p *Problem) check(f *File, n ast.Node, key string) error {
	p.Name = cmp.Or(p.Name, label(p.Problem))
	return f.named(n, key, p.Name)
}

func (m *Method) check(f *File, n ast.Node, key string) error {
	m.Name = cmp.Or(m.Name, m.Variant, m.Method)
	return f.named(n, key, m.Name)
}

func (s *Settings) check(f *File, n ast.Node, key string) error {
	return f.named(n, key+".name", s.Name)
}

func (d *Draw) check(f *File, n ast.Node, key string) error { return f.named(n, key+".name", d.Name) }

func (b *Budget) check(f *File, n ast.Node, key string) error {
	given := 0
	for _, is := range []bool{b.Seconds > 0, b.Epochs > 0, b.Rows > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return f.badNode(n, key, "one of seconds, epochs, rows")
	}
	return nil
}

func (r *Rule) check(f *File, n ast.Node, key string) error {
	if r.Set == nil && r.Budget == nil && r.Measure == "" && r.Skip == "" {
		return f.badNode(n, key, "what to do with the cells: set, train, measure, or skip with the reason")
	}
	return nil
}

// Names that lists have once.
func (p Problem) String() string  { return p.Name }
func (m Method) String() string   { return m.Name }
func (s Settings) String() string { return s.Name }
func (d Draw) String() string     { return d.Name }

// read reads a node into a value, by the options and the bounds of its field's tags.
func (f *File) read(n ast.Node, key string, v reflect.Value, options []string, bounds reflect.StructTag) error {
	if set, ok := v.Addr().Interface().(*[]Setting); ok {
		return f.set(n, key, set)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return f.read(n, key, v.Elem(), options, bounds)
	case reflect.Struct:
		return f.mapping(n, key, v)
	case reflect.Slice:
		return f.list(n, key, v, slices.Contains(options, "single"))
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return f.badNode(n, key, "true or false")
		}
		v.SetBool(b.Value)
	case reflect.String:
		switch n := n.(type) {
		case *ast.StringNode:
			v.SetString(n.Value)
		case *ast.LiteralNode:
			v.SetString(n.Value.Value)
		default:
			return f.badNode(n, key, "text (quote it if it looks like a number)")
		}
	default:
		return f.number(n, key, v, bounds)
	}
	return nil
}

// A keyed field is one that a key of a mapping stands for.
type keyed struct {
	name    string
	options []string
	tag     reflect.StructTag
	value   reflect.Value
}

func (k keyed) is(option string) bool { return slices.Contains(k.options, option) }

// keysOf returns the keys of a struct, in order.
func keysOf(v reflect.Value) (out []keyed) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			out = append(out, keysOf(v.Field(i))...)
		} else if words := strings.Split(field.Tag.Get("key"), ","); words[0] != "" {
			out = append(out, keyed{words[0], words[1:], field.Tag, v.Field(i)})
		}
	}
	return out
}

// mapping reads a mapping, whose keys must be known, each once, those that are needed there; or what is plain in its
// place.
func (f *File) mapping(n ast.Node, key string, v reflect.Value) error {
	keys := keysOf(v)
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	plain := slices.IndexFunc(keys, func(k keyed) bool { return k.is("plain") })
	values, ok := problem.Pairs(n)
	switch {
	case !ok && plain >= 0:
		if err := f.read(n, key, keys[plain].value, nil, ""); err != nil {
			return err
		}
	case !ok:
		return f.badNode(n, key, "a mapping with keys "+strings.Join(names, ", "))
	default:
		seen := map[string]bool{}
		for _, pair := range values {
			name := pair.Key.GetToken().Value
			full := strings.TrimPrefix(key+"."+name, ".")
			at := slices.Index(names, name)
			switch {
			case at < 0:
				return f.fault(line(pair.Key), full, "there is no such key; the keys here are %s%s",
					strings.Join(names, ", "), text.Suggest(name, names))
			case seen[name]:
				return f.fault(line(pair.Key), full, "the key was given before; expected each key once")
			}
			seen[name] = true
			if err := f.read(pair.Value, full, keys[at].value, keys[at].options, keys[at].tag); err != nil {
				return err
			}
		}
		for _, k := range keys {
			if k.is("needed") && !seen[k.name] {
				return f.fault(line(n), strings.TrimPrefix(key+"."+k.name, "."), "the key is missing")
			}
		}
	}
	if at := v.FieldByName("Line"); at.IsValid() {
		at.SetInt(int64(line(n)))
	}
	if c, ok := v.Addr().Interface().(interface {
		check(f *File, n ast.Node, key string) error
	}); ok {
		return c.check(f, n, key)
	}
	return nil
}

// list reads a list of at least one entry, each once; or a single entry in its place.
func (f *File) list(n ast.Node, key string, v reflect.Value, single bool) error {
	var nodes []ast.Node
	keys := func(i int) string { return fmt.Sprintf("%s[%d]", key, i) }
	if s, ok := n.(*ast.SequenceNode); ok {
		nodes = s.Values
	} else if single {
		nodes, keys = []ast.Node{n}, func(int) string { return key }
	}
	if len(nodes) == 0 {
		return f.badNode(n, key, "a list of at least one entry")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(nodes), len(nodes)))
	seen := map[string]int{}
	for i, node := range nodes {
		if err := f.read(node, keys(i), v.Index(i), nil, ""); err != nil {
			return err
		}
		entry := v.Index(i).Interface()
		if _, ok := entry.(Rule); ok {
			continue
		}
		name := strings.ToLower(fmt.Sprint(entry))
		if j, ok := seen[name]; ok {
			return f.fault(line(n), keys(i), "it is called %q, as %s is; expected each once", name, keys(j))
		}
		seen[name] = i
	}
	return nil
}

// number reads a number within bounds. An integer may be written as 1e6.
func (f *File) number(n ast.Node, key string, v reflect.Value, tag reflect.StructTag) error {
	bounds := sets.Bounds(reflect.StructField{Name: key, Tag: tag})
	want := "a number of at least 0"
	if bounds != nil {
		want = bounds.String()
	}
	whole := v.Kind() != reflect.Float64
	if whole {
		want = strings.Replace(want, "a number", "an integer", 1)
	}
	if i, ok := n.(*ast.IntegerNode); ok {
		if u, ok := i.Value.(uint64); ok && v.Kind() == reflect.Uint64 && bounds == nil {
			v.SetUint(u)
			return nil
		}
	}
	quoted := n.GetToken().Type == token.SingleQuoteType || n.GetToken().Type == token.DoubleQuoteType
	x, err := strconv.ParseFloat(n.GetToken().Value, 64)
	if err != nil || quoted || !(x >= 0 && x <= 1<<53) || bounds != nil && !bounds.Has(x) ||
		whole && x != math.Trunc(x) {
		return f.badNode(n, key, want)
	}
	switch v.Kind() {
	case reflect.Uint64:
		v.SetUint(uint64(x))
	case reflect.Float64:
		v.SetFloat(x)
	default:
		v.SetInt(int64(x))
	}
	return nil
}

// set reads keys of a problem file, in groups or with dots between, as settings.
func (f *File) set(n ast.Node, key string, to *[]Setting) error {
	values, ok := problem.Pairs(n)
	if !ok {
		return f.badNode(n, key, "a mapping from keys of a problem file to values")
	}
	out := []Setting{}
	seen := map[string]bool{}
	var flat func(prefix string, values []*ast.MappingValueNode) error
	flat = func(prefix string, values []*ast.MappingValueNode) error {
		for _, v := range values {
			name := prefix + v.Key.GetToken().Value
			at := line(v.Key)
			if inner, ok := problem.Pairs(v.Value); ok {
				if err := flat(name+".", inner); err != nil {
					return err
				}
				continue
			}
			if seen[name] {
				return f.fault(at, key+"."+name, "the key was given before; expected each key once")
			}
			seen[name] = true
			value, err := f.flow(v.Value, key+"."+name)
			if err != nil {
				return err
			}
			out = append(out, Setting{name + "=" + value, at})
		}
		return nil
	}
	err := flat("", values)
	*to = out
	return err
}

// flow writes a value on one line, as a setting has it.
func (f *File) flow(n ast.Node, key string) (string, error) {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.StringNode:
		if _, err := strconv.ParseFloat(n.Value, 64); err == nil && n.Token.Type == token.StringType {
			return n.Value, nil // the parser takes 1e-3 for text
		}
		return quoted(n.Value), nil
	case *ast.LiteralNode:
		return quoted(n.Value.Value), nil
	case *ast.SequenceNode:
		var parts []string
		for i, v := range n.Values {
			s, err := f.flow(v, fmt.Sprintf("%s[%d]", key, i))
			if err != nil {
				return "", err
			}
			parts = append(parts, s)
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	}
	values, ok := problem.Pairs(n)
	if !ok {
		return "", f.badNode(n, key, "a plain value: anchors, aliases, tags and empty values are not used here")
	}
	var parts []string
	for _, v := range values {
		s, err := f.flow(v.Value, key+"."+v.Key.GetToken().Value)
		if err != nil {
			return "", err
		}
		parts = append(parts, quoted(v.Key.GetToken().Value)+": "+s)
	}
	return "{" + strings.Join(parts, ", ") + "}", nil
}

// quoted writes text as YAML reads it back: JSON is YAML.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("sweep: " + err.Error()) // a string
	}
	return string(b)
}

// maxLabel bounds a part of a cell's name.
const maxLabel = 40

// named returns a *problem.KeyError unless a name can be a part of that of a folder.
func (f *File) named(n ast.Node, key, name string) error {
	bad := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.+=, /", r)
	}
	if name == "" || len(name) > maxLabel || name[0] == '.' || name[0] == '-' || strings.ContainsFunc(name, bad) {
		return f.bad(line(n), key, name, fmt.Sprintf("a name of letters, digits, spaces and any of -_.+=/, of at most "+
			"%d bytes", maxLabel))
	}
	return nil
}

// badNode says what is wrong with a node.
func (f *File) badNode(n ast.Node, key, want string) error {
	return f.bad(line(n), cmp.Or(key, "the file"), problem.Shown(n), want)
}

func line(n ast.Node) int { return n.GetToken().Position.Line }

//go:embed shipped/*.yaml
var shipped embed.FS

// Shipped returns the names of the sweeps in the binary.
func Shipped() (names []string) {
	files, err := shipped.ReadDir("shipped")
	if err != nil {
		panic("sweep: " + err.Error()) // the folder is in the binary
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// maxFile bounds a sweep file in bytes; what it may have is less.
const maxFile = 1 << 24

// Read parses a sweep of the binary by its name, or a file; - is standard input. Errors are those of Parse and of
// files.
func Read(name string) (*File, error) {
	var data []byte
	var err error
	if slices.Contains(Shipped(), name) {
		data, err = shipped.ReadFile(path.Join("shipped", name+".yaml"))
	} else {
		data, err = input.ReadStream(name, maxFile)
	}
	if err != nil {
		return nil, err
	}
	return Parse(data, name)
}
