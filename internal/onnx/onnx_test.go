package onnx

import (
	"encoding/hex"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// A file with numbers and attributes of each kind and an open dimension is the kept one, which onnx.checker of
// the package onnx 1.23 accepts. ONNX Runtime 1.32 computes [[3, -1, 12], [8, -3, 28]] from it at x = [[1, 2], [3, 4]].
func TestEncode(t *testing.T) {
	g := New("kept", Double)
	g.Doc = "what it is"
	x := g.Input("x", Batch, 2)
	w := Parameter(g, "w", []float64{2, -1, 0.5, 0}, 2, 2)
	u := Transposed(g, "u", []float32{4, 4}, []int{1, 2}, []int{1, 0})
	v := g.Concat(1, g.MatMul(x, w), g.MatMul(x, g.Cast(u, Double)))
	v = g.Add(g.Transpose(g.Transpose(g.Gather(v, 1, 0, 1, 2), 1, 0), 1, 0), g.Number(0))
	g.Output("y", v, Batch, 3)
	file := testkit.Must(g.Encode("1.2.3", []Property{{"license", "mit"}, {"none", ""}}))
	testkit.Keep(t, "%s", hex.Dump(file))
}
