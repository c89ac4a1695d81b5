package problems

import (
	"fmt"
	"math"
)

// Radii of the torus of the suite.
const major, minor = 2.0, 0.6

func tori() []Problem {
	return []Problem{
		banded("torus", "", 4000, 1, "a band that winds twice around the tube, and a spot"),
		banded("rows-200", "", 200, 1, "the torus, 200 rows"),
		{
			Name: "half-torus", Dim: 3, Rows: 4000,
			About: "torus with x ≥ 0; the mass leans on both walls, and one angle goes with the other",
			set: `
all:
  - {kind: torus, major: 2, minor: 0.6}
  - {dim: 3, inequality: [{name: half, expr: "x[0] >= 0"}]}`,
			formula: torusFormula(1) + `
inequality: [{name: half, expr: "x[0] >= 0"}]`,
			observe: torusAngles(1),
			row: func(x []float64, d *dice) {
				for {
					θ, φ := math.Pi*(d.uniform()-0.5), d.angle()
					if d.accepts(halfDensity(θ, φ) / ((major + minor) * math.Exp(halfTilt))) {
						torus(x, θ, φ, 1)
						return
					}
				}
			},
		},
	}
}

// units are problems that differ from torus by their unit alone: the same rows, a thousand
// times larger and smaller.
func units() []Problem {
	return []Problem{
		banded("unit-large", "torus", 4000, 1000, "the torus, its rows a thousand times larger"),
		banded("unit-small", "torus", 4000, 0.001, "the torus, its rows a thousand times smaller"),
	}
}

// torus writes the point at the angle θ around the axis and φ around the tube, in a unit.
func torus(x []float64, θ, φ, unit float64) {
	sinθ, cosθ := math.Sincos(θ)
	sinφ, cosφ := math.Sincos(φ)
	ρ := unit * (major + minor*cosφ)
	x[0], x[1], x[2] = ρ*cosθ, ρ*sinθ, unit*minor*sinφ
}

func torusFormula(unit float64) string {
	return fmt.Sprintf(`
dim: 3
equality: [{name: torus, expr: "norm([norm(x[0:2]) - %v, x[2]]) = %v"}]`, unit*major, unit*minor)
}

func torusAngles(unit float64) string {
	return fmt.Sprintf(`
- {name: around the axis, expr: "atan2(x[1], x[0])", circular: true}
- {name: around the tube, expr: "atan2(x[2], norm(x[0:2]) - %v)", circular: true}`, unit*major)
}

func banded(name, like string, rows int, unit float64, about string) Problem {
	return Problem{
		Name: name, Dim: 3, Rows: rows, About: about, like: like,
		set:     fmt.Sprintf("{kind: torus, major: %v, minor: %v}", unit*major, unit*minor),
		formula: torusFormula(unit),
		observe: torusAngles(unit) + fmt.Sprintf(`
- {name: across the band, expr: "atan2(x[2], norm(x[0:2]) - %v) - 2*atan2(x[1], x[0])", circular: true}`, unit*major),
		row: func(x []float64, d *dice) {
			θ, φ := d.angle(), 0.0
			if d.accepts(bandShare) {
				φ = 2*θ + bandWidth*d.normal()
			} else {
				θ, φ = spot[0]+spotWidth*d.normal(), spot[1]+spotWidth*d.normal()
			}
			torus(x, θ, φ, unit)
		},
	}
}

// Share of the band, its width and that of the spot in radians, and where that is.
const bandShare, bandWidth, spotWidth = 0.75, 0.4, 0.2

var spot = [2]float64{2, 1}

const halfTilt = 1.2

// halfDensity is the density of the half torus in the angles, up to a factor: at most
// (R + r) exp(1.2). R + r cos φ alone is the uniform law.
func halfDensity(θ, φ float64) float64 {
	return (major + minor*math.Cos(φ)) * math.Exp(halfTilt*math.Cos(φ-θ)-2*math.Cos(θ))
}
