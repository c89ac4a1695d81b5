// Package schema makes a JSON Schema of problem files, by which editors complete and check them.
//
// It knows no key: types are those that problem.Load reads into, texts are those of docs/problem-file.md and of the
// registries of sets, networks and methods, words and ranges are those that problem.Build checks by. What depends on
// several keys, on files or on data it leaves to landing check.
package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/sets"
)

// Draft is the version of JSON Schema that editors know best.
const Draft = "http://json-schema.org/draft-07/schema#"

// Problem returns the schema of problem files.
func Problem() *jsonschema.Schema {
	b := &builder{defs: map[string]*jsonschema.Schema{}, keys: map[string]problem.Key{}}
	for _, k := range problem.Keys() {
		b.keys[k.Name] = k
	}
	t := reflect.TypeFor[problem.Problem]()
	layer := b.object(t, "") // of variants: any part of a file
	delete(layer.Properties, "variants")
	layer.PropertyOrder = slices.DeleteFunc(layer.PropertyOrder, func(key string) bool { return key == "variants" })
	b.defs["variant"] = layer
	root := b.object(t, "")
	root.Properties["variants"] = &jsonschema.Schema{Type: "object",
		Description:          sentence(problem.Describe("variants")),
		AdditionalProperties: &jsonschema.Schema{Ref: "#/definitions/variant"}}
	root.Schema, root.Title = Draft, "Problem file of landing"
	root.Description = "What to learn, on which set, and how."
	root.AnyOf = []*jsonschema.Schema{{Required: []string{"variants"}}, { // a variant may have what the file lacks
		Required:   []string{"set"},
		Properties: map[string]*jsonschema.Schema{"set": {AnyOf: named()}},
	}}
	root.Definitions = b.defs
	return root
}

// JSON returns the schema of problem files as the bytes of a file.
func JSON() []byte {
	data, err := json.MarshalIndent(Problem(), "", " ")
	if err != nil {
		panic("schema: " + err.Error()) // of types that the program was built with
	}
	return append(data, '\n')
}

// named says how a set may tell its kind: by its key, or by one that only an implied kind has.
func named() []*jsonschema.Schema {
	all := []*jsonschema.Schema{{Required: []string{"kind"}}}
	for _, key := range sets.Implying() {
		all = append(all, &jsonschema.Schema{Required: []string{key}})
	}
	return all
}

// builder gathers what several places refer to.
type builder struct {
	defs map[string]*jsonschema.Schema
	keys map[string]problem.Key
}

// object is the schema of a struct whose keys stand behind a prefix.
func (b *builder) object(t reflect.Type, prefix string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: none()}
	for name, f := range sets.Fields(t) {
		key := prefix + name
		s.PropertyOrder = append(s.PropertyOrder, name)
		switch {
		case f.Type == reflect.TypeFor[sets.Set]():
			s.Properties[name] = b.set()
		case key == "variants":
			s.Properties[name] = &jsonschema.Schema{}
		case f.Type.Kind() == reflect.Struct:
			if prefix != "" {
				s.Properties[name] = b.group(f, key)
				break
			}
			if b.defs[name] == nil {
				b.defs[name] = b.group(f, key)
			}
			s.Properties[name] = &jsonschema.Schema{Ref: "#/definitions/" + name}
		default:
			s.Properties[name] = b.key(key)
		}
	}
	return s
}

// group is the schema of a field that holds keys.
func (b *builder) group(f reflect.StructField, key string) *jsonschema.Schema {
	s := b.object(f.Type, key+".")
	s.Description = sentence(f.Tag.Get("doc"))
	return s
}

func none() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

// key is the schema of a key outside sets.
func (b *builder) key(name string) *jsonschema.Schema {
	k := b.keys[name]
	s := b.value(k.Type, name)
	s.Description = sentence(k.Doc)
	if k.Default != "" && k.Default != "–" {
		s.Description = strings.TrimSpace(s.Description + " Default: " + plain(k.Default) + ".")
	}
	bound(s, k.Words, problem.AnyCase(name), k.Range)
	return s
}

// bound bounds a value, or those of a list, by words or a range, if there are any.
func bound(s *jsonschema.Schema, words []string, anyCase bool, r *sets.Range) {
	for s.Items != nil {
		s = s.Items
	}
	if r != nil {
		setBounds(s, *r)
	}
	if words != nil {
		oneOf(s, words, anyCase)
	}
}

