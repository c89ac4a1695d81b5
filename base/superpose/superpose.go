// Package superpose lays conformations on a reference by a rotation and a translation, the
// pair that makes the squares of the distances between atoms least (Kabsch 1976):
//
//	aligned = (x − b) Rᵀ,    b = x̄,  R = argmin_{R ∈ SO(3)} Σ_a ‖R (x_a − x̄) − (y_a − ȳ)‖²
//
// with atoms as rows. R is never a reflection: mirror images stay apart. It comes from the unit quaternion q that
// maximises qᵀNq (Horn 1987), N being 4×4, symmetric and linear in S = Σ_a (x_a − x̄)(y_a − ȳ)ᵀ. With the singular
// values s₁ ≥ s₂ ≥ s₃ of S and ς = sign det S the two largest eigenvalues of N are s₁ + s₂ + ςs₃ and s₁ − s₂ − ςs₃, so
// R is determined, and smooth in x, as long as s₂ + ςs₃ > 0: a planar frame (s₃ = 0) is no special case, and there is
// no sign to be chosen. Collinear atoms (s₂ = s₃ = 0), and frames as near to the mirror image as to the reference (ς =
// −1, s₂ = s₃), have no alignment; a Pose says so.
//
// All atoms weigh alike. It is not for alignments with matching of atoms.
package superpose

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/internal/dense"
)

// LeastGap is the least Gap of a Pose that determines its rotation: below it round-off of
// the coordinates would turn the frame by more than about 1e-7.
const LeastGap = 1e-8

// A Reference is a conformation that others are laid on. It is read only: any number of goroutines may use it.
type Reference struct {
	y    []float64 // A×3, centred
	size float64   // √Σ‖y_a‖²
}

// A ReferenceError says why a conformation cannot be a reference.
type ReferenceError struct{ Problem string }

func (e *ReferenceError) Error() string { return "no reference for alignment: " + e.Problem }

// New makes a reference of the positions y of at least three atoms, A×3. The error is a
// *ReferenceError: atoms on one line, or numbers that are not finite.
func New(y []float64) (*Reference, error) {
	if len(y)%3 != 0 || len(y) < 9 {
		const want = "three of each of at least 3 atoms"
		return nil, &ReferenceError{fmt.Sprintf("it has %d coordinates; expected %s", len(y), want)}
	}
	for i, v := range y {
		if v-v != 0 {
			return nil, &ReferenceError{fmt.Sprintf("coordinate %c of atom %d is %v", "xyz"[i%3], i/3, v)}
		}
	}
	r := &Reference{y: append([]float64(nil), y...)}
	centre := Centre(y)
	for i := range r.y {
		r.y[i] -= centre[i%3]
	}
	r.size = dense.Norm(r.y)
	// Laid on itself, ς = 1 and the gap is (s₂ + s₃)/size².
	if p := r.Fit(r.y); p.Degenerate() {
		return nil, &ReferenceError{"its atoms lie on one line, or all in one place"}
	}
	return r, nil
}

// Atoms returns A.
func (r *Reference) Atoms() int { return len(r.y) / 3 }

// Positions returns the reference's positions with their centroid at 0, A×3, to be read.
func (r *Reference) Positions() []float64 { return r.y }

// Centre returns the centroid x̄ of the positions x, A×3.
func Centre(x []float64) (c [3]float64) {
	for i := 0; i+3 <= len(x); i += 3 {
		c[0] += x[i]
		c[1] += x[i+1]
		c[2] += x[i+2]
	}
	n := float64(len(x) / 3)
	return [3]float64{c[0] / n, c[1] / n, c[2] / n}
}

// A Pose is where a conformation lies: the rotation and translation that lay it on a reference.
type Pose struct {
	R      [9]float64 // rotation, row by row
	Centre [3]float64 // b
	// Gap is (s₂ + ςs₃)/(‖x − x̄‖‖y − ȳ‖), how clearly R is determined: at most 1, and 0 or NaN where it is not.
	Gap float64
}

// Degenerate reports that no rotation is nearest: R is then a rotation, but any of many.
func (p *Pose) Degenerate() bool { return !(p.Gap >= LeastGap) }

// Fit returns how the positions x, A×3, lie on the reference. It allocates nothing, and
// panics if x is of another number of atoms.
func (r *Reference) Fit(x []float64) Pose {
	if len(x) != len(r.y) {
		panic(fmt.Sprintf("superpose: %d coordinates on a reference of %d", len(x), len(r.y)))
	}
	c := Centre(x)
	var s [9]float64 // S, row by row
	size := 0.0
	for i := 0; i+3 <= len(x); i += 3 {
		a, b := [3]float64{x[i] - c[0], x[i+1] - c[1], x[i+2] - c[2]}, (*[3]float64)(r.y[i:])
		for j, v := range a {
			s[3*j] += v * b[0]
			s[3*j+1] += v * b[1]
			s[3*j+2] += v * b[2]
			size += v * v
		}
	}
	scale := math.Sqrt(size) * r.size
	if scale > 0 {
		for i := range s {
			s[i] /= scale
		}
	}
	q, gap := quaternion(&s)
	if scale == 0 {
		gap = 0
	}
	return Pose{R: rotation(q), Centre: c, Gap: gap / 2}
}

