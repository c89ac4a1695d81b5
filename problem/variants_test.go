package problem

import (
	"errors"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Every variant is checked on load, applied or not, by file, line and key. An error of an applied variant names the
// variant's own line.
func TestVariantsAreChecked(t *testing.T) {
	const head = "name: x\nset: {kind: sphere, dim: 3}\nvariants:\n  good: {seed: 2}\n"
	for text, want := range map[string]string{
		"  a:\n    train: {epoch: 3}\n":          `f:6: variants.a.train.epoch: there is no such key`,
		"  a:\n    train:\n      epochs: many\n": `f:7: variants.a.train.epochs is many; expected an integer`,
		"  a: 3\n":                               `f:5: variants.a is 3; expected a mapping with keys name`,
		"  a:\n":                                 `f:5: variants.a is empty; expected a mapping with keys name`,
		"  a:\n    variants: {b: {seed: 3}}\n":   `f:6: variants.a.variants: a variant has no variants of its own`,
		"  a:\n    set: {let: {c: true}}\n":      `f:6: variants.a.set.let.c is true; expected a formula`,
		"  a:\n    process: {repulsion: always}\n": `f:6: variants.a.process.repulsion is always; expected a ` +
			`finite number, or auto`,
	} {
		for _, variant := range []string{"", "good"} {
			_, err := Load([]byte(head+text), "f", variant, nil)
			var key *KeyError
			if !errors.As(err, &key) || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		}
		if _, err := Variants([]byte(head+text), "f"); err == nil {
			t.Errorf("%q: Variants passes", text)
		}
	}
	p := testkit.Must(Load([]byte(head+"  a:\n    seed: 7\n    process: {steps: 0}\n"), "f", "a", nil))
	if _, err := p.Build(); err == nil || err.Error() != "f:7: process.steps is 0; expected a number of steps N ≥ 1" {
		t.Errorf("got %v", err)
	}
}
