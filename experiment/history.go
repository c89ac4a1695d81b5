package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/report"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/langevin/uniform"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// history is what a run folder records of a training.
type history struct {
	course  *verdict.Course // of the network of an epoch; nil where nothing is known of it
	stopped bool            // it is not at its end
	seconds float64         // trained
	mixing  *Mixing         // of chains behind the prior
}

// historyOf reads it for the network of an epoch; what cannot be read is not known.
func historyOf(f *run.Folder, epoch int) (h history) {
	records, err := f.Metrics()
	if err != nil {
		return h
	}
	for _, m := range run.Decode[Mixing](records, "prior") {
		h.mixing = &m
	}
	epochs := run.Decode[train.Epoch](records, "epoch")
	if len(epochs) == 0 {
		return h
	}
	last := epochs[len(epochs)-1]
	h.seconds = last.Seconds
	c := &verdict.Course{Epochs: epoch}
	status, err := f.Status()
	known := err == nil
	if epoch != last.Epoch { // of an earlier checkpoint
		if m, _ := f.Manifest(); m.Weights == nil || m.Weights.Epoch != epoch || !known {
			return h
		}
		c.Chosen, c.Open = true, status.State != "trained"
		c.Epochs, h.stopped = last.Epoch, c.Open
	} else if known && status.Epoch == epoch {
		c.Planned = status.Epochs
		h.stopped = status.Epochs > epoch
	}
	for _, e := range epochs {
		c.Rate, c.Highest = e.Rate, max(c.Highest, e.Rate)
	}
	for _, p := range run.Decode[judge.Progress](records, "evaluation") {
		c.Distances = append(c.Distances, float64(p.JSD))
	}
	h.course = c
	return h
}

// chains says what is wrong with the chains behind the prior; empty if nothing is, or there are none.
func (h history) chains() string {
	m := h.mixing
	if m == nil || (&uniform.Draws{Rhat: float64(m.Rhat), ESS: float64(m.ESS)}).Mixed() {
		return ""
	}
	return fmt.Sprintf("the chains behind the uniform prior have not mixed: split-R̂ %.3f at x[%d], %.0f effective "+
		"draws", float64(m.Rhat), m.Worst, float64(m.ESS))
}

// Evaluate scores samples; state is that of their network, start of CompareStart, or nil. A *judge.ViolationError,
// returned beside the evaluation, says that projected samples are not feasible to generate.max_violation.
func (r *Run) Evaluate(
	ctx context.Context, s *judge.Samples, state train.State, start *judge.Start,
) (*judge.Evaluation, error) {
	h := historyOf(r.Folder, state.Epoch)
	status, _ := r.Folder.Status()
	about := judge.About{Name: r.Folder.Dir, State: state, Drawn: r.Drawn, Start: start, Course: h.course,
		Chains: h.chains(), Trained: status.Trained}
	if made, _ := r.Folder.Manifest(); made.Weights != nil && made.Weights.Epoch == state.Epoch {
		about.Weights = made.Weights.Reason
	}
	m := newRemedies(ctx, r, h)
	v, err := r.Reference().Evaluate(s, about, m.of)
	v.Verdict.Limits = m.limits(&v.Verdict)
	return v, err
}

// Report writes the page of an evaluation of samples with its figures, and returns its path. line writes the
// commands that make it again.
func (r *Run) Report(s *judge.Samples, v *judge.Evaluation, line CommandLine) (string, error) {
	p := report.Page{Folder: r.Folder, Out: r.Out, Title: r.Title(), Against: r.Reference(), Samples: s.Good(),
		Evaluation: v}
	if line != nil {
		p.Commands = append(madeBy(r.Folder), line(&verdict.Remedy{Verb: verdict.Evaluate, Run: r.Folder.Dir,
			Settings: problem.Changed(r.Drawn)}))
	}
	return p.Write()
}

func madeBy(f *run.Folder) []string {
	m, err := f.Manifest()
	if err != nil {
		return nil
	}
	repeat := ""
	if len(m.Clock) > 0 { // whose choices another machine, or another hour, would make otherwise
		repeat, _ = m.Repeat()
	}
	var words []string
	for i, word := range m.Command {
		budget := strings.HasPrefix(word, "--for=") || word == "--for" || i > 0 && m.Command[i-1] == "--for"
		if repeat == "" || !budget {
			words = append(words, text.Shell(word))
		}
	}
	for setting := range strings.FieldsSeq(repeat) {
		words = append(words, "--set "+text.Shell(setting))
	}
	return []string{strings.Join(words, " ")}
}

// A CommandLine writes the command line of a remedy; nil: there is none.
type CommandLine = func(*verdict.Remedy) string

// A Judging says which samples of a run are drawn and scored.
type Judging struct {
	Trained  *Trained
	Samples  int
	Seed     uint64
	Diagnose bool           // tell of steps on the way too
	Tick     func(done int) // gets how many are drawn; may be nil
	Line     CommandLine    // of remedies
}

// Judge draws samples of a run and evaluates them. fault says what is wrong with samples that there are.
func Judge(ctx context.Context, r *Run, j Judging) (s *judge.Samples, v *judge.Evaluation, fault, err error) {
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	d := NewDrawer(r.Loaded, j.Trained, j.Samples)
	d.Finish(true)
	if j.Diagnose {
		d.Diagnose()
	}
	if s, err = d.Draw(ctx, prior, j.Samples, 0, j.Seed, j.Tick); err != nil {
		return nil, nil, nil, err
	}
	start, err := r.CompareStart(ctx, prior, j.Samples)
	if err != nil {
		return nil, nil, nil, err
	}
	v, off := r.Evaluate(ctx, s, j.Trained.State, start)
	v.Verdict.WriteCommands(j.Line)
	return s, v, errors.Join(s.CheckFailed(r.Problem.Generate.MaxFailed), off), ctx.Err()
}

