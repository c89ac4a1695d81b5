package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpTemplate is how a command's help is written: what it is for, examples, and then all else.
const helpTemplate = `{{.Short}}.
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{with .Long}}
{{.}}
{{end}}
{{.UsageString}}`

// An answer is what a command prints: an object with --json, text otherwise. The zero value prints nothing.
type answer struct {
	object any // of a type in answers
	text   func(w io.Writer)
}

// options are the flags of a command.
type options interface{ flags(f *pflag.FlagSet) }

// A checker looks at its flags and completes them before its command begins. given reports whether a flag stands on the
// command line.
type checker interface {
	check(given func(flag string) bool, args []string) error
}

// noFlags are the options of commands without flags of their own.
type noFlags struct{}

func (noFlags) flags(*pflag.FlagSet) {}

// command gives a cobra command its arguments, its flags, which fill o, and what it does. What run answers is printed
// even if run fails as well.
func command[O options](a *app, cmd *cobra.Command, o O,
	run func(ctx context.Context, a *app, o O, args []string) (answer, error)) *cobra.Command {
	o.flags(cmd.Flags())
	cmd.Args = argumentsOf(cmd).check
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c, ok := any(o).(checker); ok {
			if err := c.check(cmd.Flags().Changed, args); err != nil {
				return err
			}
		}
		got, err := run(cmd.Context(), a, o, args)
		if got.text == nil {
			return err
		}
		return errors.Join(err, a.out.result(got.object, got.text))
	}
	return cmd
}

// unless returns an answer, or none beside an error.
func (got answer) unless(err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return got, nil
}

// parent is a command that has only others below it.
func parent(name, short, example string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Example: example}
	cmd.AddCommand(children...)
	return onlyBelow(cmd)
}

// onlyBelow has a command show its help, and refuse verbs that are not below it.
func onlyBelow(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage("there is no verb %q under %s", args[0], cmd.Name())
		}
		return nil
	}
	return cmd
}

// arguments are those of a command, by the word behind its name: RUN is one, RUN... are some, [RUN] may be missing.
type arguments struct {
	word           string // RUN; empty: there are none
	optional, many bool
}

func argumentsOf(cmd *cobra.Command) arguments {
	_, word, _ := strings.Cut(cmd.Use, " ")
	bare := strings.Trim(word, "[]")
	one, many := strings.CutSuffix(bare, "...")
	return arguments{word: one, optional: bare != word, many: many}
}

// check refuses other numbers of arguments as a usage error.
func (a arguments) check(_ *cobra.Command, given []string) error {
	n, what := len(given), argumentWords[a.word].is
	switch {
	case a.word == "" && n > 0:
		what = "no arguments"
	case a.word == "", n == 1, n == 0 && a.optional, n > 1 && a.many:
		return nil
	case a.many:
		what += " or more"
	case a.optional:
		what = "at most " + what
	}
	return usage("expected %s, got %s", what, plural(n, "argument"))
}
