package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/queue"
)

func (a *app) status() *cobra.Command {
	var o queue.Options
	cmd := &cobra.Command{
		Use:   "status [JOB]",
		Short: "Tell what of a queue's submissions is done, running and failed, and how long the rest takes",
		Long: `status lists the submissions of a queue, or tells of one: what is done, who is at what, which units were
given up and why, and about how many seconds are left with the workers that are there.`,
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 1 {
				return &usageError{fmt.Errorf("expected a job or none, got %d arguments", len(given))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := a.openQueue(cmd, o)
			if err != nil {
				return err
			}
			defer q.Close()
			var jobs []*queue.Job
			var unread error // what cannot be told keeps nothing else from being told
			if len(args) == 1 {
				j, err := q.Job(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				jobs = append(jobs, j)
			} else if jobs, unread = q.Jobs(cmd.Context()); jobs == nil {
				return unread
			}
			all := []*queue.Status{}
			for _, j := range jobs {
				s, err := q.Status(cmd.Context(), j)
				switch {
				case err == nil:
					all = append(all, s)
				case queueFault(err) == exitConfig:
					unread = errors.Join(unread, fmt.Errorf("submission %s: %w", j.ID, err))
				default:
					return err
				}
			}
			workers, err := q.Workers(cmd.Context())
			if err != nil {
				return err
			}
			return errors.Join(unread, a.result(queueState{all, workers}, func(w io.Writer) {
				tellStatus(w, all, workers, len(args) == 1)
			}))
		},
	}
	queueFlags(cmd, &o)
	return cmd
}

// What status prints.
type queueState struct {
	Jobs    []*queue.Status `json:"jobs"`
	Workers []queue.Present `json:"workers"`
}

// tellStatus writes how far jobs are; of one alone, all there is to tell.
func tellStatus(w io.Writer, all []*queue.Status, workers []queue.Present, one bool) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no submission")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(all) > 0 {
		fmt.Fprintln(t, "job\tunits\tdone\trunning\twaiting\tfailed\tleft\t")
	}
	for _, s := range all {
		left := "–"
		if !s.Left.IsNaN() {
			left = clock(float64(s.Left))
		}
		what := s.What
		if !s.Whole {
			what += " (its submission was stopped: the same command goes on)"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", s.ID, s.Units, s.Done, s.Running, s.Waiting, s.Failed, left,
			oneLine(what))
	}
	t.Flush()
	for _, s := range all {
		for i, f := range s.Failures {
			if i == maxNamed && !one {
				fmt.Fprintf(w, "… and %d more\n", len(s.Failures)-i)
				break
			}
			fmt.Fprintf(w, "%s: %s\n", f.Unit, oneLine(f.Reason))
		}
		for _, d := range s.Others {
			fmt.Fprintf(w, "warning: %s was made twice with other bytes, by %s and by %s; the first stand\n", d.Unit,
				oneLine(d.First), oneLine(d.Second))
		}
		if s.Waiting > 0 && len(s.Workers) == 0 {
			fmt.Fprintf(w, "no worker is there for %s: it takes version %s", s.ID, oneLine(s.Build))
			if s.Bits != "" {
				fmt.Fprintf(w, " with kernels %s", oneLine(s.Bits))
			}
			fmt.Fprintln(w)
		}
	}
	for _, p := range workers {
		at := "idle"
		if p.Unit != "" {
			at = fmt.Sprintf("at %s for %s", oneLine(p.Unit), clock(p.Seconds))
			if p.Idle > 60 {
				at += fmt.Sprintf(", no progress for %s", clock(p.Idle))
			}
		}
		fmt.Fprintf(w, "worker %s, process %d, %s: %s done, %s\n", oneLine(p.Host), p.PID, oneLine(p.Bits),
			plural(p.Done, "unit"), at)
	}
}
