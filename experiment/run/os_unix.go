//go:build unix

package run

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// umask is the process's, read once; temporary files start without it.
var umask = func() fs.FileMode {
	m := syscall.Umask(0o022)
	syscall.Umask(m)
	return fs.FileMode(m)
}()

func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// lockHeld tells whether another open file holds the lock, by asking for a share of it for an instant.
func lockHeld(f *os.File) Occupied {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	switch {
	case err == nil:
		return NotHeld
	case errors.Is(err, syscall.EWOULDBLOCK):
		return Held
	}
	return Unknown
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
