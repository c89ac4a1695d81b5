package problem

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
)

// setKinds are the values of set.kind.
var setKinds = []string{
	"sphere", "ellipsoid", "torus", "affine",
	"curve", "box", "simplex", "cap", "orthogonal", "special_orthogonal", "stiefel", "chain", "redundant_axis", "formula", "level-set",
}

// zooKeys refuses keys that belong to other kinds of sets.
func (p *Problem) zooKeys() error {
	s := p.Set
	s.Kind = s.kind()
	for _, k := range []struct {
		key   string
		given bool
		kinds []string
	}{
		{"dim", s.Dim != 0, []string{"sphere", "simplex", "chain", "formula"}},
		{"lower", s.Lower != nil, []string{"box"}}, {"upper", s.Upper != nil, []string{"box"}},
		{"axis", s.Axis != nil, []string{"cap"}}, {"height", s.Height != 0, []string{"cap"}},
		{"terms", s.Terms != nil, []string{"curve"}},
		{"n", s.N != 0, []string{"orthogonal", "special_orthogonal", "stiefel"}}, {"p", s.P != 0, []string{"stiefel"}},
		{"bonds", s.Bonds != nil, []string{"chain"}}, {"angles", s.Angles != nil, []string{"chain"}}, {"anchored", s.Anchored, []string{"chain"}},
	} {
		if k.given && !slices.Contains(k.kinds, s.Kind) {
			return &KeyError{Origin: p.origin["set."+k.key], Key: "set." + k.key, Fault: fmt.Sprintf("this key belongs to set.kind %s; set.kind is %q", strings.Join(k.kinds, ", "), s.Kind)}
		}
	}
	return nil
}

// zooSet builds the sets whose constructors check their own domain.
func (p *Problem) zooSet() (constraint.Set, error) {
	switch s := p.Set; s.Kind {
	case "curve":
		terms, err := p.terms()
		if err != nil {
			return nil, err
		}
		set, err := zoo.NewCurve(terms)
		return set, p.domain(err)
	case "box":
		set, err := zoo.NewBox(s.Lower, s.Upper)
		return set, p.domain(err)
	case "simplex":
		if s.Dim > maxDim {
			return nil, p.key("set.dim", s.Dim, fmt.Sprintf("a dimension of 2 to %d", maxDim))
		}
		set, err := zoo.NewSimplex(s.Dim)
		return set, p.domain(err)
	case "cap":
		set, err := zoo.NewCap(s.Axis, s.Height)
		return set, p.domain(err)
	case "orthogonal", "special_orthogonal":
		set, err := zoo.NewOrthogonal(s.N, zoo.OrthogonalOptions{Special: s.Kind == "special_orthogonal"})
		return set, p.domain(err)
	case "stiefel":
		set, err := zoo.NewStiefel(s.N, s.P)
		return set, p.domain(err)
	case "chain":
		dim := 3
		if s.Dim != 0 {
			dim = s.Dim
		}
		if dim > maxDim/(len(s.Bonds)+1) {
			return nil, p.key("set.dim", s.Dim, fmt.Sprintf("at most %d coordinates in all", maxDim))
		}
		set, err := zoo.NewChain(dim, s.Bonds, s.Angles, s.Anchored)
		return set, p.domain(err)
	case "redundant_axis":
		return zoo.RedundantAxis{}, nil
	}
	panic("problem: a kind of set that is listed and not built")
}

// domain turns a *zoo.DomainError into a *KeyError.
func (p *Problem) domain(err error) error {
	var e *zoo.DomainError
	if errors.As(err, &e) {
		return p.key("set."+e.Field, e.Value, e.Want)
	}
	return err
}

// terms reads set.terms.
func (p *Problem) terms() ([]zoo.Term, error) {
	var out []zoo.Term
	for _, row := range p.Set.Terms {
		if len(row) != 3 {
			return nil, p.key("set.terms", row, "rows (coefficient, power of x, power of y)")
		}
		for _, v := range row[1:] {
			if v != math.Trunc(v) || math.Abs(v) > 1e6 {
				return nil, p.key("set.terms", row, "powers that are whole numbers")
			}
		}
		out = append(out, zoo.Term{Coefficient: row[0], X: int(row[1]), Y: int(row[2])})
	}
	return out, nil
}

// unbounded reports whether the set's kind says that it has no uniform law.
// Curves and formulas may be either; chains that do not mix tell.
func (p *Problem) unbounded() bool {
	switch s := p.Set; s.kind() {
	case "affine", "redundant_axis":
		return true
	case "box":
		return s.Lower == nil || s.Upper == nil
	case "chain":
		return !s.Anchored
	}
	return false
}
