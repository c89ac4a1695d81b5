package main

import (
	"strings"
	"testing"
)

// A name of an earlier version is a usage error of one line that says the new name.
func TestOldNames(t *testing.T) {
	dir := t.TempDir()
	lines := map[string]string{"train demo --max-time 8h": "--timeout", "sweep f.yaml --data d": "--data-dir",
		"make so --count 3": "-n", "make so --n 3": "--size",
		"distill r --samples 8": "-n",
		"resume r --for 5m":     "train RUN",
		"eval r --help":         "report RUN --text",
		"data so --json":        "landing make", "--workers 1 env": "landing version"}
	root := (&app{}).root()
	for old, now := range renamed {
		if c, _, err := root.Find([]string{old}); err == nil && !c.DisableFlagParsing {
			t.Logf("there is a verb %s still", old)
			continue
		}
		lines[old] = now
	}
	for line, now := range lines {
		r := do(t, dir, strings.Fields(line)...)
		if r.code != exitUsage || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "any more") ||
			!strings.Contains(r.stderr, now) {
			t.Errorf("landing %s: exit %d\n%s\nwant a line with %q", line, r.code, r.stderr, now)
		}
	}
	for verb, flags := range renamedFlags {
		cmd, rest, err := root.Find(strings.Fields(verb))
		if err != nil || len(rest) > 0 {
			t.Errorf("there is no verb %q with flags of other names: %v", verb, err)
		}
		for old := range flags {
			if cmd.Flags().Lookup(old) != nil {
				t.Errorf("landing %s has a flag --%s", verb, old)
			}
		}
	}
}
