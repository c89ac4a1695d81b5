package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/queue"
	"github.com/landing-diffusion/landing/tasks"
)

// submission is what all submissions are asked.
type submission struct {
	queue.Options
	queue.Submission
}

func (s *submission) flags(cmd *cobra.Command) {
	queueFlags(cmd, &s.Options)
	f := cmd.Flags()
	f.BoolVar(&s.SameBits, "same-bits", false, "by machines with the same kind of kernels as this one alone: "+
		"others may give other last bits")
	f.IntVar(&s.Tries, "tries", 0, "how often a unit is tried before it is given up (default 5)")
	f.DurationVar(&s.Patience, "patience", 0, "without progress of a unit, after which a try is given up (default 15m)")
	f.StringVar(&s.Folder, "shared", "", "folder that all machines see under this path, for inputs and results in "+
		"place of the queue's store")
	f.BoolVar(&s.Retry, "retry", false, "units too that were given up before")
	f.IntVar(&s.Replicas, "replicas", 0, "copies that a cluster keeps of what a new queue stores (default 1)")
}

func (s *submission) check() error {
	switch {
	case s.Tries < 0 || s.Tries > 1000:
		return &usageError{fmt.Errorf("--tries is %d; expected 1 to 1000", s.Tries)}
	case s.Patience != 0 && (s.Patience < time.Second || s.Patience > 7*24*time.Hour):
		return &usageError{fmt.Errorf("--patience is %v; expected 1s to 168h", s.Patience)}
	case s.Replicas < 0 || s.Replicas > 5:
		return &usageError{fmt.Errorf("--replicas is %d; expected 1 to 5", s.Replicas)}
	}
	return nil
}

func (a *app) submit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit",
		Short: "Cut work into units and hand them to a queue of workers",
		Args:  args(0, "a kind of work: generate, sweep or reproduce"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.submitGenerate(), a.submitSweep(), a.submitReproduce())
	return cmd
}

// A collection says what becomes of a submission's results.
type collection struct {
	Generate bool            `json:"generate,omitempty"`
	Run      string          `json:"run,omitempty"`  // folder of the samples' run, here,
	Data     string          `json:"data,omitempty"` // and its data, if it has moved
	Sweep    json.RawMessage `json:"sweep,omitempty"`

	Reproduce json.RawMessage `json:"reproduce,omitempty"`
}

// Units of a submission of samples, if nobody says how large they are.
const (
	unitsWanted = 256
	leastRows   = 1000
	mostRows    = 1_000_000
)

