package aligned

import (
	"math"

	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/learn/score"
)

// squarings is how often graph squares a matrix to find its largest eigenvector: enough where the two largest
// are 1 and 1 − LeastGap.
const squarings = 33

// GraphRow implements score.Reader: the MLP's row of the aligned points, and what GraphForward turns back by. ONNX
// knows no eigenvectors. That of the largest eigenvalue of Horn's N, as the matrix qqᵀ in which R is linear, is the
// limit of powers of N + 1, whose eigenvalues are those of N, which S of unit size keeps above −1, and 1:
//
//	qqᵀ = lim A_k,   A_0 = N + 1,   A_{k+1} = A_k²/tr A_k²
//
// Where no rotation is nearest the limit is no such matrix, and all of the row is NaN.
func (m *Model[T]) GraphRow(at score.Symbols) (onnx.Value, error) {
	if m.reference == nil {
		return onnx.Value{}, &score.GraphError{Why: "it has no reference"}
	}
	g, atoms := at.Graph, m.own/3
	all, x := at.X, g.Reshape(m.positions(g, at.X), onnx.Batch, atoms, 3)
	mean := g.Constant([]float64{1 / float64(atoms)})
	x = g.Sub(x, g.Mul(g.Sum(x, 1, true), mean))
	R, clear := m.graphPose(g, x)
	x = g.MatMul(x, g.Transpose(R, 0, 2, 1))
	at.X = m.behind(g, g.Reshape(x, onnx.Batch, m.own), all)
	var p onnx.Value
	if at.P.Name != "" {
		p = g.MatMul(g.Reshape(m.positions(g, at.P), onnx.Batch, atoms, 3), g.Transpose(R, 0, 2, 1))
		at.P = m.behind(g, g.Reshape(p, onnx.Batch, m.own), at.P)
	}
	row, err := m.point.GraphRow(at)
	if err != nil {
		return row, err
	}
	own := func(v onnx.Value) onnx.Value { return g.Cast(v, onnx.TypeOf[T]()) }
	parts, tail := []onnx.Value{row}, []onnx.Value{own(g.Reshape(R, onnx.Batch, turns))}
	if len(m.pairs) > 0 {
		u, distance := m.graphPairs(g, x)
		parts, tail = append(parts, own(distance)), append(tail, own(u))
	}
	if len(m.turning.atoms) > 0 {
		waves, u, err := m.graphTorsions(at, x, p)
		if err != nil {
			return waves, err
		}
		parts, tail = append(parts, own(waves)), append(tail, own(u))
	}
	row = g.Concat(1, append(parts, tail...)...)
	return g.Add(row, own(g.Where(clear, g.Number(0), g.Number(math.NaN())))), nil
}

// positions returns the first columns of v, without a condition's.
func (m *Model[T]) positions(g *onnx.Graph, v onnx.Value) onnx.Value {
	if m.own == m.dim {
		return v
	}
	return g.Columns(v, 0, m.own)
}

// behind returns x with the columns of v that are a condition's behind it.
func (m *Model[T]) behind(g *onnx.Graph, x, v onnx.Value) onnx.Value {
	if m.own == m.dim {
		return x
	}
	return g.Concat(1, x, g.Columns(v, m.own, m.dim-m.own))
}

