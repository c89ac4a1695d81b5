// Package formula makes feasible sets of formulas, written in a file (Spec) or
// built in Go (Builder), with exact Jacobians and Hessian-vector products.
package formula

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/text"
)

// MaxComponents bounds the components of one set.
const MaxComponents = 1 << 14

// A Spec is a set as a file writes it.
type Spec struct {
	Dim        int         `yaml:"dim"`
	Let        Definitions `yaml:"let,omitempty"`
	Equality   []Component `yaml:"equality,omitempty"`
	Inequality []Component `yaml:"inequality,omitempty"`
	// Given names coordinates behind the Dim of x, which formulas may use.
	Given []string `yaml:"-"`
}

// A Component is one constraint, or a family of them. An equality is "left = right" or a formula that shall be 0; an
// inequality is "left <= right", "left >= right" or a formula that shall be ≤ 0. A formula that is a vector stands for
// its elements, named name[0], name[1], …
type Component struct {
	Name string `yaml:"name" doc:"for messages; of a family unit[j]"`
	// For makes a family: "j in 0..6", bounds included, or several ranges
	// "i in 0..2, j in i..2". Name and Expr can use the indices: "unit[j]".
	For  string `yaml:"for,omitempty" doc:"makes a family: j in 0..6, both ends included"`
	Expr string `yaml:"expr" doc:"left = right, left <= right, or a formula that shall be 0, or at most 0"`
}

// A Definition names a formula for those after it, or numbers from a file, which package formula does not read.
type Definition struct {
	Name, Expr string
	File       string                  // instead of Expr
	Make       func(*expr.Scope) error // instead of both: defines the name in Go
}

// Definitions are a mapping from names to formulas in YAML, in order.
type Definitions []Definition

// UnmarshalYAML reads a mapping in its order.
func (d *Definitions) UnmarshalYAML(decode func(any) error) error {
	var m yaml.MapSlice
	if err := decode(&m); err != nil {
		return err
	}
	*d = nil
	for _, item := range m {
		def := Definition{Name: fmt.Sprint(item.Key)}
		if m, ok := item.Value.(map[string]any); ok {
			def.File, _ = m["file"].(string)
		} else {
			def.Expr = fmt.Sprint(item.Value)
		}
		if _, ok := item.Value.([]any); ok {
			text, _ := json.Marshal(item.Value) // a list, as formulas write it
			def.Expr = string(text)
		}
		*d = append(*d, def)
	}
	return nil
}

// MarshalYAML writes a mapping in order.
func (d Definitions) MarshalYAML() (any, error) {
	var m yaml.MapSlice
	for _, def := range d {
		var value any = def.Expr
		if def.File != "" {
			value = map[string]string{"file": def.File}
		}
		m = append(m, yaml.MapItem{Key: def.Name, Value: value})
	}
	return m, nil
}

// An Error says which entry of a Spec is at fault.
type Error struct {
	Key string // "dim", "let.c", "equality[0].expr", …
	Err error  // an *expr.Error where a formula is at fault
}

