package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/engine"
)

// Answer is what stands beside samples.
type Answer struct {
	Run       string       `json:"run"`
	Seed      uint64       `json:"seed"`
	First     uint64       `json:"first"               doc:"number of the first sample"`
	N         int          `json:"n"                   doc:"samples that were asked for, of all conditions"`
	Dim       int          `json:"dim"                 doc:"numbers of a sample, its condition included"`
	Failed    []uint64     `json:"failed"              doc:"numbers of the samples that failed: they are not there"`
	Violation metric.Float `json:"violation"           doc:"the worst violation of a component of the set by a sample"`
	Component string       `json:"component,omitempty" doc:"which component that is"`
	Warnings  []string     `json:"warnings,omitempty"`
}

// Samples is an answer in JSON.
type Samples struct {
	Answer
	Samples [][]float64 `json:"samples" doc:"rows of dim numbers, which read back as the very numbers"`
}

// A Line is a line of an answer in pieces: some samples, and at last what stands beside them, or what went wrong.
type Line struct {
	Samples [][]float64 `json:"samples,omitempty"`
	Done    *Answer     `json:"done,omitempty"`
	Problem *problem    `json:"problem,omitempty"`
}

// gatherer takes the parts of a drawing and writes an answer, whole or in chunks.
type gatherer struct {
	*answering
	run    *engine.Run
	q      engine.Request
	chunk  int // samples that are sent at a time; 0: all
	media  string
	answer Answer

	x    []float64 // of samples that are not written yet, with those that failed
	lost []bool
	off  bool // a sample was off the set
	sent bool // the header, and perhaps samples
	buf  bytes.Buffer
}

