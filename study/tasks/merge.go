package tasks

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/work"
)

// Parts returns the parts in folders, each that of a unit, or one that holds those of units. Whether
// files are whole is seen when they are joined.
func Parts(dirs []string) ([]Part, error) {
	var out []Part
	for _, dir := range dirs {
		dir = filepath.Clean(dir)
		store, names := &work.Store{Dir: filepath.Dir(dir)}, []string{filepath.Base(dir)}
		if _, err := store.Unit(names[0]); errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*work.ListError)) {
			store = &work.Store{Dir: dir}
			if names, err = store.Names(); err != nil {
				return nil, err
			}
			if len(names) == 0 {
				return nil, refuse("%s: holds no part; expected a folder that --shard wrote, or one of such folders",
					dir)
			}
		}
		for _, name := range names {
			p, err := part(store, name)
			if err != nil {
				return nil, err
			}
			out = append(out, *p)
		}
	}
	return out, nil
}

func part(store *work.Store, name string) (*Part, error) {
	u, err := store.Unit(name)
	if err != nil {
		return nil, err
	}
	p := &Part{Dir: filepath.Join(store.Dir, name), Unit: u}
	if u.Kind != Kind {
		return nil, refuse("%s is work of kind %q; expected a part of samples", name, u.Kind)
	}
	status, err := store.Status(u)
	if err != nil {
		return nil, err
	}
	if status.State != work.Done {
		return nil, refuse("%s: is not finished; the same --shard makes it", p.Dir)
	}
	t, err := read(u)
	if err != nil {
		return nil, work.Damaged(p.Dir, "%v", err)
	}
	p.Range = t.Range
	return p, p.done(status)
}

// whole puts parts in order and checks that they are all rows of one list, each once.
func whole(parts []Part) ([]Part, error) {
	if len(parts) == 0 {
		return nil, refuse("there are no parts to join")
	}
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(a.Range.First, b.Range.First) })
	first := parts[0]
	for _, p := range parts[1:] {
		if what := differs(first, p); what != "" {
			return nil, refuse("%s and %s are not of one list: %s", first.Dir, p.Dir, what)
		}
	}
	at := first.Range.From
	for i, p := range parts {
		switch {
		case p.Range.First > at:
			return nil, missing(first.Range, at, p.Range.First)
		case p.Range.First < at:
			return nil, refuse("%s and %s overlap: both have row %d", parts[i-1].Dir, p.Dir, p.Range.First)
		}
		at += p.Range.Count
	}
	if end := first.Range.From + first.Range.Total; at < end {
		return nil, missing(first.Range, at, end)
	}
	return parts, nil
}

func missing(of Range, lo, hi uint64) error {
	return refuse("rows %d to %d are missing, of %d to %d: a part is not there", lo, hi-1, of.From, of.From+of.Total-1)
}

// differs says in words why two parts are not of one list; empty if they are.
func differs(a, b Part) string {
	if a.Unit.Version != b.Unit.Version {
		return fmt.Sprintf("one is of version %s of the program, the other of %s", a.Unit.Version, b.Unit.Version)
	}
	if x, y := a.Result.Detail.Dim, b.Result.Detail.Dim; x != y {
		return fmt.Sprintf("rows of one have %d numbers, of the other %d", x, y)
	}
	all := func(p Part) *work.Unit { // only the range of the part may differ in it
		u := *p.Unit
		t, err := read(&u)
		t.First, t.Count = 0, 0
		if err == nil {
			u.Task, err = json.Marshal(t)
		}
		if err != nil {
			panic("tasks: " + err.Error()) // it was read before
		}
		return &u
	}
	return all(b).Differs(all(a))
}

// MergeOptions say how parts are joined.
type MergeOptions struct {
	Run      string // the run's folder, where it is not where parts say
	Data     string // its data file, if it has moved
	Force    bool   // write over the file if it exists
	SameBits bool   // refuse parts that were made with several kinds of kernels or processors
	Pool     *parallel.Pool
	Tick     func(done, of uint64) // gets how many samples are written; may be nil
}

