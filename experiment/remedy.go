package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// remedies finds the remedies of findings on samples of a run.
type remedies struct {
	ctx context.Context // of the evaluation
	run *Run
	history
	asked func() *source // how the run was asked for
}

func newRemedies(ctx context.Context, r *Run, h history) *remedies {
	return &remedies{ctx, r, h, sync.OnceValue(func() *source { return sourceOf(r.Folder) })}
}

// Remedy returns the remedy of a finding on samples of a run; v is their evaluation.
func Remedy(ctx context.Context, r *Run, c verdict.Code, v *judge.Evaluation) *verdict.Remedy {
	return newRemedies(ctx, r, historyOf(r.Folder, v.Epoch)).of(c, v)
}

// of returns the remedy for a code of a verdict, whose other findings the evaluation has.
func (m *remedies) of(c verdict.Code, v *judge.Evaluation) *verdict.Remedy {
	r := m.run
	steps := fmt.Sprintf("process.steps=%d", 2*r.Process.Schedule.N)
	switch c {
	case verdict.Violation:
		if !r.Method.Feasible() && method.Leaves(r.Method, r.Process.Set) {
			return m.train("process.method=" + langevin.ULLA.String())
		}
		return m.check()
	case verdict.Failed:
		switch {
		case v.Begun > 0:
			return m.check()
		case m.redrawn():
			return m.own()
		}
		return m.train(steps)
	case verdict.StartLaw:
		if r.Method.Prior() == nil && r.Problem.Prior != "empirical" {
			return m.draw("prior=empirical")
		}
		return m.train(m.farther(1.5)...)
	case verdict.Chains:
		return m.draw("prior=empirical")
	case verdict.Copies, verdict.Overfit:
		if n, _ := tried(r.Folder, mostTried); n == mostTried {
			return nil
		}
		return m.forget()
	case verdict.Walls:
		switch {
		case !r.Process.Elastic():
			return m.draw("process.walls=" + langevin.ElasticWalls.String())
		case m.redrawn():
			return m.own()
		case onEdges(r.Process.Walked(), r.Data) != "": // no setting helps
			return m.check()
		}
		return m.train(steps)
	}
	return m.learn(v.Verdict.Has(verdict.TooShort))
}

// forget is the remedy for samples that copy the rows: longer paths if they are so short that a start lies next to its
// row, else fewer epochs, before the network has memorised the rows.
func (m *remedies) forget() *verdict.Remedy {
	if longer := longerPaths(m.ctx, m.run.Loaded); longer != nil {
		return m.train(longer...)
	}
	if !m.run.Problem.Train.ByLoss() && len(m.run.Split.Val) >= train.FewestJudged {
		return m.train("train.stop=held_out_loss")
	}
	epochs := m.run.Problem.Train.Epochs
	if made, _ := m.run.Folder.Manifest(); made.Weights != nil {
		epochs = made.Weights.Epoch
	} else if m.course != nil {
		epochs = m.course.Epochs
	}
	if epochs > 1 {
		return m.train(fmt.Sprintf("train.epochs=%d", epochs/2))
	}
	return m.train(m.farther(2)...)
}

// longerPaths returns the keys of paths as long as they follow from the data, where those of a problem are so short
// that samples are near copies; nil where they are not, or the method follows none.
func longerPaths(ctx context.Context, l *Loaded) []string {
	kind := l.Problem.MethodKind
	if kind.Forward == nil || l.Bare {
		return nil
	}
	proc := kind.Forward(*l.Process)
	lengths, err := choose.Measure(ctx, proc.Set, l.TrainRows, l.Problem.Seed, l.Pool)
	if err != nil || !(lengths.Spread > 0) {
		return nil
	}
	now := problem.Noise(l.Problem, proc.Method.Underdamped())
	if !choose.Short(lengths, now) {
		return nil
	}
	n, _ := choose.Schedule(lengths, choose.Noise{Underdamped: now.Underdamped, Geometric: now.Geometric,
		Projected: proc.Method.Projected(),
		Far:       l.Problem.Prior == "uniform" || len(proc.Set.Capabilities().Held) > 0})
	out := []string{fmt.Sprintf("process.steps=%d", n.Steps), fmt.Sprintf("process.horizon=%.4g", n.Horizon),
		fmt.Sprintf("process.sigma.min=%.4g", n.Min), fmt.Sprintf("process.sigma.max=%.4g", n.Max)}
	if n.Underdamped {
		out = append(out, fmt.Sprintf("process.friction=%.4g", n.Friction))
	}
	return out
}

