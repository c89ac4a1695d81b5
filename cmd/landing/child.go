package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// child is this program in a process of its own, which ends when its standard input does.
type child struct {
	cmd   *exec.Cmd
	input io.Closer
	line  string     // the first that it printed
	out   *firstLine // all others
	said  bytes.Buffer
	ended chan struct{}
}

// begin starts this program and waits for its first line.
func begin(ctx context.Context, args ...string) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(program, args...), ended: make(chan struct{}),
		out: &firstLine{first: make(chan string, 1)}}
	c.cmd.Stdout, c.cmd.Stderr = c.out, &c.said
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // what it says is told
	}()
	select {
	case c.line = <-c.out.first:
		return c, nil
	case <-c.ended:
		return nil, c.fault()
	case <-ctx.Done():
		c.stop()
		return nil, ctx.Err()
	}
}

func (c *child) fault() error {
	return fmt.Errorf("landing %s ended, %v: %s", c.cmd.Args[1], c.cmd.ProcessState, strings.TrimSpace(c.said.String()))
}

// stop ends the process and waits for that.
func (c *child) stop() {
	c.input.Close()
	select {
	case <-c.ended:
	case <-time.After(10 * time.Second):
		c.cmd.Process.Kill()
		<-c.ended
	}
}

// firstLine is a writer that hands on the first line and keeps the rest.
type firstLine struct {
	first  chan string
	handed bool
	rest   []byte
}

func (l *firstLine) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	if line, rest, whole := bytes.Cut(l.rest, []byte("\n")); whole && !l.handed {
		l.handed, l.rest = true, rest
		l.first <- strings.TrimSpace(string(line))
	}
	return len(p), nil
}
