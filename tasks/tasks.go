// Package tasks holds the kinds of units of work, and does a unit: what shards, workers of a queue and ranks share,
// so that a unit's files are the same bytes whoever made them.
//
//	list, err := tasks.Generation(r, tasks.GenerateOptions{Count: 1e7}) // numbered rows, and what they are made of
//	u := list.Shard(work.Shard{I: 2, N: 8}) // a range of them as a unit; all of them: list.Cut(1e5)
//	doer := &tasks.Doer{Pool: pool}
//	result, err := doer.Do(ctx, u, list.Inputs, folder) // its files lie in folder
//	// or claim, Do and Finish in a store, where what is whole is not made again:
//	result, status, err := doer.Into(ctx, store, u, list.Inputs)
//
// A unit names its inputs by SHA-256; Inputs says where they lie on this machine. So another machine needs the unit
// and its inputs, under whatever paths: Do refuses files of other bytes, and a unit of another version.
//
// A Kind is what one knows of units of one kind; All is their registry, to which others may add rows. Package work
// knows what a unit is and keeps it once in a folder; this package knows what is done. Merge joins the files of units
// that made ranges of rows.
package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/work"
)

// A Kind is a row of the registry: how units of a kind are done.
type Kind struct {
	Name string // work.Unit.Kind

	// Do does a unit: it writes files by j.Write, and returns what else is to be known, which JSON can hold. The same
	// unit gives the same bytes at any number of workers, on any machine with the same kind of kernels.
	Do func(ctx context.Context, j *Job) (detail any, err error)

	// Dated says that files tell times and places: two machines make them with other bytes, though with the same
	// numbers.
	Dated bool

	// Join says how rows of parts are written as one file; nil: units of the kind are no parts of a file.
	Join func(ctx context.Context, j *Joint) (*Form, error)
}

// All are the kinds.
var All = []Kind{generate, forward, rotations}

// Inputs says where the inputs of units lie on this machine, by their names in work.Unit.Inputs. Names are paths with
// slashes; those that begin alike, as in run/config.yaml and run/manifest.json, lie in one folder in the same way.
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

