package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/choose"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
)

func (a *app) show() *cobra.Command {
	var why bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show what a run folder holds",
		Long: `show prints manifest, status and configuration of a run.

--why prints the keys that were chosen for the run, each with its value and the reason, then
those that were given, and where, and those that a clock decided. All others have their
defaults.`,
		Example: "  landing show runs/volcano-001 --why",
		Args:    args(1, "a run folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := run.Open(args[0])
			if err != nil {
				return err
			}
			if why {
				return a.why(f)
			}
			var out shown
			out.Run = f.Dir
			if err := f.ReadJSON(run.ManifestFile, &out.Manifest); err != nil {
				return err
			}
			switch err := f.ReadJSON(run.StatusFile, &out.Status); {
			case errors.Is(err, fs.ErrNotExist): // a process that was killed before its first status
				out.Status.State = "unknown"
			case err != nil:
				return err
			}
			if out.Checkpoints, err = f.Checkpoints(); err != nil {
				return err
			}
			if out.Drawn, err = f.Drawn(); err != nil {
				return err
			}
			config, err := f.Read(run.ConfigFile)
			if err != nil {
				return err
			}
			out.Config = string(config)
			records, err := f.Metrics()
			if err != nil {
				return err
			}
			for _, r := range records {
				if r.Kind == "epoch" {
					out.Last = r.Data
				}
			}
			return a.result(out, func(w io.Writer) {
				m, s := out.Manifest, out.Status
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintf(t, "run\t%s\nstate\t%s", f.Dir, s.State)
				if s.Epochs > 0 {
					fmt.Fprintf(t, ", epoch %d of %d", s.Epoch, s.Epochs)
				}
				fmt.Fprintln(t)
				if s.Message != "" {
					fmt.Fprintf(t, "message\t%s\n", s.Message)
				}
				fmt.Fprintf(t, "created\t%s by version %s\n", m.Created.Format(time.RFC3339), m.Version)
				fmt.Fprintf(t, "data\t%s, %d points in R^%d, SHA-256 %.12s…\n", m.Data.Name, m.Data.Points, m.Data.Dim,
					m.Data.SHA256)
				fmt.Fprintf(t, "machine\t%s, %d cores, %s/%s\n", m.Machine.CPU, m.Machine.Cores, m.Machine.OS,
					m.Machine.Arch)
				fmt.Fprintf(t, "checkpoints\t%v\n", out.Checkpoints)
				for _, name := range out.Drawn {
					fmt.Fprintf(t, "drawn by\t%s: %s\n", name, f.Path(run.DrawnDir+"/"+name))
				}
				for _, x := range m.Extensions {
					fmt.Fprintf(t, "gone on with\t%s after epoch %d (checkpoint %s stays)\n",
						strings.Join(x.Settings, " "), x.After, x.Checkpoint)
				}
				for _, c := range m.Clock {
					fmt.Fprintf(t, "from a clock\t%s is %v since epoch %d: %s\n", c.Key, c.Value, c.After, c.Reason)
				}
				if s.Stopped != "" {
					fmt.Fprintf(t, "ended\t%s\n", s.Stopped)
				} else if m.Stopped != nil {
					fmt.Fprintf(t, "ends\t%s\n", m.Stopped.Reason)
				}
				if m.Weights != nil {
					fmt.Fprintf(t, "weights\tof epoch %d (checkpoint %s stays): %s\n", m.Weights.Epoch,
						m.Weights.Checkpoint, m.Weights.Reason)
				}
				n := len(m.Clock)
				if m.Stopped != nil && m.Stopped.Repeat != "" && (n == 0 || m.Clock[n-1].After <= m.Stopped.After) {
					fmt.Fprintf(t, "without judging\t%s\n", m.Stopped.Repeat)
				} else if n > 0 {
					repeat := m.Clock[n-1].Repeat
					if repeat == "" {
						repeat = "not by keys: the rate was falling when the clock lowered the epochs"
					}
					fmt.Fprintf(t, "without a clock\t%s\n", repeat)
				}
				if out.Last != nil {
					var last struct {
						Loss    float64
						Rate    float64
						Seconds float64
					}
					if json.Unmarshal(out.Last, &last) == nil {
						fmt.Fprintf(t, "last epoch\tloss %.4g, learning rate %.3g, %s of training\n",
							last.Loss, last.Rate,
							clock(last.Seconds))
					}
				}
				t.Flush()
				fmt.Fprintf(w, "\n%s", out.Config)
			})
		},
	}
	cmd.Flags().BoolVar(&why, "why", false, "say of each key that was not left at its default why it is what it is")
	return cmd
}

// What show prints, and with --why.
type (
	shown struct {
		Run         string          `json:"run"`
		Manifest    run.Manifest    `json:"manifest"`
		Status      run.Status      `json:"status"`
		Checkpoints []string        `json:"checkpoints"`
		Last        json.RawMessage `json:"last_epoch"` // as in metrics.jsonl
		Config      string          `json:"config"`
		Drawn       []string        `json:"drawn"` // folders of reports by other keys of generation
	}
	reasons struct {
		Run        string          `json:"run"`
		Chosen     []choose.Choice `json:"chosen"`
		Given      []problem.Given `json:"given"`
		Clock      []run.Clocked   `json:"clock"`
		Extensions []run.Extension `json:"extensions"`
	}
)

// why says which keys of a run have which values, and why.
func (a *app) why(f *run.Folder) error {
	var m run.Manifest
	if err := f.ReadJSON(run.ManifestFile, &m); err != nil {
		return err
	}
	out := reasons{f.Dir, append([]choose.Choice{}, m.Chosen...), append([]problem.Given{}, m.Given...),
		append([]run.Clocked{}, m.Clock...), append([]run.Extension{}, m.Extensions...)}
	note := ""
	if m.Given == nil { // of a version that did not note them
		source, err := f.Read(run.ProblemFile)
		if err != nil {
			return err
		}
		p, err := problem.Load(source, run.ProblemFile, "", nil)
		if err != nil {
			return err
		}
		out.Given = p.Written()
		note = "keys of variants and of the command line are not known: " + strings.Join(m.Command, " ")
	}
	return a.result(out, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		part := func(title string, n int) {
			if n > 0 {
				fmt.Fprintf(t, "%s\t\t\n", title)
			}
		}
		part("chosen", len(out.Chosen))
		for _, c := range out.Chosen {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", c.Key, value(c.Value), c.Reason)
		}
		part("given", len(out.Given))
		for _, g := range out.Given {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", g.Key, value(g.Value), g.From)
		}
		part("from a clock", len(out.Clock))
		if n := len(out.Clock); n > 0 { // those before it hold no more; --json has all
			c := out.Clock[n-1]
			fmt.Fprintf(t, "  %s\t%s\tsince epoch %d: %s\n", c.Key, value(c.Value), c.After, c.Reason)
		}
		part("gone on with", len(out.Extensions))
		for _, x := range out.Extensions {
			for _, s := range x.Settings {
				key, v, _ := strings.Cut(s, "=")
				fmt.Fprintf(t, "  %s\t%s\tsince epoch %d\n", key, v, x.After)
			}
		}
		t.Flush()
		if note != "" {
			fmt.Fprintln(w, note)
		}
		fmt.Fprintf(w, "\nAll other keys have their defaults; %s has every one.\n", f.Path(run.ConfigFile))
	})
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
