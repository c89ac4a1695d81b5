package dense

// Mul writes A B of p×p matrices.
func Mul(dst, a, b []float64, p int) {
	clear(dst[:p*p])
	for i := range p {
		row := dst[i*p : (i+1)*p]
		for k := range p {
			w := a[i*p+k]
			for j, v := range b[k*p : (k+1)*p] {
				row[j] += w * v
			}
		}
	}
}

// MulT writes A Bᵀ of p×p matrices.
func MulT(dst, a, b []float64, p int) {
	for i := range p {
		for j := range p {
			dst[i*p+j] = Dot(a[i*p:(i+1)*p], b[j*p:(j+1)*p])
		}
	}
}

// TMul writes AᵀB of p×p matrices.
func TMul(dst, a, b []float64, p int) {
	clear(dst[:p*p])
	for k := range p {
		for i := range p {
			w := a[k*p+i]
			for j, v := range b[k*p : (k+1)*p] {
				dst[i*p+j] += w * v
			}
		}
	}
}
