package problem

import (
	"errors"
	"fmt"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint"
)

// Condition is numbers that are given with a point: the network learns the law of points for each value of them.
type Condition struct {
	Columns []string `yaml:"columns,omitempty"`             // their names; of the data's columns, or of those of Path
	Path    string   `yaml:"path,omitempty"`                // a file of their own, a row a point
	Drop    float64  `yaml:"drop,omitempty" bounds:"[0,1)"` // share of training terms without them, for guidance
}

const conditionKey = "condition.path"

// maxColumns bounds the numbers of a condition.
const maxColumns = 256

// check returns a *KeyError if there is no such condition on a set, or no such guidance by it.
func (c Condition) check(o origins, set constraint.Set, guidance float64) error {
	held := len(set.Capabilities().Held)
	if held != len(c.Columns) {
		return o.key(KeyConditionColumns, c.Columns, fmt.Sprintf("%d names: %s leaves as many numbers to a condition",
			held, constraint.Name(set)))
	}
	if held == 0 {
		switch {
		case c.Path != "":
			return o.key(KeyConditionColumns, nil, "names of the columns of "+c.Path)
		case c.Drop != 0:
			return o.key("condition.drop", c.Drop, "no such key: there is no condition (condition.columns)")
		case guidance != 0:
			return o.key(KeyGenerateGuidance, guidance, "0: there is no condition to be guided by")
		}
		return nil
	}
	for k, at := range set.Capabilities().Held {
		if want := set.Dim() - held + k; at != want {
			return o.key("set", nil, fmt.Sprintf("a set whose open numbers stand last, such as a product with "+
				"the factor that has them at its end: coordinate %d of %s is one, and others follow",
				at, constraint.Name(set)))
		}
	}
	if guidance != 0 && c.Drop == 0 {
		return o.key(KeyGenerateGuidance, guidance, "0, or training with condition.drop above 0: this network has "+
			"not learned to do without the condition")
	}
	return nil
}

// checkNames returns a *KeyError if a name is none that formulas can use.
func (c Condition) checkNames(o origins) error {
	names := c.Columns
	if len(names) > maxColumns {
		return o.key(KeyConditionColumns, len(names), fmt.Sprintf("at most %d names", maxColumns))
	}
	var fault *expr.Error
	if _, err := expr.NewScopeOf(expr.NewGraph(len(names)), names); errors.As(err, &fault) {
		return o.fault(KeyConditionColumns, "%q: %s", fault.Name, fault.Message)
	}
	return nil
}

// Free returns the number of coordinates before the condition of points in R^dim.
func (c Condition) Free(dim int) int { return dim - len(c.Columns) }
