package choose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
)

// Constants of the rules of learning: those of docs/fast.md, in units of the data.
const (
	windowArc      = 0.3 // a window of targets over the radius of curvature
	finest         = 8.0 // the shortest wave over the narrowest width
	widest         = 12  // coordinates up to which the network is given waves
	manyOctaves    = 6
	fewOctaves     = 3
	torsionWave    = 2. // and how many octaves, of molecules by internal coordinates
	torsionOctaves = 2
	batchRows      = 1024
	smallBatch     = 128     // where spreads are uneven and paths take most of the time
	manyBatches    = 16      // of an epoch
	pathNumbers    = 1 << 27 // that paths may be: a gigabyte
	centred        = 10_000  // coordinates up to which config.yaml holds their means and standard deviations
	uneven         = 10      // largest over least standard deviation of a coordinate
)

// Learning returns what the network, its targets and its optimiser are, for a process with the schedule n. From the
// data's lengths follow the unit in which the network reads points, its waves and the window of its targets; the rest
// is what learned best on the problems of docs/problems.md (docs/auto.md).
func Learning(l *Measures, n Noise) (out []Choice) {
	steps, v := n.Steps, n.Travel()
	add := func(key string, value any, format string, a ...any) {
		out = append(out, Choice{Key: key, Value: value, Reason: fmt.Sprintf(format, a...)})
	}
	unit := l.Spread / math.Sqrt(float64(l.Coordinates))
	if l.Coordinates <= centred {
		add("network.center", l.Center, "the mean of the rows")
	}
	add("network.unit", unit, "the root mean square of their coordinates about it")

	width, layers, octaves := sizes(l)
	narrow := false // some directions: their spread needs many updates
	add("network.width", width, "for %d coordinates", l.Coordinates)
	add("network.layers", layers, "for %d coordinates", l.Coordinates)
	switch {
	case l.Torsions:
		add("network.wavelength", torsionWave, "the diameter of a torsion's circle")
		add("network.octaves", octaves, "wells of torsions are narrow")
	case octaves > 0:
		add("network.wavelength", l.Diameter, "the data's diameter")
		add("network.octaves_of", "start", "where a path began says nearly all of its score")
		add("network.octaves", octaves, "the shortest wave is %.3g, modes are as narrow as %.3g",
			l.Diameter/math.Exp2(float64(octaves-1)), l.Narrow)
	default:
		add("network.octaves", 0, "waves of %d coordinates would be most of the input", l.Coordinates)
		moving := slices.DeleteFunc(slices.Clone(l.Scales), func(s float64) bool { return s <= one*l.Spread })
		apart := len(moving) > 0 && slices.Max(moving) > uneven*slices.Min(moving)
		if narrow = apart && l.Coordinates <= centred; narrow {
			add("network.scales", l.Scales, "the largest is more than %d times the least", uneven)
		}
	}
	add("network.time", "share", "whatever the horizon")
	add("network.time_octaves", 4, "scores differ much by step")
	add("network.output", "balanced", "late steps count as much as early ones")

	window, why := math.Sqrt(v), "the length of whole paths: the set is flat as far as they go"
	if short := windowArc * l.RadiusMedian; short < window {
		window, why = short, fmt.Sprintf("%v of the radius of curvature", windowArc)
	}
	add("train.window", window, "%s", why)
	batch, paths := batches(l.Rows, l.Coordinates, steps)
	cost := pathCost(l, steps, rowWork(l, width, layers, octaves))
	if narrow && cost > float64(steps) && batch > smallBatch {
		add("train.batch", smallBatch, "paths take most of the time: more updates cost little")
	} else {
		add("train.batch", batch, "at most %d of the rows", batchRows)
	}
	if paths < l.Rows {
		add("train.paths", paths, "rows take turns: an epoch of all %d would be long, and its paths large", l.Rows)
	}
	times := min(5, steps)
	add("train.times_per_path", times, "rows of one path repeat each other")
	add("train.refresh", refreshed(cost, steps, times), "a path of %d steps costs as much as %.2g rows of it", steps,
		cost)
	add("train.optimizer", "muon", "all directions of a matrix are learned at once")
	add("train.learning_rate", 0.005, "of muon")
	add("train.precision", "bfloat16", "where the machine is faster with it")
	add("train.anneal", 0.5, "takes out the noise of the last updates")
	return out
}

