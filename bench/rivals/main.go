// Command rivals times the rows of "landing dev bench" in turn with
// PyTorch's (torch_rows.py) and prints the ratio of each. README.md says how.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/landing-diffusion/landing/bench"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("rivals: ")
	python := flag.String("python", "python3", "Python with torch")
	script := flag.String("script", "bench/rivals/torch_rows.py", "the rival")
	only := flag.String("only", "", "only our rows whose \"NAME PRECISION\" matches this regular expression")
	cores := flag.String("cores", "1,2", "numbers of cores")
	rounds := flag.Int("rounds", 5, "rounds: each times every row of ours and of theirs once, in turn")
	seconds := flag.Float64("seconds", 1, "of each time")
	patience := flag.Float64("patience", 10, "seconds to wait for the machine to be free before each time")
	compile := flag.Bool("compile", false, "let PyTorch compile too, which takes minutes")
	flag.Parse()
	if err := play(os.Stdout, *python, *script, *only, *cores, *rounds, *seconds, *patience, *compile); err != nil {
		log.Fatal(err)
	}
}

func play(out io.Writer, python, script, only, cores string, rounds int, seconds, patience float64,
	compile bool) error {
	filter, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var counts []int
	for _, word := range strings.Split(cores, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || rounds < 1 {
			return fmt.Errorf("-cores %q and -rounds %d; expected numbers above 0", cores, rounds)
		}
		counts = append(counts, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	torch, err := start(ctx, python, script, compile)
	if err != nil {
		return err
	}
	defer torch.close()

	sides := enter(filter, counts, torch)
	if len(sides) == 0 {
		return fmt.Errorf("-only %q matches no row", only)
	}
	defer func() {
		for _, s := range sides {
			if s.ours != nil {
				s.ours.Close()
			}
		}
	}()
	free := gate{patience: patience, peak: map[int]float64{}}
	// What was measured until an interruption counts.
	defer func() { print(out, sides, free.peak) }()
	for round := range rounds {
		for _, s := range sides {
			free.wait(ctx, s.cores)
			t, err := s.time(ctx, seconds)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return err
			}
			s.rounds = append(s.rounds, t)
			fmt.Fprintf(os.Stderr, "round %d of %d: %v: %.4g ms\n", round+1, rounds, s, 1e3*t.Best)
		}
	}
	return nil
}

// enter lists who plays: every row of ours, each followed by the row of theirs
// that it is compared with, in each of their precisions once.
func enter(filter *regexp.Regexp, cores []int, torch *torch) (sides []*side) {
	var titles []bench.Title
	for _, t := range bench.Titles() {
		if filter.MatchString(t.String()) {
			titles = append(titles, t)
		}
	}
	slices.SortStableFunc(titles, func(a, b bench.Title) int { return strings.Compare(a.Name, b.Name) })
	for _, n := range cores {
		for i, t := range titles {
			sides = append(sides, &side{name: t.Name, cores: n, precision: t.Precision.String(), title: t})
			if i+1 < len(titles) && titles[i+1].Name == t.Name {
				continue
			}
			sides = append(sides, &side{name: t.Name, cores: n, precision: "float32", torch: torch})
			if strings.HasPrefix(t.Name, "step/") {
				sides = append(sides, &side{name: t.Name, cores: n, precision: "bfloat16", torch: torch})
			}
		}
	}
	return sides
}

// A gate waits for the machine to be free.
type gate struct {
	patience float64
	peak     map[int]float64 // by cores: the best seen, GFLOP/s
}

// wait returns when all cores are free, as far as some milliseconds of
// multiply-adds can tell, or when patience ends.
func (g *gate) wait(ctx context.Context, cores int) {
	if g.peak[cores] == 0 {
		g.peak[cores] = bench.PeakRate(cores, 300)
	}
	for start := time.Now(); ctx.Err() == nil && time.Since(start).
		Seconds() < g.patience; time.Sleep(50 * time.Millisecond) {
		if g.free(cores) {
			return
		}
	}
}

// free reports whether none of ten single runs is much slower than the best: one
// that shares its core with another program takes twice as long.
func (g *gate) free(cores int) bool {
	for range 10 {
		rate := bench.PeakRate(cores, 1)
		g.peak[cores] = max(g.peak[cores], rate)
		if rate < 0.75*g.peak[cores] {
			return false
		}
	}
	return true
}
