package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/study/engine"
)

// Media types of bodies.
const (
	typeJSON   = "application/json"
	typeLines  = "application/x-ndjson"
	typeNPY    = "application/x-npy"
	typeFaults = "application/problem+json"
)

// Ask is the body of a request for samples.
type Ask struct {
	N          int64   `json:"n" minimum:"1" doc:"number of samples; with conditions, under each of them" example:"10"`
	Seed       *uint64 `json:"seed,omitempty" doc:"seed of the noise; the run's own if it is left out"`
	First      uint64  `json:"first,omitempty" doc:"number of the first sample: calls may go on where another ended"`
	Condition  *Given  `json:"condition,omitempty"`
	DeadlineMS int64   `json:"deadline_ms,omitempty" minimum:"1" doc:"milliseconds, then the drawing is given up"`
	Chunk      int64   `json:"chunk,omitempty" minimum:"1" doc:"samples that are sent at a time; left out: all"`
}

// Given are the conditions that samples are asked under.
type Given struct {
	names []map[string]float64 // by name
	rows  [][]float64          // or in the order of the run's condition
}

// Schema implements huma.SchemaProvider.
func (*Given) Schema(huma.Registry) *huma.Schema {
	number := &huma.Schema{Type: huma.TypeNumber}
	named := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: number}
	one := 1
	return &huma.Schema{
		Description: "what samples are asked under, of a run with a condition: values by name, or rows of them, by " +
			"name or in the order that /v1/runs tells",
		OneOf: []*huma.Schema{named, {Type: huma.TypeArray, MinItems: &one, Items: named},
			{Type: huma.TypeArray, MinItems: &one, Items: &huma.Schema{Type: huma.TypeArray, Items: number}}},
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *Given) UnmarshalJSON(data []byte) error {
	var one map[string]float64
	if json.Unmarshal(data, &one) == nil && one != nil {
		g.names = []map[string]float64{one}
		return nil
	}
	if json.Unmarshal(data, &g.names) == nil && len(g.names) > 0 && !slices.ContainsFunc(g.names,
		func(m map[string]float64) bool { return m == nil }) {
		return nil
	}
	if g.names = nil; json.Unmarshal(data, &g.rows) == nil && len(g.rows) > 0 {
		return nil
	}
	return errors.New("expected numbers by name, as {\"radius\": 1.5}, or rows of such objects or of numbers")
}

// values returns rows of the run's condition.
func (g *Given) values(c *experiment.Condition) ([]float64, *fault) {
	const at = "body.condition"
	var out []float64
	for _, m := range g.names {
		for _, name := range c.Names {
			v, ok := m[name]
			if !ok {
				return nil, invalidAt(at, nil, "%s is missing; the condition is %s", name, strings.Join(c.Names, ", "))
			}
			out = append(out, v)
		}
		for name := range m {
			if !slices.Contains(c.Names, name) {
				return nil, invalidAt(at, nil, "%q is no part of it; the condition is %s", name,
					strings.Join(c.Names, ", "))
			}
		}
	}
	for i, row := range g.rows {
		if len(row) != len(c.Names) {
			return nil, invalidAt(at, nil, "row %d has %d numbers; the condition is %s", i, len(row),
				strings.Join(c.Names, ", "))
		}
		out = append(out, row...)
	}
	return out, nil
}

var registry = huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)

func init() { huma.ValidateStrictCasing = true } // N is not n: of both, one would count for us and one for a proxy

// decode reads a request for samples of a body of a media type and the query of its URL. It looks at nothing but
// these bytes. The error is a *fault.
func decode(contentType, query string, body []byte) (*Ask, error) {
	media, _, err := mime.ParseMediaType(contentType)
	values, wrong := url.ParseQuery(query)
	switch {
	case err == nil && media == typeJSON:
		if query != "" {
			return nil, invalidAt("query", nil, "with a body of JSON everything stands in the body")
		}
		return decodeJSON(body)
	case err == nil && media == typeNPY && wrong != nil:
		return nil, invalidAt("query", nil, "it cannot be read: %v", wrong)
	case err == nil && media == typeNPY:
		return decodeNPY(values, body)
	}
	return nil, unsupported.fault(
		"Content-Type is %q; expected %s, or %s for rows of a condition",
		contentType,
		typeJSON,
		typeNPY,
	)
}

