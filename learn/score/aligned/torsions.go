package aligned

import (
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/internal/vec3"
	"github.com/landing-diffusion/landing/learn/score"
)

// A turning says which torsions a network reads, and how: of each the row has
//
//	sin iφ, cos iφ for i = 1 … waves,   φ̇/‖∇φ‖ with φ̇ = ∇φ·p̃,   sin iψ, cos iψ,   ψ = φ − b(t)φ̇
//
// φ̇ with a momentum alone, and ψ, to first order the torsion where the path began, where the Reading has a Start. An
// energy that is a sum of functions of torsions is linear in the waves, and its force is in the directions ∇φ; of raw
// coordinates both are functions of sixth degree and more, which a network has to find behind the noise of its targets.
type turning struct {
	atoms    [][4]int
	waves    int
	momentum bool
	start    func(t float64) (b, v float64)
}

func turningOf(c score.Config) turning {
	o := turning{waves: int(c.Options["torsions"]), momentum: c.Momentum, start: c.Start}
	if o.waves > 0 {
		o.atoms = c.Torsions
	}
	return o
}

// each is how many numbers a torsion has in a row.
func (o *turning) each() int {
	n := 2 * o.waves
	if o.start != nil {
		n *= 2
	}
	if o.momentum {
		n++
	}
	return n
}

// inputs is how many all have.
func (o *turning) inputs() int { return len(o.atoms) * o.each() }

// readTorsions writes the inputs of o at a point to dst, and to tail the unit vectors along ∇φ, quadruple numbers each,
// which the outputs go along. Where three atoms are on a line there is no torsion, and all of it is 0.
func readTorsions[T kernel.Float](o *turning, dst, tail []T, at score.Input) {
	b := 0.0
	if o.start != nil && len(o.atoms) > 0 {
		b, _ = o.start(at.T)
	}
	for k := range o.atoms {
		row, along := dst[k*o.each():(k+1)*o.each()], tail[quadruple*k:quadruple*(k+1)]
		var grad [quadruple]float64
		φ := torsion(&grad, at.X, &o.atoms[k])
		square, rate := 0.0, 0.0
		for e, g := range grad {
			square += g * g
			if o.momentum {
				rate += g * at.P[3*o.atoms[k][e/3]+e%3]
			}
		}
		size := math.Sqrt(square)
		if !(size > 0 && size <= math.MaxFloat64) {
			clear(row)
			clear(along)
			continue
		}
		for e, g := range grad {
			along[e] = T(g / size)
		}
		row = angular(row, φ, o.waves)
		if o.momentum {
			row[0], row = T(rate/size), row[1:]
		}
		if o.start != nil {
			angular(row, φ-b*rate, o.waves)
		}
	}
}

// angular writes the waves of an angle, and returns what is behind them.
func angular[T kernel.Float](row []T, angle float64, waves int) []T {
	for i := range waves {
		sin, cos := math.Sincos(float64(i+1) * angle)
		row[2*i], row[2*i+1] = T(sin), T(cos)
	}
	return row[2*waves:]
}

// quadruple is the number of coordinates that a torsion is a function of.
const quadruple = 12