// part takes the samples lo, lo+1, ….
func (g *gatherer) part(lo int, s *judge.Samples) error {
	err := g.s.engine.Compute(g.r.Context(), func() error {
		g.look(lo, s)
		g.x, g.lost = append(g.x, s.X...), append(g.lost, s.Lost...)
		for g.chunk > 0 && len(g.lost) >= g.chunk {
			if err := g.encode(g.chunk); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || g.chunk == 0 {
		return err
	}
	return g.flush()
}

// encode writes the first n samples that are held to buf, but for those that failed.
func (g *gatherer) encode(n int) error {
	s := judge.Samples{X: g.x[:n*g.answer.Dim], Lost: g.lost[:n], Dim: g.answer.Dim}
	good := s.Good()
	var err error
	switch g.media {
	case typeNPY:
		err = g.run.Own(
			func() error { return g.run.Domain.Writer(".npy")(&g.buf, arrayfile.RowsOf(good, g.answer.Dim)) },
		)
	case typeLines:
		g.buf.Write(append(appendRows([]byte(`{"samples":`), good, g.answer.Dim), "}\n"...))
	default:
		var head []byte
		if head, err = json.Marshal(g.answer); err == nil {
			g.buf.Write(append(head[:len(head)-1], `,"samples":`...))
			g.buf.Write(append(appendRows(nil, good, g.answer.Dim), "}\n"...))
		}
	}
	g.x, g.lost = append(g.x[:0], g.x[n*g.answer.Dim:]...), append(g.lost[:0], g.lost[n:]...)
	return err
}

// appendRows writes rows of d numbers as JSON, each in the fewest digits that read back as it.
func appendRows(b []byte, x []float64, d int) []byte {
	b = append(b, '[')
	for i, v := range x {
		switch {
		case i%d != 0:
			b = append(b, ',')
		case i > 0:
			b = append(b, "],["...)
		default:
			b = append(b, '[')
		}
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	if len(x) > 0 {
		b = append(b, ']')
	}
	return append(b, ']')
}

// flush sends what is encoded.
func (g *gatherer) flush() error {
	if g.buf.Len() == 0 {
		return nil
	}
	if !g.sent {
		g.head()
	}
	defer g.buf.Reset()
	if g.buf.Len() <= piece { // which a connection takes at once
		defer g.s.sit(g.r.Context())()
	}
	return g.send(g.buf.Bytes())
}

// head begins the answer.
func (g *gatherer) head() {
	g.sent = true
	h := g.w.Header()
	h.Set("Content-Type", g.media)
	h.Set("Landing-Run", g.answer.Run)
	h.Set("Landing-Seed", strconv.FormatUint(g.answer.Seed, 10))
	h.Set("Landing-First", strconv.FormatUint(g.answer.First, 10))
	h.Set("Landing-Samples", strconv.Itoa(g.answer.N))
	switch {
	case g.chunk == 0:
		g.beside(h, "")
		h.Set("Content-Length", strconv.Itoa(g.buf.Len()))
	case g.media == typeNPY:
		h.Set("Content-Type", typeNPY+"; chunk="+strconv.Itoa(g.chunk))
		h.Set("Trailer", "Landing-Failed, Landing-Failed-Samples, Landing-Violation, Landing-Warning")
	}
	g.w.WriteHeader(http.StatusOK)
}

// mostNamed bounds the failed samples that a header names.
const mostNamed = 100

// beside sets the headers, or the trailers, of what stands beside samples.
func (g *gatherer) beside(h http.Header, prefix string) {
	h.Set(prefix+"Landing-Failed", strconv.Itoa(len(g.answer.Failed)))
	var named []string
	for _, n := range g.answer.Failed[:min(len(g.answer.Failed), mostNamed)] {
		named = append(named, strconv.FormatUint(n, 10))
	}
	h.Set(prefix+"Landing-Failed-Samples", strings.Join(named, ","))
	h.Set(prefix+"Landing-Violation", fmt.Sprintf("%g", float64(g.answer.Violation)))
	h.Set(prefix+"Landing-Warning", strings.Map(headerRune, strings.Join(g.answer.Warnings, "; ")))
}

// headerRune keeps what a header may hold.
func headerRune(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}

// finish ends the answer, when all samples have come.
func (g *gatherer) finish(sum *judge.Samples) error {
	failed := sum.CheckFailed(g.run.Problem.Generate.MaxFailed)
	if failed != nil && g.chunk == 0 {
		return failedSamples.fault("%v", failed)
	}
	if failed != nil {
		g.answer.Warnings = append(g.answer.Warnings, failed.Error())
	}
	err := g.s.engine.Compute(g.r.Context(), func() error {
		if g.chunk == 0 || len(g.lost) > 0 {
			if err := g.encode(len(g.lost)); err != nil {
				return err
			}
		}
		if g.chunk == 0 || g.media != typeLines {
			return nil
		}
		done, err := json.Marshal(Line{Done: &g.answer})
		g.buf.Write(append(done, '\n'))
		return err
	})
	if err == nil {
		err = g.flush()
	}
	if err == nil && g.chunk > 0 && g.media == typeNPY {
		g.beside(g.w.Header(), "")
	}
	return err
}

// fail ends an answer that has begun with what went wrong. What has no room for that breaks off, so that nobody
// takes it for whole.
func (g *gatherer) fail(f *fault) {
	if g.media != typeLines {
		panic(http.ErrAbortHandler)
	}
	p := f.problem(g.id)
	if line, err := json.Marshal(Line{Problem: &p}); err != nil || g.put(append(line, '\n')) != nil {
		panic(http.ErrAbortHandler)
	}
}

// look notes which samples failed, and the violation of the others.
func (g *gatherer) look(lo int, s *judge.Samples) {
	for i, lost := range s.Lost {
		if lost {
			g.answer.Failed = append(g.answer.Failed, g.q.First+uint64(lo+i))
		}
	}
	components, err := judge.CheckViolation(g.run.Process.Set, s, g.run.Reference().Limit())
	var off *judge.ViolationError
	if errors.As(err, &off) && !g.off { // the first alone: there may be many
		g.off = true
		off.Sample += g.q.First + uint64(lo) // as failed ones are numbered
		g.answer.Warnings = append(g.answer.Warnings, off.Error())
	}
	for _, c := range components {
		if g.answer.Component == "" || c.Worst > g.answer.Violation {
			g.answer.Violation, g.answer.Component = c.Worst, c.Component
		}
	}
}
