package zoo_test

import (
	"errors"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
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
		"lower":  {box(nil, nil), box([]float64{0}, []float64{1, 2})},
		"upper":  {box([]float64{0, 0}, []float64{1}), box([]float64{1}, []float64{1}), box([]float64{nan}, nil), box([]float64{inf}, nil), box(nil, []float64{-inf})},
		"axis":   {capped([]float64{1}, 0), capped([]float64{0, 0, 0}, 0), capped([]float64{nan, 1}, 0), capped([]float64{1e308, 1e308}, 0)},
		"height": {capped([]float64{0, 1}, 1), capped([]float64{0, 1}, -1), capped([]float64{0, 1}, nan)},
		"terms":  {curve(), curve(zoo.Term{1, 0, 0}), curve(zoo.Term{0, 2, 0}), curve(zoo.Term{nan, 1, 0}), curve(zoo.Term{1, -1, 0}), curve(zoo.Term{1, 65, 0})},
		"bonds":  {chain(3, nil, nil), chain(3, []float64{1, 0}, nil), chain(3, []float64{inf}, nil), chain(3, []float64{nan}, nil)},
		"angles": {chain(3, []float64{1, 1}, []float64{}), chain(3, []float64{1, 1}, []float64{math.Pi}), chain(3, []float64{1, 1}, []float64{0}), chain(3, []float64{1, 1}, []float64{nan})},
		"dim":    {chain(1, []float64{1}, nil), simplex(1), simplex(-3)},
		"n":      {orthogonal(0), orthogonal(101), stiefel(0, 1)},
		"p":      {stiefel(3, 0), stiefel(3, 4)},
	} {
		for i, err := range errs {
			var e *zoo.DomainError
			if !errors.As(err, &e) || e.Field != field {
				t.Errorf("%s, case %d: %v", field, i, err)
			}
		}
	}
	for _, err := range []error{box([]float64{0}, nil), box([]float64{-inf, 0}, []float64{1, inf}), capped([]float64{0, 3}, -0.99), stiefel(1, 1), orthogonal(1)} {
		if err != nil {
			t.Error(err)
		}
	}
}
