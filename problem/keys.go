package problem

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/landing-diffusion/landing/docs"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
	"github.com/landing-diffusion/landing/langevin"
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
	Range   *Range // of a number, or of each number of a list
}

// A Range bounds a number. What a number may be besides may depend on other keys.
type Range struct {
	Low, High float64
	Over      bool // Low itself is not in it
	Below     bool // nor is High
	Or0       bool // or 0, which stands for a default
	Written   bool // it bounds what somebody wrote: the value of a key that nobody wrote is another
}

// Has reports whether a number is in the range.
func (r Range) Has(v float64) bool {
	if r.Or0 && v == 0 {
		return true
	}
	return v >= r.Low && v <= r.High && !(r.Over && v == r.Low) && !(r.Below && v == r.High)
}

// String says what is expected.
func (r Range) String() string {
	const large = 1e9 // from here on High is no bound that anybody meets
	s := ""
	switch {
	case r.Low == -r.High && r.High > large:
		s = fmt.Sprintf("numbers of at most 1e%.0f", math.Log10(r.High))
	case r.Over && r.High > large && r.High < math.Inf(1):
		s = fmt.Sprintf("a number above %v and at most 1e%.0f", r.Low, math.Log10(r.High))
	case r.Over && r.High > large:
		s = fmt.Sprintf("a number above %v", r.Low)
	case r.High >= large && !r.Or0 && r.Low == 0:
		s = "a number of at least 0"
	case r.High > large && r.High == math.Inf(1):
		s = fmt.Sprintf("a number of at least %v", r.Low)
	case r.Over:
		s = fmt.Sprintf("a number above %v and at most %v", r.Low, r.High)
	case r.Below:
		s = fmt.Sprintf("a share of at least %v and below %v", r.Low, r.High)
	case r.High >= large:
		s = fmt.Sprintf("a number in [%v, 1e%.0f]", r.Low, math.Log10(r.High))
	default:
		s = fmt.Sprintf("a number in [%v, %v]", r.Low, r.High)
	}
	if r.Or0 {
		s = "0, or " + s
	}
	return s
}

// most bounds numbers that have no bound of their own.
const most = 1e15

// ranges are the bounds of numbers that no other key decides.
var ranges = func() map[string]Range {
	over0 := Range{Low: 0, High: most, Over: true}
	least0 := Range{Low: 0, High: most}
	share := Range{Low: 0, High: 1}
	open := Range{Low: 0, High: math.Inf(1)}
	octaves := Range{Low: 0, High: maxOctaves}
	almost1 := Range{Low: 0, High: 0.9999999}
	length := Range{Low: 0, High: math.Inf(1), Over: true}
	return map[string]Range{
		"data.tolerance":        over0,
		"condition.drop":        {Low: 0, High: 1, Below: true},
		"observe[].bins":        {Low: 0, High: maxBins},
		"potential.temperature": {Low: 0, High: amber.MaxKelvin, Over: true, Or0: true},

		"process.steps": {Low: 1, High: langevin.MaxSteps}, "process.horizon": length,
		"process.sigma.min": length, "process.sigma.max": length, "process.friction": open,
		"process.landing.rate": open, "process.repulsion": open,

		"network.width": over0, "network.layers": {Low: 0, High: maxLayers, Over: true},
		"network.wavelength": over0, "network.octaves": octaves, "network.time_octaves": octaves,
		"network.center": {Low: -most, High: most}, "network.unit": {Low: 1 / most, High: most, Written: true},

		"train.epochs": least0, "train.batch": over0, "train.refresh": over0, "train.paths": least0,
		"train.times_per_path": least0, "train.window": least0, "train.learning_rate": over0, "train.anneal": share,
		"train.clip": least0, "train.average": almost1, "train.max_failed": share,
		"train.checkpoint_every": {Low: 0, High: 1e9}, "train.evaluate_every": least0,
		"train.max_seconds":    {Low: minSeconds, High: maxSeconds, Or0: true},
		"train.plateau.factor": almost1, "train.plateau.patience": least0, "train.plateau.threshold": share,
		"train.plateau.cooldown": least0, "train.plateau.min_rate": least0,

		"uniform.max_rhat":  {Low: 1, High: math.Inf(1)},
		"uniform.max_steps": {Low: 256, High: 1e9},

		"generate.max_failed": share, "generate.max_violation": least0, "generate.evaluations": least0,
		"generate.guidance": {Low: -1, High: 100},

		"sample.step": over0, "sample.chains": over0, "sample.draws": over0, "sample.thin": over0,
		"sample.burn": {Low: 0, High: 1e12}, "sample.max_violation": open, "sample.leaps": {Low: 0, High: 1e6},
		"sample.max_failed": share, "sample.max_rhat": {Low: 1, High: most, Or0: true},
	}
}()