// oneOf makes a text one of some words.
func oneOf(s *jsonschema.Schema, words []string, anyCase bool) {
	all := make([]any, len(words))
	for i, w := range words {
		all[i] = w
	}
	if !anyCase {
		s.Enum = all
		return
	}
	// Words to complete, and patterns of the others that are read.
	var patterns []string
	for _, w := range words {
		p := ""
		for _, r := range w {
			if lower, upper := strings.ToLower(string(r)), strings.ToUpper(string(r)); lower != upper {
				p += "[" + upper + lower + "]"
			} else {
				p += regexp.QuoteMeta(string(r))
			}
		}
		patterns = append(patterns, p)
	}
	s.Type = ""
	s.AnyOf = []*jsonschema.Schema{{Enum: all}, {Type: "string", Pattern: "^(" + strings.Join(patterns, "|") + ")$"}}
}

// setBounds bounds a number, or the number that may replace a word.
func setBounds(s *jsonschema.Schema, r sets.Range) {
	if len(s.AnyOf) > 0 {
		s = s.AnyOf[0]
	}
	bounded := &jsonschema.Schema{}
	low, high := r.Low, r.High
	if !math.IsInf(low, 0) {
		if bounded.Minimum = &low; r.Over {
			bounded.Minimum, bounded.ExclusiveMinimum = nil, &low
		}
	}
	if !math.IsInf(high, 0) {
		if bounded.Maximum = &high; r.Below {
			bounded.Maximum, bounded.ExclusiveMaximum = nil, &high
		}
	}
	if r.Or0 && (r.Low > 0 || r.Over) {
		zero := any(0)
		s.AnyOf = []*jsonschema.Schema{{Const: &zero}, bounded}
		return
	}
	s.Minimum, s.ExclusiveMinimum, s.Maximum, s.ExclusiveMaximum = bounded.Minimum, bounded.ExclusiveMinimum,
		bounded.Maximum, bounded.ExclusiveMaximum
}

// value is the schema of a type.
func (b *builder) value(t reflect.Type, key string) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[problem.Choice]():
		auto := any(problem.AutoDefaults)
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "number"}, {Const: &auto}}}
	case reflect.TypeFor[formula.Definitions]():
		return &jsonschema.Schema{Type: "object",
			AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Types: []string{"string", "number",
				"array"}}, {Type: "object", Required: []string{"file"}, Properties: map[string]*jsonschema.Schema{
				"file": {Type: "string"}}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}}}}
	case reflect.TypeFor[score.Options]():
		return options(key)
	case reflect.TypeFor[sets.Set]():
		return b.set()
	}
	switch t.Kind() {
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Uint64:
		least := 0.0
		return &jsonschema.Schema{Type: "integer", Minimum: &least}
	case reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	case reflect.Pointer:
		return b.value(t.Elem(), key)
	case reflect.Slice:
		items := &jsonschema.Schema{}
		if t.Elem() == reflect.TypeFor[problem.Observe]() {
			items = b.object(t.Elem(), key+"[].")
		} else if t.Elem().Kind() != reflect.Interface {
			items = b.value(t.Elem(), key)
		}
		return &jsonschema.Schema{Type: "array", Items: items}
	case reflect.Struct:
		return b.fields(t)
	case reflect.Interface:
		return &jsonschema.Schema{}
	}
	panic(fmt.Sprintf("schema: %s has the type %v, of which there is no schema", key, t))
}

// options is the schema of the numbers that kinds of networks, or methods, have of their own.
func options(key string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: none()}
	add := func(kind string, o score.Option) {
		p, ok := s.Properties[o.Name]
		if !ok {
			p = &jsonschema.Schema{Type: "number"}
			s.Properties[o.Name] = p
			s.PropertyOrder = append(s.PropertyOrder, o.Name)
		}
		low, high := o.Lowest, o.Most
		if p.Minimum != nil { // several have it
			low, high = min(low, *p.Minimum), max(high, *p.Maximum)
		}
		p.Minimum, p.Maximum = &low, &high
		if o.Whole && !ok {
			p.Type = "integer"
		} else if !o.Whole {
			p.Type = "number"
		}
		p.Description += fmt.Sprintf("%s: %s. Default: %v. ", kind, o.Doc, o.Default)
	}
	if key == "network.options" {
		for _, name := range networks.Names() {
			k, _ := networks.Of(name)
			for _, o := range k.Options {
				add(name, o)
			}
		}
		return s
	}
	for _, k := range methods.All {
		for _, o := range k.Options {
			add(k.Name, o)
		}
	}
	return s
}

