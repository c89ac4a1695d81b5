package schema_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/schema"
	"github.com/landing-diffusion/landing/problem/sets"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	return testkit.Must(schema.Problem().Resolve(nil))
}

// value is what an editor makes of YAML: as JSON would have it.
func value(t *testing.T, n ast.Node) any {
	t.Helper()
	switch n := n.(type) {
	case *ast.MappingNode:
		m := map[string]any{}
		for _, v := range n.Values {
			m[v.Key.GetToken().Value] = value(t, v.Value)
		}
		return m
	case *ast.MappingValueNode:
		return map[string]any{n.Key.GetToken().Value: value(t, n.Value)}
	case *ast.SequenceNode:
		list := []any{}
		for _, v := range n.Values {
			list = append(list, value(t, v))
		}
		return list
	case *ast.IntegerNode:
		return testkit.Must(strconv.ParseFloat(strings.ReplaceAll(n.Token.Value, "_", ""), 64))
	case *ast.FloatNode:
		return n.Value
	case *ast.BoolNode:
		return n.Value
	case *ast.StringNode:
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil && n.Token.Type == token.StringType {
			return v // 1e-3 is a number of YAML 1.2
		}
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.NullNode:
		return nil
	case *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value // no JSON: a text, which a number is not
	}
	t.Fatalf("a node of type %T", n)
	return nil
}

// by validates a file's text.
func by(t *testing.T, s *jsonschema.Resolved, text string) error {
	t.Helper()
	n, err := problem.Document([]byte(text), func(int) string { return "" })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s.Validate(value(t, n))
}

// load is what the verbs do with a file before any data: chains says that it is landing mcmc.
func load(text string, chains bool) (atLoad, atBuild error) { return loadVariant(text, "", chains) }

// loadVariant is load of a file with a variant.
func loadVariant(text, variant string, chains bool) (atLoad, atBuild error) {
	p, err := problem.Load([]byte(text), "p.yaml", variant, nil)
	if err != nil {
		return err, nil
	}
	if chains {
		_, err = p.BuildChains()
		return nil, err
	}
	_, err = p.Build()
	return nil, err
}

