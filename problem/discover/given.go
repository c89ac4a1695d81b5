package discover

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/internal/fault"
)

// An Inequality is g(x) ≤ 0 that was given, on the rows.
type Inequality struct {
	Name, Expr string
	Outside    int     // rows that violate it
	Worst      float64 // by how much at most
	Least      float64 // how far inside the nearest row is that does not
	First      []int   // the first rows that violate it
}

// Given says of a kind that the user gave the formula.
const Given = "given"

// A GivenError says that a formula that was given is none, or has no value on a row.
type GivenError struct {
	Formula string
	Row     int // −1: it is about no row
	Err     error
}

func (e *GivenError) Error() string {
	if e.Row >= 0 {
		return fmt.Sprintf("formula %q at row %d (from 0): %v", e.Formula, e.Row, e.Err)
	}
	return fmt.Sprintf("formula %q: %v", e.Formula, e.Err)
}

func (*GivenError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

func (e *GivenError) Unwrap() error { return e.Err }

// given measures a formula: an equality becomes a relation, which is taken if it holds.
func (s *search) given(text string) error {
	name := fmt.Sprintf("given_%d", len(s.asked)+len(s.unequal)+1)
	spec := formula.Spec{Dim: s.D, Equality: []formula.Component{{Name: name, Expr: text}}}
	set, err := formula.New(spec)
	unequal := false
	if err != nil {
		spec.Equality, spec.Inequality = nil, spec.Equality
		other, also := formula.New(spec)
		if also != nil {
			return &GivenError{text, -1, err}
		}
		set, unequal = other, true
	}
	if n := len(set.Equalities()) + len(set.Inequalities()); n != 1 {
		return &GivenError{text, -1, fmt.Errorf("it stands for %d numbers; expected one", n)}
	}
	h := make([]float64, 1)
	e := set.NewEvaluator(1)
	q := Inequality{Name: name, Expr: text, Least: math.Inf(1)}
	for i := range s.N {
		x := s.row(i)
		e.Values(h, x, 1)
		switch v := h[0]; {
		case v-v != 0:
			if err := set.Fault(x); err != nil {
				return &GivenError{text, i, err}
			}
			return &GivenError{text, i, fmt.Errorf("its value is %v; expected a finite one", v)}
		case v > 0:
			if q.Outside++; len(q.First) < maxExceptions {
				q.First = append(q.First, i)
			}
			q.Worst = max(q.Worst, v)
		default:
			q.Least = min(q.Least, -v)
		}
	}
	if unequal {
		s.unequal = append(s.unequal, q)
		return nil
	}
	r := &Relation{Kind: Given, Name: name, Expr: text}
	part := []*Relation{r}
	own := s.compile(part)
	s.measureOn(part, own, s.all, s.held)
	s.span.gradients(part, own)
	s.asked = append(s.asked, r)
	r.Exact = r.Exact || r.Rounded
	if r.Exact && s.span.add(r, dependent) {
		s.exact = append(s.exact, r)
	} else if r.Exact {
		s.follow++
	}
	return nil
}
