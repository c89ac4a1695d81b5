package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"text/tabwriter"

	"github.com/landing-diffusion/landing/bench"
	"github.com/landing-diffusion/landing/internal/processor"
)

// A side is a row of ours, or of theirs if torch is set.
type side struct {
	name, precision string
	cores           int
	title           bench.Title
	ours            *bench.Subject // from the first round on
	torch           *torch
	rounds          []timing
}

// A timing is what both sides report of a round.
type timing struct {
	Variant string  `json:"variant"`
	Best    float64 `json:"best_seconds"`
	P50     float64 `json:"p50_seconds"`
	P99     float64 `json:"p99_seconds"`
	CPU     float64 `json:"cpu_seconds"` // of the processor, the mean of a run
}

func (s *side) String() string {
	who := "ours"
	if s.torch != nil {
		who = "PyTorch"
	}
	return fmt.Sprintf("%s, %d cores, %s, %s", s.name, s.cores, who, s.precision)
}

func (s *side) time(ctx context.Context, seconds float64) (timing, error) {
	if s.torch != nil {
		return s.torch.time(s, seconds)
	}
	if s.ours == nil {
		var err error
		if s.ours, err = bench.Open(ctx, s.title, s.cores); err != nil {
			return timing{}, err
		}
	}
	before := processor.Seconds()
	r, err := s.ours.Time(ctx, seconds, 1)
	cpu := (processor.Seconds() - before) / float64(max(1, r.Runs))
	return timing{Best: r.Best, P50: r.P50, P99: r.P99, CPU: cpu}, err
}

// best returns the smallest of each time over the rounds.
func (s *side) best() timing {
	b := s.rounds[0]
	for _, r := range s.rounds[1:] {
		if r.Best < b.Best {
			b.Best, b.Variant = r.Best, r.Variant
		}
		b.P50, b.P99, b.CPU = min(b.P50, r.P50), min(b.P99, r.P99), min(b.CPU, r.CPU)
	}
	return b
}

// A torch is a running torch_rows.py.
type torch struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(ctx context.Context, python, script string, compile bool) (*torch, error) {
	arguments := []string{script, "--serve"}
	if !compile {
		arguments = append(arguments, "--no-compile")
	}
	t := &torch{cmd: exec.CommandContext(ctx, python, arguments...)}
	t.cmd.Stderr = os.Stderr
	var err error
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.out = bufio.NewReader(out)
	return t, t.cmd.Start()
}

// close ends it: it stops when its input does.
func (t *torch) close() {
	t.in.Close()
	_ = t.cmd.Wait()
}

func (t *torch) time(s *side, seconds float64) (r timing, err error) {
	request, err := json.Marshal(map[string]any{"name": s.name, "threads": s.cores, "precision": s.precision,
		"seconds": seconds})
	if err != nil {
		return r, err
	}
	if _, err := t.in.Write(append(request, '\n')); err != nil {
		return r, fmt.Errorf("PyTorch takes no request: %w", err)
	}
	line, err := t.out.ReadBytes('\n')
	if err != nil {
		return r, fmt.Errorf("no answer from PyTorch: %w", err)
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("PyTorch says %q: %w", line, err)
	}
	return r, nil
}

// print writes a line for each row of ours and each of theirs that it is
// compared with: float32, and their bfloat16 for ours. A ratio above 1 says that
// ours is faster.
func print(w io.Writer, sides []*side, peak map[int]float64) {
	for n, v := range peak {
		fmt.Fprintf(w, "peak of float32 multiply-adds on %d cores: %.1f GFLOP/s\n", n, v)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "row\tcores\tours\tbest, ms\tp50\tp99\tPyTorch\tbest, ms\tp50\tp99\tratio of the best\tmedian of "+
		"rounds\tratio of processor time")
	for _, a := range sides {
		for _, b := range sides {
			if a.torch != nil || b.torch == nil || a.name != b.name || a.cores != b.cores ||
				b.precision == "bfloat16" && a.precision != "bfloat16" ||
				len(b.rounds) == 0 { // b plays after a
				continue
			}
			x, y := a.best(), b.best()
			var ratios []float64
			for i, r := range b.rounds {
				ratios = append(ratios, r.Best/a.rounds[i].Best)
			}
			slices.Sort(ratios)
			processor := ""
			if a.cores == 1 && x.CPU > 0 { // idle threads of PyTorch wait at work
				processor = fmt.Sprintf("%.2f", y.CPU/x.CPU)
			}
			ms := func(s float64) string { return fmt.Sprintf("%.4g", 1e3*s) }
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s, %s\t%s\t%s\t%s\t%.2f\t%.2f\t%s\n", a.name, a.cores, a.precision,
				ms(x.Best), ms(x.P50), ms(x.P99),
				b.precision, y.Variant, ms(y.Best), ms(y.P50), ms(y.P99), y.Best/x.Best,
				ratios[len(ratios)/2], processor)
		}
	}
	t.Flush()
}