// Every problem file that ships is valid, and so is every one that a run folder holds of it.
func TestShipped(t *testing.T) {
	s := resolved(t)
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	texts := map[string]string{}
	for _, file := range files {
		data := testkit.Must(os.ReadFile(file))
		texts[file] = string(data)
	}
	for _, name := range problem.Recipes() {
		data, origin, err := problem.Source(name)
		testkit.OK(t, err)
		texts[origin] = string(data)
		p := testkit.Must(problem.Load(data, origin, "", nil))
		texts[origin+", resolved"] = string(p.Resolved())
	}
	for name, text := range texts {
		if err := by(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The schema beside the recipes, which editors find by their first line, is that of this program.
func TestFile(t *testing.T) {
	path := filepath.Join("..", "recipes", problem.SchemaFile)
	want := schema.JSON()
	if os.Getenv("LANDING_UPDATE") != "" {
		testkit.OK(t, os.WriteFile(path, want, 0o666))
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is of another version (%v): LANDING_UPDATE=1 go test ./problem/schema writes it", path, err)
	}
	lines := map[string]string{"../recipes/*.yaml": problem.SchemaLine,
		"../../examples/*/*.yaml": "# yaml-language-server: $schema=../../problem/recipes/" + problem.SchemaFile}
	for pattern, want := range lines {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if first, _, _ := strings.Cut(string(data), "\n"); err != nil || first != want {
				t.Errorf("%s begins with %q (%v), want %q", file, first, err, want)
			}
		}
	}
}

// Every key has a text, and the schema has every key.
func TestDescribed(t *testing.T) {
	s := schema.Problem()
	var visit func(at string, s *jsonschema.Schema)
	visit = func(at string, s *jsonschema.Schema) {
		if s == nil {
			return
		}
		for name, p := range s.Properties {
			at := at + "." + name
			if p.Ref == "" && p.Const == nil && p.Description == "" && p.Not == nil && len(p.AnyOf) == 0 {
				t.Errorf("%s has no description: docs/problem-file.md has none in its table, or its field no tag doc",
					at)
			}
			visit(at, p)
		}
		visit(at+"[]", s.Items)
		for name, d := range s.Definitions {
			if d.Description == "" && name != "set" && name != "variant" {
				t.Errorf("%s has no description", name)
			}
			visit(name, d)
		}
		for _, all := range s.AllOf {
			if all.Then != nil && all.If != nil {
				visit(at+" of a kind", all.Then)
			}
		}
	}
	visit("", s)
	for _, k := range problem.Keys() {
		if k.Doc == "" && k.Default == "" {
			t.Errorf("docs/problem-file.md says nothing of %s", k.Name)
		}
		if group, key, ok := strings.Cut(k.Name, "."); ok && !strings.Contains(k.Name, "[]") {
			d := s.Definitions[group]
			if first, rest, deeper := strings.Cut(key, "."); deeper {
				d, key = d.Properties[first], rest
			}
			if d == nil || d.Properties[key] == nil {
				t.Errorf("the schema has no %s", k.Name)
			}
		}
	}
}

const base = "data: {kind: points, path: x.csv}\nset: {kind: sphere, dim: 3}\n"

// with writes a file in which a key has a value.
func with(key, value string) string {
	if rest, ok := strings.CutPrefix(key, "observe[]."); ok {
		return base + "observe: [{" + replaced(`name: n, expr: "x[0]"`, rest, value) + "}]"
	}
	parts := strings.Split(key, ".")
	if parts[0] == "data" {
		return "set: {kind: sphere, dim: 3}\ndata: {" + strings.Join(parts[1:], ": {") + ": " + value + "}"
	}
	return base + strings.Join(parts, ": {") + ": " + value + strings.Repeat("}", len(parts)-1)
}

// Schema and strict loader agree of each key: on types; on ranges, at their ends and just beyond; on words.
func TestAgreesByKey(t *testing.T) {
	s := resolved(t)
	checked := 0
	for _, k := range problem.Keys() {
		chains := strings.HasPrefix(k.Name, "sample.")
		for _, v := range []string{"zzz", "true", "[1]", "[zzz]", "{zzz: 1}", "1.5", "-1", "3", "\"3\"", "[[1]]"} {
			text := with(k.Name, v)
			atLoad, atBuild := load(text, chains)
			refused := by(t, s, text)
			if atLoad != nil && refused == nil {
				t.Errorf("%s: %s: the loader refuses it, the schema does not: %v", k.Name, v, atLoad)
			}
			if atLoad == nil && atBuild == nil && refused != nil {
				t.Errorf("%s: %s: the schema refuses what the loader takes: %v", k.Name, v, refused)
			}
			checked++
		}
		if k.Range != nil {
			agreeOnRange(t, s, k, chains)
		}
		for _, word := range k.Words {
			if err := by(t, s, with(k.Name, word)); err != nil {
				t.Errorf("%s: the schema refuses %s: %v", k.Name, word, err)
			}
			if atLoad, atBuild := load(with(k.Name, word), chains); atLoad != nil || about(atBuild, k.Name) &&
				strings.Contains(atBuild.Error(), "expected one of") {
				t.Errorf("%s: the loader refuses %s: %v, %v", k.Name, word, atLoad, atBuild)
			}
		}
		if k.Words != nil {
			for _, word := range []string{k.Words[0] + "s", "auto ", "any"} {
				text := with(k.Name, strconv.Quote(word))
				// Of a potential that is not amber the loader says that its keys belong to that.
				if _, err := load(text, chains); err == nil || by(t, s, text) == nil {
					t.Errorf("%s: %q: by the loader %v, by the schema %v", k.Name, word, err, by(t, s, text))
				}
			}
		}
	}
	if checked < 500 {
		t.Errorf("only %d files", checked)
	}
}

// about reports whether an error is of a key.
func about(err error, key string) bool {
	var e *problem.KeyError
	return errors.As(err, &e) && e.Key == key
}

func agreeOnRange(t *testing.T, s *jsonschema.Resolved, k problem.Key, chains bool) {
	t.Helper()
	r := *k.Range
	whole := k.Type.Kind() == reflect.Int
	next := func(v, step float64) float64 {
		if whole {
			return v + step
		}
		return math.Nextafter(v, v+step*math.Abs(v)+step)
	}
	tried := 0
	for _, v := range []float64{r.Low, next(r.Low, 1), next(r.Low, -1), r.High, next(r.High, 1), next(r.High, -1),
		0, -3} {
		if math.IsInf(v, 0) || math.IsNaN(v) || whole && math.Abs(v) > 1<<53 {
			continue
		}
		written := strconv.FormatFloat(v, 'g', -1, 64)
		if whole {
			written = strconv.FormatFloat(v, 'f', 0, 64)
		}
		if k.Type.Kind() == reflect.Slice {
			written = "[" + written + ", 0, 0]"
		}
		text := with(k.Name, written)
		atLoad, atBuild := load(text, chains)
		refused := by(t, s, text)
		switch in := r.Has(v); {
		case in && refused != nil:
			t.Errorf("%s: %v is in %+v, and the schema refuses it: %v", k.Name, v, r, refused)
		case in && atLoad != nil:
			t.Errorf("%s: %v is in %+v, and the loader refuses it: %v", k.Name, v, r, atLoad)
		case !in && refused == nil:
			t.Errorf("%s: %v is not in %+v, and the schema takes it", k.Name, v, r)
		case !in && atLoad == nil && atBuild == nil:
			t.Errorf("%s: %v is not in %+v, and the loader takes it", k.Name, v, r)
		}
		tried++
	}
	if tried < 3 {
		t.Errorf("%s: only %d values", k.Name, tried)
	}
}

// least are small sets of each kind that needs no file.
var least = map[string]string{
	"sphere": "dim: 3, radius: 2", "ellipsoid": "axes: [1, 2]", "torus": "major: 2, minor: 1",
	"affine": "a: [[1, 1]], b: [1]", "curve": "terms: [[1, 2, 0], [1, 0, 2], [-1, 0, 0]]",
	"box": "lower: [0, 0], upper: [1, 1]", "simplex": "dim: 3", "cap": "axis: [0, 0, 1], height: 0.5",
	"orthogonal": "n: 2", "special_orthogonal": "n: 2", "stiefel": "n: 3, p: 1",
	"chain":    "dim: 3, bonds: [1, 1], angles: [2], anchored: true",
	"molecule": "atoms: 3, distances: [{atoms: [0, 1], value: 1.5}, {atoms: [1, 2], min: 1}]",
	"arm": "robot: panda, waypoints: 2, period: 1, step: 0.5, limits: true, clearance: waypoints, " +
		"path: [{upright: [0, 0, 1]}], start: {joints: condition}",
	"grid":           "case: ../../domain/grid/testdata/small.m, loads: fixed",
	"redundant_axis": "kind: redundant_axis", "euclidean": "dim: 2",
	"formula": "dim: 2, let: {r: \"norm(x)\"}, equality: [{name: a, expr: \"r = 1\"}], " +
		"inequality: [{name: b, expr: \"x[0]\"}]",
	"sequence": "steps: 3, state: [x, v], let: {h: 1/4}, first: [{name: a, expr: x = 0}], last: [{name: b, expr: " +
		"x = 1}], within: [{name: c, expr: v <= 1}], between: [{name: d, expr: \"next(x) - x = h*v\"}]",
	"product": "product: [{kind: sphere, dim: 3}, {kind: box, lower: [0]}], names: [a, b]",
	"all":     "all: [{kind: sphere, dim: 3}, {kind: box, lower: [0, 0, 0]}]",
}

// Schema and loader agree on the keys of each kind of set: its own, others', unknown ones, types and bounds.
func TestAgreesOnSets(t *testing.T) {
	s := resolved(t)
	file := func(kind, keys string) string {
		if keys = strings.TrimPrefix(keys, "kind: "+kind); keys != "" {
			keys = ", " + strings.TrimPrefix(keys, ", ")
		}
		return fmt.Sprintf("data: {kind: points, path: x.csv}\nset: {kind: %s%s}", kind, keys)
	}
	for _, k := range sets.All {
		keys, ok := least[k.Name]
		if !ok {
			if k.Name != "level-set" { // needs files
				t.Errorf("the test has no set of kind %s", k.Name)
			}
			continue
		}
		text := file(k.Name, keys)
		atLoad, atBuild := load(text, false)
		if err := by(t, s, text); err != nil || atLoad != nil || atBuild != nil && k.Name != "arm" {
			t.Errorf("%s: by the schema %v, by the loader %v, %v", k.Name, err, atLoad, atBuild)
		}
		for _, more := range []string{"zzz: 1", "weights: [zzz]", "mesh: 3"} {
			text := file(k.Name, keys+", "+more)
			if atLoad, atBuild := load(text, false); by(t, s, text) == nil || atLoad == nil && atBuild == nil {
				t.Errorf("%s takes %s: by the schema %v, by the loader %v, %v", k.Name, more, by(t, s, text), atLoad,
					atBuild)
			}
		}
		for i := range k.Keys.NumField() {
			f := k.Keys.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			for _, v := range []string{"zzz", "true", "[true]", "{zzz: 1}", "1.5"} {
				text := file(k.Name, replaced(keys, name, v))
				atLoad, atBuild := load(text, false)
				if refused := by(t, s, text); atLoad != nil && refused == nil ||
					atLoad == nil && atBuild == nil && refused != nil {
					t.Errorf("%s.%s: %s: by the schema %v, by the loader %v, %v", k.Name, name, v, refused, atLoad,
						atBuild)
				}
			}
			agreeOnBounds(t, s, k, f, func(v string) string { return file(k.Name, replaced(keys, name, v)) })
		}
	}
}

func agreeOnBounds(t *testing.T, s *jsonschema.Resolved, k sets.Kind, f reflect.StructField,
	file func(v string) string) {
	t.Helper()
	b := sets.Bounds(f)
	if b == nil {
		return
	}
	step := 1e-9
	if f.Type.Kind() == reflect.Int {
		step = 1
	}
	for _, v := range []float64{b.Low - step, b.Low, b.High, b.High + step} {
		if math.IsInf(v, 0) {
			continue
		}
		text := file(strconv.FormatFloat(v, 'f', -1, 64))
		in := v >= b.Low && v <= b.High && !(b.Over && v == b.Low) && !(b.Below && v == b.High)
		if refused := by(t, s, text); (refused == nil) != in {
			t.Errorf("%s.%s: %v: by the schema %v", k.Name, f.Name, v, refused)
		}
		if v > 100_000 && in { // what it costs to make it is not the question
			continue
		}
		atLoad, atBuild := load(text, false)
		if e := new(problem.KeyError); !in && atLoad == nil && atBuild == nil ||
			in && (atLoad != nil || errors.As(atBuild, &e) && strings.HasSuffix(e.Key, "."+strings.ToLower(f.Name)) &&
				e.Fault == "" && !strings.Contains(e.Want, "as there are") && !strings.Contains(e.Want, "=")) {
			t.Errorf("%s.%s: %v: by the loader %v, %v", k.Name, f.Name, v, atLoad, atBuild)
		}
	}
}

// replaced returns keys with another value of one.
func replaced(keys, name, v string) string {
	depth, start, out := 0, 0, []string{}
	add := func(part string) {
		part = strings.TrimSpace(part)
		if part != "" && !strings.HasPrefix(part, name+":") {
			out = append(out, part)
		}
	}
	for i, r := range keys {
		switch r {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				add(keys[start:i])
				start = i + 1
			}
		}
	}
	add(keys[start:])
	return strings.Join(append(out, name+": "+v), ", ")
}

// What is wrong by itself is wrong for both.
func TestWrong(t *testing.T) {
	s := resolved(t)
	for text := range strings.Lines(string(testkit.Must(os.ReadFile("testdata/wrong.txt")))) {
		text = strings.ReplaceAll(text, " & ", "\n")
		atLoad, atBuild := load(text, false)
		if refused := by(t, s, text); refused == nil || atLoad == nil && atBuild == nil {
			t.Errorf("%q: by the schema %v, by the loader %v, %v", text, refused, atLoad, atBuild)
		}
	}
	for _, text := range []string{
		base,
		base + "process: {method: ulla, repulsion: auto}",
		base + "process: {method: rfm}",
		base + "train: {learning_rate: 1e-3, epochs: 5}",
		base + "variants: {a: {set: {dim: 4}}, b: {train: {epochs: 5}}}",
		"variants: {a: {set: {kind: sphere, dim: 4}}}",
		"set: {dim: 2, equality: [{expr: \"norm(x) = 1\", name: a}]}",
		"set: {product: [{dim: 2, inequality: [{expr: \"norm(x) <= 1\", name: a}]}, {kind: sphere, dim: 2}]}",
	} {
		atLoad, atBuild := load(text, false)
		refused := by(t, s, text)
		if refused != nil || atLoad != nil || atBuild != nil && strings.HasPrefix(text, "set") {
			t.Errorf("%q: by the schema %v, by the loader %v, %v", text, refused, atLoad, atBuild)
		}
	}
}
