package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/bench/load"
)

// soakCallers are the callers of -soak.
const soakCallers = 32

// A served run is one of a service: of our own, of a run folder, or of one that listens somewhere.
type served struct {
	load.Ask
	at  *load.Target
	run *experiment.Run // nil: of another service
}

// service measures requests a second and how long they take, by run, samples of a request and callers, each of whom
// asks again as soon as there is an answer; and how long /healthz takes meanwhile. It starts landing serve of the run
// folders in a process of its own, and ends it. NAME=URL is a run of a service that listens already.
//
// With -soak callers of all sorts ask for a while instead: some check each byte, leave, read slowly, or send what
// cannot be.
func service(ctx context.Context, c *call, args []string) error {
	counts := c.ints("n", "1,64,2000", "samples of a request")
	clients := c.ints("clients", "1,8,64", "callers at a time")
	seconds := c.Float64("seconds", 3, "time to spend on each row; each caller gets an answer at least")
	soak := c.Duration("soak", 0, "time of callers of all sorts, in place of the table")
	program := c.String("landing", "landing", "the program whose serve is measured")
	args, err := c.parse(args)
	if err != nil {
		return err
	}
	callers := max(slices.Max(*clients), soakCallers)
	pool := parallel.New(0)
	defer pool.Close()
	var all []served
	folders := []string{"serve", "--attended", "--quiet", "--listen", "127.0.0.1:0", "--drain", "2s", "--"}
	for _, arg := range args {
		name, at, given := strings.Cut(arg, "=")
		if address, ok := strings.CutPrefix(at, "http://"); ok && given {
			to := target(at, strings.TrimSuffix(address, "/"), callers)
			all = append(all, served{load.Ask{Run: name, Seed: 1}, to, nil})
			continue
		}
		if !given {
			name, at = filepath.Base(arg), arg
		}
		r, err := experiment.OpenToDraw(ctx, at, "", pool, nil)
		if err != nil {
			return err
		}
		s := served{load.Ask{Run: name, Seed: 1}, nil, r}
		if r.Condition != nil {
			s.Condition = [][]float64{r.Condition.Read.Mean}
		}
		all, folders = append(all, s), append(folders, name+"="+at)
	}
	if len(all) == 0 || *soak < 0 || *soak > 0 && len(folders) != len(all)+8 {
		return errors.New("expected runs, as FOLDER, NAME=FOLDER or, without -soak, NAME=http://HOST:PORT")
	}
	if len(folders) > 8 {
		child, err := begin(ctx, *program, folders...)
		if err != nil {
			return err
		}
		defer child.stop()
		own := target("landing", strings.TrimPrefix(strings.TrimSpace(child.line), "http://"), callers)
		for i := range all {
			if all[i].run != nil {
				all[i].at = own
			}
		}
		for own.Ready(ctx) != nil {
			select {
			case <-child.ended:
				return child.fault()
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	if *soak > 0 {
		return c.soak(ctx, all, *soak)
	}
	var rows []load.Row
	slices.SortStableFunc(all, func(a, b served) int { return strings.Compare(a.Run, b.Run) })
	for _, n := range *counts {
		for _, k := range *clients {
			for _, s := range all {
				s.N = n
				row, err := s.at.Measure(ctx, s.Ask, k, *seconds)
				if err != nil {
					return err
				}
				rows = append(rows, row)
			}
		}
	}
	return c.result(struct {
		Machine run.Machine `json:"machine"`
		Rows    []load.Row  `json:"rows"`
	}{run.ThisMachine(), rows}, func(t io.Writer) {
		fmt.Fprintln(t, "run\tservice\tsamples\tcallers\trequests\ta second\tp50\tp99\t/healthz p99\tworst")
		for _, r := range rows {
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%.1f\t%s\t%s\t%s\t%s\n", r.Run, r.Service, r.Samples, r.Clients,
				r.Requests, r.PerSecond, duration(r.P50), duration(r.P99), duration(r.HealthP99), duration(r.HealthMax))
		}
	})
}

// soak checks what callers of all sorts get against what landing generate draws.
func (c *call) soak(ctx context.Context, all []served, length time.Duration) error {
	var wanted []load.Wanted
	for _, s := range all {
		if s.run.Condition != nil {
			continue
		}
		network, err := s.run.Trained("")
		if err != nil {
			return err
		}
		prior, err := s.run.Prior(ctx, nil)
		if err != nil {
			return err
		}
		for i, n := range []int{1, 5, 64, 300} {
			x, err := s.run.Generate(ctx, network, prior, n, 0, uint64(i), nil)
			if x == nil {
				return err
			}
			var npy bytes.Buffer
			if err := s.run.Domain.Writer(".npy")(&npy, arrayfile.RowsOf(x.Good(), x.Dim)); err != nil {
				return err
			}
			wanted = append(wanted, load.Wanted{Ask: load.Ask{Run: s.Run, N: n, Seed: uint64(i)}, NPY: npy.Bytes()})
		}
	}
	if wanted == nil {
		return errors.New("-soak needs a run without a condition")
	}
	k, err := all[0].at.Soak(ctx, wanted, soakCallers, length)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(c.stdout).Encode(k); err != nil {
		return err
	}
	if k.Wrong > 0 || k.Unpromised > 0 || k.Right == 0 {
		return fmt.Errorf("%d answers are right, %d have wrong bytes, %d were not promised, the first: %s", k.Right,
			k.Wrong, k.Unpromised, k.Fault)
	}
	return nil
}

// target is a service whose health a process of its own asks, so that callers do not delay the questions.
func target(name, address string, callers int) *load.Target {
	t := load.NewTarget(name, address, callers)
	t.Watch = func(ctx context.Context, failed func(error)) (func() load.Health, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		child, err := begin(ctx, self, "health", address)
		if err != nil {
			return nil, err
		}
		return func() (h load.Health) {
			child.stop()
			if err := json.NewDecoder(child.out).Decode(&h); err != nil {
				failed(child.fault())
			}
			return h
		}, nil
	}
	return t
}

// health is the other side of target: it prints a line when it has its first answer, and how long the others took when
// standard input ends.
func health(ctx context.Context, c *call, args []string) error {
	if len(args) != 1 {
		return errors.New("expected the address of a service")
	}
	end := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(end)
	}()
	h, err := load.NewTarget("", args[0], 1).Health(ctx, end, func() { fmt.Fprintln(c.stdout) })
	if err != nil {
		return err
	}
	return json.NewEncoder(c.stdout).Encode(h)
}

// A child is a process that ends when its standard input does.
type child struct {
	cmd   *exec.Cmd
	input io.Closer
	line  string // the first that it printed
	out   io.Reader
	said  bytes.Buffer
	ended chan struct{}
}

// begin starts a program and waits for its first line.
func begin(ctx context.Context, program string, args ...string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, program, args...), ended: make(chan struct{})}
	c.cmd.Stderr = &c.said
	var err error
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, in, err := os.Pipe() // which Wait does not close
	if err != nil {
		return nil, err
	}
	c.cmd.Stdout = in
	err = c.cmd.Start()
	in.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		c.cmd.Wait() // fault tells what came of it
	}()
	lines := bufio.NewReader(out)
	c.out = lines
	if c.line, err = lines.ReadString('\n'); err != nil {
		<-c.ended
		return nil, c.fault()
	}
	return c, nil
}

func (c *child) fault() error {
	return fmt.Errorf("%s ended, %v: %s", strings.Join(c.cmd.Args[:2], " "), c.cmd.ProcessState,
		strings.TrimSpace(c.said.String()))
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