// longest bounds a training that a remedy asks for.
const longest = 24 * time.Hour

// learn is the remedy for a law that is off: more training, unless held-out rows or the evaluations showed that it does
// not help, or else a wider network; nil if neither is left.
func (m *remedies) learn(tooShort bool) *verdict.Remedy {
	size, wider := m.wider()
	flat := m.course != nil && m.course.Chosen && !m.course.Open
	if m.course != nil && !tooShort && !flat {
		_, p := m.course.Trend()
		flat = p == p
	}
	widened := slices.ContainsFunc(m.asked().Settings, func(s string) bool {
		return strings.HasPrefix(s, size+"=")
	})
	tried, anew := tried(m.run.Folder, mostTried)
	switch {
	case m.redrawn():
		return m.own()
	case m.stopped:
		return &verdict.Remedy{Verb: verdict.GoOn, Run: m.run.Folder.Dir}
	case tried >= mostTried:
		return nil
	case (flat || tried > 0 && !tooShort) && !(anew > 0 && widened) && m.trainable(wider):
		return m.train(wider)
	case flat || tried > 0 && !tooShort:
		return nil
	}
	longer := 2 * time.Duration(m.seconds*float64(time.Second))
	longer = min(max(longer.Round(time.Minute), time.Minute), longest)
	return &verdict.Remedy{Verb: verdict.GoOn, Run: m.run.Folder.Dir, Seconds: longer.Seconds()}
}

// wider returns the key of the network's size, and the setting of a network of twice that size.
func (m *remedies) wider() (key, setting string) {
	network := m.run.Problem.Network
	if kind := m.run.Problem.NetworkKind; kind.Sized != "" {
		key = "network.options." + kind.Sized
		options, _ := network.Options.Resolve(kind.Name, kind.Options)
		return key, fmt.Sprintf("%s=%v", key, 2*options[kind.Sized])
	}
	return problem.KeyNetworkWidth, fmt.Sprintf("%s=%d", problem.KeyNetworkWidth, 2*network.Width)
}

// mostTried is after how many remedies a verdict says what limits the result instead of one more.
const mostTried = 2

// tried counts the remedies that were applied before, up to most: how often a run went on, and from how many runs'
// files it was trained anew.
func tried(f *run.Folder, most int) (n, anew int) {
	m, err := f.Manifest()
	if most <= 0 || err != nil {
		return 0, 0
	}
	n = len(m.Extensions)
	for _, word := range m.Command {
		if base := filepath.Base(word); base == run.ProblemFile || base == run.ConfigFile {
			if from, err := run.Open(filepath.Dir(word)); err == nil && from.Dir != f.Dir {
				before, _ := tried(from, most-n-1)
				n, anew = n+1+before, anew+1
			}
		}
	}
	return min(n, most), anew
}

// limits says what limits the result where findings of a law are left without a remedy.
func (m *remedies) limits(v *verdict.Verdict) string {
	if !slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool { return f.Remedy == nil }) {
		return ""
	}
	s := fmt.Sprintf("%s training rows limit the result: neither longer training nor a wider network is seen to help",
		text.Count(len(m.run.Split.Train)))
	if v.Has(verdict.Blur) {
		s += "; detail narrower than rows lie apart takes more rows"
	}
	return s
}

// redrawn reports whether samples are drawn by other keys than the run's, but for the prior.
func (m *remedies) redrawn() bool {
	return slices.ContainsFunc(m.run.Drawn, func(s problem.Drawn) bool { return s.Changed() && s.Key != "prior" })
}

func (m *remedies) own() *verdict.Remedy {
	return &verdict.Remedy{Verb: verdict.Evaluate, Run: m.run.Folder.Dir}
}

