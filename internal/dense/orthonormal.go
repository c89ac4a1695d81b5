package dense

import "math"

// Reject takes away from v its part along each of the orthonormal rows of basis, one
// after the other (a modified Gram–Schmidt step), and adds what it takes to the
// coefficients r, of as many rows as r has room for. Its sums are those of Dot.
func Reject(v []float64, basis [][]float64, r []float64) {
	for p, q := range basis {
		s := Dot(q, v)
		Axpy(v, -s, q)
		if p < len(r) {
			r[p] += s
		}
	}
}

// Orthonormalise makes the columns of an n×p matrix orthonormal in their order by
// modified Gram–Schmidt steps, each taken twice; false, with x spoilt, if they are dependent.
func Orthonormalise(x []float64, n, p int) bool {
	for i := range p {
		for range 2 {
			for j := range i {
				s := 0.0
				for k := range n {
					s += x[k*p+i] * x[k*p+j]
				}
				for k := range n {
					x[k*p+i] -= s * x[k*p+j]
				}
			}
		}
		s := 0.0
		for k := range n {
			s += x[k*p+i] * x[k*p+i]
		}
		if !(s > 0x1p-40) {
			return false
		}
		s = math.Sqrt(s)
		for k := range n {
			x[k*p+i] /= s
		}
	}
	return true
}

const (
	// apart: rows that keep this share of their length outside the span of the rows before them need no pivoting.
	apart = 0.1
	// again: a row that keeps less is orthogonalised twice (Kahan's and Parlett's "twice is enough").
	again = 0.5
)

// QR orthonormalises the k unit rows of q (each of d numbers) in their order and writes R with stride c: column j of R
// is row j in the new ones. It gives up, with q spoilt, at a row that is too near the span of those before it for an
// order without pivoting. Its sums are those of Dot4.
func QR(q, r []float64, k, c, d int) bool {
	for j := range k {
		qj := q[j*d : (j+1)*d]
		for p := range j {
			qp := q[p*d : (p+1)*d]
			s := Dot4(qp, qj)
			r[p*c+j] = s
			Axpy(qj, -s, qp)
		}
		s := Norm4(qj)
		if s < apart {
			return false
		}
		if s < again {
			for p := range j {
				qp := q[p*d : (p+1)*d]
				s := Dot4(qp, qj)
				r[p*c+j] += s
				Axpy(qj, -s, qp)
			}
			s = Norm4(qj)
		}
		r[j*c+j] = s
		Scaled(qj, 1/s, qj)
	}
	return true
}

// PivotedQR is QR with column pivoting, which reveals the rank, and returns it: rows whose part outside the span of the
// others is at most tolerance long count as dependent. pivot and scale, of k numbers, go along with their rows. Every
// row is orthogonalised twice.
func PivotedQR(q, r []float64, pivot []int, scale []float64, k, c, d int, tolerance float64) int {
	clear(r)
	for j := range k {
		// The row with the most left outside the span so far; ties keep the order of the rows.
		best, size := j, 0.0
		for p := j; p < k; p++ {
			if s := Dot4(q[p*d:(p+1)*d], q[p*d:(p+1)*d]); s > size*(1+1e-12) {
				best, size = p, s
			}
		}
		if best != j {
			Swap(q[j*d:(j+1)*d], q[best*d:(best+1)*d])
			pivot[j], pivot[best] = pivot[best], pivot[j]
			scale[j], scale[best] = scale[best], scale[j]
			for p := range j {
				r[p*c+j], r[p*c+best] = r[p*c+best], r[p*c+j]
			}
		}
		qj := q[j*d : (j+1)*d]
		for p := range j { // reorthogonalise
			qp := q[p*d : (p+1)*d]
			s := Dot4(qp, qj)
			r[p*c+j] += s
			Axpy(qj, -s, qp)
		}
		s := Norm4(qj)
		if s <= tolerance {
			return j
		}
		r[j*c+j] = s
		for t := range qj {
			qj[t] /= s
		}
		for p := j + 1; p < k; p++ {
			qp := q[p*d : (p+1)*d]
			s := Dot4(qj, qp)
			r[j*c+p] = s
			Axpy(qp, -s, qj)
		}
	}
	return k
}
