package main

import (
	"os"
	"path/filepath"
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

// A completer says what a word of a command line may be; args are the arguments before it.
type completer = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)

// mostFolders bounds the entries of a folder that completion looks at.
const mostFolders = 1000

// completion tells shells what arguments and flags of all verbs may be. A verb says by the words of its Use what its
// arguments are: RUN, PROBLEM, DIR and so on; other words are files.
func completion(root *cobra.Command) {
	arguments := map[string]completer{"RUN": completeRun, "RUN|SWEEP": completeRun, "PROBLEM": completeProblem,
		"PROBLEM|RUN": completeProblemOrRun,
		"DIR":         completeFolder, "PART": completeFolder, "NAME": completeRecipe,
		"TABLE-OR-FIGURE":                     completeExhibit,
		"problem|error|progress|metrics|VERB": completeSchema, "FILE": completeYAML}
	flags := map[string]completer{"set": completeSetting, "variant": completeVariant, "checkpoint": completeCheckpoint,
		"out": completeFolder, "runs": completeFolder, "data-dir": completeFolder,
		"sort":     completeWords(inventory.Orders()...),
		"progress": completeWords(sayText, sayJSON)}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			visit(c)
		}
		complete := func(f *pflag.Flag) {
			if by, ok := flags[f.Name]; ok {
				if _, has := cmd.GetFlagCompletionFunc(f.Name); !has {
					cmd.RegisterFlagCompletionFunc(f.Name, by) // fails only for a flag that is not there
				}
			}
		}
		cmd.LocalNonPersistentFlags().VisitAll(complete)
		cmd.PersistentFlags().VisitAll(complete)
		words := strings.Fields(cmd.Use)
		if cmd.ValidArgsFunction != nil || len(words) == 0 || cmd.HasSubCommands() || cmd.Name() == "help" {
			return
		}
		if len(words) == 1 {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
			return
		}
		word := strings.Trim(words[1], "[].…")
		by, ok := arguments[word]
		if !ok {
			return // files
		}
		end := strings.Trim(words[1], "[]")
		many := strings.HasSuffix(end, "...") || strings.HasSuffix(end, "…")
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
			if !many && len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return by(cmd, args, word)
		}
	}
	visit(root)
}

