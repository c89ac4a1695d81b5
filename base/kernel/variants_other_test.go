//go:build !amd64

package kernel

func implementations() []*impl { return append(available(), nil) }
