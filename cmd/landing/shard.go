package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/study/tasks"
	"github.com/landing-diffusion/landing/study/work"
)

// shardFlag is --shard of verbs that can do a part of their work.
func shardFlag(f *pflag.FlagSet, to *string, what string) {
	f.StringVar(to, "shard", "", "i/n: "+what+"; auto: as an array of Slurm or an Indexed Job of Kubernetes "+
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

// madePart is what a verb prints of a part.
type madePart struct {
	Shard   string       `json:"shard"`
	Parts   string       `json:"parts"`          // folder of all parts
	Part    string       `json:"part,omitempty"` // folder of this one; missing if it is empty
	First   uint64       `json:"first"`          // number of its first row
	Rows    uint64       `json:"rows"`
	Made    bool         `json:"made"` // by this call
	Files   []tasks.File `json:"files,omitempty"`
	Kernel  string       `json:"kernel,omitempty"`
	Seconds float64      `json:"seconds"` // that it took to make
	Detail  *tasks.Drawn `json:"detail,omitempty"`
}

// makePart makes a part of a list in the folder of the parts of a file, and tells of it.
func makePart(ctx context.Context, c *console, l *tasks.List, s work.Shard, out string) (answer, error) {
	lo, hi := s.Range(l.Count)
	p := madePart{Shard: s.String(), Parts: out + partsDir, First: l.From + lo, Rows: hi - lo}
	bar := c.progress()
	part, before, err := l.Part(ctx, &work.Store{Dir: p.Parts}, s, func(done, of uint64) {
		bar.count(int(done), int(of), func() string { return fmt.Sprintf("part %s: %d of %d rows", s, done, of) })
	})
	bar.done()
	if err != nil {
		return answer{}, err
	}
	if part == nil {
		return answer{p, func(w io.Writer) {
			fmt.Fprintf(w, "part %s of %s is empty: there are more parts than rows\n", s, plural(int(l.Count), "row"))
		}}, nil
	}
	r := part.Result
	if d := r.Detail; d.Failed > 0 {
		c.say("%d samples of the part failed (%d of them on a wrong component)", d.Failed, d.Wrong)
	}
	p.Part, p.Made = part.Dir, before.State != work.Done
	p.Files, p.Kernel, p.Seconds, p.Detail = r.Files, r.Kernel, r.Seconds, &r.Detail
	return answer{p, func(w io.Writer) {
		word := "made"
		if !p.Made {
			word = "is whole already, made"
		}
		fmt.Fprintf(w, "part %s: rows %d to %d of %d in %s, %s in %.2f s, worst violation %.2g\n", s, p.First,
			p.First+p.Rows-1, l.Count, p.Part, word, r.Seconds, float64(r.Detail.Worst()))
		fmt.Fprintf(w, "when all parts are there:  landing merge %s\n", text.Shell(p.Parts))
	}}, nil
}

// noPart refuses flags that have no use for a part.
func noPart(given func(flag string) bool, names ...string) error {
	for _, name := range names {
		if given(name) {
			return &usageError{errors.New("--" + name + " and --shard do not go together: a part that is whole is " +
				"not made again, and landing merge writes the file")}
		}
	}
	return nil
}
