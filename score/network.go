package score

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/kernel"
)

// A Config describes a network to be made. Its zero values mean what the defaults of
// problem files mean.
type Config struct {
	Kind     string // a name of Kinds; "" is mlp
	Dim      int    // of points
	Momentum bool   // rows hold p̃

	Width      int     // of hidden layers; 0 is 128
	Layers     int     // hidden layers; 0 is 4
	Octaves    int     // as in Reading
	Wavelength float64 // as in Reading; 0 is 2
	Options    map[string]float64

	Gain      func(t float64) float64 // as in Reading; nil is 1
	Precision kernel.Precision
	Seed      uint64 // of the first parameters
}

// Reading returns how the network is read as a score.
func (c Config) Reading() Reading {
	return Reading{Octaves: c.Octaves, Wavelength: cmp.Or(c.Wavelength, 2), Gain: c.Gain}
}

// A Kind is a row of the registry: a kind of network, by name.
type Kind struct {
	Name    string
	Options []Option // keys of its own
	// Parameters returns how many parameters New would allocate, as a number that cannot
	// overflow.
	Parameters func(Config) float64
	// New makes the network; of options that Config lacks it gets the defaults.
	New func(Config) Model[float32]
}

// An Option is a key of a kind of network that is not a field of Config.
type Option struct {
	Name         string
	Default      float64
	Lowest, Most float64
	Doc          string
}

var kinds = []Kind{
	{Name: "mlp", Parameters: mlpParameters, New: newMLP},
}

// Register adds a kind of network. It panics if there is one of its name.
func Register(k Kind) {
	if slices.Contains(Kinds(), k.Name) {
		panic(fmt.Sprintf("score: two kinds of network are called %q", k.Name))
	}
	kinds = append(kinds, k)
}

// Kinds returns the names of the kinds of networks.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// A ConfigError says what no network can be made with.
type ConfigError struct {
	Option string // the option's name; "" for Kind
	Value  any
	Want   string
	Fault  string // instead of Value and Want: what is wrong with the option itself
}

func (e *ConfigError) Error() string {
	switch {
	case e.Option == "":
		return fmt.Sprintf("the kind of network is %q; expected %s", e.Value, e.Want)
	case e.Fault != "":
		return fmt.Sprintf("option %s of the network: %s", e.Option, e.Fault)
	}
	return fmt.Sprintf("option %s of the network is %v; expected %s", e.Option, e.Value, e.Want)
}

// resolve returns the row of c's kind, and c with every option given. Errors are
// *ConfigError.
func (c Config) resolve() (Kind, Config, error) {
	name := cmp.Or(c.Kind, "mlp")
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, c, &ConfigError{Value: name, Want: "one of " + strings.Join(Kinds(), ", ")}
	}
	k, given := kinds[i], c.Options
	c.Kind, c.Width, c.Layers = name, cmp.Or(c.Width, 128), cmp.Or(c.Layers, 4)
	c.Options = map[string]float64{}
	var names []string
	for _, o := range k.Options {
		v, ok := given[o.Name]
		if !ok {
			v = o.Default
		}
		if !(v >= o.Lowest && v <= o.Most) {
			return k, c, &ConfigError{Option: o.Name, Value: v, Want: fmt.Sprintf("a number in [%v, %v]", o.Lowest, o.Most)}
		}
		c.Options[o.Name] = v
		names = append(names, o.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			fault := fmt.Sprintf("there is no such option; %s has none", k.Name)
			if len(names) > 0 {
				fault = fmt.Sprintf("there is no such option; those of %s are %s", k.Name, strings.Join(names, ", "))
			}
			return k, c, &ConfigError{Option: name, Value: given[name], Fault: fault}
		}
	}
	return k, c, nil
}

// Parameters returns the number of parameters of the network, without making it. The
// error is a *ConfigError.
func (c Config) Parameters() (float64, error) {
	k, c, err := c.resolve()
	if err != nil {
		return 0, err
	}
	return k.Parameters(c), nil
}

// New makes a network, its parameters a function of Config alone. The error is a
// *ConfigError.
func New(c Config) (Model[float32], error) {
	k, c, err := c.resolve()
	if err != nil {
		return nil, err
	}
	return k.New(c), nil
}

func newMLP(c Config) Model[float32] {
	sizes := []int{c.Reading().Width(c.Dim, c.Momentum)}
	for range c.Layers {
		sizes = append(sizes, c.Width)
	}
	return NewMLP[float32](append(sizes, c.Dim), c.Seed).Model(c.Reading(), c.Precision)
}

func mlpParameters(c Config) float64 {
	in, w := float64(c.Reading().Width(c.Dim, c.Momentum)), float64(c.Width)
	return (in+1)*w + float64(c.Layers-1)*(w+1)*w + (w+1)*float64(c.Dim)
}