// draw draws by another key, without training; where that cannot be, it trains with it.
func (m *remedies) draw(setting string) *verdict.Remedy {
	all := append([]string{setting}, without(problem.Changed(m.run.Drawn), setting)...)
	to, err := m.run.Redraw(m.ctx, problem.ParseSettings(all...))
	if err != nil || len(problem.Changed(to.Drawn)) == 0 {
		return m.train(setting)
	}
	return &verdict.Remedy{Verb: verdict.Report, Run: m.run.Folder.Dir, Settings: all}
}

// without returns settings but for those whose keys others have.
func without(settings []string, others ...string) []string {
	return slices.DeleteFunc(slices.Clone(settings), func(old string) bool {
		key, _, _ := strings.Cut(old, "=")
		return slices.ContainsFunc(others, func(s string) bool { return strings.HasPrefix(s, key+"=") })
	})
}

// farther multiplies the horizon of paths. It also sets the noise's keys that follow from the data. With a longer
// horizon alone they would follow from the data again, with less noise and paths as short as before.
func (m *remedies) farther(times float64) []string {
	settings := []string{fmt.Sprintf("process.horizon=%.4g", times*m.run.Process.Schedule.T)}
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
func (m *remedies) train(settings ...string) *verdict.Remedy {
	if !m.trainable(settings...) {
		return m.check()
	}
	r, s := m.check(), m.asked()
	r.Verb, r.Settings = verdict.Train, append(without(s.Settings, settings...), settings...)
	if s.Timed && !slices.ContainsFunc(settings, func(k string) bool { return strings.HasPrefix(k, "train.epochs=") }) {
		r.Seconds = max(1, math.Ceil(max(m.seconds, m.run.Problem.Train.MaxSeconds)))
	}
	return r
}

// trainable reports whether the run's problem can be trained with settings.
func (m *remedies) trainable(settings ...string) bool {
	s := m.asked()
	p, err := problem.Load(s.text, s.file, s.Variant, problem.ParseSettings(slices.Concat(s.Settings, settings)...))
	if err == nil {
		_, err = p.Build()
	}
	return err == nil
}

func (m *remedies) check() *verdict.Remedy {
	s, path := m.asked(), m.run.Problem.Data.Path
	if path != "" {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
	}
	return &verdict.Remedy{Verb: verdict.Check, Problem: m.run.Folder.Path(s.file), Data: path, Variant: s.Variant,
		Settings: s.Settings}
}

// source is what somebody wrote for a run: a file of its folder, and what was asked for beside it.
type source struct {
	run.Asked
	file   string
	text   []byte
	chosen []choose.Choice // keys of the process that follow from the data
}

// sourceOf returns how a run was asked for, without its data. Where that is not known it is config.yaml, which has a
// number for every key.
func sourceOf(f *run.Folder) *source {
	config := &source{file: run.ConfigFile}
	config.text, _ = f.Read(config.file)
	m, err := f.Manifest()
	if err != nil || m.Asked == nil {
		return config
	}
	s := &source{Asked: *m.Asked, file: run.ProblemFile}
	for _, c := range m.Chosen {
		if strings.HasPrefix(c.Key, "process.") {
			s.chosen = append(s.chosen, c)
		}
	}
	if s.text, err = f.Read(s.file); err != nil {
		return config
	}
	// It is what was asked if it has the same keys, and the files that it names are where they were.
	p, err := problem.Load(s.text, s.file, s.Variant, problem.ParseSettings(s.Settings...))
	if err != nil || !sameKeys(p.Written(p.Resolved()), m.Given) {
		return config
	}
	if _, err := p.Build(); err != nil {
		return config
	}
	return s
}

// sameKeys reports whether keys have the same values, but for the data's path and the time.
func sameKeys(a, b []problem.Given) bool {
	values := func(given []problem.Given) (out string) {
		for _, g := range given {
			if g.Key != problem.KeyDataPath && g.Key != problem.KeyTrainMaxSeconds && g.Key != problem.KeyTrainEpochs {
				v, _ := json.Marshal(g.Value) // read from a file
				out += fmt.Sprintf("%s=%s\n", g.Key, v)
			}
		}
		return out
	}
	return values(a) == values(b)
}
