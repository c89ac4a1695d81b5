package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/experiment/run"
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

func recipesVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:     "recipes [NAME]",
		Short:   "List the recipes in the binary, or print one",
		Example: "  landing recipes volcano",
	}, noFlags{}, runRecipes)
}

func runRecipes(_ context.Context, _ *app, _ noFlags, args []string) (answer, error) {
	if len(args) == 1 {
		r, err := recipeNamed(args[0])
		return answer{r, func(w io.Writer) { fmt.Fprint(w, r.YAML) }}.unless(err)
	}
	all := []recipe{}
	for _, name := range problem.Recipes() {
		r, err := recipeNamed(name)
		if err != nil {
			return answer{}, err
		}
		r.YAML = ""
		all = append(all, r)
	}
	return answer{recipeList{all}, func(w io.Writer) {
		for _, r := range all {
			data := "needs --data FILE"
			if r.Data == "demo" {
				data = "data in the binary"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\tvariants %v\n", r.Name, r.Title, r.Method, data, r.Variants)
		}
	}}, nil
}

func recipeNamed(name string) (recipe, error) {
	data, origin, err := problem.Source(name)
	if err != nil {
		return recipe{}, err
	}
	p, err := problem.Load(data, origin, "", nil)
	if err != nil {
		return recipe{}, err
	}
	variants, err := problem.Variants(data, origin)
	return recipe{Name: name, Title: p.Title, Data: p.Data.Kind, Method: p.Process.Method, Variants: variants,
		YAML: string(data)}, err
}

// versionAnswer is what version prints.
type versionAnswer struct {
	run.Build
	Machine run.Machine `json:"machine"`
	Workers int         `json:"workers"`
}

func versionVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:     "version",
		Short:   "Show the version, the commit that it was built from, and the machine",
		Example: "  landing version --json",
	}, noFlags{}, runVersion)
}

func runVersion(_ context.Context, a *app, _ noFlags, _ []string) (answer, error) {
	v := versionAnswer{run.ThisBuild(), run.ThisMachine(), a.workersPool().Workers()}
	return answer{v, func(w io.Writer) {
		fmt.Fprintf(w, "landing version %s\n", v.Version)
		changed := ""
		if v.Modified {
			changed = ", with changes"
		}
		if v.Commit != "" {
			fmt.Fprintf(w, "commit %s of %s%s\n", v.Commit, v.Time, changed)
		}
		m := v.Machine
		fmt.Fprintf(w, "%s %s/%s\n%s, %d cores, %d workers, %s kernels\n", v.Go, v.OS, m.Arch, m.CPU, m.Cores,
			v.Workers, m.Kernel)
		for _, p := range slices.Sorted(maps.Keys(m.Products)) {
			fmt.Fprintf(w, "products in %s run in %s\n", p, m.Products[p])
		}
	}}, nil
}
