package problem

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/problem/sets"
)

// foreign returns a *KeyError if a key is given that belongs to another kind of potential.
func (f Potential) foreign(o origins) error {
	for key, field := range sets.Fields(reflect.TypeFor[Potential]()) {
		of := field.Tag.Get("of")
		if of != "" && of != f.Kind && !reflect.ValueOf(f).FieldByIndex(field.Index).IsZero() {
			return o.fault("potential."+key, "this key belongs to potential.kind %s; potential.kind is %q", of, f.Kind)
		}
	}
	return nil
}

// onSigma are keys of steps on Σ.
var onSigma = []string{KeyProcessLandingMode, KeyProcessLandingRate, KeyProcessCurvature, KeyProcessWalls,
	KeyProcessRepulsion}

// noEffect says why a key changes nothing, and which key decides that; "" where it changes something. Without a
// process it looks at the keys of the file alone.
func (p *Problem) noEffect(key string, proc *langevin.Process) (why, by string) {
	kind, _ := methods.Of(p.Process.Method)
	network, _ := networks.Of(p.Network.Kind)
	for _, field := range kind.Idle {
		if fieldKeys[field] == key || field == "Prior" && strings.HasPrefix(key, "uniform.") { // the chains behind it
			return kind.Name + " has no use for it", KeyProcessMethod
		}
	}
	bundled := func(k domain.Kind) bool { return k.Bundled && k.Data == p.Data.Kind }
	switch {
	case key == KeyDataPath && slices.ContainsFunc(kinds.All, bundled):
		return "the data of kind " + p.Data.Kind + " is in the program", KeyDataKind
	case (key == KeyNetworkWidth || key == KeyNetworkLayers) && network.Sized != "":
		return fmt.Sprintf("network.options say how large a network of kind %s is", network.Name), KeyNetworkKind
	case key == "network.wavelength" && p.Network.Octaves == 0 && !p.Left("network.octaves"):
		return "network.octaves is 0: there are no waves", "network.octaves"
	case strings.HasPrefix(key, "uniform.") && p.Prior == "empirical":
		return "the prior is empirical", KeyPrior
	case key == "sample.leaps" && p.Sample.Method != "chmc":
		return "it belongs to sample.method chmc", "sample.method"
	case key == "sample.max_failed" && p.Sample.Method == "chmc":
		return "chmc refuses a move whose projection fails", "sample.method"
	case proc == nil:
	case (key == KeyProcessFriction || key == KeyProcessNoise) && kind.Forward != nil && !proc.Method.Underdamped():
		return kind.Name + " has no momentum", KeyProcessMethod
	case kind.Leaves(proc) && slices.Contains(onSigma, key):
		return kind.Name + " takes no steps on the set", KeyProcessMethod
	case (key == KeyProcessWalls || key == KeyProcessRepulsion) && len(proc.Set.Inequalities()) == 0:
		return "the set has no inequalities", "set"
	case key == KeyProcessRepulsion && proc.Elastic():
		return "walls are elastic; add --set process.walls=paper", KeyProcessWalls
	case proc.Method.Projected() && slices.Contains([]string{KeyProcessLandingMode, KeyProcessLandingRate,
		KeyProcessCurvature, KeyProcessTerminalProjection}, key):
		return fmt.Sprintf("%s projects at every step", proc.Method), KeyProcessMethod
	case key == KeyProcessLandingRate && !proc.Landing.Explicit:
		return "landing is implicit; add --set process.landing.mode=explicit", KeyProcessLandingMode
	}
	return "", ""
}

// Idle returns the keys that the file or a setting wrote and that change nothing.
func (p *Problem) Idle(proc *langevin.Process) (keys []string) {
	for _, k := range Keys() {
		if why, _ := p.noEffect(k.Name, proc); why != "" && p.origin[k.Name] != "" {
			keys = append(keys, k.Name)
		}
	}
	return keys
}

// Shared says that the settings are of several problems: keys that change nothing in this one are none of its faults.
func (p *Problem) Shared() { p.shared = true }

// checkEffect returns a *KeyError if somebody gave a key another value than its default and it changes nothing. A key
// that a later layer made useless stays: a variant, or --set, may choose another method. So do those of a file with
// every section, as run folders hold: nobody wrote it by hand.
func (p *Problem) checkEffect(proc *langevin.Process) error {
	all := true
	for _, section := range []string{"title", "potential", "process", "network", "train", KeyPrior, "uniform",
		"generate", "sample"} {
		all = all && p.origin[section] != ""
	}
	var e *sets.Error
	if errors.As(p.Set.Idle("set"), &e) && !all && !p.shared {
		return p.fault(e.Key, "%s", e.Fault)
	}
	for _, k := range Keys() {
		if all || p.shared || k.index == nil || p.origin[k.Name] == "" {
			continue
		}
		why, by := p.noEffect(k.Name, proc)
		value := reflect.ValueOf(p).Elem().FieldByIndex(k.index)
		usual := reflect.ValueOf(Defaults()).Elem().FieldByIndex(k.index)
		choice, _ := value.Interface().(Choice)
		if why == "" || p.layer[k.Name] < p.layer[by] || choice.IsAuto() ||
			reflect.DeepEqual(value.Interface(), usual.Interface()) {
			continue
		}
		return p.fault(k.Name, "it changes nothing: %s", why)
	}
	return nil
}
