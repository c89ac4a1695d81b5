package export

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// evaluated returns a network whose run keeps an evaluation of its samples.
func (e example) evaluated(t *testing.T, settings ...string) *Source {
	t.Helper()
	s := e.trained(t, settings...)
	prior := testkit.Must(s.Run.Prior(context.Background(), nil))
	samples, _ := s.Run.Generate(context.Background(), s.Trained, prior, 60, 0, 1, nil)
	if samples == nil {
		t.Fatal("no samples")
	}
	v, _ := s.Run.Evaluate(t.Context(), samples, s.Trained.State, nil)
	testkit.OK(t, experiment.KeepEvaluation(s.Run, v, s.Trained.State, 1, nil))
	return s
}

var ballExample = examples[1]

// The card says what the run's evaluation says, its head is the hub's metadata, and no row of the data is in
// any file, as text or as numbers.
func TestHub(t *testing.T) {
	s := ballExample.evaluated(t)
	s.Licence = "Apache-2.0"
	files := testkit.Must(s.Hub(false))
	for _, name := range []string{"README.md", "score.onnx", "model.safetensors", "graph.json", "score.py",
		"config.yaml", "problem.yaml"} {
		if len(files[name]) == 0 {
			t.Errorf("there is no %s", name)
		}
	}
	card := string(files[CardFile])
	parts := strings.SplitN(card, "---\n", 3)
	if len(parts) != 3 || parts[0] != "" {
		t.Fatalf("no metadata at the head of\n%s", card)
	}
	var head struct {
		Library string   `yaml:"library_name"`
		Licence string   `yaml:"license"`
		Tags    []string `yaml:"tags"`
		Index   []struct {
			Results []struct {
				Metrics []struct {
					Name  string  `yaml:"name"`
					Value float64 `yaml:"value"`
				} `yaml:"metrics"`
			} `yaml:"results"`
		} `yaml:"model-index"`
	}
	testkit.OK(t, yaml.Unmarshal([]byte(parts[1]), &head))
	k, _, err := experiment.KeptEvaluation(s.Run)
	testkit.OK(t, err)
	if head.Library != "landing" || head.Licence != "apache-2.0" || len(head.Tags) == 0 {
		t.Errorf("the head is %+v", head)
	}
	m := head.Index[0].Results[0].Metrics
	if m[0].Value != float64(k.JSD.Full) || m[1].Value != float64(k.JSD.HeldOut) {
		t.Errorf("the metrics are %+v, the evaluation says %v and %v", m, k.JSD.Full, k.JSD.HeldOut)
	}
	for _, want := range []string{k.Verdict.Title()[1:], fmt.Sprintf("%.4f, floor", k.JSD.Full), "Licence: Apache-2.0",
		"60 samples of seed 1", s.Run.Config[:12], "score.onnx", "of kind `mlp`"} {
		testkit.Contains(t, parts[2], want, "the card does not say")
	}
	folder := filepath.Dir(s.Run.Problem.Data.Path)
	for name, text := range files {
		if bytes.Contains(text, []byte(folder)) {
			t.Errorf("%s names the folder of the data", name)
		}
		for i := range s.Run.Data.N {
			row := s.Run.Data.X[i*3 : i*3+3]
			wide, narrow := []byte{}, []byte{}
			for _, v := range row[:2] {
				wide = binary.LittleEndian.AppendUint64(wide, math.Float64bits(v))
				narrow = binary.LittleEndian.AppendUint32(narrow, math.Float32bits(float32(v)))
			}
			if bytes.Contains(text, wide) || bytes.Contains(text, narrow) ||
				bytes.Contains(text, []byte(fmt.Sprintf("%.6g", row[0])[:7])) {
				t.Fatalf("%s holds row %d of the data", name, i)
			}
		}
	}
	arrays, metadata, err := arrayfile.DecodeSafetensors(bytes.NewReader(files[TensorsFile]))
	if err != nil || metadata["license"] != "Apache-2.0" || arrays == nil {
		t.Errorf("%v, %v", metadata, err)
	}
	named := testkit.Must(problem.Load(files["config.yaml"], "config.yaml", "", nil)).Files()
	for key, path := range s.Run.Problem.Files() { // a file of the run by its name; none where there is none
		testkit.Equal(t, named[key] == "", path == "", key)
	}
}

