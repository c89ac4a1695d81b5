package amber

import (
	"fmt"
	"math"
)

// born is implicit water, the generalised Born model with the radii of Onufriev, Bashford
// and Case (Proteins 2004, 383; their second set, AMBER's igb = 5):
//
//	U = −(C/2)(1 − 1/ε_w) Σ_ij q_i q_j/f_ij,  f² = r² + R_iR_j exp(−r²/(4R_iR_j)),  f_ii = R_i
//	1/R_i = 1/ρ̃_i − tanh(Ψ − 0.8Ψ² + 4.85Ψ³)/ρ_i,  Ψ = ρ̃_i I_i,  ρ̃ = ρ − 0.09 Å
//
// I_i = Σ_j H(r_ij, ρ̃_i, S_jρ̃_j) is the pairwise integral over the spheres of the other atoms of
// Hawkins, Cramer and Truhlar (J. Phys. Chem. 1996, 19824). With s = S_jρ̃_j, U = r + s and
// L = max(ρ̃_i, |r − s|), it is 0 where U ≤ ρ̃_i, and else
//
//	2H = 1/L − 1/U + ¼(r − s²/r)(1/U² − 1/L²) + ln(L/U)/(2r) [+ 2(1/ρ̃_i − 1/L) where ρ̃_i < s − r].
//
// The surface term is that of Schaefer, Bartels and Karplus (J. Mol. Biol. 1998, 835) as OpenMM
// writes it: 4π a Σ_i (ρ_i + 1.4 Å)²(ρ_i/R_i)⁶.
type born struct {
	n       int
	ρ, s    []float64 // ρ, and S ρ̃
	q       []float64 // charges times √(C(1 − 1/ε_w))
	surface []float64 // 4π a (ρ + 1.4)² ρ⁶; nil without the surface term
}

const (
	bornOffset = 0.09   // Å
	bornβ      = 0.8    // of Ψ², with α = 1 of Ψ
	bornγ      = 4.85   // of Ψ³
	water      = 78.5   // ε_w
	probe      = 1.4    // Å
	tension    = 0.0054 // a, kcal/(mol Å²)
)

func newBorn(s *System, surface bool) (*born, error) {
	b := &born{n: len(s.Atoms)}
	unit := math.Sqrt(Coulomb * (1 - 1/water))
	for i, a := range s.Atoms {
		if !(a.Radius > bornOffset) || !(a.Screen > 0) {
			return nil, fmt.Errorf("atom %d: its radius is %v Å and its screening factor %v; expected a radius "+
				"above 0.09 Å and a screening factor above 0, for implicit solvent (sections RADII and SCREEN)", i,
				a.Radius, a.Screen)
		}
		b.ρ = append(b.ρ, a.Radius)
		b.s = append(b.s, a.Screen*(a.Radius-bornOffset))
		b.q = append(b.q, unit*a.Charge)
		if surface {
			r := a.Radius
			b.surface = append(b.surface, 4*math.Pi*tension*(r+probe)*(r+probe)*r*r*r*r*r*r)
		}
	}
	return b, nil
}

// bornScratch is what an evaluation keeps.
type bornScratch struct {
	inner []float64 // I
	r     []float64 // R
	slope []float64 // dR/dI
	du    []float64 // ∂U/∂R, then ∂U/∂I
	pairs []bornPair
}

// A bornPair is what both passes over pairs need of i < j.
type bornPair struct {
	d2     float64 // r²
	di, dj float64 // (dH/dr)/r of j's sphere at i, and of i's at j
}

func (b *born) scratch() *bornScratch {
	vec := func() []float64 { return make([]float64, b.n) }
	return &bornScratch{vec(), vec(), vec(), vec(), make([]bornPair, b.n*(b.n-1)/2)}
}

// integral returns H and (dH/dr)/r for a sphere s at distance r from an atom of reduced radius
// ρ. Terms with dL/dr and dU/dr cancel:
//
//	2 dH/dr = ¼(1 + s²/r²)(1/U² − 1/L²) − ln(L/U)/(2r²).
func integral(r, inv, ρ, s float64) (h, slope float64) {
	if r+s <= ρ {
		return 0, 0
	}
	low := max(math.Abs(r-s), ρ)
	both := 1 / (low * (r + s))
	l, u := both*(r+s), both*low // 1/L, 1/U
	log := math.Log(low * u)
	diff, q := u*u-l*l, s*s*inv*inv
	h = 0.5 * (l - u + 0.25*r*(1-q)*diff + 0.5*log*inv)
	if ρ < s-r {
		h += 1/ρ - l
	}
	return h, inv * (0.125*(1+q)*diff - 0.25*log*inv*inv)
}

