package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// A suite is the tests of a folder, all or those that -short leaves.
type suite struct {
	folder string
	short  bool
}

func (s suite) String() string {
	if s.short {
		return s.folder + " short"
	}
	return s.folder
}

// A baseline is what the tests do on the sound code: how long they take and which code
// each comes to. It is kept in a file, for the next sample of the same code.
type baseline struct {
	Tests map[string][]test           // by suite
	Runs  map[string]map[string][]int // by suite, the numbers of the tests that run each block of code
}

// A test is one function of a suite, with what it takes.
type test struct {
	Name          string
	Seconds, Work float64 // by the clock, and of processors
}

// suites lists the tests that may see a fault of a folder.
func (t *trial) suites(own string) (out []suite) {
	for _, f := range t.dependents[own] {
		out = append(out, suite{f, true})
		if f == own {
			out = append(out, suite{f, false})
		}
	}
	return out
}

// reach returns the tests of a suite that run the code where a fault is. Code that is in
// no block, such as the cases of a switch, counts as run.
func (b *baseline) reach(s suite, m *mutant) (out []test) {
	all := b.Tests[s.String()]
	known, run := false, make([]bool, len(all))
	for block, tests := range b.Runs[s.String()] {
		span, ok := strings.CutPrefix(block, m.Path+":")
		if !ok {
			continue
		}
		var from, to [2]int // line and column
		if _, err := fmt.Sscanf(span, "%d.%d,%d.%d", &from[0], &from[1], &to[0], &to[1]); err != nil {
			panic("planted: a block at " + block)
		}
		at := []int{m.Line, m.Column}
		if slices.Compare(from[:], at) <= 0 && slices.Compare(at, to[:]) < 0 {
			known = true
			for _, i := range tests {
				run[i] = true
			}
		}
	}
	for i, k := range all {
		if run[i] || !known {
			out = append(out, k)
		}
	}
	return out
}

// measure fills t.sound, from the file of an earlier run if the code is the same. A test that
// fails on sound code is left out: it would see faults where there are none.
func (t *trial) measure(progress io.Writer) error {
	key, err := t.key()
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	file := filepath.Join(cache, "landing", "planted-"+key+".json")
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &t.sound) == nil {
		return nil
	}
	t.sound = &baseline{Tests: map[string][]test{}, Runs: map[string]map[string][]int{}}
	of := map[suite][]string{} // the planted packages that it may see faults of
	for _, p := range t.packages {
		for _, s := range t.suites(p) {
			of[s] = append(of[s], path.Join(t.module, p))
		}
	}
	var mu sync.Mutex
	say := func(format string, v ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(progress, format, v...)
	}
	var group errgroup.Group
	group.SetLimit(t.workers)
	for s, packages := range of {
		group.Go(func() error {
			start := time.Now()
			tests, runs, err := t.profile(s, packages, say)
			say("%s: %.1f s\n", s, time.Since(start).Seconds())
			mu.Lock()
			defer mu.Unlock()
			t.sound.Tests[s.String()], t.sound.Runs[s.String()] = tests, runs
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	data, err := json.Marshal(t.sound)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}

// profile runs the tests of a suite on the sound code, each alone, and returns what each
// takes and which run each block of the packages.
func (t *trial) profile(s suite, packages []string, say func(format string, v ...any)) (
	tests []test, runs map[string][]int, err error,
) {
	dir, err := os.MkdirTemp("", "planted-*")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	binary, profile := filepath.Join(dir, "sound.test"), filepath.Join(dir, "profile")
	if err := t.compile(binary, s.folder, "-cover", "-coverpkg="+strings.Join(packages, ",")); err != nil {
		return nil, nil, fmt.Errorf("the tests of %s do not build: %w", s.folder, err)
	}
	list, _, err := t.run(binary, s, time.Minute, 0, 0, "-test.list=^(Test|Example|Fuzz)")
	if err != nil {
		return nil, nil, fmt.Errorf("the tests of %s cannot be listed: %w", s, err)
	}
	runs = map[string][]int{}
	for name := range strings.FieldsSeq(string(list)) {
		start := time.Now()
		said, work, err := t.run(binary, s, time.Hour, 0, 0, "-test.run=^"+name+"$", "-test.coverprofile="+profile)
		if err != nil {
			say("left out: %s of %s fails before any fault is planted: %v\n%s", name, s, err, said)
			continue
		}
		took := time.Since(start).Seconds()
		text, err := os.ReadFile(profile)
		if err != nil {
			return nil, nil, err
		}
		for line := range strings.Lines(string(text)) { // MODULE/FILE:FROM,TO STATEMENTS COUNT, after one with the mode
			block, counts, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), t.module+"/"), " ")
			if !strings.HasSuffix(counts, " 0") {
				runs[block] = append(runs[block], len(tests))
			} else if runs[block] == nil {
				runs[block] = []int{}
			}
		}
		tests = append(tests, test{name, took, work})
	}
	delete(runs, "mode:")
	return tests, runs, nil
}

// key identifies what a baseline depends on: the module's files and the packages.
func (t *trial) key() (string, error) {
	h, root := sha256.New(), os.DirFS(t.root)
	fmt.Fprintln(h, t.packages)
	err := fs.WalkDir(root, ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && p != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(root, p)
		fmt.Fprintln(h, p, len(data))
		h.Write(data)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), err
}
