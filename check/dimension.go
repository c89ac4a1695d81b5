package check

import "fmt"

// dimension compares the number of equations with the number of unknowns.
func dimension(s *subject) []Finding {
	numbers := Numbers{"d": float64(s.d), "m": float64(s.m), "l": float64(s.c - s.m)}
	if s.m > s.d {
		return []Finding{{Status: Warn, Numbers: numbers, Message: fmt.Sprintf(
			"m = %d equalities in R^%d: at least %d of them are redundant, or nothing satisfies all", s.m, s.d, s.m-s.d)}}
	}
	if s.m == s.d {
		return []Finding{{Status: Warn, Numbers: numbers, Message: fmt.Sprintf(
			"m = %d equalities in R^%d: unless some are redundant, Σ is isolated points and nothing can move on it", s.m, s.d)}}
	}
	return []Finding{{Status: Pass, Numbers: numbers, Message: fmt.Sprintf("m = %d in R^%d leaves room to move", s.m, s.d)}}
}