func completeWords(words ...string) completer {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

func completeFolder(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeRun offers run folders: those in the folder that is being written, or in runs/ where none is; else folders.
func completeRun(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	parents := []string{filepath.Dir(word)}
	if !strings.Contains(word, "/") {
		parents = []string{runsDir, "."}
	}
	dot := "" // what is offered begins as what was written
	if strings.HasPrefix(word, "./") {
		dot = "./"
	}
	var out []cobra.Completion
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
func completeProblem(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out, _ := completeRecipe(cmd, args, word)
	if len(out) == 0 || word == "" {
		files, _ := filepath.Glob(word + "*")
		for _, pattern := range []string{"*.yaml", "*.yml"} {
			for _, file := range files {
				if ok, _ := filepath.Match(pattern, filepath.Base(file)); ok {
					out = append(out, file)
				}
			}
		}
	}
	if len(out) == 0 {
		return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeProblemOrRun offers what completeProblem does, and run folders.
func completeProblemOrRun(cmd *cobra.Command, args []string, word string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	out, directive := completeProblem(cmd, args, word)
	runs, _ := completeRun(cmd, args, word)
	if directive != cobra.ShellCompDirectiveNoFileComp && len(runs) > 0 { // no problems, but kinds of files
		return runs, cobra.ShellCompDirectiveNoFileComp
	}
	return append(out, runs...), directive
}

func completeYAML(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

func completeRecipe(_ *cobra.Command, _ []string, word string) (out []cobra.Completion, d cobra.ShellCompDirective) {
	for _, name := range problem.Recipes() {
		if strings.HasPrefix(name, word) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func completeExhibit(_ *cobra.Command, args []string, word string) (out []cobra.Completion,
	d cobra.ShellCompDirective) {
	for _, e := range paper.Exhibits {
		if strings.HasPrefix(e.Name, word) && !slices.Contains(args, e.Name) {
			out = append(out, cobra.CompletionWithDesc(e.Name, e.Title))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeSchema offers what schema prints, word by word: "make" and then "so".
func completeSchema(_ *cobra.Command, args []string, word string) (out []cobra.Completion,
	d cobra.ShellCompDirective) {
	before := strings.Join(append(slices.Clone(args), ""), " ")
	for _, s := range schemaNames() {
		rest, ok := strings.CutPrefix(s.Name, before)
		first, _, more := strings.Cut(rest, " ")
		if !ok || first == "" || !strings.HasPrefix(first, word) {
			continue
		}
		about := s.Of
		if more {
			about = ""
		}
		if c := cobra.CompletionWithDesc(first, about); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeVariant offers the variants of the problem that the line names, behind others and a comma too.
func completeVariant(_ *cobra.Command, args []string, word string) (out []cobra.Completion,
	d cobra.ShellCompDirective) {
	d = cobra.ShellCompDirectiveNoFileComp
	if len(args) == 0 {
		return nil, d
	}
	data, origin, err := problem.Source(args[0])
	if err != nil {
		return nil, d
	}
	names, err := problem.Variants(data, origin)
	if err != nil {
		return nil, d
	}
	before := word[:strings.LastIndexByte(word, ',')+1]
	for _, name := range names {
		if !slices.Contains(strings.Split(before, ","), name) && strings.HasPrefix(before+name, word) {
			out = append(out, before+name)
		}
	}
	return out, d
}

// completeCheckpoint offers the checkpoints of the run that the line names.
func completeCheckpoint(_ *cobra.Command, args []string, word string) (out []cobra.Completion,
	d cobra.ShellCompDirective) {
	d = cobra.ShellCompDirectiveNoFileComp
	if len(args) == 0 {
		return nil, d
	}
	f, err := run.Open(args[0])
	if err != nil {
		return nil, d
	}
	names, _ := f.Checkpoints()
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			out = append(out, name)
		}
	}
	return out, d
}

// completeSetting offers the keys that --set of a verb takes, and behind "=" the words that a key may have.
func completeSetting(cmd *cobra.Command, args []string, word string) (out []cobra.Completion,
	d cobra.ShellCompDirective) {
	if key, value, ok := strings.Cut(word, "="); ok {
		for _, w := range wordsOf(key) {
			if strings.HasPrefix(w, value) {
				out = append(out, key+"="+w)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	var of []string // nil: all keys
	switch verb := cmd.Name(); {
	case verb == "train" && len(args) == 1 && resumes(args[0]):
		of = problem.ExtendKeys()
	case strings.HasPrefix(cmd.Flags().Lookup("set").Usage, "draw by"):
		of = problem.DrawKeys()
	}
	for _, k := range settable() {
		if !strings.HasPrefix(k.name, word) || of != nil && !slices.ContainsFunc(of, func(key string) bool {
			return k.name == key || strings.HasPrefix(k.name, key+".")
		}) {
			continue
		}
		out = append(out, cobra.CompletionWithDesc(k.name+"=", k.about))
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// setting is a key that --set may have.
type setting struct{ name, about string }

// settable are all keys but those of lists' entries.
func settable() (out []setting) {
	for _, k := range problem.Keys() {
		switch {
		case strings.Contains(k.Name, "[]"), k.Name == "observe":
		case k.Name == "process.options":
			for _, m := range methods.All {
				out = append(out, settableOptions(k.Name, m.Name, m.Options)...)
			}
		case k.Name == "network.options":
			for _, name := range networks.Names() {
				n, _ := networks.Of(name)
				out = append(out, settableOptions(k.Name, name, n.Options)...)
			}
		default:
			out = append(out, setting{k.Name, brief(k.Doc)})
		}
	}
	for _, key := range sets.Keys() {
		out = append(out, setting{"set." + key, brief(problem.Describe("set." + key))})
	}
	var seen []string
	return slices.DeleteFunc(out, func(s setting) bool { // options that several methods have
		again := slices.Contains(seen, s.name)
		seen = append(seen, s.name)
		return again
	})
}

func settableOptions(key, of string, options []score.Option) (out []setting) {
	for _, o := range options {
		out = append(out, setting{key + "." + o.Name, brief("of " + of + ": " + o.Doc)})
	}
	return out
}

// wordsOf are the words that a key may have.
func wordsOf(key string) []string {
	if key == "set.kind" {
		var names []string
		for _, k := range sets.All {
			names = append(names, k.Name)
		}
		return names
	}
	for _, k := range problem.Keys() {
		if k.Name == key {
			if k.Type.Kind().String() == "bool" {
				return []string{"true", "false"}
			}
			return k.Words
		}
	}
	return nil
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
