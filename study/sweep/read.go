package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
)

// Parse reads a sweep file; origin names it in messages. Keys, types and the size of the grid are checked, and that
// names are there once; whether cells can be, Plan says. Errors are *problem.KeyError and *problem.SyntaxError.
func Parse(data []byte, origin string) (*File, error) {
	f := &File{origin: origin, source: slices.Clone(data), Name: stem(origin)}
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	body, err := problem.Document(data, f.where)
	if err != nil {
		return nil, err
	}
	if err := f.read(body); err != nil {
		return nil, err
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

func (f *File) read(body ast.Node) error {
	keys := []string{"name", "title", "problems", "variants", "methods", "settings", "draws", "budget", "seeds", "set",
		"cells", "samples", "report", "measure"}
	return f.each(body, "", keys, func(key string, n ast.Node) (err error) {
		switch key {
		case "name":
			if f.Name, err = f.text(n, key); err == nil {
				err = f.named(n, key, f.Name)
			}
		case "title":
			f.Title, err = f.text(n, key)
		case "problems":
			f.Problems, err = list(f, n, key, f.problem)
			if err == nil {
				err = once(f, n, key, f.Problems, func(p Problem) string { return strings.ToLower(p.Name) })
			}
		case "variants":
			f.Variants, err = f.variants(n, key)
		case "methods":
			f.Methods, err = f.methods(n, key)
		case "settings":
			f.Settings, err = f.settings(n, key)
		case "draws":
			f.Draws, err = f.draws(n, key)
		case "budget":
			f.Budgets, err = f.budgets(n, key)
		case "seeds":
			f.Seeds, err = f.seeds(n, key)
		case "set":
			f.Set, err = f.set(n, key)
		case "cells":
			f.Rules, err = list(f, n, key, f.rule)
		case "samples":
			var v uint64
			v, err = f.integer(n, key, 1, 1e9)
			f.Samples = int(v)
		case "report":
			f.Report, err = f.bool(n, key)
		case "measure":
			f.Measure, err = f.text(n, key)
		}
		return err
	}, "problems")
}

func (f *File) problem(n ast.Node, key string) (p Problem, err error) {
	p.line = line(n)
	if _, ok := pairs(n); !ok {
		p.Problem, err = f.text(n, key)
		p.Name = label(p.Problem)
		if err == nil {
			err = f.named(n, key, p.Name)
		}
		return p, err
	}
	keys := []string{"problem", "name", "data", "set", "variants", "methods", "settings", "draws", "budget", "seeds"}
	err = f.each(n, key, keys, func(name string, n ast.Node) (err error) {
		key := key + "." + name
		switch name {
		case "problem":
			p.Problem, err = f.text(n, key)
			if p.Name == "" {
				p.Name = label(p.Problem)
			}
		case "name":
			p.Name, err = f.text(n, key)
		case "data":
			p.dataLine = line(n)
			p.Data, err = f.text(n, key)
		case "set":
			p.Set, err = f.set(n, key)
		case "variants":
			p.Variants, err = f.variants(n, key)
		case "methods":
			p.Methods, err = f.methods(n, key)
		case "settings":
			p.Settings, err = f.settings(n, key)
		case "draws":
			p.Draws, err = f.draws(n, key)
		case "budget":
			p.Budgets, err = f.budgets(n, key)
		case "seeds":
			p.Seeds, err = f.seeds(n, key)
		}
		return err
	}, "problem")
	if err == nil {
		err = f.named(n, key, p.Name)
	}
	return p, err
}

// label is how a table names a recipe or a problem file.
func label(name string) string {
	if strings.ContainsAny(name, `/\.`) {
		return stem(path.Base(filepath.ToSlash(name)))
	}
	return name
}

func (f *File) variants(n ast.Node, key string) ([]string, error) {
	out, err := list(f, n, key, f.text)
	if err != nil {
		return nil, err
	}
	return out, once(f, n, key, out, func(s string) string { return s })
}

func (f *File) methods(n ast.Node, key string) ([]Method, error) {
	out, err := list(f, n, key, func(n ast.Node, key string) (m Method, err error) {
		m.line = line(n)
		if _, ok := pairs(n); !ok {
			m.Method, err = f.text(n, key)
			m.Name = m.Method
		} else {
			keys := []string{"name", "method", "variant", "alone", "set", "draws", "seeds"}
			err = f.each(n, key, keys, func(name string, n ast.Node) (err error) {
				key := key + "." + name
				switch name {
				case "name":
					m.Name, err = f.text(n, key)
				case "method":
					m.Method, err = f.text(n, key)
				case "variant":
					m.Variant, err = f.text(n, key)
				case "alone":
					m.Alone, err = f.bool(n, key)
				case "set":
					m.Set, err = f.set(n, key)
				case "draws":
					m.Draws, err = f.draws(n, key)
				case "seeds":
					m.Seeds, err = f.seeds(n, key)
				}
				return err
			})
			for _, name := range []string{m.Variant, m.Method} {
				if m.Name == "" {
					m.Name = name
				}
			}
		}
		if err == nil {
			err = f.named(n, key, m.Name)
		}
		return m, err
	})
	if err != nil {
		return nil, err
	}
	return out, once(f, n, key, out, func(m Method) string { return strings.ToLower(m.Name) })
}

func (f *File) settings(n ast.Node, key string) ([]Settings, error) {
	return f.groups(n, key, "name", "set")
}

func (f *File) draws(n ast.Node, key string) ([]Settings, error) {
	return f.groups(n, key, "name", "set", "problem", "measure")
}

// groups reads a list of settings under names, with some of their keys.
func (f *File) groups(n ast.Node, key string, keys ...string) ([]Settings, error) {
	out, err := list(f, n, key, func(n ast.Node, key string) (s Settings, err error) {
		s.line = line(n)
		err = f.each(n, key, keys, func(name string, n ast.Node) (err error) {
			key := key + "." + name
			switch name {
			case "name":
				if s.Name, err = f.text(n, key); err == nil {
					err = f.named(n, key, s.Name)
				}
			case "set":
				s.Set, err = f.set(n, key)
			case "problem":
				s.Problems, err = some(f, n, key, f.text)
			case "measure":
				s.Measure, err = f.text(n, key)
			}
			return err
		}, "name")
		return s, err
	})
	if err != nil {
		return nil, err
	}
	return out, once(f, n, key, out, func(s Settings) string { return strings.ToLower(s.Name) })
}

// Bounds of budgets: those of --for, and counts that a training may have.
const (
	leastSeconds, mostSeconds = 1, 3.6e6
	mostEpochs                = 1e9
	mostRows                  = 1e15
)

func (f *File) budgets(n ast.Node, key string) ([]Budget, error) {
	if _, ok := pairs(n); ok {
		b, err := f.budget(n, key)
		return []Budget{b}, err
	}
	out, err := list(f, n, key, f.budget)
	if err != nil {
		return nil, err
	}
	return out, once(f, n, key, out, Budget.String)
}

func (f *File) budget(n ast.Node, key string) (b Budget, err error) {
	b.line = line(n)
	count := 0
	err = f.each(n, key, []string{"seconds", "epochs", "rows"}, func(name string, n ast.Node) (err error) {
		count++
		key := key + "." + name
		switch name {
		case "seconds":
			b.Seconds, err = f.number(n, key, leastSeconds, mostSeconds)
		case "epochs":
			var v float64
			v, err = f.number(n, key, 1, mostEpochs)
			b.Epochs = int(v)
			if err == nil && v != math.Trunc(v) {
				err = f.bad(n, key, "an integer")
			}
		case "rows":
			var v float64
			v, err = f.number(n, key, 1, mostRows)
			b.Rows = int64(v)
			if err == nil && v != math.Trunc(v) {
				err = f.bad(n, key, "an integer")
			}
		}
		return err
	})
	if err == nil && count != 1 {
		return b, f.bad(n, key, "one of seconds, epochs, rows")
	}
	return b, err
}

func (f *File) seeds(n ast.Node, key string) ([]uint64, error) {
	out, err := list(f, n, key, func(n ast.Node, key string) (uint64, error) {
		return f.integer(n, key, 0, math.MaxUint64)
	})
	if err != nil {
		return nil, err
	}
	return out, once(f, n, key, out, func(s uint64) string { return strconv.FormatUint(s, 10) })
}

func (f *File) rule(n ast.Node, key string) (r Rule, err error) {
	r.line = line(n)
	does := false
	keys := []string{"problem", "variant", "method", "settings", "budget", "seed", "set", "train", "measure", "skip"}
	err = f.each(n, key, keys, func(name string, n ast.Node) (err error) {
		key := key + "." + name
		switch name {
		case "problem":
			r.Problems, err = some(f, n, key, f.text)
		case "variant":
			r.Variants, err = some(f, n, key, f.text)
		case "method":
			r.Methods, err = some(f, n, key, f.text)
		case "settings":
			r.Settings, err = some(f, n, key, f.text)
		case "budget":
			var of []Budget
			if of, err = f.budgets(n, key); err == nil {
				for _, b := range of {
					r.Budgets = append(r.Budgets, b.String())
				}
			}
		case "seed":
			r.Seeds, err = some(f, n, key, func(n ast.Node, key string) (uint64, error) {
				return f.integer(n, key, 0, math.MaxUint64)
			})
		case "set":
			does = true
			r.Set, err = f.set(n, key)
		case "train":
			does = true
			var b Budget
			if b, err = f.budget(n, key); err == nil {
				r.Budget = &b
			}
		case "measure":
			does = true
			r.Measure, err = f.text(n, key)
		case "skip":
			does = true
			if r.Skip, err = f.text(n, key); err == nil && r.Skip == "" {
				err = f.bad(n, key, "why these cells are left out")
			}
		}
		return err
	})
	if err == nil && !does {
		return r, f.bad(n, key, "what to do with the cells: set, train, measure or skip")
	}
	return r, err
}

// set reads keys of a problem file, in groups or with dots between, as settings.
func (f *File) set(n ast.Node, key string) ([]Setting, error) {
	values, ok := pairs(n)
	if !ok {
		return nil, f.bad(n, key, "a mapping from keys of a problem file to values")
	}
	var out []Setting
	seen := map[string]bool{}
	var flat func(prefix string, values []*ast.MappingValueNode) error
	flat = func(prefix string, values []*ast.MappingValueNode) error {
		for _, v := range values {
			name := prefix + v.Key.GetToken().Value
			at := line(v.Key)
			if inner, ok := pairs(v.Value); ok {
				if err := flat(name+".", inner); err != nil {
					return err
				}
				continue
			}
			if seen[name] {
				return &problem.KeyError{Origin: f.where(at), Key: key + "." + name,
					Fault: "the key was given before; expected each key once"}
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
	return out, flat("", values)
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
	values, ok := pairs(n)
	if !ok {
		return "", f.bad(n, key, "a plain value: anchors, aliases, tags and empty values are not used here")
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

// each calls do for the entries of a mapping, whose keys must be known, each once, those that are needed there.
func (f *File) each(n ast.Node, key string, keys []string, do func(key string, n ast.Node) error,
	needed ...string) error {
	values, ok := pairs(n)
	if !ok {
		return f.bad(n, key, "a mapping with keys "+strings.Join(keys, ", "))
	}
	prefix := ""
	if key != "" {
		prefix = key + "."
	}
	seen := map[string]bool{}
	for _, v := range values {
		name := v.Key.GetToken().Value
		fault := ""
		switch {
		case !slices.Contains(keys, name):
			fault = fmt.Sprintf("there is no such key; the keys here are %s%s", strings.Join(keys, ", "),
				text.Suggest(name, keys))
		case seen[name]:
			fault = "the key was given before; expected each key once"
		}
		if fault != "" {
			return &problem.KeyError{Origin: f.where(line(v.Key)), Key: prefix + name, Fault: fault}
		}
		seen[name] = true
		if err := do(name, v.Value); err != nil {
			return err
		}
	}
	for _, name := range needed {
		if !seen[name] {
			return &problem.KeyError{Origin: f.where(line(n)), Key: prefix + name, Fault: "the key is missing"}
		}
	}
	return nil
}

// list reads a list of at least one entry.
func list[T any](f *File, n ast.Node, key string, read func(n ast.Node, key string) (T, error)) ([]T, error) {
	s, ok := n.(*ast.SequenceNode)
	if !ok || len(s.Values) == 0 {
		return nil, f.bad(n, key, "a list of at least one entry")
	}
	var out []T
	for i, v := range s.Values {
		e, err := read(v, fmt.Sprintf("%s[%d]", key, i))
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// some reads a list, or one entry without the brackets.
func some[T any](f *File, n ast.Node, key string, read func(n ast.Node, key string) (T, error)) ([]T, error) {
	if _, ok := n.(*ast.SequenceNode); ok {
		return list(f, n, key, read)
	}
	e, err := read(n, key)
	return []T{e}, err
}

// once returns a *problem.KeyError if two entries have one name.
func once[T any](f *File, n ast.Node, key string, entries []T, name func(T) string) error {
	seen := map[string]int{}
	for i, e := range entries {
		if j, ok := seen[name(e)]; ok {
			return &problem.KeyError{Origin: f.where(line(n)), Key: fmt.Sprintf("%s[%d]", key, i),
				Fault: fmt.Sprintf("it is called %q, as %s[%d] is; expected each once", name(e), key, j)}
		}
		seen[name(e)] = i
	}
	return nil
}

func (f *File) bool(n ast.Node, key string) (bool, error) {
	if b, ok := n.(*ast.BoolNode); ok {
		return b.Value, nil
	}
	return false, f.bad(n, key, "true or false")
}

func (f *File) text(n ast.Node, key string) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	}
	return "", f.bad(n, key, "text (quote it if it looks like a number)")
}

// named returns a *problem.KeyError unless a name can be a part of that of a folder.
func (f *File) named(n ast.Node, key, name string) error {
	bad := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.+=, /", r)
	}
	if name == "" || len(name) > maxLabel || name[0] == '.' || name[0] == '-' || strings.ContainsFunc(name, bad) {
		return f.key(line(n), key, name, fmt.Sprintf("a name of letters, digits, spaces and any of -_.+=/, of at most "+
			"%d bytes", maxLabel))
	}
	return nil
}

// maxLabel bounds a part of a cell's name.
const maxLabel = 40

func (f *File) integer(n ast.Node, key string, least, most uint64) (uint64, error) {
	want := fmt.Sprintf("an integer from %d to %d", least, most)
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, f.bad(n, key, want)
	}
	var v uint64
	switch x := i.Value.(type) {
	case int64:
		if x < 0 {
			return 0, f.bad(n, key, want)
		}
		v = uint64(x)
	case uint64:
		v = x
	default:
		return 0, f.bad(n, key, want)
	}
	if v < least || v > most {
		return 0, f.bad(n, key, want)
	}
	return v, nil
}

func (f *File) number(n ast.Node, key string, least, most float64) (float64, error) {
	want := fmt.Sprintf("a number from %g to %g", least, most)
	plain := n.GetToken().Type != token.SingleQuoteType && n.GetToken().Type != token.DoubleQuoteType
	v, err := strconv.ParseFloat(n.GetToken().Value, 64)
	if err != nil || !plain || !(v >= least && v <= most) {
		return 0, f.bad(n, key, want)
	}
	return v, nil
}

// bad says what is wrong with a node.
func (f *File) bad(n ast.Node, key, want string) error {
	s := strings.Join(strings.Fields(n.String()), " ")
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	if s == "" {
		s = "empty"
	}
	if key == "" {
		key = "the file"
	}
	return f.key(line(n), key, literal(s), want)
}

// literal is text from a file, shown as it stands there.
type literal string

func (l literal) String() string { return string(l) }

func line(n ast.Node) int { return n.GetToken().Position.Line }

// pairs returns the entries of a mapping.
func pairs(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}
