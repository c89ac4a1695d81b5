package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"gonum.org/v1/gonum/stat"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Condition is the numbers c that are given with points (x, c), the last coordinates of
// the set, as training has seen them.
type Condition struct {
	Names  []string
	At     int            // index of their first coordinate
	Read   score.Standard // mean and spread over the training rows
	Lo, Hi []float64      // their range there
}

// newCondition looks at the training rows, of d numbers each.
func newCondition(names []string, rows []float64, d int) *Condition {
	c := &Condition{Names: names, At: d - len(names)}
	for k := range names {
		mean, sd := stat.PopMeanStdDev(metric.Column(rows, c.At+k, d), nil)
		if !(sd > 0) {
			sd = 1
		}
		c.Read.Mean, c.Read.Scale = append(c.Read.Mean, mean), append(c.Read.Scale, sd)
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := c.At + k; i < len(rows); i += d {
			lo, hi = min(lo, rows[i]), max(hi, rows[i])
		}
		c.Lo, c.Hi = append(c.Lo, lo), append(c.Hi, hi)
	}
	return c
}

// points returns x of each of the points (x, c).
func (c *Condition) points(rows []float64) []float64 { return c.columns(rows, 0, c.At) }

// Of returns the condition of each of the points (x, c).
func (c *Condition) Of(rows []float64) []float64 { return c.columns(rows, c.At, c.At+len(c.Names)) }

func (c *Condition) columns(rows []float64, lo, hi int) []float64 {
	d := c.At + len(c.Names)
	out := make([]float64, 0, len(rows)/d*(hi-lo))
	for row := range slices.Chunk(rows, d) {
		out = append(out, row[lo:hi]...)
	}
	return out
}

// domain returns the domain of points (x, c), from that of x and the training rows.
func (c *Condition) domain(points *domain.Domain, train []float64) *domain.Domain {
	out := domain.Given(points, c.At, c.Names, domain.GivenScale(train, c.At, len(c.Names)))
	for k, name := range c.Names {
		if c.Lo[k] == c.Hi[k] {
			out.Faults = append(slices.Clone(out.Faults), fmt.Sprintf("the condition %s is %.6g in all training rows: "+
				"nothing is learned of other values", name, c.Lo[k]))
		}
	}
	return out
}

// beside returns the points (x, c) of points x and the condition of each.
func beside(data *dataset.Points, given []float64) *dataset.Points {
	out, n := *data, len(given)/max(data.N, 1)
	out.D, out.X = data.D+n, make([]float64, 0, len(data.X)+len(given))
	for i := range data.N {
		out.X = append(append(out.X, data.X[i*data.D:(i+1)*data.D]...), given[i*n:(i+1)*n]...)
	}
	return &out
}

// Conditions are the values of the condition for samples: the numbers of the condition's names, row by row.
type Conditions struct {
	Rows    []float64
	Warning string // of values far outside those of training; may be empty
}

// beyond is how far outside the range of training, as a share of it, a value may be without a warning.
const beyond = 0.1

// Conditions reads the values of the condition for samples: "name=value,name=value", or the name of a CSV or NPY file
// with a row for each sample. Errors have a kind (internal/fault).
func (l *Loaded) Conditions(given string) (*Conditions, error) {
	c := l.Condition
	if c == nil {
		return nil, fault.Errorf(fault.Config, "", "the run has no condition (condition.columns): its samples are "+
			"drawn without one")
	}
	out := &Conditions{}
	var err error
	if strings.Contains(given, "=") {
		out.Rows, err = c.values(given)
	} else {
		out.Rows, err = dataset.ReadGiven(given, c.Names, 0)
	}
	if err != nil {
		return nil, err
	}
	out.Warning = c.Outside(out.Rows)
	return out, nil
}

// Between is Conditions of motions from a start to a goal, where the run's set leaves them open
// (domain.Kind.Ends); empty for a place that it does not.
func (l *Loaded) Between(start, goal string) (*Conditions, error) {
	kind, ok := kinds.WithEnds(l.Process.Set)
	if !ok {
		return nil, fault.Errorf(fault.Config, "", "--start and --goal are of motions of an arm; the run's set is %s",
			constraint.Name(l.Process.Set))
	}
	row, err := kind.Ends(l.Process.Set, start, goal)
	if err != nil {
		return nil, fault.Errorf(fault.Config, "", "%v", err)
	}
	return &Conditions{Rows: row, Warning: l.Condition.Outside(row)}, nil
}

