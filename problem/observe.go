package problem

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Observe is a number of a point, by a formula, whose law is compared between data and
// samples; or with for, a family of them.
type Observe struct {
	Name string              `yaml:"name"`
	For  string              `yaml:"for,omitempty"`
	Let  formula.Definitions `yaml:"let,omitempty"` // for this entry and those after it
	Expr string              `yaml:"expr"`
	Unit string              `yaml:"unit,omitempty"` // for labels

	// Range is that of the histogram: by default the data's, and a tenth of it on both
	// sides. Of a Circular number it is one period, by default [−π, π).
	Range    []float64 `yaml:"range,omitempty"`
	Bins     int       `yaml:"bins,omitempty" bounds:"[0,10000]"` // default 60
	Circular bool      `yaml:"circular,omitempty"`
}

const (
	maxObservables = 64
	maxBins        = 10_000
)

// Observables returns the numbers that the problem observes of points in R^dim, or
// nil. Those without a range have none yet. The error is a *KeyError.
func (p *Problem) Observables(dim int) (*domain.Observables, error) {
	if len(p.Observe) == 0 {
		return nil, nil
	}
	var entries []formula.Entry
	for i, o := range p.Observe {
		if err := o.check(p.origins, fmt.Sprintf("observe[%d]", i)); err != nil {
			return nil, err
		}
		entries = append(entries, formula.Entry{Component: formula.Component{Name: o.Name, For: o.For, Expr: o.Expr},
			Let: o.Let})
	}
	numbers, err := formula.NewNumbers(p.Condition.Free(dim), p.Set.Definitions(), entries, p.Condition.Columns...)
	if err != nil {
		var e *formula.Error
		if !errors.As(err, &e) {
			return nil, err
		}
		key := "observe" + e.Key
		return nil, p.fault(key, "%v", e.Err)
	}
	if n := len(numbers.Names); n > maxObservables {
		return nil, p.fault("observe", "%d numbers in all; expected at most %d", n, maxObservables)
	}
	out := &domain.Observables{Values: numbers.Values}
	for k, name := range numbers.Names {
		o := p.Observe[numbers.Entry[k]]
		v := domain.Observable{Name: name, Unit: o.Unit, File: fmt.Sprintf("observe-%d%s", k+1, slug(name)),
			Bins: metric.Bins{N: cmp.Or(o.Bins, domain.DefaultBins), Circular: o.Circular}}
		switch {
		case o.Range != nil:
			v.Lo, v.Hi = o.Range[0], o.Range[1]
		case o.Circular:
			v.Lo, v.Hi = -math.Pi, math.Pi
		}
		out.List = append(out.List, v)
	}
	return out, nil
}

// check checks what is no formula in an entry.
func (o Observe) check(from origins, key string) error {
	if o.Range != nil && (len(o.Range) != 2 || !(o.Range[0] < o.Range[1]) || math.IsInf(o.Range[1]-o.Range[0], 0)) {
		return from.key(key+".range", o.Range, "two numbers, the smaller first")
	}
	if o.Bins < 0 || o.Bins > maxBins {
		return from.key(key+".bins", o.Bins, fmt.Sprintf("a number in [1, %d]", maxBins))
	}
	for _, text := range []string{o.Name, o.Unit} {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return from.key(key+".name", text, "one line of printable text")
		}
	}
	return nil
}

// slug is a name as part of a file's.
func slug(name string) string {
	var b strings.Builder
	gap := true
	for _, r := range strings.ToLower(name) {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = true
			continue
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		if b.WriteRune(r); b.Len() > 40 {
			break
		}
	}
	return b.String()
}
