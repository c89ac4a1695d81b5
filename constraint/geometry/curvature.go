package geometry

import (
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// CanCurve returns nil if the set has the Hessian-vector products that the
// curvature terms need, and a *constraint.UnsupportedError otherwise.
func CanCurve(s constraint.Set) error {
	if s.NewEvaluator(1).HessianVectors == nil {
		return &constraint.UnsupportedError{
			Set: constraint.Name(s), Need: "Hessian-vector products", For: "curvature terms",
		}
	}
	return nil
}

// A Curvature computes the curvature terms of a set at the points of a Geometry of
// it. It is scratch space for one goroutine.
type Curvature struct {
	hessian func(dst, x, v []float64, n int)
	d, c    int
	support [][]int   // that products are along; nil: all coordinates
	row     int       // numbers of the products at a point
	hv, hd  []float64 // rows×row Hessian-vector products and rows×d directions
	comp    []float64 // rows×c

	// For sets with patterns: groups of coordinates, with at most one of each group in a component, and t, rows×d.
	colours [][]int
	touch   [][][2]int // by coordinate: components, and where their products begin
	t       []float64

	ii, basis []float64 // rows×d×d×d and d×rows×d, of Square
}

// NewCurvature makes room for rows points. The error is that of CanCurve.
func NewCurvature(s constraint.Set, rows int) (*Curvature, error) {
	if err := CanCurve(s); err != nil {
		return nil, err
	}
	d, c := s.Dim(), len(constraint.Components(s))
	e := s.NewEvaluator(rows)
	k := &Curvature{hessian: e.HessianVectors, d: d, c: c, row: c * d, hd: make([]float64, rows*d),
		comp: make([]float64, rows*c)}
	if e.SparseHessianVectors != nil {
		k.hessian, k.support, k.row = e.SparseHessianVectors, s.Capabilities().Support, 0
		for _, at := range k.support {
			k.row += len(at)
		}
		if newLayout(s).sparse {
			k.colour()
			k.t = make([]float64, rows*d)
		}
	}
	k.hv = make([]float64, rows*k.row)
	return k, nil
}

// colour gives each coordinate the first colour that no other coordinate of its components has: products with the sum
// of those of one colour are the columns of all of them.
func (k *Curvature) colour() {
	k.touch = make([][][2]int, k.d)
	from := 0
	for a, at := range k.support {
		for _, j := range at {
			k.touch[j] = append(k.touch[j], [2]int{a, from})
		}
		from += len(at)
	}
	of, taken := make([]int, k.d), []int(nil) // by colour: 1 + the coordinate that may not have it
	for j, touch := range k.touch {
		if len(touch) == 0 {
			continue
		}
		for _, a := range touch {
			for _, other := range k.support[a[0]] {
				if other < j {
					taken[of[other]] = j + 1
				}
			}
		}
		if of[j] = slices.IndexFunc(taken, func(by int) bool { return by != j+1 }); of[j] < 0 {
			of[j] = len(taken)
			taken, k.colours = append(taken, 0), append(k.colours, nil)
		}
		k.colours[of[j]] = append(k.colours[of[j]], j)
	}
}

// traces adds −tr(∇²J_i Π) of every component to tr, with one product a colour.
func (k *Curvature) traces(tr, x []float64, n int, g Geometry) {
	t := k.t[:n*k.d]
	for _, colour := range k.colours {
		clear(k.hd)
		for i := range n {
			for _, j := range colour {
				k.hd[i*k.d+j] = 1
			}
		}
		k.hessian(k.hv, x, k.hd, n)
		for _, j := range colour {
			clear(t)
			for i := range n {
				t[i*k.d+j] = 1
			}
			g.Tangent(t, t)
			for i := range n {
				for _, touch := range k.touch[j] {
					products := k.hv[i*k.row+touch[1]:]
					for e, at := range k.support[touch[0]] {
						tr[i*k.c+touch[0]] -= products[e] * t[i*k.d+at]
					}
				}
			}
		}
	}
}

// along adds s uᵀ∇²c_i v of every component to dst, from the products with v at point i. dot is of whole rows.
func (k *Curvature) along(dst []float64, s float64, u []float64, i int, dot func(a, b []float64) float64) {
	products := k.hv[i*k.row : (i+1)*k.row]
	if k.support == nil {
		for a := range dst {
			dst[a] += s * dot(u, products[a*k.d:(a+1)*k.d])
		}
		return
	}
	for a, at := range k.support {
		sum := 0.0
		for e, j := range at {
			sum += u[j] * products[e]
		}
		dst[a] += s * sum
		products = products[len(at):]
	}
}

// element returns that of ∇²c_a v along coordinate j at point i.
func (k *Curvature) element(products []float64, a, j int) float64 {
	if k.support == nil {
		return products[j]
	}
	if e, ok := slices.BinarySearch(k.support[a], j); ok {
		return products[e]
	}
	return 0
}

// width returns how many numbers the product of component a has.
func (k *Curvature) width(a int) int {
	if k.support == nil {
		return k.d
	}
	return len(k.support[a])
}

// Mean writes 𝓗(x) = −∇Jᵀ G† [tr(∇²J_i Π)]_i at every point of g: n×d
// (Proposition 1). On a sphere of radius r it is −(d−1)x/r².
func (k *Curvature) Mean(dst []float64, g Geometry) {
	d, x := k.d, g.Points()
	n := len(x) / d
	tr := k.comp[:n*k.c]
	clear(tr)
	if k.colours != nil {
		k.traces(tr, x, n, g)
		g.Normal(dst, tr)
		return
	}
	for j := range d { // tr(∇²J_i Π) = Σ_j e_jᵀ ∇²J_i Π e_j
		clear(k.hd)
		for i := range n {
			k.hd[i*d+j] = 1
		}
		g.Tangent(k.hd[:n*d], k.hd[:n*d])
		k.hessian(k.hv, x, k.hd, n)
		hv := k.hv
		for a := range tr {
			tr[a] -= k.element(hv, a%k.c, j)
			hv = hv[k.width(a%k.c):]
		}
	}
	g.Normal(dst, tr)
}

// Momentum writes ∇Jᵀ G† (𝓗₁(x, p) + s 𝓗₂(x, p)) at every point of g: n×d, with
// [𝓗₁]_i = pᵀ∇²J_i p and [𝓗₂]_i = pᵀ∇²J_i (∇Jᵀ G† J) (Proposition 2).
func (k *Curvature) Momentum(dst []float64, g Geometry, p []float64, s float64) {
	d, c, x := k.d, k.c, g.Points()
	n := len(x) / d
	k.hessian(k.hv, x, p, n)
	u, landing := k.comp[:n*c], k.hd[:n*d]
	clear(u)
	if s != 0 {
		g.Landing(landing)
	}
	for i := range n {
		k.along(u[i*c:(i+1)*c], 1, p[i*d:(i+1)*d], i, dense.Dot4)
		if s != 0 {
			k.along(u[i*c:(i+1)*c], s, landing[i*d:(i+1)*d], i, dense.Dot4)
		}
	}
	g.Normal(dst, u)
}

// Square writes II², the square of the second fundamental form, at every point of g: n×d×d,
//
//	II²(v, w) = Σ_f ⟨II(v, f), II(w, f)⟩,   II(v, w) = −∇Jᵀ G† [(Πv)ᵀ∇²J_i Πw],
//
// f over an orthonormal basis of the tangent space. Its trace is ‖II‖²; on a surface with the principal curvatures κ_a
// its eigenvalues are κ_a². It takes d Hessian products and d² sums of normals, so it is for few coordinates.
func (k *Curvature) Square(dst []float64, g Geometry) {
	d, c, x := k.d, k.c, g.Points()
	n := len(x) / d
	if k.ii == nil {
		k.ii, k.basis = make([]float64, len(k.hd)*d*d), make([]float64, len(k.hd)*d)
	}
	for e := range d {
		t := k.basis[e*n*d : (e+1)*n*d]
		clear(t)
		for i := range n {
			t[i*d+e] = 1
		}
		g.Tangent(t, t)
	}
	u := k.comp[:n*c]
	for e := range d {
		k.hessian(k.hv, x, k.basis[e*n*d:(e+1)*n*d], n)
		for f := range e + 1 {
			t := k.basis[f*n*d:]
			clear(u)
			for i := range n {
				k.along(u[i*c:(i+1)*c], 1, t[i*d:(i+1)*d], i, dense.Dot)
			}
			g.Normal(k.hd[:n*d], u)
			for i := range n {
				ii := k.ii[i*d*d*d : (i+1)*d*d*d]
				copy(ii[(e*d+f)*d:], k.hd[i*d:(i+1)*d])
				copy(ii[(f*d+e)*d:], k.hd[i*d:(i+1)*d])
			}
		}
	}
	// Coordinates f stand for a basis of the tangent space: Σ_f Πe_f (Πe_f)ᵀ = Π.
	for i := range n {
		ii, out := k.ii[i*d*d*d:(i+1)*d*d*d], dst[i*d*d:(i+1)*d*d]
		for e := range d {
			for f := range e + 1 {
				s := dense.Dot(ii[e*d*d:(e+1)*d*d], ii[f*d*d:(f+1)*d*d])
				out[e*d+f], out[f*d+e] = s, s
			}
		}
	}
}
