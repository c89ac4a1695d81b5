package problem

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The zero values of networks and of trainings mean what the problem file's defaults mean.
func TestZeroValuesAreDefaults(t *testing.T) {
	n := Defaults().Network
	zero := testkit.Must(networks.New(score.Config{Dim: 3}))
	file := testkit.Must(networks.New(score.Config{
		Kind: "mlp", Dim: 3, Width: n.Width, Layers: n.Layers, Octaves: n.Octaves, Wavelength: n.Wavelength,
	}))
	if a, b := zero.Tensors(zero.Parameters()), file.Tensors(file.Parameters()); len(a) != len(b) ||
		len(zero.Parameters()) != len(file.Parameters()) {
		t.Errorf("a zero Config has %d layers and %d parameters, the default %d and %d",
			len(a)/2, len(zero.Parameters()), len(b)/2, len(file.Parameters()))
	}
	testkit.Equal(t, (score.Config{}).Reading().Wavelength, n.Wavelength, "a zero Config has wavelength")
	d := Defaults().Train.Config(1, 0)
	want := train.Config{Epochs: d.Epochs, Batch: d.Batch, Refresh: d.Refresh, LearningRate: d.LearningRate}
	if want != (train.Config{Epochs: 1000, Batch: 128, Refresh: 1, LearningRate: 2e-3}) { // as train.Config says
		t.Errorf("the defaults of training are %+v", want)
	}
}

// With octaves of the start a network reads where paths began, and without them it does not.
func TestOctavesOfStart(t *testing.T) {
	for _, of := range []string{"point", "start"} {
		p, err := load(t, "data: {kind: points, path: x.csv}\nset: {kind: sphere, dim: 3}\nnetwork: {octaves: 2}\n"+
			"process: {steps: 10}", "network.octaves_of="+of)
		testkit.OK(t, err)
		proc := testkit.Must(p.Build())
		m := testkit.Must(p.Method(proc))
		start := p.NetworkConfig(m, proc.Set).Reading().Start
		if of == "point" {
			if start != nil {
				t.Error("octaves of the point are those of the start")
			}
			continue
		}
		if start == nil {
			t.Fatal("octaves of the start are those of the point")
		}
		b, v := start(1)
		if wantB, wantV := proc.Start()(1); b != wantB || v != wantV || !(b > 0 && v > 0) {
			t.Errorf("start (%v, %v), the process's (%v, %v)", b, v, wantB, wantV)
		}
	}
}

// A training that held-out distances end has as many epochs as it takes and a rate that falls at its
// end; what is written stays, of sequences too.
func TestHeldOutDefaults(t *testing.T) {
	const plain = "data: {kind: points, path: x.csv}\nset: {kind: sphere, dim: 3}\nprocess: {steps: 10}"
	const arm = "data: {kind: trajectory, path: x.csv}\nset: {kind: arm, robot: panda, waypoints: 4}"
	for _, c := range []struct {
		source   string
		settings []string
		epochs   int
		config   int
		anneal   float64
	}{
		{plain, nil, 1000, 1000, 0},
		{plain, []string{"train.stop=epochs"}, 1000, 1000, 0},
		{plain, []string{"train.stop=held_out"}, 0, train.MostJudged, 0.5},
		{plain, []string{"train.stop=held_out", "train.epochs=70", "train.anneal=0.2"}, 70, 70, 0.2},
		{plain, []string{"train.stop=held_out", "train.max_seconds=60"}, 0, train.MaxClocked, 0.5},
		{arm, []string{"train.stop=held_out"}, 0, train.MostJudged, 0.7},
		{arm, []string{"train.max_seconds=60"}, 0, train.MaxClocked, 0.7},
		{arm, nil, 300, 300, 0.7},
	} {
		p := testkit.Must(load(t, c.source, c.settings...))
		if _, err := p.Build(); err != nil {
			t.Errorf("%v: %v", c.settings, err)
		}
		if k := p.Train; k.Epochs != c.epochs || k.Anneal != c.anneal || k.Config(0, 0).Epochs != c.config {
			t.Errorf("%.20s %v: %+v, %d epochs", c.source, c.settings, k, k.Config(0, 0).Epochs)
		}
	}
	p, err := load(t, plain, "train.stop=never")
	if err == nil {
		_, err = p.Build()
	}
	testkit.Refused(t, err, `train.stop is "never"; expected one of epochs, held_out`)
}

