package input

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	testkit.OK(t, os.WriteFile(file, []byte("12345"), 0o666))
	if data, err := Read(file, 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	for _, c := range []struct {
		path string
		most int64
		want string
	}{
		{file, 4, "has 5 bytes; expected at most 4"},
		{dir, 4, "is a folder; expected a file"},
		{filepath.Join(dir, "nosuch"), 4, "no such file"},
		{"/dev/zero", 4, "is a device, a pipe or a socket; expected a regular file"},
	} {
		if _, err := os.Stat(c.path); err != nil && strings.HasPrefix(c.path, "/dev") {
			continue
		}
		var e *fs.PathError
		if _, err := Read(c.path, c.most); !errors.As(err, &e) || e.Path != c.path ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
}

// An endless stream is read to its limit and no further; a pipe that ends is read.
func TestReadStream(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip(err)
	}
	testkit.Refused(t, testkit.Err(ReadStream("/dev/zero", 100)), "/dev/zero: has more than 100 bytes")
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	testkit.Must(w.WriteString("name: x"))
	testkit.OK(t, w.Close())
	defer r.Close()
	path := filepath.Join("/dev/fd", strconv.Itoa(int(r.Fd())))
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	if data, err := ReadStream(path, 100); err != nil || string(data) != "name: x" {
		t.Errorf("%q, %v", data, err)
	}
}
