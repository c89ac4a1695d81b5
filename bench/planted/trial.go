package main

import (
	"bufio"
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
)

//go:embed equivalent.txt
var equivalentList string

// A trial runs tests on faults.
type trial struct {
	config
	ctx        context.Context
	dependents map[string][]string // of each folder, folders whose tests may see its faults: its own, then by distance
	nothing    map[string]bool     // names of equivalent mutants
}

func newTrial(ctx context.Context, c config) (*trial, error) {
	t := &trial{config: c, ctx: ctx, dependents: map[string][]string{}, nothing: map[string]bool{}}
	for line := range strings.Lines(equivalentList) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			t.nothing[line] = true
		}
	}
	return t, t.graph()
}

// graph finds which packages' tests depend on which packages.
func (t *trial) graph() error {
	cmd := exec.CommandContext(t.ctx, "go", "list",
		"-json=ImportPath,Dir,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = t.root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list in %s: %w", t.root, err)
	}
	type pkg struct {
		ImportPath, Dir                    string
		Imports, TestImports, XTestImports []string
		TestGoFiles, XTestGoFiles          []string
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
				if r.Fate == unbuilt || r.Fate == equivalent {
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

// try plants one fault and runs the tests that may see it, nearest first.
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
	if t.command("go", "build", "-overlay", overlay, "-o", os.DevNull, "./"+own) != nil {
		r.Fate = unbuilt
		return r
	}
	for _, p := range t.dependents[own] {
		if t.near && p != own {
			break
		}
		err := t.command("go", "test", "-short", "-vet=off", "-failfast", "-count=1", "-timeout", t.limit.String(),
			"-overlay", overlay, "./"+p)
		if t.ctx.Err() != nil {
			return r
		}
		if err != nil {
			r.Fate, r.Killer = caught, p
			return r
		}
	}
	return r
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

// readPatches reads faults that are written down: blocks of a line with the file,
// lines "- what is there" and lines "+ what to plant", an empty line after each.
// The text to be replaced, its lines without surrounding white space, must stand in
// the file once.
func readPatches(root, file string) ([]*mutant, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []*mutant
	var at, was, is []string
	number, first := 0, 0
	flush := func() error {
		defer func() { at, was, is = nil, nil, nil }()
		if at == nil && was == nil && is == nil {
			return nil
		}
		if len(at) != 1 || len(was) == 0 {
			return fmt.Errorf("%s:%d: expected a line with a file, lines that begin with - and lines that begin with +",
				file, first)
		}
		m, err := replace(root, at[0], was, is)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, first, err)
		}
		out = append(out, m)
		return nil
	}
	s := bufio.NewScanner(f)
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		number++
		switch {
		case line == "":
			if err := flush(); err != nil {
				return nil, err
			}
			continue
		case line[0] == '#':
			continue
		}
		if at == nil && was == nil {
			first = number
		}
		switch line[0] {
		case '-':
			was = append(was, strings.TrimSpace(line[1:]))
		case '+':
			is = append(is, strings.TrimSpace(line[1:]))
		default:
			at = append(at, line)
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return out, flush()
}

// replace returns the mutant in which lines stand for others.
func replace(root, at string, was, is []string) (*mutant, error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(at)))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(source), "\n")
	found := -1
	for i := 0; i+len(was) <= len(lines); i++ {
		same := true
		for j, w := range was {
			same = same && strings.TrimSpace(lines[i+j]) == w
		}
		if same && found >= 0 {
			return nil, fmt.Errorf("%q stands in %s more than once", was[0], at)
		}
		if same {
			found = i
		}
	}
	if found < 0 {
		return nil, fmt.Errorf("%q does not stand in %s", was[0], at)
	}
	planted := slices.Concat(lines[:found], is, lines[found+len(was):])
	return &mutant{
		Path: at, Line: found + 1, Function: "patch", Kind: "text", Was: strings.Join(was, " "),
		Is:     strings.Join(is, " "),
		source: []byte(strings.Join(planted, "\n")),
	}, nil
}
