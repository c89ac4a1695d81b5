package problem

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/langevin/particles"
	"github.com/landing-diffusion/landing/problem/sets"
)

// Added is a file of constraints and observations that are first seen at generation (docs/given.md). Formulas, solids
// and internal coordinates are written as in a problem file.
type Added struct {
	Let        formula.Definitions `yaml:"let,omitempty"`
	Equality   []formula.Component `yaml:"equality,omitempty"`
	Inequality []formula.Component `yaml:"inequality,omitempty"`
	Observe    []Observation       `yaml:"observe,omitempty"`
	Measure    string              `yaml:"measure,omitempty" words:"level,surface"`
	Draw       string              `yaml:"draw,omitempty" words:"auto,rejection,particles,repair"`

	Obstacles []sets.ArmObstacle `yaml:"obstacles,omitempty"` // of an arm
	Distances []sets.Internal    `yaml:"distances,omitempty"` // of a molecule, as those below
	Angles    []sets.Internal    `yaml:"angles,omitempty"`
	Dihedrals []sets.Internal    `yaml:"dihedrals,omitempty"`
	Chirality []sets.Chirality   `yaml:"chirality,omitempty"`
	Apart     []sets.Apart       `yaml:"apart,omitempty"`

	origins
}

// An Observation is a measured number of a point: the likelihood is exp(−(expr − value)²/(2 sd²)).
type Observation struct {
	Name  string  `yaml:"name,omitempty"`
	Expr  string  `yaml:"expr"`
	Value float64 `yaml:"value"`
	SD    float64 `yaml:"sd"`
}

// mostAdded bounds the formulas of each kind in a file.
const mostAdded = 64

// LoadAdded reads a file of constraints and observations. Keys and types are checked; Build checks the values.
func LoadAdded(data []byte, origin string) (*Added, error) {
	a := &Added{origins: origins{origin: map[string]string{}, file: origin}}
	where := func(line int) string { return fmt.Sprintf("%s:%d", origin, line) }
	body, err := Document(data, where)
	if err != nil {
		return nil, err
	}
	if err := (walker{a.origin, "", where}).walk(body, reflect.TypeFor[Added](), ""); err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalWithOptions(data, a, yaml.Strict()); err != nil {
		return nil, &SyntaxError{origin, strings.SplitN(err.Error(), "\n", 2)[0]}
	}
	for key, f := range sets.Fields(reflect.TypeFor[Added]()) {
		v := reflect.ValueOf(*a).FieldByIndex(f.Index)
		if value, want := sets.Misfit(v, sets.Words(f), nil); want != "" && !v.IsZero() {
			return nil, a.key(key, value, want)
		}
		if v.Kind() == reflect.Slice && v.Len() > mostAdded {
			return nil, a.fault(key, "%d entries; expected at most %d", v.Len(), mostAdded)
		}
	}
	for i := range a.Observe {
		o := &a.Observe[i]
		at := fmt.Sprintf("observe[%d]", i)
		if !(o.SD > 0 && o.SD*o.SD > 0 && !math.IsInf(o.SD*o.SD, 0)) {
			return nil, a.key(at+".sd", o.SD, "a standard deviation above 0")
		}
		if a.origin[at+".value"] == "" {
			return nil, a.key(at+".value", nil, "the number that was measured")
		}
		if o.Name == "" {
			o.Name = fmt.Sprintf("observe[%d]", i)
		}
	}
	if len(a.Equality)+len(a.Inequality)+len(a.Observe)+len(a.Obstacles) == 0 && len(a.molecular()) == 0 {
		return nil, a.fault("equality", "nothing is asked; expected equality, inequality, observe, obstacles of an "+
			"arm, or distances, angles, dihedrals, chirality or apart of a molecule")
	}
	return a, nil
}

// molecular returns the keys of a molecule that are given.
func (a *Added) molecular() map[string]any {
	keys := map[string]any{}
	for _, key := range []string{"distances", "angles", "dihedrals", "chirality", "apart"} {
		f, _ := sets.Field(reflect.TypeFor[Added](), key)
		if v := reflect.ValueOf(*a).FieldByIndex(f.Index); v.Len() > 0 {
			keys[key] = v.Interface()
		}
	}
	return keys
}

var variable = regexp.MustCompile(`^\pL[\pL\pN_]*$`)

