package main

import (
	"testing"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The condition of an angle is printed as an angle in degrees, not as its cosine and sine.
func TestConditionOfAnAngle(t *testing.T) {
	r := &experiment.Run{Loaded: &experiment.Loaded{TrainRows: []float64{7, 0, -1, 2.5, 7, 1, 0, 3},
		Condition: &experiment.Condition{Names: []string{"cos_φ", "sin_φ", "r"}, At: 1}}}
	testkit.Equal(t, asking(r), " --condition φ=-90,r=2.5")
}
