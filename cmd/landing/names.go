package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// inParts is what does the work of a queue of earlier versions.
const inParts = "--shard and landing merge (docs/distributed.md)"

// renamed are verbs of earlier versions, each with what does its work now.
var renamed = map[string]string{
	"fetch":     inParts,
	"forget":    inParts,
	"queue":     inParts,
	"reproduce": "landing paper",
	"status":    inParts,
	"submit":    inParts,
	"work":      inParts,
	"bench":     "landing dev bench",
	"data":      "landing make, or landing refine",
	"env":       "landing version",
	"eval":      "landing report RUN --text",
	"forward":   "the Go package langevin",
	"man":       "landing dev man",
	"resume":    "landing train RUN",
	"sample":    "landing mcmc",
	"schema":    "landing dev schema",
	"score":     "landing export RUN --scores ROWS, or --network",
}

// renamedFlags are flags of earlier versions by verb, or of all verbs, each with the flag that has its meaning now.
var renamedFlags = map[string]map[string]string{
	"":             {"max-time": "--timeout"},
	"distill":      {"samples": "-n"},
	"export":       {"at": "--scores"},
	"make alanine": {"n": "-n"},
	"make arm":     {"n": "-n"},
	"make so":      {"n": "--size", "count": "-n"},
	"paper":        {"budget": "--for", "data": "--data-dir"},
	"sweep":        {"data": "--data-dir"},
}

// A renamedError is the use of a name of earlier versions. It says the new one.
type renamedError struct{ old, now string }

func (e *renamedError) Error() string {
	return fmt.Sprintf("there is no %s any more; use %s", e.old, e.now)
}

// oldVerbs are hidden commands with the old names: each is a usage error that says the new one.
func oldVerbs(root *cobra.Command) (out []*cobra.Command) {
	for old, now := range renamed {
		if c, _, err := root.Find([]string{old}); err == nil && c != root {
			continue
		}
		out = append(out, &cobra.Command{Use: old, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return &usageError{&renamedError{fmt.Sprintf("verb %q", old), now}}
			}})
	}
	return out
}

// flagError is the usage error of a flag that a command does not have, or that has a value it cannot have.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return &usageError{err}
	}
	verb := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "landing"), " ")
	for _, of := range []string{verb, ""} {
		if now := renamedFlags[of][unknown.GetSpecifiedName()]; now != "" {
			return &usageError{&renamedError{"flag --" + unknown.GetSpecifiedName(), now}}
		}
	}
	return &usageError{err}
}
