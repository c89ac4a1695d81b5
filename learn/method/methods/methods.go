// Package methods is the registry of methods: a list of rows. A new method is a package
// that has a method.Kind, and its row here.
package methods

import (
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/euclidean"
	"github.com/landing-diffusion/landing/learn/method/fewstep"
	"github.com/landing-diffusion/landing/learn/method/flow"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
)

// All are the methods.
var All = []method.Kind{
	pathmatch.ULLA, pathmatch.OLLA, pathmatch.ULLAP, pathmatch.OLLAP,
	euclidean.EuclideanKind, euclidean.ProjectedKind, euclidean.LagrangianKind, euclidean.GuidedKind,
	euclidean.CorrectedKind, flow.Kind,
	fewstep.ULLA, fewstep.OLLA, fewstep.ULLAP, fewstep.OLLAP,
}

// Of returns the method of a name.
func Of(name string) (method.Kind, bool) {
	for _, k := range All {
		if strings.EqualFold(k.Name, name) || k.Alias != "" && strings.EqualFold(k.Alias, name) {
			return k, true
		}
	}
	return method.Kind{}, false
}

// Names says which names there are.
func Names() string {
	var b strings.Builder
	for i, k := range All {
		switch {
		case i > 0 && i == len(All)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(k.Name)
		if k.Alias != "" {
			fmt.Fprintf(&b, " (= %s)", k.Alias)
		}
	}
	return b.String()
}

// New makes the method of c's name, which must be one. Errors are *score.OptionError and *method.ConfigError.
func New(c method.Config) (method.Method, error) {
	k, ok := Of(c.Name)
	if !ok {
		panic(fmt.Sprintf("methods: there is no method %q", c.Name))
	}
	return k.Make(c)
}
