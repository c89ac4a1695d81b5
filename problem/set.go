package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
)

// kind returns the kind that was written, or formula where formulas were.
func (s Set) kind() string {
	if s.Kind == "" && (s.Let != nil || s.Equality != nil || s.Inequality != nil) {
		return "formula"
	}
	return s.Kind
}

func (p *Problem) set() (constraint.Set, error) {
	s := p.Set
	s.Kind = s.kind()
	if s.Kind == "" {
		return nil, p.key("set.kind", nil, "formulas in set.equality or set.inequality, or one of "+strings.Join(setKinds, ", "))
	}
	if err := p.oneOf("set.kind", s.Kind, setKinds...); err != nil {
		return nil, err
	}
	for _, k := range []struct {
		key, kind string
		given     bool
	}{
		{"set.let", "formula", s.Let != nil}, {"set.equality", "formula", s.Equality != nil}, {"set.inequality", "formula", s.Inequality != nil},
		{"set.radius", "sphere", s.Radius != 0}, {"set.axes", "ellipsoid", s.Axes != nil},
		{"set.major", "torus", s.Major != 0}, {"set.minor", "torus", s.Minor != 0}, {"set.a", "affine", s.A != nil}, {"set.b", "affine", s.B != nil},
		{"set.weights", "level-set", s.Weights != ""}, {"set.mesh", "level-set", s.Mesh != ""},
	} {
		if k.given && s.Kind != k.kind {
			return nil, &KeyError{Origin: p.origin[k.key], Key: k.key, Fault: fmt.Sprintf("this key belongs to set.kind %s; set.kind is %q", k.kind, s.Kind)}
		}
	}
	if err := p.zooKeys(); err != nil {
		return nil, err
	}
	switch s.Kind {
	case "formula":
		return p.formulas()
	case "sphere":
		if s.Dim < 1 || s.Dim > maxDim {
			return nil, p.key("set.dim", s.Dim, fmt.Sprintf("a dimension of 1 to %d", maxDim))
		}
		if s.Radius < 0 {
			return nil, p.key("set.radius", s.Radius, "a radius above 0")
		}
		return zoo.Sphere{D: s.Dim, R: s.Radius}, nil
	case "ellipsoid":
		if len(s.Axes) == 0 {
			return nil, p.key("set.axes", s.Axes, "a list of semi-axes")
		}
		for _, a := range s.Axes {
			if !(a > 0) {
				return nil, p.key("set.axes", s.Axes, "semi-axes above 0")
			}
		}
		return zoo.Ellipsoid{Axes: s.Axes}, nil
	case "torus":
		if !(s.Minor > 0) {
			return nil, p.key("set.minor", s.Minor, "a radius above 0")
		}
		if !(s.Major > s.Minor) {
			return nil, p.key("set.major", s.Major, fmt.Sprintf("a radius above set.minor = %v", s.Minor))
		}
		return zoo.Torus{Major: s.Major, Minor: s.Minor}, nil
	case "affine":
		if len(s.A) == 0 || len(s.A[0]) == 0 {
			return nil, p.key("set.a", s.A, "a list of rows, one an equation")
		}
		for _, row := range s.A {
			if len(row) != len(s.A[0]) {
				return nil, p.key("set.a", row, fmt.Sprintf("rows of equal length, as the first with %d numbers", len(s.A[0])))
			}
			if !slices.ContainsFunc(row, func(v float64) bool { return v != 0 }) {
				return nil, p.key("set.a", row, "rows that are not zero")
			}
		}
		if len(s.B) != len(s.A) {
			return nil, p.key("set.b", s.B, fmt.Sprintf("%d right-hand sides, one a row of set.a", len(s.A)))
		}
		return zoo.Affine{A: s.A, B: s.B}, nil
	case "level-set":
		return p.levelSet()
	}
	return p.zooSet()
}

// formulas builds a set of formulas.
func (p *Problem) formulas() (constraint.Set, error) {
	s := p.Set
	if s.Dim < 1 || s.Dim > maxDim {
		return nil, p.key("set.dim", s.Dim, fmt.Sprintf("a dimension of 1 to %d", maxDim))
	}
	set, err := formula.New(formula.Spec{Dim: s.Dim, Let: s.Let, Equality: s.Equality, Inequality: s.Inequality})
	if err != nil {
		var e *formula.Error
		if !errors.As(err, &e) {
			return nil, err
		}
		key := "set." + e.Key
		return nil, &KeyError{Origin: p.where(key), Key: key, Fault: e.Err.Error()}
	}
	return set, nil
}
