package metric

import (
	"encoding/json"
	"math"
)

// A Float is a number in JSON, or null where it is not finite: JSON has no NaN.
type Float float64

func (f Float) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON implements json.Unmarshaler; null is NaN.
func (f *Float) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*f = NaN
		return nil
	}
	return json.Unmarshal(data, (*float64)(f))
}

// NaN stands for what was not measured.
var NaN = Float(math.NaN())

// IsNaN reports whether nothing was measured.
func (f Float) IsNaN() bool { return f != f }
