package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	faults "github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/engine"
)

// Ask is the body of a request for samples.
type Ask struct {
	N          int64       `json:"n"`                     // samples; with conditions, under each of them
	Seed       *uint64     `json:"seed,omitempty"`        // of the noise; nil: the run's
	First      uint64      `json:"first,omitempty"`       // number of the first sample
	Condition  *Conditions `json:"condition,omitempty"`   // of a run that has one
	DeadlineMS *int64      `json:"deadline_ms,omitempty"` // then the drawing is given up

	Given  json.RawMessage `json:"given,omitempty"`  // constraints and observations: an object, or the text of a file
	Format string          `json:"format,omitempty"` // extension of a file as landing generate writes it
}

// Conditions are those for samples: rows of one length, by name or in the order of the run's condition.
type Conditions struct {
	names []string // in the order of the first row; nil: rows are lists
	width int
	rows  []float64
}

// mostColumns bounds the numbers of a row.
const mostColumns = 256

// UnmarshalJSON implements json.Unmarshaler. It holds no more than the numbers themselves, whatever data nests.
func (g *Conditions) UnmarshalJSON(data []byte) error {
	*g = Conditions{}
	d := json.NewDecoder(bytes.NewReader(data))
	open, err := d.Token()
	one := open == json.Delim('{')
	if !one && open == json.Delim('[') {
		open, err = d.Token()
	}
	var row []float64
	for ; err == nil && (open == json.Delim('{') || open == json.Delim('[')); open, err = d.Token() {
		named := open == json.Delim('{')
		first := g.rows == nil
		if row, err = g.row(d, named, first, row[:0]); err != nil {
			return err
		}
		g.rows = append(g.rows, row...)
		if one {
			return nil
		}
	}
	if err != nil || open != json.Delim(']') || g.rows == nil {
		return errGiven
	}
	return nil
}

var errGiven = errors.New(
	`condition: expected numbers by name, as {"radius": 1.5}, or rows of such objects or of numbers`)

// row reads a row that has been opened. The first one says which names, or how many numbers, the others have.
func (g *Conditions) row(d *json.Decoder, named, first bool, row []float64) ([]float64, error) {
	if !first && named != (g.names != nil) {
		return nil, errGiven
	}
	have := 0
	if !first && named {
		for range g.width {
			row = append(row, math.NaN()) // not given yet
		}
	}
	for d.More() {
		at := have
		if named {
			key, err := d.Token()
			name, _ := key.(string)
			switch at = slices.Index(g.names, name); {
			case err != nil:
				return nil, err
			case at >= 0 && (first || row[at] == row[at]):
				return nil, fmt.Errorf("condition: %q is given twice in a row", clip(name))
			case at < 0 && !first:
				return nil, fmt.Errorf("condition: %q is not in the first row", clip(name))
			case at < 0:
				at, g.names = have, append(g.names, name)
			}
		}
		token, err := d.Token()
		v, ok := token.(float64)
		if have++; err != nil || !ok || have > mostColumns {
			return nil, errGiven
		}
		if at == len(row) {
			row = append(row, v)
		}
		row[at] = v
	}
	if _, err := d.Token(); err != nil || have == 0 {
		return nil, errGiven
	}
	if first {
		g.width = have
	}
	if have != g.width {
		return nil, fmt.Errorf("condition: a row has %d numbers, the first one %d", have, g.width)
	}
	return row, nil
}

// values returns rows of the run's condition.
func (g *Conditions) values(c *experiment.Condition) ([]float64, error) {
	bad := func(format string, v ...any) ([]float64, error) {
		return nil, invalidAt("body.condition", nil, "%s; the condition is %s", fmt.Sprintf(format, v...),
			strings.Join(c.Names, ", "))
	}
	if g.names == nil {
		if g.width != len(c.Names) {
			return bad("row 0 has %d numbers", g.width)
		}
		return g.rows, nil
	}
	order := make([]int, len(c.Names))
	for k, name := range c.Names {
		if order[k] = slices.Index(g.names, name); order[k] < 0 {
			return bad("%s is missing", name)
		}
	}
	for _, name := range g.names {
		if !slices.Contains(c.Names, name) {
			return bad("%q is no part of it", name)
		}
	}
	row := make([]float64, g.width)
	for at := 0; at < len(g.rows); at += g.width {
		copy(row, g.rows[at:])
		for k, from := range order {
			g.rows[at+k] = row[from]
		}
	}
	return g.rows, nil
}

