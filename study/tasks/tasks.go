// Package tasks makes numbered rows in parts that join to the bytes of one process: samples of a run.
//
//	list, err := tasks.Generation(ctx, r, tasks.GenerateOptions{Count: 1e7}) // rows, and what they are made of
//	result, status, err := list.Part(ctx, store, work.Shard{I: 2, N: 8}, nil) // its files are in the store
//	parts, err := tasks.Parts([]string{store.Dir})
//	merged, err := tasks.Merge(ctx, parts, "samples.npy", tasks.MergeOptions{Pool: pool})
//	// or all of it in this process:
//	merged, err := tasks.Once(ctx, list, "samples.npy", tasks.MergeOptions{Pool: pool})
//
// A part is a unit of package work, which claims it, and keeps what is finished from being made again.
package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/study/work"
)

// joins says by kind how the rows of parts are written as one file.
var joins = map[string]func(ctx context.Context, j *Joint) (*Form, error){
	generateKind: joinGenerate,
}

// Inputs says where the files that parts are made of lie on this machine, by their names in work.Unit.Inputs. Names are
// paths with slashes; those that begin alike, as in run/config.yaml and run/manifest.json, lie in one folder.
type Inputs map[string]string

// Root returns the folder in which the inputs lie whose names begin with prefix and a slash; empty if there are none.
func (in Inputs) Root(prefix string) string {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if rest, ok := strings.CutPrefix(name, prefix+"/"); ok {
			dir := in[name]
			for range strings.Count(rest, "/") + 1 {
				dir = filepath.Dir(dir)
			}
			return dir
		}
	}
	return ""
}

// A Result is what a unit has left, as result.json of its folder has it.
type Result struct {
	Files   []File          `json:"files"`
	Kernel  string          `json:"kernel"` // kind of kernels: another may differ in the last bits
	Seconds float64         `json:"seconds"`
	Inputs  Inputs          `json:"inputs,omitempty"` // where they lay
	Detail  json.RawMessage `json:"detail"`           // of the kind
}

// A File is one that a unit made, by its name in the unit's folder.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// resultOf reads the result of a unit that is done.
func resultOf(s work.Status) (*Result, error) {
	var r Result
	if err := json.Unmarshal(s.Result, &r); err != nil {
		return nil, fmt.Errorf("tasks: the result of a unit: %w", err)
	}
	return &r, nil
}

// Whole returns a *work.DamagedError unless each file is in a folder as it was made.
func (r *Result) Whole(dir string) error {
	for _, f := range r.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return &work.DamagedError{Path: dir, Problem: fmt.Sprintf("names a file %q outside of it", f.Name)}
		}
		got, err := hashFile(path, f.Bytes)
		if err != nil {
			return &work.DamagedError{Path: path, Problem: err.Error() + again(dir)}
		}
		if got != f.SHA256 {
			return &work.DamagedError{Path: path, Problem: fmt.Sprintf("its SHA-256 is %.12s…, expected %.12s…", got,
				f.SHA256) + again(dir)}
		}
	}
	return nil
}

// again is the remedy of a damaged part.
func again(dir string) string { return "; without the folder " + dir + " the part is made again" }

// hashFile returns the SHA-256 of a file of so many bytes.
func hashFile(path string, bytes int64) (string, error) {
	f, err := input.Open(path, max(bytes, 0))
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := newHash()
	n, err := io.Copy(h, f)
	if err == nil && n != bytes {
		err = fmt.Errorf("has %d bytes, expected %d", n, bytes)
	}
	return h.sum(), err
}

// A KindError says that this program cannot join parts of a kind.
type KindError struct{ Unit, Kind string }

func (e *KindError) Error() string {
	return fmt.Sprintf("%s is work of kind %q; this program knows %s", e.Unit, e.Kind,
		strings.Join(slices.Sorted(maps.Keys(joins)), ", "))
}

func (*KindError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// otherVersion is the error of a part that another version made, which may give other bytes.
func otherVersion(unit, version, here string) error {
	return fault.Errorf(fault.Config, "", "%s is of version %s of the program, this is %s, which may give other "+
		"bytes; expected the same", unit, version, here)
}

// A TaskError says what of a unit's task cannot be done.
type TaskError struct{ Unit, Problem string }

func (e *TaskError) Error() string { return e.Unit + ": " + e.Problem }

func (*TaskError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// A part in the making.
type making struct {
	Range
	dir   string
	tick  func(done, of uint64)
	files []File
}

// write makes a file of the part, whole or not at all. It lies under another name until it is synced.
func (m *making) write(name string, write func(w io.Writer) error) error {
	h := newHash()
	err := run.WriteStream(filepath.Join(m.dir, name), true, func(w io.Writer) error {
		return write(io.MultiWriter(w, h))
	})
	if err == nil {
		m.files = append(m.files, File{name, h.n, h.sum()})
	}
	return err
}

// Part makes a part of the rows in a store, in the part's own folder, unless it is there: what is whole is not made
// again. The status is that before; tick hears of rows, and may be nil. The result is nil of a part without rows.
// Errors are the context's, those of the kind and of work.Store.Claim, and a configuration fault where another version
// made it.
func (l *List) Part(ctx context.Context, s *work.Store, part work.Shard, tick func(done, of uint64)) (*Result,
	work.Status, error) {
	u := l.Shard(part)
	if u == nil {
		return nil, work.Status{}, nil
	}
	return l.into(ctx, s, u, tick)
}

func (l *List) into(ctx context.Context, s *work.Store, u *work.Unit, tick func(done, of uint64)) (*Result,
	work.Status, error) {
	dir := filepath.Join(s.Dir, u.Name)
	claim, status, err := s.Claim(u, true, func() error { return nil })
	if err != nil {
		return nil, status, err
	}
	if claim == nil {
		if status.Version != "" {
			return nil, status, otherVersion(dir, status.Version, u.Version)
		}
		r, err := resultOf(status)
		if err == nil {
			err = r.Whole(dir)
		}
		return r, status, err
	}
	r, err := l.make(ctx, u, dir, tick)
	if err != nil {
		claim.Release()
		return nil, status, err
	}
	return r, status, claim.Finish(r)
}

// make makes the files of a unit in a folder.
func (l *List) make(ctx context.Context, u *work.Unit, dir string, tick func(done, of uint64)) (*Result, error) {
	rows, err := task(u, new(any))
	if err != nil {
		return nil, err
	}
	start, told := time.Now(), uint64(0)
	m := &making{Range: rows, dir: dir, tick: func(done, of uint64) { // each number once
		if done > told && tick != nil {
			tick(done, of)
		}
		told = max(told, done)
	}}
	detail, err := l.rows(ctx, m)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(detail)
	return &Result{Files: m.files, Kernel: kernel.Name(), Seconds: time.Since(start).Seconds(), Inputs: l.Inputs,
		Detail: raw}, err
}

// decode reads a unit's task strictly.
func decode(u *work.Unit, task any) error {
	dec := json.NewDecoder(strings.NewReader(string(u.Task)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(task); err != nil {
		return &TaskError{u.Name, "its task cannot be read: " + err.Error()}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &TaskError{u.Name, "its task has something behind it"}
	}
	return nil
}
