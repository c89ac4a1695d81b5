package main

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// README.md shows what the demo prints. Tests simulate fewer paths before the first epoch, and processors round in ways
// of their own: numbers may differ by a tenth. A quarter of the training has another distance and verdict.
func TestReadmeDemo(t *testing.T) {
	if !testkit.Long() {
		t.Skip("a quarter of a minute of training, with LANDING_LONG=1, or all of it with LANDING_LONG=all")
	}
	paths := settle.MostPaths
	settle.MostPaths = 2000
	job.DemoRows(1)
	defer func() { settle.MostPaths = paths; job.DemoRows(5) }()
	args, shorter := []string{"demo"}, strings.NewReplacer()
	if !testkit.Longest() {
		args = append(args, "--set", "train.epochs=120")
		shorter = strings.NewReplacer("distance:  0.113", "distance:  0.216")
	}
	number := regexp.MustCompile(`0\.\d+`)
	_, text, _ := strings.Cut(string(testkit.Must(os.ReadFile("../../README.md"))), "The demo prints:\n\n")
	text, _, _ = strings.Cut(text, "…")
	var printed []string
	for line := range strings.Lines(ok(t, t.TempDir(), args...).stdout) {
		printed = append(printed, strings.TrimSpace(line))
	}
	lines := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(shorter.Replace(line))
		if line == "" || !testkit.Longest() && strings.HasPrefix(line, "verdict:") {
			continue
		}
		lines++
		if !slices.ContainsFunc(printed, func(p string) bool {
			a, b := number.FindAllString(line, -1), number.FindAllString(p, -1)
			return number.ReplaceAllString(line, "") == number.ReplaceAllString(p, "") &&
				slices.EqualFunc(a, b, func(a, b string) bool {
					x, y := testkit.Must(strconv.ParseFloat(a, 64)), testkit.Must(strconv.ParseFloat(b, 64))
					return math.Abs(x-y) <= 0.1*x
				})
		}) {
			t.Errorf("README.md shows %q; the demo prints\n%s", line, strings.Join(printed, "\n"))
		}
	}
	if lines < 5 {
		t.Errorf("README.md shows %d lines of the demo", lines)
	}
}
