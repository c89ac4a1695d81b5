package dataset

import (
	"cmp"
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
)

// RotationMixture describes the synthetic data of the paper's SO(10) experiment: a mixture, in equal parts, of wrapped
// normal laws around random centres of SO(n),
//
//	X = C_j exp(A),   j uniform, C_j by Haar measure, A skew
//
// with A_ij = −A_ji, i < j, independent and normal with standard deviation SD (so SD·√2 along a tangent direction of
// length 1 in R^(n×n)). Zero values stand for the defaults.
type RotationMixture struct {
	N     int     // rows of a matrix; default 10
	Modes int     // m; default 3
	SD    float64 // default 0.1
	Count int     // matrices; default 10 000
	Seed  uint64
}

const maxRotations = 1e8 // numbers in a generated set

// Generate returns the matrices, row-major, and the mode of each. Matrix i and centre j depend on the seed and on i and
// j alone. The error is that of ctx, or an *Error that names a field, or a matrix that round-off made singular.
func (r RotationMixture) Generate(ctx context.Context) (*Points, []int, error) {
	r = r.resolved()
	if _, err := r.group(); err != nil {
		return nil, nil, err
	}
	d := r.N * r.N
	if r.Count < 1 || float64(r.Count)*float64(d) > maxRotations {
		return nil, nil, r.bad("count", r.Count, fmt.Sprintf("at least 1, and at most %.0g numbers in all",
			maxRotations))
	}
	draw, err := r.Rows()
	if err != nil {
		return nil, nil, err
	}
	p := &Points{Name: fmt.Sprintf("so%d-%d", r.N, r.Modes), N: r.Count, D: d, X: make([]float64, r.Count*d)}
	modes := make([]int, r.Count)
	for i := range modes {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if modes[i], err = draw(p.X[i*d:(i+1)*d], uint64(i)); err != nil {
			return nil, nil, err
		}
	}
	return p, modes, nil
}

func (r RotationMixture) resolved() RotationMixture {
	r.N, r.Modes, r.SD, r.Count = cmp.Or(r.N, 10), cmp.Or(r.Modes, 3), cmp.Or(r.SD, 0.1), cmp.Or(r.Count, 10_000)
	return r
}

func (r RotationMixture) bad(field string, value any, want string) error {
	return &Error{File: "rotations", Column: field, Value: fmt.Sprint(value), Want: want}
}

// group returns SO(n), after a look at all fields but Count.
func (r RotationMixture) group() (*zoo.Orthogonal, error) {
	group, err := zoo.NewOrthogonal(r.N, zoo.OrthogonalOptions{Special: true})
	switch {
	case err != nil || r.N < 2:
		return nil, r.bad("n", r.N, "2 to 100 rows")
	case r.Modes < 1 || r.Modes > 10_000:
		return nil, r.bad("modes", r.Modes, "1 to 10000")
	case !(r.SD > 0) || r.SD > 1e3:
		return nil, r.bad("sd", r.SD, "a standard deviation above 0 and at most 1000")
	}
	return group, nil
}

// Rows returns what writes matrix number i to x (n²) and tells its mode; Count is not looked at. One goroutine uses it
// at a time. Errors are those of Generate.
func (r RotationMixture) Rows() (draw func(x []float64, i uint64) (mode int, err error), err error) {
	r = r.resolved()
	group, err := r.group()
	if err != nil {
		return nil, err
	}
	n, d := r.N, r.N*r.N
	centres := make([]*mat.Dense, r.Modes)
	for j := range centres {
		c := make([]float64, d)
		group.SampleUniform(c, keyed.RotationCentres.Stream(r.Seed, 0), uint64(j))
		centres[j] = mat.NewDense(n, n, c)
	}
	which, tangent := keyed.RotationChoice.Stream(r.Seed, 0), keyed.RotationTangent.Stream(r.Seed, 0)
	a, z := mat.NewDense(n, n, nil), make([]float64, d)
	still := make([]float64, d)
	var turn mat.Dense
	return func(x []float64, i uint64) (int, error) {
		mode := which.Index(r.Modes, i, 0)
		tangent.Normals(z, i, 0)
		for k := range n {
			for l := range k {
				v := r.SD * z[k*n+l]
				a.Set(k, l, v)
				a.Set(l, k, -v)
			}
		}
		turn.Exp(a)
		mat.NewDense(n, n, x).Mul(centres[mode], &turn)
		if !group.Retract(x, x, still) { // the round-off of the products
			return mode, r.bad("matrix", fmt.Sprintf("number %d, which is singular", i), "a smaller standard deviation")
		}
		return mode, nil
	}, nil
}
