// Package networks is the registry of networks: a list of rows. A new network is a
// package that has a score.Kind, and its row here.
package networks

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/aligned"
	"github.com/landing-diffusion/landing/learn/score/gaussian"
	"github.com/landing-diffusion/landing/learn/score/temporal"
)

// All are the kinds of networks; the first is the default.
var All = []score.Kind{score.MLPKind, aligned.Kind, temporal.Kind, gaussian.Kind}

// Names returns the values that network.kind of a problem can have.
func Names() (names []string) {
	for _, k := range All {
		names = append(names, k.Name)
	}
	return names
}

// Of returns the kind of a name; "" is the default's.
func Of(name string) (score.Kind, bool) {
	for _, k := range All {
		if k.Name == cmp.Or(name, All[0].Name) {
			return k, true
		}
	}
	return score.Kind{}, false
}

// A KindError says that there is no network of a name, or none for the points.
type KindError struct{ Kind, Want string }

func (e *KindError) Error() string {
	return fmt.Sprintf("the network is %q; expected %s", e.Kind, e.Want)
}

// A UnitError says that a network reads points as they are, and has no use for a key of Config: Center, Unit or Scales.
type UnitError struct{ Kind, Key, Why string }

func (e *UnitError) Error() string {
	return fmt.Sprintf("network %s has no %s: %s", e.Kind, strings.ToLower(e.Key), e.Why)
}

// resolve returns the kind that c names, and c with every number given.
func resolve(c score.Config) (score.Kind, score.Config, error) {
	k, ok := c.Row, true
	if k.New == nil {
		k, ok = Of(c.Kind)
	}
	if !ok {
		return k, c, &KindError{c.Kind, "one of " + strings.Join(Names(), ", ")}
	}
	for i, given := range []bool{c.Center != nil, c.Unit != 0, c.Scales != nil} {
		if k.AsIs != "" && given {
			return k, c, &UnitError{k.Name, []string{"Center", "Unit", "Scales"}[i], k.AsIs}
		}
	}
	if k.Fits != nil {
		if want := k.Fits(c); want != "" {
			return k, c, &KindError{k.Name, want}
		}
	}
	c, err := k.Resolve(c)
	return k, c, err
}

// Parameters returns the number of parameters of the network that c describes, without
// making it. The error is a *KindError, a *UnitError or a *score.OptionError.
func Parameters(c score.Config) (float64, error) {
	k, c, err := resolve(c)
	if err != nil {
		return 0, err
	}
	return k.Parameters(c), nil
}

// Prepare returns c with what the network that it describes takes from the rows of
// training data, n×Dim. Errors are those of Parameters, and the kind's own about the data.
func Prepare(c score.Config, rows []float64) (score.Config, error) {
	k, resolved, err := resolve(c)
	if err != nil || k.Prepare == nil {
		return c, err
	}
	return k.Prepare(resolved, rows)
}

// New makes the network that c describes. Errors are those of Parameters.
func New(c score.Config) (score.Model[float32], error) {
	k, c, err := resolve(c)
	if err != nil {
		return nil, err
	}
	return k.New(c), nil
}
