package proof

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/landing-diffusion/landing/base/parallel"
)

// Checker is a Python program that replays a proof file, with the standard library alone.
//
//go:embed check_proof.py
var Checker []byte

// A Summary says what is shown of many samples.
type Summary struct {
	Samples    int      `json:"samples"`
	Proved     int      `json:"proved"`
	Delta      float64  `json:"delta"`       // the largest of the samples that are proved
	NotCovered []string `json:"not_covered"` // components without a formula
	Reasons    []Reason `json:"reasons"`     // why nothing is shown of the others, the most frequent first
}

// A Reason is one that some samples share.
type Reason struct {
	Reason  string `json:"reason"`
	Samples int    `json:"samples"`
	First   uint64 `json:"first"` // number of a sample
}

// format names the layout of a proof file; the checker knows it.
const format = "landing-proof-1"

// mostBytes bounds the lines that wait to be written, unless one is longer.
const mostBytes = 1 << 27

// numbers are written in hexadecimal, exactly.
type numbers []float64

func (x numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, v := range x {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(strconv.AppendFloat(b, v, 'x', -1, 64), '"')
	}
	return append(b, ']'), nil
}

// proved is a line of a proof file.
type proved struct {
	Sample uint64 `json:"sample"`
	Result
	X      numbers `json:"x,omitempty"`
	Blocks []Block `json:"blocks,omitempty"`
}

// Write proves the samples x, n×d with their numbers, and writes a proof file: a line for the formulas, a line for each
// sample, and the summary. A sample whose true point may be further away than within counts as none.
func (p *Prover) Write(ctx context.Context, to io.Writer, x []float64, number []uint64, within float64,
	pool *parallel.Pool, tick func(done, of int)) (*Summary, error) {
	s, reasons, out := &Summary{NotCovered: append([]string{}, p.NotCovered...)}, map[string]*Reason{},
		json.NewEncoder(to)
	out.SetEscapeHTML(false)
	operations := make([][]any, len(p.Operations))
	for i, o := range p.Operations {
		switch operations[i] = []any{o.Name, o.A, o.B}; {
		case o.Name == "constant":
			operations[i] = []any{o.Name, numbers{o.C}}
		case o.B < 0:
			operations[i] = []any{o.Name, o.A}
		}
	}
	if err := out.Encode(map[string]any{"format": format, "dim": len(p.still), "held": append([]int{}, p.Held...),
		"names": p.Names, "equalities": p.M, "inequalities": p.L, "operations": operations, "lines": p.Lines,
		"not_covered": s.NotCovered, "within": within}); err != nil {
		return nil, err
	}
	workers, d, n := make([]*Worker, pool.Workers()), len(p.still), len(number)
	bytesEach := 32 * (1 + d*p.M) // of a line, most of them P
	size := min(max(mostBytes/64/bytesEach, 1), 16)
	blocks := min(max(mostBytes/size/bytesEach, 1), 64)
	lines, results := make([]bytes.Buffer, blocks), make([]Result, size*blocks)
	for from := 0; from < n; from += size * blocks {
		count := min(n-from, size*blocks)
		err := pool.DoUntil(ctx, parallel.Blocks(count, size), func(worker, task int) {
			if workers[worker] == nil {
				workers[worker] = p.NewWorker()
			}
			w := workers[worker]
			lines[task].Reset()
			line := json.NewEncoder(&lines[task])
			line.SetEscapeHTML(false)
			for i, hi := parallel.Block(task, count, size); i < hi && ctx.Err() == nil; i++ {
				at := x[(from+i)*d : (from+i+1)*d]
				one := proved{Sample: number[from+i], Result: w.Prove(at)}
				if one.Proved && one.Delta > within {
					one.Result = Result{Reason: fmt.Sprintf("Σ has a point nearby, but further away than %.2g "+
						"(--within); landing refine moves samples to Σ", within)}
				}
				if results[i] = one.Result; one.Proved {
					one.X, one.Blocks = at, w.Blocks()
				}
				line.Encode(one) // into memory
			}
		})
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		for i, r := range results[:count] {
			if s.Samples++; r.Proved {
				s.Proved, s.Delta = s.Proved+1, math.Max(s.Delta, r.Delta)
				continue
			}
			if reasons[r.Reason] == nil {
				reasons[r.Reason] = &Reason{r.Reason, 0, number[from+i]}
			}
			reasons[r.Reason].Samples++
		}
		for task := range parallel.Blocks(count, size) {
			if _, err := to.Write(lines[task].Bytes()); err != nil {
				return nil, err
			}
		}
		tick(from+count, n)
	}
	s.Reasons = []Reason{}
	for _, r := range slices.SortedFunc(maps.Values(reasons), func(a, b *Reason) int {
		return cmp.Or(b.Samples-a.Samples, cmp.Compare(a.First, b.First))
	}) {
		s.Reasons = append(s.Reasons, *r)
	}
	return s, out.Encode(s)
}