// set is the schema of a set. There is one definition, which others refer to.
func (b *builder) set() *jsonschema.Schema {
	ref := &jsonschema.Schema{Ref: "#/definitions/set"}
	if b.defs["set"] != nil {
		return ref
	}
	kinds := make([]any, len(sets.All))
	for i, k := range sets.All {
		kinds[i] = k.Name
	}
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: none(), PropertyOrder: sets.Keys(),
		Properties: map[string]*jsonschema.Schema{
			"kind": {Type: "string", Enum: kinds, Description: sentence(problem.Describe("set.kind"))}}}
	b.defs["set"] = s
	var silent []*jsonschema.Schema
	for _, k := range sets.All {
		own := b.fields(k.Keys)
		name := any(k.Name)
		keys := []any{"kind"}
		for _, key := range own.PropertyOrder {
			keys = append(keys, key)
			if s.Properties[key] == nil { // a description for where the kind is not known
				s.Properties[key] = &jsonschema.Schema{Description: own.Properties[key].Description}
			}
		}
		own.Type, own.AdditionalProperties = "", nil
		own.PropertyNames = &jsonschema.Schema{Enum: keys}
		s.AllOf = append(s.AllOf, &jsonschema.Schema{
			If: &jsonschema.Schema{Required: []string{"kind"},
				Properties: map[string]*jsonschema.Schema{"kind": {Const: &name}}},
			Then: own,
		})
	}
	for _, key := range sets.Keys()[1:] {
		var any []*jsonschema.Schema
		for _, k := range sets.All {
			if f, ok := sets.Field(k.Keys, key); ok {
				any = append(any, b.field(f))
			}
		}
		silent = append(silent, &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{key: {AnyOf: any}}})
	}
	s.AllOf = append(s.AllOf, &jsonschema.Schema{ // a variant, or a kind that a key implies
		If: &jsonschema.Schema{Required: []string{"kind"}}, Else: &jsonschema.Schema{AllOf: silent},
	})
	return ref
}

// fields is the schema of a struct of a set. Tags describe its fields: doc; words, the allowed texts; takes, the
// allowed entries of any type; bounds, [low, high] of a number, with ( and ) where these are not in it.
func (b *builder) fields(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: none()}
	for name, f := range sets.Fields(t) {
		s.PropertyOrder = append(s.PropertyOrder, name)
		s.Properties[name] = b.field(f)
	}
	return s
}

var braced = regexp.MustCompile(`\{(\w+)\}`)

func (b *builder) field(f reflect.StructField) *jsonschema.Schema {
	s := b.value(f.Type, f.Name)
	if s.Ref != "" {
		return s
	}
	s.Description = sentence(braced.ReplaceAllString(f.Tag.Get("doc"), "$1"))
	bound(s, sets.Words(f), false, sets.Bounds(f))
	if t := f.Tag.Get("takes"); t != "" {
		at := s
		for at.Items != nil {
			at = at.Items
		}
		for _, what := range strings.Split(t, ",") {
			at.AnyOf = append(at.AnyOf, taken(what))
		}
	}
	return s
}

// taken is the schema of an entry of a tag takes.
func taken(what string) *jsonschema.Schema {
	switch what {
	case "number":
		return &jsonschema.Schema{Type: "number"}
	case "numbers":
		return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "number"}}
	case "atoms":
		of := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{taken("text"), taken("integer")}}
		return &jsonschema.Schema{Type: "array", Items: of}
	case "integer":
		return &jsonschema.Schema{Type: "integer"}
	case "text":
		return &jsonschema.Schema{Type: "string"}
	}
	word := any(what)
	return &jsonschema.Schema{Const: &word}
}

// sentence is plain with a capital and a full stop.
func sentence(s string) string {
	s = plain(s)
	if s == "" {
		return ""
	}
	first, n := utf8.DecodeRuneInString(s)
	if rest := s[n:]; rest == "" || !unicode.IsUpper(rune(rest[0])) && !strings.HasPrefix(rest, "_") { // no symbol
		s = string(unicode.ToUpper(first)) + rest
	}
	return strings.TrimSuffix(s, ".") + "."
}

// plain is Markdown for people who see it as it is.
func plain(s string) string { return strings.ReplaceAll(s, "`", "") }
