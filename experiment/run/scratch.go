package run

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// young is how long a folder is left alone that nobody holds: its process makes it first, and then locks it.
const young = time.Minute

// Scratch makes a folder of this process's own in parent, whose name begins with prefix, holds its lock, and removes
// those of processes that are no more. Where nobody can tell whether a process holds a folder, it stays.
func Scratch(parent, prefix string) (*Folder, error) {
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		old := &Folder{Dir: filepath.Join(parent, e.Name())}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < young || old.Busy() != NotHeld {
			continue
		}
		if err := os.RemoveAll(old.Dir); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(parent, prefix+"*")
	if err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir}
	if err := f.Lock(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return f, nil
}

// Drop removes a folder of Scratch.
func (f *Folder) Drop() error {
	f.Unlock()
	return os.RemoveAll(f.Dir)
}
