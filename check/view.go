package check

import "github.com/landing-diffusion/landing/constraint"

// A view is a set with some of another's components, in another order.
type view struct {
	set   constraint.Set
	names []string
	index []int // components of set
	m     int   // of them, equalities
	c     int   // components of set
}

// edge returns s with inequality j made an equality: the part of Σ where g_j = 0.
func edge(s constraint.Set, j int) constraint.Set {
	m, l := len(s.Equalities()), len(s.Inequalities())
	index := append(upTo(0, m), m+j)
	index = append(index, upTo(m, m+j)...)
	return newView(s, append(index, upTo(m+j+1, m+l)...), m+1)
}

// equalities returns s without its inequalities.
func equalities(s constraint.Set) constraint.Set {
	m := len(s.Equalities())
	return newView(s, upTo(0, m), m)
}

func upTo(lo, hi int) []int {
	out := make([]int, hi-lo)
	for i := range out {
		out[i] = lo + i
	}
	return out
}

func newView(s constraint.Set, index []int, m int) constraint.Set {
	v := view{set: s, index: index, m: m}
	all := constraint.Components(s)
	v.c = len(all)
	for _, i := range index {
		v.names = append(v.names, all[i])
	}
	if p, ok := s.(constraint.Sparse); ok {
		return &sparseView{v, p}
	}
	return &v
}

func (v *view) Dim() int               { return v.set.Dim() }
func (v *view) Equalities() []string   { return v.names[:v.m] }
func (v *view) Inequalities() []string { return v.names[v.m:] }

// Values implements constraint.Set.
func (v *view) Values(values, x []float64, n int) {
	all := make([]float64, n*v.c)
	v.set.Values(all, x, n)
	v.gather(values, all, n, 1)
}

// Jacobians implements constraint.Set.
func (v *view) Jacobians(values, jac, x []float64, n int) {
	a, j := make([]float64, n*v.c), make([]float64, n*v.c*v.Dim())
	v.set.Jacobians(a, j, x, n)
	v.gather(values, a, n, 1)
	v.gather(jac, j, n, v.Dim())
}

func (v *view) gather(dst, all []float64, n, width int) {
	for p := range n {
		for a, i := range v.index {
			copy(dst[(p*len(v.index)+a)*width:(p*len(v.index)+a+1)*width], all[(p*v.c+i)*width:])
		}
	}
}

// A sparseView is a view of a set that knows its sparsity.
type sparseView struct {
	view
	sparse constraint.Sparse
}

// Support implements constraint.Sparse.
func (v *sparseView) Support() [][]int {
	all := v.sparse.Support()
	out := make([][]int, len(v.index))
	for a, i := range v.index {
		out[a] = all[i]
	}
	return out
}

// SparseJacobians implements constraint.Sparse.
func (v *sparseView) SparseJacobians(values, jac, x []float64, n int) {
	from := []int{0}
	for _, s := range v.sparse.Support() {
		from = append(from, from[len(from)-1]+len(s))
	}
	a, j := make([]float64, n*v.c), make([]float64, n*from[v.c])
	v.sparse.SparseJacobians(a, j, x, n)
	v.gather(values, a, n, 1)
	for p := range n {
		row := j[p*from[v.c] : (p+1)*from[v.c]]
		for _, i := range v.index {
			jac = jac[copy(jac, row[from[i]:from[i+1]]):]
		}
	}
}
