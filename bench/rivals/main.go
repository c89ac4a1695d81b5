// Command rivals times the rows of "landing bench kernels" in turn with
// PyTorch's (torch_rows.py) and prints the ratio of each. README.md says how.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/landing-diffusion/landing/bench"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("rivals: ")
	var m match
	python := flag.String("python", "python3", "Python with torch")
	script := flag.String("script", "bench/rivals/torch_rows.py", "the rival")
	only := flag.String("only", "", "only rows whose name matches this regular expression")
	cores := flag.String("cores", "1,2", "numbers of cores")
	flag.IntVar(&m.rounds, "rounds", 5, "rounds: each times ours, then theirs")
	flag.Float64Var(&m.seconds, "seconds", 1, "of each time")
	flag.Float64Var(&m.patience, "patience", 10, "seconds to wait for the machine to be free before each time")
	flag.BoolVar(&m.compile, "compile", false, "let PyTorch compile too, which takes minutes")
	flag.Parse()
	filter, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	for _, word := range strings.Split(*cores, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			log.Fatalf("-cores has %q; expected numbers above 0", word)
		}
		m.cores = append(m.cores, n)
	}
	for _, name := range bench.Names() {
		if filter.MatchString(name) {
			m.names = append(m.names, name)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := m.play(ctx, *python, *script); err != nil {
		log.Fatal(err)
	}
	m.print(os.Stdout)
}

// A match is a measurement of several rounds.
type match struct {
	names    []string
	cores    []int
	rounds   int
	seconds  float64
	patience float64
	compile  bool

	peak  map[int]float64 // by cores: the best seen
	pairs []*pair
}

// A pair is a row of ours and one of theirs.
type pair struct {
	name         string
	cores        int
	rival        string // its precision
	ours, theirs []timing
	subject      *bench.Subject // ours, from the first round on
	shared       *pair          // whose rounds of ours this one compares with, or nil
}

// A timing is what both sides report of a round.
type timing struct {
	Variant string  `json:"variant"`
	Best    float64 `json:"best_seconds"`
	P50     float64 `json:"p50_seconds"`
	P99     float64 `json:"p99_seconds"`
}

// play runs all rounds.
func (m *match) play(ctx context.Context, python, script string) error {
	arguments := []string{script, "--serve"}
	if !m.compile {
		arguments = append(arguments, "--no-compile")
	}
	cmd := exec.CommandContext(ctx, python, arguments...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait() //nolint:errcheck // it ends when its input does
	defer in.Close()
	answers := bufio.NewReader(out)

	m.peak = map[int]float64{}
	for _, n := range m.cores {
		m.peak[n] = bench.PeakRate(n, 300)
	}
	for _, name := range m.names {
		for _, n := range m.cores {
			p := &pair{name: name, cores: n, rival: "float32"}
			m.pairs = append(m.pairs, p)
			if strings.HasPrefix(name, "step/") {
				m.pairs = append(m.pairs, &pair{name: name, cores: n, rival: "bfloat16", shared: p})
			}
		}
	}
	for round := range m.rounds {
		for _, p := range m.pairs {
			if err := m.round(ctx, p, in, answers); err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "round %d: %s, %d cores, %s: %.4g s, theirs %.4g s\n", round+1, p.name, p.cores, p.rival,
				last(p.our()).Best, last(p.theirs).Best)
		}
	}
	return nil
}

func last(t []timing) timing { return t[len(t)-1] }

// our returns the rounds of our side.
func (p *pair) our() []timing {
	if p.shared != nil {
		return p.shared.ours
	}
	return p.ours
}

// round times ours, unless it is another pair's, and theirs.
func (m *match) round(ctx context.Context, p *pair, in io.Writer, answers *bufio.Reader) error {
	if p.shared == nil {
		if p.subject == nil {
			var err error
			if p.subject, err = bench.Open(ctx, p.name, p.cores); err != nil {
				return err
			}
		}
		m.wait(ctx, p.cores)
		r, err := p.subject.Time(ctx, m.seconds, 1)
		if err != nil {
			return err
		}
		p.ours = append(p.ours, timing{Best: r.Best, P50: r.P50, P99: r.P99})
	}
	m.wait(ctx, p.cores)
	request, err := json.Marshal(map[string]any{"name": p.name, "threads": p.cores, "precision": p.rival, "seconds": m.seconds})
	if err != nil {
		return err
	}
	if _, err := in.Write(append(request, '\n')); err != nil {
		return err
	}
	line, err := answers.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no answer from PyTorch: %w", err)
	}
	var t timing
	if err := json.Unmarshal(line, &t); err != nil {
		return fmt.Errorf("PyTorch says %q: %w", line, err)
	}
	p.theirs = append(p.theirs, t)
	return nil
}

// wait returns when all cores are free, as far as a short measurement of the
// peak can tell, or when patience ends.
func (m *match) wait(ctx context.Context, cores int) {
	for start := time.Now(); ctx.Err() == nil && time.Since(start).Seconds() < m.patience; time.Sleep(50 * time.Millisecond) {
		rate := bench.PeakRate(cores, 3)
		m.peak[cores] = max(m.peak[cores], rate)
		if rate > 0.95*m.peak[cores] {
			return
		}
	}
}

// print writes a line a pair. A ratio above 1 says that ours is faster.
func (m *match) print(w io.Writer) {
	for _, n := range m.cores {
		fmt.Fprintf(w, "peak on %d cores: %.1f GFLOP/s\n", n, m.peak[n])
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "row\tcores\tours, ms\tp50\tp99\tPyTorch\tms\tp50\tp99\tratio of the best\tmedian of rounds")
	for _, p := range m.pairs {
		ours, theirs := best(p.our()), best(p.theirs)
		var ratios []float64
		for i, r := range p.theirs {
			ratios = append(ratios, r.Best/p.our()[i].Best)
		}
		slices.Sort(ratios)
		ms := func(s float64) string { return fmt.Sprintf("%.4g", 1e3*s) }
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s, %s\t%s\t%s\t%s\t%.2f\t%.2f\n", p.name, p.cores, ms(ours.Best), ms(ours.P50), ms(ours.P99),
			p.rival, theirs.Variant, ms(theirs.Best), ms(theirs.P50), ms(theirs.P99), theirs.Best/ours.Best, ratios[len(ratios)/2])
	}
	t.Flush()
}

// best returns the smallest of each time over the rounds.
func best(rounds []timing) timing {
	b := rounds[0]
	for _, r := range rounds[1:] {
		if r.Best < b.Best {
			b.Best, b.Variant = r.Best, r.Variant
		}
		b.P50, b.P99 = min(b.P50, r.P50), min(b.P99, r.P99)
	}
	return b
}
