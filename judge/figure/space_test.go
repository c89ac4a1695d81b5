package figure

import (
	"math"
	"testing"
)

// Directions on the sheet: from above, x runs right and y up; from the front, x
// right and z up; the axes of any view are orthonormal and right-handed.
func TestCamera(t *testing.T) {
	for _, c := range []struct {
		from, point, want [3]float64
	}{
		{[3]float64{0, 0, 5}, [3]float64{1, 2, 3}, [3]float64{1, 2, 3}},
		{[3]float64{0, -2, 0}, [3]float64{1, 2, 3}, [3]float64{1, 3, -2}},
		{[3]float64{3, 0, 0}, [3]float64{1, 2, 3}, [3]float64{2, 3, 1}},
	} {
		if got := newCamera(c.from).turn(c.point); distance(got, c.want) > 1e-15 {
			t.Errorf("from %v the point %v is at %v, want %v", c.from, c.point, got, c.want)
		}
	}
	c := newCamera([3]float64{2, -3, 2})
	if e := c.turn(c.view[2]); distance(e, [3]float64{0, 0, 1}) > 1e-15 {
		t.Errorf("the viewer is at %v", e)
	}
	if e := c.turn(vec3{0, 0, 1}); math.Abs(e[0]) > 1e-15 || e[1] <= 0 {
		t.Errorf("up is %v", e)
	}
}

func distance(a, b [3]float64) float64 {
	return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2])
}

// From far to near: what is behind a ball is painted before it, what is in front
// after it and stronger. A bond counts where its middle is.
func TestSpacePaintsFromFarToNear(t *testing.T) {
	for _, l := range []SpaceLayer{
		{Points: []float64{0, -2, 0, 0, 2, 0}},
		{Points: []float64{-1, -2, 0, 1, -2, 0, -1, 2, 0, 1, 2, 0}, Strand: 2},
	} {
		var order string
		var alphas []float64
		for _, item := range Space(SpaceOptions{From: [3]float64{0, -1, 0}, Ball: 1}, l).
			scene.items {
			switch item := item.(type) {
			case shape:
				switch {
				case item.fill == &ocean:
					order += "ball "
				case item.fill != nil && item.fill != &paper:
					order += "bond "
					alphas = append(alphas, item.alpha)
				}
			case dots:
				if item.r != 4 { // the legend's
					order += "dot "
					alphas = append(alphas, item.alpha)
				}
			}
		}
		want := "dot ball dot "
		if l.Strand > 0 {
			want = "bond dot ball bond dot "
		}
		if order != want || alphas[0] >= alphas[len(alphas)-1] {
			t.Errorf("painted %swith strengths %v, want %s", order, alphas, want)
		}
	}
}

func TestSpaceRefusesBrokenRows(t *testing.T) {
	for _, l := range []SpaceLayer{{Points: make([]float64, 4)}, {Points: make([]float64, 9), Strand: 2}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d values in strands of %d were accepted", len(l.Points), l.Strand)
				}
			}()
			Space(SpaceOptions{}, l)
		}()
	}
}
