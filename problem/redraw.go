package problem

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
)

// drawKeys are the keys of generation that a network which was trained without them still serves: what brings a
// backward step to Σ, what walls do to it, where paths begin, and limits. langevin.Process.CanDraw says which values.
var drawKeys = []string{
	KeyProcessMethod, optionKeys, KeyProcessSteps, KeyProcessLandingMode, KeyProcessLandingRate, KeyProcessWalls,
	KeyProcessRepulsion, KeyProcessCurvature, KeyProcessTerminalProjection, KeyProcessNoise, KeyPrior,
	"uniform.max_rhat", "uniform.max_steps", KeyGenerateMaxFailed, "generate.max_violation", KeyGenerateGuidance,
	KeyGenerateEvaluations, "generate.repair",
}

// optionKeys are all keys of a method's own, whose names it says.
const optionKeys = "process.options"

// trainedKeys say of other keys, by what they begin with, why they take another training.
var trainedKeys = []reason{
	{KeyProcessFriction, "the score was learned for this friction"},
	{KeyProcessHorizon, "the score was learned for these times"},
	{"process.sigma", "the score was learned at these noise levels"},
	{"process", "the score was learned with it"},
	{KeyConvention, "the score was learned with it"},
	{"potential", "the score was learned for this f"},
	{"network", "the weights are those of this network"},
	{"train", "it says how the network was trained"},
	{"data", "the network has learned this data"},
	{"condition", "the network has learned with it"},
	{"set", "the network has learned points of this set"},
	{"seed", "it is that of the training (that of samples is --seed)"},
	{"sample", "it is a key of landing mcmc"},
}

// A Drawn is a key of generation as samples were drawn by it.
type Drawn struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	Own   any    `json:"own"` // of the run
}

// Changed reports whether the value is another than the run's.
func (d Drawn) Changed() bool { return d.Value != d.Own }

func (d Drawn) String() string { return fmt.Sprintf("%s=%v", d.Key, d.Value) }

// Changed returns those that are not the run's, as key=value.
func Changed(drawn []Drawn) []string {
	var out []string
	for _, d := range drawn {
		if d.Changed() {
			out = append(out, d.String())
		}
	}
	return out
}

// Redraw returns the problem, which is that of a run, with settings that need no training. Other keys are a *KeyError.
func (p *Problem) Redraw(settings Settings) (*Problem, error) {
	q := trained(p)
	if err := settings.only(q, drawKeys, trainedKeys, "it is no key of generation",
		"it takes another training: %s. Keys that take none: %s"); err != nil {
		return nil, err
	}
	written := q.origin
	q.origin = joined(p.origin, written)
	if paper := langevin.PaperWalls.String(); q.Process.Walls == paper && p.Process.Walls != paper &&
		written[KeyProcessRepulsion] == "" {
		q.Process.Repulsion = Auto // the run's was of no use to it
	}
	return q, nil
}

// checkUsed returns a *KeyError if a setting changes what proc, which draws, does not look at.
func checkUsed(p *Problem, settings []Drawn, proc *langevin.Process) error {
	for _, s := range settings {
		why, _ := noEffect(p, s.Key, proc)
		if why != "" && s.Changed() && strings.HasPrefix(p.origin[s.Key], settingOrigin) {
			return &KeyError{Origin: p.origin[s.Key], Key: s.Key, Fault: "it changes nothing: " + why}
		}
	}
	return nil
}

// BuildRedraw is Build for a problem of Redraw: it looks at the keys of generation.
func (p *Problem) BuildRedraw() (*langevin.Process, error) {
	as := p.Clone()
	as.Train = Defaults().Train // its bounds depend on the process, and were checked
	maps.DeleteFunc(as.origin, func(key, _ string) bool { return strings.HasPrefix(key, "train.") })
	return as.Build()
}

// Redrawn returns m as it generates by proc, the process of a problem of Redraw.
func (p *Problem) Redrawn(m method.Method, proc *langevin.Process) (method.Method, error) {
	next, err := p.Method(proc)
	if err != nil {
		return nil, err
	}
	can := m.Capabilities()
	if can.Recast != nil {
		out, err := can.Recast(next)
		return out, placed(p, err)
	}
	if next.Name() != m.Name() && (can.Follows == nil || next.Capabilities().Follows == nil) {
		return nil, p.key(KeyProcessMethod, p.Process.Method, "a method that draws by what "+m.Name()+" has learned: "+
			"another process is learned for "+next.Name())
	}
	if can.Redraw == nil {
		return nil, &KeyError{Origin: "--set", Key: "process", Fault: fmt.Sprintf(
			"the method %s draws samples in one way only", m.Name())}
	}
	out, err := can.Redraw(proc)
	if err != nil {
		return nil, placed(p, err)
	}
	return p.Generate.counted(p.origins, out)
}

// Drawn returns what q, which Redraw made of p, draws by: the keys that were set, and those that became others with
// them. Both are resolved, and proc is q's process. A change that changes nothing is a *KeyError.
func (p *Problem) Drawn(q *Problem, proc *langevin.Process) ([]Drawn, error) {
	own, by := plain(p.Resolved()), plain(q.Resolved())
	out := []Drawn{}
	keys := slices.DeleteFunc(slices.Clone(drawKeys), func(key string) bool { return key == optionKeys })
	for _, name := range slices.Sorted(maps.Keys(joined(p.Process.Options, q.Process.Options))) {
		keys = append(keys, optionKeys+"."+name)
	}
	for _, key := range keys {
		s := Drawn{key, at(by, key), at(own, key)}
		if key == KeyProcessMethod { // by the name that all ways of writing it have
			s.Value, s.Own = q.MethodKind.Name, p.MethodKind.Name
		}
		if s.Changed() || strings.HasPrefix(q.origin[key], settingOrigin) {
			out = append(out, s)
		}
	}
	return out, checkUsed(q, out, proc)
}

