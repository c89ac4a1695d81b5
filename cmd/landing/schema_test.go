package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/schema"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var resolvedSchemas sync.Map // *jsonschema.Resolved by what it is of

// resolvedSchema makes a schema ready to validate by, once.
func resolvedSchema(t *testing.T, of string, build func() (*jsonschema.Schema, error)) *jsonschema.Resolved {
	t.Helper()
	s, ok := resolvedSchemas.Load(of)
	if !ok {
		made, err := build()
		if err != nil {
			t.Fatalf("%v. A verb that prints JSON has a row in answers, cmd/landing/schema.go", err)
		}
		r := testkit.Must(made.Resolve(nil))
		s, _ = resolvedSchemas.LoadOrStore(of, r)
	}
	return s.(*jsonschema.Resolved)
}

// A printed is one of the types of what a verb prints, or of a line.
type printed struct {
	name string
	at   int
}

// met are the answers that a test has held something against.
var met sync.Map

// unmet are the answers that no test has held anything against, so that nobody knows whether their schemas are true.
func unmet() (all []string) {
	for _, table := range []map[string][]any{answers, lineTypes} {
		for name, types := range table {
			for i, v := range types {
				if _, ok := met.Load(printed{name, i}); !ok {
					all = append(all, fmt.Sprintf("%s: %T", name, v))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// valid holds JSON against the schema of a name.
func valid(t *testing.T, name string, data []byte) {
	t.Helper()
	s := resolvedSchema(t, name, func() (*jsonschema.Schema, error) { return answerSchema(name) })
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, data)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("what landing %s prints is not what its schema says (its type in answers, cmd/landing/schema.go): "+
			"%v\n%.600s", name, err, data)
	}
	types := answers[name]
	if types == nil {
		types = lineTypes[name]
	}
	for i, of := range types {
		s := resolvedSchema(t, fmt.Sprintf("%s %d", name, i), func() (*jsonschema.Schema, error) {
			return schemaOf(name, []any{of})
		})
		if s.Validate(v) == nil {
			met.Store(printed{name, i}, true)
		}
	}
}

// verbOf returns the verb that a command line names, as in "data so"; "" of the program itself.
func verbOf(args []string) string {
	root := (&app{}).root()
	cmd, _, err := root.Find(args)
	if err != nil || cmd == root {
		return ""
	}
	return strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")
}

// checkOutput holds what a command line printed against schemas: all tests that run the program do.
func checkOutput(t *testing.T, args []string, r transcript) {
	t.Helper()
	if asksEvents(args) && r.code != exitUsage {
		for line := range strings.Lines(r.stderr) {
			valid(t, "progress", []byte(line))
		}
	}
	if !slices.Contains(args, "--json") || r.stdout == "" {
		return
	}
	var e struct{ Error json.RawMessage }
	switch {
	case json.Unmarshal([]byte(r.stdout), &e) == nil && e.Error != nil:
		valid(t, "error", []byte(r.stdout))
	case verbOf(args) == "":
		valid(t, "version", []byte(r.stdout))
	default:
		valid(t, verbOf(args), []byte(r.stdout))
	}
}

// checkMetrics holds the lines of a run's metrics.jsonl against their schema.
func checkMetrics(t *testing.T, run string) {
	t.Helper()
	data := testkit.Must(os.ReadFile(filepath.Join(run, "metrics.jsonl")))
	for line := range bytes.Lines(data) {
		valid(t, "metrics", line)
	}
}

// silent are verbs that print no JSON of their own.
var silent = []string{"dev", "make", "help", "completion"}

// Every verb has a schema, which describes an object, and no schema is of a verb that there is not.
func TestEveryVerbHasASchema(t *testing.T) {
	seen := map[string]bool{}
	var visit func(cmd *cobra.Command, path string)
	visit = func(cmd *cobra.Command, path string) {
		for _, c := range cmd.Commands() {
			name := strings.TrimSpace(path + " " + c.Name())
			first, _, _ := strings.Cut(name, " ")
			if _, ok := answers[name]; ok == slices.Contains(silent, name) && first != "completion" {
				t.Errorf("landing %s has no schema. Give what it prints with --json a type of its own, in the file "+
					"of the verb, and add %q: {thatType{}} to answers in cmd/landing/schema.go", name, name)
			}
			seen[name] = true
			visit(c, name)
		}
	}
	visit((&app{}).root(), "")
	for name := range answers {
		if !seen[name] {
			t.Errorf("answers has %q, and there is no such verb", name)
		}
	}
	for _, s := range schemaNames() {
		data, err := schemaNamed(s.Name)
		var v map[string]any
		if err == nil {
			err = json.Unmarshal(data, &v)
		}
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if v["$schema"] == nil || v["properties"] == nil && v["anyOf"] == nil {
			t.Errorf("%s: %.200s", s.Name, data)
		}
	}
}

// The table of README.md has every verb.
func TestCommandsPageHasEveryVerb(t *testing.T) {
	readme := testkit.Must(os.ReadFile("../../docs/commands.md"))
	for name := range answers {
		verb, of, two := strings.Cut(name, " ")
		if two {
			verb += " " + of
		}
		if !regexp.MustCompile("(?m)^\\| .*`" + verb + "[` \\\\].* \\|").Match(readme) {
			t.Errorf("docs/commands.md does not name landing %s", name)
		}
	}
}

// The answer of every command to an invalid command line fits its schema, on both streams.
func TestEveryVerbsFailure(t *testing.T) {
	dir := t.TempDir()
	tried := 0
	for name := range answers {
		r := do(t, dir, append(strings.Fields(name), "--no-such-flag", "--json", "--progress=json")...)
		if e, _ := wantJSON(t, r)["error"].(map[string]any); r.code != exitUsage || e["kind"] != "usage" {
			t.Errorf("landing %s --no-such-flag: exit %d, %s", name, r.code, r.stdout)
		}
		lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
		valid(t, "progress", []byte(lines[len(lines)-1]))
		tried++
	}
	if tried < 25 {
		t.Errorf("only %d verbs", tried)
	}
}

// A schema is strict enough to see that a key is missing, is of another type, or is not known.
func TestSchemasSeeFaults(t *testing.T) {
	s := testkit.Must(answerSchema("ls"))
	r := testkit.Must(s.Resolve(nil))
	for text, ok := range map[string]bool{
		`{"runs": [], "notes": []}`: true, `{"runs": []}`: false, `{"runs": 3, "notes": []}`: false,
		`{"runs": [], "notes": [], "more": 1}`: false, `{"runs": [{}], "notes": []}`: false,
	} {
		var v any
		testkit.OK(t, json.Unmarshal([]byte(text), &v))
		if err := r.Validate(v); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The verb prints what it lists; a draft has the schema that its first
// line names beside it.
func TestSchema(t *testing.T) {
	dir := t.TempDir()
	for _, s := range wantJSON(t, ok(t, dir, "dev", "schema", "--json"))["schemas"].([]any) {
		name := s.(map[string]any)["name"].(string)
		r := ok(t, dir, append([]string{"dev", "schema"}, strings.Fields(name)...)...)
		if wantJSON(t, r)["$schema"] == nil {
			t.Errorf("%s: %.100s", name, r.stdout)
		}
	}
	ok(t, dir, "dev", "schema", "ls", "--json")
	if r := ok(t, dir, "dev", "schema", "problem"); r.stdout != string(schema.JSON()) {
		t.Errorf("%d bytes", len(r.stdout))
	}
	if r := do(t, dir, "dev", "schema", "tea"); r.code != exitUsage ||
		!strings.Contains(r.stderr, `there is no schema "tea"`) {
		t.Errorf("exit %d %s", r.code, r.stderr)
	}

	sub := filepath.Join(dir, "sub")
	testkit.OK(t, os.Mkdir(sub, 0o777))
	points := filepath.Join(sub, "points.csv")
	rows := "0,1\n1,0\n0.6,0.8\n-1,0\n0,-1\n0.8,0.6\n-0.6,0.8\n0.28,0.96\n"
	testkit.OK(t, os.WriteFile(points, []byte(rows), 0o666))
	ok(t, dir, "init", "sub/points.csv", "-o", "sub/problem.yaml")
	draft, err := os.ReadFile(filepath.Join(sub, "problem.yaml"))
	if err != nil || !strings.HasPrefix(string(draft), problem.SchemaLine+"\n") {
		t.Errorf("%v\n%.200s", err, draft)
	}
	if got, err := os.ReadFile(filepath.Join(sub, problem.SchemaFile)); err != nil || !bytes.Equal(got, schema.JSON()) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	// One of another version stays, and is named.
	testkit.OK(t, os.WriteFile(filepath.Join(sub, problem.SchemaFile), []byte("{}"), 0o666))
	if r := ok(t, dir, "init", "sub/points.csv", "-o", "sub/other.yaml"); !strings.Contains(r.stderr,
		"is of another version: landing dev schema problem > sub/"+problem.SchemaFile+" renews it") {
		t.Errorf("got %s", r.stderr)
	}
}