// Merged is what Merge did.
type Merged struct {
	File   string   `json:"file"`
	SHA256 string   `json:"sha256"`
	Bytes  int64    `json:"bytes"`
	Parts  int      `json:"parts"`
	First  uint64   `json:"first"`
	Rows   uint64   `json:"rows"`
	Failed []uint64 `json:"failed"` // numbers of samples that are not in the file
	// Kernels of the parts, with the architecture and the precision of products: "avx2 on amd64 in float32".
	Kernels []string `json:"kernels"`
	Beside  string   `json:"record,omitempty"`
	Notes   []string `json:"notes,omitempty"`

	Drawn Drawn             `json:"-"` // of all parts
	Seed  uint64            `json:"-"`
	By    []problem.Drawn   `json:"-"` // keys of generation that were set
	Under *experiment.Asked `json:"-"` // conditions
}

// Merge joins parts into a file, and writes its record beside it: the bytes that one process would have written.
// Nothing appears under its name before all of it is whole; memory does not grow with the samples. A verdict on the
// samples is returned beside what was merged.
func Merge(ctx context.Context, parts []Part, out string, o MergeOptions) (*Merged, error) {
	return merge(ctx, nil, parts, out, o)
}

// merge is Merge of samples of a run that is open as it draws; nil: it is still to be opened.
func merge(ctx context.Context, r *experiment.Run, parts []Part, out string, o MergeOptions) (*Merged, error) {
	parts, err := whole(parts)
	if err != nil {
		return nil, err
	}
	t, err := read(parts[0].Unit)
	if err != nil {
		return nil, err
	}
	m := &Merged{File: out, Parts: len(parts), First: t.From, Rows: t.Total, Failed: []uint64{}, Seed: t.Of.Seed}
	for _, p := range parts {
		m.Drawn.join(&p.Result.Detail)
		kind := fmt.Sprintf("%s on %s", p.Result.Kernel, cmp.Or(p.Result.Arch, "a processor that is not known"))
		if p.Result.Products != "" {
			kind += " in " + p.Result.Products
		}
		if !slices.Contains(m.Kernels, kind) {
			m.Kernels = append(m.Kernels, kind)
		}
	}
	if len(m.Kernels) > 1 {
		several := fmt.Sprintf("parts were made with %s kernels: last bits may differ from what one machine makes",
			strings.Join(m.Kernels, " and "))
		if o.SameBits {
			return nil, refuse("%s", several)
		}
		m.Notes = append(m.Notes, several)
	}
	if r == nil {
		if r, err = opened(ctx, parts, t.Of, o); err != nil {
			return nil, err
		}
	}
	m.By = append([]problem.Drawn{}, r.Drawn...)
	ext := strings.ToLower(filepath.Ext(out))
	write := r.Domain.Writer(ext)
	if write == nil {
		return nil, refuse("%s: this kind of data is not written to such files, but to .npy or .csv", out)
	}
	if !o.Force {
		if err := free(out); err != nil {
			return nil, err
		}
	}
	j := &joining{parts: parts, tick: o.Tick}
	rows := j.rows(ctx, int(t.Total-m.Drawn.Failed), m.Drawn.Dim)
	var rounded metric.Violation // the worst of what the format rounds
	if r.Domain.Rounded[ext] != nil {
		rows = rows.Map(rows.D, func(x []float64) []float64 {
			if off, _ := judge.Rounded(r.Domain, r.Process.Set, ext, x); off.Worst > rounded.Worst {
				rounded = off
			}
			return x
		})
	}
	h := newHash()
	err = run.WriteStream(out, o.Force, func(w io.Writer) error {
		b := bufio.NewWriterSize(io.MultiWriter(w, h), 1<<20)
		err := write(b, rows)
		if j.err != nil { // and so what the writer misses is no news
			return j.err
		}
		return errors.Join(err, b.Flush())
	})
	if err != nil {
		return nil, err
	}
	if rounded.Worst > m.Drawn.Worst() {
		m.Notes = append(m.Notes, fmt.Sprintf("%s rounds coordinates: in it %q is violated by up to %.2g. A .npy file "+
			"keeps all digits", out, rounded.Component, float64(rounded.Worst)))
	}
	m.SHA256, m.Bytes, m.Failed, m.Beside = h.sum(), h.n, append(m.Failed, j.failed...), experiment.RecordName(out)
	if err := m.record(r, parts[0], t.Of); err != nil {
		return nil, err
	}
	return m, m.Drawn.verdict(r, t.Range)
}

