package scene

import (
	"cmp"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/internal/vec3"
)

// Points are places in a tree: the middle one of a part splits it along the longest side of its box. Any number of
// goroutines may use them.
type Points struct {
	at  [][3]float64
	box [][2][3]float64 // of the part whose middle each is
}

// NewPoints builds the tree, of at least one place.
func NewPoints(at [][3]float64) *Points {
	p := &Points{slices.Clone(at), make([][2][3]float64, len(at))}
	p.build(0, len(at))
	return p
}

// Some returns at most `most` of the places, for pictures.
func (p *Points) Some(most int) (out [][3]float64) {
	for i := 0; i < len(p.at); i += 1 + len(p.at)/most {
		out = append(out, p.at[i])
	}
	return out
}

func (p *Points) build(lo, hi int) {
	if lo >= hi {
		return
	}
	box := [2][3]float64{p.at[lo], p.at[lo]}
	axis := 0
	for _, q := range p.at[lo:hi] {
		for k, v := range q {
			box[0][k], box[1][k] = min(box[0][k], v), max(box[1][k], v)
		}
	}
	for k := range 3 {
		if box[1][k]-box[0][k] > box[1][axis]-box[0][axis] {
			axis = k
		}
	}
	slices.SortFunc(p.at[lo:hi], func(a, b [3]float64) int {
		return cmp.Or(cmp.Compare(a[axis], b[axis]), slices.Compare(a[:], b[:]))
	})
	mid := (lo + hi) / 2
	p.box[mid] = box
	p.build(lo, mid)
	p.build(mid+1, hi)
}

// nearest returns the place nearest to the chord from a to b. A part is at least as far from it as from its middle,
// less half of its length.
func (p *Points) nearest(a, b [3]float64) (best [3]float64) {
	chord, least := Obstacle{A: a, B: b}, math.Inf(1)
	half := vec3.Scaled(0.5, vec3.Minus(b, a))
	middle, reach := vec3.Add(a, 1, half), vec3.Norm(half)
	away := func(lo, hi int) float64 {
		if lo >= hi {
			return math.Inf(1)
		}
		box, sum := &p.box[(lo+hi)/2], 0.0
		for k, v := range middle {
			d := max(box[0][k]-v, v-box[1][k], 0)
			sum += d * d
		}
		return math.Sqrt(sum) - reach
	}
	var look func(lo, hi int)
	look = func(lo, hi int) {
		mid := (lo + hi) / 2
		t, _ := chord.along(p.at[mid])
		if d := vec3.Norm(vec3.Minus(p.at[mid], vec3.Add(a, t, vec3.Minus(b, a)))); d < least {
			least, best = d, p.at[mid]
		}
		parts := [2][2]int{{lo, mid}, {mid + 1, hi}}
		if away(mid+1, hi) < away(lo, mid) {
			parts[0], parts[1] = parts[1], parts[0]
		}
		for _, q := range parts {
			if away(q[0], q[1]) < least {
				look(q[0], q[1])
			}
		}
	}
	look(0, len(p.at))
	return best
}