// decode reads the body of a request for samples. The error is a *fault.
func decode(body []byte) (*Ask, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var a *Ask
	err := d.Decode(&a)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return nil, invalidAt("body."+kind.Field, nil, "%s does not fit; expected %s", kind.Value, kind.Type)
	case errors.As(err, new(*json.SyntaxError)), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		err == nil && a == nil, kind != nil:
		return nil, badJSON.fault("expected a JSON object, as {\"n\": 10}: %v", err)
	case err != nil: // an unknown key, or a condition
		return nil, invalidAt("body", nil, "%v", err)
	case a.N < 1:
		return nil, invalidAt("body.n", a.N, "expected a number of samples, at least 1")
	case a.DeadlineMS != nil && *a.DeadlineMS < 1:
		return nil, invalidAt("body.deadline_ms", *a.DeadlineMS, "expected at least 1")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, badJSON.fault("something follows the object")
	}
	return a, nil
}

// asked is a request for samples of a run, which was checked.
type asked struct {
	engine.Request
	run      *engine.Run
	warning  string
	deadline time.Duration
	given    *experiment.Given // constraints and observations that training did not know; nil: none
	format   string            // with its dot; "": the answer's own
	size     int               // numbers of memory that a sample takes
}

// formatted is how many times as much memory samples take as text of files, motions in time at most.
const formatted = 16

// readRequest reads a request with its limits, the number of samples and of numbers in all. The error is a *fault.
func (s *Server) readRequest(a *answering, samples, numbers int64) (*asked, error) {
	if coding := a.r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, unsupported.fault("Content-Encoding is %q; bodies are read as they are", coding)
	}
	given := a.r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(given); err != nil || media != typeJSON {
		return nil, unsupported.fault("Content-Type is %q; expected %s", given, typeJSON)
	}
	body, release, err := s.read(a)
	defer release()
	if err != nil {
		return nil, err
	}
	i, all, err := s.find(a.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	defer s.takeDesk(a.r.Context())()
	in, err := decode(body)
	if err != nil {
		return nil, err
	}
	out := &asked{run: all.runs[i], deadline: s.opt.Deadline}
	if ms := in.DeadlineMS; ms != nil {
		if most := s.opt.Deadline.Milliseconds(); *ms > most {
			return nil, invalidAt("body.deadline_ms", *ms, "expected at most %d", most)
		}
		out.deadline = time.Duration(*ms) * time.Millisecond
	}
	out.size = out.dim()
	if in.Format != "" {
		out.format, out.size = "."+in.Format, formatted*out.dim()
		if out.run.Domain.Writer(out.format) == nil {
			return nil, invalidAt("body.format", clip(in.Format), "expected the extension of a file that landing "+
				"generate writes of this run, as csv or npy")
		}
	}
	if err := out.check(in, min(samples, numbers/int64(out.size))); err != nil {
		return nil, err
	}
	if in.Given != nil {
		if err := out.under(in.Given); err != nil {
			return nil, err
		}
	}
	a.told = append(a.told, "run", out.run.Name, "n", out.N)
	return out, nil
}

// mostGiven bounds the constraints of a request, in bytes.
const mostGiven = 1 << 16

// under reads the constraints and observations of a request. The error is a *fault.
func (q *asked) under(raw json.RawMessage) (err error) {
	text := string(raw)
	_ = json.Unmarshal(raw, &text) // an object is YAML as it is
	switch {
	case len(text) > mostGiven:
		return invalidAt("body.given", nil, "%d bytes; expected at most %d", len(text), mostGiven)
	case q.Conditions != nil && q.N > q.Each:
		return invalidAt("body.given", nil, "expected one row of the condition beside it")
	}
	if q.given, err = q.run.Given([]byte(text), "given"); err != nil {
		return invalidAt("body.given", nil, "%v", err)
	}
	return nil
}

