package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// self returns the command that runs the program in a process of its own, as a program that a test can kill as a power
// cut would. TestMain says by the environment which program that is.
func self(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(testkit.Must(os.Executable()), args...)
	cmd.Dir, cmd.Env = dir, os.Environ()
	return cmd
}

// A childProcess is a process that a test started.
type childProcess struct {
	*exec.Cmd
	Out, Said bytes.Buffer // what it wrote, to be read once it has ended: standard output, and error unless Cmd has one

	stdin io.Closer // which ends with the test, however that ends
	ended chan struct{}
	err   error // of Wait
}

// startProcess starts a command, and ends it with the test. What reads its standard input sees that end with the test
// too.
func startProcess(t testing.TB, cmd *exec.Cmd) *childProcess {
	t.Helper()
	c := &childProcess{Cmd: cmd, ended: make(chan struct{})}
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
func (c *childProcess) CloseInput() { c.stdin.Close() }

// Wait returns when the process has ended, with the error of exec.Cmd.Wait. It may be called again.
func (c *childProcess) Wait() error {
	<-c.ended
	return c.err
}

// Ended reports whether the process ends within the time.
func (c *childProcess) Ended(within time.Duration) bool {
	select {
	case <-c.ended:
		return true
	case <-time.After(within):
		return false
	}
}

// Kill ends the process as kill -9 does, unless it has ended, and returns when it is gone.
func (c *childProcess) Kill() {
	c.Process.Kill() // fails where it has ended
	c.Wait()
}

// killProcess starts a command and kills it after a while; it reports whether it had ended well before. A command that
// ended with an error of its own fails the test.
func killProcess(t testing.TB, cmd *exec.Cmd, after time.Duration) (ended bool) {
	t.Helper()
	c := startProcess(t, cmd)
	c.Ended(after)
	c.Kill()
	var exit *exec.ExitError
	if err := c.Wait(); errors.As(err, &exit) && exit.ExitCode() >= 0 {
		t.Fatalf("%v: %v\n%s%s", cmd.Args[1:], err, c.Out.String(), c.Said.String())
	}
	return c.err == nil
}