// quaternion returns the unit eigenvector of the largest eigenvalue of Horn's N, and by how
// much that is above the next.
func quaternion(s *[9]float64) (q [4]float64, gap float64) {
	xx, xy, xz, yx, yy, yz, zx, zy, zz := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8]
	n := [16]float64{
		xx + yy + zz, yz - zy, zx - xz, xy - yx,
		yz - zy, xx - yy - zz, xy + yx, zx + xz,
		zx - xz, xy + yx, yy - xx - zz, yz + zy,
		xy - yx, zx + xz, yz + zy, zz - xx - yy,
	}
	var u [16]float64
	var off [4]float64
	dense.Eigen(n[:], u[:], off[:], 4)
	top, next := 0, math.Inf(-1)
	for i := 1; i < 4; i++ {
		if n[5*i] > n[5*top] {
			top = i
		}
	}
	for i := range 4 {
		if i != top {
			next = max(next, n[5*i])
		}
	}
	for i := range q {
		q[i] = u[4*i+top]
	}
	return q, n[5*top] - next
}

// rotation returns that of the quaternion q, of any length but 0.
func rotation(q [4]float64) [9]float64 {
	w, x, y, z := q[0], q[1], q[2], q[3]
	f := 2 / (w*w + x*x + y*y + z*z)
	return [9]float64{
		1 - f*(y*y+z*z), f * (x*y - w*z), f * (x*z + w*y),
		f * (x*y + w*z), 1 - f*(x*x+z*z), f * (y*z - w*x),
		f * (x*z - w*y), f * (y*z + w*x), 1 - f*(x*x+y*y),
	}
}

// Apply writes (x − b) Rᵀ, A×3, which may stand in the place of x.
func (p *Pose) Apply(dst, x []float64) {
	for i := 0; i+3 <= len(x); i += 3 {
		turn(dst[i:i+3], &p.R, x[i]-p.Centre[0], x[i+1]-p.Centre[1], x[i+2]-p.Centre[2])
	}
}

// Turn writes v Rᵀ of vectors v, A×3, such as momenta, which may stand in the place of v.
func (p *Pose) Turn(dst, v []float64) {
	for i := 0; i+3 <= len(v); i += 3 {
		turn(dst[i:i+3], &p.R, v[i], v[i+1], v[i+2])
	}
}

func turn(dst []float64, r *[9]float64, x, y, z float64) {
	_ = dst[2]
	dst[0] = r[0]*x + r[1]*y + r[2]*z
	dst[1] = r[3]*x + r[4]*y + r[5]*z
	dst[2] = r[6]*x + r[7]*y + r[8]*z
}

// RMSD returns √(1/A Σ_a ‖R (x_a − x̄) − (y_a − ȳ)‖²) of the positions x, A×3, after alignment: 0 for a copy of the
// reference, in the unit of x. It is well defined, and continuous, where the rotation is not.
func (r *Reference) RMSD(x []float64) float64 {
	p := r.Fit(x)
	sum := 0.0
	var a [3]float64
	for i := 0; i+3 <= len(x); i += 3 {
		p.Apply(a[:], x[i:i+3])
		for j, v := range a {
			sum += (v - r.y[i+j]) * (v - r.y[i+j])
		}
	}
	return math.Sqrt(sum / float64(r.Atoms()))
}

// A DegenerateError says that no rotation of a frame onto the reference is nearest.
type DegenerateError struct{ Frame int }

func (e *DegenerateError) Error() string {
	return fmt.Sprintf("frame %d (from 0) has no alignment to the reference: its atoms lie on one line, or it is as "+
		"near to the reference's mirror image", e.Frame)
}

// Check returns a *DegenerateError that names the first of the frames, n×A×3, without an alignment to the reference.
func (r *Reference) Check(frames []float64) error {
	w := len(r.y)
	for i := 0; (i+1)*w <= len(frames); i++ {
		if p := r.Fit(frames[i*w : (i+1)*w]); p.Degenerate() {
			return &DegenerateError{i}
		}
	}
	return nil
}

// meanSteps is how often the mean shape is made again; it settles after two or three.
const meanSteps = 5

// Central returns the number of the frame that is nearest to the mean shape of the frames, n×A×3, by RMSD: the first of
// several. The mean shape is that of the frames laid on it (generalised Procrustes analysis without scaling), begun
// with the first frame that can be a reference; frames without an alignment do not count. The error is that of New for
// the last frame, if none can be one.
func Central(frames []float64, atoms int) (int, error) {
	w := 3 * atoms
	if w == 0 || len(frames) < w || len(frames)%w != 0 {
		panic(fmt.Sprintf("superpose: %d numbers for frames of %d atoms", len(frames), atoms))
	}
	n := len(frames) / w
	mean, err := New(frames[:w])
	for i := 1; err != nil && i < n; i++ {
		mean, err = New(frames[i*w : (i+1)*w])
	}
	if err != nil {
		return 0, err
	}
	sum, laid := make([]float64, w), make([]float64, w)
	for range meanSteps {
		clear(sum)
		count := 0.0
		for i := range n {
			x := frames[i*w : (i+1)*w]
			p := mean.Fit(x)
			if p.Degenerate() {
				continue
			}
			p.Apply(laid, x)
			for j, v := range laid {
				sum[j] += v
			}
			count++
		}
		for j := range sum {
			sum[j] /= count
		}
		next, err := New(sum)
		if err != nil { // the frames average out: any of them will do as well
			break
		}
		mean = next
	}
	nearest, least := -1, math.Inf(1)
	for i := range n {
		x := frames[i*w : (i+1)*w]
		if d := mean.RMSD(x); d < least {
			if _, err = New(x); err == nil {
				nearest, least = i, d
			}
		}
	}
	if nearest < 0 {
		return 0, err
	}
	return nearest, nil
}
