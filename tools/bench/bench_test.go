package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/study/sweep"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func init() { pathmatch.FitNumbers, experiment.PriorEnds = 1<<13, 1000 } // what is trained is small

func said(t *testing.T, args ...string) string {
	t.Helper()
	var out, more bytes.Buffer
	if err := write(t.Context(), args, &out, &more); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, more.String())
	}
	return out.String()
}

// An error says why problems cannot be written.
func TestRefusals(t *testing.T) {
	for says, args := range map[string]string{
		`there is no problem "tori"`:             "-only tori",
		"expected -for of 0 or 1s to 24h":        "-for 1ms",
		"-rows of 0 to 1000000":                  "-rows -1",
		"expected no arguments":                  "now",
		"flag provided but not defined: -nosuch": "-nosuch",
	} {
		var out bytes.Buffer
		testkit.Refused(t, write(t.Context(), strings.Fields(args), &out, &out), says, args)
	}
}

// The sweep trains each problem on its data, and judges the samples by the problem's observables.
func TestProblems(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	said(t, "-only", "rows-200,d300", "-rows", "150", "-for", "0", "-out", dir)
	f := testkit.Must(sweep.Read(filepath.Join(dir, "sweep.yaml")))
	p := testkit.Must(f.Plan(sweep.Options{Set: []string{"train.times_per_path=1", "network.width=8"},
		Budgets: []sweep.Budget{{Epochs: 2}}}))
	got := testkit.Must(p.Run(t.Context(), sweep.Runner{Dir: filepath.Join(dir, "swept"), Pool: testkit.Pool(t, 2)}))
	for _, c := range got.Cells {
		r := c.Row
		if r.Epochs != 2 || r.Data.Points != 150 || r.Failed > 0 || !(r.Energy.Statistic > r.Energy.Mean) ||
			r.Distance == nil || !(r.Distance.Full > r.Distance.Law) || r.Good {
			t.Errorf("%s %s: %+v", c.Name, c.Reason, r)
		}
	}
	var out bytes.Buffer
	testkit.Refused(t, write(t.Context(), []string{"-out", dir}, &out, &out), "exists")
	if list := said(t, "-list"); strings.Count(list, "\n") < 27 {
		t.Error(list)
	}
}
