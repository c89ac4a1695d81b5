package main

import (
	"context"
	"errors"
	"fmt"
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

// usageTemplate is cobra's without the examples, which stand before it.
func usageTemplate(cobras string) string {
	before, rest, _ := strings.Cut(cobras, "{{if .HasExample}}")
	_, after, _ := strings.Cut(rest, "{{end}}")
	return before + after
}

// An answer is what a command prints: an object with --json, text otherwise. The zero value prints nothing.
type answer struct {
	object any // of a type in answers
	text   func(w io.Writer)
}

// command gives a cobra command its flags, which fill o, and what it does. What run answers is printed even if run
// fails as well.
func command[O interface{ flags(f *pflag.FlagSet) }](a *app, cmd *cobra.Command, o O,
	run func(ctx context.Context, a *app, o O, args []string) (answer, error)) *cobra.Command {
	o.flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.out.tell(run(cmd.Context(), a, o, args))
	}
	return cmd
}

// tell prints an answer, if there is one, and returns the error beside it and that of printing.
func (c *console) tell(got answer, err error) error {
	if got.text == nil {
		return err
	}
	return errors.Join(err, c.result(got.object, got.text))
}

// unless returns an answer, or none beside an error.
func (got answer) unless(err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return got, nil
}

// answered makes an answer of a value that prints itself; none if there is an error.
func answered[T interface{ print(w io.Writer) }](v T, err error) (answer, error) {
	return answer{v, v.print}.unless(err)
}

// noFlags are the options of commands without flags of their own.
type noFlags struct{}

func (noFlags) flags(*pflag.FlagSet) {}

// parent is a command that has only others below it.
func parent(name, short, example string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Example: example,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("there is no verb %q under %s", args[0], name)}
			}
			return nil
		},
	}
	cmd.AddCommand(children...)
	return cmd
}

// args checks the number of arguments as a usage error.
func args(n int, want string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		if len(given) != n {
			return &usageError{fmt.Errorf("expected %s, got %d arguments", want, len(given))}
		}
		return nil
	}
}

// atLeastOne refuses a command line without arguments as a usage error.
func atLeastOne(want string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		if len(given) == 0 {
			return &usageError{errors.New("expected " + want)}
		}
		return nil
	}
}

// atMostOne refuses a second argument as a usage error.
func atMostOne(want string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		if len(given) > 1 {
			return &usageError{fmt.Errorf("expected %s, got %d arguments", want, len(given))}
		}
		return nil
	}
}
