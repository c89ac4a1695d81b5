package sets

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
)

// A Set is a feasible set as a problem file writes it: a kind and its keys. It is a
// value: its methods change nothing that a copy shares.
type Set struct {
	Kind string         // one of All, or empty where the keys imply it
	keys map[string]any // what was written, by key, of the type that KeyType says
}

// A File is a path in a problem file.
type File string

// An Error says which key of a set cannot be as it is.
type Error struct {
	Key   string // its place: "set.radius", "set.product[1].radius"
	Value any    // nil where it is missing
	Want  string // in a constructor's error {key} stands for the place of another key
	Fault string // instead of Value and Want: what is wrong
}

func (e *Error) Error() string {
	if e.Fault != "" {
		return e.Key + ": " + e.Fault
	}
	return fmt.Sprintf("%s is %v; expected %s", e.Key, e.Value, e.Want)
}

// Bad is a constructor's error about one of its keys.
func Bad(key string, value any, want string) error { return &Error{Key: key, Value: value, Want: want} }

// Is returns the kind's name: the one written, or the one that the keys imply.
func (s Set) Is() string {
	k, _ := s.kind()
	return cmp.Or(s.Kind, k.Name)
}

// kind returns the kind that was written, or the one that the keys imply.
func (s Set) kind() (Kind, bool) {
	for _, k := range All {
		if k.Name == s.Kind {
			return k, true
		}
		for key := range Fields(k.Keys) {
			if s.Kind == "" && k.implies && s.has(key) && len(owners(key)) == 1 {
				return k, true
			}
		}
	}
	return Kind{}, false
}

// has reports whether a key was given: a zero is none.
func (s Set) has(key string) bool {
	v := reflect.ValueOf(s.keys[key])
	return v.IsValid() && !v.IsZero()
}

// Build makes the set that stands at the place at, such as "set". The error is an *Error.
func (s Set) Build(at string) (constraint.Set, error) { return s.BuildGiven(at, nil) }

// BuildGiven is Build under a condition: points have the coordinates of these names behind
// those of the set, and they are held. Formulas may use the names.
func (s Set) BuildGiven(at string, given []string) (constraint.Set, error) {
	k, ok := s.kind()
	if !ok {
		e := &Error{Key: at + ".kind", Want: "one of " + strings.Join(names(), ", ")}
		if s.Kind == "" {
			e.Want = fmt.Sprintf("formulas in %s.equality or %[1]s.inequality, or %s", at, e.Want)
		} else {
			e.Value = s.Kind
		}
		return nil, e
	}
	for _, key := range Keys() {
		if _, own := Field(k.Keys, key); s.has(key) && !own {
			var of []string
			for _, o := range owners(key) {
				of = append(of, o.Name)
			}
			return nil, &Error{Key: at + "." + key, Fault: fmt.Sprintf(
				"this key belongs to %s.kind %s; %[1]s.kind is %[3]q", at, strings.Join(of, ", "), k.Name)}
		}
	}
	keys, err := s.of(k)
	if err == nil {
		err = s.fits(reflect.ValueOf(keys), "")
	}
	if err != nil {
		return nil, place(err, at, k)
	}
	if k.given != nil && len(given) > 0 {
		set, err := k.given(keys, at, given)
		return set, place(err, at, k)
	}
	set, err := k.build(keys, at)
	if err != nil {
		return nil, place(err, at, k)
	}
	if len(set.Capabilities().Held) > 0 { // a kind whose keys say what is given
		return set, nil
	}
	return constraint.Given(set, len(given)), nil
}

// Definitions returns the names that a set of formulas defines, in order, and Coordinates those of its coordinates; nil
// of others. The set has been built.
func (s Set) Definitions() formula.Definitions { return s.formulas().Let }
func (s Set) Coordinates() []string            { return s.formulas().Names }

func (s Set) formulas() (k Formulas) {
	if kind, ok := s.kind(); ok && kind.Keys == reflect.TypeFor[Formulas]() {
		if keys, err := s.of(kind); err == nil {
			k, _ = keys.(Formulas).read()
		}
	}
	return k
}

