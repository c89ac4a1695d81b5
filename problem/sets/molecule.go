package sets

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/files"
)

// Molecule is the conformations of a molecule under conditions on internal coordinates.
// Lengths are in ångström, angles in degrees.
type Molecule struct {
	Template File `yaml:"template,omitempty" doc:"PDB, XYZ or SDF file: atoms, bonds, values"`

	Heavy bool `yaml:"heavy,omitempty" doc:"without the hydrogens of the template"`

	Atoms int `yaml:"atoms,omitempty" default:"a file" bounds:"[1,10000]" doc:"how many there are, without a template"`

	AtomNames   []any       `yaml:"atom_names,omitempty" takes:"text,integer" doc:"without a template: CA, ALA2:CA"`
	Distances   []Internal  `yaml:"distances,omitempty" doc:"distances of two atoms, Å"`
	Angles      []Internal  `yaml:"angles,omitempty" doc:"angles of three atoms, at the second, degrees"`
	Dihedrals   []Internal  `yaml:"dihedrals,omitempty" doc:"dihedrals of four atoms, degrees"`
	Chirality   []Chirality `yaml:"chirality,omitempty" doc:"chirality of centres"`
	Rigid       [][]any     `yaml:"rigid,omitempty" takes:"text,integer" doc:"groups that keep the template's shape"`
	Apart       []Apart     `yaml:"apart,omitempty" doc:"atoms that do not overlap"`
	Bonds       string      `yaml:"bonds,omitempty" words:"template" doc:"template: all keep its lengths"`
	BondAngles  string      `yaml:"bond_angles,omitempty" words:"template" doc:"template: all keep its values"`
	Coordinates string      `yaml:"coordinates,omitempty" words:"positions,internal" doc:"coordinates of points"`
	AngleUnit   float64     `yaml:"angle_unit,omitempty" bounds:"0|[0.1,90]" doc:"degrees of an angle that count as 1"`
	Tilt        bool        `yaml:"tilt,omitempty" doc:"internal coordinates tilt rigid groups as a whole"`
	Windows     string      `yaml:"windows,omitempty" words:"smooth,max" doc:"smooth unless given, or max"`
}

// Internal is a condition on an internal coordinate.
type Internal struct {
	Name  string    `yaml:"name,omitempty" doc:"name of the component; its atoms unless given"`
	Atoms []any     `yaml:"atoms,omitempty" takes:"text,integer,atoms" doc:"indices from 0, or names"`
	Value any       `yaml:"value,omitempty" takes:"number,template,condition" doc:"or template, or condition: given"`
	Range []float64 `yaml:"range,omitempty" doc:"two numbers instead of {value}"`

	Ranges [][]float64 `yaml:"ranges,omitempty" doc:"several ranges of a dihedral"`

	Min any `yaml:"min,omitempty" takes:"number,template" doc:"or one of them; not of a dihedral"`
	Max any `yaml:"max,omitempty" takes:"number,template" doc:"likewise"`
}

// Chirality asks for the sign of (a−o)·((b−o)×(c−o)) of atoms o, a, b, c.
type Chirality struct {
	Name  string    `yaml:"name,omitempty" doc:"name of the component; its atoms unless given"`
	Atoms []any     `yaml:"atoms,omitempty" takes:"text,integer" doc:"the centre and three others"`
	Sign  string    `yaml:"sign,omitempty" words:"positive,negative,template" doc:"template unless given"`
	Range []float64 `yaml:"range,omitempty" doc:"range of the volume instead, Å³"`
}

// Apart asks atoms for a least distance.
type Apart struct {
	Name   string  `yaml:"name,omitempty" doc:"name of the component"`
	Atoms  []any   `yaml:"atoms,omitempty" takes:"text,integer" doc:"all unless given"`
	Min    float64 `yaml:"min,omitempty" doc:"least distance, Å"`
	Beyond int     `yaml:"beyond,omitempty" doc:"for pairs with more bonds than this between them; 2 unless given"`
}

