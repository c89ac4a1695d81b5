package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// showOptions are the flags of show.
type showOptions struct{ why bool }

func (o *showOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.why, "why", false, "say of each key that was not left at its default why it is what it is")
}

func showVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "show RUN",
		Short: "Show what a run folder holds",
		Long: `show prints manifest, status and configuration of a run.

--why prints the keys that were chosen for the run, each with its value and the reason, then those
that were given, and where, and those that a clock decided. All others have their defaults.`,
		Example: "  landing show runs/volcano-001 --why",
	}, new(showOptions), runShow)
}

func runShow(_ context.Context, _ *app, o *showOptions, args []string) (answer, error) {
	f, err := run.Open(args[0])
	if err != nil {
		return answer{}, err
	}
	if o.why {
		r, err := reasonsOf(f)
		return answer{r, r.print}.unless(err)
	}
	s, err := shownOf(f)
	return answer{s, s.print}.unless(err)
}

// shown is what show prints.
type shown struct {
	Run         string          `json:"run"`
	Manifest    run.Manifest    `json:"manifest"`
	Status      run.Status      `json:"status"`
	Checkpoints []string        `json:"checkpoints"`
	Last        json.RawMessage `json:"last_epoch"` // as in metrics.jsonl
	Config      string          `json:"config"`
	Drawn       []string        `json:"drawn"` // folders of reports by other keys of generation
}

// shownOf reads a run folder.
func shownOf(f *run.Folder) (s shown, err error) {
	s.Run = f.Dir
	if s.Manifest, err = f.Manifest(); err != nil {
		return s, err
	}
	switch err := f.ReadJSON(run.StatusFile, &s.Status); {
	case errors.Is(err, fs.ErrNotExist): // a process that was killed before its first status
		s.Status.State = "unknown"
	case err != nil:
		return s, err
	}
	if s.Checkpoints, err = f.Checkpoints().Names(); err != nil {
		return s, err
	}
	if s.Drawn, err = f.Drawn(); err != nil {
		return s, err
	}
	config, err := f.Read(run.ConfigFile)
	if err != nil {
		return s, err
	}
	s.Config = string(config)
	records, err := f.Metrics()
	for _, r := range records {
		if r.Kind == "epoch" {
			s.Last = r.Data
		}
	}
	return s, err
}

func (s shown) print(w io.Writer) {
	m := s.Manifest
	row := func(name, format string, v ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", v...) }
	row("run", "%s", s.Run)
	at := ""
	if s.Status.Epochs > 0 {
		at = fmt.Sprintf(", epoch %d of %d", s.Status.Epoch, s.Status.Epochs)
	}
	row("state", "%s%s", s.Status.State, at)
	if s.Status.Message != "" {
		row("message", "%s", s.Status.Message)
	}
	row("created", "%s by version %s", m.Created.Format(time.RFC3339), m.Version)
	row("data", "%s, %d points in R^%d, SHA-256 %.12s…", m.Data.Name, m.Data.Points, m.Data.Dim, m.Data.SHA256)
	row("machine", "%s, %d cores, %s/%s", m.Machine.CPU, m.Machine.Cores, m.Machine.OS, m.Machine.Arch)
	row("checkpoints", "%v", s.Checkpoints)
	for _, name := range s.Drawn {
		row("drawn by", "%s: %s", name, filepath.Join(s.Run, run.DrawnDir, name))
	}
	for _, x := range m.Extensions {
		row("extended by", "%s after epoch %d (checkpoint %s stays)", strings.Join(x.Settings, " "), x.After,
			x.Checkpoint)
	}
	for _, c := range m.Clock {
		row("from a clock", "%s is %v since epoch %d: %s", c.Key, c.Value, c.After, c.Reason)
	}
	if s.Status.Stopped != "" {
		row("ended", "%s", s.Status.Stopped)
	} else if m.Stopped != nil {
		row("ends", "%s", m.Stopped.Reason)
	}
	if m.Weights != nil {
		row("weights", "of epoch %d (checkpoint %s stays): %s", m.Weights.Epoch, m.Weights.Checkpoint, m.Weights.Reason)
	}
	if repeat, judged := m.Repeat(); judged {
		row("without judging", "%s", repeat)
	} else if len(m.Clock) > 0 {
		row("without a clock", "%s", cmp.Or(repeat,
			"not by keys: the rate was falling when the clock lowered the epochs"))
	}
	var last train.Epoch
	if s.Last != nil && json.Unmarshal(s.Last, &last) == nil {
		row("last epoch", "loss %.4g, learning rate %.3g, %s of training", last.Loss, last.Rate,
			text.Clock(last.Seconds))
	}
	if c := s.Status.Trained; c != nil {
		row("in all", "%s, with epochs that the weights do not come from, and evaluations", c.Text())
	}
	fmt.Fprintf(w, "\n%s", s.Config)
}

// reasons is what show --why prints: which keys of a run have which values, and why.
type reasons struct {
	Run        string          `json:"run"`
	Chosen     []choose.Choice `json:"chosen"`
	Given      []problem.Given `json:"given"`
	Clock      []run.Clocked   `json:"clock"`
	Extensions []run.Extension `json:"extensions"`

	config string // path
}

func reasonsOf(f *run.Folder) (out reasons, err error) {
	m, err := f.Manifest()
	if err != nil {
		return out, err
	}
	out = reasons{f.Dir, append([]choose.Choice{}, m.Chosen...), append([]problem.Given{}, m.Given...),
		append([]run.Clocked{}, m.Clock...), append([]run.Extension{}, m.Extensions...), f.Path(run.ConfigFile)}
	return out, nil
}

func (r reasons) print(w io.Writer) {
	part := func(title string, n int) {
		if n > 0 {
			fmt.Fprintf(w, "%s\t\t\n", title)
		}
	}
	part("chosen", len(r.Chosen))
	for _, c := range r.Chosen {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", c.Key, value(c.Value), c.Reason)
	}
	part("given", len(r.Given))
	for _, g := range r.Given {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", g.Key, value(g.Value), g.From)
	}
	part("from a clock", len(r.Clock))
	if n := len(r.Clock); n > 0 { // those before it hold no more; --json has all
		c := r.Clock[n-1]
		fmt.Fprintf(w, "  %s\t%s\tsince epoch %d: %s\n", c.Key, value(c.Value), c.After, c.Reason)
	}
	part("extended by", len(r.Extensions))
	for _, x := range r.Extensions {
		for _, s := range x.Settings {
			key, v, _ := strings.Cut(s, "=")
			fmt.Fprintf(w, "  %s\t%s\tsince epoch %d\n", key, v, x.After)
		}
	}
	fmt.Fprintf(w, "\nAll other keys have their defaults; %s has every one.\n", r.config)
}

// mostShown is how long a list is written out; config.yaml and --json have all.
const mostShown = 3

// value writes the value of a key, numbers in few digits.
func value(v any) string {
	switch v := v.(type) {
	case float64:
		return fmt.Sprintf("%.6g", v)
	case []any:
		if len(v) > mostShown {
			return fmt.Sprintf("(%d numbers)", len(v))
		}
		s := make([]string, len(v))
		for i, x := range v {
			s[i] = value(x)
		}
		return "[" + strings.Join(s, ", ") + "]"
	case nil:
		return "–"
	default:
		return fmt.Sprint(v)
	}
}