// plain returns a resolved problem as nested maps.
func plain(resolved []byte) map[string]any {
	var m map[string]any
	if err := yaml.Unmarshal(resolved, &m); err != nil {
		panic("problem: " + err.Error()) // what Resolved wrote
	}
	return m
}

// at returns the value of a key, numbers as float64; nil if it is not there.
func at(m map[string]any, key string) any {
	first, rest, more := strings.Cut(key, ".")
	if more {
		inner, _ := m[first].(map[string]any)
		return at(inner, rest)
	}
	switch v := m[first].(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	default:
		return v
	}
}

// joined returns a map with the entries of a later one in their place.
func joined[M ~map[string]V, V any](before, after M) M {
	out := M{}
	maps.Copy(out, before)
	maps.Copy(out, after)
	return out
}

// A reason says why keys with this beginning stay as they are.
type reason struct{ prefix, why string }

// only puts the settings in place in p, with where each key comes from in p.origin. A key that is not one of may is a
// *KeyError of this wording, of the reason, otherwise if none is known, and the keys that may.
func (s Settings) only(p *Problem, may []string, reasons []reason, otherwise, wording string) error {
	p.origin = map[string]string{}
	for _, one := range s {
		if err := one.apply(p); err != nil {
			return err
		}
	}
	keys := slices.Sorted(maps.Keys(p.origin))
	for i, key := range keys {
		part := i+1 < len(keys) && strings.HasPrefix(keys[i+1], key+".") // its own keys are looked at
		option := strings.HasPrefix(key, optionKeys+".") && slices.Contains(may, optionKeys)
		if part || option || slices.Contains(may, key) {
			continue
		}
		why := otherwise
		for _, r := range slices.Backward(reasons) { // the first that fits
			if key == r.prefix || strings.HasPrefix(key, r.prefix+".") {
				why = r.why
			}
		}
		return &KeyError{Origin: p.origin[key], Key: key, Fault: fmt.Sprintf(wording, why, strings.Join(may, ", "))}
	}
	return nil
}

// extendKeys are the keys with which a run can be gone on: how long, and what is done on the
// way. What was learned, and how, stays.
var extendKeys = []string{
	KeyTrainEpochs, KeyTrainMaxSeconds, KeyTrainAnneal, "train.evaluate_every", "train.checkpoint_every",
	KeyTrainMaxFailed, "mpi.exact",
}

// extendFaults say, by the first word of other keys, why training cannot continue with another value.
var extendFaults = []reason{
	{"train", "what was trained, was trained with it"},
	{"network", "the weights are those of this network"},
	{KeyPrior, "it takes no training: --set of landing generate, eval and report"},
	{"uniform", "it takes no training: --set of landing generate, eval and report"},
	{"generate", "it takes no training: --set of landing generate, eval and report"},
}

// An Extension is what of the settings of Extend is new to the training.
type Extension struct {
	Longer  bool    // epochs or seconds were set
	Seconds float64 // the budget from there on; 0: none
}

// Extend returns the problem, which is that of a run, with settings for a training that goes on. Epochs replace a
// budget. A budget replaces the epochs, and counts from there on. Other keys are a *KeyError. Build checks the values.
func (p *Problem) Extend(settings Settings) (*Problem, Extension, error) {
	var x Extension
	q := trained(p)
	if err := settings.only(q, extendKeys, extendFaults, "the score was learned with it",
		"a run cannot continue with another value: %s. Keys that may change: %s"); err != nil {
		return nil, x, err
	}
	written := func(key string) bool { return q.origin[key] != "" }
	x.Longer = written(KeyTrainEpochs) || written(KeyTrainMaxSeconds)
	switch {
	case !x.Longer && written(KeyTrainAnneal):
		return nil, x, &KeyError{Origin: q.origin[KeyTrainAnneal], Key: KeyTrainAnneal,
			Fault: "it says how the rate falls until the end; expected it with train.epochs or --for"}
	case !x.Longer:
	case !written(KeyTrainMaxSeconds):
		q.Train.MaxSeconds = 0
	case !written(KeyTrainEpochs):
		q.Train.Epochs = 0
	}
	if x.Longer {
		x.Seconds = q.Train.MaxSeconds
	}
	q.origin = joined(p.origin, q.origin)
	return q, x, nil
}

// A Given is a key that somebody wrote, and where: a line of the problem file, or --set.
type Given struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	From  string `json:"from"`
}

// Wrote reports whether the value of a key is the user's: of a file or a setting, and not of a recipe or the program.
func (p *Problem) Wrote(key string) bool {
	return p.origin[key] != "" && !strings.HasPrefix(p.origin[key], "recipe ")
}

// Written returns the keys that somebody wrote, in order, with their values and where each is from: a line of a file,
// or a setting. Those of set, observe and variants are left out: what they describe has no defaults. resolved is what
// Resolved returns.
func (p *Problem) Written(resolved []byte) []Given {
	keys := slices.Sorted(maps.Keys(p.origin))
	values := plain(resolved)
	out := []Given{}
	for _, key := range keys {
		group, _, _ := strings.Cut(key, ".")
		group, _, _ = strings.Cut(group, "[")
		inside := func(k string) bool { return strings.HasPrefix(k, key+".") || strings.HasPrefix(k, key+"[") }
		if slices.Contains([]string{"set", "observe", "variants"}, group) || slices.ContainsFunc(keys, inside) {
			continue
		}
		from := p.origin[key]
		if strings.HasPrefix(from, settingOrigin) {
			from = strings.TrimSpace(settingOrigin)
		}
		out = append(out, Given{Key: key, Value: at(values, key), From: from})
	}
	return out
}
