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
	k, _ := find(s.Is())
	var needs []need
	switch k.Name {
	case "arm":
		keys, _ := s.of(k) // Build tells errors
		arm, _ := keys.(Arm)
		needs = arm.needs()
	case "molecule":
		keys, _ := s.of(k)
		molecule, _ := keys.(Molecule)
		needs = molecule.needs()
	case "formula":
		keys, _ := s.of(k)
		if f, _ := keys.(Formulas); f.URDF == "" {
			needs = []need{{"base", f.Base != "", "the set has no urdf"}, {"tip", f.Tip != "", "the set has no urdf"}}
		}
	}
	if i := slices.IndexFunc(needs, func(n need) bool { return n.idle }); i >= 0 {
		return place(&Error{Key: needs[i].key, Fault: "it changes nothing: " + needs[i].why}, at, k)
	}
	return nil
}

func (k Arm) needs() []need {
	const nothing = "there are neither obstacles nor pairs in self to stay clear of"
	alone := k.Obstacles == nil && k.Self == nil && k.Cloud == ""
	out := []need{{"margin", alone && k.Margin != 0, nothing},
		{"cloud_radius", k.Ball != 0 && k.Cloud == "", "there is no cloud"},
		{"clearance", alone && k.Clearance == "segments", nothing}}
	for i, p := range []ArmPlace{k.Start, k.Goal} {
		of := []string{"start.", "goal."}[i]
		out = append(out, need{of + "point", p.Point != nil && p.Position == nil, "position is of the point"},
			need{of + "link", p.Link != "" && p.Position == nil && p.RPY == nil, "position and rpy are of the link"})
	}
	for i, t := range k.Path {
		turns, of := t.Upright != nil || t.Level != nil || t.Cone != nil, fmt.Sprintf("path[%d].", i)
		out = append(out,
			need{of + "point", t.Point != nil && (turns || t.RPY != nil), "position, plane and box have it"},
			need{of + "axis", t.Axis != nil && !turns, "upright, level and cone have it"},
			need{of + "angle", t.Angle != 0 && t.Cone == nil, "it is that of a cone"})
	}
	return out
}

func (k Molecule) needs() []need {
	ranges := k.Apart != nil || slices.ContainsFunc(k.Chirality, func(c Chirality) bool { return c.Range != nil })
	for _, c := range slices.Concat(k.Distances, k.Angles, k.Dihedrals) {
		ranges = ranges || c.Range != nil || c.Min != nil || c.Max != nil
	}
	out := []need{{"windows", k.Windows == "max" && !ranges, "no condition has a range, min or max"}}
	for i, a := range k.Apart {
		bare := k.Template == "" && k.AtomNames == nil
		out = append(out, need{fmt.Sprintf("apart[%d].beyond", i), a.Beyond != 0 && bare,
			"atoms without a template have no bonds"})
	}
	return out
}