func (a *app) submitGenerate() *cobra.Command {
	var s submission
	var o tasks.GenerateOptions
	var seed, size uint64
	var data string
	cmd := &cobra.Command{
		Use:   "generate RUN",
		Short: "Samples of a run, by workers of a queue",
		Long: `submit generate cuts samples of a run into units and hands them to a queue. What of the run folder
(and of the data, where drawing looks at it) is read travels by its SHA-256 through the queue's store, or
by --shared. The same submission again is the same job: it goes on where one was stopped.

landing fetch makes the file that landing generate makes, byte for byte, from what workers with the same
kind of kernels drew; --same-bits makes sure of it.`,
		Example: "  landing submit generate runs/volcano-001 -n 10000000\n  landing fetch -o samples.npy",
		Args:    args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(); err != nil {
				return err
			}
			if cmd.Flags().Changed("seed") {
				o.Seed = &seed
			}
			r, err := a.openToDraw(args[0], data)
			if err != nil {
				return err
			}
			list, err := tasks.Generation(r, o)
			if err != nil {
				return err
			}
			if size == 0 {
				size = min(max((list.Count+unitsWanted-1)/unitsWanted, leastRows), mostRows)
			}
			if n := (list.Count + size - 1) / size; n > queue.MaxUnits {
				return &usageError{fmt.Errorf("--unit is %d, which makes %d units; expected at most %d", size, n,
					queue.MaxUnits)}
			}
			s.Units = list.Cut(size)
			s.Inputs = map[string]string{}
			for name, sum := range s.Units[0].Inputs {
				s.Inputs[sum] = list.Inputs[name]
			}
			s.What = fmt.Sprintf("%d samples of %s", list.Count, args[0])
			c := collection{Generate: true}
			if c.Run, err = filepath.Abs(args[0]); err != nil {
				return err
			}
			if data != "" {
				if c.Data, err = filepath.Abs(data); err != nil {
					return err
				}
			}
			return a.hand(cmd, &s, c)
		},
	}
	f := cmd.Flags()
	f.Uint64VarP(&o.Count, "number", "n", 1000, "number of samples; under conditions, of each")
	f.Uint64Var(&o.First, "first", 0, "number of the first sample")
	f.Uint64Var(&seed, "seed", 0, "seed (default: the problem's)")
	f.Uint64Var(&size, "unit", 0, fmt.Sprintf("samples of a unit (default: %d units of %d to %d)", unitsWanted,
		leastRows, mostRows))
	f.StringVar(&o.Checkpoint, "checkpoint", "", "checkpoint to use (default: as generate)")
	f.StringArrayVar(&o.Settings, "set", nil, "draw by another key than the run's, as generate does (repeatable)")
	movedFlag(cmd.Flags(), &data)
	f.StringVar(&o.Condition, "condition", "", "what samples are asked under: name=value,… or a file")
	f.StringVar(&o.Start, "start", "", "of an arm with an open start: x,y,z, or the values of its joints")
	f.StringVar(&o.Goal, "goal", "", "likewise of an open goal")
	s.flags(cmd)
	return cmd
}

// What submit prints.
type submitted struct {
	Job     string `json:"job"`
	What    string `json:"what"`
	Units   int    `json:"units"`
	Done    int    `json:"done"`    // before
	Failed  int    `json:"failed"`  // likewise: given up
	Workers int    `json:"workers"` // that are there
}

// hand hands a submission over and tells what it is.
func (a *app) hand(cmd *cobra.Command, s *submission, c collection) error {
	var err error
	if s.Collect, err = json.Marshal(c); err != nil {
		return err
	}
	q, err := a.openQueue(cmd, s.Options)
	if err != nil {
		return err
	}
	defer q.Close()
	bar := a.progress()
	j, err := q.Submit(cmd.Context(), s.Submission, func(done, of int) {
		bar.count(done, of, func() string { return fmt.Sprintf("handed over %d of %d units", done, of) })
	})
	bar.done()
	if err != nil {
		stays := errors.As(err, new(*queue.DownError)) || errors.As(err, new(*queue.FullError))
		if cmd.Context().Err() != nil || stays {
			a.say("note: the same command goes on where this one stopped")
		}
		return err
	}
	st, err := q.Status(cmd.Context(), j)
	if err != nil {
		return err
	}
	result := submitted{j.ID, j.What, j.Units, st.Done, st.Failed, len(st.Workers)}
	return a.result(result, func(w io.Writer) {
		fmt.Fprintf(w, "job %s: %s in %s", j.ID, j.What, plural(j.Units, "unit"))
		if st.Done+st.Failed > 0 {
			fmt.Fprintf(w, ", %d done before", st.Done)
		}
		if st.Failed > 0 {
			fmt.Fprintf(w, ", %d given up before (--retry tries them again)", st.Failed)
		}
		fmt.Fprintf(w, "; %s there\n", plural(len(st.Workers), "worker"))
		to := "" // of the paper: where landing reproduce has it
		switch {
		case c.Generate:
			to = " -o samples.npy"
		case c.Sweep != nil:
			to = " -o sweeps/NAME"
		}
		fmt.Fprintf(w, "next:  landing status %s\n       landing fetch %s%s\n", j.ID, j.ID, to)
	})
}
