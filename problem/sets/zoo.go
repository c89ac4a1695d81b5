package sets

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/learn/levelset"
)

// maxDim bounds the coordinates of one set.
const maxDim = 1_000_000

// Sphere is {‖x‖ = r}.
type Sphere struct {
	Dim    int     `yaml:"dim,omitempty" bounds:"[1,1000000]" doc:"coordinates"`
	Radius float64 `yaml:"radius,omitempty" default:"1" bounds:"(0,)" doc:"r; 1 unless given"`
}

func sphere(k Sphere) (constraint.Set, error) { return zoo.Sphere{D: k.Dim, R: k.Radius}, nil }

// Ellipsoid is {Σ x_j²/a_j² = 1}.
type Ellipsoid struct {
	Axes []float64 `yaml:"axes,omitempty" doc:"semi-axes a_j"`
}

func ellipsoid(k Ellipsoid) (constraint.Set, error) {
	if len(k.Axes) == 0 {
		return nil, Bad("axes", k.Axes, "a list of semi-axes")
	}
	for _, a := range k.Axes {
		if !(a > 0) {
			return nil, Bad("axes", k.Axes, "semi-axes above 0")
		}
	}
	return zoo.Ellipsoid{Axes: k.Axes}, nil
}

// Torus is the torus in R³.
type Torus struct {
	Major float64 `yaml:"major,omitempty" bounds:"(0,)" doc:"radius R of the core circle"`
	Minor float64 `yaml:"minor,omitempty" bounds:"(0,)" doc:"radius r < R of the tube"`
}

func torus(k Torus) (constraint.Set, error) {
	if !(k.Major > k.Minor) {
		return nil, Bad("major", k.Major, fmt.Sprintf("a radius above {minor} = %v", k.Minor))
	}
	return zoo.Torus{Major: k.Major, Minor: k.Minor}, nil
}

// Affine is {A x = b}.
type Affine struct {
	A [][]float64 `yaml:"a,omitempty" doc:"rows of A"`
	B []float64   `yaml:"b,omitempty" doc:"right-hand sides"`
}

func affine(k Affine) (constraint.Set, error) {
	if len(k.A) == 0 || len(k.A[0]) == 0 {
		return nil, Bad("a", k.A, "a list of rows, one an equation")
	}
	for _, row := range k.A {
		if len(row) != len(k.A[0]) {
			return nil, Bad("a", row, fmt.Sprintf("rows of equal length, as the first with %d numbers", len(k.A[0])))
		}
		if !slices.ContainsFunc(row, func(v float64) bool { return v != 0 }) {
			return nil, Bad("a", row, "rows that are not zero")
		}
	}
	if len(k.B) != len(k.A) {
		return nil, Bad("b", k.B, fmt.Sprintf("%d right-hand sides, one a row of {a}", len(k.A)))
	}
	return zoo.Affine{A: k.A, B: k.B}, nil
}

// Curve is the plane curve {Σ c x^a y^b = 0}.
type Curve struct {
	Terms [][]float64 `yaml:"terms,omitempty" doc:"rows (c, a, b)"`
}

func curve(k Curve) (constraint.Set, error) {
	var terms []zoo.Term
	for _, row := range k.Terms {
		if len(row) != 3 {
			return nil, Bad("terms", row, "rows (coefficient, power of x, power of y)")
		}
		for _, v := range row[1:] {
			if v != math.Trunc(v) || math.Abs(v) > 1e6 {
				return nil, Bad("terms", row, "powers that are whole numbers")
			}
		}
		terms = append(terms, zoo.Term{Coefficient: row[0], X: int(row[1]), Y: int(row[2])})
	}
	return made(zoo.NewCurve(terms))
}

