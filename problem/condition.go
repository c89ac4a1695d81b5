package problem

import (
	"errors"
	"fmt"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint"
)

// Condition is numbers that are given with a point: the network learns the law of points for each value of them.
type Condition struct {
	Columns []string `yaml:"columns,omitempty"` // their names; of the data's columns, or of those of Path
	Path    string   `yaml:"path,omitempty"`    // a file of their own, a row a point
	Drop    float64  `yaml:"drop,omitempty"`    // share of training terms that do not see them, for guidance
}

const conditionKey = "condition.path"

// maxColumns bounds the numbers of a condition.
const maxColumns = 256

// checkCondition returns a *KeyError if there is no such condition on a set. Names are those that formulas can use.
func (p *Problem) checkCondition(set constraint.Set) error {
	c := p.Condition
	held := len(set.Capabilities().Held)
	if len(c.Columns) == 0 {
		switch {
		case held > 0:
			return p.key(KeyConditionColumns, nil, fmt.Sprintf("%d names: %s leaves as many numbers to a condition",
				held, constraint.Name(set)))
		case c.Path != "":
			return p.key(KeyConditionColumns, nil, "names of the columns of "+c.Path)
		case c.Drop != 0:
			return p.key("condition.drop", c.Drop, "no such key: there is no condition (condition.columns)")
		case p.Generate.Guidance != 0:
			return p.key(KeyGenerateGuidance, p.Generate.Guidance, "0: there is no condition to be guided by")
		}
		return nil
	}
	if held != len(c.Columns) {
		return p.key(KeyConditionColumns, c.Columns, fmt.Sprintf("%d names: %s leaves as many numbers to a condition",
			held, constraint.Name(set)))
	}
	for k, at := range set.Capabilities().Held {
		if want := set.Dim() - held + k; at != want {
			return p.key("set", nil, fmt.Sprintf("a set whose open numbers stand last, such as a product with "+
				"the factor that has them at its end: coordinate %d of %s is one, and others follow",
				at, constraint.Name(set)))
		}
	}
	if !(c.Drop >= 0 && c.Drop < 1) {
		return p.key("condition.drop", c.Drop, "a share of at least 0 and below 1")
	}
	if w := p.Generate.Guidance; !(w >= -1 && w <= 100) {
		return p.key(KeyGenerateGuidance, w, "a number in [-1, 100]")
	} else if w != 0 && c.Drop == 0 {
		return p.key(KeyGenerateGuidance, w, "0, or training with condition.drop above 0: this network has not "+
			"learned to do without the condition")
	}
	return nil
}

// checkNames returns a *KeyError if the condition's names are no names.
func (p *Problem) checkNames() error {
	names := p.Condition.Columns
	if len(names) > maxColumns {
		return p.key(KeyConditionColumns, len(names), fmt.Sprintf("at most %d names", maxColumns))
	}
	var fault *expr.Error
	if _, err := expr.NewScopeOf(expr.NewGraph(len(names)), names); errors.As(err, &fault) {
		return p.fault(KeyConditionColumns, "%q: %s", fault.Name, fault.Message)
	}
	return nil
}

// Given returns the names of the condition that comes with points, and Free the number of
// coordinates before it of points in R^dim.
func (p *Problem) Given() []string { return p.Condition.Columns }

// Free is as Given says.
func (p *Problem) Free(dim int) int { return dim - len(p.Condition.Columns) }
