// Planted measures what the tests can see: it plants faults in the code, one at a
// time, and counts those that make a test fail.
//
//	go run ./tools/bench/planted -n 200 -seed 3                   # a fresh random sample of mutations
//	go run ./tools/bench/planted -n 30 -packages constraint/geometry,learn/cwpm # of some packages
//
// A mutation changes an operator, sign, condition, index or constant, or leaves out
// a statement. The sample is a function of the seed and the code; take another seed
// each time, so that tests are not written to it. A fault is caught when a test of
// its own package fails, or a short one of a package that imports it. Those that survive are printed; those that
// change nothing, listed by name in equivalent.txt, do not count, nor do those whose tests do not end in time. The
// checkout is not touched: the go command lays the faulty file over it.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

//go:embed equivalent.txt
var equivalent string

// numerical are the packages whose faults are wrong numbers.
const numerical = "constraint/geometry,langevin,learn/cwpm,judge/metric,langevin/uniform," +
	"learn/train,learn/score,base/expr"

type config struct {
	n, workers int
	seed       uint64
	packages   []string
	root       string
	limit      time.Duration
}

func main() {
	c := config{}
	flag.IntVar(&c.n, "n", 200, "faults to plant")
	flag.Uint64Var(&c.seed, "seed", 1, "seed of the sample")
	packages := flag.String("packages", numerical, "packages to plant in, with commas between")
	flag.StringVar(&c.root, "root", ".", "the checkout")
	flag.IntVar(&c.workers, "workers", 2, "faults tried at a time")
	flag.DurationVar(&c.limit, "limit", 10*time.Minute, "time after which tests that do not end are given up")
	flag.Parse()
	c.packages = strings.Split(*packages, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	score, err := run(ctx, c, os.Stderr)
	if score != nil {
		fmt.Print(score)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	}
}

// A fate is how a fault ended.
type fate string

const (
	caught    fate = "caught"
	survived  fate = "survived"
	unbuilt   fate = "does not build" // not counted
	undecided fate = "kept waiting"   // not counted: its tests did not end
)

// A score is the outcome of all faults.
type score struct {
	fates    map[*mutant]fate
	nothing  int // faults that change nothing
	possible int
}

func (s *score) count(f fate) (n int) {
	for _, of := range s.fates {
		if of == f {
			n++
		}
	}
	return n
}

func (s *score) String() string {
	var lines []string
	for m, f := range s.fates {
		if f == survived || f == undecided {
			lines = append(lines, fmt.Sprintf("%s: line %d of %s\n", f, m.line, m.name()))
		}
	}
	slices.Sort(lines)
	seen := s.count(caught)
	counted := seen + s.count(survived)
	return fmt.Sprintf("%s%d of %d caught (%.1f %%); %d change nothing, %d do not build, %d kept waiting; "+
		"%d possible\n",
		strings.Join(lines, ""), seen, counted, 100*float64(seen)/float64(max(1, counted)), s.nothing,
		s.count(unbuilt), s.count(undecided), s.possible)
}

// A trial runs tests on faults.
type trial struct {
	config
	ctx   context.Context
	files map[string][]string // the production files of each folder
	users map[string][]string // the folders with tests of packages that import that of a folder, or whose tests do
}

// run plants faults and tries them, until n of them count.
func run(ctx context.Context, c config, progress io.Writer) (*score, error) {
	if c.n < 1 || c.workers < 1 {
		return nil, fmt.Errorf("-n is %d and -workers %d; expected at least 1", c.n, c.workers)
	}
	t := &trial{config: c, ctx: ctx, files: map[string][]string{}, users: map[string][]string{}}
	if err := t.list(); err != nil {
		return nil, err
	}
	all, err := t.plant()
	if err != nil {
		return nil, err
	}
	for _, p := range c.packages { // a test that fails on sound code would see faults where there are none
		if f, said, err := t.test(p, ""); err != nil || f != survived {
			return nil, errors.Join(err, fmt.Errorf("the tests of %s, or of those that import it, fail before any "+
				"fault is planted: %s\n%s", p, f, said))
		}
	}
	r := rand.New(rand.NewPCG(c.seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	s := &score{fates: map[*mutant]fate{}, possible: len(all)}
	// Blanks between operators depend on what is near.
	bare := func(name string) string { return strings.ReplaceAll(name, " ", "") }
	nothing := strings.Split(bare(equivalent), "\n")
	var mu sync.Mutex
	for at := 0; at < len(all) && ctx.Err() == nil; {
		open := c.n - s.count(caught) - s.count(survived)
		if open <= 0 {
			break
		}
		var group errgroup.Group
		group.SetLimit(c.workers)
		for ; open > 0 && at < len(all); at++ {
			m := all[at]
			if slices.Contains(nothing, bare(m.name())) {
				s.nothing++
				continue
			}
			open--
			group.Go(func() error {
				f, err := t.try(m)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && ctx.Err() == nil {
					s.fates[m] = f
					fmt.Fprintf(progress, "%d %s line %d of %s\n", len(s.fates), f, m.line, m.name())
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return s, err
		}
	}
	return s, ctx.Err()
}

// list finds the packages of the module.
func (t *trial) list() error {
	cmd := exec.CommandContext(t.ctx, "go", "list", "-json=ImportPath,Module,GoFiles,Imports,TestImports,XTestImports,"+
		"TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = t.root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list in %s: %w", t.root, err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
			GoFiles, TestGoFiles, XTestGoFiles []string
			Module                             struct{ Path string }
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		folder := func(of string) string { return strings.TrimPrefix(strings.TrimPrefix(of, p.Module.Path), "/") }
		own := folder(p.ImportPath)
		t.files[own] = p.GoFiles
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if of := folder(i); of != own && !slices.Contains(t.users[of], own) {
				t.users[of] = append(t.users[of], own)
			}
		}
	}
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

// try lays a fault over the checkout, and runs the tests that may see it.
func (t *trial) try(m *mutant) (fate, error) {
	file, err := filepath.Abs(filepath.Join(t.root, filepath.FromSlash(m.path)))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "planted-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	faulty, overlay := filepath.Join(dir, "faulty.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: faulty}})
	err = errors.Join(err, os.WriteFile(faulty, m.planted(source), 0o600), os.WriteFile(overlay, list, 0o600))
	if err != nil {
		return "", err
	}
	f, _, err := t.test(path.Dir(m.path), overlay)
	return f, err
}

// test runs the tests of a folder and then the short ones of those that import it, with an overlay if there is one.
func (t *trial) test(folder, overlay string) (f fate, said []byte, err error) {
	if _, err := t.command("build", "-o", os.DevNull, "-overlay="+overlay, "./"+folder); err != nil {
		return unbuilt, nil, t.ctx.Err()
	}
	flags := []string{"test", "-vet=off", "-failfast", "-timeout=" + t.limit.String(), "-overlay=" + overlay}
	suites := [][]string{{"./" + folder}}
	if users := t.users[folder]; users != nil {
		suites = append(suites, []string{"-short"})
		for _, u := range users {
			suites[1] = append(suites[1], "./"+u)
		}
	}
	f = survived
	for _, s := range suites {
		said, err := t.command(slices.Concat(flags, s)...)
		switch {
		case t.ctx.Err() != nil:
			return f, nil, t.ctx.Err()
		case err == nil:
		case bytes.Contains(said, []byte("panic: test timed out after")):
			f = undecided // unless another suite fails
		default:
			return caught, said, nil
		}
	}
	return f, said, nil
}

// command runs the go command.
func (t *trial) command(args ...string) (said []byte, err error) {
	cmd := exec.CommandContext(t.ctx, "go", args...)
	cmd.Dir = t.root
	return cmd.CombinedOutput()
}
