package zoo_test

import (
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Impossible sets are refused with the field's name.
func TestDomains(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	box := func(lo, up []float64) error { _, err := zoo.NewBox(lo, up); return err }
	capped := func(a []float64, h float64) error { _, err := zoo.NewCap(a, h); return err }
	curve := func(terms ...zoo.Term) error { _, err := zoo.NewCurve(terms); return err }
	chain := func(k int, bonds, angles []float64) error {
		_, err := zoo.NewChain(k, bonds, angles, false)
		return err
	}
	simplex := func(d int) error { _, err := zoo.NewSimplex(d); return err }
	orthogonal := func(n int) error { _, err := zoo.NewOrthogonal(n, zoo.OrthogonalOptions{}); return err }
	stiefel := func(n, p int) error { _, err := zoo.NewStiefel(n, p); return err }
	for field, errs := range map[string][]error{
		"lower": {box(nil, nil), box([]float64{0}, []float64{1, 2})},
		"upper": {box([]float64{0, 0}, []float64{1}), box([]float64{1}, []float64{1}), box([]float64{nan}, nil),
			box([]float64{inf}, nil), box(nil, []float64{-inf})},
		"axis": {capped([]float64{1}, 0), capped([]float64{0, 0, 0}, 0), capped([]float64{nan, 1}, 0),
			capped([]float64{1e308, 1e308}, 0)},
		"height": {capped([]float64{0, 1}, 1), capped([]float64{0, 1}, -1), capped([]float64{0, 1}, nan)},
		"terms": {curve(), curve(zoo.Term{1, 0, 0}), curve(zoo.Term{0, 2, 0}), curve(zoo.Term{nan, 1, 0}),
			curve(zoo.Term{1, -1, 0}), curve(zoo.Term{1, 65, 0})},
		"bonds": {chain(3, nil, nil), chain(3, []float64{1, 0}, nil), chain(3, []float64{inf}, nil),
			chain(3, []float64{nan}, nil)},
		"angles": {chain(3, []float64{1, 1}, []float64{}), chain(3, []float64{1, 1}, []float64{math.Pi}),
			chain(3, []float64{1, 1}, []float64{0}), chain(3, []float64{1, 1}, []float64{nan})},
		"dim": {chain(1, []float64{1}, nil), simplex(1), simplex(-3)},
		"n":   {orthogonal(0), orthogonal(101), stiefel(0, 1), stiefel(101, 1)},
		"p":   {stiefel(3, 0), stiefel(3, 4)},
	} {
		for i, err := range errs {
			var e *zoo.DomainError
			if !errors.As(err, &e) || e.Param != field {
				t.Errorf("%s, case %d: %v", field, i, err)
			}
		}
	}
	for _, err := range []error{box([]float64{0}, nil), box([]float64{-inf, 0}, []float64{1, inf}),
		capped([]float64{0, 3}, -0.99), stiefel(1, 1), orthogonal(1), orthogonal(100), stiefel(100, 1), stiefel(3, 3)} {
		if err != nil {
			t.Error(err)
		}
	}
}

// Where a gradient vanishes geometry names the component, closed form or not.
func TestSingularPoints(t *testing.T) {
	for _, c := range []struct {
		set       constraint.Set
		x         []float64
		component string
	}{
		// a lemniscate's node
		{testkit.Must(zoo.NewCurve([]zoo.Term{{1, 4, 0}, {2, 2, 2}, {1, 0, 4}, {-1, 2, 0}, {1, 0, 2}})),
			[]float64{0, 0},
			"curve"},
		// a cusp
		{testkit.Must(zoo.NewCurve([]zoo.Term{{1, 0, 2}, {-1, 3, 0}})), []float64{0, 0}, "curve"},
		{testkit.Must(zoo.NewChain(2, []float64{1, 1}, nil, false)), []float64{0, 0, 1, 0, 1, 0}, "bond[1]"},
		{testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{})), []float64{1, 0, 0, 0}, "gram[1,1]"},
		{testkit.Must(zoo.NewStiefel(3, 2)), []float64{0, 1, 0, 0, 0, 0}, "gram[0,0]"},
		{testkit.Must(zoo.NewCap([]float64{0, 1}, 0.2)), []float64{0, 0}, "radius"},
	} {
		var e *geometry.RankError
		if err := geometry.New(c.set, 1, 0).At(c.x, 1); !errors.As(err, &e) || e.Component != c.component {
			t.Errorf("%s at %v: %v, want a rank error of %q", constraint.Name(c.set), c.x, err, c.component)
		}
	}
	// Dependent gradients, rank 2 of 3, none of them zero: no error, and Π is a projector.
	b := geometry.New(testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{})), 1, 0)
	if err := b.At([]float64{1, 1, 1, 1}, 1); err != nil || b.Rank(0) != 2 {
		t.Errorf("two equal columns: rank %d, %v", b.Rank(0), err)
	}
}
