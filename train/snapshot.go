package train

import (
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/score"
)

// Prefixes of the arrays in a snapshot; each is followed by layer_0.weight and
// so on.
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
		for _, a := range t.net.Tensors(p.data) {
			a.Name = p.prefix + a.Name
			out = append(out, a)
		}
	}
	return out
}

// Restore continues from a snapshot of the same network.
func (t *Trainer[T]) Restore(arrays []arrayfile.Named, s State) error {
	for _, p := range t.parts() {
		net, err := load[T](arrays, p.prefix)
		if err != nil {
			return err
		}
		if len(net.Params) != len(p.data) {
			return fmt.Errorf("the checkpoint's network has widths %v, the problem's %v", net.Sizes, t.net.Sizes)
		}
		copy(p.data, net.Params)
	}
	t.pool.Do(t.net.Layers(), t.packTask)
	t.State, t.fresh, t.mixed = s, 0, 0
	return nil
}

// LoadNetwork returns the network to generate with from a snapshot: that of
// averaged weights, or the raw one if the average had not begun. Its precision is
// float32, as a snapshot names none.
func LoadNetwork[T kernel.Float](arrays []arrayfile.Named, s State) (*score.MLP[T], error) {
	if s.Averaged == 0 {
		return load[T](arrays, PrefixRaw)
	}
	return load[T](arrays, PrefixAverage)
}

func load[T kernel.Float](arrays []arrayfile.Named, prefix string) (*score.MLP[T], error) {
	byName := map[string]arrayfile.Array{}
	for _, a := range arrays {
		if name, ok := strings.CutPrefix(a.Name, prefix); ok {
			byName[name] = a.Array
		}
	}
	return score.FromLayers[T](byName, "layer_")
}
