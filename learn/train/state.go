package train

import "fmt"

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
		{"seconds", s.Seconds}, {"simulated", s.Simulated}, {"budget", s.Budget}, {"spent", s.Spent},
		{"extended", float64(s.Extended)},
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
