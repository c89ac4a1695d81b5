package run

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/landing-diffusion/landing/internal/fault"
)

// A BusyError says that another process writes a file.
type BusyError struct{ Path string }

func (e *BusyError) Error() string { return e.Path + ": another process is writing it" }

func (*BusyError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// WriteAlone is WriteStream by one process at a time: a second one gets a *BusyError. What a process left that was
// killed while it wrote is removed by the next.
func WriteAlone(path string, force bool, write func(w io.Writer) error) error {
	dir, base := filepath.Dir(path), filepath.Base(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	lock, err := lockOf(path)
	if err != nil {
		return err
	}
	defer lock.Close()
	defer os.Remove(lock.Name()) // while it is held
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+base+".tmp-") && e.Type().IsRegular() {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return WriteStream(path, force, write)
}

// lockOf holds the lock of a file that is written: a file beside it, which may have been another process's a moment
// ago and be gone.
func lockOf(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			return nil, err
		}
		if err := lockFile(f); err != nil {
			f.Close()
			return nil, &BusyError{path}
		}
		held, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if now, err := os.Stat(name); err == nil && os.SameFile(held, now) {
			return f, nil
		}
		f.Close()
	}
}
