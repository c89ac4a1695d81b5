package check

// dimension compares the number of equations with the number of unknowns.
func dimension(e *Evidence) []Finding {
	d := e.D - len(e.Set.Capabilities().Held) // what is given does not move
	f := Finding{Numbers: Numbers{"d": float64(d), "m": float64(e.M), "l": float64(e.C - e.M)}}
	switch {
	case e.M > d:
		f.say(Warn, "m = %d equalities in R^%d: at least %d of them are redundant, or nothing satisfies all", e.M, d,
			e.M-d)
	case e.M == d:
		f.say(Warn, "m = %d equalities in R^%d: unless some are redundant, Σ is isolated points and nothing can move "+
			"on it", e.M, d)
	default:
		f.say(Pass, "m = %d in R^%d leaves room to move", e.M, d)
	}
	return []Finding{f}
}