func decodeJSON(body []byte) (*Ask, error) {
	if err := unique(body); err != nil {
		return nil, badJSON.fault("%v", err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(body, &keys); err != nil || keys == nil {
		return nil, badJSON.fault("expected a JSON object, as {\"n\": 10}: %v", err)
	}
	delete(keys, "condition") // Given tells of it in words
	all := map[string]any{}
	for key, text := range keys {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, badJSON.fault("%s: %v", key, err)
		}
		all[key] = v
	}
	var found huma.ValidateResult
	schema := registry.Schema(reflect.TypeFor[Ask](), true, "Ask")
	huma.Validate(registry, schema, huma.NewPathBuffer([]byte("body"), 4), huma.ModeWriteToServer, all, &found)
	if len(found.Errors) > 0 {
		f := invalid.fault("%v", found.Errors[0])
		for _, err := range found.Errors {
			if e := (huma.ErrorDetailer)(nil); errors.As(err, &e) {
				d := e.ErrorDetail()
				f.add(d.Location, d.Message, d.Value)
			}
		}
		return nil, f
	}
	a := &Ask{}
	if err := json.Unmarshal(body, a); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return nil, invalidAt("body."+kind.Field, nil, "it is a %s that does not fit; expected %s", kind.Value,
				kind.Type)
		}
		return nil, invalidAt("body.condition", nil, "%v", err)
	}
	return a, nil
}