// At returns the inputs of a unit in a folder where each lies under its name: how a worker keeps what it was sent.
func At(dir string, u *work.Unit) Inputs {
	in := Inputs{}
	for name := range u.Inputs {
		in[name] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return in
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

// Of reads the result of a unit that is done.
func Of(s work.Status) (*Result, error) {
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

// A KindError says that nobody here knows how to do a unit.
type KindError struct{ Unit, Kind string }

func (e *KindError) Error() string {
	var known []string
	for _, k := range All {
		known = append(known, k.Name)
	}
	return fmt.Sprintf("%s is work of kind %q; this program knows %s", e.Unit, e.Kind, strings.Join(known, ", "))
}

func (*KindError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// otherVersion is the error of a unit that is for another version of the program, which may give other bytes.
func otherVersion(unit, version, here string) error {
	return fault.Errorf(fault.Config, "", "%s is of version %s of the program, this is %s, which may give other bytes; "+
		"expected the same", unit, version, here)
}

// A TaskError says what of a unit's task cannot be done.
type TaskError struct{ Unit, Problem string }

func (e *TaskError) Error() string { return e.Unit + ": " + e.Problem }

func (*TaskError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// find returns the kind of a unit.
func find(u *work.Unit) (Kind, error) {
	i := slices.IndexFunc(All, func(k Kind) bool { return k.Name == u.Kind })
	if i < 0 {
		return Kind{}, &KindError{u.Name, u.Kind}
	}
	return All[i], nil
}

// A Doer does units, one at a time, and keeps what it opened for the next unit of the same inputs.
type Doer struct {
	Pool *parallel.Pool
	Tick func(done, of uint64) // hears of the rows of a unit; may be nil
	Step func()                // hears that a unit gets on, with rows or without; may be nil

	checked map[string]string // SHA-256 by path, of inputs
	key     string            // of what is open
	open    any
}

// A Job is a unit that is being done.
type Job struct {
	Unit   *work.Unit
	Inputs Inputs
	Pool   *parallel.Pool
	Tick   func(done, of uint64) // never nil; it is a Step too
	Step   func()                // never nil

	doer  *Doer
	dir   string
	files []File
}

// Write makes a file of the unit, whole or not at all. It lies under another name until it is synced.
func (j *Job) Write(name string, write func(w io.Writer) error) error {
	h := newHash()
	err := run.WriteStream(filepath.Join(j.dir, name), true, func(w io.Writer) error {
		return write(io.MultiWriter(w, h))
	})
	if err == nil {
		j.files = append(j.files, File{name, h.n, h.sum()})
	}
	return err
}

// Folder returns the folder in which the unit's files lie, for what does not write by Write.
func (j *Job) Folder() string { return j.dir }

// Keep takes a file of the unit's folder for one that the unit made.
func (j *Job) Keep(name string) error {
	path := filepath.Join(j.dir, filepath.FromSlash(name))
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	sum, err := hashFile(path, info.Size())
	if err == nil {
		j.files = append(j.files, File{name, info.Size(), sum})
	}
	return err
}

// Opened returns what open opens: once for jobs in a row with the same key.
func (j *Job) Opened(key string, open func() (any, error)) (any, error) {
	if j.doer.open != nil && j.doer.key == key {
		return j.doer.open, nil
	}
	j.doer.open = nil // two may be too much for the memory
	v, err := open()
	if err == nil {
		j.doer.key, j.doer.open = key, v
	}
	return v, err
}

// Know has units of a list use what was opened to make it, in this process.
func (d *Doer) Know(l *List) {
	if l.open != nil {
		d.key, d.open = shared(l.Unit(0, 1)), l.open
	}
}

// Do does a unit: its files appear in the folder dir, over what is there of an earlier try.
func (d *Doer) Do(ctx context.Context, u *work.Unit, in Inputs, dir string) (*Result, error) {
	kind, err := find(u)
	if err != nil {
		return nil, err
	}
	if here := run.Version(); u.Version != here {
		return nil, otherVersion(u.Name, u.Version, here)
	}
	if err := d.verify(u, in); err != nil {
		return nil, err
	}
	start := time.Now()
	j := &Job{Unit: u, Inputs: in, Pool: d.Pool, Step: d.Step, doer: d, dir: dir}
	if j.Step == nil {
		j.Step = func() {}
	}
	told := uint64(0)
	j.Tick = func(done, of uint64) { // each number once
		j.Step()
		if done > told && d.Tick != nil {
			d.Tick(done, of)
		}
		told = max(told, done)
	}
	detail, err := kind.Do(ctx, j)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(detail)
	if err != nil {
		return nil, err
	}
	return &Result{Files: j.files, Kernel: kernel.Name(), Seconds: time.Since(start).Seconds(), Inputs: in,
		Detail: raw}, nil
}

// verify checks that the inputs are the unit's; each file is read once.
func (d *Doer) verify(u *work.Unit, in Inputs) error {
	if d.checked == nil {
		d.checked = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(u.Inputs)) {
		path, ok := in[name]
		if !ok {
			return fault.Errorf(fault.Config, "", "(nowhere): input %s of %s is not on this machine", name, u.Name)
		}
		got, ok := d.checked[path]
		if !ok {
			info, err := os.Stat(path)
			if err == nil {
				got, err = hashFile(path, info.Size())
			}
			if err != nil {
				return fault.Errorf(fault.Config, "", "%s: input %s of %s cannot be read: %v", path, name, u.Name, err)
			}
			d.checked[path] = got
		}
		if got != u.Inputs[name] {
			return fault.Errorf(fault.Config, "", "%s: input %s of %s is another file: its SHA-256 is %.12s…, "+
				"expected %.12s…", path, name, u.Name, got, u.Inputs[name])
		}
	}
	return nil
}

// Into does a unit in a store, in the unit's own folder, unless it is done: what is whole is not made again. The status
// is that before. Errors are those of Do, of work.Store.Claim, and one where another version did it.
func (d *Doer) Into(ctx context.Context, s *work.Store, u *work.Unit, in Inputs) (*Result, work.Status, error) {
	dir := filepath.Join(s.Dir, u.Name)
	claim, status, err := s.Claim(u, true, func() error { return nil })
	if err != nil {
		return nil, status, err
	}
	if claim == nil {
		if status.Version != "" {
			return nil, status, otherVersion(dir, status.Version, u.Version)
		}
		r, err := Of(status)
		if err == nil {
			err = r.Whole(dir)
		}
		return r, status, err
	}
	r, err := d.Do(ctx, u, in, dir)
	if err != nil {
		claim.Release()
		return nil, status, err
	}
	return r, status, claim.Finish(r)
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