// Unbounded reports whether the set's kind says that it has no uniform law.
func (s Set) Unbounded() bool {
	k, ok := s.kind()
	if !ok || k.endless == nil {
		return false
	}
	keys, err := s.of(k)
	return err == nil && k.endless(keys)
}

var other = regexp.MustCompile(`\{(\w+)\}`)

// place makes a constructor's error one of the set at a place in the file. A key that
// is a place already, of a set within, stays.
func place(err error, at string, k Kind) error {
	var e *Error
	var d *zoo.DomainError
	switch {
	case errors.As(err, &e) && !strings.HasPrefix(e.Key, at+"."):
		e := *e
		e.Key, e.Want = at+"."+e.Key, other.ReplaceAllString(e.Want, at+".$1")
		return &e
	case errors.As(err, &d):
		for key, f := range Fields(k.Keys) {
			if strings.EqualFold(f.Name, d.Param) {
				return &Error{Key: at + "." + key, Value: d.Value, Want: d.Want}
			}
		}
		fallthrough
	case e == nil && err != nil:
		return &Error{Key: at, Fault: err.Error()}
	}
	return err
}

// of returns the keys as the struct of a kind.
func (s Set) of(k Kind) (any, error) {
	keys := reflect.New(k.Keys).Elem()
	for key, f := range Fields(k.Keys) {
		given, to := s.keys[key], keys.FieldByIndex(f.Index)
		if given == nil {
			continue
		}
		if v := reflect.ValueOf(given); v.Type() == f.Type {
			to.Set(v)
			continue
		}
		// Read when the set was of another kind, which has a key of that name too.
		text, err := yaml.Marshal(given)
		if err == nil {
			err = yaml.UnmarshalWithOptions(text, to.Addr().Interface(), yaml.Strict())
		}
		if err != nil {
			return nil, Bad(key, given, "what it is of a "+k.Name)
		}
	}
	return keys.Interface(), nil
}

// Over returns the set with the keys of a later layer written over its own; kind says
// whether the layer writes the kind too.
func (s Set) Over(layer Set, kind bool) Set {
	out := Set{s.Kind, maps.Clone(s.keys)}
	if kind {
		out.Kind = layer.Kind
	}
	if out.keys == nil {
		out.keys = map[string]any{}
	}
	maps.Copy(out.keys, layer.keys)
	if k, ok := out.kind(); ok {
		if keys, err := out.of(k); err == nil {
			for key, f := range Fields(k.Keys) {
				if out.keys[key] != nil {
					out.keys[key] = reflect.ValueOf(keys).FieldByIndex(f.Index).Interface()
				}
			}
		}
	}
	return out
}

// UnmarshalYAML reads a mapping with keys of Keys alone.
func (s *Set) UnmarshalYAML(decode func(any) error) error {
	var raw map[string]any
	if err := decode(&raw); err != nil {
		return err
	}
	kind, _ := raw["kind"].(string)
	var fields []reflect.StructField
	for i, key := range slices.Sorted(maps.Keys(raw)) {
		t, ok := KeyType(kind, key)
		if !ok {
			return fmt.Errorf("a set has no key %q", key)
		}
		if kind == "" && slices.ContainsFunc(owners(key), func(k Kind) bool {
			f, _ := Field(k.Keys, key)
			return f.Type != t
		}) {
			t = reflect.TypeFor[any]() // Over knows the kind
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: t,
			Tag: reflect.StructTag(fmt.Sprintf(`yaml:"%s,omitempty"`, key))})
	}
	v := reflect.New(reflect.StructOf(fields))
	if err := decode(v.Interface()); err != nil {
		return err
	}
	*s = Set{kind, map[string]any{}}
	for key, f := range Fields(v.Elem().Type()) {
		if key != "kind" {
			s.keys[key] = v.Elem().FieldByIndex(f.Index).Interface()
		}
	}
	return nil
}

// MarshalYAML writes the kind and the keys in the order of Keys.
func (s Set) MarshalYAML() (any, error) {
	out := yaml.MapSlice{{Key: "kind", Value: s.Kind}}
	for _, key := range Keys() {
		v := reflect.ValueOf(s.keys[key])
		if v.IsValid() && !v.IsZero() && !(v.Kind() == reflect.Slice && v.Len() == 0) {
			out = append(out, yaml.MapItem{Key: key, Value: s.keys[key]})
		}
	}
	return out, nil
}

