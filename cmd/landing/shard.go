package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/work"
	"github.com/landing-diffusion/landing/work/tasks"
)

// shardFlag is --shard of verbs that can do a part of their work.
func shardFlag(cmd *cobra.Command, to *string, what string) {
	cmd.Flags().StringVar(to, "shard", "", "i/n: "+what+"; auto: as an array of Slurm or an Indexed Job of Kubernetes "+
		"numbers this process")
}

// shard reads --shard; the zero value is the whole.
func shard(given string) (work.Shard, error) {
	s, err := work.ShardOf(given, os.Getenv)
	if err != nil {
		return s, &usageError{fmt.Errorf("--shard: %w", err)}
	}
	return s, nil
}

// makePart makes a part of a list in the folder of the parts of a file, and tells of it. said tells what the unit's
// result says beside its rows, to be printed and to be warned of; it may be nil.
func (a *app) makePart(cmd *cobra.Command, l *tasks.List, s work.Shard, out string,
	said func(r *tasks.Result) (told, warning string, err error)) error {
	dir := out + partsDir
	result := map[string]any{"shard": s.String(), "parts": dir, "rows": 0}
	u := l.Shard(s)
	if u == nil {
		return a.result(result, func(w io.Writer) {
			fmt.Fprintf(w, "part %s of %s is empty: there are more parts than rows\n", s, plural(int(l.Count), "row"))
		})
	}
	bar := a.progress()
	doer := &tasks.Doer{Pool: a.workersPool(), Tick: func(done, of uint64) {
		bar.count(int(done), int(of), func() string { return fmt.Sprintf("part %s: %d of %d rows", s, done, of) })
	}}
	r, before, err := doer.Into(cmd.Context(), &work.Store{Dir: dir}, u, l.Inputs)
	bar.done()
	if err != nil {
		return err
	}
	told, warning := "", ""
	if said != nil {
		if told, warning, err = said(r); err != nil {
			return err
		}
	}
	if warning != "" {
		a.say("%s", warning)
	}
	lo, hi := s.Range(l.Count)
	made := before.State != work.Done
	result["part"], result["first"], result["rows"] = filepath.Join(dir, u.Name), l.From+lo, hi-lo
	result["made"], result["files"], result["kernel"] = made, r.Files, r.Kernel
	result["seconds"], result["detail"] = r.Seconds, r.Detail
	return a.result(result, func(w io.Writer) {
		word := "made"
		if !made {
			word = "is whole already, made"
		}
		fmt.Fprintf(w, "part %s: rows %d to %d of %d in %s, %s in %.2f s%s\n", s, l.From+lo, l.From+hi-1, l.Count,
			filepath.Join(dir, u.Name), word, r.Seconds, told)
		fmt.Fprintf(w, "when all parts are there:  landing merge %s\n", text.Shell(dir))
	})
}

// noPart refuses flags that have no use for a part.
func noPart(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return &usageError{errors.New("--" + name + " and --shard do not go together: a part that is whole is " +
				"not made again, and landing merge writes the file")}
		}
	}
	return nil
}
