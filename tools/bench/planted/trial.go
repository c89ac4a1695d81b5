package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

//go:embed equivalent.txt
var equivalentList string

// A trial runs tests on faults.
type trial struct {
	config
	ctx        context.Context
	module     string
	files      map[string][]string // the production files of each folder
	dependents map[string][]string // of each folder, those whose tests may see its faults: its own, then by distance
	nothing    map[string]bool     // names of equivalent mutants
	sound      *baseline
}

// newTrial finds which packages' tests depend on which packages.
func newTrial(ctx context.Context, c config) (*trial, error) {
	t := &trial{config: c, ctx: ctx, files: map[string][]string{}, dependents: map[string][]string{},
		nothing: map[string]bool{}}
	for line := range strings.Lines(equivalentList) {
		t.nothing[strings.TrimSpace(line)] = true
	}
	cmd := exec.CommandContext(t.ctx, "go", "list",
		"-json=ImportPath,Dir,Module,GoFiles,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = t.root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", t.root, err)
	}
	folder, users, tested := map[string]string{}, map[string][]string{}, map[string]bool{} // by import path
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir                    string
			Imports, TestImports, XTestImports []string
			GoFiles, TestGoFiles, XTestGoFiles []string
			Module                             struct{ Path string }
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		t.module = p.Module.Path
		at := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, t.module), "/"), ".")
		folder[p.ImportPath], t.files[at] = at, p.GoFiles
		tested[p.ImportPath] = len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 && at != "tools/bench/planted"
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			users[i] = append(users[i], p.ImportPath)
		}
	}
	for of, at := range folder {
		queue, seen := []string{of}, map[string]bool{of: true}
		for len(queue) > 0 {
			p := queue[0]
			queue = queue[1:]
			if tested[p] {
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
	return t, nil
}

// plant returns the mutants of all packages, in the order of their sources.
func (t *trial) plant() (all []*mutant, err error) {
	for _, p := range t.packages {
		if len(t.files[p]) == 0 {
			return nil, fmt.Errorf("-packages: %q has no Go code to plant in", p)
		}
		for _, name := range t.files[p] {
			text, err := os.ReadFile(filepath.Join(t.root, filepath.FromSlash(p), name))
			if err != nil {
				return nil, err
			}
			of, err := mutants(path.Join(p, name), text)
			if err != nil {
				return nil, err
			}
			all = append(all, of...)
		}
	}
	return all, nil
}

// all tries mutants until n of them count.
func (t *trial) all(mutants []*mutant, progress io.Writer) (out []result, err error) {
	var mu sync.Mutex
	counted := 0
	add := func(m *mutant, f fate, killer string) {
		mu.Lock()
		defer mu.Unlock()
		if t.ctx.Err() != nil {
			return
		}
		if f == caught || f == survived {
			counted++
		}
		out = append(out, result{m.name(), m.Line, f, killer})
		fmt.Fprintf(progress, "%d %s (%s) line %d of %s\n", len(out), f, killer, m.Line, m.name())
	}
	for counted < t.n && len(mutants) > 0 && t.ctx.Err() == nil {
		var some []*mutant // at a time
		for ; len(some) < t.n-counted && len(mutants) > 0; mutants = mutants[1:] {
			m := mutants[0]
			if t.nothing[m.name()] {
				add(m, equivalent, "")
				continue
			}
			some = append(some, m)
			m.number = len(some)
		}
		if err := t.some(some, add); err != nil {
			return out, err
		}
	}
	return out, nil
}

// some builds mutants together and tries each.
func (t *trial) some(mutants []*mutant, add func(m *mutant, f fate, killer string)) error {
	dir, err := os.MkdirTemp("", "planted-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := t.build(dir, mutants)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(t.workers)
	for _, m := range mutants {
		group.Go(func() error {
			f, killer, err := t.try(b, m)
			if err == nil {
				add(m, f, killer)
			}
			return err
		})
	}
	return group.Wait()
}

// try runs the tests that may see a fault: those of its own package, then of the packages
// that depend on it, the quickest first, then those of its own package that -short leaves
// out. Tests that do not come to the line of the fault are not run.
func (t *trial) try(b *built, m *mutant) (f fate, killer string, err error) {
	if b.unbuilt[m] {
		return unbuilt, "", nil
	}
	f = survived
	for _, s := range t.order(m) {
		binary, err := b.tests(t, s.folder)
		if err != nil {
			return f, "", fmt.Errorf("the tests of %s do not build with faults: %w", s.folder, err)
		}
		switch t.tried(binary, s, m) {
		case caught:
			return caught, s.folder, nil
		case undecided:
			f = undecided // unless another suite fails
		}
		if t.ctx.Err() != nil {
			break
		}
	}
	return f, "", nil
}

// order lists the suites with tests that come to a fault, as try takes them.
func (t *trial) order(m *mutant) (out []suite) {
	own, work := path.Dir(m.Path), map[suite]float64{}
	for _, s := range t.suites(own) {
		tests := t.sound.reach(s, m)
		if tests == nil {
			continue
		}
		out = append(out, s)
		switch {
		case s.folder != own:
			for _, k := range tests {
				work[s] += k.Work
			}
		case s.short:
			work[s] = -1
		default:
			work[s] = math.Inf(1)
		}
	}
	slices.SortStableFunc(out, func(a, b suite) int { return cmp.Compare(work[a], work[b]) })
	return out
}

// tried runs the tests of a suite that come to a fault, those that are quick on sound code at once and first, and
// returns what becomes of it. Tests that work much longer than on sound code are endless, and so they fail.
func (t *trial) tried(binary string, s suite, m *mutant) fate {
	var quick, slow []test
	for _, k := range t.sound.reach(s, m) {
		if k.Seconds < 0.1 {
			quick = append(quick, k)
		} else {
			slow = append(slow, k)
		}
	}
	slices.SortStableFunc(slow, func(a, b test) int { return cmp.Compare(a.Work, b.Work) })
	parts := slices.Collect(slices.Chunk(slow, 1))
	if quick != nil {
		parts = slices.Insert(parts, 0, quick)
	}
	for _, part := range parts {
		var names []string
		seconds, work := 0.0, 0.0
		for _, k := range part {
			names, seconds, work = append(names, k.Name), seconds+k.Seconds, work+k.Work
		}
		start, limit := time.Now(), max(t.limit, time.Duration(10*seconds*float64(time.Second)))
		_, _, err := t.run(binary, s, limit, 2*work+10, m.number, "-test.run=^("+strings.Join(names, "|")+")$",
			"-test.failfast")
		switch {
		case err == nil:
		case t.ctx.Err() != nil || time.Since(start) >= limit:
			return undecided
		default:
			return caught
		}
	}
	return survived
}

// compile builds the tests of a folder.
func (t *trial) compile(binary, folder string, flags ...string) error {
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}, flags)
	if said, err := t.command(append(args, "./"+folder)...); err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return nil
}

// run runs tests that were built, as go test would, with a fault or, if it is 0, without, for at most so much time by
// the clock and, unless most is 0, so many seconds of processors. work is what they took of processors, in seconds.
func (t *trial) run(binary string, s suite, limit time.Duration, most float64, fault int, flags ...string) (
	out []byte, work float64, err error,
) {
	bound := "unlimited"
	if most > 0 {
		bound = strconv.Itoa(int(math.Ceil(most)))
	}
	args := slices.Concat([]string{"-c", `ulimit -t "$0" && exec "$@"`, bound, binary}, flags,
		[]string{"-test.paniconexit0", "-test.timeout=" + limit.String()})
	if s.short {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.ctx, "sh", args...)
	cmd.Dir = filepath.Join(t.root, filepath.FromSlash(s.folder))
	// The programs that a test starts may be covered too: what they write stays beside the tests.
	cmd.Env = append(os.Environ(), faultKey+"="+strconv.Itoa(fault), "GOCOVERDIR="+filepath.Dir(binary))
	out, err = cmd.Output()
	if p := cmd.ProcessState; p != nil {
		work = (p.UserTime() + p.SystemTime()).Seconds()
	}
	return out, work, err
}

// command runs the go command.
func (t *trial) command(args ...string) (said []byte, err error) {
	cmd := exec.CommandContext(t.ctx, "go", args...)
	cmd.Dir = t.root
	return cmd.CombinedOutput()
}