// unique refuses what is no JSON value alone, and objects with a key twice, of which readers take one or the
// other.
func unique(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	type level struct {
		keys map[string]bool // nil: an array
		key  bool            // a key is next
	}
	var in []level
	for {
		t, err := d.Token()
		if err == io.EOF && len(in) == 0 {
			return nil
		}
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		top := len(in) - 1
		if name, ok := t.(string); ok && top >= 0 && in[top].key {
			if in[top].keys[name] {
				return errors.New("the key " + strconv.Quote(name) + " stands there twice")
			}
			in[top].keys[name], in[top].key = true, false
			continue
		}
		switch t {
		case json.Delim('{'):
			in = append(in, level{map[string]bool{}, true})
			continue
		case json.Delim('['):
			in = append(in, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			in = in[:top]
			top--
		}
		if top >= 0 {
			in[top].key = in[top].keys != nil
		} else if d.More() {
			return errors.New("something follows the object")
		}
	}
}

// decodeNPY reads rows of a condition, and the rest from the query.
func decodeNPY(query url.Values, body []byte) (*Ask, error) {
	a := &Ask{}
	number := func(name string, least uint64) (v uint64, given bool, f *fault) {
		all, given := query[name]
		delete(query, name)
		if !given {
			return 0, false, nil
		}
		v, err := strconv.ParseUint(all[0], 10, 64)
		if err != nil || len(all) > 1 || v < least {
			return 0, true, invalidAt("query."+name, all[0], "expected one whole number from %d on", least)
		}
		return v, true, nil
	}
	for _, p := range []struct {
		name string
		to   *int64
	}{{"n", &a.N}, {"chunk", &a.Chunk}, {"deadline_ms", &a.DeadlineMS}} {
		v, given, f := number(p.name, 1)
		if f != nil {
			return nil, f
		}
		if *p.to = int64(min(v, math.MaxInt64)); !given && p.name == "n" {
			return nil, invalidAt("query.n", nil, "it is missing: the number of samples under each condition")
		}
	}
	var f *fault
	if a.First, _, f = number("first", 0); f != nil {
		return nil, f
	}
	if seed, given, f := number("seed", 0); f != nil {
		return nil, f
	} else if given {
		a.Seed = &seed
	}
	for name := range query {
		return nil, invalidAt("query."+name, nil, "there is no such parameter")
	}
	in := bytes.NewReader(body)
	array, err := arrayfile.DecodeNPY(in) // which takes no more memory than there are bytes
	if err != nil {
		return nil, badNPY.fault("%v", err)
	}
	if in.Len() > 0 {
		return nil, badNPY.fault("%d bytes follow the array", in.Len())
	}
	rows := array.Float64
	if rows == nil {
		for _, v := range array.Float32 {
			rows = append(rows, float64(v))
		}
	}
	if len(array.Shape) != 2 || len(rows) == 0 {
		return nil, badNPY.fault(
			"it has the shape %v; expected rows of the condition, float64 or float32",
			array.Shape,
		)
	}
	a.Condition = &Given{}
	for row := range slices.Chunk(rows, array.Shape[1]) {
		a.Condition.rows = append(a.Condition.rows, row)
	}
	return a, nil
}

// request checks an Ask against its run and the limits. The error is a *fault.
func (a *Ask) request(r *engine.Run, l *Limits) (q engine.Request, warning string, err error) {
	q = engine.Request{Seed: r.Problem.Seed, First: a.First}
	if a.Seed != nil {
		q.Seed = *a.Seed
	}
	rows, d := int64(1), int64(r.Process.Set.Dim())
	switch {
	case r.Condition == nil && a.Condition != nil:
		return q, "", invalidAt("body.condition", nil, "the run has no condition; its samples are drawn without one")
	case r.Condition != nil && a.Condition == nil:
		return q, "", invalidAt("body.condition", nil, "it is missing: the run has the condition %s",
			strings.Join(r.Condition.Names, ", "))
	case r.Condition != nil:
		var f *fault
		if q.Conditions, f = a.Condition.values(r.Condition); f != nil {
			return q, "", f
		}
		for _, v := range q.Conditions {
			if v-v != 0 {
				return q, "", invalidAt("body.condition", nil, "it has %v; expected finite numbers", v)
			}
		}
		rows = int64(len(q.Conditions) / len(r.Condition.Names))
	}
	if a.N > l.Samples/rows {
		return q, "", invalidAt(
			"body.n",
			a.N,
			"expected at most %d samples in a request, of all conditions; first goes "+
				"on from another",
			l.Samples,
		)
	}
	total := a.N * rows
	if held := min(total, max(a.Chunk, 0)); held > l.Numbers/d {
		return q, "", invalidAt(
			"body.chunk",
			a.Chunk,
			"expected at most %d samples of %d numbers at a time",
			l.Numbers/d,
			d,
		)
	} else if a.Chunk == 0 && total > l.Numbers/d {
		return q, "", invalidAt("body.n", a.N, "expected at most %d samples of %d numbers in one piece; chunk sends "+
			"more, so many at a time", l.Numbers/d, d)
	}
	if a.First > math.MaxUint64-uint64(total) {
		return q, "", invalidAt(
			"body.first",
			a.First,
			"expected at most %d, for the numbers of %d samples to fit in 64 "+
				"bits",
			math.MaxUint64-uint64(total),
			total,
		)
	}
	if most := l.Deadline.Milliseconds(); a.DeadlineMS > most {
		return q, "", invalidAt("body.deadline_ms", a.DeadlineMS, "expected at most %d", most)
	}
	q.N, q.Each = int(total), int(a.N)
	if q.Conditions != nil {
		warning = r.Condition.Outside(q.Conditions)
	}
	return q, warning, nil
}

// deadline returns how long a request may take.
func (a *Ask) deadline(l *Limits) time.Duration {
	if a.DeadlineMS > 0 {
		return time.Duration(a.DeadlineMS) * time.Millisecond
	}
	return l.Deadline
}

// accepted chooses the media type of an answer by Accept; "" if none will do.
func accepted(accept []string, chunked bool) string {
	offers := []string{typeJSON, typeNPY, typeLines}
	if chunked {
		offers = []string{typeLines, typeNPY}
	}
	if len(accept) == 0 {
		return offers[0]
	}
	best, at := 0.0, ""
	for _, offer := range offers {
		if q := quality(strings.Join(accept, ","), offer); q > best {
			best, at = q, offer
		}
	}
	return at
}

// quality returns how welcome a media type is, by the most specific range that names it.
func quality(accept, media string) float64 {
	found, specific := 0.0, -1
	for part := range strings.SplitSeq(accept, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		rank := -1
		switch family, _, _ := strings.Cut(media, "/"); {
		case name == media, name == "application/octet-stream" && media == typeNPY,
			name == typeJSON && media == typeLines: // lines of it
			rank = 2
		case name == family+"/*":
			rank = 1
		case name == "*/*":
			rank = 0
		}
		if rank <= specific {
			continue
		}
		q := 1.0
		if given, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(given, 64); err != nil || !(q >= 0 && q <= 1) {
				q = 0
			}
		}
		found, specific = q, rank
	}
	return found
}