// sizes returns those of the network.
func sizes(l *Measures) (width, layers, octaves int) {
	width, layers = 256, 4
	if l.Coordinates > 50 && !l.Torsions {
		width, layers = 512, 3
	}
	switch {
	case l.Torsions:
		octaves = torsionOctaves
	case l.Coordinates <= widest && l.Narrow > 0:
		octaves = int(math.Ceil(math.Log2(l.Diameter / (finest * l.Narrow))))
		octaves = min(max(octaves+1, fewOctaves), manyOctaves)
	}
	return width, layers, octaves
}

// solvedPaths is how many paths of a flow are solved at a time.
const solvedPaths = 4096

// Velocity returns what Learning does for a network that learns the velocities of a flow at times from 0 to 1, without
// the settings of noise. If the program must solve the paths, at `times` times each, a path costs as much as learning
// from it. Then few are solved at a time, and training uses all their states.
func Velocity(l *Measures, times int, solved bool) (out []Choice) {
	for _, c := range Learning(l, Noise{Steps: times, Horizon: 1, Min: 1, Max: 1}) {
		switch c.Key {
		case "network.octaves_of", "network.time", "network.output", "network.scales", "train.window", "train.paths":
			continue
		case "network.time_octaves":
			c.Reason = "velocities differ much by time"
		case "train.refresh":
			if c.Value, c.Reason = 1, "paths have a closed form"; solved {
				c.Value, c.Reason = 4, "a path is made anew when all its states were seen"
			}
		case "train.times_per_path":
			if c.Reason = "each of a path of its own"; solved {
				c.Value, c.Reason = times/4, "paths are dear"
			}
		}
		out = append(out, c)
	}
	if paths := manyBatches * min(batchRows, l.Rows); !solved && paths < l.Rows {
		out = append(out, Choice{Key: "train.paths", Value: paths, Reason: "rows take turns: an epoch of all " +
			"would be long"})
	}
	if solved && solvedPaths < l.Rows {
		out = append(out, Choice{Key: "train.paths", Value: solvedPaths, Reason: "rows take turns: solving paths " +
			"to all would be long"})
	}
	return out
}

// Of networks that draw where a path began, at levels. In few directions states are dealt out to places that are near
// each other (package fewstep): spreads of the first and the last level are in units of the data's along one direction
// of Σ, others where there are more than fewLevels of them, which would come to be one step. In more than
// manyDirections 1024 points are all far from each other, and no level can do the work of two: with that of the last
// step they are geometric, the last of them a share of it. Further: how many levels and draws there are if none are
// given; rows of a batch; how many times the time of paths the network's is to be, and after how many epochs at most
// paths are made anew.
const (
	coarse, fine   = 0.16, 0.045
	coarser, finer = 0.25, 0.03
	manyDirections = 6
	finestShare    = 0.09
	fewLevels      = 3
	drawsOfTerm    = 2
	drawBatch      = 256
	networkTime    = 4
	slowest        = 8
)

// ManyDirections reports whether a law on `dim` dimensions counts as one with many directions.
func ManyDirections(dim int) bool { return dim > manyDirections }

// Levels returns the spreads of the first and the last level. The data has the spread ℓ in each of dim directions, and
// the last step of paths has the spread s.
func Levels(ℓ, s float64, dim, levels int) (first, last float64) {
	switch {
	case ManyDirections(dim):
		return s * math.Pow(finestShare, 1/float64(max(levels, 1))), s * finestShare
	case levels > fewLevels:
		return coarser * ℓ, finer * ℓ
	}
	return coarse * ℓ, fine * ℓ
}

// DrawBatch returns the batch size for networks that draw where a path began.
func DrawBatch(rows int) int { return min(drawBatch, rows) }

// DrawRefresh returns how many epochs a path serves in the training of a network that draws where it began. The path
// has `steps` steps on the set, and the method has `levels` levels below the last step. An epoch pairs the path's
// states anew, so that the network hardly overfits, and paths are made as often as time allows.
func DrawRefresh(set constraint.Set, steps, levels, width, layers, octaves int) int {
	l := &Measures{Coordinates: set.Dim(), Components: len(constraint.Components(set)), Work: set.Capabilities().Work}
	return drawRefresh(pathCost(l, steps, rowWork(l, width, layers, octaves)), levels)
}

