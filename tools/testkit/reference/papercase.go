package reference

import "math"

// A PaperCase is a sampler of the golden file paper.json, with what it starts from.
type PaperCase struct {
	Name string
	*Paper
}

// PaperDim is the dimension of the set of the cases, and PaperSteps their steps.
const PaperDim, PaperSteps = 5, 3

// cubic returns a function with numbers of no meaning, k picks them.
func cubic(k int, c float64) Cubic {
	number := func(i int) float64 { return float64((i*i*13+i*37+k*29)%19-9) / 20 }
	q := Cubic{C: c, B: make([]float64, PaperDim), W: make([]float64, PaperDim), A: make([][]float64, PaperDim)}
	for i := range PaperDim {
		q.B[i], q.W[i], q.A[i] = number(i+3), number(2*i+11), make([]float64, PaperDim)
		for j := range PaperDim {
			q.A[i][j] = number(i+j+5*k) + number(i*j)
		}
		q.A[i][i] += 1.5
	}
	return q
}

// PaperCases are the methods and options on a set of two curved equalities and two
// curved inequalities, with a quadratic potential and the paper's walls.
func PaperCases() []PaperCase {
	base := Paper{
		H: []Cubic{cubic(1, -0.6), cubic(2, -0.4)}, G: []Cubic{cubic(4, -0.35), cubic(7, -0.3)},
		Alpha: 6, Epsilon: 0.04, Gamma: 2.5, Dt: 0.02, Sigma: []float64{0.5, 0.7, 0.9, 1.1},
		GradF: func(x []float64) []float64 {
			g := make([]float64, len(x))
			for j := range x {
				g[j] = PaperWeight(j) * (x[j] - PaperCentre(j))
			}
			return g
		},
		Score: PaperScore,
	}
	var out []PaperCase
	for _, c := range []struct {
		name                                     string
		underdamped, projected, implicit, curved bool
	}{
		{"OLLA explicit", false, false, false, false}, {"OLLA explicit curved", false, false, false, true},
		{"OLLA implicit curved", false, false, true, true}, {"OLLA-P", false, true, false, false},
		{"ULLA explicit", true, false, false, false}, {"ULLA explicit curved", true, false, false, true},
		{"ULLA implicit curved", true, false, true, true}, {"ULLA-P", true, true, false, false},
	} {
		p := base
		p.Underdamped, p.Projected, p.Implicit, p.Curvature = c.underdamped, c.projected, c.implicit, c.curved
		out = append(out, PaperCase{c.name, &p})
	}
	return out
}

// PaperWeight and PaperCentre are those of f = ½ Σ w_j (x_j − c_j)².
func PaperWeight(j int) float64 { return 0.5 + 0.3*float64(j) }

// PaperCentre is c_j.
func PaperCentre(j int) float64 { return 0.2 - 0.1*float64(j) }

// PaperScore is a score with no meaning that depends on all that it is given.
func PaperScore(x, p []float64, t float64) []float64 {
	s := make([]float64, len(x))
	for j := range x {
		s[j] = math.Sin(float64(j)+2*x[(j+1)%len(x)]) + 3*t*x[j]
		if p != nil {
			s[j] += 0.4*p[(j+2)%len(p)] - 0.1*p[j]*p[j]
		}
	}
	return s
}

// PaperNoise is a noise of no meaning: that of step k of point i.
func PaperNoise(i, k int) []float64 {
	ζ := make([]float64, PaperDim)
	for j := range ζ {
		ζ[j] = 1.1 * math.Sin(float64(1+7*i+3*k+5*j*j)+0.5*float64(j))
	}
	return ζ
}

// PaperGolden is what paper.json holds.
type PaperGolden struct {
	Start             [][]float64            // x_0 forward and x_N backward, of each point
	Forward, Backward map[string][][]float64 // by case: x_0 … x_N of each point, one after another
	Terminal          [][]float64            // of the last states of "OLLA explicit", forward
	Loss              map[string]float64     // by case, of all forward paths
}

// NewPaperGolden computes paper.json from starts.
func NewPaperGolden(start [][]float64) PaperGolden {
	g := PaperGolden{
		Start: start, Forward: map[string][][]float64{}, Backward: map[string][][]float64{}, Loss: map[string]float64{},
	}
	for _, c := range PaperCases() {
		for i, x := range start {
			v := PaperNoise(i, PaperSteps)
			path, before := [][]float64{x}, c.Pseudo(x, v, -c.Tau(0))
			for k := range PaperSteps {
				x, before = c.Forward(x, before, PaperNoise(i, k), k), x
				path = append(path, x)
			}
			g.Forward[c.Name] = append(g.Forward[c.Name], path...)
			g.Loss[c.Name] += c.Loss(path, v)
			if c.Name == "OLLA explicit" {
				g.Terminal = append(g.Terminal, c.Project(x, x, 0))
			}
			x = start[i]
			back, after := [][]float64{x}, c.Pseudo(x, v, c.Tau(PaperSteps))
			for k := PaperSteps; k > 0; k-- {
				x, after = c.Backward(x, after, PaperNoise(i, k-1), k), x
				back = append([][]float64{x}, back...)
			}
			g.Backward[c.Name] = append(g.Backward[c.Name], back...)
		}
	}
	return g
}
