package sets

import (
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
)

const (
	// MaxDepth bounds how deep sets are nested in a file.
	MaxDepth = 8
	// maxDerivatives bounds the first derivatives of a compound at one point.
	maxDerivatives float64 = 3e6
)

// Product is a product of sets, each with coordinates of its own, one after the other.
type Product struct {
	Product []Set    `yaml:"product,omitempty" doc:"the factors, each a set as under set"`
	Names   []string `yaml:"names,omitempty" doc:"of the factors, for names of components; their numbers unless given"`
}

func product(k Product, at string) (constraint.Set, error) {
	factors, err := within(k.Product, at, "product", nil)
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

func all(k Intersection, at string) (constraint.Set, error) { return givenAll(k, at, nil) }

func givenAll(keys any, at string, names []string) (constraint.Set, error) {
	of := keys.(Intersection).All
	if names == nil {
		names = heldBy(of, at)
	}
	inner, err := within(of, at, "all", names)
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

// within makes the sets under a key, which know the names of a condition.
func within(of []Set, at, key string, names []string) ([]constraint.Set, error) {
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
