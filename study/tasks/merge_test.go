package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/study/work"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// makeParts makes all parts of a list in a folder, and returns it.
func makeParts(t *testing.T, l *List, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "parts")
	for i := 1; i <= n; i++ {
		if _, _, err := l.Part(t.Context(), &work.Store{Dir: dir}, work.Shard{I: i, N: n}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// join reads parts and merges them into a file of a folder that must hold nothing else then.
func join(t *testing.T, out string, o MergeOptions, dirs ...string) (*Merged, error) {
	t.Helper()
	parts, err := Parts(dirs)
	if err != nil {
		return nil, err
	}
	m, err := Merge(t.Context(), parts, out, o)
	if m == nil {
		empty(t, filepath.Dir(out))
	}
	return m, err
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left", e.Name())
	}
}

// Parts of any number, one, a prime, more than rows, join to the bytes that one process writes, in each format, and so
// does a run whose folder has moved; the record beside them is that of one process but for seconds.
func TestMerge(t *testing.T) {
	r := trained(t, "demo", "prior=uniform")
	const n = 23
	seed := uint64(3)
	list := testkit.Must(Generation(t.Context(), r, GenerateOptions{Count: n, First: 100, Seed: &seed}))
	x := drawn(t, r, n, 100, 3)
	for _, shards := range []int{1, 7, 30} {
		parts := makeParts(t, list, shards)
		for _, ext := range []string{".npy", ".csv"} {
			var want bytes.Buffer
			testkit.OK(t, r.Domain.Writer(ext)(&want, arrayfile.RowsOf(x, 3)))
			out := filepath.Join(t.TempDir(), "out", "all"+ext)
			m := testkit.Must(join(t, out, MergeOptions{Pool: r.Pool}, parts))
			got, err := os.ReadFile(out)
			if err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%d parts in %s are not the bytes of one process, %v", shards, ext, err)
			}
			if m.Rows != n || m.First != 100 || m.Parts != min(shards, n) || m.SHA256 != run.Hash(got) ||
				m.Bytes != int64(len(got)) || len(m.Failed) != 0 || len(m.Kernels) != 1 {
				t.Errorf("%+v", m)
			}
			rec, err := experiment.ReadRecord(out)
			if err != nil || rec.SHA256 != m.SHA256 || rec.First != 100 || rec.Seed != 3 || rec.Samples != n {
				t.Errorf("%+v, %v", rec, err)
			}
			if ext == ".npy" { // which eval takes for samples of the run
				if s, _, err := r.ReadSamples(out); err != nil || !slices.Equal(s.X, x) {
					t.Errorf("read back: %v", err)
				}
			}
			if _, err := join2(t, out, parts, r.Pool); !errors.As(err, new(*run.ExistsError)) {
				t.Errorf("over what is there: %v", err)
			}
		}
	}
}

func join2(t *testing.T, out, dir string, pool *parallel.Pool) (*Merged, error) {
	t.Helper()
	parts := testkit.Must(Parts([]string{dir}))
	return Merge(t.Context(), parts, out, MergeOptions{Pool: pool})
}

// numbers are rows (i, i², i³); every fifth has failed.
func numbers(from, n uint64) []float64 {
	var x []float64
	for i := from; i < from+n; i++ {
		v := float64(i)
		if i%5 == 0 {
			v = math.NaN()
		}
		x = append(x, v, v*v, v*v*v)
	}
	return x
}

// listOf is a list of numbers, which replace samples of a run of three coordinates. All of them may fail.
func listOf(t *testing.T, r *experiment.Run, from, count, seed uint64) *List {
	t.Helper()
	r.Problem.Generate.MaxFailed = 1
	l := testkit.Must(Generation(t.Context(), r, GenerateOptions{First: from, Count: count, Seed: &seed}))
	l.begin = func(_ context.Context, _ uint64, out *Drawn) (fill, error) {
		return func(x []float64, first uint64, _ func(k int)) error {
			for i := range copy(x, numbers(first, uint64(len(x)/3))) {
				if i%3 == 0 && x[i] != x[i] {
					out.Failed++
				}
			}
			return nil
		}, nil
	}
	return l
}

