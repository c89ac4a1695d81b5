package experiment

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// A run of a version without one of today's keys opens with a note, and learns the same. A run with all keys opens
// without a note.
func TestRunOfAnotherVersion(t *testing.T) {
	text := []byte("set: {kind: sphere, dim: 2}\n" + bareText + "data: {path: " + circles(t, false) + "}\n")
	config := func(r *Run) string {
		t.Helper()
		data := testkit.Must(os.ReadFile(r.Folder.Path(run.ConfigFile)))
		return string(data)
	}
	// rewritten opens a run that has not begun, after its config.yaml was changed.
	rewritten := func(old, new string) (*Run, error) {
		t.Helper()
		e := job.New[*Run](t, Load, text, "p.yaml")
		e.Folder.Unlock()
		was := config(e)
		is := strings.Replace(was, old, new, 1)
		if is == was && old != new {
			t.Fatalf("no %q in\n%s", old, was)
		}
		manifest := testkit.Must(os.ReadFile(e.Folder.Path(run.ManifestFile)))
		manifest = bytes.Replace(manifest, []byte(run.Hash([]byte(was))), []byte(run.Hash([]byte(is))), 1)
		for file, data := range map[string][]byte{run.ManifestFile: manifest, run.ConfigFile: []byte(is)} {
			testkit.OK(t, os.WriteFile(e.Folder.Path(file), data, 0o666))
		}
		return Open(t.Context(), e.Folder.Dir, "", e.Pool, nil)
	}
	learned := func(r *Run) []arrayfile.Named {
		t.Helper()
		trainTo(t, r, Observer{})
		var state train.State
		return testkit.Must(r.Folder.LoadCheckpoint("", r.Config, &state))
	}
	same, err := rewritten("", "")
	if err != nil || same.Warning != "" {
		t.Fatalf("a run of this version: %v, %q", err, same.Warning)
	}
	older := testkit.Must(rewritten("  terminal_projection: true\n", ""))
	testkit.Contains(t, older.Warning, "did not know process.terminal_projection (true);", "the warning")
	if !reflect.DeepEqual(learned(same), learned(older)) {
		t.Error("without a key that has its default other parameters are learned")
	}
}
