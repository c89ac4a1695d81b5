package main

import (
	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
)

func (a *app) report() *cobra.Command {
	j := judgement{report: true}
	var data string
	var force bool
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write figures and the HTML report of a run",
		Long: `report draws samples, scores them and writes them with figures and a page into the
run folder; with --set, which draws by other keys than the run's, into a folder in it
that is named by them.`,
		Args: args(1, "a run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.open(args[0], data)
			if err != nil {
				return err
			}
			if r, err = r.Redraw(problem.ParseSettings(j.settings...)); err != nil {
				return err
			}
			r.Folder.Force = force
			if err := r.Folder.Free(r.Out(run.ReportFile)); err != nil {
				return err
			}
			// The report is written last: without it, samples and figures are
			// what an unfinished report left.
			r.Folder.Force = true
			j.seeded = cmd.Flags().Changed("seed")
			return a.judge(cmd.Context(), r, j)
		},
	}
	j.flags(cmd, &data)
	cmd.Flags().BoolVar(&force, "force", false, "write over an earlier report and its figures")
	return cmd
}