// Rows that failed are in no file and are named; more rows than fit in a block go through.
func TestMergeFailed(t *testing.T) {
	const n = 3*mergeNumbers/2 + 11
	r := trained(t, "demo", "prior=uniform", "generate.max_failed=1")
	parts := makeParts(t, listOf(t, r, 3, n, 1), 2)
	out := filepath.Join(t.TempDir(), "x.npy")
	ticks := uint64(0)
	m, err := join(t, out, MergeOptions{Pool: r.Pool, Tick: func(done, of uint64) {
		if done <= ticks || done > of || of != n {
			t.Errorf("%d of %d behind %d", done, of, ticks)
		}
		ticks = done
	}}, parts)
	if err != nil || ticks != n {
		t.Fatalf("%v, %d rows told", err, ticks)
	}
	var want []float64
	var failed []uint64
	for i, v := range numbers(3, n) {
		switch {
		case v == v:
			want = append(want, v)
		case i%3 == 0:
			failed = append(failed, 3+uint64(i/3))
		}
	}
	a, err := arrayfile.ReadNPY(out)
	if err != nil || !slices.Equal(a.Float64, want) || !slices.Equal(m.Failed, failed) {
		t.Errorf("%d numbers of %d, %d failed of %d, %v", a.Len(), len(want), len(m.Failed), len(failed), err)
	}
}

