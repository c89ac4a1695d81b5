package experiment

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/method"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/verdict"
)

// remedies are commands that mend what a verdict on a run's samples finds, as they are
// typed where the run folder was named.
type remedies struct {
	*Run
	verdict *verdict.Verdict
	history
	begun int // samples that found no beginning under their condition
}

// Remedy returns the command that mends what a verdict on an evaluation of the run's samples says
// by a code.
func (r *Run) Remedy(c verdict.Code, v *Evaluation) string {
	m := remedies{r, &v.Verdict, r.history(v.Epoch), v.begun}
	return m.of(c)
}

// of returns the remedy for a code.
func (m *remedies) of(c verdict.Code) string {
	p := m.Problem
	steps := fmt.Sprintf("process.steps=%d", 2*m.Process.Schedule.N)
	switch c {
	case verdict.Violation:
		if !m.Method.Feasible() && method.Leaves(m.Method, m.Process.Set) {
			return m.train("process.method=" + langevin.ULLA.String())
		}
		return m.check()
	case verdict.Failed:
		if m.begun > 0 {
			return m.check()
		}
		if m.redrawn() {
			return m.own()
		}
		return m.train(steps)
	case verdict.StartLaw:
		if m.Method.Prior() == nil && p.Prior != "empirical" {
			return m.draw("prior=empirical")
		}
		return m.train(fmt.Sprintf("process.horizon=%.4g", 1.5*m.Process.Schedule.T))
	case verdict.Chains:
		return m.draw("prior=empirical")
	case verdict.Copies, verdict.Overfit:
		// A start near the rows is where copies come from; else the network has learned them.
		if epochs := m.epochs(); epochs > 1 && p.Prior == "uniform" {
			return m.train(fmt.Sprintf("train.epochs=%d", epochs/2))
		}
		return m.train(fmt.Sprintf("process.horizon=%.4g", 2*m.Process.Schedule.T))
	case verdict.Walls:
		if !m.Process.Elastic() {
			return m.draw("process.walls=" + langevin.ElasticWalls.String())
		}
		if m.redrawn() {
			return m.own()
		}
		return m.train(steps)
	}
	return m.learn()
}

// learn is what mends a law: a training that goes on, or one of a wider network where going on
// has been seen to help no more.
func (m *remedies) learn() string {
	if m.redrawn() {
		return m.own()
	}
	if m.stopped {
		return "landing resume " + m.name()
	}
	if m.course != nil && !m.verdict.Has(verdict.TooShort) {
		if _, p := m.course.Trend(); p == p { // evaluations show no fall
			wider := fmt.Sprintf("network.width=%d", 2*m.Problem.Network.Width)
			if _, err := m.trainable(wider); err == nil {
				return m.train(wider)
			}
		}
	}
	longer := 2 * time.Duration(m.seconds*float64(time.Second))
	longer = min(max(longer.Round(time.Minute), time.Minute), longest)
	told := longer.String() // 1h30m0s
	told = strings.TrimSuffix(told, "0s")
	if strings.HasSuffix(told, "h0m") {
		told = strings.TrimSuffix(told, "0m")
	}
	return fmt.Sprintf("landing resume %s --for %s", m.name(), told)
}

// longest bounds a training that a remedy asks for.
const longest = 24 * time.Hour

func (m *remedies) name() string { return text.Shell(m.Folder.Dir) }

// redrawn reports whether samples are drawn by other keys than the run's, but for the prior.
func (m *remedies) redrawn() bool {
	for _, s := range m.Drawn {
		if s.Changed() && s.Key != "prior" {
			return true
		}
	}
	return false
}

// own draws by the run's own keys.
func (m *remedies) own() string { return "landing eval " + m.name() }

// draw draws by another key, without training; where that cannot be, it trains with it.
func (m *remedies) draw(setting string) string {
	all := []string{setting}
	key, _, _ := strings.Cut(setting, "=")
	for _, s := range m.Drawn {
		if s.Changed() && s.Key != key {
			all = append(all, s.String())
		}
	}
	to, err := m.Redraw(all)
	if err != nil {
		return m.train(setting)
	}
	command := "landing report " + m.name() + set(all)
	if run.Free(to.Folder.Path(to.Out(run.ReportFile))) != nil {
		command += " --force"
	}
	return command
}

// train trains anew with one key changed, all others as they were.
func (m *remedies) train(setting string) string {
	if _, err := m.trainable(setting); err != nil {
		return m.check()
	}
	return "landing train " + m.problem() + set([]string{setting})
}

// trainable returns the run's problem with a setting, if that can be.
func (m *remedies) trainable(setting string) (*problem.Problem, error) {
	config, err := m.Folder.Read(run.ConfigFile)
	if err != nil {
		return nil, err
	}
	p, err := problem.Load(config, run.ConfigFile, "", []string{setting})
	if err != nil {
		return nil, err
	}
	_, err = p.Build()
	return p, err
}

// check has the doctor look at the run's problem.
func (m *remedies) check() string { return "landing check " + m.problem() }

// problem names the run's problem and its data.
func (m *remedies) problem() string {
	s := text.Shell(m.Folder.Path(run.ConfigFile))
	if path := m.Problem.Data.Path; path != "" {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		s += " --data " + text.Shell(path)
	}
	return s
}

// epochs returns how many epochs were trained, as far as is known.
func (m *remedies) epochs() int {
	if m.course != nil {
		return m.course.Epochs
	}
	return m.Problem.Train.Epochs
}

func set(settings []string) (s string) {
	for _, k := range settings {
		s += " --set " + text.Shell(k)
	}
	return s
}
