package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/queue"
	"github.com/landing-diffusion/landing/tasks"
)

func (a *app) work() *cobra.Command {
	var o queue.Options
	var w queue.Worker
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Do units of work of a queue, until told to end",
		Long: `work takes units of landing submit from a queue and does them, one at a time on all --workers threads,
until Ctrl-C or SIGTERM: the unit that it is at is then finished if that takes no longer than --grace,
and returned otherwise. Run it on as many machines as there are; workers come and go.

Units of another version of the program, which may give other bytes, and units whose submission asks for
the bits of another kind of kernels are left to other workers. A unit that makes no progress is given up,
one that fails is tried again elsewhere; after --tries of its submission the reason is recorded.`,
		Example: "  landing work\n  landing work --queue nats://10.0.0.5:4222 --credentials office.nk",
		Args:    args(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if w.Grace < 0 || w.Grace > time.Hour {
				return &usageError{fmt.Errorf("--grace is %v; expected 0 to 1h", w.Grace)}
			}
			if w.Units < 0 {
				return &usageError{fmt.Errorf("--units is %d; expected a number above 0", w.Units)}
			}
			if w.Grace == 0 {
				w.Grace = -1
			}
			q, err := a.openQueue(cmd, o)
			if err != nil {
				return err
			}
			defer q.Close()
			w.Say = func(line string) { a.say("%s", line) }
			doer := &tasks.Doer{Pool: a.workersPool()}
			bar := a.progress()
			w.Do = func(ctx context.Context, t *queue.Task) (*queue.Product, error) {
				return a.doUnit(ctx, doer, bar, t)
			}
			start := time.Now()
			n, err := q.Work(cmd.Context(), w)
			bar.done()
			took := time.Since(start).Seconds()
			if e := a.result(worked{n, took}, func(w io.Writer) {
				fmt.Fprintf(w, "%s done in %s\n", plural(n, "unit"), clock(took))
			}); err == nil {
				err = e
			}
			if errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
				return nil // it was asked to end, and has
			}
			return err
		},
	}
	f := cmd.Flags()
	queueFlags(cmd, &o)
	f.StringVar(&w.Cache, "cache", "", "folder for inputs and scratch, which workers of a machine may share (default: "+
		"landing/queue in the user's cache)")
	f.DurationVar(&w.Grace, "grace", 20*time.Second, "how long a unit may go on once the worker is asked to end")
	f.BoolVar(&w.Drain, "drain", false, "end when nothing waits any more and nothing is under way")
	f.IntVar(&w.Units, "units", 0, "end after so many units (default: no bound)")
	return cmd
}

// What work prints.
type worked struct {
	Units   int     `json:"units"` // that it did
	Seconds float64 `json:"seconds"`
}

// doUnit does a unit of a queue.
func (a *app) doUnit(ctx context.Context, doer *tasks.Doer, bar *progress, t *queue.Task) (*queue.Product, error) {
	doer.Step = t.Progress
	doer.Tick = func(done, of uint64) {
		bar.count(int(done), int(of), func() string { return fmt.Sprintf("%s: %d of %d", t.Unit.Name, done, of) })
	}
	r, err := doer.Do(ctx, t.Unit, t.Inputs, t.Dir)
	switch code := exitCode(err); {
	case err == nil:
	case code == exitCheck, code == exitDiverged, errors.As(err, new(*tasks.TaskError)),
		errors.As(err, new(*tasks.KindError)):
		return nil, &queue.FinalError{Err: err} // whoever tries
	default:
		return nil, err
	}
	r.Inputs = nil // they lay in scratch
	p := &queue.Product{}
	for _, f := range r.Files {
		p.Files = append(p.Files, f.Name)
	}
	p.Detail, err = json.Marshal(r)
	return p, err
}
