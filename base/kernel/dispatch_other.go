//go:build !amd64 && !arm64

package kernel

func available() []*impl { return nil }

// double returns the float64 loops of the active instruction set: none.
func double() *doubles { return nil }