// What keeps a run from a hub is said by name.
func TestNoHub(t *testing.T) {
	refused := func(s *Source, keep bool, want string) {
		t.Helper()
		_, err := s.Hub(keep)
		if fault.KindOf(err) != fault.Run || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	s := ballExample.trained(t)
	refused(s, false, "has no evaluation")
	s = ballExample.evaluated(t)
	s.Trained.State.Updates++
	refused(s, false, "its evaluation is of something else")
	for _, e := range examples {
		if e.name == "aligned" {
			s := e.evaluated(t)
			refused(s, false, "--with-reference")
			files, err := s.Hub(true)
			if err != nil || !strings.Contains(string(files[CardFile]), "but for one: the conformation") {
				t.Errorf("the card does not own to the reference: %v", err)
			}
		}
	}
}

func TestWithoutFolders(t *testing.T) {
	for line := range strings.Lines(`data: {path: /home/a/b.csv} → data: {path: b.csv}
path: "/home/a b/c.npy" → path: "c.npy"
# from ~/secret/x.npz, of 3 → # from x.npz, of 3
path: 'C:\data\x.npy' → path: 'x.npy'
expr: "x[0]/x[1]/2 - 1" → expr: "x[0]/x[1]/2 - 1"
path: data/x.npy → path: data/x.npy
files: [/a/b.obj, /c/d/e.urdf] → files: [b.obj, e.urdf]
url: https://example.org/a/b.gz → url: https://example.org/a/b.gz
`) {
		in, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " → ")
		testkit.Equal(t, string(withoutFolders([]byte(in))), want, "%s became", in)
	}
}

// The hub's own reader of cards takes the head.
func TestHubReads(t *testing.T) {
	python := python(t, "huggingface_hub", "yaml")
	s := ballExample.evaluated(t)
	for licence, want := range map[string]string{"": "None", "mit": "mit", "My Own": "other"} {
		s.Licence = licence
		files := testkit.Must(s.Hub(false))
		dir := filepath.Join(t.TempDir(), "hub")
		testkit.OK(t, run.WriteFolder(dir, files))
		out, err := exec.Command(python, "-c", `
import sys
from huggingface_hub import ModelCard
c = ModelCard.load(sys.argv[1] + "/README.md")
print(c.data.library_name, c.data.license, len(c.data.eval_results) > 2, c.data.eval_results[0].metric_type)
`, dir).CombinedOutput()
		if want := fmt.Sprintf("landing %s True jensen-shannon-distance\n", want); err != nil || string(out) != want {
			t.Errorf("licence %q: %v, %s", licence, err, out)
		}
	}
}

// A divergence is not told as a distance.
func TestHubDivergence(t *testing.T) {
	s := ballExample.evaluated(t)
	v, _, err := experiment.KeptEvaluation(s.Run)
	testkit.OK(t, err)
	v.JSD = &judge.JSD{Metric: "Jensen–Shannon divergence", Score: metric.Score{Full: 0.25, HeldOut: 0.5}}
	card := testkit.Must(s.card(v))
	for _, want := range []string{"type: jensen-shannon-divergence\n      value: 0.25\n",
		"| Jensen–Shannon divergence to held-out data | 0.5000, floor 0.0000 |"} {
		if !strings.Contains(string(card), want) {
			t.Errorf("the card does not say %q:\n%s", want, card)
		}
	}
	v.JSD.Full, v.JSD.HeldOut, v.Nearest.Ratio = metric.Float(math.Inf(1)), metric.NaN, metric.Float(math.Inf(1))
	card = testkit.Must(s.card(v))
	for _, figure := range []string{"Inf", "NaN", ".inf", ".nan", "divergence to", "nearest training row"} {
		if strings.Contains(string(card), figure) {
			t.Errorf("the card has a figure that is not finite (%s):\n%s", figure, card)
		}
	}
}
