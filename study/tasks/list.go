package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/study/work"
)

// A List is numbered rows that may be made in ranges: row i is a function of the list and i alone.
type List struct {
	Kind   string
	From   uint64 // number of the first row
	Count  uint64
	Inputs Inputs

	hashes map[string]string
	task   any // without its range; JSON can hold it
	rows   func(ctx context.Context, m *making) (detail any, err error)
	drawn  *experiment.Run // whose samples the rows are; nil: no samples
}

// A Range is which rows a unit makes, of which: the task of a unit of a List has it beside what the kind needs.
type Range struct {
	First uint64 `json:"first"`
	Count uint64 `json:"count"`
	From  uint64 `json:"from"` // the first row of all
	Total uint64 `json:"total"`
}

// ranged is the task of a unit of a List.
type ranged struct {
	Range
	Of json.RawMessage `json:"of"` // what the kind needs
}

// check returns a *TaskError unless the range is one of some rows of all of them.
func (r Range) check(u *work.Unit) error {
	if r.Count < 1 || r.Total > 1<<62 || r.From+r.Total < r.From || r.First < r.From || r.Count > r.Total ||
		r.First-r.From > r.Total-r.Count {
		return &TaskError{u.Name, fmt.Sprintf("its rows are %d from %d on, of %d from %d on; expected some of them",
			r.Count, r.First, r.Total, r.From)}
	}
	return nil
}

// Unit returns the rows lo … hi−1, counted from the list's first, as a unit.
func (l *List) Unit(lo, hi uint64) *work.Unit {
	of, err := json.Marshal(l.task)
	if err == nil {
		of, err = json.Marshal(ranged{Range{l.From + lo, hi - lo, l.From, l.Count}, of})
	}
	if err != nil {
		panic("tasks: " + err.Error()) // tasks are plain structs
	}
	return &work.Unit{Name: fmt.Sprintf("%s-%d-%d", l.Kind, l.From+lo, l.From+hi), Kind: l.Kind, Task: of,
		Inputs: l.hashes, Version: run.Version()}
}

// Shard returns the rows of a part as a unit; nil if it has none, as parts have where there are more parts than rows.
func (l *List) Shard(s work.Shard) *work.Unit {
	lo, hi := s.Range(l.Count)
	if lo == hi {
		return nil
	}
	return l.Unit(lo, hi)
}

// input adds a file to the list's inputs.
func (l *List) input(name, path, hash string) {
	if l.Inputs == nil {
		l.Inputs, l.hashes = Inputs{}, map[string]string{}
	}
	l.Inputs[name], l.hashes[name] = path, hash
}

// task reads the range of a unit of a List, and the rest of its task.
func task(u *work.Unit, of any) (Range, error) {
	var t ranged
	if err := decode(u, &t); err != nil {
		return t.Range, err
	}
	rest := *u
	if rest.Task = t.Of; len(t.Of) == 0 {
		rest.Task = json.RawMessage("null")
	}
	if err := decode(&rest, of); err != nil {
		return t.Range, err
	}
	return t.Range, t.Range.check(u)
}

// sha is a SHA-256 that counts.
type sha struct {
	hash.Hash
	n int64
}

func newHash() *sha { return &sha{Hash: sha256.New()} }

func (s *sha) Write(b []byte) (int, error) {
	s.n += int64(len(b))
	return s.Hash.Write(b)
}

func (s *sha) sum() string { return hex.EncodeToString(s.Sum(nil)) }
