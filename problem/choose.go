package problem

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/choose"
	"github.com/landing-diffusion/landing/score"
)

// FixedDefaults is the word for a problem whose silent keys are the numbers of Defaults; "" and
// AutoDefaults leave those of process, network and train to the program.
const (
	FixedDefaults = "fixed"
	AutoDefaults  = "auto"
)

// Left reports whether a key is left to the program: the file says nothing of it, nor the set,
// and not that silent keys are fixed.
func (p *Problem) Left(key string) bool {
	return p.Leaves() && p.silent(key) &&
		!slices.ContainsFunc(p.chosen, func(c choose.Choice) bool { return c.Key == key })
}

// Leaves reports whether anything may be left to the program.
func (p *Problem) Leaves() bool { return p.Defaults != FixedDefaults && p.origin != nil }

// silent reports whether neither file nor setting wrote a key, or one within it.
func (p *Problem) silent(key string) bool { return p.origin != nil && p.origin[key] == "" }

// With returns the problem with the choices for keys that are left to the program.
func (p *Problem) With(choices []choose.Choice) *Problem {
	q := *p
	q.origin = maps.Clone(p.origin)
	q.chosen = slices.Clone(p.chosen)
	for _, c := range choices {
		if q.Left(c.Key) {
			q.choose(c)
		}
	}
	return &q
}

// choose puts a choice in place of a key that nobody wrote.
func (p *Problem) choose(c choose.Choice) {
	if !p.silent(c.Key) {
		return
	}
	at := reflect.ValueOf(p).Elem()
	for name := range strings.SplitSeq(c.Key, ".") {
		if options, ok := at.Interface().(score.Options); ok {
			options = maps.Clone(options) // other problems have it too
			if options == nil {
				options = score.Options{}
			}
			options[name] = c.Value.(float64)
			at.Set(reflect.ValueOf(options))
			p.chosen = appended(p.chosen, c)
			return
		}
		f, ok := field(at.Type(), name)
		if !ok {
			panic(fmt.Sprintf("problem: there is no key %s", c.Key))
		}
		at = at.FieldByIndex(f.Index)
	}
	at.Set(reflect.ValueOf(c.Value).Convert(at.Type()))
	p.chosen = appended(p.chosen, c)
}

// appended returns choices with c in place of another for its key.
func appended(chosen []choose.Choice, c choose.Choice) []choose.Choice {
	return append(slices.DeleteFunc(chosen, func(old choose.Choice) bool { return old.Key == c.Key }), c)
}
