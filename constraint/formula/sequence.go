package formula

import (
	"errors"
	"fmt"
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

// A member is a name of State, with the place of its coordinates in a step.
type member struct {
	name     string
	from, to int
	vector   bool
}

// members reads State, and names the coordinates of a step.
func (q *Sequence) members() (list []member, coordinates []string, err error) {
	for i, text := range q.State {
		m := member{name: text, from: len(coordinates), to: len(coordinates) + 1}
		if name, size, ok := strings.Cut(text, "["); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(size, "]"))
			if err != nil || n < 1 || n > MaxStep || !strings.HasSuffix(size, "]") {
				return nil, nil, &Error{fmt.Sprintf("state[%d]", i), fmt.Errorf("%q; expected a name such as v, or "+
					"with the length of a vector, v[3], at most %d", text, MaxStep)}
			}
			m.name, m.to, m.vector = name, m.from+n, true
			for j := range n {
				coordinates = append(coordinates, fmt.Sprintf("%s[%d]", name, j))
			}
		} else {
			coordinates = append(coordinates, text)
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
	s := whole.Step(l, n, q.Steps)
	x, err := s.Parse("x")
	if err != nil {
		return nil, &Error{"state", err}
	}
	for i, m := range state {
		v := x.Slice(m.from, m.to)
		if !m.vector {
			v = v.At(0)
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
	for _, d := range q.Let {
		if d.Make != nil {
			if err := whole.Make(d.Make); err != nil {
				return nil, &Error{"let." + d.Name, err}
			}
		}
	}
	lists := []struct {
		key   string
		of    []Component
		first int // family
	}{{"first", q.First, 0}, {"within", q.Within, 0}, {"between", q.Between, 0}, {"last", q.Last, 0}}
	var families []constraint.Family
	for i := range lists {
		lists[i].first = len(families)
		for _, c := range lists[i].of {
			families = append(families, constraint.Family{Name: c.Name})
		}
	}
	if len(families) == 0 {
		return nil, &Error{"between", errors.New("missing; expected formulas in within, between, first or last")}
	}
	rest := make([]int, len(families)) // how many components of each family, its last, are inequalities
	for l := range q.Steps {
		between, err := q.scope(whole, l, n, state)
		if err != nil {
			return nil, err
		}
		alone := between.Alone()
		for k, list := range lists {
			scope := alone
			switch {
			case k == 0 && l > 0, k == 3 && l < q.Steps-1:
				continue
			case k == 2:
				scope = between
			}
			for i, c := range list.of {
				if k == 1 || k == 2 {
					c.Name = atStep(c.Name)
				}
				h, g := len(b.equalities), len(b.inequalities)
				err := b.family(scope, nil, c, expr.Equal)
				if e := (*expr.Error)(nil); k == 2 && l > 0 && errors.As(err, &e) && e.Message == expr.NoNext {
					continue // the sequence ends
				}
				if err != nil {
					return nil, within(fmt.Sprintf("%s[%d]", list.key, i), err)
				}
				f := &families[list.first+i]
				for ; h < len(b.equalities); h++ {
					f.Of = append(f.Of, h)
				}
				for ; g < len(b.inequalities); g++ {
					f.Of, rest[list.first+i] = append(f.Of, g), rest[list.first+i]+1
				}
			}
		}
	}
	s, err := b.Set()
	if err != nil {
		return nil, within("between", err)
	}
	for i, f := range families {
		for j := len(f.Of) - rest[i]; j < len(f.Of); j++ {
			f.Of[j] += len(s.equalities)
		}
	}
	s.sequence = constraint.Capabilities{Steps: q.Steps, StepDim: n, StepNames: coordinates, Families: families}
	return s, nil
}
