// Package sets is the registry of the kinds of feasible set that a problem file can
// name, and their reading: a row a kind, with its keys and a constructor.
//
// A new kind is a package that makes a constraint.Set of its keys, and one row in All;
// the package knows nothing of this one. examples/newset is one.
package sets

import (
	"reflect"

	"github.com/landing-diffusion/landing/constraint"
)

// All is the registry, in the order of messages and pages. A program adds kinds of its own before it reads problems.
var All []Kind

func init() { // a compound's row leads back to All
	All = []Kind{
		Row("sphere", sphere),
		Row("ellipsoid", ellipsoid),
		Row("torus", torus),
		Row("affine", affine).Unbounded(always),
		Row("curve", curve),
		Row("box", box).Unbounded(halfOpen),
		Row("simplex", simplex),
		Row("cap", spherical),
		Row("orthogonal", orthogonal),
		Row("special_orthogonal", specialOrthogonal),
		Row("stiefel", stiefel),
		Row("chain", chain).Unbounded(adrift),
		Row("molecule", molecules).Unbounded(always),
		Row("arm", arms),
		Row("grid", grids).Unbounded(always),
		Row("redundant_axis", redundantAxis).Unbounded(always),
		Row("euclidean", euclidean).Unbounded(always),
		knows("formula", formulas).Implied(),
		knows("sequence", sequences).Implied(),
		Row("level-set", levelSet),
		compound("product", product).Unbounded(endlessFactor).Implied(),
		knows("all", all).Implied(),
	}
}

// A Kind is a kind of feasible set.
type Kind struct {
	Name string
	// Keys is the struct of the kind's own keys: fields with a yaml tag that has omitempty, and a doc tag, which the
	// schema of problem files shows. Tags words and bounds say what a value may be, which is checked before the set is
	// built; package schema has more tags. A field of type File is a path. A number with a default tag may be left
	// out, but not be written as 0.
	Keys reflect.Type

	build   func(keys any, at string) (constraint.Set, error)
	given   func(keys any, at string, names []string) (constraint.Set, error)
	endless func(keys any) bool
	implies bool
}

// Row makes a Kind of a constructor from its keys. The constructor's error is that of
// Bad, an *Error, or a *zoo.DomainError whose Param is the Go name of a key but for case.
func Row[K any](name string, build func(keys K) (constraint.Set, error)) Kind {
	return compound(name, func(keys K, _ string) (constraint.Set, error) { return build(keys) })
}

// compound is Row for a kind whose keys hold sets: their place in the file is below at.
func compound[K any](name string, build func(keys K, at string) (constraint.Set, error)) Kind {
	return Kind{
		Name: name, Keys: reflect.TypeFor[K](),
		build: func(keys any, at string) (constraint.Set, error) { return build(keys.(K), at) },
	}
}

// Unbounded says that sets with such keys have no uniform law. Of a kind without it
// some may have none either: chains that do not mix tell.
func (k Kind) Unbounded(endless func(keys any) bool) Kind {
	k.endless = endless
	return k
}

// knows is compound for a kind that knows the names of a condition, whose coordinates follow those of the set. Others
// are the same whatever the condition.
func knows[K any](name string, given func(keys K, at string, names []string) (constraint.Set, error)) Kind {
	k := compound(name, func(keys K, at string) (constraint.Set, error) { return given(keys, at, nil) })
	k.given = func(keys any, at string, names []string) (constraint.Set, error) { return given(keys.(K), at, names) }
	return k
}

// Implied says that a set without a kind is of this one if it has a key that no other kind has.
func (k Kind) Implied() Kind {
	k.implies = true
	return k
}

func always(any) bool { return true }

func names() (out []string) {
	for _, k := range All {
		out = append(out, k.Name)
	}
	return out
}

// owners returns the kinds that have a key.
func owners(key string) (out []Kind) {
	for _, k := range All {
		if _, ok := Field(k.Keys, key); ok {
			out = append(out, k)
		}
	}
	return out
}

// Implying returns the keys that tell the kind of a set that does not name it.
func Implying() (keys []string) {
	for _, key := range Keys()[1:] {
		if of := owners(key); len(of) == 1 && of[0].implies {
			keys = append(keys, key)
		}
	}
	return keys
}

// Keys returns the names of all keys of a set: kind, and those of the kinds in order.
func Keys() []string {
	out, seen := []string{"kind"}, map[string]bool{"kind": true}
	for _, k := range All {
		for key := range Fields(k.Keys) {
			if !seen[key] {
				seen[key] = true
				out = append(out, key)
			}
		}
	}
	return out
}

// KeysOf returns the names of the keys of a set of a kind; all, if it is none.
func KeysOf(kind string) []string {
	k, ok := (Set{Kind: kind}).kind()
	if !ok {
		return Keys()
	}
	out := []string{"kind"}
	for key := range Fields(k.Keys) {
		out = append(out, key)
	}
	return out
}

// KeyType returns the type of a key in a set of a kind; if the kind lacks it, or is
// none, the type in the first kind that has it.
func KeyType(kind, key string) (reflect.Type, bool) {
	if key == "kind" {
		return reflect.TypeFor[string](), true
	}
	if k, ok := (Set{Kind: kind}).kind(); ok {
		if f, ok := Field(k.Keys, key); ok {
			return f.Type, true
		}
	}
	for _, k := range owners(key) {
		f, _ := Field(k.Keys, key)
		return f.Type, true
	}
	return nil, false
}