// free returns an error if a file exists, or if what lies in the place of its record is none.
func free(file string) error {
	if err := run.Free(file); err != nil {
		return err
	}
	if _, err := experiment.ReadRecord(file); err != nil {
		return &run.ExistsError{Path: experiment.RecordName(file)}
	}
	return nil
}

// record writes how the samples were drawn.
func (m *Merged) record(r *experiment.Run, first Part, of generation) error {
	if of.Each > 0 {
		given := cmp.Or(of.Condition, strings.TrimSpace(of.Start+" "+of.Goal), first.Result.Inputs.named("condition"))
		m.Under = &experiment.Asked{Names: r.Condition.Names, Given: given, Rows: int(m.Rows / of.Each),
			Each: int(of.Each)}
	}
	d := &m.Drawn
	text, err := json.MarshalIndent(&experiment.Record{SHA256: m.SHA256, Version: first.Unit.Version,
		Run: r.Folder.Dir, Config: first.Unit.Inputs[inRun+run.ConfigFile], Epoch: d.Epoch, Drawn: m.By, Seed: m.Seed,
		First: m.First, Samples: int(m.Rows), Failed: m.Failed, Wrong: d.Wrong, Broken: d.Broken, Seconds: d.Seconds,
		Steps: d.Steps, Finished: d.Finished, Under: m.Under, Given: d.Given}, "", "  ")
	if err != nil {
		return err
	}
	return run.WriteFile(m.Beside, append(text, '\n'), true)
}

// joining reads the rows of parts, one after the other.
type joining struct {
	parts  []Part
	tick   func(done, of uint64)
	failed []uint64
	err    error // why the rows ended too early
}

// rows are the n that did not fail, of d numbers each. What keeps them from coming is j.err.
func (j *joining) rows(ctx context.Context, n, d int) arrayfile.Rows {
	return arrayfile.Rows{N: n, D: d, Blocks: func(yield func([]float64) bool) {
		for _, p := range j.parts {
			going := true
			err := p.each(func(x []float64, first uint64) bool {
				done := first + uint64(len(x)/d) - p.Range.From
				x = j.kept(x, first, d)
				if going = ctx.Err() == nil && (len(x) == 0 || yield(x)); going && j.tick != nil {
					j.tick(done, p.Range.Total)
				}
				return going
			})
			if j.err = cmp.Or(ctx.Err(), err); j.err != nil || !going {
				return
			}
		}
	}}
}

// mergeNumbers is how many numbers of a part are read at a time, 1 MB of them; mostDim bounds those of a sample.
const (
	mergeNumbers = 1 << 17
	mostDim      = 1 << 24
)

// kept moves the rows that did not fail to the front of x, and notes the numbers of the others.
func (j *joining) kept(x []float64, first uint64, d int) []float64 {
	at := 0
	for i := 0; i < len(x); i += d {
		if x[i] != x[i] {
			j.failed = append(j.failed, first+uint64(i/d))
			continue
		}
		if at < i {
			copy(x[at:at+d], x[i:i+d])
		}
		at += d
	}
	return x[:at]
}

