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

	"github.com/landing-diffusion/landing/run"
)

func (a *app) show() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Show what a run folder holds",
		Args:  args(1, "a run folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := run.Open(args[0])
			if err != nil {
				return err
			}
			var out struct {
				Run         string          `json:"run"`
				Manifest    run.Manifest    `json:"manifest"`
				Status      run.Status      `json:"status"`
				Checkpoints []string        `json:"checkpoints"`
				Last        json.RawMessage `json:"last_epoch"`
				Config      string          `json:"config"`
				Drawn       []string        `json:"drawn"` // folders of reports by other keys of generation
			}
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
				if n := len(m.Clock); n > 0 {
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
}