// What is no whole file is refused by name, and nothing is left of it.
func TestMergeRefused(t *testing.T) {
	r := trained(t, "demo", "prior=uniform", "generate.max_failed=1")
	o := MergeOptions{Pool: r.Pool}
	list := listOf(t, r, 0, 40, 1)
	made := makeParts(t, list, 4)
	fresh := func() (string, []string) {
		dir := t.TempDir()
		testkit.OK(t, os.CopyFS(dir, os.DirFS(made)))
		names := testkit.Must((&work.Store{Dir: dir}).Names())
		return dir, names
	}
	edit := func(path string, change func(b []byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(b), 0o666)
		}
		testkit.OK(t, err)
	}
	replaced := func(old, with string) func(b []byte) []byte {
		return func(b []byte) []byte {
			if !bytes.Contains(b, []byte(old)) {
				t.Fatalf("no %q in %s", old, b)
			}
			return bytes.Replace(b, []byte(old), []byte(with), 1)
		}
	}
	other := func(l *List, shard int) string { // one more part, of a list that is like this one
		dir := filepath.Join(t.TempDir(), "other")
		if _, _, err := l.Part(t.Context(), &work.Store{Dir: dir}, work.Shard{I: shard, N: 4}, nil); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	type change = func(dir string, names []string) []string // returns what is merged
	for want, c := range map[string]change{
		"rows 10 to 19 are missing, of 0 to 39": func(dir string, names []string) []string {
			os.RemoveAll(filepath.Join(dir, names[1]))
			return []string{dir}
		},
		"rows 30 to 39 are missing": func(dir string, names []string) []string {
			return []string{filepath.Join(dir, names[0]), filepath.Join(dir, names[1]), filepath.Join(dir, names[2])}
		},
		"overlap: both have row 20": func(dir string, _ []string) []string {
			u := list.unit(15, 25)
			if _, _, err := list.part(t.Context(), &work.Store{Dir: dir}, u, nil); err != nil {
				t.Fatal(err)
			}
			os.RemoveAll(filepath.Join(dir, "generate-10-20"))
			u = list.unit(10, 15)
			if _, _, err := list.part(t.Context(), &work.Store{Dir: dir}, u, nil); err != nil {
				t.Fatal(err)
			}
			return []string{dir}
		},
		"overlap: both have row 0": func(dir string, names []string) []string {
			return []string{dir, filepath.Join(dir, names[0])}
		},
		"of.seed is 2, was 1": func(dir string, names []string) []string {
			os.RemoveAll(filepath.Join(dir, "generate-10-20"))
			return []string{dir, other(listOf(t, r, 0, 40, 2), 2)}
		},
		"other bytes of run/more": func(dir string, _ []string) []string {
			os.RemoveAll(filepath.Join(dir, "generate-10-20"))
			l := listOf(t, r, 0, 40, 1)
			l.input("run/more", "more", run.Hash(nil))
			return []string{dir, other(l, 2)}
		},
		"total is 80, was 40": func(dir string, _ []string) []string {
			os.RemoveAll(filepath.Join(dir, "generate-20-30"))
			return []string{dir, other(listOf(t, r, 0, 80, 1), 2)}
		},
		"the other of 1.0": func(dir string, names []string) []string {
			for _, file := range []string{"unit.json", "result.json"} {
				edit(filepath.Join(dir, names[2], file), replaced(`"version": "`+run.Version(), `"version": "1.0`))
			}
			return []string{dir}
		},
		"holds no part": func(string, []string) []string { return []string{t.TempDir()} },
		"is not finished": func(dir string, names []string) []string {
			os.Remove(filepath.Join(dir, names[3], "result.json"))
			return []string{dir}
		},
		"its SHA-256 is": func(dir string, names []string) []string {
			edit(filepath.Join(dir, names[3], RowsFile), func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
			return []string{dir}
		},
		"truncated": func(dir string, names []string) []string {
			edit(filepath.Join(dir, names[1], RowsFile), func(b []byte) []byte { return b[:len(b)-3] })
			return []string{dir}
		},
		"bytes; expected at most": func(dir string, names []string) []string {
			edit(filepath.Join(dir, names[0], RowsFile), func(b []byte) []byte { return append(b, 0) })
			return []string{dir}
		},
		"no such file": func(dir string, names []string) []string {
			os.Remove(filepath.Join(dir, names[0], RowsFile))
			return []string{dir}
		},
		"does not have the SHA-256 that it names": func(dir string, names []string) []string {
			edit(filepath.Join(dir, names[0], "result.json"), replaced(`"failed": 2`, `"failed": 3`))
			return []string{dir}
		},
		"holds generate-0-10 as it was before": func(dir string, names []string) []string {
			edit(filepath.Join(dir, names[0], "unit.json"), replaced(`"seed": 1`, `"seed": 4`))
			return []string{dir}
		},
	} {
		dir, names := fresh()
		_, err := join(t, filepath.Join(t.TempDir(), "out", "x.npy"), o, c(dir, names)...)
		testkit.Refused(t, err, want)
		testkit.Equal(t, fault.KindOf(err), fault.Config, "%q is a %T", want, err)
	}

	// What fails is damaged too where a result that is whole names another number.
	dir, _ := fresh()
	parts := testkit.Must(Parts([]string{dir}))
	for _, failed := range []uint64{1, 3} {
		lied := slices.Clone(parts)
		lied[2].Result.Detail.Failed = failed
		if _, err := Merge(t.Context(), lied, filepath.Join(t.TempDir(), "x.npy"), o); err == nil ||
			!strings.Contains(err.Error(), "2 rows of it failed") && !strings.Contains(err.Error(), "3 rows of it") &&
				!strings.Contains(err.Error(), "its result says") {
			t.Errorf("got %v", err)
		}
	}

	// Several kinds of kernels, or of processors, give a note or an error.
	for what, change := range map[string]func(*Result){
		"another": func(r *Result) { r.Kernel = "another" }, "other64": func(r *Result) { r.Arch = "other64" },
		"in half":   func(r *Result) { r.Products = "half" },
		"not known": func(r *Result) { r.Arch = "" }} {
		several := slices.Clone(parts)
		change(&several[1].Result)
		out := filepath.Join(t.TempDir(), "x.npy")
		same := MergeOptions{Pool: r.Pool, SameBits: true}
		testkit.Refused(t, testkit.Err(Merge(t.Context(), several, out, same)), what, "same bits")
		if m, err := Merge(t.Context(), several, out, o); err != nil || len(m.Notes) != 1 || len(m.Kernels) != 2 {
			t.Errorf("%s: %+v, %v", what, m, err)
		}
	}
}

// A merge that is interrupted leaves nothing.
func TestInterruptedMerge(t *testing.T) {
	r := trained(t, "demo", "prior=uniform", "generate.max_failed=1")
	parts := testkit.Must(Parts([]string{makeParts(t, listOf(t, r, 0, 40, 1), 4)}))
	dir := t.TempDir()
	out := filepath.Join(dir, "x.npy")
	ctx, cancel := context.WithCancel(t.Context())
	tried := false
	_, err := Merge(ctx, parts, out, MergeOptions{Pool: r.Pool, Tick: func(done, _ uint64) {
		tried = true
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || !tried {
		t.Errorf("interrupted: %v", err)
	}
	empty(t, dir)
	testkit.Must(Merge(t.Context(), parts, out, MergeOptions{Pool: r.Pool}))
}

// The run that says how rows are written is found where the parts were made, or where --run says, and is the parts'.
func TestMergeRun(t *testing.T) {
	r := trained(t, "demo", "prior=uniform")
	list := testkit.Must(Generation(t.Context(), r, GenerateOptions{Count: 6}))
	dir := makeParts(t, list, 2)
	moved := filepath.Join(t.TempDir(), "moved")
	testkit.OK(t, os.Rename(r.Folder.Dir, moved))
	out := filepath.Join(t.TempDir(), "out", "x.csv")
	testkit.Refused(t, testkit.Err(join(t, out, MergeOptions{Pool: r.Pool}, dir)), "--run")
	another := trained(t, "demo", "prior=uniform", "seed=2")
	testkit.Refused(t, testkit.Err(join(t, out, MergeOptions{Pool: r.Pool, Run: another.Folder.Dir}, dir)),
		"is not the run of the parts")
	o := MergeOptions{Pool: r.Pool, Run: moved}
	testkit.Refused(t, testkit.Err(join(t, filepath.Join(t.TempDir(), "x.pdb"), o, dir)),
		"is not written to such files")
	testkit.OK(t, testkit.Err(join(t, out, o, dir)))
}

// What generation says of all samples is said of the parts together: too many that fail, and the one that is furthest
// from the set.
func TestVerdict(t *testing.T) {
	r := trained(t, "demo", "prior=uniform", "generate.max_failed=0.3")
	all := Range{From: 10, Total: 10}
	var o Drawn
	o.join(&Drawn{Dim: 3, Failed: 1, Wrong: 1, Components: []Worst{{"h", 1e-3, 11, 0, ""}}})
	o.join(&Drawn{Dim: 3, Failed: 2, Broken: 1, Break: "far away", Components: []Worst{{"h", 1e-2, 17, 0, ""}},
		Infeasible: &Worst{"h", 1e-2, 17, 1e-9, "generate.max_violation"}})
	if err := o.verdict(r, all); !errors.As(err, new(*judge.ViolationError)) ||
		errors.As(err, new(*judge.FailedError)) ||
		!strings.HasPrefix(err.Error(), `sample 7 violates "h" by 0.01`) {
		t.Errorf("got %v", err)
	}
	if o.Worst() != 1e-2 || o.Failed != 3 || o.Wrong != 1 {
		t.Errorf("%+v", o)
	}
	o.join(&Drawn{Dim: 3, Failed: 1})
	var failed *judge.FailedError
	if err := o.verdict(r, all); !errors.As(err, &failed) || failed.Failed != 4 || failed.Samples != 10 ||
		failed.Wrong != 1 || failed.Break.Error() != "far away" {
		t.Errorf("got %v", err)
	}
	if text, err := json.Marshal(&o); err != nil || !strings.Contains(string(text), `"dim":3,"failed":4`) {
		t.Errorf("%s, %v", text, err)
	}
}

// Samples that fail are NaN in a part and in no file, and the file is judged as one call judges it.
func TestMergeBroken(t *testing.T) {
	r := trained(t, "demo", "prior=uniform")
	list := testkit.Must(Generation(t.Context(), r, GenerateOptions{Count: 6}))
	x := testkit.Must(r.Trained(""))
	list.begin = (&drawer{run: r, trained: x}).begin
	p := x.Model.Parameters()
	for i := range p {
		p[i] = float32(math.NaN())
	}
	dir := t.TempDir()
	made, _, err := list.part(t.Context(), &work.Store{Dir: dir}, list.unit(0, 6), nil)
	testkit.OK(t, err)
	if d := made.Result.Detail; d.Failed != 6 || d.Broken != 6 || d.Break == "" {
		t.Errorf("%+v", d)
	}
	for i, v := range readRows(t, filepath.Join(dir, "generate-0-6")).Float64 {
		if v == v {
			t.Fatalf("number %d of samples that broke down is %v", i, v)
		}
	}
	out := filepath.Join(t.TempDir(), "x.csv")
	m, err := join2(t, out, dir, r.Pool)
	var failed *judge.FailedError
	if m == nil || len(m.Failed) != 6 || !errors.As(err, &failed) || failed.Failed != 6 || failed.Broken != 6 {
		t.Errorf("%+v, %v", m, err)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "latitude,longitude\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// What a call left that was killed is removed by the next one.
func TestOnceTidies(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".x.npy.parts", "generate-0-10")
	testkit.OK(t, os.MkdirAll(left, 0o777))
	then := time.Now().Add(-time.Hour)
	testkit.OK(t, os.Chtimes(filepath.Dir(left), then, then))
	r := trained(t, "demo", "prior=uniform")
	testkit.Must(Once(t.Context(), listOf(t, r, 0, 10, 1), filepath.Join(dir, "x.npy"), MergeOptions{Pool: r.Pool}))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 { // the file and its record
		t.Errorf("%v, %v", entries, err)
	}
}
