package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/internal/fault"
)

// slack is of the final check.
const slack = 1e-9

// trial is how many queries run first. If none of them finds a start and a goal, the batch ends with an error.
const trial = 24

// A Batch is many paths of one set of trajectories, in equal parts of each of its modes.
// They are the same for a seed at any number of workers.
type Batch struct {
	Set     constraint.Set // what a path must keep in the end: its rows are points of it
	Spec    trajectory.Spec
	Tip     robot.Point
	TipToo  bool        // the tip itself stays clear of obstacles, whether Spec.Volume has it or not
	Options Options     // Waypoints and Sides are the batch's own; so is Segments if Spec has them
	Modes   []string    // the sides that each mode asks; none: any way, and labels by what came
	Count   int         // paths
	Seed    uint64      //
	From    uint64      // the first query: batches from 2^32 apart share none
	Start   [2]Point3   // of a place that Spec leaves open: opposite corners of where it is drawn
	Goal    [2]Point3   // likewise
	Spread  float64     // room beyond Options.Reserve, m: each query keeps a share of it, drawn evenly
	Failing int         // queries that may fail for each path; 0 means 10, None none
	Report  func(n int) // called with the number of paths so far; may be nil
}

// A Point3 is a place in the base frame.
type Point3 = [3]float64

// Paths are what a Batch found, mode after mode.
type Paths struct {
	Count, Dim int
	X          []float64 // Count×Dim: waypoints, then what Spec leaves open
	Label      []int     // mode of each path
	Sides      []string  // of each label
	Paths      []Path    // without X and Q
	Queries    int
	Failed     []Failure // most frequent first
	Worst      float64   // violation
}

// A Failure is how often queries failed for one reason.
type Failure struct {
	Reason string `json:"reason"`
	Times  int    `json:"times"`
	First  string `json:"first"` // the message of the first of them
}

// A result of one query.
type result struct {
	path   *Path
	row    []float64
	worst  float64
	reason string
	err    error
}

// Run finds the paths. The error is that of Of and New, an *Error if an end cannot be, or says how many queries failed.
func (b *Batch) Run(ctx context.Context, pool *parallel.Pool) (*Paths, error) {
	b.Failing = cmp.Or(b.Failing, 10)
	b.Options.Waypoints, b.Options.Segments = b.Spec.Waypoints, b.Options.Segments || b.Spec.Segments
	spec := b.Spec
	if b.TipToo {
		spec.Volume = slices.Concat(spec.Volume, []scene.Body{{Link: b.Tip.Link, Centre: b.Tip.Local}})
	}
	problem, err := Of(spec, b.Tip)
	if err != nil {
		return nil, err
	}
	modes := b.Modes
	if len(modes) == 0 {
		modes = []string{""}
	}
	workers := make([]*worker, pool.Workers())
	out := &Paths{Dim: b.Set.Dim()}
	failed := map[string]*Failure{}
	ends := 0 // queries without a start or a goal
	for k, sides := range modes {
		o := b.Options
		o.Sides = sides
		for i := range workers {
			if workers[i], err = b.worker(problem, o); err != nil {
				return nil, err
			}
		}
		want := b.Count/len(modes) + min(1, max(0, b.Count%len(modes)-k))
		for have, next := 0, 0; have < want; {
			n := min(want-have, max(trial, out.Queries)) // as many again: a batch that fails ends soon
			results := make([]result, n)
			pool.Do(n, func(worker, i int) {
				if ctx.Err() == nil {
					results[i] = workers[worker].query(ctx, b.From+uint64((next+i)*len(modes)+k))
				}
			})
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for _, r := range results {
				next++
				out.Queries++
				if r.err != nil {
					f := failed[r.reason]
					if f == nil {
						f = &Failure{Reason: r.reason, First: r.err.Error()}
						failed[r.reason] = f
					}
					f.Times++
					if e := new(Error); errors.As(r.err, &e) && e.End != "" {
						ends++
					}
					first := have == 0 && next == 1 && b.same() && b.Options.Near == nil
					if e := new(Error); first && errors.As(r.err, &e) && e.End != "" {
						return nil, e // and so it would be every time
					}
					continue
				}
				have++
				out.X = append(out.X, r.row...)
				out.Label = append(out.Label, k)
				out.Paths = append(out.Paths, *r.path)
				out.Worst = max(out.Worst, r.worst)
			}
			if b.Report != nil {
				b.Report(len(out.Paths))
			}
			if fails := next - have; fails > max(0, b.Failing*(have+10)) || out.Queries == trial && ends == trial {
				return nil, tooManyFailed(have, next, sortFailures(failed))
			}
		}
	}
	out.Count, out.Failed = len(out.Paths), sortFailures(failed)
	b.name(out, workers[0].planner)
	return out, nil
}

// name gives labels to the ways that the paths took, unless they were asked for.
func (b *Batch) name(out *Paths, pl *Planner) {
	if len(b.Modes) > 0 {
		out.Sides = slices.Clone(b.Modes)
		return
	}
	sides := make([]string, out.Count)
	for i := range sides {
		sides[i] = pl.Passed(out.X[i*out.Dim:(i+1)*out.Dim], b.Spec.Waypoints)
	}
	out.Sides = slices.Compact(slices.Sorted(slices.Values(sides)))
	for i, s := range sides {
		out.Label[i], _ = slices.BinarySearch(out.Sides, s)
	}
}

