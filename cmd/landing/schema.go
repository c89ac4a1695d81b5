package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/schema"
)

const problemSchema = "problem"

// What schema prints: of no name, of one, and of -o.
type (
	schemaList struct {
		Schemas []listedSchema `json:"schemas"`
	}
	listedSchema struct {
		Name string `json:"name"`
		Of   string `json:"of"`
	}
	printedSchema map[string]any
	writtenFile   struct {
		File string `json:"file"`
	}
)

// schemaOptions are the flags of dev schema.
type schemaOptions struct {
	out   string
	force bool
}

func (o *schemaOptions) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.out, "output", "o", "", "file to write (default: standard output)")
	f.BoolVar(&o.force, "force", false, "write over the file if it exists")
}

func schemaVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "schema [problem|error|progress|metrics|VERB...]",
		Short: "Print a JSON Schema: of problem files, or of what a verb prints",
		Long: `schema prints a JSON Schema: of problem files (problem), by which editors complete and check them; of
what a verb prints with --json (its name); of failures (error); of the lines of standard error with
--progress json (progress); of the lines of metrics.jsonl in a run folder (metrics). Without a name it
lists them.

Problem files that landing init writes, and recipes, name ` + problem.SchemaFile + ` beside them in
their first line, for editors with a YAML language server. landing init puts it there; for others -o
does.`,
		Example: "  landing dev schema problem -o " + problem.SchemaFile + "\n  landing dev schema make arm",
		Args:    cobra.ArbitraryArgs,
	}, new(schemaOptions), runSchema)
}

func runSchema(_ context.Context, _ *app, o *schemaOptions, name []string) (answer, error) {
	if len(name) == 0 {
		if o.out != "" {
			return answer{}, &usageError{fmt.Errorf("-o needs a name, as in landing dev schema problem -o %s", o.out)}
		}
		all := schemaNames()
		return answer{schemaList{all}, func(w io.Writer) {
			for _, s := range all {
				fmt.Fprintf(w, "%-18s  %s\n", s.Name, s.Of)
			}
		}}, nil
	}
	data, err := schemaNamed(strings.Join(name, " "))
	if err != nil {
		return answer{}, err
	}
	if o.out == "" {
		return answer{json.RawMessage(data), func(w io.Writer) { w.Write(data) }}, nil
	}
	return answer{writtenFile{o.out}, func(w io.Writer) { fmt.Fprintf(w, "wrote %s\n", text.Shell(o.out)) }}.unless(
		run.WriteFile(o.out, data, o.force))
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
		return nil, &usageError{fmt.Errorf("there is no schema %q; expected one of %s", name,
			strings.Join(names, ", "))}
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
		return fmt.Sprintf("%s is of another version: landing dev schema problem -o %[1]s --force renews it",
			text.Shell(path)), nil
	}
	return "", nil
}
