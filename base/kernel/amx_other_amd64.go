//go:build !linux

package kernel

// permitTiles reports that this system saves no tiles, as far as is known here.
func permitTiles() bool { return false }
