package main

import "math"

// Costs are what a problem takes on one core, as measured.
type Costs struct {
	Name       string
	Dim        int // of a point
	Steps      int // of a path
	Paths      int // of a refresh
	Refresh    int // epochs between them
	Updates    int // of an epoch
	Rows       int // network rows of an update
	Parameters int
	Step       float64 // seconds: of a path, forward
	Row        float64 // of a network row, forward and backward, with its target
	Update     float64 // of an update beside its rows: sums, optimiser, average
	Sample     float64 // of a generated sample
}

// A Network joins ranks.
type Network struct {
	Name    string
	Latency float64 // seconds a message
	Bytes   float64 // a second, each way of each rank
}

// parts are those of a gradient: train.lanes.
const parts = 16

// piece is what goes from rank to rank at a time: train.foldPiece numbers.
const piece = 4 * 32768

// broadcast returns the seconds of n bytes from one rank to all: along a tree, or where that is less cut in parts that
// the ranks then exchange in a ring (van de Geijn).
func (w Network) broadcast(n float64, ranks int) float64 {
	if ranks == 1 {
		return 0
	}
	r, tree := float64(ranks), math.Ceil(math.Log2(float64(ranks)))
	return min(tree*(w.Latency+n/w.Bytes), (tree+r-1)*w.Latency+2*n*(r-1)/r/w.Bytes)
}

// reduce returns the seconds of an all-reduce of n bytes: by recursive doubling, or in a ring.
func (w Network) reduce(n float64, ranks int) float64 {
	if ranks == 1 {
		return 0
	}
	r, tree := float64(ranks), math.Ceil(math.Log2(float64(ranks)))
	return min(tree*(w.Latency+n/w.Bytes), 2*(r-1)*w.Latency+2*n*(r-1)/r/w.Bytes)
}

// fold returns the seconds of ranks.Fold of n bytes: the pieces pass the ranks that have parts one after the other, and
// the sum goes from the last of them to all.
func (w Network) fold(n float64, ranks int) float64 {
	if ranks == 1 {
		return 0
	}
	last, pieces := float64(min(ranks, parts)), math.Ceil(n/piece)
	return (last-1+pieces-1)*(w.Latency+min(n, piece)/w.Bytes) + w.broadcast(n, ranks)
}

// A Share is the seconds of an epoch by what they are for.
type Share struct{ Rows, Updates, Paths, Network float64 }

// Total returns all of them.
func (s Share) Total() float64 { return s.Rows + s.Updates + s.Paths + s.Network }

// Epoch returns what an epoch takes among ranks of so many cores each.
func (c Costs) Epoch(ranks, cores int, exact bool, w Network) Share {
	own := parts // of a rank, and its share of the rows
	of := float64(parts * ranks)
	if exact {
		own = (parts + min(ranks, parts) - 1) / min(ranks, parts)
		of = parts
	}
	rounds := float64((own + cores - 1) / cores)
	n := 4 * float64(c.Parameters)
	sum := w.reduce(n, ranks)
	if exact {
		sum = w.fold(n, ranks)
	}
	sum += w.broadcast(96, ranks) + w.reduce(2*8*of, ranks) // the order, and the losses of parts
	states := float64(c.Paths) * float64(c.Steps+1)
	gather := 0.0
	for range ranks {
		gather += w.broadcast(8*float64(c.Dim)*states/float64(ranks), ranks)
	}
	u, l := float64(c.Updates), float64(c.Refresh)
	return Share{
		Rows: u * rounds * float64(c.Rows) / of * c.Row, Updates: u * c.Update / float64(cores),
		Paths:   math.Ceil(float64(c.Paths)/float64(ranks*cores)) * float64(c.Steps) * c.Step / l,
		Network: u*sum + gather/l,
	}
}

// Efficiency returns how much faster ranks of so many cores are than one core, by the number of cores.
func (c Costs) Efficiency(ranks, cores int, exact bool, w Network) float64 {
	return c.Epoch(1, 1, exact, w).Total() / c.Epoch(ranks, cores, exact, w).Total() / float64(ranks*cores)
}

// A Farm is what generation by independent workers takes beside its samples, as measured.
type Farm struct {
	Start float64 // seconds until a worker begins: the process, the run, the prior
	Unit  float64 // seconds that a unit takes a worker beside its samples
	Serve float64 // seconds that a unit takes of the queue's server; 0: there is none
	Merge float64 // bytes a second that parts are joined at
}

// Samples returns the seconds that workers of one core take for n samples in units of so many, and to join them.
func (f Farm) Samples(c Costs, n, unit float64, workers int) float64 {
	units := math.Ceil(n / unit)
	busy := math.Ceil(units/float64(workers)) * (min(unit, n)*c.Sample + f.Unit)
	return f.Start + max(busy, units*f.Serve) + 8*float64(c.Dim)*n/f.Merge
}
