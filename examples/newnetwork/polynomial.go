// Package newnetwork is an example of a network of one's own: affine in the point,
// with coefficients that are polynomials of time,
//
//	F_θ(z, t) = Σ_{k≤K} T_k(2t/H − 1) (W_k z + b_k),    z = x, or (x, p̃) with momentum,
//
// T_k being Chebyshev's: T_0 = 1, T_1(u) = u, T_{k+1}(u) = 2u T_k(u) − T_{k−1}(u). It is what a score.Model takes:
// rows, passes, named arrays, and a row of the registry, which a problem file names as network: {kind: polynomial}.
package newnetwork

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/learn/score"
)

// Kind is the row that package networks would list, or a program adds to its list:
//
//	networks.All = append(networks.All, newnetwork.Kind)
var Kind = score.Kind{
	Name: "polynomial",
	Options: []score.Option{
		{Name: "degree", Default: 3, Lowest: 0, Most: 20, Doc: "K, of the coefficients"},
		{Name: "horizon", Default: 1, Lowest: 1e-9, Most: 1e9, Doc: "H, the last time"},
	},
	Parameters: func(c score.Config) float64 {
		w := float64(width(c.Dim, c.Momentum))
		return (c.Options["degree"] + 1) * (w + 1) * float64(c.Dim)
	},
	New: func(c score.Config) score.Model[float32] { return New[float32](c) },
}

// Polynomial is the network; its parameters are W_0, b_0, W_1, b_1, …
type Polynomial[T kernel.Float] struct {
	score.Reader[T] // rows (z, t), and the gain
	dim, z, degree  int
	horizon         float64
	precision       kernel.Precision
	θ               []T
}

func width(dim int, momentum bool) int {
	if momentum {
		return 2 * dim
	}
	return dim
}

// New makes a network whose W_k and b_k are uniform on ±1/√width.
func New[T kernel.Float](c score.Config) *Polynomial[T] {
	z, degree := width(c.Dim, c.Momentum), int(c.Options["degree"])
	reading := score.Reading{Gain: c.Gain, Center: c.Center, Unit: c.Unit, Given: c.Given}
	m := &Polynomial[T]{
		Reader: score.NewReader[T](reading, c.Dim, c.Momentum),
		dim:    c.Dim, z: z, degree: degree, horizon: c.Options["horizon"], precision: c.Precision,
		θ: make([]T, (degree+1)*(z+1)*c.Dim),
	}
	u := make([]float64, len(m.θ))
	keyed.Layers.Stream(c.Seed, 0).Uniforms(u, 0, 0)
	for i, v := range u {
		m.θ[i] = T((2*v - 1) / math.Sqrt(float64(z)))
	}
	return m
}

// coefficients returns W_k, dim×z, and b_k of parameters laid out as the network's.
func (m *Polynomial[T]) coefficients(θ []T, k int) (w, b []T) {
	n := m.dim * m.z
	at := k * (n + m.dim)
	return θ[at : at+n], θ[at+n : at+n+m.dim]
}

func (m *Polynomial[T]) Out() int                    { return m.dim }
func (m *Polynomial[T]) Parameters() []T             { return m.θ }
func (m *Polynomial[T]) Matrices() []score.Matrix    { return nil } // Adam moves everything
func (m *Polynomial[T]) Precision() kernel.Precision { return m.precision }

func (m *Polynomial[T]) With(θ []T) score.Model[T] {
	if len(θ) != len(m.θ) {
		panic(fmt.Sprintf("newnetwork: %d parameters for a network of %d", len(θ), len(m.θ)))
	}
	other := *m
	other.θ = θ
	return &other
}

func (m *Polynomial[T]) Tensors(θ []T) (out []arrayfile.Named) {
	for k := range m.degree + 1 {
		w, b := m.coefficients(θ, k)
		out = append(out, arrayfile.Named{Name: fmt.Sprintf("term_%d.weight", k), Array: arrayfile.Of(w, m.dim, m.z)},
			arrayfile.Named{Name: fmt.Sprintf("term_%d.bias", k), Array: arrayfile.Of(b, m.dim)})
	}
	return out
}

func (m *Polynomial[T]) Read(arrays map[string]arrayfile.Array) ([]T, error) {
	θ := make([]T, len(m.θ))
	return θ, score.ReadTensors(arrays, m.Tensors(θ))
}

// The passes read the parameters where they are: there is nothing to pack.
func (m *Polynomial[T]) Parts() int                { return 0 }
func (m *Polynomial[T]) Pack(bool) score.Packed[T] { return packed[T]{m} }

type packed[T kernel.Float] struct{ m *Polynomial[T] }

func (p packed[T]) Update(int) {}

func (p packed[T]) NewWorkspace(rows int, _ bool) score.Workspace[T] {
	return &workspace[T]{m: p.m, out: make([]T, rows*p.m.dim)}
}

type workspace[T kernel.Float] struct {
	m       *Polynomial[T]
	in, out []T
}

// chebyshev is T_k(u) and T_{k+1}(u).
type chebyshev[T kernel.Float] struct{ value, after, u T }

func (m *Polynomial[T]) chebyshev(t T) chebyshev[T] {
	u := 2*t/T(m.horizon) - 1
	return chebyshev[T]{1, u, u}
}

func (c *chebyshev[T]) next() { c.value, c.after = c.after, 2*c.u*c.after-c.value }

// Forward computes F_θ of each row (z, t).
func (ws *workspace[T]) Forward(in []T, n int) []T {
	m := ws.m
	ws.in = in
	clear(ws.out)
	for i := range n {
		row, y := in[i*m.In():(i+1)*m.In()], ws.out[i*m.dim:(i+1)*m.dim]
		z, c := row[:m.z], m.chebyshev(row[m.z])
		for k := range m.degree + 1 {
			w, b := m.coefficients(m.θ, k)
			for j := range y {
				sum := b[j]
				for l, v := range z {
					sum += w[j*m.z+l] * v
				}
				y[j] += c.value * sum
			}
			c.next()
		}
	}
	return ws.out[:n*m.dim]
}

// Backward computes ∂W_k = Σ T_k d zᵀ and ∂b_k = Σ T_k d over rows, in their order.
func (ws *workspace[T]) Backward(grad, d []T, n int, add bool) {
	m := ws.m
	if !add {
		clear(grad)
	}
	for i := range n {
		row := ws.in[i*m.In() : (i+1)*m.In()]
		c := m.chebyshev(row[m.z])
		for k := range m.degree + 1 {
			w, b := m.coefficients(grad, k)
			for j, v := range d[i*m.dim : (i+1)*m.dim] {
				b[j] += c.value * v
				for l, z := range row[:m.z] {
					w[j*m.z+l] += c.value * v * z
				}
			}
			c.next()
		}
	}
}
