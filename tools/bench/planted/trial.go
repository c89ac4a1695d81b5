package main

import (
	"bytes"
	"cmp"
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
	"strconv"
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
			if tested[p] && folder[p] != "tools/bench/planted" {
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
	var out []result
	add := func(r result) {
		out = append(out, r)
		fmt.Fprintf(progress, "%d %s (%s) line %d of %s\n", len(out), r.Fate, r.Killer, r.Line, r.Name)
	}
	for counted := 0; counted < n && len(mutants) > 0 && t.ctx.Err() == nil; {
		var some []*mutant // at a time
		for len(some) < n-counted && len(mutants) > 0 {
			m := mutants[0]
			mutants = mutants[1:]
			if t.nothing[m.name()] {
				add(result{Name: m.name(), Line: m.Line, Fate: equivalent})
				continue
			}
			some = append(some, m)
			m.number = len(some)
		}
		dir, err := os.MkdirTemp("", "planted-*")
		if err != nil {
			fmt.Fprintln(progress, err)
			return out
		}
		b, err := t.build(dir, some)
		if err != nil {
			fmt.Fprintln(progress, err)
		} else {
			t.some(b, some, func(r result) {
				if r.Fate == caught || r.Fate == survived {
					counted++
				}
				add(r)
			})
		}
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return out
		}
	}
	return out
}

// some tries mutants that were built together.
func (t *trial) some(b *built, mutants []*mutant, add func(result)) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan *mutant)
	for range t.workers {
		wg.Go(func() {
			for m := range next {
				r := t.try(b, m)
				if mu.Lock(); t.ctx.Err() == nil {
					add(r)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range mutants {
		if t.ctx.Err() == nil {
			next <- m
		}
	}
	close(next)
	wg.Wait()
}

// try runs the tests that may see a fault: those of its own package, then of the packages
// that depend on it, the quickest first, then those of its own package that -short leaves
// out. Tests that do not come to the line of the fault are not run.
func (t *trial) try(b *built, m *mutant) result {
	r := result{Name: m.name(), Line: m.Line, Fate: survived}
	if b.unbuilt[m] {
		r.Fate = unbuilt
		return r
	}
	for _, s := range t.suites(path.Dir(m.Path), m) {
		binary, err := b.tests(t, s.folder, m)
		if err != nil {
			r.Fate, r.Killer = unbuilt, err.Error()
			return r
		}
		switch v := t.fails(binary, s, m); {
		case t.ctx.Err() != nil:
			return r
		case v == waited:
			r.Fate = undecided // unless another suite fails
		case v != passes:
			r.Fate, r.Killer = caught, s.folder
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

// fails runs the tests of a suite that come to a fault, the quick ones first. A suite that
// ran out of time without more work than on sound code has been kept waiting, and gets
// more.
func (t *trial) fails(binary string, s suite, m *mutant) verdict {
	var quick, slow []test
	for _, k := range t.sound.reach(s, m) {
		if k.Seconds < 0.1 {
			quick = append(quick, k)
		} else {
			slow = append(slow, k)
		}
	}
	slices.SortStableFunc(slow, func(a, b test) int { return cmp.Compare(a.Work, b.Work) })
	parts := [][]test{quick}
	for _, k := range slow {
		parts = append(parts, []test{k})
	}
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		var names []string
		seconds, sound := 0.0, 0.0
		for _, k := range part {
			names, seconds, sound = append(names, k.Name), seconds+k.Seconds, sound+k.Work
		}
		limit := patience(seconds, t.limit)
		for again := 0; ; again++ {
			start := time.Now()
			_, work, err := t.run(binary, s, limit, m.number, "-test.run=^("+strings.Join(names, "|")+")$",
				"-test.failfast")
			if err == nil {
				break
			}
			switch {
			case time.Since(start) < limit:
				return failed
			case work > 2*sound+10:
				return endless
			case again == 3 || t.ctx.Err() != nil:
				return waited
			}
			limit *= 2
		}
	}
	return passes
}

// compile builds the tests of a folder.
func (t *trial) compile(binary, folder string, flags ...string) error {
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}, flags,
		[]string{"./" + folder})
	_, err := t.command("go", args...)
	return err
}

// run runs tests that were built, as go test would, with a fault or, if it is 0, without.
// work is what they took of processors, in seconds.
func (t *trial) run(binary string, s suite, limit time.Duration, fault int, flags ...string) (
	out []byte, work float64, err error,
) {
	args := append(flags, "-test.paniconexit0", "-test.timeout="+limit.String())
	if s.short {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.ctx, binary, args...)
	cmd.Dir = filepath.Join(t.root, filepath.FromSlash(s.folder))
	cmd.Env = append(os.Environ(), faultKey+"="+strconv.Itoa(fault))
	out, err = cmd.Output()
	if p := cmd.ProcessState; p != nil {
		work = (p.UserTime() + p.SystemTime()).Seconds()
	}
	return out, work, err
}

func (t *trial) command(name string, args ...string) (said []byte, err error) {
	cmd := exec.CommandContext(t.ctx, name, args...)
	cmd.Dir = t.root
	return cmd.CombinedOutput()
}

// builds reports whether a file is part of the build on this machine.
func builds(path string, source []byte) bool {
	c := build.Default
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(source)), nil }
	ok, err := c.MatchFile(filepath.Dir(path), filepath.Base(path))
	return ok && err == nil
}
