//go:build !unix && !windows

package processor

// Measured reports whether Seconds is known on this system.
const Measured = false

// Seconds returns the processor time that this process has used, of all its threads; 0 where it is not Measured.
func Seconds() float64 { return 0 }
