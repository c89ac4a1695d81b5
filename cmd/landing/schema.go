package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/problem/schema"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/inventory"
	"github.com/landing-diffusion/landing/study/sweep"
	"github.com/landing-diffusion/landing/study/tasks"
)

// answers are the types of what verbs print with --json; of a verb with several, one of them. A new verb gives what it
// prints a type of its own and adds it here: landing dev schema VERB shows it, and tests hold every object that a verb
// prints against it.
var answers = map[string][]any{
	"check":              {examined{}},
	"compare":            {compare.Comparison{}},
	"make alanine":       {alanineStory{}},
	"make arm":           {armStory{}},
	"make eigenfunction": {eigenStory{}},
	"make grid":          {gridStory{}},
	"make level-set":     {meshStory{}},
	"refine":             {refined{}},
	"make so":            {soStory{}},
	"demo":               {evaluated{}},
	"distill":            {distilled{}},
	"export":             {exports{}, experiment.Network{}},
	"generate":           {generated{}, madePart{}},
	"init":               {drafted{}},
	"ls":                 {inventory.List{}},
	"merge":              {tasks.Merged{}},
	"dev forward":        {simulated{}},
	"dev man":            {pages{}},
	"dev values":         {values{}},
	"recipes":            {recipeList{}, recipe{}},
	"report":             {evaluated{}},
	"paper":              {paperTables{}, exhibitList{}, plannedPaper{}},
	"mcmc":               {experiment.SampleReport{}},
	"dev schema":         {schemaList{}, printedSchema{}},
	"serve":              {serviceAt{}},
	"show":               {shown{}, reasons{}},
	"verify":             {verified{}},
	"sweep":              {sweep.Outcome{}, sweep.Preview{}},
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

const problemSchema = "problem"

// What schema prints: of no name, and of one.
type (
	schemaList struct {
		Schemas []listedSchema `json:"schemas"`
	}
	listedSchema struct {
		Name string `json:"name"`
		Of   string `json:"of"`
	}
	printedSchema map[string]any
)

func schemaVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "schema [SCHEMA...]",
		Short: "Print a JSON Schema: of problem files, or of what a verb prints",
		Long: `schema prints a JSON Schema: of problem files (problem), by which editors complete and check them; of
what a verb prints with --json (its name); of failures (error); of the lines of standard error with
--progress json (progress); of the lines of metrics.jsonl in a run folder (metrics). Without a name it
lists them.

Problem files that landing init writes, and recipes, name ` + problem.SchemaFile + ` beside them in
their first line, for editors with a YAML language server. landing init puts it there.`,
		Example: "  landing dev schema problem > " + problem.SchemaFile + "\n  landing dev schema make arm",
	}, noFlags{}, runSchema)
}

func runSchema(_ context.Context, _ *app, _ noFlags, name []string) (answer, error) {
	if len(name) > 0 {
		data, err := schemaNamed(strings.Join(name, " "))
		return answer{json.RawMessage(data), func(w io.Writer) { w.Write(data) }}.unless(err)
	}
	all := schemaNames()
	return answer{schemaList{all}, func(w io.Writer) {
		for _, s := range all {
			fmt.Fprintf(w, "%-18s  %s\n", s.Name, s.Of)
		}
	}}, nil
}

// schemaNames are the names of schemas, and what each is of.
func schemaNames() []listedSchema {
	all := []listedSchema{{problemSchema, "problem files"}, {"error", "what any verb prints with --json if it fails"},
		{"progress", "a line of standard error with --progress json"}, {"metrics", "a line of metrics.jsonl"}}
	for _, verb := range slices.Sorted(maps.Keys(answers)) {
		all = append(all, listedSchema{verb, "what landing " + verb + " prints with --json"})
	}
	return all
}

// schemaNamed returns a schema as the bytes of a file.
func schemaNamed(name string) ([]byte, error) {
	if name == problemSchema {
		return schema.JSON(), nil
	}
	s, err := answerSchema(name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err = e.Encode(s)
	return b.Bytes(), err
}

// answerSchema returns the schema of a verb's answer, or of a line.
func answerSchema(name string) (*jsonschema.Schema, error) {
	types, ok := answers[name]
	if !ok {
		types, ok = lineTypes[name]
	}
	if !ok {
		var names []string
		for _, s := range schemaNames() {
			names = append(names, s.Name)
		}
		return nil, usage("there is no schema %q; expected one of %s", name, strings.Join(names, ", "))
	}
	s, err := schemaOf(name, types)
	if err == nil {
		s.Title = "landing " + name
	}
	return s, err
}

// keepSchema puts the schema of problem files where the first line of a problem file says it is, in a folder. One that
// is there stays; the note says if it is of another version.
func keepSchema(path string) (note string, err error) {
	data := schema.JSON()
	switch old, err := os.ReadFile(path); {
	case err != nil:
		return "", run.WriteFile(path, data, false)
	case !bytes.Equal(old, data):
		return fmt.Sprintf("%s is of another version: landing dev schema problem > %[1]s renews it", text.Shell(path)),
			nil
	}
	return "", nil
}
