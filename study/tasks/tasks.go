// Package tasks draws samples of a run in parts that join to the bytes of one process.
//
//	list, err := tasks.Generation(ctx, r, tasks.GenerateOptions{Count: 1e7}) // samples, and what they are made of
//	part, before, err := list.Part(ctx, store, work.Shard{I: 2, N: 8}, nil) // in a folder of the store
//	parts, err := tasks.Parts([]string{store.Dir})
//	merged, err := tasks.Merge(ctx, parts, "samples.npy", tasks.MergeOptions{Pool: pool})
//	// or all of it in this process:
//	merged, err := tasks.Once(ctx, list, "samples.npy", tasks.MergeOptions{Pool: pool})
//
// A part is a unit of package work, which claims it, and keeps what is finished from being made again.
package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/study/work"
)

// Kind is that of the units of samples, and begins their names.
const Kind = "generate"

// RowsFile is the file of a part's samples, float64, n×d; those that failed are NaN.
const RowsFile = "rows.npy"

// A List is samples of a run by number: sample i is a function of the list and i alone.
type List struct {
	From  uint64 // number of the first sample
	Count uint64

	of     generation
	inputs Inputs
	hashes map[string]string
	run    *experiment.Run // as it draws

	// begin prepares a drawing of `count` samples. The function that it returns draws those of numbers first, first+1,
	// … to x, and records their figures in out.
	begin func(ctx context.Context, count uint64, out *Drawn) (fill, error)
}

type fill = func(x []float64, first uint64, tick func(k int)) error

// A Range is the samples of a part, and of the whole.
type Range struct {
	First uint64 `json:"first"`
	Count uint64 `json:"count"`
	From  uint64 `json:"from"` // the first of all
	Total uint64 `json:"total"`
}

// A task is that of a part's unit.
type task struct {
	Range
	Of generation `json:"of"`
}

// Inputs says where the files that parts are made of lie on this machine, by their names in work.Unit.Inputs. Those of
// the run's folder begin with run/.
type Inputs map[string]string

// A Part is a unit of a List that is done.
type Part struct {
	Dir    string // its folder
	Unit   *work.Unit
	Range  Range
	Result Result
}

// A Result is what a part has left, as result.json of its folder has it.
type Result struct {
	Files  []File `json:"files"`
	Kernel string `json:"kernel"` // kind of kernels: another may differ in the last bits
	Arch   string `json:"arch"`   // of the processor, likewise; empty: made by an earlier version
	// Products is the precision that the network's products had, likewise.
	Products string  `json:"products,omitempty"`
	Seconds  float64 `json:"seconds"`
	Inputs   Inputs  `json:"inputs,omitempty"` // where they lay
	Detail   Drawn   `json:"detail"`
}

// A File is one of a part, by its name in the part's folder.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func refuse(format string, v ...any) error { return fault.Errorf(fault.Config, "", format, v...) }

// unit returns the samples lo … hi−1, counted from the list's first, as a unit.
func (l *List) unit(lo, hi uint64) *work.Unit {
	text, err := json.Marshal(task{Range{l.From + lo, hi - lo, l.From, l.Count}, l.of})
	if err != nil {
		panic("tasks: " + err.Error()) // a plain struct
	}
	return &work.Unit{Name: fmt.Sprintf("%s-%d-%d", Kind, l.From+lo, l.From+hi), Kind: Kind, Task: text,
		Inputs: l.hashes, Version: run.Version()}
}

