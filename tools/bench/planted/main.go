// Planted measures what the tests can see: it plants faults in the code, one at a
// time, and counts those that make a test fail.
//
//	go run ./tools/bench/planted -n 200 -seed 3                   # a fresh random sample of mutations
//	go run ./tools/bench/planted -n 30 -packages constraint/geometry,learn/cwpm # of some packages
//
// A mutation changes an operator, sign, condition, index or constant, or leaves out
// a statement. The sample is a function of the seed and the code; take another seed
// each time, so that tests are not written to it. A fault is caught when a test of
// its own package fails, or a short one of a package that depends on it, or works far
// longer than on sound code. Those that survive are printed; those that change
// nothing, listed by name in equivalent.txt, do not count. The checkout is not touched:
// faults are laid over it when the tests are built, all of a sample at once. Each is a copy of the
// body of its function, and the environment of a test says which copy stands in for the sound one.
//
// The tests are first run without a fault, one by one, which tells how long they take and
// which code they come to; the next sample of the same code takes it from the user's cache.
// Tests that do not come to a fault are not run on it, nor any after the first that fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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
	flag.DurationVar(&c.limit, "limit", 3*time.Minute, "time after which tests that neither pass nor fail are given up")
	flag.Parse()
	c.packages = strings.Split(*packages, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	score, err := run(ctx, c, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	}
	fmt.Print(score)
}

// A result is what became of a fault.
type result struct {
	Name   string
	Line   int
	Fate   fate
	Killer string // the package whose tests saw it
}

// A fate is how a fault ended.
type fate string

const (
	caught     fate = "caught"
	survived   fate = "survived"
	unbuilt    fate = "does not build"  // not counted
	equivalent fate = "changes nothing" // not counted
	undecided  fate = "kept waiting"    // not counted: its tests did not end, without much work of the processors
)

// A score is the outcome of all faults.
type score struct {
	Results  []result
	Seconds  float64
	Stopped  bool // before all were tried
	Possible int
}

func (s *score) count(f fate) (n int) {
	for _, r := range s.Results {
		if r.Fate == f {
			n++
		}
	}
	return n
}

func (s *score) String() string {
	var b strings.Builder
	for _, r := range s.Results {
		if r.Fate == survived || r.Fate == undecided {
			fmt.Fprintf(&b, "%s: line %d of %s\n", r.Fate, r.Line, r.Name)
		}
	}
	seen := s.count(caught)
	counted := seen + s.count(survived)
	fmt.Fprintf(&b, "%d of %d caught (%.1f %%); %d change nothing, %d do not build, "+
		"%d kept waiting; %d possible; %.0f s\n", seen, counted, 100*float64(seen)/float64(max(1, counted)),
		s.count(equivalent), s.count(unbuilt), s.count(undecided), s.Possible, s.Seconds)
	if s.Stopped {
		b.WriteString("stopped before all were tried\n")
	}
	return b.String()
}

// run plants the faults and tries them.
func run(ctx context.Context, c config, progress io.Writer) (*score, error) {
	var err error
	if c.root, err = filepath.Abs(c.root); err != nil {
		return nil, err
	}
	if c.n < 1 || c.workers < 1 {
		return nil, fmt.Errorf("-n is %d and -workers %d; expected at least 1", c.n, c.workers)
	}
	t, err := newTrial(ctx, c)
	if err != nil {
		return nil, err
	}
	all, err := t.plant()
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(c.seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if err := t.measure(progress); err != nil {
		return nil, err
	}
	start := time.Now()
	s := &score{Possible: len(all)}
	s.Results, err = t.all(all, progress)
	s.Stopped = ctx.Err() != nil
	s.Seconds = time.Since(start).Seconds()
	slices.SortFunc(s.Results, func(a, b result) int { return strings.Compare(a.Name, b.Name) })
	return s, err
}
