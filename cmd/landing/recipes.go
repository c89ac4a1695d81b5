package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/problem"
)

// What recipes prints: of one, and of all.
type (
	recipe struct {
		Name     string   `json:"name"`
		Title    string   `json:"title"`
		Data     string   `json:"data"`
		Method   string   `json:"method"`
		Variants []string `json:"variants"`
		YAML     string   `json:"yaml,omitempty"`
	}
	recipeList struct {
		Recipes []recipe `json:"recipes"`
	}
)

func (a *app) recipes() *cobra.Command {
	return &cobra.Command{
		Use:   "recipes [NAME]",
		Short: "List the recipes in the binary, or print one",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 1 {
				return &usageError{fmt.Errorf("expected at most one recipe, got %d arguments", len(given))}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, given []string) error {
			describe := func(name string) (recipe, error) {
				data, origin, err := problem.Source(name)
				if err != nil {
					return recipe{}, err
				}
				p, err := problem.Load(data, origin, "", nil)
				if err != nil {
					return recipe{}, err
				}
				variants, err := problem.Variants(data, origin)
				return recipe{Name: name, Title: p.Title, Data: p.Data.Kind, Method: p.Process.Method,
					Variants: variants}, err
			}
			if len(given) == 1 {
				r, err := describe(given[0])
				if err != nil {
					return err
				}
				data, _, err := problem.Source(given[0])
				if err != nil {
					return err
				}
				r.YAML = string(data)
				return a.result(r, func(w io.Writer) { fmt.Fprint(w, r.YAML) })
			}
			all := []recipe{}
			for _, name := range problem.Recipes() {
				r, err := describe(name)
				if err != nil {
					return err
				}
				all = append(all, r)
			}
			return a.result(recipeList{all}, func(w io.Writer) {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				for _, r := range all {
					data := "needs --data FILE"
					if r.Data == "demo" {
						data = "data in the binary"
					}
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\tvariants %v\n", r.Name, r.Title, r.Method, data, r.Variants)
				}
				t.Flush()
			})
		},
	}
}
