package problem

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Every key has an effect, or is refused where it has none: unless a later layer, such as --set, made it useless.
func TestKeysWithoutEffect(t *testing.T) {
	const sphere, cap = "set: {kind: sphere, dim: 3}\n", "set: {kind: cap, axis: [0, 0, 1]}\n"
	const steps = "network: {kind: temporal, options: {steps: 3, channels: 4, levels: 1}, "
	type row struct {
		key, with string   // with: where it has an effect; empty: other tests build that
		without   []string // where it has none
	}
	rows := []row{
		{"process.friction", "process: {friction: 3}", []string{"process: {friction: 3, method: OLLA}",
			"process: {friction: 3, method: OLLA-P}", "process: {friction: 3, method: flow}"}},
		{"process.noise", "process: {noise: split}", []string{"process: {noise: split, method: flow}"}},
		{"process.landing.mode", "process: {landing: {mode: explicit, rate: 0.01}}", []string{
			"process: {landing: {mode: explicit, rate: 0.01}, method: ULLA-P}",
			"process: {landing: {mode: explicit, rate: 0.01}, method: flow}"}},
		{"process.landing.rate", "process: {landing: {mode: explicit, rate: 0.01}}", []string{
			"process: {landing: {rate: 0.01}}", "process: {landing: {rate: 0.01}, method: OLLA-P}"}},
		{"process.curvature", "process: {curvature: true, method: OLLA}", []string{
			"process: {curvature: true, method: ULLA-P}", "process: {curvature: true, method: flow}"}},
		{"process.terminal_projection", "process: {terminal_projection: false}", []string{
			"process: {terminal_projection: false, method: OLLA-P}",
			"process: {terminal_projection: false, method: flow}"}},
		{"process.walls", cap + "process: {walls: paper}", []string{"process: {walls: paper}",
			cap + "process: {walls: paper, method: euclidean}"}},
		{"process.repulsion", cap + "process: {walls: paper, repulsion: 0.1}", []string{"process: {repulsion: 0.1}",
			cap + "process: {repulsion: 0.1}"}},
		{"process.horizon", "process: {horizon: 1}", []string{"process: {horizon: 1, method: flow}"}},
		{"process.sigma.min", "process: {sigma: {min: 0.2}}", []string{"process: {sigma: {min: 0.2}, method: flow}"}},
		{"process.sigma.max", "process: {sigma: {max: 1}}", []string{"process: {sigma: {max: 1}, method: flow}"}},
		{"process.sigma.schedule", "process: {sigma: {schedule: geometric}}", []string{
			"process: {sigma: {schedule: geometric}, method: flow}"}},
		{"network.wavelength", "network: {wavelength: 3, octaves: 2}", []string{"network: {wavelength: 3}"}},
		{"network.width", "network: {width: 16}", []string{steps + "width: 16}"}},
		{"network.layers", "network: {layers: 2}", []string{steps + "layers: 2}"}},
		{"uniform.max_rhat", "uniform: {max_rhat: 1.2}", []string{"prior: empirical\nuniform: {max_rhat: 1.2}"}},
		{"uniform.max_steps", "uniform: {max_steps: 999}", []string{"prior: empirical\nuniform: {max_steps: 999}"}},
		{"sample.leaps", "sample: {leaps: 5, method: chmc}", []string{"sample: {leaps: 5}",
			"sample: {leaps: 5, method: OLLA}"}},
		{"sample.max_failed", "sample: {max_failed: 0.5}", []string{"sample: {max_failed: 0.5, method: chmc}"}},
		{"data.path", "data: {path: x.csv}", []string{"data: {path: x.csv, kind: demo}"}},
	}
	keys := map[string]string{"center: [1, 0, 0]": "quadratic", "weight: [2, 2, 2]": "quadratic",
		"b: [1, 0, 0]": "linear", "expr: \"x[0]\"": "formula", "prmtop: a": "amber",
		"molecule: alanine-dipeptide": "amber",
		"coordinates: a":              "amber", "solvent: vacuum": "amber", "temperature: 300": "amber"}
	for line, of := range keys {
		key, _, _ := strings.Cut(line, ":")
		r := row{key: "potential." + key, without: []string{"potential: {" + line + "}"}}
		for _, kind := range []string{"zero", "quadratic", "linear", "formula", "amber"} {
			if text := "potential: {kind: " + kind + ", " + line + "}"; kind != of {
				r.without = append(r.without, text)
			} else if of != "amber" { // which forcefield_test.go builds
				r.with = "prior: empirical\n" + text
			}
		}
		rows = append(rows, r)
	}
	// The others always have an effect, or errors of their own name what they need.
	always := strings.Fields(`
		name title seed convention defaults data.kind data.reference data.prmtop data.train data.split_seed
		data.tolerance condition.columns condition.path condition.drop observe observe[].name observe[].for
		observe[].let
		observe[].expr observe[].unit observe[].range observe[].bins observe[].circular potential.kind process.method
		process.steps process.options network.kind network.octaves network.octaves_of network.time_octaves
		network.time
		network.output network.options network.center network.scales network.unit
		network.reference train.epochs train.batch
		train.refresh train.paths train.preparation train.times_per_path train.window train.optimizer train.precision
		train.learning_rate
		train.anneal train.clip train.average train.plateau.factor train.plateau.patience train.plateau.threshold
		train.plateau.cooldown train.plateau.min_rate train.max_failed train.checkpoint_every train.evaluate_every
		train.max_seconds train.clock train.stop mpi.exact prior generate.max_failed generate.max_violation
		generate.guidance generate.repair generate.evaluations sample.method sample.step sample.chains sample.burn
		sample.draws sample.thin sample.max_violation sample.measure sample.max_rhat`)
	build := func(text string, settings ...string) error {
		if !strings.Contains(text, "set:") {
			text = sphere + text
		}
		p, err := Load([]byte("defaults: fixed\n"+text), "p.yaml", "", ParseSettings(settings...))
		if err != nil {
			t.Fatal(text, err)
		}
		_, err = p.Build()
		return err
	}
	known := slices.Clone(always)
	for _, r := range rows {
		known = append(known, r.key)
		for _, text := range r.without {
			if err, e := build(text), new(KeyError); !errors.As(err, &e) || e.Key != r.key || e.Origin == "" {
				t.Errorf("%s: %v; want a refusal of %s", text, err, r.key)
			}
		}
		if r.with != "" {
			if err := build(r.with); err != nil {
				t.Errorf("%s is refused: %v", r.with, err)
			}
		}
	}
	for _, k := range Keys() {
		if !slices.Contains(known, k.Name) {
			t.Errorf("nothing is known of where %s has an effect", k.Name)
		}
	}
	// So are keys inside of a set, but for a run folder's, which an earlier version wrote.
	const arm, some = "set: {kind: arm, robot: panda, waypoints: 3, ", "defaults: fixed\nprocess: {steps: 2}\n"
	const atoms = "set: {kind: molecule, atoms: 4, distances: [{atoms: [0, 1], value: 1}]"
	for text, key := range map[string]string{
		arm + "margin: 0.1}": "set.margin", arm + "clearance: segments, step: 0.1}": "set.clearance",
		arm + "start: {point: [0, 0, 1], rpy: [3.14, 0, 0]}}":    "set.start.point",
		arm + "goal: {link: panda_link4}}":                       "set.goal.link",
		arm + "path: [{point: [0, 0, 1], upright: [0, 0, 1]}]}":  "set.path[0].point",
		arm + "path: [{axis: [0, 0, 1], position: {z: 0.4}}]}":   "set.path[0].axis",
		arm + "path: [{angle: 0.5, position: {z: 0.4}}]}":        "set.path[0].angle",
		arm + "margin: 0.1, self: [[panda_link1, panda_link7]]}": "",
		atoms + ", windows: max}":                                "set.windows",
		atoms + ", apart: [{min: 1, beyond: 3}]}":                "set.apart[0].beyond",
		atoms + ", windows: max, apart: [{min: 0.5}]}":           "",
		"set: {dim: 1, equality: [{name: a, expr: x}], base: b}": "set.base",
		"set: {dim: 1, equality: [{name: a, expr: x}], tip: b}":  "set.tip",
	} {
		if err, e := build(text), new(KeyError); key == "" && err != nil || key != "" && (!errors.As(err, &e) ||
			e.Key != key || !strings.Contains(err.Error(), "it changes nothing: ")) {
			t.Errorf("%s: %v; want a refusal of %q", text, err, key)
		}
		p := testkit.Must(Load([]byte(some+text), "p.yaml", "", nil))
		again := testkit.Must(Load(p.Resolved(), "config.yaml", "", nil))
		if _, err := again.Build(); err != nil && strings.Contains(err.Error(), "changes nothing") {
			t.Errorf("of a run folder: %v", err)
		}
	}
	const text = "process: {friction: 3}\npotential: {kind: linear, b: [1, 0, 0]}\n"
	if err := build(text, "process.method=OLLA", "potential.kind=zero"); err != nil {
		t.Errorf("another method, chosen later, is refused: %v", err)
	}
}