// torsion returns the torsion φ of four atoms in x, as molecule.Torsion has it, and its gradient by their
// positions. With F = r₀−r₁, G = r₁−r₂, H = r₃−r₂, A = F×G and B = H×G (Blondel and Karplus 1996)
//
//	∂φ/∂r₀ = −|G|A/A²,   ∂φ/∂r₁ = (|G| + F·G/|G|)A/A² − (H·G/|G|)B/B²
//	∂φ/∂r₃ =  |G|B/B²,   ∂φ/∂r₂ = (H·G/|G| − |G|)B/B² − (F·G/|G|)A/A²
//
// They are not finite where three atoms in a row are on a line.
func torsion(grad *[quadruple]float64, x []float64, atoms *[4]int) (φ float64) {
	var f, g, h [3]float64
	for k := range 3 {
		r1, r2 := x[3*atoms[1]+k], x[3*atoms[2]+k]
		f[k], g[k], h[k] = x[3*atoms[0]+k]-r1, r1-r2, x[3*atoms[3]+k]-r2
	}
	a, b := vec3.Cross(f, g), vec3.Cross(h, g)
	aa, bb, gg := vec3.Dot(a, a), vec3.Dot(b, b), math.Sqrt(vec3.Dot(g, g))
	fg, hg := vec3.Dot(f, g)/gg, vec3.Dot(h, g)/gg
	for k := range 3 {
		u, v := a[k]/aa, b[k]/bb
		grad[k], grad[9+k] = -gg*u, gg*v
		grad[3+k], grad[6+k] = (gg+fg)*u-hg*v, (hg-gg)*v-fg*u
	}
	return math.Atan2(vec3.Dot(vec3.Cross(b, a), g)/gg, vec3.Dot(a, b))
}

// swing adds Σ_k a_k ∇φ_k/‖∇φ_k‖ to z, atoms as rows; u holds the unit vectors.
func swing[T kernel.Float](z, a, u []T, torsions [][4]int) {
	for k := range torsions {
		for e, atom := range torsions[k] {
			to, v := (*[3]T)(z[3*atom:]), (*[3]T)(u[quadruple*k+3*e:])
			for j, w := range v {
				to[j] += a[k] * w
			}
		}
	}
}

// across writes the derivative by a of what has the derivative dz by swing's z.
func across[T kernel.Float](da, dz, u []T, torsions [][4]int) {
	for k := range torsions {
		da[k] = 0
		for e, atom := range torsions[k] {
			from, v := (*[3]T)(dz[3*atom:]), (*[3]T)(u[quadruple*k+3*e:])
			da[k] += from[0]*v[0] + from[1]*v[1] + from[2]*v[2]
		}
	}
}

// pairs returns the pairs i < j of atoms with j − i ≤ reach: in files of molecules bonded atoms stand near each other.
func pairs(atoms, reach int) (all [][2]int) {
	for i := range atoms {
		for j := i + 1; j < min(atoms, i+reach+1); j++ {
			all = append(all, [2]int{i, j})
		}
	}
	return all
}

// count returns how many pairs returns.
func count(atoms, reach int) int {
	reach = min(reach, max(atoms-1, 0))
	return reach*atoms - reach*(reach+1)/2
}

// apart returns the distance of a pair in x, and its gradient by x_i, which is minus that by
// x_j: 0 where the two are in one place.
func apart(x []float64, pair [2]int) (u [3]float64, d float64) {
	a, b := (*[3]float64)(x[3*pair[0]:]), (*[3]float64)(x[3*pair[1]:])
	for k := range u {
		u[k] = a[k] - b[k]
		d += u[k] * u[k]
	}
	if d = math.Sqrt(d); d > 0 {
		for k := range u {
			u[k] /= d
		}
	}
	return u, d
}

// pull adds Σ a_ij ∇‖x_i − x_j‖ to z, atoms as rows; u holds the gradients.
func pull[T kernel.Float](z, a, u []T, pairs [][2]int) {
	for k, pair := range pairs {
		zi, zj, v := (*[3]T)(z[3*pair[0]:]), (*[3]T)(z[3*pair[1]:]), (*[3]T)(u[3*k:])
		for e, w := range v {
			zi[e] += a[k] * w
			zj[e] -= a[k] * w
		}
	}
}

// along writes the derivative by a of what has the derivative dz by pull's z.
func along[T kernel.Float](da, dz, u []T, pairs [][2]int) {
	for k, pair := range pairs {
		zi, zj, v := (*[3]T)(dz[3*pair[0]:]), (*[3]T)(dz[3*pair[1]:]), (*[3]T)(u[3*k:])
		da[k] = (zi[0]-zj[0])*v[0] + (zi[1]-zj[1])*v[1] + (zi[2]-zj[2])*v[2]
	}
}
