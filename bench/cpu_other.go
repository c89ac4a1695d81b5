//go:build !unix

package bench

// CPU is 0: processor time is not measured here.
func CPU() float64 { return 0 }
