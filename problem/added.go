package problem

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/domain/conformation"
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
	formulas, whole constraint.Set // the formulas alone; the run's set with the entries of arms and molecules
}

// An Observation is a measured number of a point: the likelihood is exp(−(number − value)²/(2 sd²)).
type Observation struct {
	Name  string  `yaml:"name,omitempty"`
	Expr  string  `yaml:"expr,omitempty"`
	Atoms []any   `yaml:"atoms,omitempty"` // of a molecule, instead: two for a distance, Å; 3, 4 for an angle, degrees
	Value float64 `yaml:"value"`
	SD    float64 `yaml:"sd"`
}

// coordinates are the keys of a molecule's set by how many atoms their entries have.
var coordinates = map[int]string{2: "distances", 3: "angles", 4: "dihedrals"}

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
	if err := (walker{a.origin, sets.Set{}, where}).walk(body, reflect.TypeFor[Added](), ""); err != nil {
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
		if (o.Expr == "") == (o.Atoms == nil) || o.Atoms != nil && coordinates[len(o.Atoms)] == "" {
			return nil, a.fault(at, "expected expr, or atoms: two of a distance, three of an angle, four of a dihedral")
		}
		if o.Name == "" {
			o.Name = fmt.Sprintf("observe[%d]", i)
		}
	}
	if len(a.Equality)+len(a.Inequality)+len(a.Observe) == 0 && len(a.entries()) == 0 {
		return nil, a.fault("equality", "nothing is asked; expected equality, inequality, observe, obstacles of an "+
			"arm, or distances, angles, dihedrals, chirality or apart of a molecule")
	}
	return a, nil
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
		hard, a.formulas = append(hard, s), s
	}
	if keys := a.entries(); len(keys) > 0 {
		s, err := a.beside(p, set, keys)
		if err != nil {
			return nil, err
		}
		hard = append(hard, s)
	}
	whole := a.whole
	for i, o := range a.Observe {
		key := coordinates[len(o.Atoms)]
		var s constraint.Set
		var err error
		if key == "" {
			key = "observe"
			s, err = make([]formula.Component{{Name: o.Name, Expr: fmt.Sprintf("%s = %v", o.Expr, o.Value)}}, nil, key)
		} else {
			c := sets.Internal{Name: o.Name, Atoms: o.Atoms, Value: o.Value}
			s, err = a.beside(p, set, map[string]any{key: []sets.Internal{c}})
		}
		at := fmt.Sprintf("observe[%d]", i)
		var e *KeyError
		if errors.As(err, &e) {
			e.Key = at + strings.TrimPrefix(strings.TrimPrefix(e.Key, key), "[0]")
			e.Origin = a.where(e.Key)
		}
		if err != nil {
			return nil, err
		}
		if n := len(s.Equalities()); n != 1 {
			return nil, a.fault(at, "%d numbers; expected one number of each entry (x is the whole point, x[0] its "+
				"first coordinate)", n)
		}
		if len(o.Atoms) > 2 {
			o.SD *= math.Pi / 180
		}
		hard, cut.SD = append(hard, s), append(cut.SD, o.SD)
	}
	a.whole = whole // without what is observed
	cut.Set = constraint.All(hard...)
	return cut, nil
}

// entries returns the keys of the sets of arms and molecules that are given.
func (a *Added) entries() map[string]any {
	keys := map[string]any{}
	for key, f := range sets.Fields(reflect.TypeFor[Added]()) {
		v := reflect.ValueOf(*a).FieldByIndex(f.Index)
		own := reflect.TypeFor[sets.Arm]().PkgPath()
		if v.Kind() == reflect.Slice && v.Len() > 0 && f.Type.Elem().PkgPath() == own {
			keys[key] = v.Interface()
		}
	}
	return keys
}

// beside returns the components that entries of some keys add to a problem's set. a.whole is the set with both.
func (a *Added) beside(p *Problem, set constraint.Set, keys map[string]any) (constraint.Set, error) {
	had, with := map[string]int{}, map[string]any{}
	for key, v := range keys {
		if t, ok := sets.KeyType(p.Set.Is(), key); !ok || t != reflect.TypeOf(v) || !p.Set.Owns(key) {
			return nil, a.fault(key, "this key belongs to a set of another kind; the run's is %q", p.Set.Is())
		}
		if with[key] = v; p.Set.Value(key) != nil {
			old := reflect.ValueOf(p.Set.Value(key))
			had[key], with[key] = old.Len(), reflect.AppendSlice(old, reflect.ValueOf(v)).Interface()
		}
	}
	positions := set
	in, internal := constraint.As[*conformation.Internal](set)
	if internal { // with ranges in its points' place, a set of internal coordinates has other points
		with["coordinates"], positions = "positions", in.Positions()
	}
	whole, err := p.Set.With(with).BuildGiven("set", p.Condition.Columns)
	var e *sets.Error
	if errors.As(err, &e) {
		key, rest, _ := strings.Cut(strings.TrimPrefix(e.Key, "set."), "[")
		if i := 0; rest != "" { // numbered behind the set's own
			_, _ = fmt.Sscanf(rest, "%d", &i)
			_, rest, _ = strings.Cut(rest, "]")
			key = fmt.Sprintf("%s[%d]%s", key, i-had[key], rest)
		}
		if e.Fault != "" {
			return nil, a.fault(key, "%s", e.Fault)
		}
		return nil, a.key(key, e.Value, e.Want)
	}
	if err != nil {
		return nil, err
	}
	old, index, equalities := constraint.Components(positions), []int{}, 0
	for i, name := range constraint.Components(whole) {
		if !slices.Contains(old, name) {
			if index = append(index, i); i < len(whole.Equalities()) {
				equalities++
			}
		}
	}
	if len(index) == 0 || whole.Dim() != positions.Dim() {
		return nil, a.fault(slices.Sorted(maps.Keys(keys))[0], "it adds no constraint on the points of the run")
	}
	added := constraint.View(whole, index, equalities)
	if internal {
		return in.Pull(added), nil
	}
	a.whole = whole
	return added, nil
}

// Whole returns a set with the new constraints, after Build. That of an arm stays one, for what makes motions.
func (a *Added) Whole(set constraint.Set, cut *particles.Cut) constraint.Set {
	switch hard := cut.Hard(); {
	case hard == nil:
		return set
	case a.whole == nil:
		return constraint.All(set, hard)
	case a.formulas == nil:
		return a.whole
	}
	return constraint.All(a.whole, a.formulas)
}