// maxAtoms bounds the atoms of a molecule whose set is made.
const maxAtoms = 10_000

func molecules(k Molecule) (constraint.Set, error) {
	b := molecular{Molecule: k}
	for _, step := range []func() error{b.template, b.bonds, b.rigid, b.internals, b.chirality, b.apart} {
		if err := step(); err != nil || b.err != nil {
			return nil, cmp.Or(b.err, err)
		}
	}
	spec := conformation.Spec{Molecule: b.m, Template: b.x, Conditions: b.conditions, Apart: b.pairs,
		Max: k.Windows == "max", Kept: b.kept, Of: b.of, Rigid: b.groups, AngleUnit: k.AngleUnit * math.Pi / 180,
		Tilt: k.Tilt}
	set, err := conformation.New(spec)
	var e *conformation.Error
	if errors.As(err, &e) {
		switch {
		case e.Condition >= 0:
			return nil, &Error{Key: b.from[e.Condition], Fault: e.Fault}
		case e.Apart >= 0:
			return nil, &Error{Key: fmt.Sprintf("apart[%d]", e.Apart), Fault: e.Fault}
		}
	}
	if err != nil {
		return nil, err
	}
	if k.Coordinates == "internal" && set.Capabilities().HeldNames != nil {
		return nil, Bad("coordinates", k.Coordinates, "positions, beside a value that is a condition")
	}
	if k.Coordinates == "internal" {
		in, err := conformation.NewInternal(set, spec)
		if err != nil || k.Bonds == "" {
			err = cmp.Or(err, errors.New("internal coordinates keep bonds; expected bonds: template beside it"))
			return nil, &Error{Key: "coordinates", Fault: err.Error()}
		}
		return in, nil
	}
	if b.x != nil {
		x := set.Given(b.x)
		if err := cmp.Or(set.Capabilities().Fault(x), set.Singular(x)); err != nil {
			return nil, &Error{Key: "template", Fault: fmt.Sprintf("%s: %v", k.Template, err)}
		}
	}
	var held []int
	for j := b.m.Dim(); j < set.Dim(); j++ {
		held = append(held, j)
	}
	return constraint.Hold(set, held), nil
}

// A molecular gathers the conditions, and where in the file each comes from.
type molecular struct {
	Molecule
	reader
	m          *molecule.Molecule
	x          []float64 // of the template; nil without one
	conditions []conformation.Condition
	from       []string
	pairs      []conformation.Apart
	groups     [][]int // that are rigid
	kept       []int   // atoms of the template that are not hydrogen, with {heavy}
	of         int     // atoms of the template
}

// template reads the molecule.
func (b *molecular) template() error {
	if b.AtomNames != nil {
		return b.named()
	}
	if b.Template == "" {
		if b.Heavy && !b.need("heavy") {
			return nil
		}
		if b.Molecule.Atoms == 0 {
			return Bad("atoms", b.Molecule.Atoms, fmt.Sprintf("1 to %d atoms, or a file in {template}", maxAtoms))
		}
		b.m = molecule.Anonymous(b.Molecule.Atoms)
		return nil
	}
	f, err := files.Read(string(b.Template))
	if err != nil {
		return &Error{Key: "template", Fault: err.Error()}
	}
	b.m, b.x = f.Molecule, f.Frame(0)
	if b.of = b.m.N(); b.Heavy {
		if b.kept = b.m.Heavy(); len(b.kept) == 0 {
			return &Error{Key: "heavy", Fault: fmt.Sprintf("all atoms of %s are hydrogen", b.Template)}
		}
		b.m, b.x = b.m.Part(b.kept), molecule.Picked(b.x, b.kept)
	}
	switch n := b.m.N(); {
	case n > maxAtoms:
		return &Error{Key: "template", Fault: fmt.Sprintf("%s has %d atoms; expected at most %d", b.Template, n,
			maxAtoms)}
	case b.Molecule.Atoms != 0 && b.Molecule.Atoms != n:
		return Bad("atoms", b.Molecule.Atoms, fmt.Sprintf("the %d of %s, or no such key", n, b.Template))
	}
	return nil
}

