package check

import (
	"fmt"
	"math"
	"strings"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/evidence"
)

const (
	fadedCrossing = 0.5  // of its typical size: ∇h at a step across a singular point
	faded         = 0.05 // likewise: a path comes near one
	reversed      = 0.25 // of the typical: a normal component that tells two sheets apart
)

// singular looks along forward paths for points where ∇h loses rank. Sheets of Σ meet there, and a step leads from one
// to another: the normals at its two ends, which a small step hardly changes elsewhere, have opposite orientations.
// What would help is tried, and said only if it does.
func singular(e *Evidence) []Finding {
	if e.M == 0 || e.Paths.Count == 0 || len(e.On) == 0 || e.anyFlat() {
		return nil
	}
	legs := newLegs(e)
	if legs.normals == nil {
		return []Finding{{Status: Skip, Message: "∇h is dense and too large to be factored at each step"}}
	}
	if len(legs.index) == 0 {
		return nil
	}
	c := legs.cross(&e.Paths)
	f := Finding{Numbers: Numbers{"paths": float64(c.paths), "crossed": float64(c.crossed), "near": float64(c.near),
		"least": c.least}}
	if c.crossed == 0 {
		f.Message = fmt.Sprintf("no path crosses a singular point of Σ; the rank of ∇h is nearest to a loss at %s, "+
			"%.2g of its typical distance from one", c.at, c.least)
		return []Finding{f}
	}
	f.say(Warn, "steps of %d of %d paths turn the normal of Σ around, as across a singular point, where ∇h loses "+
		"rank (first %s; ∇h falls to %.2g of its typical size); %d come near", c.crossed, c.paths, c.first, c.least,
		c.near)
	sheet, expression := legs.sheet()
	if sheet != nil {
		other := legs.across(sheet)
		f.Numbers["other_sheet"] = float64(other)
		f.add(Warn, ". %s on another sheet than all of the data", text.Counted(other, "path ends", "paths end"))
	}
	var helps []string
	for _, t := range []struct {
		key    string
		change func(p *langevin.Process)
	}{
		{fmt.Sprintf("process.steps=%d", 4*e.Running.Schedule.N), func(p *langevin.Process) { p.Schedule.N *= 4 }},
		{fmt.Sprintf("process.sigma.max=%.3g", e.Running.Schedule.SigmaMax/2), func(p *langevin.Process) {
			p.Schedule.SigmaMax = max(p.Schedule.SigmaMax/2, p.Schedule.SigmaMin)
		}},
	} {
		proc, paths := e.Running, langevin.Paths{}
		if t.change(&proc); proc.Validate() != nil || e.Budget(float64(proc.Schedule.N*e.Paths.Count*e.C*e.D), 32) < 8 {
			continue
		}
		x0 := make([]float64, 0, e.Paths.Count*e.D)
		for i := range e.Paths.Count {
			x0 = append(x0, e.Paths.At(i, 0)...)
		}
		_, err := langevin.NewSimulator(&proc, e.pool, 8).Forward(e.ctx, &paths, x0, e.Seed, keyed.CheckPaths.At(0))
		if err != nil {
			continue
		}
		if now := legs.cross(&paths); 2*now.crossed*c.paths <= c.crossed*now.paths {
			helps = append(helps, fmt.Sprintf("with %s %d of %d cross", t.key, now.crossed, now.paths))
		}
	}
	switch {
	case len(helps) > 0:
		f.add(Warn, ". Tried: %s", strings.Join(helps, "; "))
	default:
		f.add(Warn, ". Smaller steps and a smaller σ_max were tried and do not help")
	}
	if expression != "" {
		f.add(Warn, ". An inequality keeps samples on the sheet of the data: %s, positive at all rows and 0 at the "+
			"singular points. Write the derivatives out", expression)
	}
	return []Finding{f}
}

// legs measures how far ∇h is from a loss of rank: the part of each gradient outside the span of those before it, over
// its median on Σ, so that no scale of a component matters.
type legs struct {
	e       *Evidence
	probe   *evidence.Probe
	normals *geometry.Normals
	work    float64   // operations of a point
	index   []int     // independent equalities
	typical []float64 // by component
}

