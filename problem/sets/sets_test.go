package sets

import (
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Every row has keys with tags that leave out zeros, a doc for each, and a name of its own. A key that is of one type
// in one kind and of another elsewhere (TestKeyOfKinds) is listed here, so that none comes to be so by accident.
func TestRegistry(t *testing.T) {
	types, names := map[string]reflect.Type{}, map[string]bool{}
	several := map[string]bool{"bonds": true, "angles": true}
	for _, k := range All {
		if names[k.Name] || k.Name == "" {
			t.Errorf("the name %q is taken", k.Name)
		}
		names[k.Name] = true
		for key, f := range Fields(k.Keys) {
			if key == "" || key == "kind" || f.Tag.Get("yaml") != key+",omitempty" || f.Tag.Get("doc") == "" {
				t.Errorf("%s: the key %s has tags %q", k.Name, f.Name, f.Tag)
			}
			if before, ok := types[key]; ok && before != f.Type && !several[key] {
				t.Errorf("%s: the key %s is a %v, and a %v elsewhere", k.Name, key, f.Type, before)
			}
			types[key] = f.Type
		}
	}
}

// A constructor's error is placed in the file, with the keys that it speaks of.
func TestPlace(t *testing.T) {
	k := Row("made up", func(struct {
		Length float64 `yaml:"l,omitempty"`
	}) (constraint.Set, error) {
		return nil, nil
	})
	for _, c := range []struct {
		err  error
		want string
	}{
		{Bad("l", 3, "less than {m}"), "set.all[1].l is 3; expected less than set.all[1].m"},
		{&zoo.DomainError{Set: "x", Param: "length", Value: -1, Want: "more"}, "set.all[1].l is -1; expected more"},
		{&Error{Key: "set.all[1].all[0].r", Fault: "no"}, "set.all[1].all[0].r: no"},
		{&Error{Key: "expr", Fault: "not {x}"}, "set.all[1].expr: not {x}"},
	} {
		if got := place(c.err, "set.all[1]", k); got.Error() != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A key that two kinds have by different types is read as the kind's that the file names, in whatever layer.
func TestKeyOfKinds(t *testing.T) {
	read := func(text string) (s Set) {
		t.Helper()
		testkit.OK(t, yaml.Unmarshal([]byte(text), &s))
		return s
	}
	chain := read("{kind: chain, bonds: [1, 2]}")
	testkit.OK(t, testkit.Err(chain.Over(read("{angles: [1.9]}"), false).Build("set")))
	m := read("{kind: molecule, atoms: 4}").Over(read("{angles: [{atoms: [0, 1, 2], value: 100}]}"), false)
	if s, err := m.Build("set"); err != nil || len(s.Equalities()) != 1 {
		t.Error(err)
	}
	testkit.Refused(t, testkit.Err(chain.Over(read("{angles: [{atoms: [0, 1, 2], value: 100}]}"), false).Build("set")),
		"set.angles is", "a molecule's angles of a chain")
	testkit.Refused(t, testkit.Err(m.Over(read("{bonds: [1, 2]}"), false).Build("set")),
		"set.bonds is [1 2]", "a chain's bonds of a molecule")
}

// A key that was read when the set was of a kind where it has another type is read again, or refused.
func TestKeyOfAnotherType(t *testing.T) {
	k := Row("made up", func(struct {
		Dim []float64 `yaml:"dim,omitempty"`
	}) (constraint.Set, error) {
		return nil, nil
	})
	if got, err := (Set{keys: map[string]any{"dim": []any{1, 2.5}}}).of(k); err != nil ||
		!reflect.DeepEqual(reflect.ValueOf(got).Field(0).Interface(), []float64{1, 2.5}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := (Set{keys: map[string]any{"dim": 3}}).of(k); err == nil ||
		!strings.Contains(err.Error(), "dim is 3") {
		t.Errorf("%v, %v", got, err)
	}
}

// A set is a value: what is done to a copy leaves it alone.
func TestSetIsAValue(t *testing.T) {
	var s Set
	testkit.OK(t, yaml.Unmarshal([]byte("{kind: level-set, weights: a.npz}"), &s))
	other := s.WithFile("weights", "b.npz")
	if s.Files()["weights"] != "a.npz" || other.Files()["weights"] != "b.npz" {
		t.Errorf("%v and %v", s.Files(), other.Files())
	}
	var layer Set
	testkit.OK(t, yaml.Unmarshal([]byte("{kind: sphere, dim: 3, weights: ''}"), &layer))
	over := s.Over(layer, true)
	testkit.OK(t, testkit.Err(over.Build("set")))
	if s.Is() != "level-set" || s.has("dim") || over.has("weights") || !over.has("dim") {
		t.Errorf("%+v, %+v", s, over)
	}
}
