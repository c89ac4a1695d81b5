package experiment

import (
	"context"
	"errors"
	"fmt"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/problem/settle"
)

// fewestPaths is how many forward paths the doctor must have room for.
const fewestPaths = 10

// Bounds of what the doctor holds at once: at both it takes about a gigabyte.
const (
	maxExamined     = 250_000    // coordinates
	maxExaminedPath = 20_000_000 // numbers of a forward path
)

// examinable returns a *problem.KeyError if the set or its paths are too large to look at.
func examinable(proc *langevin.Process) error {
	d, n := proc.Set.Dim(), proc.Schedule.N
	if d > maxExamined {
		return &problem.KeyError{Key: "set", Fault: fmt.Sprintf("it lies in R^%d; landing check looks at sets in at "+
			"most R^%d (training has no such limit)", d, maxExamined)}
	}
	if float64(n+1)*float64(d) > maxExaminedPath {
		return &problem.KeyError{Key: problem.KeyProcessSteps, Value: n,
			Want: fmt.Sprintf("at most %d steps in R^%d, for landing check: it looks at paths of at most %.0g numbers",
				maxExaminedPath/d-1, d, float64(maxExaminedPath))}
	}
	return nil
}

// Examine has the doctor look at the problem: its set, its data if it names any, and its process, which need not be
// able to run. It writes nothing. An error of kind fault.Check, returned beside the report, says that something failed;
// other errors leave nothing to look at. It calls report, if that is not nil, with what it does next.
func Examine(ctx context.Context, p *problem.Problem, pool *parallel.Pool, report func(doing string)) (*check.Report,
	error) {
	proc, err := p.Assemble()
	if err != nil {
		return nil, err
	}
	var config *langevin.ConfigError
	if invalid := proc.Validate(); errors.As(invalid, &config) && config.Field != "Landing.Rate" {
		_, err := p.Build()
		return nil, err
	}
	if err := p.CheckPaths(proc, fewestPaths); err != nil {
		return nil, err
	}
	if err := examinable(proc); err != nil {
		return nil, err
	}
	var data *dataset.Points
	free := withoutCondition(proc.Set, p.Condition.Columns)
	if kind, _ := kinds.Of(p.Data.Kind, free); kind.Bundled || p.Data.Path != "" {
		if data, err = readData(ctx, p, kind, proc.Set); err != nil {
			return nil, err
		}
	}
	c := settle.Case{Problem: p, Process: proc, Lenient: true}
	var split dataset.Split
	if data != nil {
		defer input.Spare(len(data.X))()
		split = dataset.RandomSplit(data.N, p.Data.SplitSeed)
		rows := data.Rows(split.Train)
		c.Rows = &settle.Rows{All: data.X, Train: rows, Learned: rows, Validation: len(split.Val)}
		if proc.Validate() == nil {
			if _, err := p.Build(); err != nil { // keys of training
				return nil, err
			}
		}
	}
	settled, err := settle.Settle(ctx, c, pool, report)
	if err != nil {
		return nil, err
	}
	p, proc = settled.Problem, settled.Process
	chosen, notes := settled.Chosen, settled.Notes
	in := check.Input{Process: proc, Seed: p.Seed, Method: settled.Method}
	if !p.Data.Tolerance.IsAuto() {
		in.Tolerance = float64(p.Data.Tolerance)
	}
	for _, key := range p.Idle(proc) {
		notes = append(notes, fmt.Sprintf("%s means nothing to the method %s", key, p.Process.Method))
	}
	if data != nil {
		in.Data = data.X
	}
	if data != nil && in.Method != nil {
		l := &Loaded{Settled: *settled, Data: data, Split: split, TrainRows: c.Rows.Train, Learned: c.Rows.Train,
			ValRows: data.Rows(split.Val), Pool: pool}
		if in.Training, err = l.training(); err != nil {
			return nil, err
		}
	}
	in.Uniform = p.Prior != "empirical"
	r, err := check.Run(ctx, in, pool)
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		r.Findings = append(r.Findings, check.Finding{Check: "auto", Status: check.Warn, Message: note})
	}
	for _, c := range chosen {
		f := check.Finding{Check: "auto", Message: fmt.Sprintf("%s: auto is %v: %s", c.Key, c.Value, c.Reason),
			Key: c.Key, Value: c.Value}
		if v, ok := c.Value.(float64); ok {
			f.Numbers = check.Numbers{"value": v}
			f.Message = fmt.Sprintf("%s: auto is %.4g: %s", c.Key, v, c.Reason)
		}
		r.Findings = append(r.Findings, f)
	}
	r.Data = []string{}
	if arm, ok := constraint.As[*trajectory.Set](proc.Set); ok {
		r.Findings = append(r.Findings, leftOut(arm.Spec().Arm)...)
		said, doubt := arm.Spec().Arm.Described()
		if r.Data = append(r.Data, said); doubt != "" {
			r.Findings = append(r.Findings, check.Finding{Check: "robot", Status: check.Warn, Message: doubt})
		}
	}
	if data != nil {
		lines, doubts := data.Described()
		r.Data = append(r.Data, lines...)
		for _, doubt := range doubts {
			r.Findings = append(r.Findings, check.Finding{Check: "data", Status: check.Warn, Message: doubt})
		}
		r.Findings = append(r.Findings, seamFindings(p, proc.Set, data)...)
	}
	if n := r.Count(check.Fail); n > 0 {
		return r, fault.Errorf(fault.Check, "", "%s failed", text.Plural(n, "check"))
	}
	return r, nil
}

// leftOut tells what the file of an arm has that the arm does not, such as collision meshes.
func leftOut(arm *robot.Arm) (out []check.Finding) {
	for _, note := range arm.Notes {
		out = append(out, check.Finding{Check: "robot", Status: check.Warn,
			Message: fmt.Sprintf("robot %s: %s", arm.Name, note)})
	}
	return out
}
