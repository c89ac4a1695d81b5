package cwpm

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/aligned"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/reference"
)

// The loss of paths of a molecule, and its gradient in a network that is aligned, do not
// see how the molecule lies: each path of md_under.npz turned and moved on its own, with
// its last momentum, gives the same to 1e-5 in float32, walls that are active included.
func TestLossOfAlignedNetwork(t *testing.T) {
	p := &langevin.Process{
		Set: reference.Alanine, Friction: 10, Walls: langevin.PaperWalls, Method: langevin.ULLA,
		NewGeometry: reference.NewRidge(reference.Alanine, 1e-6, 0),
		Schedule:    langevin.Schedule{N: 3, T: 0.006, SigmaMin: 0.5, SigmaMax: 2},
		Landing:     langevin.Landing{Explicit: true, Rate: 10},
	}
	g := golden.Read(t, "md_under.npz")
	const d, steps = 30, 3
	from := g["loss_path"].AsFloat64()
	count := len(from) / (4 * d)
	paths := &langevin.Paths{Count: count, Steps: steps, Dim: d, X: make([]float64, len(from))}
	for k := range steps + 1 {
		for i := range count {
			copy(paths.At(i, k), from[(k*count+i)*d:][:d])
		}
	}
	noise := func(dst []float64, i int) { copy(dst, g["loss_vN"].AsFloat64()[i*d:(i+1)*d]) }

	moved := &langevin.Paths{Count: count, Steps: steps, Dim: d, X: make([]float64, len(from))}
	poses := make([]superpose.Pose, count)
	for i := range count {
		poses[i] = anyPose(uint64(i))
		for k := range steps + 1 {
			to := moved.At(i, k)
			poses[i].Turn(to, paths.At(i, k))
			for j := range to {
				to[j] += float64(7*(i+1)) * float64(j%3-1)
			}
		}
	}
	turned := func(dst []float64, i int) {
		noise(dst, i)
		poses[i].Turn(dst, dst)
	}

	m := aligned.Kind.New(score.Config{Dim: d, Momentum: true, Width: 64, Layers: 3, Octaves: 2, Seed: 3,
		Reference: append([]float64(nil), paths.At(0, 0)...)})
	terms := allTerms(paths)
	n := len(terms)
	pass := func(paths *langevin.Paths, last LastMomentum) (loss float64, grad []float32) {
		l, ws := NewLoss[float32](p, m, n, Options{}), m.Pack(true).NewWorkspace(n, true)
		in := testkit.Must(l.Prepare(paths, terms, last))
		ds := make([]float32, n*d)
		loss = l.Evaluate(ds, ws.Forward(in, n))
		grad = make([]float32, len(m.Parameters()))
		ws.Backward(grad, ds, n, false)
		return loss, grad
	}
	loss, grad := pass(paths, noise)
	again, other := pass(moved, turned)
	testkit.Near(t, again, loss, 1e-5*loss, "the loss")
	size, off := 0.0, 0.0
	for i, v := range grad {
		size = max(size, math.Abs(float64(v)))
		off = max(off, math.Abs(float64(v-other[i])))
	}
	t.Logf("loss %.6g, off by %.2g; largest derivative %.3g, off by %.2g", loss, math.Abs(again-loss), size, off)
	if !(size > 0 && off <= 1e-5*size) {
		t.Errorf("a derivative moves by %v, of at most %v", off, size)
	}
	// With momenta that do not turn it would be another.
	if other, _ := pass(moved, noise); math.Abs(other-loss) < 1e-3*loss {
		t.Error("the loss does not see the last momentum turn")
	}
}

// anyPose is a random rotation.
func anyPose(i uint64) superpose.Pose {
	x := make([]float64, 24)
	keyed.OwnData.Stream(1, 0).Normals(x, i, 0)
	r, err := superpose.New(x[:12])
	if err != nil {
		panic(err)
	}
	return r.Fit(x[12:])
}
