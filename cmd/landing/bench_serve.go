package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/bench/load"
	"github.com/landing-diffusion/landing/engine"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/serve"
)

// served is what bench serve prints.
type served struct {
	Machine run.Machine `json:"machine"`
	Rows    []load.Row  `json:"rows,omitempty"`
	Soak    *load.Soak  `json:"soak,omitempty"`
}

func (a *app) benchServe() *cobra.Command {
	var counts, clients []int
	var seconds float64
	var soak time.Duration
	cmd := &cobra.Command{
		Use:   "serve RUN...",
		Short: "Measure how a service of runs answers",
		Long: `serve measures requests a second and how long they take, by run, samples of a request and callers, each
of whom asks again as soon as there is an answer; and how long /healthz takes meanwhile. Service and callers share
the machine.

--soak has callers of all sorts ask for a while instead: some check each byte that they get, some leave, read slowly,
or send what cannot be. It ends with exit code 4 if a byte was wrong, or an answer that was not promised.`,
		Example: "  landing bench serve runs/volcano-001 -n 1,64 --clients 1,8 --seconds 3\n" +
			"  landing bench serve runs/volcano-001 --soak 10m",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) == 0 {
				return &usageError{fmt.Errorf("expected one or more run folders, as FOLDER or NAME=FOLDER")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, n := range append(slices.Clone(counts), clients...) {
				if n < 1 || n > 100_000 {
					return &usageError{fmt.Errorf("-n and --clients have %d; expected numbers of 1 to 100000", n)}
				}
			}
			if !(seconds >= 0 && seconds <= 3600) || soak < 0 {
				return &usageError{fmt.Errorf("--seconds is %v, --soak %v; expected times from 0 on", seconds, soak)}
			}
			out, err := a.measureService(cmd.Context(), args, counts, clients, seconds, soak)
			if err != nil {
				return err
			}
			if err := a.result(out, func(w io.Writer) { printServed(w, out) }); err != nil {
				return err
			}
			if s := out.Soak; s != nil && (s.Wrong > 0 || s.Unpromised > 0) {
				return &soakError{s}
			}
			return nil
		},
	}
	cmd.Flags().IntSliceVarP(&counts, "number", "n", []int{1, 64, 2000}, "samples of a request")
	cmd.Flags().IntSliceVar(&clients, "clients", []int{1, 8, 64}, "callers at a time")
	cmd.Flags().Float64Var(&seconds, "seconds", 3, "time to spend on each row; each caller gets an answer at least")
	cmd.Flags().DurationVar(&soak, "soak", 0, "time of callers of all sorts, in place of the table")
	return cmd
}

// A soakError says that a service did what it must not.
type soakError struct{ *load.Soak }

func (e *soakError) Error() string {
	return fmt.Sprintf("%d answers had wrong bytes and %d were not promised, the first: %s", e.Wrong, e.Unpromised,
		e.Fault)
}

// measureService serves runs on a port of this machine and measures.
func (a *app) measureService(ctx context.Context, args []string, counts, clients []int, seconds float64,
	soak time.Duration) (*served, error) {
	o := serving{app: a, args: args}
	workers := a.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers + 1))
	o.engine = engine.New(engine.Options{Workers: workers})
	runs, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewJSONHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	s := serve.New(o.engine, serve.Options{Local: true, Log: log, Limits: serve.Limits{Drain: time.Second},
		Load: func(context.Context) ([]*engine.Run, error) { return runs, nil }})
	work, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(work, l, nil) }()
	defer func() {
		stop()
		<-ended
	}()
	if err := s.Reload(ctx); err != nil {
		return nil, err
	}
	out := &served{Machine: run.ThisMachine()}
	t := load.NewTarget(l.Addr().String(), slices.Max(append(clients, 64)))
	bar := a.progress()
	if soak > 0 {
		wanted, err := references(ctx, o, runs)
		if err == nil {
			out.Soak = t.Run(ctx, wanted, soakCallers, soak)
		}
		return out, err
	}
	for _, r := range runs {
		for _, n := range counts {
			for _, c := range clients {
				row, err := t.Measure(ctx, r.Name, n, c, seconds)
				if err != nil {
					return nil, err
				}
				out.Rows = append(out.Rows, row)
				bar.line(fmt.Sprintf("%s, %s, %s: %.1f requests a second", r.Name, plural(n, "sample"),
					plural(c, "caller"), row.PerSecond))
			}
		}
	}
	return out, nil
}

// soakCallers are those of --soak.
const soakCallers = 32

// references draws what some requests are to get, as landing generate does: with nobody beside.
func references(ctx context.Context, o serving, runs []*engine.Run) (out []load.Wanted, err error) {
	for _, r := range runs {
		if r.Condition != nil {
			continue
		}
		prior, err := r.Run.Prior(ctx, nil)
		if err != nil {
			return nil, err
		}
		for i, n := range []int{1, 5, 64, 300} {
			s, err := r.Generate(ctx, r.Trained, prior, n, 0, uint64(i), nil)
			if s == nil {
				return nil, err
			}
			var b bytes.Buffer
			if err := r.Domain.Writer(".npy")(&b, arrayfile.RowsOf(s.Good(), s.Dim)); err != nil {
				return nil, err
			}
			out = append(out, load.Wanted{Run: r.Name, N: n, Seed: uint64(i), NPY: b.Bytes()})
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
	fmt.Fprintln(t, "run\tsamples\tcallers\trequests\ta second\tp50\tp99\t/healthz p99\tworst")
	for _, r := range s.Rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.1f\t%s\t%s\t%s\t%s\n", r.Run, r.Samples, r.Clients, r.Requests, r.PerSecond,
			duration(r.P50), duration(r.P99), duration(r.HealthP99), duration(r.HealthMax))
	}
}
