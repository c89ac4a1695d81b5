package problem

import (
	"fmt"
	"math"
)

// A Choice is a number, or the word auto, which leaves it to the program (docs/problem-file.md says by which rule).
// Files cannot hold NaN; here it stands for auto.
type Choice float64

// Auto is the Choice that is left to the program.
var Auto = Choice(math.NaN())

// IsAuto reports whether the choice is left to the program.
func (c Choice) IsAuto() bool { return math.IsNaN(float64(c)) }

func (c Choice) String() string {
	if c.IsAuto() {
		return "auto"
	}
	return fmt.Sprint(float64(c))
}

// MarshalYAML writes the number or auto.
func (c Choice) MarshalYAML() (any, error) {
	if c.IsAuto() {
		return "auto", nil
	}
	return float64(c), nil
}

// UnmarshalYAML reads a number or auto.
func (c *Choice) UnmarshalYAML(decode func(any) error) error {
	var word string
	if decode(&word) == nil && word == "auto" {
		*c = Auto
		return nil
	}
	return decode((*float64)(c))
}

// AutoPrior is the prior that is left to the program.
const AutoPrior = "auto"

// RepulsionIsAuto reports whether process.repulsion is left to the program with walls that repel, or without: where
// the file says auto, and with such walls where it says nothing.
func (p *Problem) RepulsionIsAuto(repels bool) bool {
	return p.Process.Repulsion.IsAuto() || p.silent(KeyProcessRepulsion) && repels
}

// StepIsAuto reports whether sample.step is left to the program: where the file says auto, or nothing.
func (p *Problem) StepIsAuto() bool {
	return p.Sample.Step.IsAuto() || p.silent("sample.step")
}
