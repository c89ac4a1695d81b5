package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/sweep"
	"github.com/landing-diffusion/landing/tasks"
)

func init() { tasks.All = append(tasks.All, sweep.Tasks()) }

// A sweepOrigin is what a sweep is planned from, again when its results are fetched.
type sweepOrigin struct {
	File string   `json:"file"`
	Dir  string   `json:"data,omitempty"`
	Set  []string `json:"set,omitempty"`
}

// plan reads and plans the sweep.
func (s *sweepOrigin) plan() (*sweep.Plan, error) {
	f, err := sweep.Read(s.File)
	if err != nil {
		return nil, err
	}
	return f.Plan(sweep.Options{Dir: s.Dir, Set: s.Set})
}

func (a *app) submitSweep() *cobra.Command {
	var s submission
	var from sweepOrigin
	cmd := &cobra.Command{
		Use:   "sweep FILE",
		Short: "Cells of a sweep, by workers of a queue",
		Long: `submit sweep hands the cells of a sweep file (docs/sweeps.md) to a queue, a unit each, with the data and
files that they read. landing fetch puts run folders and rows into the sweep's folder, as landing sweep
would have made them: rows.json has the same bytes, where workers have the same kind of kernels and budgets
are not in seconds.`,
		Example: "  landing submit sweep table.yaml --data ~/data\n  landing fetch -o sweeps/table",
		Args:    args(1, "a sweep file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(); err != nil {
				return err
			}
			var err error
			if from.File = args[0]; !slices.Contains(sweep.Shipped(), from.File) {
				if from.File, err = filepath.Abs(from.File); err != nil {
					return err
				}
			}
			if from.Dir != "" {
				if from.Dir, err = filepath.Abs(from.Dir); err != nil {
					return err
				}
			}
			plan, err := from.plan()
			if err != nil {
				return err
			}
			raw, err := json.Marshal(from)
			if err != nil {
				return err
			}
			return a.handCells(cmd, &s, plan, "sweep "+plan.File.Name, collection{Sweep: raw})
		},
	}
	f := cmd.Flags()
	f.StringVar(&from.Dir, "data", "", "folder that paths of data start from (default: that of the sweep file)")
	f.StringArrayVar(&from.Set, "set", nil, "replace one key in all cells, as in network.width=64 (repeatable)")
	s.flags(cmd)
	return cmd
}

// handCells hands the cells of a plan to a queue, those of a training as one unit.
func (a *app) handCells(cmd *cobra.Command, s *submission, plan *sweep.Plan, what string, c collection) error {
	units, err := plan.Away()
	if err != nil {
		return err
	}
	cells := 0
	s.Inputs = map[string]string{}
	for _, u := range units {
		cells += len(u.Cells)
		s.Units = append(s.Units, u.Unit)
		for name, sum := range u.Unit.Inputs {
			s.Inputs[sum] = u.Inputs[name]
		}
	}
	s.What = fmt.Sprintf("%s, %s", what, plural(cells, "cell"))
	return a.hand(cmd, s, c)
}