// Run folders hold their resolved problem, and its hash: what a problem resolves to
// does not change from version to version. testdata/resolved.txt has the SHA-256 of
// recipes with their variants, of the examples, and of a set of each kind.
func TestResolvedStays(t *testing.T) {
	var got bytes.Buffer
	line := func(name string, data []byte, variant string, settings ...string) {
		p := testkit.Must(Load(data, name, variant, ParseSettings(settings...)))
		fmt.Fprintf(&got, "%x  %s\n", sha256.Sum256(p.Resolved()), name)
	}
	for _, name := range Recipes() {
		data, origin, err := Source(name)
		testkit.OK(t, err)
		variants := testkit.Must(Variants(data, origin))
		for _, v := range append([]string{""}, variants...) {
			line("recipe "+name+" "+v, data, v)
		}
	}
	examples, _ := filepath.Glob("../examples/*/problem.yaml")
	slices.Sort(examples)
	for _, file := range examples {
		data := testkit.Must(os.ReadFile(file))
		line(filepath.ToSlash(file), data, "")
	}
	for _, set := range []string{
		"kind: sphere, dim: 3", "kind: sphere, dim: 4, radius: 2.5", "kind: ellipsoid, axes: [1, 2, 0.5]",
		"kind: torus, major: 2, minor: 0.6", "kind: affine, a: [[1, 2.5, 0], [0, 1, 1e-3]], b: [1, 0]",
		"kind: curve, terms: [[1, 2, 0], [1, 0, 2], [-1, 0, 0]]", "kind: box, lower: [0, -1], upper: [1, 2.5]",
		"kind: box, lower: [0]", "kind: simplex, dim: 4", "kind: cap, axis: [0, 0, 2], height: 0.5",
		"kind: orthogonal, n: 3", "kind: special_orthogonal, n: 10", "kind: stiefel, n: 5, p: 2",
		"kind: chain, bonds: [1, 1.5], angles: [1.9], anchored: true", "kind: chain, dim: 2, bonds: [1, 1.5]",
		"kind: molecule, atoms: 5, dihedrals: [{name: φ, atoms: [0, 1, 2, 3], value: -70}], apart: [{min: 2.5}]",
		"kind: molecule, template: m.pdb, windows: max, angles: [{atoms: [ALA:C, 'N', 2:CA], value: template}], " +
			"chirality: [{atoms: [1, 0, A:ALA2:CB, 4]}], rigid: [[0, 1, 2]], bonds: template, bond_angles: template",
		"kind: redundant_axis", "kind: level-set, weights: w.npz, mesh: m.ply",
		`dim: 3, let: {r: "norm(x)", a: 2}, equality: [{name: h, expr: "r = a"}], inequality: [{name: "g[i]", ` +
			`for: "i in 0..2", expr: "x[i]"}]`,
		`kind: formula, dim: 1, inequality: [{name: "yes: \"no\"", expr: "x[0]"}]`,
	} {
		line("set "+set, []byte("set: {"+set+"}"), "")
	}
	torus := []byte("set: {kind: torus, major: 2, minor: 0.6}")
	line("another kind and keys", torus, "", "set.kind=sphere", "set.dim=5", "set.major=0", "set.minor=0")
	line("a key more", torus, "", "set.minor=1e-1")
	line("a whole set", torus, "", "set={kind: cap, axis: [1, 1]}")
	if os.Getenv("LANDING_UPDATE") != "" {
		testkit.OK(t, os.WriteFile("testdata/resolved.txt", got.Bytes(), 0o644))
	}
	want := testkit.Must(os.ReadFile("testdata/resolved.txt"))
	gotLines, wantLines := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
	testkit.Equal(t, len(gotLines), len(wantLines))
	for i := range min(len(gotLines), len(wantLines)) {
		testkit.EqualSlices(t, gotLines[i], wantLines[i])
	}
}

// A resolved file is compared with what it is read as, key by key.
func TestSince(t *testing.T) {
	p, err := Load([]byte("data: {kind: points, path: x.csv}\nset: {kind: affine, a: [[1, 2]], b: [3]}\nseed: 5\n"),
		"p.yaml", "", nil)
	testkit.OK(t, err)
	file := string(p.Resolved())
	for _, c := range []struct {
		old, new string
		fresh    []string
		changed  string
	}{
		{"", "", nil, ""},
		{"seed: 5\n", "", []string{"seed (5)"}, ""},
		{"seed: 5\n", "seed: 6\n", nil, "seed"},
		{"\n  terminal_projection: true\n", "\n", []string{"process.terminal_projection (true)"}, ""},
		{"\n  terminal_projection: true\n", "\n  terminal_projection: false\n", nil, "process.terminal_projection"},
		{"\n  terminal_projection: true\n", "\n  terminal_projection: true\n  gone: 1\n", nil, "process.gone"},
		{file, "seed: [\n", nil, "the whole file"},
	} {
		was := strings.Replace(file, c.old, c.new, 1)
		if was == file && c.old != c.new {
			t.Fatalf("no %q in\n%s", c.old, file)
		}
		if fresh, changed := p.Since([]byte(was)); !slices.Equal(fresh, c.fresh) || changed != c.changed {
			t.Errorf("%q in place of %q: %q, %q; want %q, %q", c.new, c.old, fresh, changed, c.fresh, c.changed)
		}
	}
}
