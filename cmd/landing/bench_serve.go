package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/bench/load"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/run"
)

// served is what bench serve prints.
type served struct {
	Machine run.Machine `json:"machine"`
	Rows    []load.Row  `json:"rows,omitempty"`
	Soak    *load.Soak  `json:"soak,omitempty"`
}

// serviceBench is a call of bench serve.
type serviceBench struct {
	*app
	counts, clients []int
	seconds         float64
	soak            time.Duration

	runs   []servedRun       // of a service of our own
	opened []*experiment.Run // these
	others []elsewhere       // of services that are there already
}

// elsewhere is a run of a service that listens somewhere.
type elsewhere struct{ run, service, address string }

func (a *app) benchServe() *cobra.Command {
	b := serviceBench{app: a}
	cmd := &cobra.Command{
		Use:   "serve RUN... [NAME=URL...]",
		Short: "Measure how a service of runs answers",
		Long: `serve measures requests a second and how long they take, by run, samples of a request and callers, each
of whom asks again as soon as there is an answer; and how long /healthz takes meanwhile. It starts landing serve
of the runs in a process of its own, which shares the machine with the callers, and ends it.

NAME=URL, as volcano=http://127.0.0.1:8000, is the run NAME of a service that listens there already, of any
program: it is measured in turn with the others of that name. It answers GET /healthz with 200, and
POST /v1/runs/NAME/samples of {"n": 64, "seed": 1, "first": 0} with anything.

--soak has callers of all sorts ask for a while instead: some check each byte that they get, some leave, read slowly,
or send what cannot be. It ends with exit code 4 if a byte was wrong, an answer was not promised, or none was checked.`,
		Example: "  landing bench serve runs/volcano-001 -n 1,64 --clients 1,8 --seconds 3\n" +
			"  landing bench serve volcano=runs/volcano-001 volcano=http://127.0.0.1:8000\n" +
			"  landing bench serve runs/volcano-001 --soak 10m",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) == 0 {
				return &usageError{errors.New("expected one or more runs, as FOLDER, NAME=FOLDER or NAME=URL")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := b.check(args); err != nil {
				return err
			}
			out, err := b.measure(cmd.Context())
			if err != nil {
				return err
			}
			if err := a.result(out, func(w io.Writer) { printServed(w, out) }); err != nil {
				return err
			}
			if s := out.Soak; s != nil && (s.Wrong > 0 || s.Unpromised > 0 || s.Right == 0) {
				return &soakError{s}
			}
			return nil
		},
	}
	cmd.Flags().IntSliceVarP(&b.counts, "number", "n", []int{1, 64, 2000}, "samples of a request")
	cmd.Flags().IntSliceVar(&b.clients, "clients", []int{1, 8, 64}, "callers at a time")
	cmd.Flags().Float64Var(&b.seconds, "seconds", 3, "time to spend on each row; each caller gets an answer at least")
	cmd.Flags().DurationVar(&b.soak, "soak", 0, "time of callers of all sorts, in place of the table")
	return cmd
}

// A soakError says that a service did what it must not.
type soakError struct{ *load.Soak }

func (e *soakError) Error() string {
	if e.Wrong == 0 && e.Unpromised == 0 {
		return "no answer was checked: none came in time; expected a longer --soak"
	}
	return fmt.Sprintf("%d answers had wrong bytes and %d were not promised, the first: %s", e.Wrong, e.Unpromised,
		e.Fault)
}

func (*soakError) Place() fault.Place { return fault.Place{Kind: fault.Check} }