// made returns a set, or nil with an error.
func made[S constraint.Set](s S, err error) (constraint.Set, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Box is {lower ≤ x ≤ upper}.
type Box struct {
	Lower []float64 `yaml:"lower,omitempty" doc:"a number for each coordinate; no bounds unless given"`
	Upper []float64 `yaml:"upper,omitempty" doc:"likewise; one of the two is needed"`
}

func box(k Box) (constraint.Set, error) { return zoo.NewBox(k.Lower, k.Upper) }

func halfOpen(keys any) bool { k := keys.(Box); return k.Lower == nil || k.Upper == nil }

// Simplex is {Σ x_j = 1, x ≥ 0}.
type Simplex struct {
	Dim int `yaml:"dim,omitempty" bounds:"[2,1000000]" doc:"coordinates"`
}

func simplex(k Simplex) (constraint.Set, error) { return made(zoo.NewSimplex(k.Dim)) }

// Cap is {‖x‖ = 1, axis·x ≥ height}.
type Cap struct {
	Axis   []float64 `yaml:"axis,omitempty" doc:"its direction; scaled to length 1"`
	Height float64   `yaml:"height,omitempty" bounds:"(-1,1)" doc:"in (−1, 1)"`
}

func spherical(k Cap) (constraint.Set, error) { return made(zoo.NewCap(k.Axis, k.Height)) }

// Matrices is O(n) or SO(n).
type Matrices struct {
	N int `yaml:"n,omitempty" bounds:"[1,100]" doc:"rows of the matrices; points are row-major"`
}

func orthogonal(k Matrices) (constraint.Set, error) {
	return made(zoo.NewOrthogonal(k.N, zoo.OrthogonalOptions{}))
}

func specialOrthogonal(k Matrices) (constraint.Set, error) {
	return made(zoo.NewOrthogonal(k.N, zoo.OrthogonalOptions{Special: true}))
}

// Stiefel is {X ∈ R^(n×p) : XᵀX = I}.
type Stiefel struct {
	N int `yaml:"n,omitempty" bounds:"[1,100]" doc:"rows of the matrices; points are row-major"`
	P int `yaml:"p,omitempty" bounds:"[1,100]" doc:"their columns"`
}

func stiefel(k Stiefel) (constraint.Set, error) { return made(zoo.NewStiefel(k.N, k.P)) }

// Chain is a chain of atoms with fixed bonds.
type Chain struct {
	Dim      int       `yaml:"dim,omitempty" default:"3" bounds:"[2,500000]" doc:"numbers of an atom; 3 unless given"`
	Bonds    []float64 `yaml:"bonds,omitempty" doc:"lengths"`
	Angles   []float64 `yaml:"angles,omitempty" doc:"in radians, one for each inner atom; free unless given"`
	Anchored bool      `yaml:"anchored,omitempty" doc:"the first atom is at the origin"`
}

func chain(k Chain) (constraint.Set, error) {
	dim := cmp.Or(k.Dim, 3)
	if dim > maxDim/(len(k.Bonds)+1) {
		return nil, Bad("dim", k.Dim, fmt.Sprintf("at most %d coordinates in all", maxDim))
	}
	return made(zoo.NewChain(dim, k.Bonds, k.Angles, k.Anchored))
}

func adrift(keys any) bool { return !keys.(Chain).Anchored }

// Euclidean is R^d: no constraint at all.
type Euclidean struct {
	Dim int `yaml:"dim,omitempty" bounds:"[1,1000000]" doc:"coordinates"`
}

func euclidean(k Euclidean) (constraint.Set, error) { return zoo.Euclidean{D: k.Dim}, nil }

func redundantAxis(struct{}) (constraint.Set, error) { return zoo.RedundantAxis{}, nil }

// formulas holds the condition, which components may use but not be about.
func formulas(keys Formulas, _ string, names []string) (constraint.Set, error) {
	k, err := keys.read()
	if err != nil {
		return nil, err
	}
	set, err := formula.New(formula.Spec{Dim: k.Dim, Let: k.Let, Equality: k.Equality, Inequality: k.Inequality,
		Given: names})
	held, err := hold(set, err, names)
	if e := (*Error)(nil); errors.As(err, &e) {
		if name, ok := strings.CutPrefix(e.Key, "let."); ok && slices.Contains(k.Names, name) {
			e.Key = fmt.Sprintf("names[%d]", slices.Index(k.Names, name))
		}
	}
	return held, err
}

// Sequence is a sequence of steps with formulas for each and for neighbours; package formula says what they are.
type Sequence struct {
	Steps   int                 `yaml:"steps,omitempty" bounds:"[2,10000]" doc:"L, how many"`
	State   []string            `yaml:"state,omitempty" doc:"coordinates of a step: x, or a vector, q[3]"`
	Let     formula.Definitions `yaml:"let,omitempty" doc:"names for formulas, in order"`
	Within  []formula.Component `yaml:"within,omitempty" doc:"constraints of each step"`
	Between []formula.Component `yaml:"between,omitempty" doc:"constraints of a step and the next, whose x is next(x)"`
	First   []formula.Component `yaml:"first,omitempty" doc:"constraints of the first step"`
	Last    []formula.Component `yaml:"last,omitempty" doc:"constraints of the last step"`
}

func sequences(k Sequence, _ string, names []string) (constraint.Set, error) {
	set, err := formula.NewSequence(formula.Sequence{Steps: k.Steps, State: k.State, Let: read(k.Let), Within: k.Within,
		Between: k.Between, First: k.First, Last: k.Last, Given: names})
	return hold(set, err, names)
}

// hold holds the last coordinates of a set of formulas, those of a condition.
func hold(set *formula.Set, err error, names []string) (constraint.Set, error) {
	var e *formula.Error
	if errors.As(err, &e) {
		return nil, &Error{Key: e.Key, Fault: e.Err.Error()}
	}
	if err != nil || len(names) == 0 {
		return made(set, err)
	}
	var at []int
	for j := range names {
		at = append(at, set.Dim()-len(names)+j)
	}
	held := constraint.Hold(set, at)
	for a, free := range held.Capabilities().Support {
		if len(free) == 0 {
			return nil, &Error{Key: "let", Fault: fmt.Sprintf("the constraint %q is about the condition alone, "+
				"which no point can change", constraint.Components(held)[a])}
		}
	}
	return held, nil
}

// LevelSet is the zero level set of a network.
type LevelSet struct {
	Weights File `yaml:"weights,omitempty" doc:"NPZ file of the network"`
	Mesh    File `yaml:"mesh,omitempty" doc:"PLY, OBJ or STL mesh near it, for a uniform prior and distances on faces"`
}

func levelSet(k LevelSet) (constraint.Set, error) {
	if k.Weights == "" {
		return nil, Bad("weights", nil, "an NPZ file with the network's layers, as landing make level-set writes")
	}
	fault := func(key string, err error) (constraint.Set, error) { return nil, &Error{Key: key, Fault: err.Error()} }
	net, err := levelset.ReadNetwork(string(k.Weights))
	if err != nil {
		return fault("weights", err)
	}
	if k.Mesh == "" {
		return levelset.New(net), nil
	}
	m, err := mesh.Read(string(k.Mesh))
	if err != nil {
		return fault("mesh", err)
	}
	surface, err := levelset.NewSurface(net, m)
	if err != nil {
		return fault("mesh", fmt.Errorf("%s: %w", k.Mesh, err))
	}
	return surface, nil
}

const (
	// MaxDepth bounds how deep sets are nested in a file.
	MaxDepth = 8
	// maxDerivatives bounds the first derivatives of a compound at one point.
	maxDerivatives float64 = 3e6
)

// Product is a product of sets, each with coordinates of its own, one after the other.
type Product struct {
	Product []Set    `yaml:"product,omitempty" doc:"the factors, each a set as under set"`
	Names   []string `yaml:"names,omitempty" doc:"names of the factors, for components; their numbers unless given"`
}

func product(k Product, at string) (constraint.Set, error) {
	factors, err := buildSets(k.Product, at, "product", nil)
	if err != nil {
		return nil, err
	}
	d := 0
	for _, f := range factors {
		d += f.Dim()
	}
	if d > maxDim {
		return nil, &Error{Key: "product", Fault: fmt.Sprintf(
			"the product lies in R^%d; expected at most %d coordinates", d, maxDim)}
	}
	if k.Names == nil {
		return constraint.Product(factors...), nil
	}
	if len(k.Names) != len(factors) {
		return nil, Bad("names", k.Names, fmt.Sprintf("%d names, one a factor", len(factors)))
	}
	seen := map[string]bool{}
	for i, name := range k.Names {
		if seen[name] || name == "" || strings.ContainsAny(name, ".[] \t") {
			return nil, Bad("names", k.Names, "different names without dots, brackets and spaces")
		}
		seen[name] = true
		factors[i] = constraint.Factor{Name: name, Set: factors[i]}
	}
	return constraint.Product(factors...), nil
}

// Intersection is the constraints of several sets on the same coordinates.
type Intersection struct {
	All []Set `yaml:"all,omitempty" doc:"the sets, each as under set; all of one dimension"`
}

func all(keys Intersection, at string, names []string) (constraint.Set, error) {
	of := keys.All
	if names == nil {
		names = heldBy(of, at)
	}
	inner, err := buildSets(of, at, "all", names)
	if err != nil {
		return nil, err
	}
	for i, s := range inner {
		if s.Dim() != inner[0].Dim() {
			return nil, &Error{Key: fmt.Sprintf("%s.all[%d]", at, i), Fault: fmt.Sprintf(
				"%s lies in R^%d; expected R^%d, as %s.all[0]", constraint.Name(s), s.Dim(), inner[0].Dim(), at)}
		}
	}
	return constraint.All(inner...), nil
}

// heldBy returns the names that a set among others has for the numbers that it leaves to a condition: formulas beside
// it know them too.
func heldBy(of []Set, at string) []string {
	for i, s := range of {
		if s.Is() == "formula" { // which hold what others name
			continue
		}
		set, err := s.BuildGiven(fmt.Sprintf("%s.all[%d]", at, i), nil)
		if err != nil {
			return nil // within says so
		}
		if names := set.Capabilities().HeldNames; names != nil {
			return names
		}
	}
	return nil
}

// buildSets makes the sets under a key, which know the names of a condition.
func buildSets(of []Set, at, key string, names []string) ([]constraint.Set, error) {
	if len(of) == 0 {
		return nil, Bad(key, nil, "a list of sets")
	}
	var out []constraint.Set
	size := 0.0
	for i, s := range of {
		set, err := s.BuildGiven(fmt.Sprintf("%s.%s[%d]", at, key, i), names)
		if err != nil {
			return nil, err
		}
		out = append(out, set)
		if support := set.Capabilities().Support; support != nil {
			for _, js := range support {
				size += float64(len(js))
			}
		} else {
			size += float64(set.Dim()) * float64(len(constraint.Components(set)))
		}
		if size > maxDerivatives {
			return nil, &Error{Key: key, Fault: fmt.Sprintf(
				"the sets have more than %.0g first derivatives in all; expected fewer or smaller ones",
				maxDerivatives)}
		}
	}
	return out, nil
}

// endlessFactor: a product is unbounded where a factor is.
func endlessFactor(keys any) bool {
	for _, s := range keys.(Product).Product {
		if s.Unbounded() {
			return true
		}
	}
	return false
}