func (q *asked) dim() int { return q.run.Process.Set.Dim() }

// check turns the body into a request to the engine, of at most `most` samples. The error is a *fault.
func (q *asked) check(in *Ask, most int64) (err error) {
	r := q.run
	q.Request = engine.Request{Seed: r.Problem.Seed, First: in.First, Each: int(min(in.N, math.MaxInt32))}
	if in.Seed != nil {
		q.Seed = *in.Seed
	}
	rows := int64(1)
	switch {
	case r.Condition == nil && in.Condition != nil:
		return invalidAt("body.condition", nil, "the run has no condition; its samples are drawn without one")
	case r.Condition != nil && in.Condition == nil:
		return invalidAt("body.condition", nil, "it is missing: the run has the condition %s",
			strings.Join(r.Condition.Names, ", "))
	case r.Condition != nil:
		if q.Conditions, err = in.Condition.values(r.Condition); err != nil {
			return err
		}
		rows = int64(len(q.Conditions) / len(r.Condition.Names))
		q.warning = r.Condition.Outside(q.Conditions)
	}
	if in.N > most/rows {
		return invalidAt("body.n", in.N, "expected at most %d samples of %d numbers in a request, of all conditions; "+
			"first continues another", most, q.dim())
	}
	total := in.N * rows
	if last := math.MaxUint64 - uint64(total); in.First > last {
		return invalidAt("body.first", in.First, "expected at most %d, for the numbers of %d samples to fit in 64 bits",
			last, total)
	}
	q.N = int(total)
	return nil
}

// accepted chooses the media type of an answer: the first in Accept that is written; "" if none is.
func accepted(accept []string) string {
	if len(accept) == 0 {
		return typeJSON
	}
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		switch name, _, _ := mime.ParseMediaType(part); name {
		case typeNPY, "application/octet-stream":
			return typeNPY
		case typeJSON, "application/*", "*/*":
			return typeJSON
		}
	}
	return ""
}

// Answer is what stands beside samples.
type Answer struct {
	Run       string       `json:"run"`
	Seed      uint64       `json:"seed"`
	First     uint64       `json:"first"`               // number of the first sample
	N         int          `json:"n"`                   // samples that were asked for, of all conditions
	Dim       int          `json:"dim"`                 // numbers of a sample, its condition included
	Failed    []uint64     `json:"failed"`              // numbers of the samples that failed: they are not there
	Violation metric.Float `json:"violation"`           // the worst of a component of the set by a sample
	Component string       `json:"component,omitempty"` // which component that is
	Warnings  []string     `json:"warnings,omitempty"`

	Given *experiment.GivenReport `json:"given,omitempty"`
}

// Samples is an answer in JSON.
type Samples struct {
	Answer
	Samples [][]float64 `json:"samples"`
}

// samples answers POST /v1/runs/{name}/samples.
func (s *Server) samples(a *answering) error {
	media := accepted(a.r.Header.Values("Accept"))
	if media == "" {
		return unacceptable.fault("Accept is %q; expected %s or %s", strings.Join(a.r.Header.Values("Accept"), ", "),
			typeJSON, typeNPY)
	}
	return s.queued(func() error {
		q, err := s.readRequest(a, s.opt.Numbers, s.opt.Numbers)
		if err != nil {
			return err
		}
		g := gatherer{run: q.run, Answer: Answer{Run: q.run.Name, Seed: q.Seed, First: q.First, N: q.N, Dim: q.dim(),
			Failed: []uint64{}}}
		if q.warning != "" {
			g.Warnings = []string{q.warning}
		}
		if q.format != "" {
			media = cmp.Or(mime.TypeByExtension(q.format), "application/octet-stream")
		}
		return s.drawing(a, q.N*q.size, q.deadline, func() error {
			ctx := a.r.Context()
			if q.given != nil {
				g.judged = q.given.Judged()
				return s.under(a, q, &g, media)
			}
			sum, err := s.engine.Draw(ctx, q.run, q.Request, func(lo int, part *judge.Samples) error {
				return s.engine.Compute(ctx, func() error { g.take(lo, part); return nil })
			})
			if err != nil {
				return err
			}
			if err := sum.CheckFailed(q.run.Problem.Generate.MaxFailed); err != nil {
				return failedSamples.fault("%v", err)
			}
			return s.write(a, q, &g, media)
		})
	})
}

