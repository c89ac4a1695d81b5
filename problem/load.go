package problem

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/problem/sets"
)

//go:embed recipes/*.yaml
var recipes embed.FS

// A KeyError says which key of a problem file cannot be as it is.
type KeyError struct {
	Origin string // "file.yaml:12", "--set train.epochs=x", or "" for a default
	Key    string
	Value  any
	Want   string
	Fault  string // instead of Value and Want: what is wrong with the key itself
}

func (e *KeyError) Error() string {
	s := fmt.Sprintf("%s is %v; expected %s", e.Key, show(e.Value), e.Want)
	if e.Fault != "" {
		s = e.Key + ": " + e.Fault
	}
	if e.Origin != "" {
		s = e.Origin + ": " + s
	}
	return s
}

// Place returns the file, line and key.
func (e *KeyError) Place() fault.Place { return placeOf(e.Origin, e.Key) }

var numbered = regexp.MustCompile(`^(.*):([0-9]+)$`)

// placeOf returns the place that an origin names. A setting of the command line and a recipe are no files.
func placeOf(origin, key string) fault.Place {
	p := fault.Place{Kind: fault.Problem, Key: key}
	if strings.HasPrefix(origin, "--set") || strings.HasPrefix(origin, "recipe ") {
		return p
	}
	p.File = origin
	if m := numbered.FindStringSubmatch(origin); m != nil {
		p.File = m[1]
		p.Line, _ = strconv.Atoi(m[2]) // too long to be a line: 0
	}
	return p
}

func show(v any) string {
	switch r := reflect.ValueOf(v); {
	case !r.IsValid(), r.Kind() == reflect.Slice && r.IsNil():
		return "missing"
	case r.Type() == reflect.TypeFor[string]():
		return strconv.Quote(r.String())
	}
	return fmt.Sprint(v)
}

// key makes a *KeyError. The keys of a set have no defaults: a zero that nobody wrote is a key that is missing.
func (o origins) key(key string, value any, want string) error {
	if strings.HasPrefix(key, "set.") && o.origin[key] == "" && (value == 0 || value == 0.0) {
		value = nil
	}
	return &KeyError{Origin: o.where(key), Key: key, Value: value, Want: want}
}

// fault makes a *KeyError that says what is wrong with a key.
func (o origins) fault(key, format string, args ...any) error {
	return &KeyError{Origin: o.where(key), Key: key, Fault: fmt.Sprintf(format, args...)}
}

// where returns the origin of a key, or of the nearest key around it.
func (o origins) where(key string) string {
	origin := o.origin[key]
	for k := key; origin == "" && strings.Contains(k, "."); { // a parent that was written out
		k = k[:strings.LastIndexByte(k, '.')]
		origin = o.origin[k]
	}
	if origin == "" {
		origin = o.file
	}
	return origin
}

// Recipes returns the names of the recipes in the binary.
func Recipes() []string {
	files, err := fs.Glob(recipes, "recipes/*.yaml")
	if err != nil {
		panic(err) // the pattern is constant
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".yaml"))
	}
	return names
}

// Source returns the bytes of a problem file, or of the recipe of that name, and
// the name to use in messages. No more is read than a problem file may have, 1 MiB.
func Source(name string) (data []byte, origin string, err error) {
	if !strings.ContainsAny(name, `/\.`) {
		if data, err := recipes.ReadFile("recipes/" + name + ".yaml"); err == nil {
			return data, "recipe " + name, nil
		}
	}
	data, err = input.ReadStream(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", &SyntaxError{name, "neither a file nor one of the recipes " + strings.Join(Recipes(), ", ") +
			text.Suggest(name, Recipes())}
	}
	return data, name, err
}