func drawRefresh(cost float64, levels int) int {
	rows := float64(drawsOfTerm * (levels + 1)) // of a path in an epoch
	return int(math.Round(min(max(1, networkTime*cost/rows), slowest)))
}

// Draws returns what Learning does for a network that draws where a path began: what it learns are points, not
// steps, so there is no window, and it has a unit of its own for its outputs. levels are those that are given, else 0.
func Draws(l *Measures, n Noise, levels int) (out []Choice) {
	ℓ := l.along()
	first, last := Levels(ℓ, math.Sqrt(n.Travel()), l.Dim, cmp.Or(levels, fewLevels))
	width, layers, octaves := sizes(l)
	cost := pathCost(l, n.Steps, rowWork(l, width, layers, octaves))
	for _, c := range Learning(l, n) {
		switch c.Key {
		case "network.output", "network.scales", "train.window", "train.paths", "train.times_per_path":
			continue
		case "network.time_octaves":
			c.Reason = "draws differ much by level"
		case "train.batch":
			c.Value, c.Reason = DrawBatch(l.Rows), "smaller ones cost muon more than their rows"
		case "train.refresh":
			c.Value = drawRefresh(cost, cmp.Or(levels, fewLevels))
			c.Reason = fmt.Sprintf("a path costs as much as %.2g rows", cost)
		}
		out = append(out, c)
	}
	of := fmt.Sprintf("%.3g of the data's spread in each of %d directions", first/ℓ, l.Dim)
	if ManyDirections(l.Dim) {
		of += ": geometric from the last step's"
	}
	return append(out, Choice{Key: "process.options.coarse", Value: first, Reason: of},
		Choice{Key: "process.options.fine", Value: last, Reason: fmt.Sprintf("%.3g of it", last/ℓ)})
}

// batches returns how many rows a batch has, and how many paths a refresh. An epoch is what a clock
// counts, and what a plan of rates is made of, so there should be many in any time that is given:
// it has 16 batches of batchRows at most. Rows beyond them lose nothing: paths are made anew all the time, and
// begin at others then. Nor may the paths, of (N + 1)d numbers each, fill the memory.
func batches(rows, d, steps int) (batch, paths int) {
	batch = min(batchRows, rows)
	room := max(1, pathNumbers/((steps+1)*d))
	paths = min(rows, manyBatches*batch, room)
	return min(batch, paths), paths
}

// What a step of a path costs, in multiply-adds of the network's products, which are the cheapest there
// are: for each coordinate (noise, most of all), for each component, and for each multiply-add that a set
// says it takes. Measured on the problems of docs/problems.md, SO(10) and a level set, all within a factor
// of 2 (docs/auto.md); a machine whose arithmetic is in another proportion has another best, but a flat one.
const (
	coordinateWork = 4_500
	componentWork  = 12_000
	ownWork        = 3
)

// rowWork returns the multiply-adds of a row of a batch: forward, and twice that backward.
func rowWork(l *Measures, width, layers, octaves int) float64 {
	d, w := float64(l.Coordinates), float64(width)
	in := 2*d*float64(1+octaves) + 9 // x, p̃, their waves; t and its own
	return 3 * (in*w + float64(layers-1)*w*w + w*d)
}

// pathCost returns how many rows of a batch take the time of a path.
func pathCost(l *Measures, steps int, row float64) float64 {
	step := coordinateWork*float64(l.Coordinates) + componentWork*float64(l.Components) + ownWork*l.Work
	return float64(steps) * step / row
}

// refreshed returns after how many epochs a path is made anew, where an epoch uses `times` of its states. Rows of one
// path with N steps tell less the more there are. Say that r rows are worth r/(1 + r/N) rows of separate paths. With a
// path that costs c rows the worth a row's cost is
//
//	r / ((1 + r/N)(c + r)),
//
// largest at r = √(cN). A path serves for at most N rows: after more, the network memorises its noise.
func refreshed(cost float64, steps, times int) int {
	r := math.Min(math.Sqrt(cost*float64(steps)), float64(steps))
	return max(1, int(math.Round(r/float64(times))))
}