func newLegs(e *Evidence) *legs {
	square := float64(e.M * e.M)
	points := e.Budget(square*float64(e.D), evidence.MaxPoints)
	large := points < evidence.MaxPoints
	l := &legs{e: e, probe: e.Probe(), normals: geometry.NewNormals(e.Set, large), typical: make([]float64, e.M),
		work: square * float64(2*e.D+e.M)}
	if large {
		l.work = min(l.work, 64*float64(geometry.JacobianSize(e.Set)))
	}
	seen, all := make([][]float64, e.M), make([]int, e.M)
	for i := range all {
		all[i] = i
	}
	for _, p := range evidence.First(e.On, points) {
		if l.normals == nil || !l.probe.At(p.X) {
			continue
		}
		parts, _ := l.normals.At(p.X, all)
		for i, part := range parts {
			seen[i] = append(seen[i], part)
		}
	}
	for i, s := range seen {
		if l.typical[i] = metric.Median(s); len(s) > 0 && l.typical[i] > 1e-3*dense.Norm(l.probe.Grad(i)) {
			l.index = append(l.index, i)
		}
	}
	return l
}

// at returns the least leg at a point, over its typical length, and the unit gradients.
func (l *legs) at(x []float64) (least float64, unit []float64) {
	least = math.Inf(1)
	parts, unit := l.normals.At(x, l.index)
	for _, i := range l.index {
		if parts != nil {
			least = min(least, parts[i]/l.typical[i])
		}
	}
	return least, unit
}

// crossings are what legs says of forward paths.
type crossings struct {
	paths, crossed, near int
	least                float64
	at, first            string // where least is, and the first crossing
}

func (l *legs) cross(paths *langevin.Paths) crossings {
	c := crossings{least: math.Inf(1)}
	c.paths = min(l.e.Budget(float64(paths.Steps)*l.work, paths.Count), paths.Count)
	for i := range c.paths {
		crossed, near := false, false
		before, last := l.at(paths.At(i, 0))
		for k := 1; k <= paths.Steps && l.e.ctx.Err() == nil; k++ {
			now, unit := l.at(paths.At(i, k))
			if now < c.least {
				c.least, c.at = now, fmt.Sprintf("step %d of forward path %d", k, i)
			}
			near = near || now < faded
			if last != nil && unit != nil && min(before, now) < fadedCrossing && l.normals.Turned(last, unit) {
				if crossed = true; c.first == "" {
					c.first = fmt.Sprintf("step %d of forward path %d", k, i)
				}
			}
			before, last = now, unit
		}
		if crossed {
			c.crossed++
		}
		if crossed || near {
			c.near++
		}
	}
	return c
}

// sheet returns a direction along which the normal has one sign at all rows, of a set of one equality; nil if there is
// none. The direction has entries −1, 0, 1, so that the sum of derivatives is an expression that one can write.
func (l *legs) sheet() (v []float64, expression string) {
	e := l.e
	if e.M != 1 || e.Rows.Arrived == 0 {
		return nil, ""
	}
	mean := make([]float64, e.D)
	for _, p := range e.Typical() {
		if l.probe.At(p.X) {
			g := l.probe.Grad(0)
			dense.AddScaled(mean, mean, 1/max(dense.Norm(g), math.SmallestNonzeroFloat64), g)
		}
	}
	v = make([]float64, e.D)
	for j, u := range mean {
		v[j] = math.Round(u / dense.Largest(mean))
		switch {
		case v[j] < 0:
			expression += fmt.Sprintf(" − ∂/∂x[%d]", j)
		case v[j] > 0:
			expression += fmt.Sprintf(" + ∂/∂x[%d]", j)
		}
	}
	for _, p := range e.Typical() {
		if l.probe.At(p.X); !(dense.Dot(v, l.probe.Grad(0)) > 0.1*dense.Norm(v)*dense.Norm(l.probe.Grad(0))) {
			return nil, ""
		}
	}
	if first, ok := strings.CutPrefix(expression, " − "); ok {
		expression = "−" + first
	}
	return v, fmt.Sprintf("(%s) of %q ≥ 0", strings.TrimPrefix(expression, " + "), e.Names[0])
}

// across counts the paths that end where the normal points against the direction of the data's sheet.
func (l *legs) across(v []float64) (n int) {
	for i := range l.e.Paths.Count {
		if l.probe.At(l.e.Paths.At(i, l.e.Paths.Steps)) &&
			dense.Dot(v, l.probe.Grad(0)) < -reversed*dense.Norm(v)*dense.Norm(l.probe.Grad(0)) {
			n++
		}
	}
	return n
}