// JudgeFile evaluates the samples in a file, of landing generate or of any other program, by the data and the set of
// the run. The record that generate left beside the file says by which keys they were drawn; without one, known is
// false, and nothing is said of where their paths began. fault is as of Judge.
func JudgeFile(ctx context.Context, r *Run, file string, line CommandLine) (v *judge.Evaluation, known bool, fault,
	err error) {
	s, record, err := r.ReadSamples(file)
	if err != nil {
		return nil, false, nil, err
	}
	var state train.State
	var start *judge.Start
	if record != nil {
		state.Epoch = record.Epoch
		if r, err = r.Redraw(ctx, problem.ParseSettings(record.Settings()...)); err != nil {
			return nil, false, nil, err
		}
		prior, err := r.Prior(ctx, nil)
		if err != nil {
			return nil, false, nil, err
		}
		if start, err = r.CompareStart(ctx, prior, s.N()); err != nil {
			return nil, false, nil, err
		}
	}
	v, fault = r.Evaluate(ctx, s, state, start)
	v.Verdict.WriteCommands(line)
	if record != nil && ctx.Err() == nil {
		KeepFirst(r, v, record.Seed, fault)
	}
	return v, record != nil, fault, ctx.Err()
}

// A Kept is an evaluation as a run folder keeps it, and what it is of.
type Kept struct {
	Version string `json:"version"`       // of the program
	Config  string `json:"config_sha256"` // of config.yaml
	Updates int    `json:"updates"`       // of the network
	Seed    uint64 `json:"seed"`          // of the samples
	*judge.Evaluation
	Fault string `json:"fault,omitempty"` // why samples are not what they should be: FailedError, ViolationError
}

// ErrEarlier is the error of an evaluation by a version whose verdicts have no grade, or whose remedies are text.
var ErrEarlier = errors.New("its evaluation is of an earlier version; `landing report RUN` makes it anew")

// UnmarshalJSON reads a kept evaluation. Errors are ErrEarlier and those of JSON.
func (k *Kept) UnmarshalJSON(data []byte) error {
	type plain Kept
	k.Evaluation = &judge.Evaluation{}
	err := json.Unmarshal(data, (*plain)(k))
	var is *json.UnmarshalTypeError
	if errors.As(err, &is) && strings.HasSuffix(is.Field, "findings.remedy") || err == nil && k.Verdict.Grade == "" {
		return ErrEarlier
	}
	return err
}

// KeepEvaluation writes the evaluation of samples of a seed and of a network in a state to the run folder (Out), with
// the error that came with samples or evaluation, if one did.
func KeepEvaluation(r *Run, v *judge.Evaluation, state train.State, seed uint64, fault error) error {
	k := Kept{Version: run.Version(), Config: r.Config, Updates: state.Updates, Seed: seed, Evaluation: v}
	if fault != nil {
		k.Fault = fault.Error()
	}
	return r.Folder.ReplaceJSON(r.Out(run.EvaluationFile), k)
}

// Standing says what is known to be wrong with samples by weights of the run, a note or a warning each: that the
// training has not come to its end, and that the evaluation which the folder keeps found them bad.
func Standing(r *Run, t *Trained) (says []string) {
	if s, _ := r.Folder.Status(); s.State != "trained" && s.State != "" {
		state := s.State
		if state == "training" {
			state = "not finished"
		}
		says = append(says, fmt.Sprintf("note: the training is %s: these are weights of epoch %d", state,
			t.State.Epoch))
	}
	var k Kept
	err := r.Folder.ReadJSON(r.Out(run.EvaluationFile), &k)
	if errors.Is(err, ErrEarlier) {
		return append(says, "note: "+ErrEarlier.Error())
	}
	if err != nil || k.Config != r.Config ||
		k.Updates != t.State.Updates || k.Verdict.Grade != verdict.NotGood {
		return says
	}
	if found := k.Verdict.Findings; len(found) > 0 {
		says = append(says, fmt.Sprintf("warning: samples of these weights were found not good (%s); %s says what "+
			"helps", found[0].Code, r.Folder.Path(r.Out(run.ReportFile))))
	}
	return says
}

// KeepFirst is KeepEvaluation of samples by the weights that the run draws with, where the folder keeps no evaluation
// yet and can be written to.
func KeepFirst(r *Run, v *judge.Evaluation, seed uint64, fault error) {
	k, _, err := KeptEvaluation(r)
	if err != nil || k != nil {
		return
	}
	if t, err := r.Trained(""); err == nil && t.State.Epoch == v.Epoch {
		_ = KeepEvaluation(r, v, t.State, seed, fault)
	}
}

// KeptEvaluation returns the evaluation that the folder keeps; nil if there is none that this version reads. stale
// says why it is none of the run with its present weights; it is empty if it is.
func KeptEvaluation(r *Run) (k *Kept, stale string, err error) {
	k = new(Kept)
	switch err := r.Folder.ReadJSON(r.Out(run.EvaluationFile), k); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", nil
	case errors.Is(err, ErrEarlier):
		return nil, ErrEarlier.Error(), nil
	case err != nil:
		return nil, "", err
	}
	t, err := r.Trained("")
	if err != nil {
		return k, "", err
	}
	switch {
	case k.Config != r.Config:
		stale = "it is of another problem"
	case k.Updates != t.State.Updates:
		stale = fmt.Sprintf("it is of weights after %d updates, the newest have %d", k.Updates, t.State.Updates)
	}
	return k, stale, nil
}
