package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func said(t *testing.T, args ...string) string {
	t.Helper()
	var out, more bytes.Buffer
	if err := measure(t.Context(), args, &out, &more); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, more.String())
	}
	return out.String()
}

// What cannot be measured is an error that says why.
func TestRefusals(t *testing.T) {
	for says, args := range map[string]string{
		`there is no problem "tori"`:             "-only tori",
		"expected -for of 0 or 1s to 24h":        "-for 1ms",
		"-rows of 0 to 1000000":                  "-rows -1",
		"expected no arguments":                  "now",
		"flag provided but not defined: -nosuch": "-nosuch",
	} {
		var out bytes.Buffer
		testkit.Refused(t, measure(t.Context(), strings.Fields(args), &out, &out), says, args)
	}
}

// A problem of the suite has a row, then the bars; files can be made without training.
func TestProblems(t *testing.T) {
	dir := t.TempDir()
	lines := strings.Split(said(t, "-only", "rows-200", "-for", "1m", "-set", "train.times_per_path=1",
		"-set", "train.epochs=2", "-set", "network.width=8", "-out", filepath.Join(dir, "mine")), "\n")
	if !strings.HasPrefix(lines[2], "problem ") || !strings.HasPrefix(lines[3], "rows-200  3  200 ") ||
		!strings.Contains(lines[3], "0 of 200") || !strings.HasPrefix(lines[5], "energy distance within mean + 3 sd") {
		t.Errorf("%q", lines)
	}
	files := filepath.Join(dir, "files")
	said(t, "-files-only", "-only", "arm3,box", "-out", files)
	for _, name := range []string{"arm3/problem.yaml", "arm3/data.csv", "box/observed.yaml"} {
		if _, err := os.Stat(filepath.Join(files, name)); err != nil {
			t.Error(err)
		}
	}
	if list := said(t, "-list"); strings.Count(list, "\n") < 27 {
		t.Error(list)
	}
}
