package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/choose"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/method"
	"github.com/landing-diffusion/landing/method/methods"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/train"
	"github.com/landing-diffusion/landing/verdict"
)

// remedies are commands that mend what a verdict on a run's samples finds, as they are
// typed where the run folder was named.
type remedies struct {
	*Run
	verdict *verdict.Verdict
	history
	begun int    // samples that found no beginning under their condition
	typed *typed // how the run was asked for; nil: not looked up yet
}

// Remedy returns the command that mends what a verdict on an evaluation of the run's samples says
// by a code.
func (r *Run) Remedy(c verdict.Code, v *Evaluation) string {
	m := remedies{r, &v.Verdict, r.history(v.Epoch), v.begun, nil}
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
		return m.train(m.farther(1.5)...)
	case verdict.Chains:
		return m.draw("prior=empirical")
	case verdict.Copies, verdict.Overfit:
		return m.forget()
	case verdict.Walls:
		if !m.Process.Elastic() {
			return m.draw("process.walls=" + langevin.ElasticWalls.String())
		}
		if m.redrawn() {
			return m.own()
		}
		if onEdges(m.Process.Set, m.Data) != "" { // no key mends that
			return m.check()
		}
		return m.train(steps)
	}
	return m.learn()
}

// forget is what mends samples that keep to the rows: longer paths where they are so short that a start lies next
// to its row; else an end before the network has learned the rows by heart.
func (m *remedies) forget() string {
	p := m.Problem
	if longer := m.longer(); longer != nil {
		return m.train(longer...)
	}
	if !p.Train.ByLoss() && len(m.Split.Val) >= train.FewestJudged {
		return m.train("train.stop=held_out_loss")
	}
	if epochs := m.epochs(); epochs > 1 {
		return m.train(fmt.Sprintf("train.epochs=%d", epochs/2))
	}
	return m.train(m.farther(2)...)
}

// longer returns the keys of paths as long as they follow from the data, where those of the run are so short that
// samples are near copies; nil where they are not, or none are followed.
func (m *remedies) longer() []string {
	kind, _ := methods.Of(m.Problem.Process.Method)
	if kind.Forward == nil || m.Bare {
		return nil
	}
	proc := kind.Forward(*m.Process)
	l, err := choose.Measure(context.TODO(), proc.Set, m.TrainRows, m.Problem.Seed, m.Pool)
	if err != nil || !(l.Spread > 0) {
		return nil
	}
	now := settle.Noise(m.Problem, proc.Method.Underdamped())
	if !choose.Short(l, now) {
		return nil
	}
	open := choose.Noise{Underdamped: now.Underdamped, Geometric: now.Geometric, Projected: proc.Method.Projected(),
		Far: m.Problem.Prior == "uniform" || len(proc.Set.Capabilities().Held) > 0}
	n, _ := choose.Schedule(l, open)
	out := []string{fmt.Sprintf("process.steps=%d", n.Steps), fmt.Sprintf("process.horizon=%.4g", n.Horizon),
		fmt.Sprintf("process.sigma.min=%.4g", n.Min), fmt.Sprintf("process.sigma.max=%.4g", n.Max)}
	if n.Underdamped {
		out = append(out, fmt.Sprintf("process.friction=%.4g", n.Friction))
	}
	return out
}

