package experiment

import (
	"fmt"
	"time"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// Extend returns the run as it goes on from its newest checkpoint, or from the one named, with
// settings (problem.Problem.Extend); Train then does. The manifest
// notes them, with command, and the checkpoint stays when later ones come. The caller holds the
// lock. Errors are *problem.KeyError and those of the folder.
func (r *Run) Extend(settings problem.Settings, checkpoint string, command []string) (*Run, error) {
	p, x, err := r.Problem.Extend(settings)
	if err != nil {
		return nil, err
	}
	if _, err := p.Build(); err != nil {
		return nil, err
	}
	names, err := r.Folder.Checkpoints()
	if err != nil {
		return nil, err
	}
	var state train.State
	if checkpoint == "" && len(names) > 0 {
		checkpoint = names[len(names)-1]
	}
	if checkpoint != "" {
		if _, err := r.Folder.LoadCheckpoint(checkpoint, r.Config, &state); err != nil {
			return nil, err
		}
		if err := r.Folder.KeepCheckpoint(checkpoint); err != nil {
			return nil, err
		}
	}
	if n := p.Train.Epochs; x.Longer && n > 0 && n <= state.Epoch {
		return nil, &problem.KeyError{Origin: "--set", Key: problem.KeyTrainEpochs, Value: n,
			Want: fmt.Sprintf("more than the %d that are trained", state.Epoch)}
	}
	if err := r.Folder.AmendManifest(func(m *run.Manifest) {
		m.Extensions = append(m.Extensions, run.Extension{Settings: settings.Texts(), After: state.Epoch,
			Checkpoint: checkpoint, Created: time.Now().UTC().Round(time.Second), Command: command, Clock: m.Clock})
		m.Clock = nil
	}); err != nil {
		return nil, err
	}
	l, q := *r.Loaded, *r
	l.Problem, q.Loaded = p, &l
	return &q, nil
}

// extend takes up the extensions of the manifest that the trainer's state does not know.
func (t *training) extend() error {
	var m run.Manifest
	if err := t.run.Folder.ReadJSON(run.ManifestFile, &m); err != nil {
		return err
	}
	for t.trainer.State.Extended < len(m.Extensions) {
		settings := problem.ParseSettings(m.Extensions[t.trainer.State.Extended].Settings...)
		_, x, err := t.run.Problem.Extend(settings)
		if err != nil {
			return err
		}
		if x.Longer {
			t.trainer.Extend(x.Seconds)
		} else {
			t.trainer.State.Extended++
		}
	}
	return nil
}
