package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// bench prints the peak first, then a row each; or one object.
func TestBenchKernels(t *testing.T) {
	dir := t.TempDir()
	small := []string{"dev", "bench", "--only", "(512/input|volcano/1|step/volcano) float32", "--seconds", "0",
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
		{"dev bench now", "expected no arguments"},
		{"dev bench --cores 0", "--cores is 0; expected numbers of 1 to 1024"},
		{"dev bench --cores 2,1025", "--cores is 1025"},
		{"dev bench --cores two", `"two"`},
		{"dev bench --seconds -1", "--seconds is -1"},
		{"dev bench --seconds NaN", "--seconds is NaN"},
		{"dev bench --divide 0", "--divide is 0"},
		{"dev bench --only (", "--only: error parsing regexp"},
		{"dev bench --only sideways",
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
	if code := Main(ctx, []string{"dev", "bench"}, &stdout, &stderr); code != exitInterrupted || stdout.Len() > 0 {
		t.Errorf("interrupted: exit %d\n%s%s", code, stdout.String(), stderr.String())
	}
}
