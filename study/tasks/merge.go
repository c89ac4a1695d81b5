package tasks

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/study/work"
)

// A Part is a unit of a List that is done.
type Part struct {
	Dir    string // its folder
	Unit   *work.Unit
	Range  Range
	Result *Result

	of   json.RawMessage // its task without the range
	rows Rows
}

// Rows is what every kind tells of the rows of a unit, among the rest of its detail.
type Rows struct {
	Dim    int    `json:"dim"`
	Failed uint64 `json:"failed"` // rows of NaN, which are in no file
}

func refuse(format string, v ...any) error { return fault.Errorf(fault.Config, "", format, v...) }

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
	if joins[u.Kind] == nil {
		return nil, &KindError{u.Name, u.Kind}
	}
	status, err := store.Status(u)
	if err != nil {
		return nil, err
	}
	if status.State != work.Done {
		return nil, refuse("%s: is not finished; the same --shard makes it", p.Dir)
	}
	if p.Result, err = resultOf(status); err == nil {
		p.Range, err = task(u, &p.of)
	}
	if err == nil {
		err = json.Unmarshal(p.Result.Detail, &p.rows)
	}
	if err == nil && (p.rows.Dim < 1 || p.rows.Failed > p.Range.Count || len(p.Result.Files) != 1 ||
		p.Result.Files[0].Name != RowsFile) {
		err = errors.New("it is not one of rows")
	}
	if err != nil {
		return nil, &work.DamagedError{Path: p.Dir, Problem: err.Error()}
	}
	return p, nil
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
	switch {
	case a.Unit.Kind != b.Unit.Kind:
		return fmt.Sprintf("one is %s, the other %s", a.Unit.Kind, b.Unit.Kind)
	case a.Unit.Version != b.Unit.Version:
		return fmt.Sprintf("one is of version %s of the program, the other of %s", a.Unit.Version, b.Unit.Version)
	case a.Range.From != b.Range.From || a.Range.Total != b.Range.Total:
		return fmt.Sprintf("one is of the rows %d to %d, the other of %d to %d", a.Range.From,
			a.Range.From+a.Range.Total-1, b.Range.From, b.Range.From+b.Range.Total-1)
	case a.rows.Dim != b.rows.Dim:
		return fmt.Sprintf("rows of one have %d numbers, of the other %d", a.rows.Dim, b.rows.Dim)
	}
	var what []string
	var s, t map[string]any
	if json.Unmarshal(a.of, &s) == nil && json.Unmarshal(b.of, &t) == nil {
		keys := maps.Clone(s)
		maps.Copy(keys, t)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if x, y := told(s[key]), told(t[key]); x != y {
				what = append(what, fmt.Sprintf("%s is %s in one and %s in the other", key, x, y))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Unit.Inputs)) {
		if a.Unit.Inputs[name] != b.Unit.Inputs[name] {
			what = append(what, "other bytes of "+name)
		}
	}
	if len(what) == 0 && (!bytes.Equal(a.of, b.of) || len(a.Unit.Inputs) != len(b.Unit.Inputs)) {
		what = append(what, "they were made of other things")
	}
	return strings.Join(what, ", ")
}

func told(v any) string {
	if v == nil {
		return "not set"
	}
	b, _ := json.Marshal(v) // which Unmarshal made
	return string(b)
}

// MergeOptions say how parts are joined.
type MergeOptions struct {
	Run      string // the run's folder, where it is not where parts say; of kinds that have one
	Data     string // its data file, if it has moved
	Force    bool   // write over the file if it exists
	SameBits bool   // refuse parts that were made with several kinds of kernels
	Pool     *parallel.Pool
	Tick     func(done, of uint64) // hears of rows; may be nil

	drawn *experiment.Run // of Once: List.drawn
}

// A Joint is parts of one list that are being joined into a file.
type Joint struct {
	MergeOptions
	Parts []Part // in order
	Range Range  // all
	Dim   int
	Out   string // the file

	good   int // rows that did not fail
	failed []uint64
	err    error // why the rows ended too early
}

// Task reads what the units share.
func (j *Joint) Task(of any) error {
	u := *j.Parts[0].Unit
	u.Task = j.Parts[0].of
	return decode(&u, of)
}

