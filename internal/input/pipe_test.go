//go:build unix

package input

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// A pipe that nobody writes to is refused at once; what a writer sends is read to its end, however late.
func TestPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	type result struct {
		data []byte
		err  error
	}
	read := func() chan result {
		c := make(chan result, 1)
		go func() {
			data, err := ReadStream(path, 10)
			c <- result{data, err}
		}()
		return c
	}
	select {
	case r := <-read():
		if r.err == nil || !strings.Contains(r.err.Error(), path+": is a pipe that nobody writes to") {
			t.Errorf("%q, %v", r.data, r.err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("reading waits for a writer")
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0) // which waits for nobody
	testkit.OK(t, err)
	c := read()
	for _, part := range []string{"ab", "cd"} {
		time.Sleep(20 * time.Millisecond)
		testkit.Must(w.WriteString(part))
	}
	w.Close()
	if r := <-c; r.err != nil || string(r.data) != "abcd" {
		t.Errorf("%q, %v", r.data, r.err)
	}
}
