package problem

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/landing-diffusion/landing/docs"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/problem/sets"
)

// SchemaFile is the name of the schema of problem files where landing init puts it, beside the problem file, and
// SchemaLine is the first line of problem files that editors find it by. The place is relative: it holds wherever the
// folder is moved or copied to, and without a network.
const (
	SchemaFile = "landing.schema.json"
	SchemaLine = "# yaml-language-server: $schema=" + SchemaFile
)

// A Key is a key of a problem file outside its set: what its page, its checks, its schema and the completion of shells
// have in common.
type Key struct {
	Name    string // "train.batch"; "observe[].name" of the entries of a list
	Type    reflect.Type
	Default string // as docs/problem-file.md says; may be words
	Doc     string // likewise, in Markdown without links
	Words   []string
	Range   *sets.Range // of a number, or of each number of a list

	index []int // of the field of a Problem; nil of the entries of a list
}

// registered are the words of keys that name members of registries.
var registered = map[string]func() []string{
	KeyDataKind:    kinds.Names,
	KeyNetworkKind: networks.Names,
	KeyProcessMethod: func() (all []string) {
		for _, k := range methods.All {
			if all = append(all, k.Name); k.Alias != "" {
				all = append(all, k.Alias)
			}
		}
		return all
	},
}

// AnyCase reports whether the words of a key may be written in any case: ulla is ULLA.
func AnyCase(key string) bool { return key == KeyProcessMethod || key == "sample.method" }

// visit calls f with the field of every key of a struct, but for those of sets and of entries of lists; its index is
// that in the struct.
func visit(t reflect.Type, prefix string, f func(key string, field reflect.StructField)) {
	for name, s := range sets.Fields(t) {
		if s.Type.Kind() != reflect.Struct || s.Type == reflect.TypeFor[sets.Set]() {
			f(prefix+name, s)
			continue
		}
		visit(s.Type, prefix+name+".", func(key string, inner reflect.StructField) {
			inner.Index = slices.Concat(s.Index, inner.Index)
			f(key, inner)
		})
	}
}

// Keys returns the keys outside set and variants, in the order of files. Those of lists have "[]" behind the list's.
func Keys() []Key { return allKeys() }

var allKeys = sync.OnceValue(func() (out []Key) {
	page := described()
	add := func(key string, f reflect.StructField, index []int) {
		k := Key{Name: key, Type: f.Type, Default: page[key].fallback, Doc: page[key].doc, Words: sets.Words(f),
			Range: sets.Bounds(f), index: index}
		if names, ok := registered[key]; ok {
			k.Words = names()
		}
		out = append(out, k)
	}
	visit(reflect.TypeFor[Problem](), "", func(key string, f reflect.StructField) {
		if key == "set" || key == "variants" {
			return
		}
		add(key, f, f.Index)
		if f.Type == reflect.TypeFor[[]Observe]() {
			visit(f.Type.Elem(), key+"[].", func(key string, f reflect.StructField) { add(key, f, nil) })
		}
	})
	return out
})

// A row is what the page says of a key.
type row struct{ fallback, doc string }

var (
	link   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	quoted = regexp.MustCompile("`([a-z0-9_.]+)`")
)

// described reads the tables of keys in docs/problem-file.md, which begin with a header of key, default and meaning.
// The table below Observables is of the entries of observe. A row may hold several keys.
func described() map[string]row {
	out := map[string]row{}
	prefix, inTable := "", false
	for line := range strings.Lines(docs.ProblemFile) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok && title == "Observables" {
			prefix = "observe[]."
		}
		inTable = line == "| key | default | meaning |" || inTable && line != ""
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if !inTable || len(cells) != 5 {
			continue
		}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(link.ReplaceAllString(cells[i], "$1")), "\x00", "|")
		}
		names := quoted.FindAllStringSubmatch(cells[1], -1)
		defaults := strings.Split(cells[2], ", ")
		for i, name := range names {
			r := row{cells[2], cells[3]}
			if len(defaults) == len(names) { // each its own
				r.fallback = defaults[i]
			}
			out[prefix+name[1]] = r
		}
	}
	return out
}

// Describe returns what docs/problem-file.md says of a key, such as "set.kind" or "variants", without links.
func Describe(key string) string { return described()[key].doc }

// DrawKeys are the keys by which samples of a trained run may be drawn otherwise, and ExtendKeys those with which a
// training goes on.
func DrawKeys() []string { return slices.Clone(drawKeys) }

// ExtendKeys are as DrawKeys says.
func ExtendKeys() []string { return slices.Clone(extendKeys) }