// graphPose returns R, n×3×3, of centred atoms x, n×A×3, and whether it is the nearest rotation, n×1.
func (m *Model[T]) graphPose(g *onnx.Graph, x onnx.Value) (R, clear onnx.Value) {
	atoms, y := m.own/3, m.reference.Positions()
	size := 0.0
	for _, v := range y {
		size += v * v
	}
	// S = Σ_a x_a y_aᵀ/(‖x‖‖y‖), by rows.
	S := g.MatMul(g.Transpose(x, 0, 2, 1), g.Constant(y, atoms, 3))
	flat := g.Reshape(x, onnx.Batch, m.own)
	norm := g.Mul(g.Of1("Sqrt", g.Sum(g.Mul(flat, flat), 1, true)), g.Number(math.Sqrt(size)))
	S = g.Div(g.Reshape(S, onnx.Batch, 9), norm)
	// N of superpose.quaternion, linear in S: the entries of S, from 1, with a sign.
	n := [16][]int{
		{1, 5, 9}, {6, -8}, {7, -3}, {2, -4},
		{6, -8}, {1, -5, -9}, {2, 4}, {7, 3},
		{7, -3}, {2, 4}, {5, -1, -9}, {6, 8},
		{2, -4}, {7, 3}, {6, 8}, {9, -1, -5},
	}
	linear, one := make([]float64, 9*16), make([]float64, 16)
	for i, entries := range n {
		for _, e := range entries {
			if e < 0 {
				linear[(-e-1)*16+i] = -1
			} else {
				linear[(e-1)*16+i] = 1
			}
		}
		if i%5 == 0 {
			one[i] = 1
		}
	}
	unit := g.Constant(one, 1, 16)
	trace := func(flat onnx.Value) onnx.Value { return g.Sum(g.Mul(flat, unit), 1, true) }
	A := g.Add(g.MatMul(S, g.Constant(linear, 9, 16)), unit)
	for range squarings {
		square := g.Reshape(A, onnx.Batch, 4, 4)
		A = g.Reshape(g.MatMul(square, square), onnx.Batch, 16)
		A = g.Div(A, trace(A))
	}
	// R of superpose.rotation, linear in qqᵀ: ww, wx, … are its entries 0, 1, …
	r := [9]map[int]float64{
		{0: 1, 5: 1, 10: -1, 15: -1}, {6: 2, 3: -2}, {7: 2, 2: 2},
		{6: 2, 3: 2}, {0: 1, 5: -1, 10: 1, 15: -1}, {11: 2, 1: -2},
		{7: 2, 2: -2}, {11: 2, 1: 2}, {0: 1, 5: -1, 10: -1, 15: 1},
	}
	turn := make([]float64, 16*9)
	for i, entries := range r {
		for e, v := range entries {
			turn[e*9+i] = v
		}
	}
	// tr A² = 1 of a matrix qqᵀ, less of others.
	clear = g.Greater(g.Sum(g.Mul(A, A), 1, true), g.Number(1-1e-6))
	return g.Reshape(g.MatMul(A, g.Constant(turn, 16, 9)), onnx.Batch, 3, 3), clear
}

// graphPairs returns unit vectors along the pairs of aligned atoms x, n×3P, and by how much their distances
// differ from those of the reference, n×P.
func (m *Model[T]) graphPairs(g *onnx.Graph, x onnx.Value) (u, stretched onnx.Value) {
	first, second := make([]int, len(m.pairs)), make([]int, len(m.pairs))
	for i, pair := range m.pairs {
		first[i], second[i] = pair[0], pair[1]
	}
	u = g.Sub(g.Gather(x, 1, first...), g.Gather(x, 1, second...))
	d := g.Of1("Sqrt", g.Sum(g.Mul(u, u), 2, true))
	u = g.Where(g.Greater(d, g.Number(0)), g.Div(u, d), g.Mul(u, g.Number(0)))
	stretched = g.Div(g.Sub(g.Reshape(d, onnx.Batch, len(m.pairs)), g.Constant(m.rest, 1, len(m.rest))),
		g.Number(stretch))
	return g.Reshape(u, onnx.Batch, 3*len(m.pairs)), stretched
}

