// Package input opens files that nobody vouches for: a device, a pipe or a file that
// is too large is refused before anything of it is read.
//
// It is not for files that a format bounds otherwise, nor for writing.
package input

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
)

// Spare makes garbage collection keep all memory within three times that of the given number of numbers, if there are
// many. The function that it returns ends that.
func Spare(numbers int) (end func()) {
	const many = 1 << 24
	limit := int64(numbers) * 8 * 3
	if numbers < many || limit > debug.SetMemoryLimit(-1) {
		return func() {}
	}
	before := debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}

// Open opens a regular file of at most the given bytes. The error is an *fs.PathError.
func Open(path string, most int64) (*os.File, error) {
	// A pipe is found before it is opened, which would wait for its other end.
	if info, err := os.Stat(path); err == nil {
		if err := fits(path, info, most); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = fits(path, info, most)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// fits returns an error unless info is that of a regular file of at most `most` bytes.
func fits(path string, info fs.FileInfo, most int64) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return refuse(path, "is a folder; expected a file")
	case !mode.IsRegular():
		return refuse(path, "is a device, a pipe or a socket; expected a regular file")
	case info.Size() > most:
		return refuse(path, "has %d bytes; expected at most %d", info.Size(), most)
	}
	return nil
}

func refuse(path, format string, v ...any) error {
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf(format, v...)}
}

// Read returns the bytes of a regular file of at most `most` bytes. The error is an *fs.PathError.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return all(f, path, most)
}

// ReadStream is Read of a file of any kind, pipes and devices included, but for a named
// pipe that nobody writes to: opening it would wait for ever.
func ReadStream(path string, most int64) ([]byte, error) {
	flags, pipe := os.O_RDONLY, false
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		flags, pipe = flags|nonblock, true
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := all(f, path, most)
	if err == nil && pipe && len(data) == 0 {
		return nil, refuse(path, "is a pipe that nobody writes to; expected a file")
	}
	return data, err
}

// all reads to the end, at most one byte too many: a file can grow, and that of a device or of /proc tells no size.
func all(f *os.File, path string, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = refuse(path, "has more than %d bytes; expected at most as many", most)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