// Build returns the constraints and observations beside the set of a problem, whose process has been built. names are
// those of the coordinates, from the data's file; formulas may use them where the set does not name its own. Errors are
// *KeyError.
func (a *Added) Build(p *Problem, set constraint.Set, names []string) (*particles.Cut, error) {
	let := slices.Clone(p.Set.Definitions())
	for j, name := range names {
		known := func(d formula.Definition) bool { return d.Name == name }
		if variable.MatchString(name) && !slices.ContainsFunc(let, known) {
			let = append(let, formula.Definition{Name: name, Make: func(s *expr.Scope) error {
				_ = s.Coordinate(name, j) // a name that formulas have already keeps its meaning
				return nil
			}})
		}
	}
	spec := formula.Spec{Dim: p.Condition.Free(set.Dim()), Given: p.Condition.Columns, Let: slices.Concat(let, a.Let)}
	make := func(equality, inequality []formula.Component, at string) (constraint.Set, error) {
		s := spec
		s.Equality, s.Inequality = equality, inequality
		out, err := formula.New(s)
		var e *formula.Error
		if errors.As(err, &e) {
			return nil, a.fault(strings.Replace(e.Key, "equality", at, 1), "%v", e.Err)
		}
		if err != nil {
			return nil, err
		}
		return constraint.Hold(out, set.Capabilities().Held), nil
	}
	cut := &particles.Cut{Surface: a.Measure == "surface"}
	var hard []constraint.Set
	if len(a.Equality)+len(a.Inequality) > 0 {
		s, err := make(a.Equality, a.Inequality, "equality")
		if err != nil {
			return nil, err
		}
		hard = append(hard, s)
	}
	kinds := []struct {
		kind string
		keys map[string]any
		none map[string]any
	}{{kind: "molecule", keys: a.molecular(), none: map[string]any{"distances": nil, "angles": nil, "dihedrals": nil,
		"chirality": nil, "apart": nil}}, {kind: "arm", none: map[string]any{"obstacles": nil, "cloud": nil}}}
	if len(a.Obstacles) > 0 {
		kinds[1].keys = map[string]any{"obstacles": a.Obstacles}
	}
	for _, k := range kinds {
		if len(k.keys) == 0 {
			continue
		}
		s, err := a.beside(p, set, k.kind, k.keys, k.none)
		if err != nil {
			return nil, err
		}
		hard = append(hard, s)
	}
	if len(hard) > 0 {
		cut.Hard = constraint.All(hard...)
	}
	var residuals []formula.Component
	for _, o := range a.Observe {
		residuals = append(residuals, formula.Component{Name: o.Name, Expr: fmt.Sprintf("%s = %v", o.Expr, o.Value)})
		cut.SD = append(cut.SD, o.SD)
	}
	if residuals != nil {
		s, err := make(residuals, nil, "observe")
		if err != nil {
			return nil, err
		}
		if n := len(s.Equalities()); n != len(residuals) {
			return nil, a.fault("observe", "%d numbers in %d entries; expected one number of each entry", n,
				len(residuals))
		}
		cut.Soft = s
	}
	return cut, nil
}

// beside returns the components that keys of a kind of set add to a problem's set, which is of that kind: those of the
// set with these keys that the set with none of the kind's has not.
func (a *Added) beside(p *Problem, set constraint.Set, kind string, keys, none map[string]any) (constraint.Set,
	error) {
	first := ""
	for key := range keys {
		if first == "" || key < first {
			first = key
		}
	}
	if p.Set.Is() != kind {
		return nil, a.fault(first, "this key is of a set of kind %s; the run's is %q", kind, p.Set.Is())
	}
	build := func(keys map[string]any) (constraint.Set, error) {
		s, err := p.Set.With(none).With(keys).BuildGiven("set", p.Condition.Columns)
		var e *sets.Error
		if errors.As(err, &e) {
			key := strings.TrimPrefix(e.Key, "set.")
			if e.Fault != "" {
				return nil, a.fault(key, "%s", e.Fault)
			}
			return nil, a.key(key, e.Value, e.Want)
		}
		return s, err
	}
	with, err := build(keys)
	if err != nil {
		return nil, err
	}
	if with.Dim() != set.Dim() {
		return nil, a.fault(first, "a value that is a condition changes what points are; expected numbers")
	}
	if kind == "arm" {
		keys = map[string]any{"clearance": "", "aggregate": ""}
	} else {
		keys = nil
	}
	without, err := build(keys)
	if err != nil {
		return nil, err
	}
	old, index, equalities := constraint.Components(without), []int{}, 0
	for i, name := range constraint.Components(with) {
		if !slices.Contains(old, name) {
			if index = append(index, i); i < len(with.Equalities()) {
				equalities++
			}
		}
	}
	if len(index) == 0 {
		return nil, a.fault(first, "it adds no constraint")
	}
	return constraint.View(with, index, equalities), nil
}

// Whole returns a set with the new constraints. The set of an arm stays one, for what makes motions.
func (a *Added) Whole(p *Problem, set constraint.Set, cut *particles.Cut) (constraint.Set, error) {
	switch {
	case cut.Hard == nil:
		return set, nil
	case len(a.Obstacles) == 0 || len(a.Equality)+len(a.Inequality) > 0:
		return constraint.All(set, cut.Hard), nil
	}
	old, _ := p.Set.Value("obstacles").([]sets.ArmObstacle)
	return p.Set.With(map[string]any{"obstacles": slices.Concat(old, a.Obstacles)}).BuildGiven("set",
		p.Condition.Columns)
}