// A Form is how a kind's rows become a file.
type Form struct {
	Write func(w io.Writer, rows arrayfile.Rows) error

	// Record is written beside the file, under Beside: of the file's SHA-256, and the numbers of the rows that are not
	// in it; nil: there is none.
	Record func(sha256 string, failed []uint64) (any, error)
	Beside string

	// Verdict is what is wrong with the rows as a whole, which are written nevertheless; nil: nothing.
	Verdict error

	// Note is what else is to be said of the file, once it is written; may be nil.
	Note func() string

	Detail any // what else the kind knows of the rows, for Merged
}

// Merged is what Merge did.
type Merged struct {
	File    string   `json:"file"`
	SHA256  string   `json:"sha256"`
	Bytes   int64    `json:"bytes"`
	Parts   int      `json:"parts"`
	First   uint64   `json:"first"`
	Rows    uint64   `json:"rows"`
	Failed  []uint64 `json:"failed"`  // numbers of rows that are not in the file
	Kernels []string `json:"kernels"` // that the parts were made with
	Beside  string   `json:"record,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	Detail  any      `json:"-"` // of the kind; a *Drawn of samples
}

// Merge joins parts into a file: the bytes that one process would have written. Nothing appears under its name before
// all of it is whole; memory does not grow with the rows. A verdict on the rows is returned beside what was merged.
func Merge(ctx context.Context, parts []Part, out string, o MergeOptions) (*Merged, error) {
	parts, err := whole(parts)
	if err != nil {
		return nil, err
	}
	j := &Joint{MergeOptions: o, Parts: parts, Range: parts[0].Range, Dim: parts[0].rows.Dim, Out: out}
	j.Range.First, j.Range.Count = j.Range.From, j.Range.Total
	m := &Merged{File: out, Parts: len(parts), First: j.Range.From, Rows: j.Range.Total, Failed: []uint64{}}
	lost := uint64(0)
	for _, p := range parts {
		lost += p.rows.Failed
		if !slices.Contains(m.Kernels, p.Result.Kernel) {
			m.Kernels = append(m.Kernels, p.Result.Kernel)
		}
	}
	if o.SameBits && len(m.Kernels) > 1 {
		return nil, refuse("parts were made with %s kernels, whose last bits may differ: not one process's bytes",
			strings.Join(m.Kernels, " and "))
	}
	if len(m.Kernels) > 1 {
		m.Notes = append(m.Notes, fmt.Sprintf("parts were made with %s kernels: last bits may differ from what one "+
			"machine makes", strings.Join(m.Kernels, " and ")))
	}
	if j.good = int(j.Range.Total - lost); j.Range.Total > math.MaxInt/8/uint64(j.Dim) {
		return nil, refuse("%d rows of %d numbers are more than a file can have", j.Range.Total, j.Dim)
	}
	for _, p := range parts { // before memory is taken for rows of that width
		path := filepath.Join(p.Dir, RowsFile)
		info, err := os.Stat(path)
		if err != nil {
			return nil, &work.DamagedError{Path: path, Problem: err.Error() + again(p.Dir)}
		}
		if n := uint64(info.Size()) / 8; n/p.Range.Count < uint64(j.Dim) {
			return nil, &work.DamagedError{Path: path, Problem: fmt.Sprintf("is truncated: it has %d bytes, too few "+
				"for %d rows of %d numbers", info.Size(), p.Range.Count, j.Dim) + again(p.Dir)}
		}
	}
	form, err := joins[parts[0].Unit.Kind](ctx, j)
	if err != nil {
		return nil, err
	}
	if !o.Force {
		if err := run.Free(out); err != nil {
			return nil, err
		}
	}
	h := newHash()
	err = run.WriteStream(out, o.Force, func(w io.Writer) error {
		b := bufio.NewWriterSize(io.MultiWriter(w, h), 1<<20)
		err := form.Write(b, j.rows(ctx))
		if j.err != nil { // and so what the writer misses is no news
			return j.err
		}
		return errors.Join(err, b.Flush())
	})
	if err != nil {
		return nil, err
	}
	if form.Note != nil {
		if note := form.Note(); note != "" {
			m.Notes = append(m.Notes, note)
		}
	}
	m.SHA256, m.Bytes, m.Failed, m.Detail = h.sum(), h.n, append(m.Failed, j.failed...), form.Detail
	if form.Record != nil {
		record, err := form.Record(m.SHA256, m.Failed)
		if err != nil {
			return nil, err
		}
		text, err := json.MarshalIndent(record, "", "  ")
		if err != nil {
			return nil, err
		}
		if err := run.WriteFile(form.Beside, append(text, '\n'), true); err != nil {
			return nil, err
		}
		m.Beside = form.Beside
	}
	return m, form.Verdict
}

// rows are those of all parts that did not fail, in order. What keeps them from coming is j.err.
func (j *Joint) rows(ctx context.Context) arrayfile.Rows {
	return arrayfile.Rows{N: j.good, D: j.Dim, Blocks: func(yield func([]float64) bool) {
		block := make([]float64, max(1, mergeNumbers/j.Dim)*j.Dim)
		for _, p := range j.Parts {
			going := true
			err := p.each(block, func(x []float64, first uint64) bool {
				done := first + uint64(len(x)/j.Dim) - j.Range.From
				x = j.kept(x, first)
				if going = ctx.Err() == nil && (len(x) == 0 || yield(x)); going && j.Tick != nil {
					j.Tick(done, j.Range.Total)
				}
				return going
			})
			if j.err = cmp.Or(ctx.Err(), err); j.err != nil || !going {
				return
			}
		}
	}}
}

// mergeNumbers is how many numbers of a part are read at a time: 1 MB of them.
const mergeNumbers = 1 << 17

// kept moves the rows that did not fail to the front of x, and notes the numbers of the others.
func (j *Joint) kept(x []float64, first uint64) []float64 {
	at, d := 0, j.Dim
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
// *work.DamagedError if not. It ends early where f returns false.
func (p *Part) each(block []float64, f func(x []float64, first uint64) bool) error {
	file := p.Result.Files[0]
	path := filepath.Join(p.Dir, file.Name)
	damaged := func(format string, v ...any) error {
		return &work.DamagedError{Path: path, Problem: fmt.Sprintf(format, v...) + again(p.Dir)}
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
	d := p.rows.Dim
	if !slices.Equal(r.Shape, []int{int(p.Range.Count), d}) {
		return damaged("has shape %v, expected [%d %d]", r.Shape, p.Range.Count, d)
	}
	lost := uint64(0)
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
		if lost > p.rows.Failed {
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
	if lost != p.rows.Failed {
		return damaged("%d rows of it failed, and its result says %d", lost, p.rows.Failed)
	}
	return nil
}

// runDir returns the folder of the run that the parts are of, and its data file, on this machine.
func (j *Joint) runDir() (dir, data string, err error) {
	dir, data = j.Run, j.Data
	for _, p := range j.Parts {
		if dir == "" {
			if at := p.Result.Inputs.Root("run"); at != "" {
				if _, err := os.Stat(at); err == nil {
					dir = at
				}
			}
		}
		if at := p.Result.Inputs.named("data"); data == "" && at != "" {
			if _, err := os.Stat(at); err == nil {
				data = at
			}
		}
	}
	if dir == "" {
		was := "parts do not name it"
		if at := j.Parts[0].Result.Inputs.Root("run"); at != "" {
			was = fmt.Sprintf("parts name %q", at)
		}
		return "", "", refuse("the folder of the run is not on this machine, which says how rows are written: %s; "+
			"--run says where it is", was)
	}
	hash, err := hashOf(filepath.Join(dir, run.ConfigFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", refuse("%s: the run of the parts, which says how rows are written, is not there; --run says "+
			"where it is", dir)
	}
	if err != nil {
		return "", "", err
	}
	if want := j.Parts[0].Unit.Inputs["run/"+run.ConfigFile]; hash != want {
		return "", "", refuse("%s is not the run of the parts: the SHA-256 of its %s is %.12s…, expected %.12s…", dir,
			run.ConfigFile, hash, want)
	}
	return dir, data, nil
}

// Once makes all rows of a list in this process and writes them as a file: what parts of it join to. Errors are those
// of List.Part and Merge.
func Once(ctx context.Context, l *List, out string, o MergeOptions) (*Merged, error) {
	if !o.Force {
		if err := run.Free(out); err != nil {
			return nil, err
		}
		if l.Kind == generateKind {
			if err := freeRecord(out); err != nil {
				return nil, err
			}
		}
	}
	scratch, err := run.Scratch(filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".parts"))
	if err != nil {
		return nil, err
	}
	defer scratch.Drop()
	if _, _, err := l.into(ctx, &work.Store{Dir: scratch.Dir}, l.Unit(0, l.Count), o.Tick); err != nil {
		return nil, err
	}
	o.Tick, o.drawn = nil, l.drawn
	parts, err := Parts([]string{scratch.Dir})
	if err != nil {
		return nil, err
	}
	return Merge(ctx, parts, out, o)
}
