package aligned

import (
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
)

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
