package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/tools/testkit"
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
