package metric

// Select reorders x so that none before number n is larger than it and none behind it smaller, and returns it.
func Select(x []float64, n int) float64 { return find(x, n, func(v float64) float64 { return v }) }

// find is Select of things by a number of theirs (Hoare's FIND).
func find[T any](x []T, n int, of func(T) float64) float64 {
	lo, hi := 0, len(x)-1
	for lo < hi {
		pivot := of(x[lo+(hi-lo)/2])
		i, j := lo, hi
		for i <= j {
			for of(x[i]) < pivot {
				i++
			}
			for of(x[j]) > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			hi = j
		case n >= i:
			lo = i
		default:
			return pivot
		}
	}
	return of(x[n])
}