func (b *born) energy(w *bornScratch, grad, x []float64) (polar, surface float64) {
	clear(w.inner)
	p := 0
	for i := range b.n {
		xi, yi, zi := x[3*i], x[3*i+1], x[3*i+2]
		ρi, si, sum := b.ρ[i]-bornOffset, b.s[i], 0.0
		for j := i + 1; j < b.n; j++ {
			dx, dy, dz := xi-x[3*j], yi-x[3*j+1], zi-x[3*j+2]
			d2 := dx*dx + dy*dy + dz*dz
			r, t := math.Sqrt(d2), &w.pairs[p]
			p++
			t.d2 = d2
			sj, ρj := b.s[j], b.ρ[j]-bornOffset
			if r < ρi+sj || r < ρj+si {
				inv := 1 / r
				hi, di := integral(r, inv, ρi, sj)
				hj, dj := integral(r, inv, ρj, si)
				sum += hi
				w.inner[j] += hj
				t.di, t.dj = di, dj
				continue
			}
			// Spheres that do not reach the other atom's, with D = r² − s²:
			// 2H = s/D + ln(L/U)/(2r), 2 dH/dr = −(r² + s²) s/(r D²) − ln(L/U)/(2r²).
			i2, j2 := si*si, sj*sj
			Di, Dj := d2-j2, d2-i2
			inv := 1 / (r * Di * Dj)
			vi, vj := r*Dj*inv, r*Di*inv // 1/D
			inv *= Di * Dj
			half := 0.25 * inv
			li, lj := half*math.Log((r-sj)*(r-sj)*vi), half*math.Log((r-si)*(r-si)*vj)
			ui, uj := 0.5*sj*vi, 0.5*si*vj
			sum += ui + li
			w.inner[j] += uj + lj
			inv *= inv
			t.di = -inv * ((d2+j2)*ui*vi + li)
			t.dj = -inv * ((d2+i2)*uj*vj + lj)
		}
		w.inner[i] += sum
	}
	for i, v := range w.inner {
		ρ := b.ρ[i] - bornOffset
		Ψ := ρ * v
		t := math.Tanh(Ψ * (1 - Ψ*(bornβ-bornγ*Ψ)))
		r := 1 / (1/ρ - t/b.ρ[i])
		w.r[i] = r
		// dR/dI = R² (1 − tanh²)(1 − 2βΨ + 3γΨ²) ρ̃/ρ
		w.slope[i] = r * r * (1 - t*t) * (1 - Ψ*(2*bornβ-3*bornγ*Ψ)) * ρ / b.ρ[i]
		q := b.q[i]
		polar -= q * q / (2 * r)
		w.du[i] = q * q / (2 * r * r)
		if b.surface != nil {
			r2 := r * r
			a := b.surface[i] / (r2 * r2 * r2)
			surface += a
			w.du[i] -= 6 * a / r
		}
	}
	// −q_iq_j/f: its derivatives by r at fixed R, and by R.
	p = 0
	for i := range b.n {
		xi, yi, zi := x[3*i], x[3*i+1], x[3*i+2]
		qi, ri, du := b.q[i], w.r[i], 0.0
		gx, gy, gz := 0.0, 0.0, 0.0
		for j := i + 1; j < b.n; j++ {
			d2, rr := w.pairs[p].d2, ri*w.r[j]
			p++
			arg := d2 / (4 * rr)
			e := math.Exp(-arg)
			f2 := 1 / (d2 + rr*e)
			u := -qi * b.q[j] * math.Sqrt(f2)
			polar += u
			half := 0.5 * u * f2        // −dU/d(f²)
			s := -half * (2 - 0.5*e)    // (dU/dr)/r
			dR := -half * e * (1 + arg) // dU/d(R_iR_j)
			du += dR * w.r[j]
			w.du[j] += dR * ri
			dx, dy, dz := xi-x[3*j], yi-x[3*j+1], zi-x[3*j+2]
			gx += s * dx
			gy += s * dy
			gz += s * dz
			grad[3*j] -= s * dx
			grad[3*j+1] -= s * dy
			grad[3*j+2] -= s * dz
		}
		w.du[i] += du
		grad[3*i] += gx
		grad[3*i+1] += gy
		grad[3*i+2] += gz
	}
	for i := range w.du {
		w.du[i] *= w.slope[i]
	}
	p = 0
	for i := range b.n { // and through R, by the chain rule
		xi, yi, zi := x[3*i], x[3*i+1], x[3*i+2]
		du := w.du[i]
		gx, gy, gz := 0.0, 0.0, 0.0
		for j := i + 1; j < b.n; j++ {
			t := &w.pairs[p]
			p++
			s := du*t.di + w.du[j]*t.dj
			dx, dy, dz := xi-x[3*j], yi-x[3*j+1], zi-x[3*j+2]
			gx += s * dx
			gy += s * dy
			gz += s * dz
			grad[3*j] -= s * dx
			grad[3*j+1] -= s * dy
			grad[3*j+2] -= s * dz
		}
		grad[3*i] += gx
		grad[3*i+1] += gy
		grad[3*i+2] += gz
	}
	return polar, surface
}
