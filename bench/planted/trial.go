package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed equivalent.txt
var equivalentList string

// A trial runs tests on faults.
type trial struct {
	config
	ctx        context.Context
	module     string
	dependents map[string][]string // of each folder, folders whose tests may see its faults: its own, then by distance
	nothing    map[string]bool     // names of equivalent mutants
	sound      *baseline
}

// newTrial measures the tests on the sound code.
func newTrial(ctx context.Context, c config, progress io.Writer) (*trial, error) {
	t := &trial{config: c, ctx: ctx, dependents: map[string][]string{}, nothing: map[string]bool{}}
	for line := range strings.Lines(equivalentList) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			t.nothing[line] = true
		}
	}
	if err := t.graph(); err != nil {
		return nil, err
	}
	return t, t.measure(progress)
}

// graph finds which packages' tests depend on which packages.
func (t *trial) graph() error {
	cmd := exec.CommandContext(t.ctx, "go", "list",
		"-json=ImportPath,Dir,Module,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = t.root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list in %s: %w", t.root, err)
	}
	type pkg struct {
		ImportPath, Dir                    string
		Imports, TestImports, XTestImports []string
		TestGoFiles, XTestGoFiles          []string
		Module                             struct{ Path string }
	}
	folder, users, tested := map[string]string{}, map[string][]string{}, map[string]bool{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		rel, err := filepath.Rel(t.root, p.Dir)
		if err != nil {
			return err
		}
		t.module = p.Module.Path
		folder[p.ImportPath] = filepath.ToSlash(rel)
		tested[p.ImportPath] = len(p.TestGoFiles)+len(p.XTestGoFiles) > 0
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			users[i] = append(users[i], p.ImportPath)
		}
	}
	for of, at := range folder {
		queue, seen := []string{of}, map[string]bool{of: true}
		for len(queue) > 0 {
			p := queue[0]
			queue = queue[1:]
			if tested[p] && folder[p] != "bench/planted" {
				t.dependents[at] = append(t.dependents[at], folder[p])
			}
			for _, u := range users[p] {
				if !seen[u] && folder[u] != "" {
					seen[u] = true
					queue = append(queue, u)
				}
			}
		}
	}
	return nil
}

// all tries mutants until n of them count.
func (t *trial) all(mutants []*mutant, n int, progress io.Writer) []result {
	var mu sync.Mutex
	var out []result
	next, counted := 0, 0
	take := func() *mutant {
		mu.Lock()
		defer mu.Unlock()
		if next == len(mutants) || counted >= n || t.ctx.Err() != nil {
			return nil
		}
		next, counted = next+1, counted+1
		return mutants[next-1]
	}
	var wg sync.WaitGroup
	for range t.workers {
		wg.Go(func() {
			for m := take(); m != nil; m = take() {
				r := t.try(m)
				mu.Lock()
				if r.Fate == unbuilt || r.Fate == equivalent || r.Fate == undecided {
					counted--
				}
				if t.ctx.Err() == nil {
					out = append(out, r)
					fmt.Fprintf(progress, "%d %s (%s) line %d of %s\n", len(out), r.Fate, r.Killer, r.Line, r.Name)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out
}

// try plants one fault and runs the tests that may see it: those of its own package, then
// of the packages that depend on it, the quickest first, then all of its own package
// that -short leaves out. Tests that do not come to the line of the fault are not run.
func (t *trial) try(m *mutant) result {
	r := result{Name: m.name(), Line: m.Line, Fate: survived}
	if t.nothing[r.Name] {
		r.Fate = equivalent
		return r
	}
	dir, err := os.MkdirTemp("", "planted-*")
	if err != nil {
		r.Fate, r.Killer = unbuilt, err.Error()
		return r
	}
	defer os.RemoveAll(dir)
	overlay, err := t.overlay(dir, m)
	if err != nil {
		r.Fate, r.Killer = unbuilt, err.Error()
		return r
	}
	own := path.Dir(m.Path)
	if !slices.Contains(t.dependents[own], own) &&
		t.command("go", "build", "-overlay", overlay, "-o", os.DevNull, "./"+own) != nil {
		r.Fate = unbuilt
		return r
	}
	for _, s := range t.suites(own) {
		if t.near && s.folder != own || !t.sound.reaches(s, m) {
			continue
		}
		binary := filepath.Join(dir, strings.ReplaceAll(s.folder, "/", "-")+".test")
		if _, err := os.Stat(binary); err != nil && t.compile(binary, s.folder, "-overlay", overlay) != nil {
			if t.ctx.Err() == nil {
				r.Fate = unbuilt
			}
			return r
		}
		switch v := t.fails(binary, s); {
		case t.ctx.Err() != nil:
			return r
		case v == waited:
			r.Fate = undecided // unless another suite fails
		case v != passes:
			r.Fate, r.Killer, r.Late = caught, s.folder, v == endless
			return r
		}
	}
	return r
}

// A verdict is how a suite ended on a fault.
type verdict int

const (
	passes  verdict = iota
	failed          // a test failed
	endless         // it worked much longer than on sound code
	waited          // it did not end, but got no more work done than on sound code: the machine was busy
)

// fails runs a suite on a fault, its quick tests first. A suite that ran out of time
// without more work than on sound code has been kept waiting, and gets more.
func (t *trial) fails(binary string, s suite) verdict {
	parts := [][]string{nil}
	if quick := t.sound.Quick[s.String()]; quick != "" {
		parts = [][]string{{"-test.run=" + quick}, {"-test.skip=" + quick}}
	}
	limit := t.sound.patience(s, t.limit)
	for _, part := range parts {
		for again := 0; ; again++ {
			start := time.Now()
			_, work, err := t.run(binary, s, limit, append(slices.Clone(part), "-test.failfast")...)
			if err == nil {
				break
			}
			switch {
			case time.Since(start) < limit:
				return failed
			case work > 2*t.sound.Work[s.String()]+10:
				return endless
			case again == 3 || t.ctx.Err() != nil:
				return waited
			}
			limit *= 2
		}
	}
	return passes
}

// overlay writes the faulty file and the list that puts it in place of the sound one.
func (t *trial) overlay(dir string, m *mutant) (string, error) {
	faulty := filepath.Join(dir, "faulty.go")
	if err := os.WriteFile(faulty, m.source, 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(t.root,
		filepath.FromSlash(m.Path)): faulty}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}

// compile builds the tests of a folder.
func (t *trial) compile(binary, folder string, flags ...string) error {
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}, flags,
		[]string{"./" + folder})
	return t.command("go", args...)
}

// run runs tests that were built, as go test would. work is what they took of processors,
// in seconds.
func (t *trial) run(binary string, s suite, limit time.Duration, flags ...string) (
	out []byte, work float64, err error,
) {
	args := append(flags, "-test.paniconexit0", "-test.timeout="+limit.String())
	if s.short {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.ctx, binary, args...)
	cmd.Dir = filepath.Join(t.root, filepath.FromSlash(s.folder))
	out, err = cmd.Output()
	if p := cmd.ProcessState; p != nil {
		work = (p.UserTime() + p.SystemTime()).Seconds()
	}
	return out, work, err
}

func (t *trial) command(name string, args ...string) error {
	cmd := exec.CommandContext(t.ctx, name, args...)
	cmd.Dir = t.root
	return cmd.Run()
}

// builds reports whether a file is part of the build on this machine.
func builds(path string, source []byte) bool {
	c := build.Default
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(source)), nil }
	ok, err := c.MatchFile(filepath.Dir(path), filepath.Base(path))
	return ok && err == nil
}
