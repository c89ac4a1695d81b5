package zoo

import (
	"fmt"
	"math"
)

// A DomainError says that a set cannot be made of what it was given.
type DomainError struct {
	Set   string // kind of set
	Param string // of the constructor
	Value any
	Want  string
}

func (e *DomainError) Error() string {
	return fmt.Sprintf("%s: %s is %v; want %s", e.Set, e.Param, e.Value, e.Want)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func allFinite(v []float64) bool {
	for _, x := range v {
		if !finite(x) {
			return false
		}
	}
	return true
}
