//go:build !darwin

package run

// brand: systems but macOS have another way, or none.
func brand() string { return "" }
