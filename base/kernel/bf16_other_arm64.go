//go:build !linux && !darwin

package kernel

// hasBF16 reports whether the processor has BFMMLA: not to be asked on this system.
func hasBF16() bool { return false }