// named makes the molecule of its atoms' names.
func (b *molecular) named() error {
	if b.Heavy {
		b.need("heavy")
	}
	if b.Template != "" {
		return &Error{Key: "atom_names", Fault: "the template has names; expected one of the two keys"}
	}
	if n := len(b.AtomNames); n > maxAtoms || b.Molecule.Atoms != 0 && b.Molecule.Atoms != n {
		return Bad("atoms", b.Molecule.Atoms, fmt.Sprintf("as many as there are names, %d, and at most %d", n,
			maxAtoms))
	}
	names := make([]string, len(b.AtomNames))
	for i, v := range b.AtomNames {
		var ok bool
		if names[i], ok = reference(v); !ok {
			return &Error{Key: fmt.Sprintf("atom_names[%d]", i), Value: v, Want: "an atom's name, as ALA2:CA"}
		}
	}
	m, err := molecule.FromNames(names)
	var e *molecule.NameError
	if errors.As(err, &e) {
		return Bad(fmt.Sprintf("atom_names[%d]", e.Atom), e.Name, e.Want)
	}
	b.m = m
	return err
}

// need reports whether there is a template, whose values a key asks for.
func (b *molecular) need(key string) bool {
	if b.x == nil {
		b.fail(&Error{Key: key, Fault: "it asks for the template's, and there is no template: name a PDB, XYZ or SDF " +
			"file in set.template"})
	}
	return b.x != nil
}

func (b *molecular) add(key string, conditions ...conformation.Condition) {
	for _, c := range conditions {
		b.conditions, b.from = append(b.conditions, c), append(b.from, key)
	}
}

// bonds are what the template's bonds keep.
func (b *molecular) bonds() error {
	for i, group := range b.Rigid {
		b.groups = append(b.groups, b.chosen(fmt.Sprintf("rigid[%d]", i), group, 0))
	}
	for _, k := range []struct {
		key, value string
		of         func(*molecule.Molecule, []float64) ([]conformation.Condition, error)
	}{{"bonds", b.Bonds, conformation.Bonds}, {"bond_angles", b.BondAngles, conformation.BondAngles}} {
		if k.value == "" {
			continue
		}
		if !b.need(k.key) {
			return nil
		}
		conditions, err := k.of(b.m, b.x)
		if err != nil {
			return &Error{Key: k.key, Fault: err.Error()}
		}
		b.add(k.key, slices.DeleteFunc(conditions, b.implied)...)
	}
	return nil
}

// implied reports whether a rigid group keeps a bond's length, which would be there twice.
func (b *molecular) implied(c conformation.Condition) bool {
	return c.Kind == conformation.Distance && slices.ContainsFunc(b.groups, func(group []int) bool {
		return slices.Contains(group, c.Atoms[0]) && slices.Contains(group, c.Atoms[1])
	})
}

func (b *molecular) rigid() error {
	for i := range b.Rigid {
		key := fmt.Sprintf("rigid[%d]", i)
		if !b.need(key) {
			return nil
		}
		conditions, err := conformation.Rigid(b.m, b.x, b.groups[i])
		if err != nil {
			return &Error{Key: key, Fault: err.Error()}
		}
		b.add(key, conditions...)
	}
	return nil
}

// chosen returns the atoms that a list names: n of them, or any number if n is 0.
func (b *molecular) chosen(key string, list []any, n int) []int {
	if n > 0 && len(list) != n {
		b.fail(&Error{Key: key, Fault: fmt.Sprintf("%d atoms; expected %d", len(list), n)})
	}
	var out []int
	for i, v := range list {
		ref, ok := reference(v)
		place := fmt.Sprintf("%s[%d]", key, i)
		if !ok {
			b.fail(&Error{Key: place, Value: v, Want: "an atom's index from 0, or its name, as in ALA2:CA"})
			break
		}
		a, err := b.m.Select(ref)
		if err != nil {
			b.fail(&Error{Key: place, Fault: err.Error()})
			break
		}
		if slices.Contains(out, a) {
			b.fail(&Error{Key: place, Fault: fmt.Sprintf("atom %s is there twice", b.m.Label(a))})
		}
		out = append(out, a)
	}
	return out
}

