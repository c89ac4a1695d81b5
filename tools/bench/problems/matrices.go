package problems

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
)

func matrices() []Problem {
	turns := ""
	for k, m := range turned {
		turns += fmt.Sprintf("\n- {name: \"from centre[%d]\", expr: \"norm(x - %s)\"}", k, literal(m.at[:]))
	}
	return []Problem{{
		Name: "so3", Dim: 9, Rows: 4000,
		About:   "rotations, C exp(A) about three centres C, the skew A normal with sd 0.15, 0.3 and 0.6",
		set:     "{kind: special_orthogonal, n: 3}",
		observe: turns + "\n- {name: trace, expr: \"x[0] + x[4] + x[8]\"}",
		row: func(x []float64, d *dice) {
			m := turned[d.of(turned[0].weight, turned[1].weight, turned[2].weight)]
			var v [3]float64
			d.normals(v[:])
			scale(v[:], m.sd)
			turn := rotation(v)
			dense.Mul(x, m.at[:], turn[:], 3)
			upright(x)
		},
	}, {
		Name: "stiefel", Dim: 10, Rows: 4000,
		About: "frames of two vectors in R⁵: the first in three modes, the second near ± one direction",
		set:   "{kind: stiefel, n: 5, p: 2}",
		observe: `
- {name: "first[i]", for: "i in 0..2", expr: "x[2*i]"}
- {name: "second[i]", for: "i in 0..4", expr: "x[2*i+1]"}`,
		row: func(x []float64, d *dice) {
			k := d.of(framed[0].weight, framed[1].weight, framed[2].weight)
			var a, b [5]float64
			d.fisher(a[:], framed[k].at, framed[k].κ)
			// Beside a the second vector is on the sphere S³ of its complement.
			axis, about, y := complement(a), [4]float64{1}, [4]float64{}
			if d.accepts(0.2) {
				about[0] = -1
			}
			d.fisher(y[:], about[:], frameκ)
			for i, e := range axis {
				dense.Axpy(b[:], y[i], e[:])
			}
			// The round-off of the products.
			along := dense.Dot(a[:], b[:])
			dense.Axpy(b[:], -along, a[:])
			scale(b[:], 1/dense.Norm(b[:]))
			for i := range 5 {
				x[2*i], x[2*i+1] = a[i], b[i]
			}
		},
	}, {
		Name: "correlation", Dim: 16, Rows: 4000,
		About: "correlation matrices, 4×4, of 12 normal rows each, in a calm and a tense regime",
		set: `
dim: 16
let: {A: "reshape(x, 4, 4)"}
equality:
  - {name: "diagonal[i]", for: "i in 0..3", expr: "A[i][i] = 1"}
  - {name: "symmetric[i,j]", for: "i in 0..2, j in i+1..3", expr: "A[i][j] = A[j][i]"}
inequality:
  - {name: positive 2, expr: "A[0][0]*A[1][1] - A[0][1]*A[1][0] >= 0"}
  - name: positive 3
    expr: "det([[A[0][0], A[0][1], A[0][2]], [A[1][0], A[1][1], A[1][2]], [A[2][0], A[2][1], A[2][2]]]) >= 0"
  - {name: positive 4, expr: "det(A) >= 0"}`,
		observe: `
- {name: "r[i,j]", for: "i in 0..2, j in i+1..3", expr: "A[i][j]", range: [-1, 1]}
- {name: determinant, expr: "det(A)"}`,
		row: func(x []float64, d *dice) {
			load := regimes[d.of(0.6, 0.4)]
			var s [16]float64
			for range correlated {
				// A common factor in the first three columns: correlations l_i l_j.
				var z [4]float64
				d.normals(z[:])
				common := d.normal()
				for i, l := range load {
					z[i] = l*common + math.Sqrt(1-l*l)*z[i]
				}
				for i := range 4 {
					for j := range 4 {
						s[4*i+j] += z[i] * z[j]
					}
				}
			}
			for i := range 4 {
				for j := range 4 {
					x[4*i+j] = s[4*i+j] / math.Sqrt(s[5*i]*s[5*j])
				}
				x[5*i] = 1
			}
		},
	}}
}

// turned are the parts of the mixture of rotations.
var turned = []struct {
	weight, sd float64
	at         [9]float64
}{{0.5, 0.15, rotation([3]float64{0, 0, 0.5})}, {0.3, 0.3, rotation([3]float64{2, 0, 0.5})},
	{0.2, 0.6, rotation([3]float64{0, -1.5, -1.5})}}

// rotation returns the matrix that turns about v by ‖v‖, exp of the skew matrix of v
// (Rodrigues).
func rotation(v [3]float64) [9]float64 {
	θ := dense.Norm(v[:])
	if θ == 0 {
		return [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	}
	x, y, z := v[0]/θ, v[1]/θ, v[2]/θ
	s, c := math.Sincos(θ)
	t := 1 - c
	return [9]float64{
		c + t*x*x, t*x*y - s*z, t*x*z + s*y,
		t*x*y + s*z, c + t*y*y, t*y*z - s*x,
		t*x*z - s*y, t*y*z + s*x, c + t*z*z,
	}
}

// upright removes the round-off of products from a rotation: its rows by Gram and Schmidt.
func upright(x []float64) {
	a, b, c := x[:3], x[3:6], x[6:9]
	scale(a, 1/dense.Norm(a))
	dense.Axpy(b, -dense.Dot(a, b), a)
	scale(b, 1/dense.Norm(b))
	c[0], c[1], c[2] = a[1]*b[2]-a[2]*b[1], a[2]*b[0]-a[0]*b[2], a[0]*b[1]-a[1]*b[0]
}

// framed are the modes of the first vector of a frame; the second is about ±e₄ without its
// part along the first, with the concentration frameκ.
var framed = []lobe{{0.5, 40, unit(1, 0, 0, 0, 0)}, {0.3, 20, unit(-1, 1, 0, 0, 0)}, {0.2, 60, unit(0, -1, 1, 0, 0)}}

const frameκ = 12.0

// complement returns an orthonormal basis of the complement of a unit vector, the first of it
// along e₄ without its part along a.
func complement(a [5]float64) (axis [4][5]float64) {
	basis := [][]float64{a[:]}
	k := 0
	for j := 4; k < 4; j-- {
		var e [5]float64
		e[j] = 1
		for range 2 { // twice is enough
			for _, b := range basis {
				dense.Axpy(e[:], -dense.Dot(e[:], b), b)
			}
		}
		length := dense.Norm(e[:])
		if length < 1e-3 { // a is nearly e_j: the others make a basis
			continue
		}
		scale(e[:], 1/length)
		axis[k] = e
		basis = append(basis, axis[k][:])
		k++
	}
	return axis
}

// correlated is how many rows a correlation matrix is of; regimes are the loadings of the
// common factor.
const correlated = 12

var regimes = [][4]float64{{0.4, 0.5, 0.3, 0}, {0.9, 0.85, 0.8, 0}}