// Files returns the paths among the keys, by place below the set: "mesh", "product[1].mesh".
func (s Set) Files() map[string]string {
	out := map[string]string{}
	for key, v := range s.keys {
		switch v := v.(type) {
		case File:
			out[key] = string(v)
		case formula.Definitions:
			for _, d := range v {
				if d.File != "" {
					out[key+"."+d.Name] = d.File
				}
			}
		case []Set:
			for i, inner := range v {
				for k, path := range inner.Files() {
					out[fmt.Sprintf("%s[%d].%s", key, i, k)] = path
				}
			}
		}
	}
	return out
}

// WithFile returns the set with another path at a place that Files names.
func (s Set) WithFile(place, path string) Set {
	s.keys = maps.Clone(s.keys)
	for key, v := range s.keys {
		switch v := v.(type) {
		case File:
			if key == place {
				s.keys[key] = File(path)
			}
		case formula.Definitions:
			v = slices.Clone(v)
			for i, d := range v {
				if d.File != "" && place == key+"."+d.Name {
					v[i].File = path
				}
			}
			s.keys[key] = v
		case []Set:
			v = slices.Clone(v)
			for i := range v {
				if rest, ok := strings.CutPrefix(place, fmt.Sprintf("%s[%d].", key, i)); ok {
					v[i] = v[i].WithFile(rest, path)
				}
			}
			s.keys[key] = v
		}
	}
	return s
}

// With returns the set with other values of some keys, each of the type that KeyType says; nil values leave them out.
func (s Set) With(keys map[string]any) Set {
	s.Kind, s.keys = s.Is(), maps.Clone(s.keys)
	maps.Copy(s.keys, keys)
	return s
}

// Value returns what was written of a key; nil if nothing was.
func (s Set) Value(key string) any { return s.keys[key] }

// Owns reports whether a key is one of the set's kind.
func (s Set) Owns(key string) bool {
	k, _ := s.kind()
	_, ok := Field(k.Keys, key)
	return ok
}

// fits holds keys against the tags of their fields. A number with a default tag may be left out, but not be written
// as 0; others whose bounds leave 0 out may not be left out.
func (s Set) fits(keys reflect.Value, at string) error {
	for name, f := range Fields(keys.Type()) {
		v, key, instead, within := keys.FieldByIndex(f.Index), at+name, f.Tag.Get("default"), Bounds(f)
		var err error
		switch _, written := s.keys[key]; {
		case v.Kind() == reflect.Struct:
			err = s.fits(v, key+".")
		case v.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct && f.Type.Elem() != reflect.TypeOf(s):
			for j := 0; j < v.Len() && err == nil; j++ {
				err = s.fits(v.Index(j), fmt.Sprintf("%s[%d].", key, j))
			}
		case !v.IsZero() || within != nil && instead == "":
			if value, want := Misfit(v, Words(f), within); want != "" {
				err = Bad(key, value, want)
			}
		case written && instead != "":
			err = Bad(key, v.Interface(), fmt.Sprintf("a number above 0, or no such key for %s", instead))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Idle returns an *Error if a key inside of a set at this place changes nothing beside the others.
func (s Set) Idle(at string) error {
	k, _ := s.kind()
	var needs []need
	switch k.Name {
	case "arm":
		keys, _ := s.of(k) // Build tells errors
		arm, _ := keys.(Arm)
		needs = arm.needs()
	case "molecule":
		keys, _ := s.of(k)
		molecule, _ := keys.(Molecule)
		needs = molecule.needs()
	case "formula":
		keys, _ := s.of(k)
		if f, _ := keys.(Formulas); f.URDF == "" {
			needs = []need{{"base", f.Base != "", "the set has no urdf"}, {"tip", f.Tip != "", "the set has no urdf"}}
		}
	}
	if i := slices.IndexFunc(needs, func(n need) bool { return n.idle }); i >= 0 {
		return place(&Error{Key: needs[i].key, Fault: "it changes nothing: " + needs[i].why}, at, k)
	}
	return nil
}