// A resolved problem holds every number, word and switch, by the value that is used.
func TestResolvedHoldsEveryKey(t *testing.T) {
	zeros := map[string]any{"process.walls": "elastic", "process.noise": "late", "network.kind": "mlp",
		"network.octaves_of": "point", "network.time": "raw", "network.unit": 1.0, "train.clock": "wall",
		"train.stop": "epochs", "sample.leaps": 10, "sample.measure": "surface", "sample.max_failed": 0.01,
		"sample.max_rhat": 1.1}
	p := testkit.Must(Load([]byte("set: {kind: sphere, dim: 3}\ndefaults: fixed\n"), "p.yaml", "", nil))
	file, values := plain(p.Resolved()), reflect.ValueOf(p).Elem()
	for _, k := range Keys() {
		if k.index == nil || values.FieldByIndex(k.index).Kind() > reflect.Float64 && k.Words == nil ||
			strings.HasPrefix(k.Name, "potential.") && k.Name != KeyPotentialKind || k.Name == "condition.drop" {
			continue // texts and lists, keys of other kinds, of no condition
		}
		want, ok := zeros[k.Name]
		if !ok {
			want = values.FieldByIndex(k.index).Interface()
		}
		if k.Name == "defaults" {
			want = FixedDefaults
		}
		var got any
		testkit.OK(t, yaml.Unmarshal(testkit.Must(yaml.Marshal(want)), &got))
		if got = at(map[string]any{"v": got}, "v"); fmt.Sprint(at(file, k.Name)) != fmt.Sprint(got) {
			t.Errorf("%s is %v; want %v", k.Name, at(file, k.Name), got)
		}
	}
}

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
