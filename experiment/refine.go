package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin/evidence"
	"github.com/landing-diffusion/landing/problem"
)

// Refined is data that was brought to Σ: rows near it, moved to it.
type Refined struct {
	Data   string `json:"data"`
	Points int    `json:"points"` // that there were
	Kept   int    `json:"kept"`
	Stuck  int    `json:"stuck"` // rows from which Σ was not reached

	// Left are the rows that were left out, by the component that was violated most.
	Left []Left `json:"left"`

	Moved struct {
		Median metric.Float `json:"median"`
		Worst  metric.Float `json:"worst"`
	} `json:"moved"` // ‖Δx‖ of the rows that were kept
	Violation metric.Float `json:"violation"` // the worst after it

	Dim    int            `json:"dim"`
	X      []float64      `json:"-"` // the rows that were kept, in the data's order
	Domain *domain.Domain `json:"-"`
}

// Left is how many rows were left out for a component.
type Left struct {
	Component string       `json:"component"`
	Rows      int          `json:"rows"`
	Worst     metric.Float `json:"worst"`
}

// Refine brings the rows of the problem's data to Σ that violate no equality by more than within, and no inequality by
// more than data.tolerance, or where that is auto by more than the share of their spread that data may be off: rows
// outside would all come to the edge, where the data has none. Errors are those of Load, but for data that is not
// feasible, and one of data where no row is left.
func Refine(ctx context.Context, p *problem.Problem, within float64, pool *parallel.Pool) (*Refined, error) {
	proc, err := p.Build()
	if err != nil {
		return nil, err
	}
	set := proc.Set
	kind, data, err := readData(p, set)
	if err != nil {
		return nil, err
	}
	r := &Refined{Data: dataName(p, data), Points: data.N, Dim: data.D}
	near := r.near(p, set, data.X, within)
	x, arrived := data.Rows(near), make([]bool, len(near))
	solvers := make([]*geometry.Solver, pool.Workers())
	selects := set.Capabilities().Selects
	err = pool.DoUntil(ctx, len(near), func(worker, i int) {
		if solvers[worker] == nil {
			solvers[worker] = geometry.NewSolver(set, 0).Until(ctx)
		}
		xi := x[i*r.Dim : (i+1)*r.Dim]
		arrived[i] = solvers[worker].Descend(xi, evidence.Tolerance) && (selects == nil || selects(xi))
	})
	if err != nil {
		return nil, err
	}
	var moved []float64
	for i, row := range near {
		if !arrived[i] {
			r.Stuck++
			continue
		}
		xi := x[i*r.Dim : (i+1)*r.Dim]
		far := 0.0
		for j, v := range xi {
			far = math.Hypot(far, v-data.X[row*r.Dim+j])
		}
		moved = append(moved, far)
		r.X = append(r.X, xi...)
	}
	if r.Kept = len(moved); r.Kept == 0 {
		return nil, badData(r.Data, "none of %d rows can be brought to Σ: %s", r.Points, r.Losses())
	}
	r.Moved.Median, r.Moved.Worst = metric.Float(metric.Median(moved)), metric.Float(slices.Max(moved))
	names, v := constraint.Components(set), constraint.Values(set, r.X)
	r.Violation = judge.Largest(metric.Violations(names, v, r.Kept, len(set.Equalities()))).Worst
	brought := &dataset.Points{X: r.X, N: r.Kept, D: r.Dim}
	if fault, _ := offSet(ctx, p, set, brought, pool); fault != "" {
		return nil, badData(r.Data, "of the rows that were brought to Σ, %s", fault)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.Domain, err = kind.New(domain.Input{Set: set, Data: r.X, Train: r.X, Files: p.Files(), Pool: pool,
		Molecule: data.Molecule, Remarks: data.Remarks})
	return r, err
}

// near returns the rows that are to be brought to Σ, and counts the others.
func (r *Refined) near(p *problem.Problem, set constraint.Set, x []float64, within float64) (rows []int) {
	names, v := constraint.Components(set), constraint.Values(set, x)
	m, c := len(set.Equalities()), len(names)
	auto, ruler, far := p.Data.Tolerance.IsAuto(), geometry.NewRuler(set), evidence.FarOf(set, x)
	left := map[int]*Left{}
	for i := range r.Points {
		worst, at := 0.0, -1
		var singles []float64
		if auto {
			singles = ruler.Singles(x[i*r.Dim : (i+1)*r.Dim])
		}
		for k, value := range v[i*c : (i+1)*c] {
			e := constraint.Excess(value, k < m)
			ok := e <= within
			switch {
			case k >= m && auto:
				ok = singles[k] <= far
			case k >= m:
				ok = e <= float64(p.Data.Tolerance)
			}
			if !ok && !(e <= worst) {
				worst, at = e, k
			}
		}
		if at < 0 {
			rows = append(rows, i)
			continue
		}
		if left[at] == nil {
			left[at] = &Left{Component: names[at]}
		}
		left[at].Rows++
		left[at].Worst = max(left[at].Worst, metric.Float(worst))
	}
	for k := range names {
		if l := left[k]; l != nil {
			r.Left = append(r.Left, *l)
		}
	}
	return rows
}

// Losses says which rows were left out, and why.
func (r *Refined) Losses() string {
	var out []string
	for _, l := range r.Left {
		out = append(out, fmt.Sprintf("%d violate %q too much, by up to %.3g", l.Rows, l.Component, l.Worst))
	}
	if r.Stuck > 0 {
		out = append(out, fmt.Sprintf("from %d the way to Σ is not found", r.Stuck))
	}
	if out == nil {
		return "no row is left out"
	}
	return strings.Join(out, "; ")
}