// reference returns an atom's name as it stands in the file. In a list in brackets the
// YAML reader takes ALA:CA for a mapping of ALA to CA.
func reference(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, v != ""
	case int, int64, uint64:
		return fmt.Sprint(v), true
	case map[string]any:
		for key, value := range v {
			rest, ok := reference(value)
			return key + ":" + rest, ok && len(v) == 1
		}
	}
	return "", false
}

// nested returns the group of atoms that the second of two entries is; nil if it is none.
func nested(atoms []any) (group []any) {
	if len(atoms) == 2 {
		group, _ = atoms[1].([]any)
	}
	return group
}

// internals are the coordinates that the file names one by one.
func (b *molecular) internals() error {
	const degree = math.Pi / 180
	for _, l := range []struct {
		key  string
		kind conformation.Kind
		unit float64
		list []Internal
	}{
		{"distances", conformation.Distance, 1, b.Distances}, {"angles", conformation.Angle, degree, b.Angles},
		{"dihedrals", conformation.Dihedral, degree, b.Dihedrals},
	} {
		for i, k := range l.list {
			key := fmt.Sprintf("%s[%d]", l.key, i)
			c := conformation.Condition{Name: k.Name, Coordinate: conformation.Coordinate{Kind: l.kind}}
			if group := nested(k.Atoms); group != nil && l.kind == conformation.Distance {
				c.Kind = conformation.Nearest
				c.Atoms = append(b.chosen(key+".atoms", k.Atoms[:1], 1), b.chosen(key+".atoms[1]", group, 0)...)
			} else {
				c.Atoms = b.chosen(key+".atoms", k.Atoms, l.kind.Atoms())
			}
			if b.err != nil {
				return nil
			}
			switch {
			case count(k.Value != nil, k.Range != nil, k.Ranges != nil, k.Min != nil, k.Max != nil) != 1:
				return &Error{Key: key, Fault: "expected one of value, range, ranges, min and max"}
			case k.Ranges != nil && (c.Kind != conformation.Dihedral || len(k.Ranges) < 2):
				return &Error{Key: key + ".ranges", Fault: "expected two or more ranges of a dihedral, or the key " +
					"range"}
			case k.Ranges != nil:
				for n, of := range k.Ranges {
					low, high := b.bounds(fmt.Sprintf("%s.ranges[%d]", key, n), of, l.unit)
					c.Windows = append(c.Windows, [2]float64{low, high})
				}
			case k.Value == condition && k.Name == "":
				return &Error{Key: key + ".name", Fault: "expected a name, which the condition has too"}
			case k.Value == condition:
				c.Given = true
			case k.Min != nil || k.Max != nil:
				c.Low, c.High = b.oneSided(key, k.Min, k.Max, l.unit)
			case k.Range != nil:
				c.Low, c.High = b.bounds(key+".range", k.Range, l.unit)
			case k.Value == "template":
				if b.need(key + ".value") {
					var err error
					c, err = conformation.Fixed(b.m, b.x, c.Coordinate)
					if err != nil {
						return &Error{Key: key + ".value", Fault: err.Error()}
					}
					c.Name = k.Name
				}
			default:
				v, ok := numeral(k.Value)
				if !ok {
					return Bad(key+".value", k.Value, "a number, template or condition")
				}
				c.Low, c.High = v*l.unit, v*l.unit
			}
			most, want := 1e6, "at most 1e6 Å"
			if l.unit == degree {
				most, want = 720*degree, "degrees in [-720, 720]"
			}
			for _, v := range []float64{c.Low, c.High} {
				if math.Abs(v) > most && !math.IsInf(v, 0) {
					return Bad(key, v/l.unit, want)
				}
			}
			b.add(key, c)
		}
	}
	return nil
}