// Keys of problem files that are named in more than one place. Keys lists all.
const (
	KeyDataPath                  = "data.path"
	KeyDataKind                  = "data.kind"
	KeyConditionColumns          = "condition.columns"
	KeyProcessMethod             = "process.method"
	KeyProcessSteps              = "process.steps"
	KeyProcessHorizon            = "process.horizon"
	KeyProcessSigmaMin           = "process.sigma.min"
	KeyProcessSigmaMax           = "process.sigma.max"
	KeyProcessFriction           = "process.friction"
	KeyProcessLandingMode        = "process.landing.mode"
	KeyProcessLandingRate        = "process.landing.rate"
	KeyProcessWalls              = "process.walls"
	KeyProcessRepulsion          = "process.repulsion"
	KeyProcessCurvature          = "process.curvature"
	KeyProcessNoise              = "process.noise"
	KeyProcessTerminalProjection = "process.terminal_projection"
	KeyNetworkKind               = "network.kind"
	KeyNetworkWidth              = "network.width"
	KeyNetworkLayers             = "network.layers"
	KeyNetworkOutput             = "network.output"
	KeyNetworkTime               = "network.time"
	KeyNetworkTimeOctaves        = "network.time_octaves"
	KeyNetworkOctavesOf          = "network.octaves_of"
	KeyTrainEpochs               = "train.epochs"
	KeyTrainBatch                = "train.batch"
	KeyTrainRefresh              = "train.refresh"
	KeyTrainPaths                = "train.paths"
	KeyTrainPreparation          = "train.preparation"
	KeyTrainTimesPerPath         = "train.times_per_path"
	KeyTrainWindow               = "train.window"
	KeyTrainOptimizer            = "train.optimizer"
	KeyTrainPrecision            = "train.precision"
	KeyTrainAnneal               = "train.anneal"
	KeyTrainMaxFailed            = "train.max_failed"
	KeyTrainMaxSeconds           = "train.max_seconds"
	KeyTrainStop                 = "train.stop"
	KeyPrior                     = "prior"
	KeyConvention                = "convention"
	KeyGenerateGuidance          = "generate.guidance"
	KeyGenerateEvaluations       = "generate.evaluations"
	KeyGenerateMaxFailed         = "generate.max_failed"
	KeyPotentialKind             = "potential.kind"
)

// A Setting gives a key a value, over what the problem file says.
type Setting struct {
	Key   string
	Value any // a number, text, bool or list; ParseSettings leaves what stands behind the "="
}

// Settings are applied in order.
type Settings []Setting

// ParseSettings reads texts of the form key=value. Load, Redraw and Extend return the error if one is not.
func ParseSettings(texts ...string) Settings {
	var out Settings
	for _, text := range texts {
		s := Setting{Key: text}
		if key, value, ok := strings.Cut(text, "="); ok {
			s = Setting{key, Literal(value)}
		}
		out = append(out, s)
	}
	return out
}

// Texts returns the settings in the form key=value.
func (s Settings) Texts() []string {
	out := make([]string, len(s))
	for i, setting := range s {
		out[i] = setting.String()
	}
	return out
}

func (s Setting) String() string {
	if s.Value == nil { // a text without "="
		return s.Key
	}
	if v, ok := s.Value.(string); ok {
		return s.Key + "=" + v
	}
	return s.Key + "=" + s.value()
}

// value returns the value as YAML.
func (s Setting) value() string {
	if v, ok := s.Value.(fmt.Stringer); ok { // Literal and Choice
		return v.String()
	}
	text, err := json.Marshal(s.Value) // JSON is YAML
	if err != nil {
		return fmt.Sprint(s.Value)
	}
	return string(text)
}

// apply puts a setting over what the problem says, and notes where its keys come from.
func (s Setting) apply(p *Problem) error {
	value := s.value()
	if s.Value == nil || s.Key == "" || strings.ContainsAny(s.Key, " :{}[],#&*!|>'\"%@`\n") ||
		strings.Contains(value, "\n") {
		return &KeyError{Origin: "--set", Key: "setting", Value: s.String(), Want: "key=value, as in train.epochs=500"}
	}
	parts := strings.Split(s.Key, ".")
	layer := strings.Join(parts, ": {") + ": " + value + strings.Repeat("}", len(parts)-1)
	origin := settingOrigin + s.String() // one string for each number of a long list
	return p.merge([]byte(layer), func(int) string { return origin })
}

// settingOrigin begins the origin of a key that a setting wrote.
const settingOrigin = "--set "

// Clone returns a copy that shares nothing with p. A set is a value, which nothing changes.
func (p *Problem) Clone() *Problem {
	q := *p
	q.Condition.Columns = slices.Clone(p.Condition.Columns)
	q.Observe = slices.Clone(p.Observe)
	for i, o := range q.Observe {
		q.Observe[i].Let, q.Observe[i].Range = slices.Clone(o.Let), slices.Clone(o.Range)
	}
	for _, list := range []*[]float64{&q.Potential.Center, &q.Potential.Weight, &q.Potential.B, &q.Network.Center,
		&q.Network.Scales} {
		*list = slices.Clone(*list)
	}
	q.Process.Options, q.Network.Options = maps.Clone(p.Process.Options), maps.Clone(p.Network.Options)
	q.Variants, q.chosen, q.settings = maps.Clone(p.Variants), slices.Clone(p.chosen), slices.Clone(p.settings)
	q.origin, q.layer, q.written = maps.Clone(p.origin), maps.Clone(p.layer), maps.Clone(p.written)
	for name, keys := range q.written {
		q.written[name] = maps.Clone(keys)
	}
	return &q
}

// trained returns a copy of a run's problem that leaves nothing to the program.
func trained(p *Problem) *Problem {
	q := p.Clone()
	q.Defaults, q.chosen = FixedDefaults, nil
	return q
}
