package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/sets"
	"github.com/landing-diffusion/landing/study/inventory"
	"github.com/landing-diffusion/landing/study/paper"
)

// An argumentWord is a word for arguments in the Use of commands: what it is, and what shells offer for it.
type argumentWord struct {
	is       string
	complete cobra.CompletionFunc // nil: files
}

// argumentWords are all of them.
var argumentWords = map[string]argumentWord{
	"RUN":             {"a run folder", completeRun},
	"RUN|SWEEP|FILE":  {"a run folder, the folder of a sweep or a file of samples", completeRun},
	"PROBLEM":         {"a recipe or a problem file", completeProblem},
	"PROBLEM|RUN":     {"a recipe, a problem file or a run folder", completeProblemOrRun},
	"DIR":             {"a folder", completeFolder},
	"PART":            {"a folder of parts", completeFolder},
	"NAME":            {"one recipe", offer(recipes)},
	"TABLE-OR-FIGURE": {"a table or a figure", offer(exhibits)},
	"SCHEMA":          {"the name of a schema", cobra.NoFileCompletions},
	"FILE":            {"a sweep file", completeYAML},
	"DATA":            {"a data file", nil},
	"CASE":            {"a MATPOWER case file", nil},
	"MESH":            {"a mesh", nil},
}

// flagWords are what shells offer for flags, by their names.
var flagWords = map[string]cobra.CompletionFunc{
	"set": completeSetting, "variant": offer(variants), "checkpoint": offer(checkpoints),
	"out": completeFolder, "runs": completeFolder, "data-dir": completeFolder,
	"sort":     cobra.FixedCompletions(inventory.Orders(), cobra.ShellCompDirectiveNoFileComp),
	"progress": cobra.FixedCompletions([]string{sayText, sayJSON}, cobra.ShellCompDirectiveNoFileComp),
}

