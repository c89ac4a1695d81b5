package main

import (
	"encoding/json"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/paper"
)

// A paperOrigin is what cells of the paper are planned from, again when their results are fetched.
type paperOrigin struct {
	paper.Config
	Rows string      `json:"rows"` // the file
	Left []paper.Due `json:"left"`
}

func (a *app) submitReproduce() *cobra.Command {
	var s submission
	var r reproduction
	cmd := &cobra.Command{
		Use:   "reproduce TABLE-OR-FIGURE...",
		Short: "Cells of the paper's tables and figures, by workers of a queue",
		Long: `submit reproduce hands what landing reproduce would run to a queue, a unit each training with all that is
drawn from it. landing fetch puts run folders into --out and the rows into their file, as landing reproduce
would have; landing reproduce TABLE --show then prints the table.`,
		Example: "  landing submit reproduce table1 --data data --budget 15m\n  landing fetch",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(); err != nil {
				return err
			}
			exhibits, err := exhibitsOf(args)
			if err != nil {
				return err
			}
			if err := r.check(); err != nil {
				return err
			}
			r.retry = s.Retry
			for _, path := range []*string{&r.Data, &r.Out, &r.rows} {
				if *path == "" {
					continue
				}
				if *path, err = filepath.Abs(*path); err != nil {
					return err
				}
			}
			rows, err := paper.ReadRows(r.rows)
			if err != nil {
				return err
			}
			all, err := r.some(paper.CellsOf(exhibits))
			if err != nil {
				return err
			}
			from := paperOrigin{r.Config, r.rows, r.due(all, rows)}
			if len(from.Left) == 0 {
				a.say("all cells are finished: %s", r.rows)
				return nil
			}
			plan, err := from.Plan(from.Left, true)
			if err != nil {
				return err
			}
			raw, err := json.Marshal(from)
			if err != nil {
				return err
			}
			return a.handCells(cmd, &s, plan, "reproduce", collection{Reproduce: raw})
		},
	}
	r.flags(cmd.Flags())
	s.flags(cmd)
	return cmd
}