// each reads the rows of a part in blocks, tells their first number, and at the end whether they were what was made: a
// error of work.Damaged if not. It ends early where f returns false.
func (p *Part) each(f func(x []float64, first uint64) bool) error {
	file := p.Result.Files[0]
	path := filepath.Join(p.Dir, file.Name)
	damaged := func(format string, v ...any) error {
		return work.Damaged(path, "%s; without the folder %s the part is made again", fmt.Sprintf(format, v...),
			p.Dir)
	}
	in, err := input.Open(path, file.Bytes)
	if err != nil {
		return damaged("%v", err)
	}
	defer in.Close()
	h := newHash()
	from := io.TeeReader(bufio.NewReaderSize(in, 1<<20), h)
	r, err := arrayfile.NewNPYReader(from)
	if err != nil {
		return damaged("%v", err)
	}
	d := p.Result.Detail.Dim
	if !slices.Equal(r.Shape, []int{int(p.Range.Count), d}) {
		return damaged("has shape %v, expected [%d %d]", r.Shape, p.Range.Count, d)
	}
	lost, block := uint64(0), make([]float64, max(1, mergeNumbers/d)*d)
	for first := p.Range.First; ; {
		n, err := r.Next(block)
		if err != nil {
			return damaged("%v", err)
		}
		if n == 0 {
			break
		}
		for i := 0; i < n; i += d {
			if block[i] != block[i] {
				lost++
			}
		}
		if lost > p.Result.Detail.Failed {
			break
		}
		if !f(block[:n], first) {
			return nil
		}
		first += uint64(n / d)
	}
	if _, err := io.Copy(io.Discard, from); err != nil {
		return damaged("%v", err)
	}
	if got := h.sum(); h.n != file.Bytes || got != file.SHA256 {
		return damaged("its SHA-256 is %.12s…, expected %.12s…", got, file.SHA256)
	}
	if lost != p.Result.Detail.Failed {
		return damaged("%d rows of it failed, and its result says %d", lost, p.Result.Detail.Failed)
	}
	return nil
}

// named returns the path of the input whose name is base and an extension; empty if there is none.
func (in Inputs) named(base string) string {
	for name, path := range in {
		if name == base+filepath.Ext(name) {
			return path
		}
	}
	return ""
}

// opened returns the run that drew parts, as it drew. It is where options say, or where parts say if it is there.
func opened(ctx context.Context, parts []Part, of generation, o MergeOptions) (*experiment.Run, error) {
	dir, data, was := o.Run, o.Data, "parts do not name it"
	there := func(path string) string {
		if _, err := os.Stat(path); path == "" || err != nil {
			return ""
		}
		return path
	}
	const config = inRun + run.ConfigFile
	for _, p := range parts {
		at := p.Result.Inputs[config]
		if at != "" {
			was = fmt.Sprintf("parts name %q", filepath.Dir(at))
			dir = cmp.Or(dir, there(filepath.Dir(at)))
		}
		data = cmp.Or(data, there(p.Result.Inputs.named("data")))
	}
	if dir == "" {
		return nil, refuse("the folder of the run is not on this machine, which says how rows are written: %s; "+
			"--run says where it is", was)
	}
	hash, err := run.HashFile(filepath.Join(dir, run.ConfigFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse("%s: the run of the parts, which says how rows are written, is not there; --run says "+
			"where it is", dir)
	}
	if err != nil {
		return nil, err
	}
	if want := parts[0].Unit.Inputs[config]; hash != want {
		return nil, refuse("%s is not the run of the parts: the SHA-256 of its %s is %.12s…, expected %.12s…", dir,
			run.ConfigFile, hash, want)
	}
	r, err := experiment.OpenToDraw(ctx, dir, data, o.Pool, nil)
	if err != nil {
		return nil, err
	}
	return r.Redraw(ctx, problem.ParseSettings(of.Settings...))
}

// Once draws all samples of a list in this process and writes them as a file: what parts of it join to. Errors are
// those of List.Part and Merge.
func Once(ctx context.Context, l *List, out string, o MergeOptions) (*Merged, error) {
	if !o.Force {
		if err := free(out); err != nil {
			return nil, err
		}
	}
	scratch, err := run.Scratch(filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".parts"))
	if err != nil {
		return nil, err
	}
	defer scratch.Drop()
	p, _, err := l.Part(ctx, &work.Store{Dir: scratch.Dir}, work.Shard{}, o.Tick)
	if err != nil {
		return nil, err
	}
	o.Tick = nil
	return merge(ctx, l.run, []Part{*p}, out, o)
}