// oneSided returns the bounds of a condition that has a min or a max.
func (r *reader) oneSided(key string, least, most any, unit float64) (low, high float64) {
	name, value := "min", least
	if most != nil {
		name, value = "max", most
	}
	v, ok := numeral(value)
	if !ok {
		r.fail(Bad(key+"."+name, value, "a number"))
	}
	if name == "min" {
		return v * unit, math.Inf(1)
	}
	return math.Inf(-1), v * unit
}

// bounds returns those of a range in the units of package conformation.
func (r *reader) bounds(key string, of []float64, unit float64) (low, high float64) {
	want := "a range that goes up"
	switch {
	case len(of) != 2:
		r.fail(Bad(key, of, "two numbers, the lower and the upper"))
		return 0, 0
	case of[0] < of[1]:
	case unit != 1:
		want += ", as [150, 210] for a dihedral across 180°"
		fallthrough
	default:
		r.fail(Bad(key, of, want))
	}
	return of[0] * unit, of[1] * unit
}

// numeral returns a value that is a number; the reader takes 1e-3 for text.
func numeral(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, v-v == 0
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && f-f == 0
	}
	return 0, false
}

func (b *molecular) chirality() error {
	for i, k := range b.Chirality {
		key := fmt.Sprintf("chirality[%d]", i)
		atoms := b.chosen(key+".atoms", k.Atoms, conformation.Volume.Atoms())
		if b.err != nil {
			return nil
		}
		q := conformation.Coordinate{Kind: conformation.Volume, Atoms: atoms}
		c := conformation.Condition{Name: k.Name, Coordinate: q, Low: math.Inf(-1), High: math.Inf(1)}
		sign := k.Sign
		if k.Range == nil && (sign == "" || sign == "template") {
			if !b.need(key) {
				return nil
			}
			v := q.Value(b.x) // of a real centre 1 to 3 Å³
			if sign = "positive"; math.Abs(v) <= 0.02 {
				return &Error{Key: key, Fault: fmt.Sprintf("in the template centre %s and its three atoms lie in a "+
					"plane (volume %.2g Å³); expected sign: positive or negative, or a range", b.m.Label(atoms[0]), v)}
			} else if v < 0 {
				sign = "negative"
			}
		}
		switch {
		case k.Range != nil && sign != "":
			return &Error{Key: key, Fault: "expected a sign or a range, one of the two"}
		case k.Range != nil:
			c.Low, c.High = b.bounds(key+".range", k.Range, 1)
		case sign == "positive":
			c.Low = 0
		default:
			c.High = 0
		}
		b.add(key, c)
	}
	return nil
}

func (b *molecular) apart() error {
	for i, k := range b.Apart {
		key := fmt.Sprintf("apart[%d]", i)
		atoms := b.chosen(key+".atoms", k.Atoms, 0)
		if k.Atoms == nil {
			for a := range b.m.N() {
				atoms = append(atoms, a)
			}
		}
		if k.Beyond < 0 {
			return Bad(key+".beyond", k.Beyond, "a number of bonds")
		}
		if n := len(atoms); n*(n-1)/2 > maxPairs {
			return &Error{Key: key, Fault: fmt.Sprintf("%d atoms make %d pairs; expected at most %d: list those that "+
				"could meet", n, n*(n-1)/2, maxPairs)}
		}
		b.pairs = append(b.pairs, conformation.Apart{
			Name: k.Name, Min: k.Min, Pairs: conformation.Separated(b.m, atoms, cmp.Or(k.Beyond, 2)),
		})
	}
	return nil
}

// maxPairs bounds the pairs of atoms of one entry that shall not overlap.
const maxPairs = 1 << 20
