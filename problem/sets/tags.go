package sets

import (
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Fields yields the exported fields of a struct, by their keys in a file.
func Fields(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); f.IsExported() && !yield(key, f) {
				return
			}
		}
	}
}

// Field returns the field of a key of a struct.
func Field(t reflect.Type, key string) (f reflect.StructField, ok bool) {
	for name, f := range Fields(t) {
		if name == key {
			return f, true
		}
	}
	return f, false
}

// A Range bounds a number.
type Range struct {
	Low, High   float64
	Over, Below bool // Low, High themselves are not in it
	Or0         bool // 0, which stands for a default, is
}

// Bounds reads the tag bounds of a field, such as "[1,8]" or "(0,)": with ( and ) the end is not in it, and where none
// is written there is none. With "0|" before it 0 is in it too. Without the tag it is nil.
func Bounds(f reflect.StructField) *Range {
	text := f.Tag.Get("bounds")
	if text == "" {
		return nil
	}
	text, or0 := strings.CutPrefix(text, "0|")
	n := len(text) - 1
	low, high, _ := strings.Cut(text[1:n], ",")
	end := func(text string, none float64) float64 {
		if text == "" {
			return none
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("sets: the field %s has the bounds %s", f.Name, text))
		}
		return v
	}
	return &Range{end(low, math.Inf(-1)), end(high, math.Inf(1)), text[0] == '(', text[n] == ')', or0}
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
	number := func(v float64) string {
		if v == math.Trunc(v) && math.Abs(v) < 1e9 {
			return fmt.Sprintf("%.0f", v)
		}
		return strings.Replace(fmt.Sprint(v), "e+", "e", 1)
	}
	open, end := "[", "]"
	if r.Over {
		open = "("
	}
	if r.Below {
		end = ")"
	}
	s := "a number in " + open + number(r.Low) + ", " + number(r.High) + end
	if math.IsInf(r.High, 1) {
		s = "a number of at least " + number(r.Low)
		if r.Over {
			s = "a number above " + number(r.Low)
		}
	}
	if r.Or0 {
		s = "0, or " + s
	}
	return s
}

// Words reads the tag words of a field: what its text may be; nil where it may be anything.
func Words(f reflect.StructField) []string {
	if words := f.Tag.Get("words"); words != "" {
		return strings.Split(words, ",")
	}
	return nil
}

// Misfit returns a text that is none of some words, or a number out of a range, and what was expected; "" where all is
// well. No words are any words, no range is any number.
func Misfit(v reflect.Value, words []string, r *Range) (value any, want string) {
	switch {
	case v.Kind() == reflect.String && words != nil && !slices.Contains(words, v.String()):
		if want = strings.Join(words, ", "); len(words) > 1 {
			want = "one of " + want
		}
	case r == nil:
	case v.CanInt() && !r.Has(float64(v.Int())), v.CanFloat() && !r.Has(v.Float()):
		want = r.String()
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			if value, want = Misfit(v.Index(i), nil, r); want != "" {
				return value, want
			}
		}
	}
	return v.Interface(), want
}

// A need is a key that changes nothing without others.
type need struct {
	key  string
	idle bool
	why  string
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
