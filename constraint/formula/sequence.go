package formula

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint"
)

// A Sequence is a set whose points are Steps steps, one after the other, of the coordinates State, as a file writes it.
// What a Component says, left = right, left <= right or left >= right, makes it an equality or an inequality.
type Sequence struct {
	Steps   int
	State   []string    // names of the coordinates of a step; "q[3]" is a vector of three
	Let     Definitions // they see the names of a step
	Within  []Component // of each step
	Between []Component // of each step and the next, whose value of v is next(v)
	First   []Component // of the first step
	Last    []Component // of the last step
	Given   []string    // coordinates behind the steps
}

// MaxStep bounds the coordinates of a step, and maxCoordinates those of all.
const (
	MaxStep        = 1 << 12
	maxCoordinates = 1_000_000
)

// A member is a name of State, with the place of its coordinates in a step; to is 0 of a single one.
type member struct {
	name     string
	from, to int
}

// members reads State, and names the coordinates of a step.
func (q *Sequence) members() (list []member, coordinates []string, err error) {
	for i, text := range q.State {
		m := member{name: text, from: len(coordinates)}
		if name, size, ok := strings.Cut(text, "["); !ok {
			coordinates = append(coordinates, text)
		} else {
			n, err := strconv.Atoi(strings.TrimSuffix(size, "]"))
			if err != nil || n < 1 || n > MaxStep || !strings.HasSuffix(size, "]") {
				return nil, nil, &Error{fmt.Sprintf("state[%d]", i), fmt.Errorf("%q; expected a name such as v, or "+
					"with the length of a vector, v[3], at most %d", text, MaxStep)}
			}
			m.name, m.to = name, m.from+n
			for j := range n {
				coordinates = append(coordinates, fmt.Sprintf("%s[%d]", name, j))
			}
		}
		if list = append(list, m); len(coordinates) > MaxStep {
			return nil, nil, &Error{"state", fmt.Errorf("more than %d coordinates a step", MaxStep)}
		}
	}
	if list == nil {
		return nil, nil, &Error{"state", errors.New("missing; expected the names of the coordinates of a step")}
	}
	return list, coordinates, nil
}

// scope returns that of step l, with the names of its coordinates and the definitions.
func (q *Sequence) scope(whole *expr.Scope, l, n int, state []member) (*expr.Scope, error) {
	s, x := whole.Step(l, n, q.Steps)
	for i, m := range state {
		v := x.At(m.from)
		if m.to > 0 {
			v = x.Slice(m.from, m.to)
		}
		if err := s.Define(m.name, v); err != nil {
			return nil, &Error{fmt.Sprintf("state[%d]", i), err}
		}
	}
	for _, d := range q.Let {
		if d.Make != nil { // the same in all steps
			continue
		}
		if err := s.LetStep(d.Name, d.Expr); err != nil {
			return nil, &Error{"let." + d.Name, err}
		}
	}
	return s, nil
}

// atStep puts [step] behind the first part of a name: dynamics.v is dynamics[step].v.
func atStep(name string) string {
	if i := strings.IndexAny(name, ".["); i >= 0 {
		return name[:i] + "[step]" + name[i:]
	}
	return name + "[step]"
}

// NewSequence builds the set. The error is an *Error.
func NewSequence(q Sequence) (*Set, error) {
	state, coordinates, err := q.members()
	if err != nil {
		return nil, err
	}
	n := len(coordinates)
	if most := maxCoordinates / n; q.Steps < 2 || q.Steps > most {
		return nil, &Error{"steps", fmt.Errorf("%d; expected 2 to %d steps of %d coordinates", q.Steps, most, n)}
	}
	b := NewBuilder(q.Steps*n + len(q.Given))
	whole, err := expr.NewScopeOf(b.Graph, q.Given)
	if err != nil {
		return nil, &Error{"given", err}
	}
	all := slices.DeleteFunc(slices.Clone(q.Let), func(d Definition) bool { return d.Make == nil })
	if err := all.define(whole, "let."); err != nil {
		return nil, err
	}
	var families []constraint.Family
	for _, c := range slices.Concat(q.First, q.Within, q.Between, q.Last) {
		families = append(families, constraint.Family{Name: c.Name})
	}
	if families == nil {
		return nil, &Error{"between", errors.New("missing; expected formulas in within, between, first or last")}
	}
	inequality := make([]bool, len(families))
	for l := range q.Steps {
		between, err := q.scope(whole, l, n, state)
		if err != nil {
			return nil, err
		}
		alone, family := between.Alone(), 0
		for k, list := range [][]Component{q.First, q.Within, q.Between, q.Last} {
			key, scope := []string{"first", "within", "between", "last"}[k], alone
			if key == "between" {
				scope = between
			}
			for i, c := range list {
				of := family
				if family++; key == "first" && l > 0 || key == "last" && l < q.Steps-1 {
					continue
				}
				if (scope == between || key == "within") && c.Name != "" {
					c.Name = atStep(c.Name)
				}
				h, g := len(b.equalities), len(b.inequalities)
				err := b.family(scope, nil, c, expr.Equal)
				e := (*expr.Error)(nil)
				if scope == between && l > 0 && errors.As(err, &e) && e.Message == expr.NoNext {
					continue // the sequence ends
				}
				if err != nil {
					return nil, atKey(fmt.Sprintf("%s[%d]", key, i), err)
				}
				for ; h < len(b.equalities); h++ {
					families[of].Of = append(families[of].Of, h)
				}
				for ; g < len(b.inequalities); g++ {
					families[of].Of, inequality[of] = append(families[of].Of, g), true
				}
			}
		}
	}
	s, err := b.Set()
	if err != nil {
		return nil, atKey("between", err)
	}
	for i, f := range families {
		for j := range f.Of {
			if inequality[i] { // they stand behind all equalities
				f.Of[j] += len(s.equalities)
			}
		}
	}
	s.sequence = constraint.Capabilities{Steps: q.Steps, StepDim: n, StepNames: coordinates, Families: families}
	return s, nil
}
