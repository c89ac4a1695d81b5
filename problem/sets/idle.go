package sets

import (
	"fmt"
	"slices"
)

// A need is a key that changes nothing without others.
type need struct {
	key  string
	idle bool
	why  string
}

// Idle returns an *Error if a key inside of a set at this place changes nothing beside the others.
func (s Set) Idle(at string) error {
	k, ok := find(s.Is())
	if !ok {
		return nil
	}
	keys, err := s.of(k)
	if err != nil {
		return nil // Build says so
	}
	var needs []need
	switch keys := keys.(type) {
	case Arm:
		needs = keys.needs()
	case Molecule:
		needs = keys.needs()
	}
	for _, n := range needs {
		if n.idle {
			return place(&Error{Key: n.key, Fault: "it changes nothing: " + n.why}, at, k)
		}
	}
	return nil
}

func (k Arm) needs() []need {
	const nothing = "there are neither obstacles nor pairs in self to stay clear of"
	alone := k.Obstacles == nil && k.Self == nil
	out := []need{{"margin", alone && k.Margin != 0, nothing},
		{"clearance", alone && k.Clearance == "segments", nothing}}
	for _, p := range []struct {
		key string
		ArmPlace
	}{{"start", k.Start}, {"goal", k.Goal}} {
		out = append(out, need{p.key + ".point", p.Point != nil && p.Position == nil, "position is of the point"},
			need{p.key + ".link", p.Link != "" && p.Position == nil && p.RPY == nil,
				"position and rpy are of the link"})
	}
	for i, t := range k.Path {
		turns := t.Upright != nil || t.Level != nil || t.Cone != nil
		for _, n := range []need{
			{"point", t.Point != nil && (turns || t.RPY != nil), "position, plane and box are of the point"},
			{"axis", t.Axis != nil && !turns, "upright, level and cone are of the axis"},
			{"angle", t.Angle != 0 && t.Cone == nil, "it is that of a cone"},
		} {
			n.key = fmt.Sprintf("path[%d].%s", i, n.key)
			out = append(out, n)
		}
	}
	return out
}

func (k Molecule) needs() (out []need) {
	ranges := k.Apart != nil || slices.ContainsFunc(k.Chirality, func(c Chirality) bool { return c.Range != nil })
	for _, c := range slices.Concat(k.Distances, k.Angles, k.Dihedrals) {
		ranges = ranges || c.Range != nil || c.Min != nil || c.Max != nil
	}
	out = append(out, need{"windows", k.Windows == "max" && !ranges, "no condition has a range, min or max"})
	for i, a := range k.Apart {
		bare := k.Template == "" && k.AtomNames == nil
		out = append(out, need{fmt.Sprintf("apart[%d].beyond", i), a.Beyond != 0 && bare,
			"atoms without a template have no bonds"})
	}
	return out
}
