package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/bench"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/trained"
)

func said(t *testing.T, args ...string) string {
	t.Helper()
	var out, more bytes.Buffer
	if err := do(t.Context(), args, &out, &more); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, more.String())
	}
	return out.String()
}

func TestGenerate(t *testing.T) {
	dir := trained.Run(t, trained.Demo)
	lines := strings.Split(said(t, "generate", dir, "-n", "1,3", "-cores", "1,2", "-seconds", "0", "-set",
		"process.steps=2"), "\n")
	for i, want := range []string{"samples cores calls best p50 p99 failed", "1 1 100", "1 2 100", "3 1 100",
		"3 2 100"} {
		if got := strings.Join(strings.Fields(lines[2+i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("line %d is %q, want %q", 2+i, got, want)
		}
	}
}

// The peaks of the machine come first, then a row each; or one object.
func TestKernels(t *testing.T) {
	small := []string{"kernels", "-only", "(512/input|volcano/1|step/volcano) float32", "-seconds", "0", "-divide",
		"128"}
	lines := strings.Split(said(t, append(small, "-cores", "1,2")...), "\n")
	if !strings.HasPrefix(lines[2], "peak of float32 multiply-adds on 1 cores: ") ||
		strings.Join(strings.Fields(lines[5]), " ") != "row cores precision GFLOP/s of peak best p50 p99 other" {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	for i, name := range []string{"product/6400x512x512/input", "step/volcano", "inference/volcano/1"} {
		for j, cores := range []string{"1", "2"} {
			if got := strings.Fields(lines[6+2*i+j]); got[0] != name || got[1] != cores || got[2] != "float32" {
				t.Errorf("line %d is %q", 6+2*i+j, got)
			}
		}
	}
	var v struct {
		Peaks []bench.Peak
		Rows  []map[string]any
	}
	testkit.OK(t, json.Unmarshal([]byte(said(t, append(small, "-json", "-cores", "1")...)), &v))
	if len(v.Peaks) != 1 || len(v.Rows) != 3 || v.Peaks[0].GFLOPS <= 0 {
		t.Fatalf("%d peaks and %d rows", len(v.Peaks), len(v.Rows))
	}
	for _, row := range v.Rows {
		for _, key := range []string{"cores", "flop", "runs", "best_seconds", "p50_seconds", "p99_seconds", "gflops",
			"share_of_peak"} {
			if n, ok := row[key].(float64); !ok || n <= 0 {
				t.Errorf("%s of %v is %v", key, row["name"], row[key])
			}
		}
		if _, ok := row["other_share"]; ok != (row["name"] == "step/volcano") {
			t.Errorf("row %v", row)
		}
	}
}

// What cannot be measured is an error that says why.
func TestRefusals(t *testing.T) {
	for says, args := range map[string]string{
		"numbers of 1 to 100000":                 "generate r -n 0",
		"expected what to measure":               "discs",
		"expected a run folder":                  "generate",
		"-seconds of 0 or more":                  "kernels -seconds NaN",
		"error parsing regexp":                   "kernels -only (",
		`-only "sideways" matches no row`:        "kernels -only sideways",
		`there is no problem "tori"`:             "problems -only tori",
		"expected -for of 1s to 24h":             "problems -for 1ms",
		"expected no arguments":                  "problems now",
		"flag provided but not defined: -nosuch": "problems -nosuch",
	} {
		var out bytes.Buffer
		testkit.Refused(t, do(t.Context(), strings.Fields(args), &out, &out), says, args)
	}
}

// A problem of the suite has a row, then the bars; files can be made without training.
func TestProblems(t *testing.T) {
	dir := t.TempDir()
	lines := strings.Split(said(t, "problems", "-only", "rows-200", "-for", "1m", "-set", "train.times_per_path=1",
		"-set", "train.epochs=2", "-set", "network.width=8", "-out", filepath.Join(dir, "mine")), "\n")
	if !strings.HasPrefix(lines[2], "problem ") || !strings.HasPrefix(lines[3], "rows-200  3  200 ") ||
		!strings.Contains(lines[3], "0 of 200") || !strings.HasPrefix(lines[5], "energy distance within mean + 3 sd") {
		t.Errorf("%q", lines)
	}
	files := filepath.Join(dir, "files")
	said(t, "problems", "-files-only", "-only", "arm3,box", "-out", files)
	for _, name := range []string{"arm3/problem.yaml", "arm3/data.csv", "box/observed.yaml"} {
		if _, err := os.Stat(filepath.Join(files, name)); err != nil {
			t.Error(err)
		}
	}
	if list := said(t, "problems", "-list"); strings.Count(list, "\n") < 27 {
		t.Error(list)
	}
}
