package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/learn/score"
)

// Prefixes of the arrays in a snapshot; each is followed by a name of the model's Tensors.
const (
	PrefixRaw     = "raw."     // weights that Adam moves
	PrefixAverage = "average." // their moving average
	prefixM       = "adam_m."
	prefixV       = "adam_v."

	PrefixConstant = "constant." // of a score.Constant
)

// Snapshot returns the arrays that, with State, are all that training needs to go on. They share the trainer's memory.
func (t *Trainer[T]) Snapshot() []arrayfile.Named {
	var out []arrayfile.Named
	for _, p := range t.opt.parameters() {
		for _, a := range t.model.Tensors(p.data) {
			a.Name = p.prefix + a.Name
			out = append(out, a)
		}
	}
	if c, ok := t.model.(score.Constant[T]); ok {
		for _, a := range c.Constants() {
			a.Name = PrefixConstant + a.Name
			out = append(out, a)
		}
	}
	return out
}

// Restore continues from a snapshot of the same network: of one with constants, that of WithConstants.
func (t *Trainer[T]) Restore(arrays []arrayfile.Named, s State) error {
	if err := s.Validate(); err != nil {
		return fault.Errorf(fault.Run, "", "the checkpoint is damaged: %v", err)
	}
	if most := max(1, t.source.Items()/t.cfg.Batch); s.Step > most {
		return fault.Errorf(fault.Run, "", "the checkpoint is damaged: step is %d; expected at most %d, "+
			"the batches of an epoch", s.Step, most)
	}
	if c, ok := t.model.(score.Constant[T]); ok {
		kept := under(arrays, PrefixConstant)
		for _, a := range c.Constants() {
			if !slices.Equal(kept[a.Name].AsFloat64(), a.Array.AsFloat64()) {
				return fault.Errorf(fault.Run, "", "the checkpoint is damaged: its %s is not that of the "+
					"network", a.Name)
			}
		}
	}
	for _, p := range t.opt.parameters() {
		v, err := read(t.model, arrays, p.prefix)
		if err != nil {
			return err
		}
		copy(p.data, v)
	}
	t.pool.Do(t.model.Parts(), t.packTask)
	t.State, t.fresh = s, 0
	if t.share != nil {
		t.share.synced = false
	}
	return nil
}

// Load returns m with the parameters to generate with from a snapshot: the averaged
// ones, or the raw ones if the average had not begun.
func Load[T kernel.Float](m score.Model[T], arrays []arrayfile.Named, s State) (score.Model[T], error) {
	m, err := WithConstants(m, arrays)
	if err != nil {
		return nil, err
	}
	v, err := read(m, arrays, Drawn(s))
	if err != nil {
		return nil, err
	}
	return m.With(v), nil
}

// Drawn returns the prefix of the arrays of a snapshot with which samples are drawn.
func Drawn(s State) string {
	if s.Averaged == 0 {
		return PrefixRaw
	}
	return PrefixAverage
}

// WithConstants returns m with the constants of a snapshot, if it has any; otherwise m.
func WithConstants[T kernel.Float](m score.Model[T], arrays []arrayfile.Named) (score.Model[T], error) {
	c, ok := m.(score.Constant[T])
	if !ok {
		return m, nil
	}
	m, err := c.WithConstants(under(arrays, PrefixConstant))
	if err != nil {
		return nil, fault.Errorf(fault.Run, "", "the checkpoint is damaged: %v", err)
	}
	return m, nil
}

// under returns the arrays whose names begin with prefix, by the rest of their names.
func under(arrays []arrayfile.Named, prefix string) map[string]arrayfile.Array {
	byName := map[string]arrayfile.Array{}
	for _, a := range arrays {
		if name, ok := strings.CutPrefix(a.Name, prefix); ok {
			byName[name] = a.Array
		}
	}
	return byName
}

// read returns parameters of m from the arrays whose names begin with prefix.
func read[T kernel.Float](m score.Model[T], arrays []arrayfile.Named, prefix string) ([]T, error) {
	v, err := m.Read(under(arrays, prefix))
	if err != nil {
		return nil, fault.Errorf(fault.Run, "", "the checkpoint is damaged: %v", err)
	}
	return v, nil
}

// maxCount bounds the counts of a State: no training comes near.
const maxCount = 1e15

// Validate returns an error unless the state is one that a training can be in. It is for states from files.
func (s State) Validate() error {
	for _, c := range []struct {
		key   string
		value float64
	}{
		{"epoch", float64(s.Epoch)}, {"step", float64(s.Step)}, {"updates", float64(s.Updates)},
		{"averaged", float64(s.Averaged)}, {"rate", s.Rate}, {"plateau.bad", float64(s.Plateau.Bad)},
		{"plateau.cooldown", float64(s.Plateau.Cooldown)}, {"rows", float64(s.Rows)},
		{"seconds", s.Seconds}, {"simulated", s.Simulated}, {"prepared", s.Prepared}, {"budget", s.Budget},
		{"spent", s.Spent}, {"extended", float64(s.Extended)}, {"trained", float64(s.Trained)},
	} {
		if !(c.value >= 0 && c.value <= maxCount) {
			return fmt.Errorf("%s is %v; expected a number from 0 to %g", c.key, c.value, float64(maxCount))
		}
	}
	if least := s.Epoch + s.Step; s.Updates < least { // an epoch has at least one batch
		return fmt.Errorf("updates is %d; expected at least %d, after %d epochs and %d batches",
			s.Updates, least, s.Epoch, s.Step)
	}
	if s.Averaged > s.Updates {
		return fmt.Errorf("averaged is %d; expected at most %d, the updates", s.Averaged, s.Updates)
	}
	if s.Plan != nil {
		if err := s.Plan.Validate(); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	if s.Judged != nil {
		if err := s.Judged.validate(s); err != nil {
			return err
		}
	}
	if len(s.Clock) > 2*maxDecisions {
		return fmt.Errorf("clock has %d decisions; expected at most %d", len(s.Clock), 2*maxDecisions)
	}
	for i, d := range s.Clock {
		if err := d.Plan.Validate(); err != nil {
			return fmt.Errorf("clock[%d]: plan: %w", i, err)
		}
	}
	return nil
}
