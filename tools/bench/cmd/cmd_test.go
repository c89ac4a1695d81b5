package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/trained"
)

// The process that asks for health is this program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "health" {
		if err := do(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

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

// A service that listens elsewhere is measured, and one that answers nothing is an error.
func TestServe(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer other.Close()
	var v struct {
		Rows []struct{ Samples, Requests int }
	}
	text := said(t, "serve", "-n", "1,70", "-clients", "2", "-seconds", "0", "-json", "r="+other.URL)
	if err := json.Unmarshal([]byte(text), &v); err != nil || len(v.Rows) != 2 || v.Rows[1].Samples != 70 ||
		v.Rows[1].Requests != 2 {
		t.Errorf("%v: %s", err, text)
	}
	for says, args := range map[string]string{
		"expected runs":                          "serve",
		"-soak":                                  "serve r=" + other.URL + " -soak 1s",
		"numbers of 1 to 100000":                 "serve r -n 0",
		"nosuch":                                 "serve nosuch",
		"connection refused":                     "serve r=http://127.0.0.1:1 -seconds 0",
		"expected what to measure":               "discs",
		"expected a run folder":                  "generate",
		`there is no problem "tori"`:             "problems -only tori",
		`there is no view "mirrored"`:            "problems -only torus -seen mirrored",
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
