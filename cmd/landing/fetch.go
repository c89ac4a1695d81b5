package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/queue"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/sweep"
	"github.com/landing-diffusion/landing/tasks"
	"github.com/landing-diffusion/landing/work"
)

func (a *app) fetch() *cobra.Command {
	var at queue.Options
	var o tasks.MergeOptions
	var out string
	var noWait bool
	cmd := &cobra.Command{
		Use:   "fetch [JOB]",
		Short: "Wait for a submission of a queue, fetch what its units made, and join it",
		Long: `fetch waits until each unit of a submission has ended, fetches what they made, checks it by SHA-256,
and writes what one process would have written: of landing submit generate the file of samples, of
landing submit sweep the sweep's folder, of landing submit reproduce the folder and the rows that it was
given. Parts lie in FILE.job-JOB until the file is whole: fetch again goes on with them. Without JOB it is the
only submission that the queue has.

A submission with units that were given up is not joined; landing status JOB tells why they were, the
same landing submit with --retry tries them again. Cells of a sweep that failed are recorded as such.`,
		Example: "  landing fetch -o samples.npy\n  landing fetch 1f0c2a9be344 -o sweeps/table",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 1 {
				return &usageError{fmt.Errorf("expected a job or none, got %d arguments", len(given))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			q, err := a.openQueue(cmd, at)
			if err != nil {
				return err
			}
			defer q.Close()
			j, err := q.Job(cmd.Context(), id)
			if err != nil {
				return err
			}
			var c collection
			if err := json.Unmarshal(j.Collect, &c); err != nil || !c.Generate && c.Sweep == nil && c.Reproduce == nil {
				return &queue.DamagedError{Where: "submission " + j.ID, SHA256: j.List,
					Problem: "it does not say what becomes of its results"}
			}
			if out == "" && c.Generate {
				out = run.SamplesFile
			}
			if known := kinds.Extensions(); c.Generate && !slices.Contains(known, strings.ToLower(filepath.Ext(out))) {
				return &usageError{fmt.Errorf("-o is %q; expected a file that ends in %s", out,
					strings.Join(known, " or "))}
			}
			if c.Generate && !o.Force {
				if err := run.Free(out); err != nil {
					return err
				}
			}
			if err := a.await(cmd, q, j, noWait, !c.Generate); err != nil {
				return err
			}
			if c.Generate {
				if o.Run == "" {
					o.Run = c.Run
				}
				if o.Data == "" {
					o.Data = c.Data
				}
				return a.fetchSamples(cmd, q, j, out, o)
			}
			if c.Reproduce != nil {
				return a.fetchPaper(cmd, q, j, c.Reproduce)
			}
			return a.fetchSweep(cmd, q, j, c.Sweep, out)
		},
	}
	f := cmd.Flags()
	queueFlags(cmd, &at)
	f.StringVarP(&out, "output", "o", "", "file of samples (default "+run.SamplesFile+"), or folder of the sweep "+
		"(default sweeps/NAME)")
	f.StringVar(&o.Run, "run", "", "folder of the run, if it is not where it was when it was submitted")
	movedFlag(cmd.Flags(), &o.Data)
	f.BoolVar(&o.Force, "force", false, "write over the file if it exists")
	f.BoolVar(&noWait, "no-wait", false, "fail at once if units have not ended")
	return cmd
}

// A GivenUpError says that there is nothing to join, since units were given up.
type givenUpError struct {
	status *queue.Status
}

func (e *givenUpError) Error() string {
	f := e.status.Failures[0]
	return fmt.Sprintf("%s of %s given up, the first: %s: %s; the same landing submit with --retry tries them again",
		plural(e.status.Failed, "unit"), e.status.ID, f.Unit, f.Reason)
}

// await waits until all units have ended. partial: what was given up is a result like any other.
func (a *app) await(cmd *cobra.Command, q *queue.Queue, j *queue.Job, noWait, partial bool) error {
	var s *queue.Status
	var err error
	if noWait {
		if s, err = q.Status(cmd.Context(), j); err == nil && !s.Over() {
			err = &queue.UnendedError{Job: j.ID, Unit: fmt.Sprintf("(one of %d)", j.Units-s.Done-s.Failed)}
		}
	} else {
		bar := a.progress()
		lonely := false
		s, err = q.Wait(cmd.Context(), j, func(s *queue.Status) {
			if len(s.Workers) == 0 && !s.Over() && !lonely {
				lonely = true
				bar.line("no worker is there yet: landing work starts one")
			}
			bar.count(s.Done+s.Failed, s.Units, func() string {
				text := fmt.Sprintf("%d of %d units done, %d running", s.Done, s.Units, s.Running)
				if s.Failed > 0 {
					text += fmt.Sprintf(", %d failed", s.Failed)
				}
				if !s.Left.IsNaN() && s.Left > 0 {
					text += fmt.Sprintf(", about %s left", clock(float64(s.Left)))
				}
				return text
			})
		})
		bar.done()
	}
	if err != nil {
		return err
	}
	for _, d := range s.Others {
		a.say("warning: %s was made twice with other bytes, by %s and by %s; the first stand", d.Unit, d.First,
			d.Second)
	}
	if s.Failed > 0 && !partial {
		return &givenUpError{s}
	}
	return nil
}

// resultOf brings the files of a unit into a folder and returns what else it told.
func resultOf(cmd *cobra.Command, from queue.Files, r *queue.Record, dir string) (*tasks.Result, error) {
	var told tasks.Result
	if err := json.Unmarshal(r.Detail, &told); err != nil {
		return nil, &queue.DamagedError{Where: "the record of unit " + r.ID, SHA256: r.ID, Problem: err.Error()}
	}
	for _, f := range r.Files {
		name := filepath.FromSlash(f.Name)
		if !filepath.IsLocal(name) {
			return nil, &queue.DamagedError{Where: "the record of unit " + r.ID, SHA256: f.SHA256,
				Problem: fmt.Sprintf("it names a file %q outside of its folder", f.Name)}
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		if err := queue.GetFile(cmd.Context(), from, f, path); err != nil {
			return nil, err
		}
	}
	return &told, nil
}

// fetchSamples brings the parts of a submission of samples here and joins them.
func (a *app) fetchSamples(cmd *cobra.Command, q *queue.Queue, j *queue.Job, out string, o tasks.MergeOptions,
) error {
	parts := &work.Store{Dir: fmt.Sprintf("%s.job-%s", out, j.ID)}
	bar := a.progress()
	n := 0
	err := q.Collect(cmd.Context(), j, func(i int, u *work.Unit, r *queue.Record, from queue.Files) error {
		err := fetchPart(cmd, parts, u, r, from)
		n++
		bar.count(n, j.Units, func() string { return fmt.Sprintf("fetched %d of %d parts", n, j.Units) })
		return err
	})
	bar.done()
	if err != nil {
		return err
	}
	if err := a.join(cmd, []string{parts.Dir}, out, o); err != nil {
		return err
	}
	return os.RemoveAll(parts.Dir) // it can be fetched again
}

// fetchPart brings one part here, unless it is here.
func fetchPart(cmd *cobra.Command, parts *work.Store, u *work.Unit, r *queue.Record, from queue.Files) error {
	dir := filepath.Join(parts.Dir, u.Name)
	claim, status, err := parts.Claim(u, true, func() error { return nil })
	if err == nil && claim == nil {
		was, e := tasks.Of(status)
		if err = e; err == nil {
			err = was.Whole(dir)
		}
	}
	switch {
	case errors.As(err, new(*work.DamagedError)): // it can be fetched again
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		return fetchPart(cmd, parts, u, r, from)
	case err != nil || claim == nil:
		return err
	}
	defer claim.Release()
	told, err := resultOf(cmd, from, r, dir)
	if err != nil {
		return err
	}
	if err := told.Whole(dir); err != nil {
		return err
	}
	return claim.Finish(told)
}

// fetchSweep takes the cells of a submission up in the sweep's folder.
func (a *app) fetchSweep(cmd *cobra.Command, q *queue.Queue, j *queue.Job, of json.RawMessage, out string) error {
	var planned sweepOrigin
	if err := json.Unmarshal(of, &planned); err != nil {
		return err
	}
	plan, err := planned.plan()
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join("sweeps", plan.File.Name)
	}
	get, err := records(cmd, q, j, planned.File)
	if err != nil {
		return err
	}
	a.say("sweep: %s", out)
	got, err := plan.Take(sweep.Runner{Dir: out}, get)
	if err != nil {
		return err
	}
	return a.swept(got, "landing sweep "+text.Shell(planned.File)+" --retry", "landing compare "+text.Shell(out))
}

// fetchPaper takes the cells of a submission up as landing reproduce leaves them.
func (a *app) fetchPaper(cmd *cobra.Command, q *queue.Queue, j *queue.Job, of json.RawMessage) error {
	var from paperOrigin
	if err := json.Unmarshal(of, &from); err != nil {
		return err
	}
	get, err := records(cmd, q, j, "the paper's catalogue")
	if err != nil {
		return err
	}
	got, err := from.Take(from.Left, from.Rows, get)
	if err != nil {
		return err
	}
	return a.swept(got, "landing reproduce --retry", "landing reproduce all --show --rows "+text.Shell(from.Rows))
}

// records returns what brings the results of a submission of cells that were planned from a file.
func records(cmd *cobra.Command, q *queue.Queue, j *queue.Job, file string) (
	get func(u sweep.AwayUnit, dir string) (*tasks.Result, string, error), err error) {
	all := map[string]*queue.Record{}
	var from queue.Files
	err = q.Collect(cmd.Context(), j, func(_ int, u *work.Unit, r *queue.Record, at queue.Files) error {
		all[u.Key()], from = r, at
		return nil
	})
	return func(u sweep.AwayUnit, dir string) (*tasks.Result, string, error) {
		r := all[u.Unit.Key()]
		if r == nil {
			return nil, "", &changedError{file, u.Unit.Name, j.ID}
		}
		if r.State == work.Failed {
			return nil, r.Reason, nil
		}
		told, err := resultOf(cmd, from, r, dir)
		return told, "", err
	}, err
}

// changedError says that a sweep is not the one that was submitted any more.
type changedError struct{ File, Cell, Job string }

func (e *changedError) Error() string {
	return fmt.Sprintf("%s: %s is not in submission %s as it is now: the file, its problems or its data were "+
		"changed; expected them as they were submitted", e.File, e.Cell, e.Job)
}

// What forget prints.
type forgotten struct {
	Job   string `json:"job"`
	Units int    `json:"units"`
}

func (a *app) forget() *cobra.Command {
	var o queue.Options
	cmd := &cobra.Command{
		Use:   "forget JOB",
		Short: "Drop a submission from a queue, with what its units made",
		Long: `forget drops a submission: units that wait, records, and files that no other submission has. Workers that
are at one of its units finish it for nothing. What was fetched stays where it is.`,
		Args: args(1, "a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := a.openQueue(cmd, o)
			if err != nil {
				return err
			}
			defer q.Close()
			if strings.TrimSpace(args[0]) == "" {
				return &usageError{errors.New("the job is empty; landing status lists them")}
			}
			j, err := q.Job(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := q.Forget(cmd.Context(), j); err != nil {
				return err
			}
			return a.result(forgotten{j.ID, j.Units}, func(w io.Writer) {
				fmt.Fprintf(w, "job %s is forgotten: %s\n", j.ID, j.What)
			})
		},
	}
	queueFlags(cmd, &o)
	return cmd
}
