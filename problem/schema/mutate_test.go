package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// others are what a value is made into.
var others = []string{`"zzz"`, `"auto"`, `true`, `-1`, `0`, `1.5`, `3`, `1e16`, `null`, `[]`, `{}`, `[1]`, `["zzz"]`,
	`[[1]]`, `{"zzz": 1}`, `[{"zzz": 1}]`, `"3"`}

// mutants calls yield with a file's mutants: each value made into others, each key left out, written wrong or joined
// by one that there is not. What is handed in is changed and changed back.
func mutants(v any, at string, yield func(at, what string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			here, old := strings.TrimPrefix(at+"."+key, "."), v[key]
			for _, text := range others {
				var other any
				if err := json.Unmarshal([]byte(text), &other); err != nil {
					panic(err)
				}
				v[key] = other
				yield(here, text)
			}
			delete(v, key)
			yield(here, "left out")
			v[key+"s"] = old
			yield(here, "written with an s")
			delete(v, key+"s")
			v[key] = old
			mutants(old, here, yield)
		}
		v["zzz"] = 1.0
		yield(at, "with zzz")
		delete(v, "zzz")
	case []any:
		for i := range v[:min(len(v), 2)] { // the others are alike
			old := v[i]
			for _, text := range others {
				var other any
				if err := json.Unmarshal([]byte(text), &other); err != nil {
					panic(err)
				}
				v[i] = other
				yield(fmt.Sprintf("%s[%d]", at, i), text)
			}
			v[i] = old
			mutants(old, fmt.Sprintf("%s[%d]", at, i), yield)
		}
	}
}

// Schema and loader agree of mutants of all recipes, as they are written and resolved: what the loader refuses for a
// key or a type the schema refuses, and what the schema refuses no verb takes. What the verbs refuse later, because
// several keys do not go together or a file is not there, the schema may take.
func TestAgreesOnMutants(t *testing.T) {
	s := resolved(t)
	every := 37 // a prime: all kinds of places and of mutations come up
	if testkit.Longest() {
		every = 1
	}
	tried, agreed, taken := 0, 0, map[string]bool{}
	for _, name := range problem.Recipes() {
		source, origin, err := problem.Source(name)
		testkit.OK(t, err)
		p := testkit.Must(problem.Load(source, origin, "", nil))
		_, whole := p.Build() // not of a file that is not there
		for _, text := range [][]byte{source, p.Resolved()} {
			var file any
			testkit.OK(t, yaml.Unmarshal(text, &file))
			file = plain(t, file)
			n := 0
			mutants(file, "", func(at, what string) {
				if n++; n%every != 0 {
					return
				}
				data, err := json.Marshal(file)
				testkit.OK(t, err)
				variant := "" // what a variant holds is looked at where it is applied
				if path := strings.Split(at, "."); path[0] == "variants" && len(path) > 2 {
					variant = path[1]
				}
				atLoad, atBuild := loadVariant(string(data), variant, false)
				refused := s.Validate(file)
				tried++
				e := new(problem.KeyError)
				switch {
				case atLoad != nil && errors.As(atLoad, &e) && strings.HasPrefix(e.Key, "variants.") &&
					strings.Contains(e.Key, ".set."): // of a kind that only the file below the variant names
				case at == "set.dihedrals[0].value" && what == `"3"`: // numbers and words alike may be quoted there
				case atLoad != nil && refused == nil:
					t.Errorf("%s: %s %s: the loader refuses it, the schema does not: %v", name, at, what, atLoad)
				case atLoad == nil && atBuild == nil && refused != nil:
					t.Errorf("%s: %s %s: the schema refuses what the verbs take: %v", name, at, what, refused)
				case (atLoad != nil || atBuild != nil && whole == nil) != (refused != nil):
					if errors.As(atBuild, &e) {
						taken[e.Key+": "+e.Want+e.Fault] = true
					}
				default:
					agreed++
				}
			})
		}
	}
	t.Logf("%d of %d mutants alike; the verbs alone refuse, of several keys:\n%s", agreed, tried,
		strings.Join(slices.Sorted(maps.Keys(taken)), "\n"))
	if tried < 1000 {
		t.Errorf("only %d mutants", tried)
	}
}

// plain is a value of YAML as one of JSON.
func plain(t *testing.T, v any) any {
	t.Helper()
	data := testkit.Must(json.Marshal(v))
	var out any
	testkit.OK(t, json.Unmarshal(data, &out))
	return out
}
