package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Every verb has a page that names its flags, as a manual page and as Markdown; none is written over.
func TestMan(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	files := wantJSON(t, ok(t, dir, "dev", "man", "m/an1", "--json"))["files"].([]any)
	for _, c := range verbs((&app{}).root()) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		if !slices.Contains(files, any(name)) {
			t.Errorf("no %s in %v", name, files)
			continue
		}
		page, err := os.ReadFile(filepath.Join(dir, "m", "an1", name))
		if err != nil || !strings.HasPrefix(string(page), ".nh\n.TH \"LANDING") {
			t.Errorf("%s: %v %.40q", name, err, page)
		}
		if c.Name() == "train" && !strings.Contains(string(page), "timeout") {
			t.Errorf("%s does not tell of --timeout:\n%s", name, page)
		}
	}
	if len(files) < 25 {
		t.Errorf("only %d pages", len(files))
	}
	ok(t, dir, "dev", "man", "again")
	for _, name := range files {
		one, _ := os.ReadFile(filepath.Join(dir, "m", "an1", name.(string)))
		two, err := os.ReadFile(filepath.Join(dir, "again", name.(string)))
		if err != nil || string(one) != string(two) {
			t.Errorf("%s is not the same bytes again: %v", name, err)
		}
	}
	if r := do(t, dir, "dev", "man", "again"); r.code != exitConfig || !strings.Contains(r.stderr, "--force") {
		t.Errorf("exit %d %s", r.code, r.stderr)
	}
	ok(t, dir, "dev", "man", "md", "--markdown")
	page, err := os.ReadFile(filepath.Join(dir, "md", "landing-make-so.md"))
	if err != nil || !strings.Contains(string(page), "## landing make so") ||
		!strings.Contains(string(page), "(landing-make.md)") {
		t.Errorf("%v\n%s", err, page)
	}
}

// Flags, their shorthands, defaults and what else a command takes change only on purpose.
func TestFlagsAreKept(t *testing.T) {
	for _, c := range verbs((&app{}).root()) {
		testkit.Keep(t, "%s", c.UseLine())
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			testkit.Keep(t, "  -%s --%s %s %q, without a value %q, hidden %v", f.Shorthand, f.Name, f.Value.Type(),
				f.DefValue, f.NoOptDefVal, f.Hidden)
		})
	}
}
