// Package process starts the binary of a test again as a program of its own, so that a test can kill it as a power cut
// would. TestMain of the package says by the environment which program that is.
package process

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Self returns the command that runs the test binary in a folder, with variables besides those of the test.
func Self(t testing.TB, dir string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self := testkit.Must(os.Executable())
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	return cmd
}

// A Child is a process that a test started.
type Child struct {
	*exec.Cmd
	Out, Said bytes.Buffer // what it wrote, to be read once it has ended: standard output, and error unless Cmd has one

	stdin io.Closer // which ends with the test, however that ends
	ended chan struct{}
	err   error // of Wait
}

// Start starts a command, and ends it with the test. What reads its standard input sees that end with the test too.
func Start(t testing.TB, cmd *exec.Cmd) *Child {
	t.Helper()
	c := &Child{Cmd: cmd, ended: make(chan struct{})}
	c.Stdout = &c.Out
	if c.Stderr == nil {
		c.Stderr = &c.Said
	}
	c.stdin = testkit.Must(c.StdinPipe())
	testkit.OK(t, c.Start())
	go func() {
		c.err = c.Cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(c.Kill)
	return c
}

// CloseInput ends the standard input of the process.
func (c *Child) CloseInput() { c.stdin.Close() }

// Wait returns when the process has ended, with the error of exec.Cmd.Wait. It may be called again.
func (c *Child) Wait() error {
	<-c.ended
	return c.err
}

// Ended reports whether the process ends within the time.
func (c *Child) Ended(within time.Duration) bool {
	select {
	case <-c.ended:
		return true
	case <-time.After(within):
		return false
	}
}

// Kill ends the process as kill -9 does, unless it has ended, and returns when it is gone.
func (c *Child) Kill() {
	c.Process.Kill() // fails where it has ended
	c.Wait()
}

// Killed starts a command and kills it after a while; it reports whether it had ended well before. A command that ended
// with an error of its own fails the test.
func Killed(t testing.TB, cmd *exec.Cmd, after time.Duration) (ended bool) {
	t.Helper()
	c := Start(t, cmd)
	c.Ended(after)
	c.Kill()
	var exit *exec.ExitError
	if err := c.Wait(); errors.As(err, &exit) && exit.ExitCode() >= 0 {
		t.Fatalf("%v: %v\n%s%s", cmd.Args[1:], err, c.Out.String(), c.Said.String())
	}
	return c.err == nil
}

// FreePort returns an address of this machine on which nothing listens; another process may take it a moment later.
func FreePort(t testing.TB) string {
	t.Helper()
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().String()
}