func (c *Condition) values(given string) ([]float64, error) {
	row := make([]float64, len(c.Names))
	seen := make([]bool, len(c.Names))
	for part := range strings.SplitSeq(given, ",") {
		name, text, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		at := slices.Index(c.Names, name)
		value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if k := slices.Index(c.Names, "cos_"+name); at < 0 && k >= 0 && slices.Index(c.Names, "sin_"+name) == k+1 {
			seen[k], at = true, k+1 // an angle, in degrees
			row[k] = math.Cos(value * math.Pi / 180)
			value = math.Sin(value * math.Pi / 180)
		}
		switch {
		case !ok || at < 0:
			return nil, fault.Errorf(fault.Config, "", "%q names nothing that the run was trained on; its condition "+
				"is %s", part, strings.Join(c.Names, ", "))
		case seen[at]:
			return nil, fault.Errorf(fault.Config, "", "%s is given twice", name)
		case err != nil || math.IsNaN(value) || math.IsInf(value, 0):
			return nil, fault.Errorf(fault.Config, "", "%s is %q; expected a finite number", name, text)
		}
		row[at], seen[at] = value, true
	}
	for k, ok := range seen {
		if !ok {
			return nil, fault.Errorf(fault.Config, "", "%s is missing; the condition is %s", c.Names[k],
				strings.Join(c.Names, ", "))
		}
	}
	return row, nil
}

// Outside warns of values far outside those of training; "" if there are none.
func (c *Condition) Outside(rows []float64) string {
	var out []string
	for k, name := range c.Names {
		room, far, worst := beyond*(c.Hi[k]-c.Lo[k]), 0, 0.0
		for i := k; i < len(rows); i += len(c.Names) {
			if d := max(c.Lo[k]-rows[i], rows[i]-c.Hi[k]); d > room {
				if far++; d > max(c.Lo[k]-worst, worst-c.Hi[k]) || far == 1 {
					worst = rows[i]
				}
			}
		}
		if far > 0 {
			out = append(out, fmt.Sprintf("%s is %.6g, outside the training rows' [%.6g, %.6g]", name, worst, c.Lo[k],
				c.Hi[k]))
		}
	}
	if out == nil {
		return ""
	}
	return strings.Join(out, "; ") + ": the network has seen nothing like it, and samples are guesses"
}

// Under returns the prior under conditions: sample i begins under row i/each, and again
// from the first row after the last.
func (p *Prior) Under(rows []float64, each int) *Prior {
	q := *p
	q.given, q.each = rows, max(each, 1)
	return &q
}

// nearOf is how many ends of forward paths a sample is offered, to begin with the one of the
// nearest condition; tries how often, until one can be brought onto Σ(c).
const (
	nearOf     = 64
	startTries = 20
)

// startTolerance is of the solver, in the size of a constraint's terms.
const startTolerance = 1e-13

// starts returns the states, n×d, that the samples first, first+1, … begin with, and marks
// those that could not be brought onto Σ(c) as lost. State i is a function of the seed and
// its number: of some ends of forward paths, drawn by it, that of the condition nearest to
// its own, with its own condition, and brought onto Σ(c) by the solver where that depends on c.
func (l *Loaded) starts(p *Prior, lost []bool, first, seed uint64) (x []float64, unstarted int) {
	c, d := l.Condition, l.Data.D
	k, ends := len(c.Names), p.states()
	_, same := constraint.Free(l.Process.Set)
	x = make([]float64, len(lost)*d)
	draw := keyed.GivenStarts.Stream(seed, 0)
	var failed atomic.Int64
	domain.EachBlock(l.Pool, len(lost), func(lo, hi int) {
		solver, u := geometry.NewSolver(l.Process.Set, 0), make([]float64, nearOf)
		for i := lo; i < hi; i++ {
			number := first + uint64(i)
			row := x[i*d : (i+1)*d]
			at := int(number/uint64(p.each)%uint64(len(p.given)/k)) * k
			given, arrived := p.given[at:at+k], false
			for try := 0; try < startTries && !arrived; try++ {
				draw.Uniforms(u, number, try)
				copy(row, c.nearest(ends, given, u, d))
				copy(row[c.At:], given)
				arrived = same || solver.Project(row, 0) || solver.Descend(row, startTolerance)
			}
			if !arrived { // lost: it goes on from a point that there is
				copy(row, c.nearest(ends, given, u, d))
				lost[i] = true
				failed.Add(1)
			}
		}
	})
	return x, int(failed.Load())
}

// nearest returns, of the ends that the numbers u in [0, 1) choose, the one whose condition is
// nearest to the given one, in units of the spread.
func (c *Condition) nearest(ends, given, u []float64, d int) []float64 {
	best, far := []float64(nil), math.Inf(1)
	for _, v := range u {
		i := int(v * float64(len(ends)/d))
		end := ends[i*d : (i+1)*d]
		if r := c.Apart(end, given); best == nil || r < far {
			best, far = end, r
		}
	}
	return best
}

// Apart returns the square of the distance between the condition of a point x and a given one, in units of the spread.
func (c *Condition) Apart(x, given []float64) (r float64) {
	for k, g := range given {
		e := (x[c.At+k] - g) / c.Read.Scale[k]
		r += e * e
	}
	return r
}

// numbered are the states that samples begin with, by number from first on.
type numbered struct {
	x     []float64
	first uint64
}

// Sample implements langevin.Prior.
func (p numbered) Sample(dst []float64, _ keyed.Stream, sample uint64) {
	copy(dst, p.x[int(sample-p.first)*len(dst):])
}

var _ langevin.Prior = numbered{}
