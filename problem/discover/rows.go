package discover

import (
	"math"
	"slices"
)

// Repeated are rows that are equal to an earlier one.
type Repeated struct {
	Count  int
	First  [][2]int // such a row and the first one that it is equal to; at most 20
	Looked int      // rows that were looked at, from the first
}

// maxHashed bounds the rows among which equal ones are looked for.
const maxHashed = 1 << 21

// Duplicates finds rows that are equal to earlier ones, number by number.
func Duplicates(x []float64, n, d int) Repeated {
	r, _ := repeated(x, n, d)
	return r
}

// repeated is Duplicates, which also returns the rows that are first of their kind.
func repeated(x []float64, n, d int) (r Repeated, first []int) {
	r.Looked = min(n, maxHashed)
	seen := make(map[uint64][]int32, r.Looked)
	for i := range r.Looked {
		row := x[i*d : (i+1)*d]
		h := hash(row)
		at := -1
		for _, k := range seen[h] {
			if slices.Equal(row, x[int(k)*d:int(k+1)*d]) {
				at = int(k)
				break
			}
		}
		if at < 0 {
			seen[h], first = append(seen[h], int32(i)), append(first, i)
			continue
		}
		if r.Count++; len(r.First) < 20 {
			r.First = append(r.First, [2]int{i, at})
		}
	}
	return r, first
}

// hash is that of Fowler, Noll and Vo, by words; −0 is 0.
func hash(row []float64) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range row {
		h = (h ^ math.Float64bits(v+0)) * 1099511628211
		h ^= h >> 29
	}
	return h
}

// choose parts distinct rows without outliers, evenly thinned, in those that relations are
// fitted to and those that they are held against, in turn.
func (s *survey) choose() {
	_, s.first = repeated(s.X, s.N, s.D)
	var kept []int
	for _, i := range s.first {
		if !s.odd[i] {
			kept = append(kept, i)
		}
	}
	step := max(1, (len(kept)+maxRows-1)/maxRows)
	for k := 0; k < len(kept); k += step {
		if (k/step)%2 == 0 {
			s.fit = append(s.fit, kept[k])
		} else {
			s.held = append(s.held, kept[k])
		}
	}
}

// some returns at most n of the rows, evenly.
func some(rows []int, n int) []int {
	if len(rows) <= n {
		return rows
	}
	out := make([]int, n)
	for k := range out {
		out[k] = rows[k*len(rows)/n]
	}
	return out
}

// row returns the numbers of a row.
func (s *survey) row(i int) []float64 { return s.X[i*s.D : (i+1)*s.D] }

// sorted returns a number of at most 2001 rows that relations are fitted to, in order.
func (s *survey) sorted(q func(x []float64) float64) []float64 {
	rows := some(s.fit, 2001)
	out := make([]float64, len(rows))
	for k, i := range rows {
		out[k] = q(s.row(i))
	}
	slices.Sort(out)
	return out
}

// fills estimates the dimension that rows fill by the ratio of each row's distances to its
// nearest two others: locally uniform points in p dimensions have P(ratio > μ) = μ^−p, whose
// maximum likelihood estimate is 1/mean(log ratio) (Facco et al., Scientific Reports 7, 2017).
// Columns are in units of their spread. It is NaN for fewer than 100 distinct rows.
func (s *survey) fills() float64 {
	rows := slices.Concat(s.fit, s.held)
	const work = 400_000_000 // numbers that are compared
	most := min(4000, int(math.Sqrt(work/float64(s.D))))
	// Of fewer rows the nearest are further: the dimension is that of a coarser look.
	if rows = some(rows, most); len(rows) < 100 {
		return math.NaN()
	}
	p, unit := len(s.varies), 0.0
	z := make([]float64, 0, len(rows)*p)
	// One unit for all columns: each its own would stretch the surface, which is harmless, but
	// columns of noise about a constant would become dimensions.
	for _, j := range s.varies {
		unit = max(unit, s.columns[j].SD)
	}
	for _, i := range rows {
		for _, j := range s.varies {
			z = append(z, s.X[i*s.D+j]/unit)
		}
	}
	sum, count := 0.0, 0
	for a := range rows {
		one, two := math.Inf(1), math.Inf(1)
		u := z[a*p : (a+1)*p]
		for b := range rows {
			if a == b {
				continue
			}
			dist := 0.0
			for j, v := range z[b*p : (b+1)*p] {
				dist += (u[j] - v) * (u[j] - v)
				if dist > two {
					break
				}
			}
			switch {
			case dist < one:
				one, two = dist, one
			case dist < two:
				two = dist
			}
		}
		if one > 0 && !math.IsInf(two, 0) {
			sum, count = sum+0.5*math.Log(two/one), count+1
		}
	}
	if count < 100 || sum == 0 {
		return math.NaN()
	}
	return float64(count) / sum
}
