package problem

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/kinds"
	formats "github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/domain/molecules"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/problem/sets"
)

// FixedDefaults is the word for a problem whose silent keys are the numbers of Defaults; "" and
// AutoDefaults leave those of process, network and train to the program.
const (
	FixedDefaults = "fixed"
	AutoDefaults  = "auto"
)

// Left reports whether a key is left to the program: the file says nothing of it, nor the set,
// and not that silent keys are fixed.
func (p *Problem) Left(key string) bool {
	return p.Leaves() && p.silent(key) &&
		!slices.ContainsFunc(p.chosen, func(c choose.Choice) bool { return c.Key == key })
}

// Leaves reports whether anything may be left to the program.
func (p *Problem) Leaves() bool { return p.Defaults != FixedDefaults && p.origin != nil }

// silent reports whether neither file nor setting wrote a key, or one within it.
func (o origins) silent(key string) bool { return o.origin != nil && o.origin[key] == "" }

// With returns the problem with the choices for keys that are left to the program.
func (p *Problem) With(choices []choose.Choice) *Problem {
	q := *p
	q.origin = maps.Clone(p.origin)
	q.chosen = slices.Clone(p.chosen)
	for _, c := range choices {
		if q.Left(c.Key) {
			q.choose(c)
		}
	}
	return &q
}

// choose sets a key that nobody wrote to a choice.
func (p *Problem) choose(c choose.Choice) {
	if !p.silent(c.Key) {
		return
	}
	at := reflect.ValueOf(p).Elem()
	for name := range strings.SplitSeq(c.Key, ".") {
		if options, ok := at.Interface().(score.Options); ok {
			options = maps.Clone(options) // other problems have it too
			if options == nil {
				options = score.Options{}
			}
			options[name] = c.Value.(float64)
			at.Set(reflect.ValueOf(options))
			p.chosen = appended(p.chosen, c)
			return
		}
		f, ok := sets.Field(at.Type(), name)
		if !ok {
			panic(fmt.Sprintf("problem: there is no key %s", c.Key))
		}
		at = at.FieldByIndex(f.Index)
	}
	at.Set(reflect.ValueOf(c.Value).Convert(at.Type()))
	if c.Key == KeyNetworkKind {
		p.NetworkKind, _ = networks.Of(p.Network.Kind)
	}
	p.chosen = appended(p.chosen, c)
}

// appended returns choices with c, which replaces another choice for its key.
func appended(chosen []choose.Choice, c choose.Choice) []choose.Choice {
	return append(slices.DeleteFunc(chosen, func(old choose.Choice) bool { return old.Key == c.Key }), c)
}

// chooseKind gives data.kind, where nothing is written, the kind that the points of the set are of: motions of an arm,
// or conformations of a molecule, but in a table. Run folders hold the key.
func chooseKind(p *Problem, set constraint.Set) {
	if !p.silent(KeyDataKind) {
		return
	}
	free := constraint.At(set, make([]float64, len(set.Capabilities().Held)))
	if k, ok := kinds.WithEnds(set); ok {
		if _, fits := kinds.Of(k.Data, free); fits {
			p.choose(choose.Choice{Key: KeyDataKind, Value: k.Data, Reason: "points of the set are motions of an arm"})
		}
		return
	}
	ext := strings.ToLower(filepath.Ext(p.Data.Path))
	frames := ext == "" || slices.Contains(formats.Extensions, ext) // a table of numbers has points
	_, positions := constraint.As[*conformation.Set](free)
	if _, ok := constraint.As[*conformation.Internal](free); (ok || positions) && frames {
		if _, fits := kinds.Of(molecules.Kind.Data, free); fits {
			p.choose(choose.Choice{Key: KeyDataKind, Value: molecules.Kind.Data,
				Reason: "points of the set are conformations of a molecule"})
		}
	}
}

