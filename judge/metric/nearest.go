package metric

import (
	"fmt"
	"math"
)

// treeDim is the largest dimension in which a k-d tree is used. Above it, most of a tree would be visited anyway.
const treeDim = 16

// NearestDistances returns, for each of the points x of dimension d, the Euclidean distance to the nearest of the
// points ref. The distances go to dst, one for each point; a nil dst is allocated. Points with a coordinate that is not
// finite are at distance +Inf from all others.
func NearestDistances(dst, x, ref []float64, d int) []float64 {
	n, m := rowsOf("NearestDistances", x, d), rowsOf("NearestDistances", ref, d)
	if m == 0 {
		panic("metric: nearest of no points")
	}
	if dst == nil {
		dst = make([]float64, n)
	}
	if len(dst) != n {
		panic(fmt.Sprintf("metric: room for %d distances of %d points", len(dst), n))
	}
	if d > treeDim {
		scanNearest(dst, x, ref, d)
		return dst
	}
	t := newTree(ref, d)
	for i := range dst {
		dst[i] = math.Sqrt(t.nearest(x[i*d : (i+1)*d]))
	}
	return dst
}

func scanNearest(dst, x, ref []float64, d int) {
	for i := range dst {
		q := x[i*d : (i+1)*d]
		best := math.Inf(1)
		for j := 0; j < len(ref); j += d {
			if s := squaredDistance(q, ref[j:j+d]); s < best {
				best = s
			}
		}
		dst[i] = math.Sqrt(best)
	}
}