// same reports whether no place is drawn by query.
func (b *Batch) same() bool {
	none := trajectory.Given{}
	return b.Spec.Start.Given == none && b.Spec.Goal.Given == none
}

// denser says how many waypoints a path would take to keep what one of L of them breaks: as many as the longest step
// takes of those that are allowed, or twice as many where the arm cuts a corner.
func (b *Batch) denser(family string, q []float64) string {
	l, ratio := b.Spec.Waypoints, 2.0
	if family == "step" {
		ratio = 1
		m, dq := b.Spec.Arm.Moving(), make([]float64, b.Spec.Arm.Moving())
		for i := m; i < len(q); i += m {
			scene.Shorter(dq, q[i-m:i], q[i:i+m], b.Spec.Arm)
			for k, j := range b.Spec.Arm.Places() {
				if most := b.Spec.Steps[j]; most > 0 {
					ratio = max(ratio, math.Abs(dq[k])/most)
				}
			}
		}
	} else if family != "sweep" {
		return ""
	}
	return fmt.Sprintf("; set.waypoints=%d would keep it", int(math.Ceil(ratio*float64(l-1)))+1)
}

func tooManyFailed(have, queries int, failed []Failure) error {
	var why []string
	for _, f := range failed {
		why = append(why, fmt.Sprintf("%d %s (%s)", f.Times, f.Reason, f.First))
	}
	return fault.Errorf(fault.Config, "", "only %d of %d queries found a path; the others: %s", have, queries,
		strings.Join(why, "; "))
}

func sortFailures(m map[string]*Failure) []Failure {
	out := []Failure{}
	for _, f := range m {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b Failure) int {
		return cmp.Or(b.Times-a.Times, strings.Compare(a.Reason, b.Reason))
	})
	return out
}

// A worker answers queries of a batch.
type worker struct {
	b       *Batch
	problem Problem
	planner *Planner
	eval    constraint.Evaluator
	names   []string
	val     []float64
}

func (b *Batch) worker(p Problem, o Options) (*worker, error) {
	pl, err := New(p, o)
	names := constraint.Components(b.Set)
	return &worker{b, p, pl, b.Set.NewEvaluator(1), names, make([]float64, len(names))}, err
}

func (w *worker) query(ctx context.Context, id uint64) result {
	b := w.b
	lost := func(reason string, err error) result { return result{reason: reason, err: err} }
	start, goal, given := b.open(id)
	if !b.same() {
		p, err := w.problem.At(b.Spec, start, goal)
		if err != nil {
			return lost("refused", err)
		}
		w.planner.retarget(p)
	}
	if b.Spread > 0 {
		var u [1]float64
		keyed.ArmReserves.Stream(b.Seed, 0).Uniforms(u[:], id, 0)
		w.planner.keep = b.Spec.Margin + max(w.planner.o.Reserve, 0) + u[0]*b.Spread
	}
	path, err := w.planner.Plan(ctx, b.Seed, id)
	if ctx.Err() != nil {
		return result{} // the batch ends
	}
	if err != nil {
		var e *Error
		errors.As(err, &e)
		return lost(strings.TrimSpace(e.End+" "+e.Reason.String()), err)
	}
	d := b.Spec.Arm.Dim()
	row := slices.Clone(path.X)
	for end, p := range []trajectory.Place{b.Spec.Start, b.Spec.Goal} {
		if p.Given.Position != nil {
			row = append(row, given[end][:]...)
		}
		if p.Given.Joints {
			at := end * (b.Spec.Waypoints - 1) * d
			row = append(row, path.X[at:at+d]...)
		}
	}
	w.eval.Values(w.val, row, 1)
	worst, i := constraint.Worst(w.val, len(b.Set.Equalities()))
	if worst > slack {
		family, _, _ := strings.Cut(w.names[i], "[")
		return lost("violates "+family, fmt.Errorf("query %d: %q is violated by %.3g%s", id,
			w.names[i], worst, b.denser(family, path.Q)))
	}
	path.X, path.Q = nil, nil
	return result{path: path, row: row, worst: worst}
}

// open draws the places that the spec leaves open, evenly between their corners.
func (b *Batch) open(id uint64) (start, goal trajectory.Place, at [2]Point3) {
	ends := [2]trajectory.Place{b.Spec.Start, b.Spec.Goal}
	u := make([]float64, 6)
	keyed.ArmPairs.Stream(b.Seed, 0).Uniforms(u, id, 0)
	for e, box := range [][2]Point3{b.Start, b.Goal} {
		p := &ends[e]
		if p.Given == (trajectory.Given{}) {
			continue
		}
		for k := range 3 {
			at[e][k] = box[0][k] + u[3*e+k]*(box[1][k]-box[0][k])
		}
		tip := b.Tip
		if p.Given.Position != nil {
			tip = *p.Given.Position
		}
		p.Tasks = append(slices.Clone(p.Tasks), trajectory.Position([]string{"start", "goal"}[e], tip.Link, tip.Local,
			at[e])...)
	}
	return ends[0], ends[1], at
}

// Unseen returns a batch of n more paths from the same law. Its queries differ from those of b.
func (b *Batch) Unseen(n int) *Batch {
	c := *b
	c.Count, c.From = n, b.From+1<<40
	return &c
}
