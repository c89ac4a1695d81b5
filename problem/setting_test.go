package problem

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Typed settings do what their text does, and texts come back as they were.
func TestSettings(t *testing.T) {
	base := "set: {kind: sphere, dim: 3}\nprocess: {method: rddpm}\n"
	for _, c := range []struct {
		typed Setting
		text  string
	}{
		{Setting{"train.epochs", 7}, "train.epochs=7"},
		{Setting{"process.friction", 1e-5}, "process.friction=0.00001"},
		{Setting{"title", "a: b # c"}, `title="a: b # c"`},
		{Setting{"process.curvature", true}, "process.curvature=true"},
		{Setting{"data.tolerance", Auto}, "data.tolerance=auto"},
		{Setting{"data.tolerance", Choice(0.5)}, "data.tolerance=0.5"},
		{Setting{"potential.b", []float64{1, 2.5, 3}}, "potential.b=[1, 2.5, 3]"},
		{Setting{"condition.columns", []string{"a", "b c"}}, `condition.columns=["a", "b c"]`},
	} {
		typed, err := Load([]byte(base), "f", "", Settings{c.typed})
		if err != nil {
			t.Errorf("%v: %v", c.typed, err)
			continue
		}
		text, err := Load([]byte(base), "f", "", ParseSettings(c.text))
		if err != nil || string(typed.Resolved()) != string(text.Resolved()) {
			t.Errorf("%s: %v\n%s\n%s", c.text, err, typed.Resolved(), text.Resolved())
		}
		if got := ParseSettings(c.text).Texts(); got[0] != c.text {
			t.Errorf("%q came back as %q", c.text, got)
		}
	}
	for _, bad := range []Settings{ParseSettings("train.epochs"), {{"train.epochs", nil}}, {{"", 1}}, {{"a b", 1}},
		{{"train.epochs", 1.5}}} {
		if _, err := Load([]byte(base), "f", "", bad); !errors.As(err, new(*KeyError)) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// A clone has the same contents, and no map or slice of the original.
func TestCloneSharesNothing(t *testing.T) {
	p, err := Load([]byte("set: {kind: sphere, dim: 3}\ndata: {tolerance: 1}\nprocess: {options: {levels: "+
		"4}}\nnetwork: {center: [1], scales: [1], "+
		"options: {torsions: 1}}\ncondition: {columns: [a]}\npotential: {center: [1], "+
		"weight: [1], b: [1]}\nobserve: [{name: x, expr: 'x[0]', range: [0, 1], let: {a: 1}}]\n"), "f", "",
		ParseSettings("seed=2"))
	testkit.OK(t, err)
	p.Variants = map[string]any{"fast": 1}
	p.written = map[string]map[string]string{"fast": {"seed": "f:1"}}
	p = p.With(nil)
	p.choose(choose.Choice{Key: "process.steps", Value: 7})
	q := p.Clone()
	p.found, q.found = found{}, found{} // of the registries
	if !reflect.DeepEqual(p, q) {
		t.Errorf("%+v\n%+v", p, q)
	}
	var shared func(at string, a, b reflect.Value)
	shared = func(at string, a, b reflect.Value) {
		switch a.Kind() {
		case reflect.Map:
			if a.Pointer() == b.Pointer() {
				t.Errorf("%s is shared", at)
			}
			for _, k := range a.MapKeys() {
				shared(at+"."+k.String(), a.MapIndex(k), b.MapIndex(k))
			}
		case reflect.Slice:
			if a.Len() == 0 || a.Pointer() == b.Pointer() {
				t.Errorf("%s is shared, or empty in this test", at)
			}
			for i := range a.Len() {
				shared(at, a.Index(i), b.Index(i))
			}
		case reflect.Struct:
			for i := range a.NumField() {
				if f := a.Type().Field(i); f.Type.Name() != "Set" && f.Type.Name() != "found" { // values
					shared(at+"."+f.Name, a.Field(i), b.Field(i))
				}
			}
		}
	}
	shared("p", reflect.ValueOf(p).Elem(), reflect.ValueOf(q).Elem())
}

// Constants of keys name keys that there are, by names that follow from them.
func TestKeyNames(t *testing.T) {
	file := testkit.Must(parser.ParseFile(token.NewFileSet(), "keys.go", nil, 0))
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		v, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(v.Names[0].Name, "Key") {
			return true
		}
		n++
		key, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		if err != nil || !slices.ContainsFunc(Keys(), func(k Key) bool { return k.Name == key }) {
			t.Errorf("%s is %q, which is no key", v.Names[0].Name, key)
		}
		if name := strings.NewReplacer(".", "", "_", "").Replace(key); !strings.EqualFold("Key"+name, v.Names[0].Name) {
			t.Errorf("%s is %q", v.Names[0].Name, key)
		}
		return true
	})
	if n < 20 {
		t.Errorf("%d constants", n)
	}
}
