package langevin

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/ranks"
)

// Among divides the rows of Forward and Partway among the ranks of a group, until it is called with nil. All ranks call
// these methods with the same arguments. Each rank simulates some rows, and all ranks get all rows. Rows and reports
// are those of one process. Only the context of rank 0 counts.
func (s *Simulator) Among(g ranks.Group) { s.group = g }

// divided returns the group that a task is divided among, if it is.
func (s *Simulator) divided(t task) ranks.Group {
	if t.give == nil || s.group == nil || s.group.Size() == 1 {
		return nil
	}
	return s.group
}

// A tiding is what a rank tells the others of its rows.
type rankReport struct {
	Worst       []float64
	Projections geometry.Outcome
	Bounces     Bounces
	Broken      int
	Break       *sentError // the first of Broken
	Fault       *sentError // the first error
	Over        bool       // the context was done
	Deadline    bool       // since its time was over
}

// sentError is an error in the form that one rank sends to another: a *DivergedError, or the text of another error.
type sentError struct {
	Diverged             bool
	Direction, Component string
	Sample, Step         int
	Words                string
}

func sendable(err error) *sentError {
	var e *DivergedError
	if errors.As(err, &e) {
		return &sentError{true, e.Direction, e.Component, e.Sample, e.Step, e.Err.Error()}
	}
	return &sentError{Words: err.Error()}
}

func (t *sentError) error() error {
	if t.Diverged {
		return &DivergedError{t.Direction, t.Sample, t.Step, t.Component, errors.New(t.Words)}
	}
	return errors.New(t.Words)
}

// among is run where rows are divided: that of its own rows, r and err, joined with those of the other ranks.
func (s *Simulator) among(g ranks.Group, n int, t task, r Report, err error) (Report, error) {
	mine := rankReport{Worst: r.Worst, Projections: r.Projections, Bounces: r.Bounces, Broken: r.Broken}
	if r.Break != nil {
		mine.Break = sendable(r.Break)
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		mine.Over, mine.Deadline = true, errors.Is(err, context.DeadlineExceeded)
	case err != nil:
		mine.Fault = sendable(err)
	}
	all := Report{Worst: make([]float64, len(constraint.Components(s.proc.Set)))}
	var first error
	for rank := range g.Size() {
		own := mine
		if rank == g.Rank() {
			ranks.GiveBytes(g, rank, encode(own))
		} else {
			own = decode(ranks.GiveBytes(g, rank, nil))
		}
		all.add(Info{Worst: own.Worst, Projections: own.Projections, Bounces: own.Bounces})
		b := Breakdowns{Broken: own.Broken}
		if own.Break != nil {
			b.Break = own.Break.error().(*DivergedError)
		}
		all.Breakdowns.add(b)
		switch {
		case first != nil:
		case rank == g.Rank() && err != nil: // itself, with all that it wraps
			first = err
		case own.Deadline:
			first = context.DeadlineExceeded
		case own.Over:
			first = context.Canceled
		case own.Fault != nil:
			first = own.Fault.error()
		}
	}
	if first != nil {
		return all, first
	}
	for rank := range g.Size() {
		lo, hi := ranks.Cut(n, rank, g.Size())
		t.give(g, rank, lo, hi)
	}
	return all, nil
}

func encode(t rankReport) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(t); err != nil {
		panic("langevin: " + err.Error()) // plain values
	}
	return b.Bytes()
}

func decode(b []byte) (t rankReport) {
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&t); err != nil {
		panic("langevin: ranks of other programs: " + err.Error())
	}
	return t
}

// give gives the paths lo … hi−1 of a rank to all others.
func (p *Paths) give(g ranks.Group, from, lo, hi int) {
	row := (p.Steps + 1) * p.Dim
	g.Broadcast(from, ranks.View(p.X[lo*row:hi*row]))
	g.Broadcast(from, ranks.View(p.Failed[lo:hi]))
	if p.folds == nil {
		return
	}
	if g.Rank() == from {
		ranks.GiveBytes(g, from, ranks.View(p.pack(lo, hi)))
		return
	}
	b := ranks.GiveBytes(g, from, nil)
	x := make([]float64, len(b)/8)
	copy(ranks.View(x), b)
	p.unpack(lo, hi, x)
}

// pack returns what is noted of the paths lo … hi−1 as numbers: of each how many folds and normals' numbers there
// are, then their steps, states, mirrors and normals.
func (p *Paths) pack(lo, hi int) (x []float64) {
	for i := lo; i < hi; i++ {
		f := &p.folds[i]
		x = append(x, float64(len(f.k)), float64(len(f.n)))
		for _, k := range f.k {
			x = append(x, float64(k))
		}
		x = append(x, f.ym...)
		for _, m := range f.mirrors {
			x = append(x, float64(m))
		}
		x = append(x, f.n...)
	}
	return x
}

// unpack is what pack has made of the paths lo … hi−1.
func (p *Paths) unpack(lo, hi int, x []float64) {
	take := func(n int) []float64 {
		head := x[:n]
		x = x[n:]
		return head
	}
	for i := lo; i < hi; i++ {
		f, counts := &p.folds[i], take(2)
		n := int(counts[0])
		f.k, f.mirrors = f.k[:0], f.mirrors[:0]
		for _, k := range take(n) {
			f.k = append(f.k, int(k))
		}
		f.ym = append(f.ym[:0], take(2*n*p.Dim)...)
		for _, m := range take(n) {
			f.mirrors = append(f.mirrors, int(m))
		}
		f.n = append(f.n[:0], take(int(counts[1]))...)
	}
}
