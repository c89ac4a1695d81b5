package problem

import (
	"maps"
	"slices"
	"strings"
)

// A Given is a key that somebody wrote, and where: a line of the problem file, or --set.
type Given struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	From  string `json:"from"`
}

// Written returns the keys that somebody wrote, in order, with their values and where each is
// from: a line of a file, or a setting. Those of set, observe and variants are left out: what they
// describe has no defaults.
func (p *Problem) Written() []Given {
	keys := slices.Sorted(maps.Keys(p.origin))
	values := plain(p)
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