// write answers with the gathered samples.
func (s *Server) write(a *answering, q *asked, g *gatherer, media string) error {
	var whole []byte
	err := s.engine.Compute(a.r.Context(), func() (err error) {
		whole, err = g.encode(media, q.format)
		return err
	})
	if err != nil {
		return err
	}
	g.beside(a.Header())
	return a.answer(media, whole)
}

// under answers with samples under constraints that training did not know.
func (s *Server) under(a *answering, q *asked, g *gatherer, media string) error {
	part, report, err := s.engine.Under(a.r.Context(), q.run, q.given, q.Request)
	if kind := faults.Of(err).Kind; kind == faults.Check || kind == faults.Problem || kind == faults.Config {
		return failedSamples.fault("%v", err)
	}
	if err != nil {
		return err
	}
	if g.Given = report; report.Err() != nil {
		g.Warnings = append(g.Warnings, report.Err().Error())
	}
	g.take(0, part)
	return s.write(a, q, g, media)
}

// gatherer takes the parts of a drawing.
type gatherer struct {
	Answer
	run    *engine.Run
	judged *experiment.Run // by which violations are measured; nil: run
	x      []float64       // the samples that did not fail
	off    bool            // a sample was off the set
}

// take adds the samples lo, lo+1, …, and notes which of them failed, and the violation of the others.
func (g *gatherer) take(lo int, s *judge.Samples) {
	g.x = append(g.x, s.Good()...)
	for i, lost := range s.Lost {
		if lost {
			g.Failed = append(g.Failed, g.First+uint64(lo+i))
		}
	}
	judged := cmp.Or(g.judged, g.run.Run)
	components, err := judge.CheckViolation(judged.Process.Set, s, judged.Reference().Limit())
	var off *judge.ViolationError
	if errors.As(err, &off) && !g.off { // the first alone: there may be many
		g.off = true
		off.Sample += g.First + uint64(lo) // as failed ones are numbered
		g.Warnings = append(g.Warnings, off.Error())
	}
	for _, c := range components {
		if g.Component == "" || c.Worst > g.Violation {
			g.Violation, g.Component = c.Worst, c.Component
		}
	}
}

// encode writes the samples, but for those that failed, in a format or else as a media type.
func (g *gatherer) encode(media, format string) ([]byte, error) {
	if media == typeNPY {
		format = ".npy"
	}
	if format != "" {
		var b bytes.Buffer
		err := g.run.Own(func() error { return g.run.Domain.Writer(format)(&b, arrayfile.RowsOf(g.x, g.Dim)) })
		return b.Bytes(), err
	}
	head, err := json.Marshal(g.Answer)
	if err != nil {
		return nil, err
	}
	b := append(head[:len(head)-1], `,"samples":`...)
	return append(appendRows(b, g.x, g.Dim), "}\n"...), nil
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

// mostNamed bounds the failed samples that a header names.
const mostNamed = 100

// beside sets the headers of what stands beside samples.
func (g *gatherer) beside(h http.Header) {
	var named []string
	for _, n := range g.Failed[:min(len(g.Failed), mostNamed)] {
		named = append(named, strconv.FormatUint(n, 10))
	}
	printable := func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}
	h.Set("Landing-Run", g.Run)
	h.Set("Landing-Seed", strconv.FormatUint(g.Seed, 10))
	h.Set("Landing-First", strconv.FormatUint(g.First, 10))
	h.Set("Landing-Samples", strconv.Itoa(g.N))
	h.Set("Landing-Failed", strconv.Itoa(len(g.Failed)))
	h.Set("Landing-Failed-Samples", strings.Join(named, ","))
	h.Set("Landing-Violation", fmt.Sprintf("%g", float64(g.Violation)))
	h.Set("Landing-Warning", strings.Map(printable, strings.Join(g.Warnings, "; ")))
}