// Load reads a problem: the source's bytes over Defaults, then those of its variants that variant lists, as in
// "olla,paper", one over the other, then settings. origin names the source in messages. Keys and types are checked,
// those of variants that are not applied too; values are not: Build does that.
func Load(data []byte, origin, variant string, settings Settings) (*Problem, error) {
	p := Defaults()
	p.origin, p.layer, p.file = map[string]string{}, map[string]int{}, origin
	p.variant, p.settings = variant, settings
	if err := p.merge(data, func(line int) string { return fmt.Sprintf("%s:%d", origin, line) }); err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(variant, ",") {
		if variant == "" {
			break
		}
		v, ok := p.Variants[name]
		if !ok {
			names := slices.Sorted(maps.Keys(p.Variants))
			want := "a variant that the problem has: it has none"
			if recipe, ok := strings.CutPrefix(origin, "recipe "); ok && name == "fast" {
				want = fmt.Sprintf("none: %s without a variant is what its variant fast was, and the paper's "+
					"hyperparameters are its variant paper", recipe)
			} else if len(names) > 0 {
				want = "one of " + strings.Join(names, ", ") + ", or several with commas between"
			}
			return nil, &KeyError{Origin: origin, Key: "variant", Value: name, Want: want}
		}
		layer, err := yaml.Marshal(v)
		if err != nil {
			return nil, err
		}
		if err := p.merge(layer, func(int) string { return fmt.Sprintf("%s, variant %s", origin, name) }); err != nil {
			return nil, err
		}
		maps.Copy(p.origin, p.written[name])
	}
	for _, s := range settings {
		if err := s.apply(p); err != nil {
			return nil, err
		}
	}
	p.Variants = nil
	// A budget or held-out distances end a training after as many epochs as that takes, at a rate that falls to 0.
	bounded := p.Train.MaxSeconds > 0 || p.Train.HeldOut()
	if bounded && p.silent(KeyTrainEpochs) {
		p.Train.Epochs = 0
	}
	if bounded && p.silent(KeyTrainAnneal) {
		p.Train.Anneal = budgetAnneal
	}
	if n := p.MethodKind.Steps; n > 0 && p.silent(KeyProcessSteps) {
		p.Process.Steps = n // the method's own default
	}
	return p, nil
}

// budgetAnneal is train.anneal where there is a budget and nothing else is said.
const budgetAnneal = 0.5

// Variants returns the names of the variants in a source.
func Variants(data []byte, origin string) ([]string, error) {
	p := Defaults()
	p.origin, p.layer, p.file = map[string]string{}, map[string]int{}, origin
	err := p.merge(data, func(line int) string { return fmt.Sprintf("%s:%d", origin, line) })
	return append([]string{}, slices.Sorted(maps.Keys(p.Variants))...), err
}

// A SyntaxError says that a source is not YAML, or not one of its own kind.
type SyntaxError struct{ Origin, Problem string }

func (e *SyntaxError) Error() string { return e.Origin + ": " + e.Problem }

func (e *SyntaxError) Place() fault.Place { return placeOf(e.Origin, "") }

// Document parses YAML of one document, of the size and depth that a problem file may have. where turns a line into an
// origin; errors are *SyntaxError.
func Document(data []byte, where func(line int) string) (ast.Node, error) {
	if len(data) > maxFile || nesting(data) > maxNesting {
		return nil, &SyntaxError{where(1), fmt.Sprintf(
			"expected at most %d bytes and %d levels of brackets", maxFile, maxNesting)}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) {
			return nil, &SyntaxError{where(syntax.Token.Position.Line), "not YAML: " + syntax.Message}
		}
		return nil, &SyntaxError{where(1), "not YAML: " + strings.SplitN(err.Error(), "\n", 2)[0]}
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, &SyntaxError{where(1), "expected one YAML document with keys"}
	}
	return file.Docs[0].Body, nil
}

// merge decodes a layer of YAML over p. where turns a line into an origin.
func (p *Problem) merge(data []byte, where func(line int) string) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	body, err := Document(data, where)
	if err != nil {
		return err
	}
	layer := map[string]string{}
	if err := (walker{layer, p.Set, where}).walk(body, reflect.TypeFor[Problem](), ""); err != nil {
		return err
	}
	p.layers++
	for key, origin := range layer {
		p.origin[key], p.layer[key] = origin, p.layers
	}
	before, network, process, energy := p.Set, p.Network.Options, p.Process.Options, p.Potential.Kind
	p.Set = sets.Set{}
	if err := yaml.UnmarshalWithOptions(data, p, yaml.Strict()); err != nil {
		line := strings.SplitN(err.Error(), "\n", 2)[0]
		return &SyntaxError{p.file, line}
	}
	p.Set = before.Over(p.Set, written(body, "set", "kind"))
	if p.Potential.Kind != energy { // another kind has other keys
		for key, f := range sets.Fields(reflect.TypeFor[Potential]()) {
			key = "potential." + key
			if of := f.Tag.Get("of"); of != "" && of != p.Potential.Kind && layer[key] == "" {
				reflect.ValueOf(&p.Potential).Elem().FieldByIndex(f.Index).SetZero()
				delete(p.origin, key)
			}
		}
	}
	if written(body, "network", "kind") {
		if p.Network.Kind != p.NetworkKind.Name {
			p.NetworkKind, _ = networks.Of(p.Network.Kind)
		}
	} else {
		p.Network.Options = over(p.Network.Options, network)
	}
	if !written(body, "process", "method") {
		p.Process.Options = over(p.Process.Options, process)
	} else if was := p.MethodKind.Name; p.Process.Method != was {
		p.MethodKind, _ = methods.Of(p.Process.Method)
		if p.MethodKind.Name != was && !written(body, "process", "options") {
			p.Process.Options = nil // another method has others
		}
	}
	if variants, ok := Pairs(entry(body, "variants")); ok {
		return checkVariants(p, variants, where)
	}
	return nil
}