func (e *Error) Error() string { return e.Key + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// New builds the set. The error is an *Error.
func New(spec Spec) (*Set, error) {
	if spec.Dim < 1 {
		return nil, &Error{"dim", fmt.Errorf("%d; expected the number of coordinates, at least 1", spec.Dim)}
	}
	if len(spec.Equality)+len(spec.Inequality) == 0 {
		return nil, &Error{"equality", fmt.Errorf("missing; expected at least one equality or inequality")}
	}
	b, scope, err := begin(spec.Dim, spec.Let, spec.Given)
	if err != nil {
		return nil, err
	}
	for i, c := range spec.Equality {
		if err := b.family(scope, &b.equalities, c, expr.Equal); err != nil {
			return nil, atKey(fmt.Sprintf("equality[%d]", i), err)
		}
	}
	for i, c := range spec.Inequality {
		if err := b.family(scope, &b.inequalities, c, expr.AtMost); err != nil {
			return nil, atKey(fmt.Sprintf("inequality[%d]", i), err)
		}
	}
	s, err := b.Set()
	if err != nil {
		return nil, atKey("equality", err)
	}
	return s, nil
}

// begin returns a builder of formulas over points in R^dim and given coordinates behind them, and what they can name.
func begin(dim int, let Definitions, given []string) (*Builder, *expr.Scope, error) {
	b := NewBuilder(dim + len(given))
	scope, err := expr.NewScopeOf(b.Graph, given)
	if err != nil {
		return nil, nil, &Error{"given", err}
	}
	return b, scope, let.define(scope, "let.")
}

// define adds the definitions to a scope. The error's key begins with at.
func (d Definitions) define(scope *expr.Scope, at string) error {
	for _, d := range d {
		var err error
		switch {
		case d.Make != nil:
			err = scope.Make(d.Make)
		case d.File != "":
			err = errors.New("a file stands in the let of a set alone; expected a formula")
		default:
			err = scope.Let(d.Name, d.Expr)
		}
		if err != nil {
			return &Error{at + d.Name, err}
		}
	}
	return nil
}

// atKey puts an error at a key, or its own key below that one.
func atKey(key string, err error) error {
	if e, ok := err.(*Error); ok {
		if e.Key == "" {
			return &Error{key, e.Err}
		}
		return &Error{key + "." + e.Key, e.Err}
	}
	return &Error{key, err}
}

func (b *Builder) family(scope *expr.Scope, to *[]named, c Component, kind expr.Relation) error {
	if c.Name == "" {
		return &Error{"name", fmt.Errorf("missing; expected a name for messages")}
	}
	if c.For == "" && to != nil {
		return b.one(scope, to, c.Name, c, kind)
	}
	one := func() error {
		name, err := indexed(scope, c)
		if err != nil {
			return &Error{"name", err}
		}
		return b.one(scope, to, name, c, kind)
	}
	if c.For == "" { // of a step
		return one()
	}
	err := scope.ForEach(c.For, one)
	if e, ok := err.(*expr.Error); ok {
		e.Name = c.Name
		return &Error{"for", e}
	}
	return err
}

// indexed puts the indices' values into a name: "pair[i, j+1]" → "pair[0,3]".
func indexed(scope *expr.Scope, c Component) (string, error) {
	var out strings.Builder
	rest := c.Name
	for {
		open := strings.IndexByte(rest, '[')
		if open < 0 {
			out.WriteString(rest)
			return out.String(), nil
		}
		closing := strings.IndexByte(rest[open:], ']')
		if closing < 0 {
			return "", &expr.Error{Formula: c.Name, From: len([]rune(c.Name)), Message: "expected a closing ]"}
		}
		out.WriteString(rest[:open+1])
		for i, part := range strings.Split(rest[open+1:open+closing], ",") {
			n, err := scope.Index(part)
			if err != nil {
				return "", err
			}
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(strconv.Itoa(n))
		}
		out.WriteByte(']')
		rest = rest[open+closing+1:]
	}
}

func (b *Builder) one(scope *expr.Scope, to *[]named, name string, c Component, kind expr.Relation) error {
	v, relation, err := scope.Relation(c.Expr)
	if err != nil {
		err.(*expr.Error).Name = name
		return &Error{"expr", err}
	}
	if to == nil { // the relation says which
		switch to = &b.equalities; relation {
		case expr.None:
			return &Error{"expr", &expr.Error{Name: name, Message: "a value alone; expected left = right, " +
				"left <= right or left >= right"}}
		case expr.AtMost, expr.AtLeast:
			to, kind = &b.inequalities, expr.AtMost
		}
	}
	switch {
	case relation == expr.None || relation == kind:
	case kind == expr.None:
		return &Error{"expr", &expr.Error{Name: name, Message: "a relation stands where a number is observed; " +
			"expected a formula"}}
	case relation == expr.AtLeast && kind == expr.AtMost:
		v = v.Neg()
	case kind == expr.Equal:
		return &Error{"expr", &expr.Error{Name: name, Message: "an inequality stands under equality; expected " +
			"left = right"}}
	default:
		return &Error{"expr", &expr.Error{Name: name, Message: "an equation stands under inequality; expected " +
			"left <= right"}}
	}
	if err := b.add(to, name, v); err != nil {
		return &Error{"name", err}
	}
	return nil
}

// A Builder collects constraints that are built in Go. Formulas come from its Graph.
type Builder struct {
	*expr.Graph
	equalities, inequalities []named
	taken                    map[string]bool
	many                     string // what the names name, for messages
}

type named struct {
	name  string
	value expr.Value
}

// NewBuilder returns a builder of sets in R^dim.
func NewBuilder(dim int) *Builder {
	return &Builder{Graph: expr.NewGraph(dim), taken: map[string]bool{}, many: "constraints"}
}

// Equality adds v = 0; a vector or matrix adds its elements, named name[0], … A name that is taken panics.
func (b *Builder) Equality(name string, v expr.Value) {
	if err := b.add(&b.equalities, name, v); err != nil {
		panic("formula: " + err.Error())
	}
}

// Inequality adds v ≤ 0, likewise.
func (b *Builder) Inequality(name string, v expr.Value) {
	if err := b.add(&b.inequalities, name, v); err != nil {
		panic("formula: " + err.Error())
	}
}

func (b *Builder) add(to *[]named, name string, v expr.Value) error {
	for i := range v.Size() {
		n := name
		if !v.IsScalar() {
			n = fmt.Sprintf("%s[%d]", name, i)
		}
		if b.taken[n] {
			return fmt.Errorf("%q names two %s; with for, the name has the indices: \"%s[i]\"", n, b.many, name)
		}
		if len(b.taken) == MaxComponents {
			return fmt.Errorf("%q: more than %d %s", n, MaxComponents, b.many)
		}
		b.taken[n] = true
		*to = append(*to, named{n, v.Element(i)})
	}
	return nil
}

const (
	probes  = 9  // points at which gradients are measured
	unusual = 20 // binary orders of magnitude from 1: absolute tolerances mean something within
)

// rescale multiplies each value whose gradient is unusually large or small at all probes, and about alike, by a power
// of two that makes it usual. So tolerances mean the same in any unit of a constraint. It reports whether there is any.
func (b *Builder) rescale(values []expr.Value, p *expr.Program) (any bool) {
	d := b.Dim()
	support, size := p.Support(), 0
	for _, js := range support {
		size += len(js)
	}
	x, val, jac := make([]float64, d), make([]float64, len(values)), make([]float64, size)
	lo, hi := make([]int, len(values)), make([]int, len(values))
	eval := p.NewEvaluator()
	for k := range probes {
		for j := range x { // spread over [−3/2, 3/2]
			_, part := math.Modf(float64(k*d+j+1) * math.Phi)
			x[j] = 3 * (part - 0.5)
		}
		eval.SparseJacobians(val, jac, x, 1)
		rest := jac
		for i := range values {
			size := dense.Largest(rest[:len(support[i])])
			rest = rest[len(support[i]):]
			if _, e := math.Frexp(size); size > 0 && size <= math.MaxFloat64 {
				if lo[i] == 0 && hi[i] == 0 {
					lo[i], hi[i] = e, e
				}
				lo[i], hi[i] = min(lo[i], e), max(hi[i], e)
			}
		}
	}
	for i, v := range values {
		if (lo[i] > unusual || hi[i] < -unusual) && hi[i]-lo[i] < unusual {
			values[i], any = v.Mul(b.Const(math.Ldexp(1, -hi[i]))), true
		}
	}
	return any
}

// Set compiles the constraints. The error is an *expr.Error: they are too large.
func (b *Builder) Set() (*Set, error) {
	s := &Set{dim: b.Dim()}
	var values []expr.Value
	for _, e := range b.equalities {
		s.equalities, values = append(s.equalities, e.name), append(values, e.value)
	}
	for _, e := range b.inequalities {
		s.inequalities, values = append(s.inequalities, e.name), append(values, e.value)
	}
	p, err := b.Compile(values...)
	if err != nil {
		return nil, err
	}
	if b.rescale(values, p) {
		if p, err = b.Compile(values...); err != nil {
			return nil, err
		}
	}
	if err := p.Second(); err != nil {
		return nil, err
	}
	s.Program, s.support = p, p.Support()
	return s, nil
}

// Set is a feasible set of formulas. Values, Jacobians, SparseJacobians and HessianVectors are those of its Program.
type Set struct {
	*expr.Program
	dim                      int
	equalities, inequalities []string
	support                  [][]int
	sequence                 constraint.Capabilities // of one
}

func (s *Set) String() string {
	of := "set of formulas"
	if q := s.sequence; q.Steps > 0 {
		of = fmt.Sprintf("sequence of %d steps of %d coordinates", q.Steps, q.StepDim)
	}
	return fmt.Sprintf("%s in R^%d with %s and %s", of, s.dim,
		text.Counted(len(s.equalities), "equality", "equalities"),
		text.Counted(len(s.inequalities), "inequality", "inequalities"))
}

// few operations of a component go without saying (constraint.Capabilities.Work).
const few = 4000

func (s *Set) Capabilities() constraint.Capabilities {
	_, work := s.Operations()
	c := s.sequence
	c.Name, c.Support, c.Fault = s.String(), s.support, s.Fault
	c.Formulas = s.On
	c.Work = max(0, float64(work)-few*float64(len(s.equalities)+len(s.inequalities)))
	return c
}

func (s *Set) NewEvaluator(int) constraint.Evaluator {
	e := s.Program.NewEvaluator()
	out := constraint.Evaluator{
		Values: e.Values, Jacobians: e.Jacobians, HessianVectors: e.HessianVectors, SparseJacobians: e.SparseJacobians,
	}
	if len(s.support)*s.dim > constraint.FewProducts {
		out.SparseHessianVectors = e.SparseHessianVectors
	}
	return out
}

// Dim returns d.
func (s *Set) Dim() int { return s.dim }

// Equalities returns the names of h.
func (s *Set) Equalities() []string { return s.equalities }

// Inequalities returns the names of g.
func (s *Set) Inequalities() []string { return s.inequalities }

// Fault is as in constraint.Capabilities; the error names the component and the operation.
func (s *Set) Fault(x []float64) error {
	for i, name := range constraint.Components(s) {
		if f := s.Program.Fault(x, i); f != nil {
			return fmt.Errorf("constraint %q: %w", name, f)
		}
	}
	return nil
}
