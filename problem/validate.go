package problem

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/domain/molecules"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/problem/sets"
)

const (
	maxParameters = 1e9
	nameLetters   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

const conditionKey = "condition.path"

// maxColumns bounds the numbers of a condition.
const maxColumns = 256

// Points whose geometry is held at once, and a bound on their Jacobians.
const (
	jacobianRows = 64
	maxJacobian  = 2e8
)

// checkColumns returns a *KeyError if the name of a condition is none that formulas can use.
func checkColumns(p *Problem) error {
	names := p.Condition.Columns
	if len(names) > maxColumns {
		return p.key(KeyConditionColumns, len(names), fmt.Sprintf("at most %d names", maxColumns))
	}
	var fault *expr.Error
	if _, err := expr.NewScopeOf(expr.NewGraph(len(names)), names); errors.As(err, &fault) {
		return p.fault(KeyConditionColumns, "%q: %s", fault.Name, fault.Message)
	}
	return nil
}

// check returns a *KeyError if there is no such condition on a set, or no such guidance by it.
func (c Condition) check(o origins, set constraint.Set, guidance float64) error {
	held := len(set.Capabilities().Held)
	if held != len(c.Columns) {
		return o.key(KeyConditionColumns, c.Columns, fmt.Sprintf("%d names: %s leaves as many numbers to a condition",
			held, constraint.Name(set)))
	}
	if held == 0 {
		switch {
		case c.Path != "":
			return o.key(KeyConditionColumns, nil, "names of the columns of "+c.Path)
		case c.Drop != 0:
			return o.key("condition.drop", c.Drop, "no such key: there is no condition (condition.columns)")
		case guidance != 0:
			return o.key(KeyGenerateGuidance, guidance, "0: there is no condition to be guided by")
		}
		return nil
	}
	for k, at := range set.Capabilities().Held {
		if want := set.Dim() - held + k; at != want {
			return o.key("set", nil, fmt.Sprintf("a set whose open numbers stand last, such as a product with "+
				"the factor that has them at its end: coordinate %d of %s is one, and others follow",
				at, constraint.Name(set)))
		}
	}
	if guidance != 0 && c.Drop == 0 {
		return o.key(KeyGenerateGuidance, guidance, "0, or training with condition.drop above 0: this network has "+
			"not learned to do without the condition")
	}
	return nil
}

// checkParts checks what a process on a set is made of.
func checkParts(p *Problem, set constraint.Set) error {
	if err := p.Condition.check(p.origins, set, p.Generate.Guidance); err != nil {
		return err
	}
	if n := float64(geometry.JacobianSize(set)) * jacobianRows; n > maxJacobian {
		return p.fault("set", "the first derivatives of %s at %d points have %.2g numbers; expected at most "+
			"%.0g: a smaller set, or one whose components share fewer coordinates",
			constraint.Name(set), jacobianRows, n, float64(maxJacobian))
	}
	if n := p.Process.Steps; n > langevin.MaxSteps { // before anything is done for each step
		return p.key(KeyProcessSteps, n, fmt.Sprintf("at most %d steps", langevin.MaxSteps))
	}
	if err := checkKeys(p, func(k Key) bool { return k.Words != nil && !AnyCase(k.Name) }); err != nil {
		return err
	}
	if p.MethodKind.New == nil {
		return p.key(KeyProcessMethod, p.Process.Method, methods.Names())
	}
	return p.Potential.foreign(p.origins)
}

// checkRanges returns a *KeyError if a number is out of its range.
func checkRanges(p *Problem) error { return checkKeys(p, func(k Key) bool { return k.Range != nil }) }

// checkKeys returns a *KeyError if the value of one of some keys is none that it may have. An empty one that is the
// key's default, and that nobody wrote, stands for another.
func checkKeys(p *Problem, looks func(Key) bool) error {
	values, defaults := reflect.ValueOf(p).Elem(), reflect.ValueOf(Defaults()).Elem()
	for _, k := range Keys() {
		if k.index == nil || !looks(k) {
			continue
		}
		v := values.FieldByIndex(k.index)
		if p.origin[k.Name] == "" && v.IsZero() && defaults.FieldByIndex(k.index).IsZero() {
			continue
		}
		c, choice := v.Interface().(Choice)
		if choice && c.IsAuto() {
			continue
		}
		value, want := sets.Misfit(v, k.Words, k.Range)
		switch {
		case want == "":
			continue
		case choice:
			want = "auto, or " + want
		case value == "":
			value = nil
		}
		return p.key(k.Name, value, want)
	}
	return nil
}

// check validates everything outside the process.
func check(p *Problem, proc *langevin.Process) error {
	for _, r := range p.Title {
		if unicode.IsControl(r) {
			return p.key("title", p.Title, "one line of printable text")
		}
	}
	if strings.Trim(p.Name, nameLetters) != "" || p.Name == "" || p.Name[0] == '.' || p.Name[0] == '-' {
		return p.key("name", p.Name, "letters, digits, '.', '_' and '-', the first a letter, digit or '_': it "+
			"names the run folder")
	}
	if err := p.CheckPaths(proc, 1); err != nil {
		return err
	}
	t := p.Train
	if n := t.Epochs; n < 0 || n == 0 && !(t.MaxSeconds > 0) && !t.HeldOut() {
		return p.key(KeyTrainEpochs, n, "a number above 0 and at most 1e15")
	}
	if n := t.TimesPerPath; n > p.Process.Steps {
		return p.key(KeyTrainTimesPerPath, n, fmt.Sprintf("a number in [0, %d], the steps of a path", p.Process.Steps))
	}
	if err := checkRanges(p); err != nil {
		return err
	}
	if err := p.checkEffect(proc); err != nil {
		return err
	}
	if t.Clock == "processor" && !processor.Measured {
		return p.key("train.clock", t.Clock, "wall: this system does not tell the time of the processor")
	}
	m, err := p.Method(proc)
	if err != nil {
		return err
	}
	if p.Network.OctavesOf == "start" || p.Network.Scales != nil {
		if can := m.Capabilities(); can.Start == nil && can.Noising == nil {
			if why := ": where paths of " + m.Name() + " began is not known"; p.Network.Scales != nil {
				return p.key("network.scales", len(p.Network.Scales), "none"+why)
			} else {
				return p.key(KeyNetworkOctavesOf, "start", "point"+why)
			}
		}
		if p.Network.Scales != nil && p.Network.Octaves > 0 && p.Network.OctavesOf != "start" {
			return p.key(KeyNetworkOctavesOf, p.Network.OctavesOf, "start, beside network.scales")
		}
		if p.Network.Octaves == 0 && p.Network.Scales == nil {
			return p.key(KeyNetworkOctavesOf, p.Network.OctavesOf, "point, or network.octaves of at least 1")
		}
	}
	free := p.Condition.Free(proc.Set.Dim())
	for i, list := range [][]float64{p.Network.Center, p.Network.Scales} {
		if list != nil && len(list) != free {
			return p.key([]string{"network.center", "network.scales"}[i], len(list),
				fmt.Sprintf("%d numbers, one a coordinate", free))
		}
	}
	if err := p.Network.check(p.origins, p.NetworkConfig(m, proc.Set)); err != nil {
		return err
	}
	slice := constraint.At(proc.Set, make([]float64, len(p.Condition.Columns)))
	kind, ok := kinds.Of(p.Data.Kind, slice)
	if !ok {
		return p.key(KeyDataKind, p.Data.Kind, misfit(kind, slice))
	}
	p.DataKind = kind
	for i, file := range []string{p.Data.Reference, p.Data.Prmtop} {
		if key := []string{molecules.ReferenceKey, molecules.PrmtopKey}[i]; file != "" &&
			p.Data.Kind != molecules.Kind.Data {
			return p.key(key, file, "no file: it is of data.kind molecule")
		}
	}
	if p.Observe != nil {
		if _, err := p.Observables(proc.Set.Dim()); err != nil {
			return err
		}
	}
	if given := p.Condition; len(given.Columns) > 0 {
		switch {
		case given.Path == "" && kind.ReadGiven == nil && (kind.Open == nil || !ownEnds(proc.Set)):
			return p.key(conditionKey, nil, fmt.Sprintf("a file with the condition of each point: data of kind %s has "+
				"no columns for it", p.Data.Kind))
		case m.Prior() != nil:
			return p.key(KeyProcessMethod, p.Process.Method, "a method that begins where its paths end: "+m.Name()+
				" knows no condition")
		case p.Prior == "uniform":
			return p.key(KeyPrior, p.Prior, "empirical or auto: with a condition generation begins where paths end")
		}
	}
	uniform := p.Prior == "uniform" && m.Prior() == nil
	if uniform && method.Leaves(m, proc.Set) {
		return p.key(KeyPrior, p.Prior, "empirical or auto: paths of "+m.Name()+" leave the set, and the uniform "+
			"law is on it")
	}
	if uniform && p.Set.Unbounded() {
		return p.key(KeyPrior, p.Prior, fmt.Sprintf("empirical or auto: %s is unbounded and has no uniform law",
			constraint.Name(proc.Set)))
	}
	if uniform && proc.Potential != nil {
		return p.key(KeyPrior, p.Prior, "empirical or auto, since the potential makes the forward process end "+
			"in exp(−f) instead of the uniform law")
	}
	return nil
}

// ownEnds reports whether the set itself leaves numbers of its points to a condition, which the points then tell.
func ownEnds(set constraint.Set) bool {
	_, beside := constraint.Free(set)
	return !beside
}

// misfit says what fits a set that a kind of data does not.
func misfit(kind domain.Kind, set constraint.Set) string {
	if d := set.Dim(); kind.Dim != 0 && kind.Dim != d {
		return fmt.Sprintf("points, since the set lies in R^%d and not in R%s", d, text.Superscript(kind.Dim))
	}
	if kind.Data == molecules.Kind.Data {
		return fmt.Sprintf("points, since the set's %d coordinates are not three an atom", set.Dim())
	}
	return fmt.Sprintf("points, since %s is no set of this kind", constraint.Name(set))
}

// check returns a *KeyError if there is no such network, before it is made.
func (n Network) check(o origins, c score.Config) error {
	size, err := networks.Parameters(c)
	if n.Reference != "" && err == nil && !c.Row.Refers {
		return o.key(referenceKey, n.Reference, "no file: the network reads none (network.kind: aligned does)")
	}
	switch e := err.(type) {
	case nil:
		if size > maxParameters {
			want := fmt.Sprintf("a network of at most %.0g parameters", maxParameters)
			if by := c.Row.Sized; by != "" {
				return o.key("network.options."+by, c.Options[by], want)
			}
			return o.key(KeyNetworkWidth, n.Width, want)
		}
		return nil
	case *networks.KindError:
		return o.key(KeyNetworkKind, e.Kind, e.Want)
	case *networks.UnitError:
		key := "network." + strings.ToLower(e.Key)
		return o.fault(key, "%v", e)
	case *score.OptionError:
		return o.option("network.options.", e)
	}
	return err
}

// CheckPaths returns a *KeyError if the paths of `rows` data rows, which training keeps whole, are too large:
// rows·(N+1)·d numbers, or of train.paths of them.
func (p *Problem) CheckPaths(proc *langevin.Process, rows int) error {
	if few := p.Train.Paths; few > 0 {
		rows = min(rows, few)
	}
	kept := proc.Schedule.N + 1
	if n := p.MethodKind.Kept; n > 0 {
		kept = n
	}
	if n := float64(rows) * float64(kept) * float64(proc.Set.Dim()); n > maxNumbers {
		return p.key(KeyProcessSteps, proc.Schedule.N, fmt.Sprintf("paths of at most %.0g numbers in all: %d of "+
			"them in R^%d have %.2g; train.paths takes fewer at a time", maxNumbers, rows, proc.Set.Dim(), n))
	}
	return nil
}

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
func noEffect(p *Problem, key string, proc *langevin.Process) (why, by string) {
	kind, network := p.MethodKind, p.NetworkKind
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
	case key == KeyProcessWalls && proc.Walls == langevin.LateWalls && proc.Set.Capabilities().Open == nil:
		return "the set closes no ring", "set"
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
		if p.origin[k.Name] == "" {
			continue
		}
		if why, _ := noEffect(p, k.Name, proc); why != "" {
			keys = append(keys, k.Name)
		}
	}
	return keys
}

// Shared says that the settings are of several problems: keys that change nothing in this one are none of its faults.
func (a *asked) Shared() { a.shared = true }

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
	if all || p.shared {
		return nil
	}
	if errors.As(p.Set.Idle("set"), &e) {
		return p.fault(e.Key, "%s", e.Fault)
	}
	for _, k := range Keys() {
		if k.index == nil || p.origin[k.Name] == "" {
			continue
		}
		why, by := noEffect(p, k.Name, proc)
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
