package kernel

// Portable products. The three of a linear layer all reduce to that of two matrices whose rows lie along the summed
// index (an "NT" product), with operands transposed first where needed.

// mulNT computes C = A·Bᵀ, or C += A·Bᵀ if add, with A n×k, B m×k, C n×m, all row-major and dense.
func mulNT[T Float](c, a, b []T, n, m, k int, add bool) {
	// Tiles of B that stay in the level-1 and level-2 caches while all rows of A pass by.
	const tile = 30
	for jt := 0; jt < m; jt += tile {
		je := min(m, jt+tile)
		i := 0
		for ; i+2 <= n; i += 2 {
			a0, a1 := a[i*k:(i+1)*k], a[(i+1)*k:(i+2)*k]
			c0, c1 := c[i*m:(i+1)*m], c[(i+1)*m:(i+2)*m]
			j := jt
			for ; j+3 <= je; j += 3 {
				s00, s01, s02, s10, s11, s12 := dot2x3(a0, a1, b[j*k:(j+1)*k], b[(j+1)*k:(j+2)*k], b[(j+2)*k:(j+3)*k])
				if add {
					s00, s01, s02 = s00+c0[j], s01+c0[j+1], s02+c0[j+2]
					s10, s11, s12 = s10+c1[j], s11+c1[j+1], s12+c1[j+2]
				}
				c0[j], c0[j+1], c0[j+2] = s00, s01, s02
				c1[j], c1[j+1], c1[j+2] = s10, s11, s12
			}
			for ; j < je; j++ {
				bj := b[j*k : (j+1)*k]
				s0, s1 := dot(a0, bj), dot(a1, bj)
				if add {
					s0, s1 = s0+c0[j], s1+c1[j]
				}
				c0[j], c1[j] = s0, s1
			}
		}
		if i < n {
			ai, ci := a[i*k:(i+1)*k], c[i*m:(i+1)*m]
			j := jt
			for ; j+4 <= je; j += 4 {
				s0, s1, s2, s3 := dot1x4(ai, b[j*k:(j+1)*k], b[(j+1)*k:(j+2)*k], b[(j+2)*k:(j+3)*k], b[(j+3)*k:(j+4)*k])
				if add {
					s0, s1, s2, s3 = s0+ci[j], s1+ci[j+1], s2+ci[j+2], s3+ci[j+3]
				}
				ci[j], ci[j+1], ci[j+2], ci[j+3] = s0, s1, s2, s3
			}
			for ; j < je; j++ {
				s := dot(ai, b[j*k:(j+1)*k])
				if add {
					s += ci[j]
				}
				ci[j] = s
			}
		}
	}
}

// dot2x3 returns the six dot products of two rows with three. Each is summed in index order, exactly as dot does, so
// tile edges do not change a result. With more sums the compiler runs out of registers, and the loop takes three times
// as long.
func dot2x3[T Float](a0, a1, b0, b1, b2 []T) (s00, s01, s02, s10, s11, s12 T) {
	k := len(a0)
	a1, b0, b1, b2 = a1[:k], b0[:k], b1[:k], b2[:k]
	for l, x := range a0 {
		y := a1[l]
		v := b0[l]
		s00 += x * v
		s10 += y * v
		v = b1[l]
		s01 += x * v
		s11 += y * v
		v = b2[l]
		s02 += x * v
		s12 += y * v
	}
	return
}

// dot1x4 returns the dot products of a row with four, summed as dot does.
func dot1x4[T Float](a, b0, b1, b2, b3 []T) (s0, s1, s2, s3 T) {
	k := len(a)
	b0, b1, b2, b3 = b0[:k], b1[:k], b2[:k], b3[:k]
	for l, x := range a {
		s0 += x * b0[l]
		s1 += x * b1[l]
		s2 += x * b2[l]
		s3 += x * b3[l]
	}
	return
}

func dot[T Float](a, b []T) (s T) {
	b = b[:len(a)]
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

// transpose writes the transpose of the n×m matrix a into dst (m×n).
func transpose[T Float](dst, a []T, n, m int) {
	const tile = 16
	for it := 0; it < n; it += tile {
		ie := min(n, it+tile)
		for jt := 0; jt < m; jt += tile {
			je := min(m, jt+tile)
			for i := it; i < ie; i++ {
				for j, v := range a[i*m+jt : i*m+je] {
					dst[(jt+j)*n+i] = v
				}
			}
		}
	}
}