// check looks at flags and arguments, and opens the runs.
func (b *serviceBench) check(args []string) (err error) {
	for _, n := range append(slices.Clone(b.counts), b.clients...) {
		if n < 1 || n > 100_000 {
			return &usageError{fmt.Errorf("-n and --clients have %d; expected numbers of 1 to 100000", n)}
		}
	}
	if !(b.seconds >= 0 && b.seconds <= 3600) || b.soak < 0 {
		return &usageError{fmt.Errorf("--seconds is %v, --soak %v; expected times from 0 on", b.seconds, b.soak)}
	}
	var own []string
	for _, arg := range args {
		name, at, given := strings.Cut(arg, "=")
		if !given || !strings.Contains(at, "://") {
			own = append(own, arg)
			continue
		}
		u, err := url.Parse(at)
		if err != nil || u.Scheme != "http" || u.Port() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
			u.User != nil || !runName.MatchString(name) {
			return &usageError{fmt.Errorf("%q is no run of a service; expected NAME=http://HOST:PORT", arg)}
		}
		b.others = append(b.others, elsewhere{name, "http://" + u.Host, u.Host})
	}
	if b.runs, err = servedRuns(own); err != nil {
		return err
	}
	if b.soak > 0 && len(b.others) > 0 {
		return &usageError{errors.New("--soak checks samples against run folders; expected no NAME=URL")}
	}
	for _, s := range b.runs {
		r, err := b.openServed(s, b.workersPool())
		if err != nil {
			return err
		}
		b.opened = append(b.opened, r)
	}
	return nil
}

// measure starts the service and measures.
func (b *serviceBench) measure(ctx context.Context) (*served, error) {
	out := &served{Machine: run.ThisMachine()}
	callers := max(slices.Max(b.clients), soakCallers)
	var own *load.Target
	if len(b.runs) > 0 {
		c, err := b.start(ctx)
		if err != nil {
			return nil, err
		}
		defer c.stop()
		own = b.target("landing", strings.TrimPrefix(c.line, "http://"), callers)
		if err := c.ready(ctx, own); err != nil {
			return nil, err
		}
	}
	if b.soak > 0 {
		wanted, err := b.references(ctx)
		if err == nil {
			out.Soak, err = own.Soak(ctx, wanted, soakCallers, b.soak)
		}
		return out, err
	}
	type asked struct {
		*load.Target
		load.Ask
	}
	var names []string // in the order of the arguments
	all := map[string][]asked{}
	add := func(t *load.Target, a load.Ask) {
		if all[a.Run] == nil {
			names = append(names, a.Run)
		}
		all[a.Run] = append(all[a.Run], asked{t, a})
	}
	for i, s := range b.runs {
		a := load.Ask{Run: s.name, Seed: 1}
		if c := b.opened[i].Condition; c != nil {
			a.Condition = [][]float64{c.Read.Mean}
		}
		add(own, a)
	}
	for _, o := range b.others {
		a := load.Ask{Run: o.run, Seed: 1}
		if have := all[o.run]; have != nil {
			a = have[0].Ask
		}
		add(b.target(o.service, o.address, callers), a)
	}
	bar := b.progress()
	for _, name := range names {
		for _, n := range b.counts {
			for _, c := range b.clients {
				for _, s := range all[name] {
					a := s.Ask
					a.N = n
					row, err := s.Measure(ctx, a, c, b.seconds)
					if err != nil {
						return nil, err
					}
					out.Rows = append(out.Rows, row)
					bar.line(fmt.Sprintf("%s of %s, %s, %s: %.1f requests a second", name, s.Name, plural(n, "sample"),
						plural(c, "caller"), row.PerSecond))
				}
			}
		}
	}
	return out, nil
}

// target is a service whose health a process of its own asks.
func (b *serviceBench) target(name, address string, callers int) *load.Target {
	t := load.NewTarget(name, address, callers)
	t.Watch = func(ctx context.Context, failed func(error)) (func() load.Health, error) {
		c, err := begin(ctx, "bench", "health", "http://"+address)
		if err != nil {
			return nil, err
		}
		asked := make(chan struct{})
		go func() {
			<-c.ended
			if c.cmd.ProcessState.ExitCode() != exitOK {
				failed(c.fault())
			}
			close(asked)
		}()
		return func() (h load.Health) {
			c.stop()
			<-asked
			if err := json.Unmarshal(c.out.rest, &h); err != nil {
				failed(fmt.Errorf("the process that asks for health ended, %v", c.cmd.ProcessState))
			}
			return h
		}, nil
	}
	return t
}