// words are what texts may be, by key.
var words = map[string]func() []string{
	"convention": listed("paper", "reference"),
	"defaults":   listed(AutoDefaults, FixedDefaults),
	"data.kind":  kinds.Names,
	"prior":      listed("uniform", "empirical", AutoPrior),

	"potential.kind":     listed("zero", "quadratic", "linear", "formula", "amber"),
	"potential.solvent":  listed("obc2", "obc2-polar", "vacuum"),
	"potential.molecule": listed(builtIn),

	"process.method": func() (all []string) {
		for _, k := range methods.All {
			if all = append(all, k.Name); k.Alias != "" {
				all = append(all, k.Alias)
			}
		}
		return all
	},
	"process.sigma.schedule": listed("linear", "geometric"),
	"process.landing.mode":   listed("implicit", "explicit"),
	"process.walls":          listed("elastic", "paper"),
	"process.noise":          listed("late", "split"),

	"network.kind":       networks.Names,
	"network.octaves_of": listed("point", "start"),
	"network.time":       listed("raw", "share"),
	"network.output":     listed("plain", "scaled", "balanced"),

	"train.optimizer": listed("adam", "muon"),
	"train.precision": listed("float32", "bfloat16x3", "bfloat16"),
	"train.clock":     listed("wall", "processor"), // the latter not everywhere: clocks
	"train.stop":      listed("epochs", "held_out", "held_out_loss"),

	"sample.method":  listed("splitting", "chmc", "ULLA", "OLLA", "ULLA-P", "OLLA-P", "RDDPM"),
	"sample.measure": listed("surface", "level"),
}

func listed(words ...string) func() []string { return func() []string { return words } }

// word returns a *KeyError unless a text is one of those that its key may have.
func (o origins) word(key, value string) error { return o.oneOf(key, value, words[key]()...) }

// AnyCase reports whether the words of a key are told apart by their letters alone: ulla is ULLA.
func AnyCase(key string) bool { return key == "process.method" || key == "sample.method" }

// checkRanges returns a *KeyError if a number is out of its range.
func checkRanges(p *Problem) error {
	var err error
	v := reflect.ValueOf(p).Elem()
	visit(v.Type(), "", func(key string, index []int, t reflect.Type) {
		r, ok := ranges[key]
		f := v.FieldByIndex(index)
		if !ok || err != nil || r.Written && p.origin[key] == "" && f.IsZero() {
			return
		}
		if c, ok := f.Interface().(Choice); ok && c.IsAuto() {
			return
		}
		want := r.String()
		if t == reflect.TypeFor[Choice]() {
			want = "auto, or " + want
		}
		switch {
		case f.CanInt() && !r.Has(float64(f.Int())), f.CanFloat() && !r.Has(f.Float()):
			err = p.key(key, f.Interface(), want)
		case f.Kind() == reflect.Slice:
			for i := range f.Len() {
				if v := f.Index(i).Float(); !r.Has(v) && err == nil {
					err = p.key(key, v, want)
				}
			}
		}
	})
	return err
}

// visit calls f with every key of a struct, but for those of sets and of entries of lists; index is as of
// reflect.Value.FieldByIndex.
func visit(t reflect.Type, prefix string, f func(key string, index []int, t reflect.Type)) {
	for i := range t.NumField() {
		s := t.Field(i)
		if !s.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(s.Tag.Get("yaml"), ",")
		if s.Type.Kind() == reflect.Struct && s.Type != reflect.TypeFor[sets.Set]() {
			visit(s.Type, prefix+name+".", func(key string, index []int, t reflect.Type) {
				f(key, append([]int{i}, index...), t)
			})
			continue
		}
		f(prefix+name, []int{i}, s.Type)
	}
}

// Keys returns the keys outside set and variants, in the order of files. Those of lists have "[]" behind the list's.
func Keys() []Key { return allKeys() }

var allKeys = sync.OnceValue(func() (out []Key) {
	page := described()
	add := func(key string, t reflect.Type) {
		k := Key{Name: key, Type: t, Default: page[key].fallback, Doc: page[key].doc}
		if r, ok := ranges[key]; ok {
			k.Range = &r
		}
		if w, ok := words[key]; ok {
			k.Words = w()
		}
		out = append(out, k)
	}
	visit(reflect.TypeFor[Problem](), "", func(key string, _ []int, t reflect.Type) {
		if key == "set" || key == "variants" {
			return
		}
		add(key, t)
		if t == reflect.TypeFor[[]Observe]() {
			visit(t.Elem(), key+"[].", func(key string, _ []int, t reflect.Type) { add(key, t) })
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

// described reads the tables of docs/problem-file.md: the first one is of all keys, that below Observables of the
// entries of observe. A row may be of several keys.
func described() map[string]row {
	out := map[string]row{}
	prefix := ""
	for line := range strings.Lines(docs.ProblemFile) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			switch strings.TrimSpace(title) {
			case "Observables":
				prefix = "observe[]."
			default:
				prefix = "-" // other tables are of something else
			}
		}
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|")
		if prefix == "-" || len(cells) != 5 {
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
			if key := prefix + name[1]; out[key] == (row{}) {
				out[key] = r
			}
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
