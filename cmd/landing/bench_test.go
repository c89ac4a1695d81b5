package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// bench kernels prints the peak first, then a row each; or one object.
func TestBenchKernels(t *testing.T) {
	dir := t.TempDir()
	small := []string{"dev", "bench", "kernels", "--only", "(512/input|volcano/1|step/volcano) float32", "--seconds", "0",
		"--divide", "128"}
	text := ok(t, dir, append(small, "--cores", "1,2")...)
	lines := strings.Split(strings.TrimSpace(text.stdout), "\n")
	if len(lines) != 11 || !strings.HasPrefix(lines[1], "peak of float32 multiply-adds on 1 core: ") ||
		!strings.HasPrefix(lines[2], "peak of float32 multiply-adds on 2 cores: ") ||
		strings.Join(strings.Fields(lines[4]), " ") != "row cores precision GFLOP/s of peak best p50 p99 other" {
		t.Errorf("got\n%s", text.stdout)
	}
	for i, name := range []string{"product/6400x512x512/input", "step/volcano", "inference/volcano/1"} {
		for j, cores := range []string{"1", "2"} {
			cells := strings.Fields(lines[5+2*i+j])
			if cells[0] != name || cells[1] != cores || cells[2] != "float32" {
				t.Errorf("line %d is %q", 5+2*i+j, lines[5+2*i+j])
			}
		}
	}
	if strings.Count(text.stderr, "GFLOP/s") != 6 {
		t.Errorf("standard error:\n%s", text.stderr)
	}

	r := ok(t, dir, append(small, "--json", "--quiet", "--workers", "1")...)
	v := wantJSON(t, r)
	if r.stderr != "" {
		t.Errorf("--quiet says %s", r.stderr)
	}
	if m := v["machine"].(map[string]any); m["kernel"] == "" || m["cores"].(float64) < 1 {
		t.Errorf("machine %v", m)
	}
	peaks, rows := v["peaks"].([]any), v["rows"].([]any)
	if len(peaks) != 1 || len(rows) != 3 || peaks[0].(map[string]any)["gflops"].(float64) <= 0 {
		t.Fatalf("with one worker there are %d peaks and %d rows", len(peaks), len(rows))
	}
	for _, row := range rows {
		row := row.(map[string]any)
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

func TestBenchKernelsFaults(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"dev bench", "expected what to measure: kernels, generate, serve or problems"},
		{"dev bench discs", "expected what to measure: kernels, generate, serve or problems"},
		{"dev bench kernels now", "expected no arguments"},
		{"dev bench kernels --cores 0", "--cores is 0; expected numbers of 1 to 1024"},
		{"dev bench kernels --cores 2,1025", "--cores is 1025"},
		{"dev bench kernels --cores two", `"two"`},
		{"dev bench kernels --seconds -1", "--seconds is -1"},
		{"dev bench kernels --seconds NaN", "--seconds is NaN"},
		{"dev bench kernels --divide 0", "--divide is 0"},
		{"dev bench kernels --only (", "--only: error parsing regexp"},
		{"dev bench kernels --only sideways",
			`--only "sideways" matches no row; they are product/6400x512x512/forward float32, `},
	} {
		r := do(t, t.TempDir(), strings.Fields(c.args)...)
		if r.code != exitUsage || r.stdout != "" || !strings.Contains(r.stderr, c.says) {
			t.Errorf("landing %s: exit %d\n%s%s", c.args, r.code, r.stdout, r.stderr)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := Main(ctx, []string{"dev", "bench", "kernels"}, &stdout, &stderr); code != exitInterrupted || stdout.Len() > 0 {
		t.Errorf("interrupted: exit %d\n%s%s", code, stdout.String(), stderr.String())
	}
}

// bench generate times calls for samples of a run, and draws by other keys.
func TestBenchGenerate(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	text := ok(t, dir, "dev", "bench", "generate", "r", "-n", "1,3", "--cores", "1,2", "--seconds", "0", "--set",
		"process.steps=2")
	lines := strings.Split(strings.TrimSpace(text.stdout), "\n")
	if len(lines) != 7 || strings.Join(strings.Fields(lines[2]), " ") != "samples cores calls best p50 p99 failed" {
		t.Fatalf("got\n%s", text.stdout)
	}
	for i, want := range []string{"1 1 100", "1 2 100", "3 1 100", "3 2 100"} {
		if cells := strings.Fields(lines[3+i]); strings.Join(cells[:3], " ") != want || cells[len(cells)-1] != "0" {
			t.Errorf("line %d is %q", 3+i, lines[3+i])
		}
	}
	if strings.Count(text.stderr, "sample") != 4 {
		t.Errorf("standard error:\n%s", text.stderr)
	}
	ok(t, dir, "dev", "bench", "serve", "r", "-n", "1", "--clients", "1", "--seconds", "0", "--json")
	slow := wantJSON(t, ok(t, dir, "dev", "bench", "generate", "r", "-n", "1", "--cores", "1", "--seconds", "0.2", "--json"))
	w := slow["waits"].([]any)[0].(map[string]any)
	best, p50, p99 := w["best_seconds"].(float64), w["p50_seconds"].(float64), w["p99_seconds"].(float64)
	if !(best > 0 && best <= p50 && p50 <= p99) || w["runs"].(float64) < 100 || w["samples"].(float64) != 1 {
		t.Errorf("got %v", w)
	}
	for _, c := range []struct{ args, says string }{
		{"dev bench generate", "expected a run folder"},
		{"dev bench generate r -n 0", "-n is 0; expected numbers of samples above 0"},
		{"dev bench generate r -n 2,999999999", "-n is 999999999"},
		{"dev bench generate r --cores 0", "--cores is 0; expected numbers of 1 to 1024"},
		{"dev bench generate r --seconds NaN", "--seconds is NaN"},
	} {
		r := do(t, dir, strings.Fields(c.args)...)
		if r.code != exitUsage || r.stdout != "" || !strings.Contains(r.stderr, c.says) {
			t.Errorf("landing %s: exit %d\n%s%s", c.args, r.code, r.stdout, r.stderr)
		}
	}
}

// bench serve measures a service in a process of its own, and others beside it in turn; a soak holds its answers
// against those of generate.
func TestBenchServe(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, append([]string{"train", "demo", "--out", "r"}, tiny...)...)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer other.Close()
	text := ok(t, dir, "dev", "bench", "serve", "r", "r="+other.URL, "-n", "1,70", "--clients", "2", "--seconds", "0")
	lines := strings.Split(strings.TrimSpace(text.stdout), "\n")
	if len(lines) != 7 || !strings.HasPrefix(strings.Join(strings.Fields(lines[2]), " "),
		"run service samples callers requests a second") {
		t.Fatalf("got\n%s", text.stdout)
	}
	for i, want := range []string{"r landing 1 2 2", "r " + other.URL + " 1 2 2", "r landing 70 2 2",
		"r " + other.URL + " 70 2 2"} {
		if cells := strings.Fields(lines[3+i]); strings.Join(cells[:5], " ") != want {
			t.Errorf("line %d is %q", 3+i, lines[3+i])
		}
	}
	soak := wantJSON(t, ok(t, dir, "dev", "bench", "serve", "r", "--soak", "500ms", "--json"))["soak"].(map[string]any)
	if soak["right"].(float64) == 0 || soak["wrong"].(float64) != 0 || soak["unpromised"].(float64) != 0 {
		t.Errorf("%v", soak)
	}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "expected one or more runs", nil},
		{exitUsage, "-n and --clients have 0", []string{"r", "-n", "0"}},
		{exitUsage, "--seconds is NaN", []string{"r", "--seconds", "NaN"}},
		{exitUsage, "no run of a service", []string{"r=https://127.0.0.1:1"}},
		{exitUsage, "no run of a service", []string{"r=http://127.0.0.1"}},
		{exitUsage, "no run of a service", []string{"r=http://127.0.0.1:1/v1"}},
		{exitUsage, "would both be", []string{"r", "./r"}},
		{exitUsage, "expected no NAME=URL", []string{"r", "r=" + other.URL, "--soak", "1s"}},
		{exitConfig, "nosuch", []string{"nosuch"}},
		{exitFailure, "connection refused", []string{"r=http://127.0.0.1:1", "--seconds", "0"}},
	} {
		if r := do(t, dir, append([]string{"dev", "bench", "serve"}, c.args...)...); r.code != c.code ||
			!strings.Contains(r.stderr, c.says) {
			t.Errorf("bench serve %v: exit %d, %q; expected %d, %q", c.args, r.code, r.stderr, c.code, c.says)
		}
	}
}