// benchHealth is the other side of target: it says when it has its first answer, and how long the others took when
// standard input ends.
func (a *app) benchHealth() *cobra.Command {
	return &cobra.Command{
		Use:    "health URL",
		Hidden: true,
		Args:   args(1, "the address of a service"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t := load.NewTarget("", strings.TrimPrefix(args[0], "http://"), 1)
			end := whileOpen(cmd.Context(), os.Stdin).Done()
			h, err := t.Health(cmd.Context(), end, func() { fmt.Fprintln(a.stdout) })
			if err == nil {
				err = json.NewEncoder(a.stdout).Encode(h)
			}
			return err
		},
	}
}

// start starts the service on a free port of this machine.
func (b *serviceBench) start(ctx context.Context) (*child, error) {
	args := []string{"serve", "--attended", "--quiet", "--listen", "127.0.0.1:0", "--drain", "2s", "--workers",
		strconv.Itoa(b.workers), "--"}
	for _, s := range b.runs {
		args = append(args, s.name+"="+s.dir)
	}
	return begin(ctx, args...)
}

// ready waits until the runs are read.
func (c *child) ready(ctx context.Context, t *load.Target) error {
	for t.Ready(ctx) != nil {
		select {
		case <-c.ended:
			return c.fault()
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// soakCallers are those of --soak.
const soakCallers = 32

// references draws what some requests are to get, as landing generate does: with nobody beside.
func (b *serviceBench) references(ctx context.Context) (out []load.Wanted, err error) {
	for k, r := range b.opened {
		if r.Condition != nil {
			continue
		}
		network, err := r.Trained("")
		if err != nil {
			return nil, err
		}
		prior, err := r.Prior(ctx, nil)
		if err != nil {
			return nil, err
		}
		for i, n := range []int{1, 5, 64, 300} {
			s, err := r.Generate(ctx, network, prior, n, 0, uint64(i), nil)
			if s == nil {
				return nil, err
			}
			var npy bytes.Buffer
			if err := r.Domain.Writer(".npy")(&npy, arrayfile.RowsOf(s.Good(), s.Dim)); err != nil {
				return nil, err
			}
			ask := load.Ask{Run: b.runs[k].name, N: n, Seed: uint64(i)}
			out = append(out, load.Wanted{Ask: ask, NPY: npy.Bytes()})
		}
	}
	if out == nil {
		err = &usageError{fmt.Errorf("--soak needs a run without a condition")}
	}
	return out, err
}

func printServed(w io.Writer, s *served) {
	m := s.Machine
	fmt.Fprintf(w, "%s, %s, %s kernels, %s\n\n", m.CPU, plural(m.Cores, "core"), m.Kernel, runtime.Version())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	if k := s.Soak; k != nil {
		var statuses []string
		for _, code := range slices.Sorted(maps.Keys(k.Statuses)) {
			statuses = append(statuses, fmt.Sprintf("%d of %s", k.Statuses[code], code))
		}
		fmt.Fprintf(t, "seconds\t%.0f\nanswers checked\t%d right, %d wrong\ncallers who left\t%d\nslow readers\t%d\n"+
			"statuses\t%s\nnot promised\t%d\n/healthz p99\t%s\ngoroutines\t%d before, %d after\n"+
			"heap\t%.1f MB before, %.1f MB after\n", k.Seconds, k.Right, k.Wrong, k.Vanished, k.Slow,
			strings.Join(statuses, ", "), k.Unpromised, duration(k.HealthP99), k.Goroutines[0], k.Goroutines[1],
			float64(k.Heap[0])/1e6, float64(k.Heap[1])/1e6)
		return
	}
	fmt.Fprintln(t, "run\tservice\tsamples\tcallers\trequests\ta second\tp50\tp99\t/healthz p99\tworst")
	for _, r := range s.Rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%.1f\t%s\t%s\t%s\t%s\n", r.Run, r.Service, r.Samples, r.Clients,
			r.Requests, r.PerSecond, duration(r.P50), duration(r.P99), duration(r.HealthP99), duration(r.HealthMax))
	}
}
