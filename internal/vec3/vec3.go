// Package vec3 has the arithmetic of vectors of three numbers.
package vec3

import (
	"math"
	"slices"
)

func Dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func Norm(v [3]float64) float64 { return math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2]) }

func Scaled(s float64, v [3]float64) [3]float64 { return [3]float64{s * v[0], s * v[1], s * v[2]} }

// Minus returns a − b.
func Minus(a, b [3]float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

// Add returns a + s b.
func Add(a [3]float64, s float64, b [3]float64) [3]float64 {
	return [3]float64{a[0] + s*b[0], a[1] + s*b[1], a[2] + s*b[2]}
}

func Cross(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// Unit returns v/‖v‖; of 0 what is not a number.
func Unit(v [3]float64) [3]float64 {
	n := Norm(v)
	return [3]float64{v[0] / n, v[1] / n, v[2] / n}
}

// Finite reports whether no number is infinite or NaN.
func Finite(v ...float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return x-x != 0 })
}