// read reads a unit's task strictly.
func read(u *work.Unit) (t task, err error) {
	dec := json.NewDecoder(strings.NewReader(string(u.Task)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return t, refuse("%s: its task cannot be read: %w", u.Name, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return t, refuse("%s: its task has something behind it", u.Name)
	}
	if r := t.Range; r.Count < 1 || r.Total > 1<<62 || r.From+r.Total < r.From || r.First < r.From ||
		r.Count > r.Total || r.First-r.From > r.Total-r.Count {
		return t, refuse("%s: its rows are %d from %d on, of %d from %d on; expected some of them", u.Name, r.Count,
			r.First, r.Total, r.From)
	}
	return t, nil
}

// Part makes a part of the samples in a store, in the part's own folder, unless it is there: what is whole is not made
// again. The status is that before; tick gets how many samples are done, and may be nil. The part is nil if it has no
// samples, as where there are more parts than samples. Errors are the context's, those of the run and of
// work.Store.Claim, and a configuration fault where another version made it.
func (l *List) Part(ctx context.Context, s *work.Store, shard work.Shard, tick func(done, of uint64)) (*Part,
	work.Status, error) {
	lo, hi := shard.Range(l.Count)
	if lo == hi {
		return nil, work.Status{}, nil
	}
	return l.part(ctx, s, l.unit(lo, hi), tick)
}

func (l *List) part(ctx context.Context, s *work.Store, u *work.Unit, tick func(done, of uint64)) (*Part,
	work.Status, error) {
	t, err := read(u)
	if err != nil {
		return nil, work.Status{}, err
	}
	p := &Part{Dir: filepath.Join(s.Dir, u.Name), Unit: u, Range: t.Range}
	claim, before, err := s.Claim(u, true, func() error { return nil })
	if err != nil {
		return nil, before, err
	}
	if claim == nil {
		if before.Version != "" {
			return nil, before, refuse("%s is of version %s of the program, this is %s, which may give other bytes; "+
				"expected the same", p.Dir, before.Version, u.Version)
		}
		if err = p.done(before); err == nil { // and whole
			err = p.each(func([]float64, uint64) bool { return true })
		}
		return p, before, err
	}
	if err := l.make(ctx, p, tick); err != nil {
		claim.Release()
		return nil, before, err
	}
	return p, before, claim.Finish(p.Result)
}

// done takes what a part has left from its status.
func (p *Part) done(of work.Status) error {
	err := json.Unmarshal(of.Result, &p.Result)
	if d := p.Result.Detail; err == nil && (d.Dim < 1 || d.Dim > mostDim || d.Failed > p.Range.Count ||
		len(p.Result.Files) != 1 || p.Result.Files[0].Name != RowsFile) {
		err = errors.New("it is not one of samples")
	}
	if err != nil {
		return work.Damaged(p.Dir, "%v", err)
	}
	return nil
}

// blockNumbers is how many numbers of samples are drawn at a time: 16 MB of them.
const blockNumbers = 1 << 21

// make draws the samples of a part to its file, whole or not at all.
func (l *List) make(ctx context.Context, p *Part, tick func(done, of uint64)) error {
	start, told, count := time.Now(), uint64(0), p.Range.Count
	tell := func(done uint64) { // each number once
		if done > told && tick != nil {
			tick(done, count)
		}
		told = max(told, done)
	}
	d := l.run.Process.Set.Dim()
	detail := &Drawn{Dim: d}
	draw, err := l.begin(ctx, count, detail)
	if err != nil {
		return err
	}
	var failed error
	rows := arrayfile.Rows{N: int(count), D: d, Blocks: func(yield func([]float64) bool) {
		block := make([]float64, int(min(count, uint64(max(blockNumbers/d, 1))))*d)
		for done := uint64(0); done < count; {
			x := block[:min(uint64(len(block)), (count-done)*uint64(d))]
			failed = draw(x, p.Range.First+done, func(k int) { tell(done + uint64(k)) })
			if failed != nil || !yield(x) {
				return
			}
			done += uint64(len(x) / d)
			tell(done)
		}
	}}
	h := newHash()
	err = run.WriteStream(filepath.Join(p.Dir, RowsFile), true, func(w io.Writer) error {
		if err := arrayfile.EncodeNPYRows(io.MultiWriter(w, h), []int{rows.N, d}, rows); failed == nil {
			return err
		}
		return failed // and so what the writer misses is no news
	})
	p.Result = Result{Files: []File{{RowsFile, h.n, h.sum()}}, Kernel: kernel.Name(), Arch: kernel.Arch(),
		Products: run.ThisMachine().Products[l.run.Problem.Train.Precision], Seconds: time.Since(start).Seconds(),
		Inputs: l.inputs, Detail: *detail}
	if failed != nil { // which no file is to blame for
		return failed
	}
	return err
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
