package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/internal/testkit/process"
)

// servant starts the program as one that serves until the test ends.
func servant(t *testing.T, dir string, args ...string) *process.Child {
	t.Helper()
	return process.Start(t, self(t, dir, append(args, "--attended")...))
}

// untilThere calls the program until it succeeds: a queue takes a moment to be there.
func untilThere(t *testing.T, dir string, args ...string) transcript {
	t.Helper()
	until := time.Now().Add(60 * time.Second)
	for {
		r := do(t, dir, args...)
		if r.code == 0 {
			return r
		}
		if time.Now().After(until) {
			t.Fatalf("landing %v: exit %d\n%s", args, r.code, r.stderr)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Samples that workers of a queue drew are the file of one process, though workers and the queue are killed at
// random; LANDING_LONG=1: twenty kills among eight workers.
func TestQueueKills(t *testing.T) {
	n, unit, workers, kills := "2000", "100", 2, 3
	if os.Getenv("LANDING_LONG") == "1" {
		n, unit, workers, kills = "200000", "400", 8, 20
	}
	dir := t.TempDir()
	demoRun(t, dir, "prior=uniform")
	ok(t, dir, "generate", "r", "-n", n, "-o", "one.npy")
	at := process.FreePort(t)
	t.Setenv(queueEnv, at)
	queue := func() *process.Child {
		return servant(t, dir, "queue", "--listen", at, "--store", "store", "--silence", "1s")
	}
	worker := func() *process.Child {
		for until := time.Now().Add(60 * time.Second); ; {
			c := servant(t, dir, "work", "--cache", "cache", "--workers", "1")
			// one that starts while the queue is away ends, as the supervisor of a fleet would see
			if !c.Ended(200*time.Millisecond) || time.Now().After(until) {
				return c
			}
		}
	}
	serving := queue()
	untilThere(t, dir, "status")
	ok(t, dir, "submit", "generate", "r", "-n", n, "--unit", unit, "--tries", "20", "--json")
	all := make([]*process.Child, workers)
	for i := range all {
		all[i] = worker()
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for k := range kills {
		time.Sleep(time.Duration(r.IntN(700)) * time.Millisecond)
		if k == 1 || k > 1 && r.IntN(4) == 0 {
			serving.Kill()
			serving = queue()
			untilThere(t, dir, "status")
			continue
		}
		i := r.IntN(workers)
		all[i].Kill()
		all[i] = worker()
	}
	ok(t, dir, "fetch", "-o", "many.npy", "--json")
	one, err := os.ReadFile(filepath.Join(dir, "one.npy"))
	if err != nil {
		t.Fatal(err)
	}
	many, err := os.ReadFile(filepath.Join(dir, "many.npy"))
	if err != nil || !bytes.Equal(one, many) {
		t.Errorf("the file differs, %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "many.npy.*"))
	if len(left) != 1 || filepath.Base(left[0]) != "many.npy.json" {
		t.Errorf("there are %v", left)
	}
	if r := do(t, dir, "fetch", "-o", "many.npy"); r.code != exitConfig || !strings.Contains(r.stderr, "--force") {
		t.Errorf("written over: exit %d, %s", r.code, r.stderr)
	}
	// a worker that is asked to end does, with what it did
	all[0].Process.Signal(syscall.SIGTERM)
	if err := all[0].Wait(); err != nil || !strings.Contains(all[0].Out.String(), "done in") {
		t.Errorf("SIGTERM: %v, %s%s", err, all[0].Out.String(), all[0].Said.String())
	}
	all[0] = worker()
	var state struct {
		Jobs []struct {
			ID            string
			Done, Waiting int
			Left          float64 `json:"seconds_left"`
			Workers       []any
		}
		Workers []struct{ PID int }
	}
	if err := json.Unmarshal([]byte(ok(t, dir, "status", "--json").stdout), &state); err != nil {
		t.Fatal(err)
	}
	if len(state.Jobs) != 1 || state.Jobs[0].Waiting != 0 || state.Jobs[0].Left != 0 || len(state.Workers) < workers-1 {
		t.Errorf("%+v", state)
	}
	ok(t, dir, "forget", state.Jobs[0].ID, "--json")
	if r := do(t, dir, "fetch", state.Jobs[0].ID); r.code != exitConfig {
		t.Errorf("forgotten, and exit %d: %s", r.code, r.stderr)
	}
}

// The cells of a sweep that a worker of a queue trained leave the rows of one process, through a shared folder.
func TestQueueSweep(t *testing.T) {
	dir := t.TempDir()
	sweep := `{problems: [demo], methods: [OLLA], seeds: [1, 2], budget: {epochs: 1}, samples: 50,
  set: {defaults: fixed, network: {width: 8, layers: 1}, train.times_per_path: 2, prior: uniform}}`
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(sweep), 0o666); err != nil {
		t.Fatal(err)
	}
	at := process.FreePort(t)
	t.Setenv(queueEnv, at)
	serving := servant(t, dir, "queue", "--listen", at, "--store", "store", "--key", "office.nk", "--json")
	t.Setenv(credentialsEnv, filepath.Join(dir, "office.nk"))
	untilThere(t, dir, "status")
	ok(t, dir, "submit", "sweep", "s.yaml", "--shared", filepath.Join(dir, "shared"), "--json")
	ok(t, dir, "work", "--drain", "--cache", "cache", "--json")
	ok(t, dir, "fetch", "-o", "there", "--json")
	ok(t, dir, "sweep", "s.yaml", "--out", "here")
	here, err := os.ReadFile(filepath.Join(dir, "here", "rows.json"))
	if err != nil {
		t.Fatal(err)
	}
	if there, err := os.ReadFile(filepath.Join(dir, "there", "rows.json")); err != nil || !bytes.Equal(here, there) {
		t.Errorf("rows differ: %v\n%s\n%s", err, here, there)
	}
	// what was trained elsewhere is gone on with here, as any sweep is
	if r := ok(t, dir, "sweep", "s.yaml", "--out", "there"); !strings.Contains(r.stdout, "2 of 2 cells done") {
		t.Errorf("%s", r.stdout)
	}
	changed := strings.Replace(sweep, "width: 8", "width: 9", 1)
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	if r := do(t, dir, "fetch", "-o", "other"); r.code != exitConfig || !strings.Contains(r.stderr, "changed") {
		t.Errorf("another sweep: exit %d, %s", r.code, r.stderr)
	}
	// cells of the paper go the same way, and are then finished
	job := wantJSON(t, ok(t, dir, "status", "--json"))["jobs"].([]any)[0].(map[string]any)["id"].(string)
	ok(t, dir, "forget", job)
	paper := []string{"reproduce", "demo", "--only", "demo/OLLA/N=20", "--budget", "0", "--out", "p", "--set",
		"train.epochs=1", "--set", "network.width=8", "--set", "network.layers=1", "--set", "train.times_per_path=2"}
	ok(t, dir, append(append([]string{"submit"}, paper...), "--json")...)
	ok(t, dir, "work", "--drain", "--cache", "cache")
	if r := ok(t, dir, "fetch"); !strings.Contains(r.stdout, "1 of 1 cells done") &&
		!strings.Contains(r.stdout, "1 of 1 cell done") {
		t.Errorf("%s", r.stdout)
	}
	if r := ok(t, dir, paper...); !strings.Contains(r.stderr, "all cells are finished") {
		t.Errorf("%s", r.stderr)
	}
	for _, path := range []string{"store", "shared"} { // no secret is where others look
		filepath.WalkDir(filepath.Join(dir, path), func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte("SUA")) {
					t.Errorf("%s may hold a seed", path)
				}
			}
			return nil
		})
	}
	brokenInput(t, dir)
	serving.Kill()
	valid(t, "queue", serving.Out.Bytes())
	if strings.Contains(serving.Said.String()+serving.Out.String(), "SUA") {
		t.Errorf("a seed was told: %s", serving.Said.String())
	}
}

// brokenInput has a queue do samples of which an input is damaged in a shared folder: the unit is given up, which is
// told, and the same submission with --retry mends it.
func brokenInput(t *testing.T, dir string) {
	t.Helper()
	ok(t, dir, append([]string{"train", "demo", "--out", "r", "--set", "prior=uniform"}, tiny...)...)
	ok(t, dir, "generate", "r", "-n", "50", "-o", "one.npy")
	submit := []string{"submit", "generate", "r", "-n", "50", "--tries", "1", "--shared", filepath.Join(dir, "again"),
		"--json"}
	job, _ := wantJSON(t, ok(t, dir, submit...))["job"].(string)
	if r := do(t, dir, "fetch", job, "--no-wait"); r.code != exitFailure ||
		!strings.Contains(r.stderr, "has not ended") {
		t.Errorf("too early: exit %d, %s", r.code, r.stderr)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "again", "objects", "*", "*"))
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err == nil {
			data[0] ^= 1
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(t, dir, "work", "--drain", "--cache", "again-cache")
	if r := do(t, dir, "fetch", job); r.code != exitFailure || !strings.Contains(r.stderr, "given up after 1 try") ||
		!strings.Contains(r.stderr, "--retry") {
		t.Errorf("%d damaged files: exit %d, %s", len(files), r.code, r.stderr)
	}
	ok(t, dir, submit...) // which leaves what was given up
	if r := ok(t, dir, "status", job); !strings.Contains(r.stdout, "given up after 1 try") {
		t.Errorf("status: %s", r.stdout)
	}
	ok(t, dir, append(submit, "--retry")...)
	ok(t, dir, "work", "--drain", "--cache", "again-cache")
	ok(t, dir, "fetch", job, "-o", "many.npy")
	sameFiles(t, dir, "many.npy", "one.npy")
}

// What cannot be has a name and an exit code.
func TestQueueRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(queueEnv, "")
	t.Setenv(credentialsEnv, "")
	dead := process.FreePort(t)
	for name, text := range map[string]string{"words": "sesame\n", "s.yaml": "{problems: [demo]}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitFailure, "no queue answers", []string{"status", "--queue", dead}},
		{exitFailure, "no queue answers", []string{"work", "--queue", dead}},
		{exitFailure, "no queue answers", []string{"submit", "sweep", "s.yaml", "--queue", dead}},
		{exitUsage, "secret", []string{"status", "--queue", "nats://me:sesame@127.0.0.1:1"}},
		{exitUsage, "scheme", []string{"status", "--queue", "http://127.0.0.1:1"}},
		{exitConfig, "neither", []string{"status", "--queue", dead, "--credentials", "words"}},
		{exitConfig, "no such file", []string{"status", "--queue", dead, "--credentials", "nowhere"}},
		{exitUsage, "--key", []string{"queue", "--listen", "0.0.0.0:0"}},
		{exitUsage, "--max-store", []string{"queue", "--max-store", "much"}},
		{exitUsage, "--silence", []string{"queue", "--silence", "1ms"}},
		{exitConfig, "host:port", []string{"queue", "--listen", "nonsense"}},
		{exitUsage, "--tries", []string{"submit", "sweep", "s.yaml", "--tries", "-1"}},
		{exitUsage, "--patience", []string{"submit", "sweep", "s.yaml", "--patience", "1ms"}},
		{exitUsage, "--grace", []string{"work", "--grace", "-1s"}},
		{exitUsage, "no argument", []string{"work", "x"}},
		{exitUsage, "a job or none", []string{"status", "x", "y"}},
		{exitUsage, "a job", []string{"forget"}},
		{exitUsage, "a run folder", []string{"submit", "generate"}},
	} {
		r := do(t, dir, append(c.args, "--json")...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) || strings.Contains(r.stderr+r.stdout, "sesame") {
			t.Errorf("%v: exit %d, expected %d and %q\n%s", c.args, r.code, c.code, c.want, r.stderr)
		}
		wantJSON(t, r)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "landing-queue*")); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

// Bytes are read with their units.
func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"20GB": 20e9, "1.5kB": 1500, "7": 7, "3 MB": 3e6, "1TB": 1e12} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "much", "-1GB", "0", "1XB", "1e30GB", "nan", "1GB2"} {
		if got, err := parseBytes(bad); err == nil {
			t.Errorf("%q is %d", bad, got)
		}
	}
}
