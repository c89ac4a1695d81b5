package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/inventory"
	"github.com/landing-diffusion/landing/study/sweep"
	"github.com/landing-diffusion/landing/study/tasks"
)

// answers are the types of what verbs print with --json; of a verb with several, one of them. A new verb gives what it
// prints a type of its own and adds it here: landing dev schema VERB shows it, and tests hold every object that a verb
// prints against it.
var answers = map[string][]any{
	"dev bench":          {speeds{}},
	"check":              {examined{}},
	"compare":            {compare.Comparison{}},
	"make alanine":       {alanineStory{}},
	"make arm":           {armStory{}},
	"make eigenfunction": {eigenStory{}},
	"make level-set":     {meshStory{}},
	"refine":             {refined{}},
	"make so":            {soStory{}},
	"demo":               {evaluated{}},
	"distill":            {distilled{}},
	"export":             {exports{}, experiment.Network{}},
	"dev forward":        {forwardPaths{}},
	"generate":           {generated{}, madePart{}},
	"init":               {drafted{}},
	"ls":                 {inventory.List{}},
	"merge":              {tasks.Merged{}},
	"dev man":            {pages{}},
	"recipes":            {recipeList{}, recipe{}},
	"report":             {evaluated{}},
	"paper":              {paperTables{}, exhibitList{}, plannedPaper{}},
	"mcmc":               {experiment.SampleReport{}},
	"dev schema":         {schemaList{}, printedSchema{}, writtenFile{}},
	"serve":              {serviceAt{}},
	"show":               {shown{}, reasons{}},
	"sweep":              {sweep.Outcome{}, plannedSweep{}},
	"train":              {trained{}},
	"version":            {versionAnswer{}},
}

// failed is what every verb prints with --json where it fails before it has an answer.
type failed struct {
	Error errorObject `json:"error"`
}

// metricLine is a line of metrics.jsonl.
type metricLine[T any] struct {
	Kind  string `json:"kind"`
	Epoch int    `json:"epoch"`
	Data  T      `json:"data"`
}

// lineTypes are the types of what programs read besides: failures, lines of standard error with --progress json, and
// lines of metrics.jsonl in a run folder.
var lineTypes = map[string][]any{
	"error":    {failed{}},
	"progress": {event{}},
	"metrics": {metricLine[train.Epoch]{}, metricLine[judge.Progress]{}, metricLine[experiment.HeldOutRecord]{},
		metricLine[experiment.Mixing]{}},
}

// unlike are types whose JSON is not that of their fields.
var unlike = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[metric.Float](): {Types: []string{"number", "null"}, Description: "null: not finite or not known"},
	reflect.TypeFor[check.Status](): {Type: "string", Enum: []any{"SKIP", "PASS", "WARN", "FAIL"}},
	reflect.TypeFor[check.Numbers](): {Type: "object",
		AdditionalProperties: &jsonschema.Schema{Types: []string{"number", "null"}}},
	reflect.TypeFor[json.RawMessage]():  {},
	reflect.TypeFor[kernel.Precision](): {Type: "string", Enum: []any{"float32", "bfloat16x3", "bfloat16"}},
	reflect.TypeFor[eventKind]():        oneOf(eventMessage, eventProgress, eventRun, eventError),
	reflect.TypeFor[level]():            oneOf(levelInfo, levelNote, levelWarning),
	reflect.TypeFor[fault.Kind]():       oneOf(fault.Kinds()...),
	reflect.TypeFor[inventory.State]():  oneOf(inventory.States()...),
	reflect.TypeFor[inventory.Source](): oneOf(inventory.Sources()...),
}

// oneOf is the schema of a text that is one of some.
func oneOf[T ~string](all ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range all {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

// schemaOf returns the schema of one of some types.
func schemaOf(name string, types []any) (*jsonschema.Schema, error) {
	var all []*jsonschema.Schema
	for _, v := range types {
		s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{TypeSchemas: unlike})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, s)
		switch v.(type) {
		case event: // what it says of progress is missing elsewhere
			without(s, "done", "of")
		case sweep.Outcome: // a cell that has not ended has neither
			without(s.Properties["cells"].Items, "row", "cost")
		case printedSchema:
			s.Required = []string{"$schema"}
		case metricLine[train.Epoch]:
			s.Properties["kind"] = oneOf("epoch")
		case metricLine[judge.Progress]:
			s.Properties["kind"] = oneOf("evaluation")
		case metricLine[experiment.HeldOutRecord]:
			s.Properties["kind"] = oneOf("held-out")
		case metricLine[experiment.Mixing]:
			s.Properties["kind"] = oneOf("prior")
		}
	}
	s := all[0]
	if len(all) > 1 {
		s = &jsonschema.Schema{AnyOf: all}
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	return s, nil
}

// without makes some keys of a schema ones that need not be there.
func without(s *jsonschema.Schema, keys ...string) {
	s.Required = slices.DeleteFunc(s.Required, func(key string) bool { return slices.Contains(keys, key) })
}