// over returns the options of a layer with those before it that it does not name: yaml replaces a map.
func over(layer, before score.Options) score.Options {
	if len(layer) == 0 || len(before) == 0 {
		return layer
	}
	return joined(before, layer)
}

// written reports whether a node has a key, a key in it, and so on.
func written(node ast.Node, keys ...string) bool {
	for _, key := range keys {
		if node = entry(node, key); node == nil {
			return false
		}
	}
	return true
}

// entry returns the value of a key of a mapping, or nil.
func entry(node ast.Node, key string) ast.Node {
	values, _ := Pairs(node)
	for _, v := range values {
		if v.Key.GetToken().Value == key {
			return v.Value
		}
	}
	return nil
}

// A walker notes in origin where each key was written. set is that of earlier layers.
type walker struct {
	origin map[string]string
	set    sets.Set
	where  func(line int) string
}

// walk checks the keys and types of a node against the struct that it will be
// decoded into. The YAML decoder would pass a fraction as an integer.
func (w walker) walk(node ast.Node, t reflect.Type, key string) error {
	bad := func(n ast.Node, want string) error {
		return &KeyError{
			Origin: w.where(n.GetToken().Position.Line), Key: cmp.Or(strings.TrimPrefix(key, "."), "the file"),
			Value: Shown(n), Want: want,
		}
	}
	switch n := node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return bad(n, "a plain value: anchors, aliases and tags are not used here")
	}
	if len(key) > 1 {
		w.origin[key[1:]] = w.where(node.GetToken().Position.Line)
	}
	switch t.Kind() {
	case reflect.Pointer: // to tell what nobody wrote from a zero
		return w.walk(node, t.Elem(), key)
	case reflect.Interface:
		if _, ok := node.(*ast.NullNode); ok {
			return bad(node, "a value")
		}
	case reflect.Map:
		values, ok := Pairs(node)
		if !ok {
			return bad(node, "a mapping")
		}
		for _, v := range values {
			if t.Elem().Kind() != reflect.Float64 {
				break
			}
			if err := w.walk(v.Value, t.Elem(), key+"."+v.Key.GetToken().Value); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
		typeOf := func(name string) (reflect.Type, bool) {
			f, ok := sets.Field(t, name)
			return f.Type, ok
		}
		var names []string
		for name := range sets.Fields(t) {
			names = append(names, name)
		}
		if t == reflect.TypeFor[sets.Set]() {
			kind := ""
			if named := entry(node, "kind"); named != nil {
				kind = named.GetToken().Value
			} else if key == ".set" {
				kind = w.set.Is()
			}
			if strings.Count(key, "[") > sets.MaxDepth {
				return bad(node, fmt.Sprintf("sets within sets at most %d deep", sets.MaxDepth))
			}
			names = sets.KeysOf(kind)
			typeOf = func(name string) (reflect.Type, bool) { return sets.KeyType(kind, name) }
		}
		values, ok := Pairs(node)
		if !ok {
			return bad(node, "a mapping with keys "+strings.Join(names, ", "))
		}
		return w.entries(values, key, names, typeOf)
	case reflect.Slice:
		if t == reflect.TypeFor[formula.Definitions]() {
			values, ok := Pairs(node)
			if !ok {
				return bad(node, "a mapping from names to formulas")
			}
			any := func(string) (reflect.Type, bool) { return reflect.TypeFor[definition](), true }
			return w.entries(values, key, nil, any)
		}
		n, ok := node.(*ast.SequenceNode)
		if !ok {
			return bad(node, "a list")
		}
		for i, v := range n.Values {
			if err := w.walk(v, t.Elem(), fmt.Sprintf("%s[%d]", key, i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Int, reflect.Uint64:
		n, ok := node.(*ast.IntegerNode)
		if !ok {
			return bad(node, "an integer")
		}
		if v, ok := n.Value.(int64); ok && v < 0 && t.Kind() == reflect.Uint64 {
			return bad(node, "an integer of at least 0")
		}
		if v, ok := n.Value.(uint64); ok && v > math.MaxInt64 && t.Kind() == reflect.Int {
			return bad(node, "an integer below 2⁶³")
		}
	case reflect.Float64:
		switch n := node.(type) {
		case *ast.IntegerNode, *ast.FloatNode:
		case *ast.StringNode: // the parser takes 1e-3 for text
			if t == reflect.TypeFor[Choice]() && n.Value == "auto" {
				return nil
			}
			v, err := strconv.ParseFloat(n.Value, 64)
			if n.Token.Type != token.StringType || err != nil || v-v != 0 {
				return bad(node, number(t))
			}
		default:
			return bad(node, number(t))
		}
	case reflect.Bool:
		if _, ok := node.(*ast.BoolNode); !ok {
			return bad(node, "true or false")
		}
	case reflect.String:
		want := "text (quote it if it looks like a number)"
		switch node.(type) {
		case *ast.StringNode, *ast.LiteralNode:
			return nil
		case *ast.IntegerNode, *ast.FloatNode, *ast.SequenceNode:
			if t == reflect.TypeFor[definition]() {
				return nil
			}
		}
		if t == reflect.TypeFor[definition]() {
			want = "a formula, a list, or {file: NAME} of numbers"
			_, named := entry(node, "file").(*ast.StringNode)
			if file, _ := Pairs(node); named && len(file) == 1 {
				return nil
			}
		}
		return bad(node, want)
	}
	return nil
}

// A definition is what one of formula.Definitions may be: a formula, numbers, or a file of them.
type definition string

// removed are keys of earlier versions, each with the reason.
var removed = map[string]string{
	"set.aggregate": "motions of an arm have each component by itself",
}

// entries walks the entries of a mapping with these names, whose types typeOf has.
func (w walker) entries(values []*ast.MappingValueNode, key string, names []string,
	typeOf func(name string) (reflect.Type, bool)) error {
	seen := map[string]bool{}
	for _, v := range values {
		name := v.Key.GetToken().Value
		line := w.where(v.Key.GetToken().Position.Line)
		full := strings.TrimPrefix(key+"."+name, ".")
		inner, ok := typeOf(name)
		if why, ok := removed[full]; ok {
			return &KeyError{Origin: line, Key: full, Fault: "the key was removed: delete it, since " + why}
		}
		if !ok {
			near := strings.Replace(text.Suggest(name, names)+";", "?;", "?", 1)
			return &KeyError{Origin: line, Key: full, Fault: fmt.Sprintf("there is no such key%s the keys here are %s",
				near, strings.Join(names, ", "))}
		}
		if seen[name] {
			return &KeyError{Origin: line, Key: full, Fault: "the key was given before; expected each key once"}
		}
		seen[name] = true
		if err := w.walk(v.Value, inner, key+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// number says what a key of a type of float64 takes.
func number(t reflect.Type) string {
	if t == reflect.TypeFor[Choice]() {
		return "a finite number, or auto"
	}
	return "a finite number"
}

// Pairs returns the entries of a mapping.
func Pairs(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

const (
	maxFile    = 1 << 20
	maxNesting = 100
)

// nesting bounds the depth of brackets in a file: the parser's work grows with its square.
func nesting(data []byte) int {
	depth, deepest := 0, 0
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return deepest
}

// A Literal is text from a file, shown as it stands there.
type Literal string

func (l Literal) String() string { return string(l) }

// Shown is a node as messages show it.
func Shown(n ast.Node) Literal {
	s := strings.Join(strings.Fields(n.String()), " ")
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return Literal(cmp.Or(s, "empty"))
}

// Since compares the problem with the resolved file that it was read from, which another version of the
// program may have written: fresh are the keys that the file does not have, with their values, and
// changed is the first one whose value is not that of the file, or "".
func (p *Problem) Since(file []byte) (fresh []string, changed string) {
	var then, now map[string]any
	if yaml.Unmarshal(file, &then) != nil || yaml.Unmarshal(p.Resolved(), &now) != nil {
		return nil, "the whole file"
	}
	fresh, changed = since("", then, now)
	return slices.DeleteFunc(fresh, func(s string) bool {
		key, _, _ := strings.Cut(s, " ")
		return slices.Contains(unwritten, key)
	}), changed
}

// unwritten are the keys that earlier versions left out of config.yaml where they had their defaults.
var unwritten = []string{KeyProcessWalls, KeyProcessNoise, KeyNetworkKind, KeyNetworkOctavesOf, KeyNetworkTimeOctaves,
	KeyNetworkTime, "network.unit", KeyTrainPaths, KeyTrainMaxSeconds, "train.clock", KeyTrainStop, "mpi",
	KeyGenerateGuidance, KeyGenerateEvaluations, "sample.leaps", "sample.measure", "sample.max_failed",
	"sample.max_rhat", "potential.solvent", "potential.temperature", "generate.repair"}

func since(at string, then, now map[string]any) (fresh []string, changed string) {
	for _, key := range slices.Sorted(maps.Keys(then)) {
		was, is := then[key], now[key]
		inner, ok := was.(map[string]any)
		if here, both := is.(map[string]any); ok && both {
			f, c := since(at+key+".", inner, here)
			if fresh = append(fresh, f...); c != "" {
				return nil, c
			}
		} else if !reflect.DeepEqual(was, is) {
			return nil, at + key
		}
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if _, ok := then[key]; !ok {
			fresh = append(fresh, fmt.Sprintf("%s%s (%v)", at, key, now[key]))
		}
	}
	return fresh, ""
}

// Resolved returns the problem as YAML. Every key that is a number, a word or true or false is written out with the
// value that is used; texts and lists are left out where they are empty, and keys of another kind of potential.
// Loading it gives the same problem.
func (p *Problem) Resolved() []byte {
	q := *p
	fill(&q.Process.Walls, langevin.ElasticWalls.String())
	fill(&q.Process.Noise, "late")
	fill(&q.Network.Kind, networks.All[0].Name)
	fill(&q.Network.OctavesOf, "point")
	fill(&q.Network.Time, "raw")
	fill(&q.Train.Clock, "wall")
	fill(&q.Train.Stop, "epochs")
	fill(&q.Sample.Leaps, defaultLeaps)
	fill(&q.Sample.Measure, "surface")
	fill(&q.Sample.MaxFailed, 0.01)
	fill(&q.Sample.MaxRhat, 1.1)
	if q.Potential.Kind == "amber" {
		fill(&q.Potential.Solvent, amber.OBC2.String())
		fill(&q.Potential.Temperature, kelvin)
	}
	if p.NetworkKind.AsIs == "" {
		fill(&q.Network.Unit, 1)
	}
	q.Defaults = FixedDefaults
	data, err := yaml.MarshalWithOptions(&q, yaml.Indent(2))
	if err != nil {
		panic("problem: " + err.Error()) // structs of plain values
	}
	return data
}

// fill gives a value that is not written the default that stands for it.
func fill[T comparable](to *T, value T) { *to = cmp.Or(*to, value) }

// checkVariants checks keys and types of every variant in a file, whether it is applied or not, and notes where each
// of its keys was written. p holds what the file says beside them.
func checkVariants(p *Problem, variants []*ast.MappingValueNode, where func(line int) string) error {
	p.written = map[string]map[string]string{}
	for _, v := range variants {
		name := v.Key.GetToken().Value
		w := walker{map[string]string{}, p.Set, where}
		err := w.walk(v.Value, reflect.TypeFor[Problem](), "")
		if at, ok := w.origin["variants"]; ok && err == nil {
			err = &KeyError{Origin: at, Key: "variants", Fault: "a variant has no variants of its own"}
		}
		var e *KeyError
		if errors.As(err, &e) {
			inside := *e
			if inside.Key = "variants." + name; e.Key != "the file" {
				inside.Key += "." + e.Key
			}
			return &inside
		}
		if err != nil {
			return err
		}
		p.written[name] = w.origin
	}
	return nil
}
