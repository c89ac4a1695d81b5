package method

import "github.com/landing-diffusion/landing/base/keyed"

// Turns say which rows of data a Source takes, where it takes fewer at a time than there are. All rows stand in a
// random order, in another one each round; refresh r of p rows takes the places rp to rp + p − 1, and what is beyond
// the end is of the next round. So every row has as many turns as any other, but for one. The zero value is ready.
type Turns struct {
	order []int
	round uint64 // that order is of, plus one; 0: of none
	of    uint64 // the seed of the order
	index []int
}

// Of returns the numbers of the rows, items of them, whose turn it is. They are valid until the next call.
func (t *Turns) Of(rows, items int, seed, refresh uint64) []int {
	t.index = t.index[:0]
	if items == rows {
		for i := range rows {
			t.index = append(t.index, i)
		}
		return t.index
	}
	if len(t.order) != rows || t.of != seed {
		t.order, t.round, t.of = make([]int, rows), 0, seed
	}
	n, p := uint64(rows), uint64(items)
	for at := refresh * p; at < refresh*p+p; at++ {
		if round := at / n; t.round != round+1 {
			keyed.PathRows.Stream(seed, round).Permutation(t.order, 0, 0)
			t.round = round + 1
		}
		t.index = append(t.index, t.order[at%n])
	}
	return t.index
}