// completion tells shells what arguments and flags of a command and those below it may be.
func completion(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		completion(c)
	}
	complete := func(f *pflag.Flag) {
		if by, ok := flagWords[f.Name]; ok {
			cmd.RegisterFlagCompletionFunc(f.Name, by) // fails only for a flag that is not there, or has one
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(complete)
	cmd.PersistentFlags().VisitAll(complete)
	if cmd.ValidArgsFunction != nil || cmd.HasSubCommands() || cmd.Name() == "help" {
		return
	}
	of := argumentsOf(cmd)
	by := argumentWords[of.word].complete
	if of.word != "" && by == nil {
		return // files
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if of.word == "" || !of.many && len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return by(cmd, args, word)
	}
}

// offer completes by those of a list that begin like the word that is being written. The list may depend on the
// arguments before it.
func offer(list func(args []string, word string) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		all := slices.DeleteFunc(list(args, word), func(s string) bool { return !strings.HasPrefix(s, word) })
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// What cobra has shells complete themselves.
var (
	completeFolder = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	completeYAML   = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
)

// mostFolders bounds the entries of a folder that completion looks at.
const mostFolders = 1000

// completeRun offers run folders: those in the folder that is being written, or in runs/ where none is; else folders.
func completeRun(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	parents := []string{filepath.Dir(word)}
	if !strings.Contains(word, "/") {
		parents = []string{runsDir, "."}
	}
	dot := "" // what is offered begins as what was written
	if strings.HasPrefix(word, "./") {
		dot = "./"
	}
	var out []string
	for _, parent := range parents {
		f, err := os.Open(parent)
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(mostFolders) // what was read before an error is offered
		f.Close()
		for _, e := range entries {
			dir := filepath.Join(parent, e.Name())
			if !strings.HasPrefix(dir, strings.TrimPrefix(word, "./")) && !strings.HasPrefix(e.Name(), word) ||
				slices.Contains(args, dir) {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, run.ManifestFile)); err == nil {
				out = append(out, dot+dir)
			}
		}
	}
	if len(out) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	slices.Sort(out)
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeProblem offers recipes, and YAML files.
func completeProblem(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	out, _ := offer(recipes)(cmd, args, word)
	if len(out) == 0 || word == "" {
		for _, end := range []string{"*.yaml", "*.yml"} {
			files, _ := filepath.Glob(word + end)
			out = append(out, files...)
		}
	}
	if len(out) == 0 {
		return completeYAML(cmd, args, word)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeProblemOrRun offers what completeProblem does, and run folders.
func completeProblemOrRun(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	out, directive := completeProblem(cmd, args, word)
	runs, _ := completeRun(cmd, args, word)
	if directive != cobra.ShellCompDirectiveNoFileComp && len(runs) > 0 { // no problems, but kinds of files
		return runs, cobra.ShellCompDirectiveNoFileComp
	}
	return append(out, runs...), directive
}

func recipes([]string, string) []string { return slices.Clone(problem.Recipes()) }

func exhibits([]string, string) (out []string) {
	for _, e := range paper.Exhibits {
		out = append(out, cobra.CompletionWithDesc(e.Name, e.Title))
	}
	return out
}

// variants are those of the problem that the line names, behind others and a comma too.
func variants(args []string, word string) (out []string) {
	if len(args) == 0 {
		return nil
	}
	data, origin, err := problem.Source(args[0])
	if err != nil {
		return nil
	}
	names, _ := problem.Variants(data, origin)
	before := word[:strings.LastIndexByte(word, ',')+1]
	for _, name := range names {
		if !slices.Contains(strings.Split(before, ","), name) {
			out = append(out, before+name)
		}
	}
	return out
}

// checkpoints are those of the run that the line names.
func checkpoints(args []string, _ string) []string {
	if len(args) == 0 {
		return nil
	}
	f, err := run.Open(args[0])
	if err != nil {
		return nil
	}
	names, _ := f.Checkpoints().Names()
	return names
}

// completeSetting offers the keys that --set of a verb takes, and behind "=" the words that a key may have.
func completeSetting(cmd *cobra.Command, args []string, word string) (out []string, d cobra.ShellCompDirective) {
	var of []string // nil: all keys
	switch {
	case cmd.Name() == "train" && len(args) == 1 && resumes(args[0]):
		of = problem.ExtendKeys()
	case strings.HasPrefix(cmd.Flags().Lookup("set").Usage, "draw by"):
		of = problem.DrawKeys()
	}
	for _, k := range settable() {
		if name, _, ok := strings.Cut(word, "="); ok && name == k.Name {
			for _, w := range k.Words {
				out = append(out, name+"="+w)
			}
			return slices.DeleteFunc(out, func(s string) bool { return !strings.HasPrefix(s, word) }),
				cobra.ShellCompDirectiveNoFileComp
		}
		if strings.HasPrefix(k.Name, word) && (of == nil || slices.ContainsFunc(of, func(key string) bool {
			return k.Name == key || strings.HasPrefix(k.Name, key+".")
		})) {
			out = append(out, cobra.CompletionWithDesc(k.Name+"=", brief(k.Doc)))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// settable are all keys but those of lists' entries, with those of sets and of options, once each.
func settable() (out []problem.Key) {
	add := func(k problem.Key) {
		if !slices.ContainsFunc(out, func(other problem.Key) bool { return other.Name == k.Name }) {
			out = append(out, k)
		}
	}
	options := func(key, of string, options []score.Option) {
		for _, o := range options {
			add(problem.Key{Name: key + "." + o.Name, Doc: "of " + of + ": " + o.Doc})
		}
	}
	for _, k := range problem.Keys() {
		switch {
		case strings.Contains(k.Name, "[]"), k.Name == "observe":
		case k.Name == "process.options":
			for _, m := range methods.All {
				options(k.Name, m.Name, m.Options)
			}
		case k.Name == "network.options":
			for _, name := range networks.Names() {
				n, _ := networks.Of(name)
				options(k.Name, name, n.Options)
			}
		case k.Type.Kind() == reflect.Bool:
			k.Words = []string{"true", "false"}
			add(k)
		default:
			add(k)
		}
	}
	for _, key := range sets.Keys() {
		k := problem.Key{Name: "set." + key, Doc: problem.Describe("set." + key)}
		if key == "kind" {
			for _, kind := range sets.All {
				k.Words = append(k.Words, kind.Name)
			}
		}
		add(k)
	}
	return out
}

// brief is the beginning of a text that a shell shows beside a word.
func brief(s string) string {
	s = strings.ReplaceAll(s, "`", "")
	for _, end := range []string{". ", ": ", "; ", " ("} {
		if i := strings.Index(s, end); i > 8 {
			s = s[:i]
		}
	}
	if r := []rune(s); len(r) > 70 {
		s = string(r[:69]) + "…"
	}
	return s
}