// chooseSequence gives points that are steps of a sequence, as their set says, other defaults: a temporal network
// over the steps, and what learns with it (docs/history/arms.md measures both). Keys that are written stay. With one
// of the MLP's, network.width or network.layers, everything does; so do run folders, which hold all keys.
// Lengths, the window and how far paths go, are of cosines and sines.
func chooseSequence(p *Problem, set constraint.Set) {
	if !p.Leaves() || set.Capabilities().Steps < 2 || !p.silent(KeyNetworkWidth) ||
		!p.silent(KeyNetworkLayers) || !p.silent(KeyNetworkKind) && p.Network.Kind != "temporal" {
		return
	}
	const reason = "points of the set are steps of a sequence"
	if set.Capabilities().StepNames != nil { // in any unit: lengths follow from the data
		p.choose(choose.Choice{Key: KeyNetworkKind, Value: "temporal", Reason: reason})
		return
	}
	times := 16
	if !p.silent(KeyProcessSteps) {
		times = min(times, p.Process.Steps)
	}
	for _, d := range []struct {
		key   string
		value any
	}{
		{KeyNetworkKind, "temporal"}, {KeyNetworkTimeOctaves, 5}, {KeyNetworkOutput, "balanced"},
		{KeyProcessSteps, 100}, {KeyProcessHorizon, 0.2},
		{KeyTrainEpochs, 300}, {KeyTrainBatch, 80}, {KeyTrainRefresh, 20}, {KeyTrainTimesPerPath, times},
		{KeyTrainWindow, 0.1}, {KeyTrainOptimizer, "muon"}, {KeyTrainPrecision, "bfloat16"},
		{"train.learning_rate", 0.005}, {KeyTrainAnneal, 0.7},
	} {
		if d.key != KeyTrainEpochs || p.Train.Epochs > 0 { // else something else ends the training
			p.choose(choose.Choice{Key: d.key, Value: d.value, Reason: reason})
		}
	}
}

// Chosen are the keys whose values follow from the set, of a problem that was built.
func (a asked) Chosen() []choose.Choice { return a.chosen }

// A Choice is a number, or the word auto, which leaves it to the program (docs/problem-file.md says by which rule).
// Files cannot hold NaN; here it stands for auto.
type Choice float64

// Auto is the Choice that is left to the program.
var Auto = Choice(math.NaN())

// IsAuto reports whether the choice is left to the program.
func (c Choice) IsAuto() bool { return math.IsNaN(float64(c)) }

func (c Choice) String() string {
	if c.IsAuto() {
		return "auto"
	}
	return fmt.Sprint(float64(c))
}

// MarshalYAML writes the number or auto.
func (c Choice) MarshalYAML() (any, error) {
	if c.IsAuto() {
		return "auto", nil
	}
	return float64(c), nil
}

// UnmarshalYAML reads a number or auto.
func (c *Choice) UnmarshalYAML(decode func(any) error) error {
	var word string
	if decode(&word) == nil && word == "auto" {
		*c = Auto
		return nil
	}
	return decode((*float64)(c))
}

// AutoPrior is the prior that is left to the program.
const AutoPrior = "auto"

// RepulsionIsAuto reports whether process.repulsion is left to the program with walls that repel, or without: where
// the file says auto, and with such walls where it says nothing.
func (p *Problem) RepulsionIsAuto(repels bool) bool {
	return p.Process.Repulsion.IsAuto() || p.silent(KeyProcessRepulsion) && repels
}

// StepIsAuto reports whether sample.step is left to the program: where the file says auto, or nothing.
func (p *Problem) StepIsAuto() bool { return p.Sample.Step.IsAuto() || p.silent("sample.step") }

// Noise returns what the file says of its schedule and friction.
func Noise(p *Problem, underdamped bool) choose.Noise {
	n := choose.Noise{Steps: p.Process.Steps, Horizon: p.Process.Horizon, Min: p.Process.Sigma.Min,
		Max: p.Process.Sigma.Max, Friction: p.Process.Friction, Geometric: p.Process.Sigma.Schedule == "geometric",
		Underdamped: underdamped}
	// Backward steps of the paper's underdamped methods can split their noise, in the convention that it is known in.
	m, err := langevin.ParseMethod(p.Process.Method)
	n.Splits = err == nil && m.Underdamped() && p.Convention == langevin.Reference.String()
	if p.Left(KeyProcessSteps) {
		n.Steps = 0
	}
	for key, to := range map[string]*float64{"horizon": &n.Horizon, "sigma.min": &n.Min, "sigma.max": &n.Max,
		"friction": &n.Friction} {
		if p.Left("process." + key) {
			*to = 0
		}
	}
	return n
}
