//go:build !unix

package run

import (
	"io/fs"
	"os"
)

const umask fs.FileMode = 0o022

// lockFile: without advisory locks, two processes on one run are not noticed.
func lockFile(*os.File) error { return nil }

func lockHeld(*os.File) Occupied { return Unknown }

// syncDir: directories cannot be synced here.
func syncDir(string) error { return nil }