// graphTorsions returns what readTorsions does: waves of the torsions of aligned atoms x, n×A×3, with aligned
// momenta p, and unit vectors along their gradients, n×12K.
func (m *Model[T]) graphTorsions(at score.Symbols, x, p onnx.Value) (waves, along onnx.Value, err error) {
	g, o := at.Graph, &m.turning
	K := len(o.atoms)
	atom := func(from onnx.Value, i int) onnx.Value { // n×K×3
		of := make([]int, K)
		for k, atoms := range o.atoms {
			of[k] = atoms[i]
		}
		return g.Gather(from, 1, of...)
	}
	cross := func(a, b onnx.Value) onnx.Value {
		return g.Sub(g.Mul(g.Gather(a, 2, 1, 2, 0), g.Gather(b, 2, 2, 0, 1)),
			g.Mul(g.Gather(a, 2, 2, 0, 1), g.Gather(b, 2, 1, 2, 0)))
	}
	dot := func(a, b onnx.Value) onnx.Value { return g.Sum(g.Mul(a, b), 2, true) } // n×K×1
	r1, r2 := atom(x, 1), atom(x, 2)
	F, G, H := g.Sub(atom(x, 0), r1), g.Sub(r1, r2), g.Sub(atom(x, 3), r2)
	A, B := cross(F, G), cross(H, G)
	length := g.Of1("Sqrt", dot(G, G))
	u, v := g.Div(A, dot(A, A)), g.Div(B, dot(B, B))
	fg, hg := g.Div(dot(F, G), length), g.Div(dot(H, G), length)
	grad := []onnx.Value{
		g.Of1("Neg", g.Mul(length, u)),
		g.Sub(g.Mul(g.Add(length, fg), u), g.Mul(hg, v)),
		g.Sub(g.Mul(g.Sub(hg, length), v), g.Mul(fg, u)),
		g.Mul(length, v),
	}
	// sin φ and cos φ from tan φ = (B×A·G/|G|)/(A·B).
	sin, cos := g.Div(dot(cross(B, A), G), length), dot(A, B)
	hypot := g.Of1("Sqrt", g.Add(g.Mul(sin, sin), g.Mul(cos, cos)))
	sin, cos = g.Div(sin, hypot), g.Div(cos, hypot)
	var square, rate onnx.Value
	for i, by := range grad {
		s := dot(by, by)
		if square.Name != "" {
			s = g.Add(square, s)
		}
		square = s
		if o.momentum {
			s := dot(by, atom(p, i))
			if rate.Name != "" {
				s = g.Add(rate, s)
			}
			rate = s
		}
	}
	size := g.Of1("Sqrt", square)
	columns := multiples(g, sin, cos, o.waves)
	if o.momentum {
		columns = append(columns, g.Div(rate, size))
	}
	if o.start != nil { // ψ = φ − bφ̇
		if o.momentum {
			b, err := at.Course("b of its torsions", func(t float64) float64 { b, _ := o.start(t); return b })
			if err != nil {
				return waves, along, err
			}
			by := g.Mul(g.Unsqueeze(g.Unsqueeze(b, 1), 2), rate)
			s, c := g.Of1("Sin", by), g.Of1("Cos", by)
			sin, cos = g.Sub(g.Mul(sin, c), g.Mul(cos, s)), g.Add(g.Mul(cos, c), g.Mul(sin, s))
		}
		columns = append(columns, multiples(g, sin, cos, o.waves)...)
	}
	// Where three atoms are on a line there is no torsion, and all of it is 0.
	there := g.Greater(g.Number(math.MaxFloat64), square)
	if g.Wide == onnx.Float {
		there = g.Greater(g.Number(math.MaxFloat32), square)
	}
	clean := func(v onnx.Value) onnx.Value { return g.Where(there, v, g.Mul(length, g.Number(0))) }
	for i, v := range columns {
		columns[i] = clean(v)
	}
	for i, v := range grad {
		grad[i] = g.Unsqueeze(clean(g.Div(v, size)), 2)
	}
	return g.Reshape(g.Concat(2, columns...), onnx.Batch, o.inputs()),
		g.Reshape(g.Concat(2, grad...), onnx.Batch, quadruple*K), nil
}

// multiples returns sin iφ, cos iφ for i = 1 … n from those of φ.
func multiples(g *onnx.Graph, sin, cos onnx.Value, n int) (out []onnx.Value) {
	s, c := sin, cos
	for i := range n {
		if i > 0 {
			s, c = g.Add(g.Mul(s, cos), g.Mul(c, sin)), g.Sub(g.Mul(c, cos), g.Mul(s, sin))
		}
		out = append(out, s, c)
	}
	return out
}

// GraphForward implements score.Graphed: (z + Σ a u)R of the MLP's outputs (z, a).
func (m *Model[T]) GraphForward(g *onnx.Graph, row onnx.Value) onnx.Value {
	in, atoms, at := m.Model.In(), m.own/3, m.Model.In()
	out := m.Model.(score.Graphed).GraphForward(g, g.Columns(row, 0, in))
	R := g.Reshape(g.Columns(row, at, turns), onnx.Batch, 3, 3)
	z := g.Reshape(g.Columns(out, 0, m.own), onnx.Batch, atoms, 3)
	// add adds a times the vectors of row, each times a row of signs by atoms.
	add := func(first, n, each, from int, sign []float64, rows int) {
		a := g.Unsqueeze(g.Unsqueeze(g.Columns(out, first, n), 2), 3)
		u := g.Reshape(g.Columns(row, from, 3*n*each), onnx.Batch, n, each, 3)
		u = g.Reshape(g.Mul(a, u), onnx.Batch, rows, 3)
		z = g.Add(z, g.MatMul(g.Cast(g.Constant(sign, atoms, rows), onnx.TypeOf[T]()), u))
	}
	if n := len(m.pairs); n > 0 {
		sign := make([]float64, atoms*n)
		for k, pair := range m.pairs {
			sign[pair[0]*n+k], sign[pair[1]*n+k] = 1, -1
		}
		add(m.dim, n, 1, at+turns, sign, n)
	}
	if n := len(m.turning.atoms); n > 0 {
		sign := make([]float64, atoms*4*n)
		for k, chain := range m.turning.atoms {
			for e, atom := range chain {
				sign[atom*4*n+4*k+e] = 1
			}
		}
		add(m.dim+len(m.pairs), n, 4, at+turns+3*len(m.pairs), sign, 4*n)
	}
	return m.behind(g, g.Reshape(g.MatMul(z, R), onnx.Batch, m.own), out)
}
