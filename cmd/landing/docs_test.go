package main

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// Pages state exit codes, flags with their defaults, and methods as the program has them.
func TestDocs(t *testing.T) {
	page := func(name string) string {
		return string(testkit.Must(os.ReadFile("../../docs/" + name)))
	}
	commands := page("commands.md")
	for code, words := range map[int]string{exitFailure: "any other failure", exitUsage: "wrong usage",
		exitConfig: "wrong configuration or data", exitCheck: "check failed", exitDiverged: "diverged",
		exitTime: "`--timeout`", exitInterrupted: "Ctrl-C, SIGTERM"} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \|.*%s`, code, regexp.QuoteMeta(words))).MatchString(commands) {
			t.Errorf("docs/commands.md has no row for exit code %d, %s", code, words)
		}
	}
	// Every flag that a page of docs gives with a command is a flag of it.
	root := (&app{}).root()
	used := regexp.MustCompile("landing ([a-z-]+(?: [a-z-]+)?)([^`\n|]*)")
	flag := regexp.MustCompile(` --([a-z][a-z-]*)`)
	seen := 0
	for _, file := range testkit.Must(os.ReadDir("../../docs")) {
		if !strings.HasSuffix(file.Name(), ".md") {
			continue
		}
		for _, m := range used.FindAllStringSubmatch(page(file.Name()), -1) {
			verb, _, err := root.Find(strings.Fields(m[1]))
			if err != nil || verb == root {
				continue
			}
			for _, f := range flag.FindAllStringSubmatch(" "+m[1]+m[2], -1) {
				seen++
				if f[1] != "help" && verb.Flags().Lookup(f[1]) == nil && verb.InheritedFlags().Lookup(f[1]) == nil {
					t.Errorf("docs/%s: landing %s has no flag --%s", file.Name(), verb.Name(), f[1])
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d flags were found in the pages", seen)
	}
	for flag, want := range map[string]string{"queue": "`--queue` 256", "max-numbers": "`--max-numbers` 4·10⁶",
		"max-body": "`--max-body` 8 MiB", "max-connections": "`--max-connections` 1024",
		"deadline": "`--deadline` 10 min", "grace": "`--grace` (3 s"} {
		testkit.Contains(t, page("service.md"), want, "docs/service.md, --%s", flag)
	}
	rivals := page("rivals.md")
	keys := page("problem-file.md")
	for _, k := range methods.All {
		if _, err := langevin.ParseMethod(k.Name); err != nil && !strings.HasPrefix(k.Name, "few-") {
			testkit.Contains(t, rivals, k.Name+"`", "docs/rivals.md")
		}
		testkit.Contains(t, keys, "`"+k.Name+"`", "docs/problem-file.md")
	}
}

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