// learn is what mends a law: a training that goes on, or one of a wider network where going on
// has been seen to help no more.
func (m *remedies) learn() string {
	if m.redrawn() {
		return m.own()
	}
	if m.stopped {
		return "landing train " + m.name()
	}
	if m.course != nil && !m.verdict.Has(verdict.TooShort) {
		if _, p := m.course.Trend(); p == p { // evaluations show no fall
			wider := fmt.Sprintf("network.width=%d", 2*m.Problem.Network.Width)
			if _, err := m.trainable([]string{wider}); err == nil {
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
	return fmt.Sprintf("landing train %s --for %s", m.name(), told)
}

// longest bounds a training that a remedy asks for.
const longest = 24 * time.Hour

func (m *remedies) name() string { return text.Shell(m.Folder.Dir) }

// redrawn reports whether samples are drawn by other keys than the run's, but for the prior.
func (m *remedies) redrawn() bool {
	for _, s := range m.Drawn {
		if s.Changed() && s.Key != problem.KeyPrior {
			return true
		}
	}
	return false
}

// own draws by the run's own keys.
func (m *remedies) own() string { return "landing report " + m.name() + " --text" }

// draw draws by another key, without training; where that cannot be, it trains with it.
func (m *remedies) draw(setting string) string {
	all := []string{setting}
	key, _, _ := strings.Cut(setting, "=")
	for _, s := range m.Drawn {
		if s.Changed() && s.Key != key {
			all = append(all, s.String())
		}
	}
	to, err := m.Redraw(context.TODO(), problem.ParseSettings(all...), nil)
	if err != nil {
		return m.train(setting)
	}
	command := "landing report " + m.name() + set(all)
	if run.Free(to.Folder.Path(to.Out(run.ReportFile))) != nil {
		command += " --force"
	}
	return command
}

// farther lets paths take so many times their time. Where what they follow from is left to the data it is
// told too: of a horizon alone noise would be less, and paths as short as before.
func (m *remedies) farther(times float64) []string {
	s := m.Process.Schedule
	settings := []string{fmt.Sprintf("process.horizon=%.4g", times*s.T)}
	for _, c := range m.asked().chosen {
		switch c.Key {
		case problem.KeyProcessSigmaMin, problem.KeyProcessSigmaMax, problem.KeyProcessFriction:
			settings = append(settings, fmt.Sprintf("%s=%.4g", c.Key, c.Value))
		}
	}
	return settings
}

// train trains anew with some keys changed: those that were given stay, and those that follow from the data
// follow again.
func (m *remedies) train(settings ...string) string {
	if _, err := m.trainable(settings); err != nil {
		return m.check()
	}
	return "landing train " + m.problem() + m.asked().flags(max(m.seconds, m.Problem.Train.MaxSeconds), settings)
}

// trainable returns the run's problem with settings, if that can be.
func (m *remedies) trainable(settings []string) (*problem.Problem, error) {
	source, err := m.Folder.Read(m.asked().file)
	if err != nil {
		return nil, err
	}
	p, err := problem.Load(source, m.asked().file, m.asked().variant,
		problem.ParseSettings(slices.Concat(m.asked().settings, settings)...))
	if err != nil {
		return nil, err
	}
	_, err = p.Build()
	return p, err
}

func (m *remedies) asked() *typed {
	if m.typed == nil {
		t := m.asTyped()
		m.typed = &t
	}
	return m.typed
}

// typed is what somebody wrote for a run: a file of its folder, and what stood on the command line.
type typed struct {
	file, variant string
	settings      []string
	timed         bool // for a time
	chosen        []choose.Choice
}

// asTyped returns how a run was asked for, without its data. Where that is not known it is by config.yaml, which
// has a number for every key.
func (r *Run) asTyped() typed {
	config := typed{file: run.ConfigFile}
	var m run.Manifest
	if err := r.Folder.ReadJSON(run.ManifestFile, &m); err != nil {
		return config
	}
	t := typed{file: run.ProblemFile}
	for _, c := range m.Chosen {
		if strings.HasPrefix(c.Key, "process.") {
			t.chosen = append(t.chosen, c)
		}
	}
	for i := 0; i < len(m.Command); i++ {
		flag, value, joined := strings.Cut(m.Command[i], "=")
		if flag != "--set" && flag != "--variant" && flag != "--for" {
			continue
		}
		if !joined && i+1 < len(m.Command) {
			i++
			value = m.Command[i]
		}
		switch {
		case flag == "--variant":
			t.variant = value
		case flag == "--for", strings.HasPrefix(value, "train.max_seconds="):
			t.timed = true
		default:
			t.settings = append(t.settings, value)
		}
	}
	source, err := r.Folder.Read(t.file)
	if err != nil {
		return config
	}
	// It is what was typed if it has the same keys, and the files that it names are where they were.
	p, err := problem.Load(source, t.file, t.variant, problem.ParseSettings(t.settings...))
	if err == nil && !sameKeys(p.Written(), m.Given) {
		return config
	}
	if err == nil {
		_, err = p.Build()
	}
	if err != nil {
		return config
	}
	return t
}

// sameKeys reports whether keys have the same values, but for the data's path and the time.
func sameKeys(a, b []problem.Given) bool {
	values := func(given []problem.Given) map[string]string {
		of := map[string]string{}
		for _, g := range given {
			if g.Key != problem.KeyDataPath && g.Key != problem.KeyTrainMaxSeconds && g.Key != problem.KeyTrainEpochs {
				if v, err := json.Marshal(g.Value); err == nil {
					of[g.Key] = string(v)
				}
			}
		}
		return of
	}
	return maps.Equal(values(a), values(b))
}

// flags are those of landing train, with settings beside or in place of those that were typed; a training
// for a time has so many seconds.
func (t *typed) flags(seconds float64, settings []string) (s string) {
	if t.variant != "" {
		s += " --variant " + text.Shell(t.variant)
	}
	var all []string
	for _, old := range t.settings {
		key, _, _ := strings.Cut(old, "=")
		if !slices.ContainsFunc(settings, func(k string) bool { return strings.HasPrefix(k, key+"=") }) {
			all = append(all, old)
		}
	}
	if t.timed && !slices.ContainsFunc(settings, func(k string) bool { return strings.HasPrefix(k, "train.epochs=") }) {
		s += fmt.Sprintf(" --for %v", max(time.Duration(math.Ceil(seconds))*time.Second, time.Second))
	}
	return s + set(append(all, settings...))
}

// check has the doctor look at the run's problem.
func (m *remedies) check() string {
	s := "landing check " + m.problem()
	if m.asked().variant != "" {
		s += " --variant " + text.Shell(m.asked().variant)
	}
	return s + set(m.asked().settings)
}

// problem names the run's problem and its data.
func (m *remedies) problem() string {
	s := text.Shell(m.Folder.Path(m.asked().file))
	if path := m.Problem.Data.Path; path != "" {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		s += " --data " + text.Shell(path)
	}
	return s
}

// epochs returns after how many epochs the weights are, as far as is known.
func (m *remedies) epochs() int {
	if w := m.Weights(); w != nil {
		return w.Epoch
	}
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
