package problem

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// apply puts settings over what the problem says, and notes where their keys come from.
func (s Settings) apply(p *Problem) error {
	for _, one := range s {
		value := one.value()
		if one.Value == nil || one.Key == "" || strings.ContainsAny(one.Key, " :{}[],#&*!|>'\"%@`\n") ||
			strings.Contains(value, "\n") {
			return &KeyError{Origin: "--set", Key: "setting", Value: one.String(),
				Want: "key=value, as in train.epochs=500"}
		}
		parts := strings.Split(one.Key, ".")
		layer := strings.Join(parts, ": {") + ": " + value + strings.Repeat("}", len(parts)-1)
		origin := settingOrigin + one.String() // one string for each number of a long list
		if err := p.merge([]byte(layer), func(int) string { return origin }); err != nil {
			return err
		}
	}
	return nil
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
