package check

import (
	"fmt"
)

// dimension compares the number of equations with the number of unknowns.
func dimension(e *Evidence) []Finding {
	d := e.D - len(e.Set.Capabilities().Held) // what is given does not move
	numbers := Numbers{"d": float64(d), "m": float64(e.M), "l": float64(e.C - e.M)}
	if e.M > d {
		return []Finding{{Status: Warn, Numbers: numbers, Message: fmt.Sprintf(
			"m = %d equalities in R^%d: at least %d of them are redundant, or nothing satisfies all",
			e.M, d, e.M-d)}}
	}
	if e.M == d {
		return []Finding{{Status: Warn, Numbers: numbers, Message: fmt.Sprintf(
			"m = %d equalities in R^%d: unless some are redundant, Σ is isolated points and nothing can move on it",
			e.M, d)}}
	}
	return []Finding{{Status: Pass, Numbers: numbers,
		Message: fmt.Sprintf("m = %d in R^%d leaves room to move", e.M, d)}}
}
