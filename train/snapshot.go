package train

import (
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/score"
)

// Prefixes of the arrays in a snapshot; each is followed by a name of the model's
// Tensors.
const (
	PrefixRaw     = "raw."     // weights that Adam moves
	PrefixAverage = "average." // their moving average
	prefixM       = "adam_m."
	prefixV       = "adam_v."
)

func (t *Trainer[T]) parts() []struct {
	prefix string
	data   []T
} {
	return []struct {
		prefix string
		data   []T
	}{{PrefixRaw, t.opt.params}, {PrefixAverage, t.opt.average}, {prefixM, t.opt.m}, {prefixV, t.opt.v}}
}

// Snapshot returns the arrays that, with State, are all that training needs to
// go on. They share the trainer's memory.
func (t *Trainer[T]) Snapshot() []arrayfile.Named {
	var out []arrayfile.Named
	for _, p := range t.parts() {
		for _, a := range t.model.Tensors(p.data) {
			a.Name = p.prefix + a.Name
			out = append(out, a)
		}
	}
	return out
}

// A SnapshotError says why a training cannot go on from a snapshot.
type SnapshotError struct{ Problem string }

func (e *SnapshotError) Error() string { return "the checkpoint is damaged: " + e.Problem }

// Restore continues from a snapshot of the same network. The error is a
// *SnapshotError.
func (t *Trainer[T]) Restore(arrays []arrayfile.Named, s State) error {
	if err := s.Validate(); err != nil {
		return &SnapshotError{err.Error()}
	}
	if most := max(1, t.source.Items()/t.cfg.Batch); s.Step > most {
		return &SnapshotError{fmt.Sprintf("step is %d; expected at most %d, the batches of an epoch", s.Step, most)}
	}
	for _, p := range t.parts() {
		v, err := read(t.model, arrays, p.prefix)
		if err != nil {
			return err
		}
		copy(p.data, v)
	}
	t.pool.Do(t.model.Parts(), t.packTask)
	t.State, t.fresh, t.mixed = s, 0, 0
	return nil
}

// Load returns m with the parameters to generate with from a snapshot: the averaged
// ones, or the raw ones if the average had not begun. The error is a *SnapshotError.
func Load[T kernel.Float](m score.Model[T], arrays []arrayfile.Named, s State) (score.Model[T], error) {
	prefix := PrefixAverage
	if s.Averaged == 0 {
		prefix = PrefixRaw
	}
	v, err := read(m, arrays, prefix)
	if err != nil {
		return nil, err
	}
	return m.With(v), nil
}

// read returns parameters of m from the arrays whose names begin with prefix.
func read[T kernel.Float](m score.Model[T], arrays []arrayfile.Named, prefix string) ([]T, error) {
	byName := map[string]arrayfile.Array{}
	for _, a := range arrays {
		if name, ok := strings.CutPrefix(a.Name, prefix); ok {
			byName[name] = a.Array
		}
	}
	v, err := m.Read(byName)
	if err != nil {
		return nil, &SnapshotError{err.Error()}
	}
	return v, nil
}
