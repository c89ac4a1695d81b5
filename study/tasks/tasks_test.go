package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/study/work"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
	testrun "github.com/landing-diffusion/landing/tools/testkit/trained"
)

// trained is a small run of a recipe with two epochs behind it.
func trained(t *testing.T, recipe string, settings ...string) *experiment.Run {
	t.Helper()
	text, origin, err := problem.Source(recipe)
	testkit.OK(t, err)
	r := job.New[*experiment.Run](t, experiment.Load, text, origin, append([]string{"train.epochs=2", "network.width=8",
		"network.layers=1", "train.times_per_path=2", "process.steps=20", "train.stop=epochs"}, settings...)...)
	testkit.OK(t, r.Train(context.Background(), "", experiment.Observer{}))
	return r
}

// drawn are the samples of a run as one process draws them, those that failed as NaN.
func drawn(t *testing.T, r *experiment.Run, n int, first, seed uint64) []float64 {
	t.Helper()
	model := testkit.Must(r.Trained(""))
	prior := testkit.Must(r.Prior(t.Context(), nil))
	s, err := r.Generate(t.Context(), model, prior, n, first, seed, nil)
	if s == nil {
		t.Fatal(err)
	}
	for i, lost := range s.Lost {
		if lost {
			s.X[i*s.Dim] = math.NaN()
		}
	}
	return s.X
}

func readRows(t *testing.T, dir string) arrayfile.Array {
	t.Helper()
	return testkit.Must(arrayfile.ReadNPY(filepath.Join(dir, RowsFile)))
}

// The rows of parts are those of one process, at any cut. What is whole is not made again.
func TestGeneration(t *testing.T) {
	r := trained(t, "demo", "prior=uniform")
	seed := uint64(7)
	list, err := Generation(t.Context(), r, GenerateOptions{Count: 60, First: 5, Seed: &seed})
	testkit.OK(t, err)
	want := drawn(t, r, 60, 5, 7)
	store := &work.Store{Dir: t.TempDir()}
	var got []float64
	units := []*work.Unit{list.unit(0, 23), list.unit(23, 46), list.unit(46, 60)}
	if err := work.Check(units); err != nil || units[2].Name != "generate-51-65" {
		t.Fatalf("%v, %v", units, err)
	}
	for _, u := range units {
		p, status, err := list.part(t.Context(), store, u, nil)
		if err != nil || status.State != work.Waiting || p.Result.Files[0].Name != RowsFile {
			t.Fatalf("%+v, %+v, %v", p, status, err)
		}
		got = append(got, readRows(t, filepath.Join(store.Dir, u.Name)).Float64...)
		if p.Result.Detail.Components == nil {
			t.Error("no violation is told")
		}
		for _, w := range p.Result.Detail.Components {
			if w.Sample < p.Range.First || w.Sample >= p.Range.First+p.Range.Count {
				t.Errorf("%s names sample %d", u.Name, w.Sample)
			}
		}
		again, status, err := list.part(t.Context(), store, u, nil)
		if err != nil || status.State != work.Done || !slices.Equal(again.Result.Files, p.Result.Files) {
			t.Errorf("again: %+v, %+v, %v", again, status, err)
		}
	}
	testkit.EqualSlices(t, got, want, "parts are not the rows of one process")
	newer := *units[0]
	newer.Version = "0"
	_, _, err = list.part(t.Context(), store, &newer, nil)
	testkit.Refused(t, err, "is of version", "a part of another version")
	var far Drawn // two samples; the second is not on the sphere
	far.add(r, &judge.Samples{X: []float64{1, 0, 0, 0, 2, 0}, Dim: 3, Lost: make([]bool, 2)}, 100)
	if far.Infeasible == nil || far.Infeasible.Sample != 101 || far.Components[0].Sample != 101 {
		t.Errorf("%+v", far)
	}
	for k, x := range []float64{4, 3} { // further off, and nearer again
		far.add(r, &judge.Samples{X: []float64{0, x, 0}, Dim: 3, Lost: make([]bool, 1)}, uint64(200+k))
	}
	if w := far.Infeasible; w.Sample != 200 || w.Worst != 3 || far.Components[0].Sample != 200 {
		t.Errorf("of violations of 1, 3 and 2 it tells %+v", w)
	}
	path := filepath.Join(store.Dir, units[1].Name, RowsFile)
	data := testkit.Must(os.ReadFile(path))
	for _, bad := range [][]byte{append(bytes.Clone(data[:len(data)-1]), data[len(data)-1]^1), data[:len(data)-8],
		append(bytes.Clone(data), 0)} {
		testkit.OK(t, os.WriteFile(path, bad, 0o666))
		_, _, err := list.part(t.Context(), store, units[1], nil)
		testkit.Refused(t, err, "is damaged", "a damaged part")
	}
	other := testkit.Must(Generation(t.Context(), r, GenerateOptions{Count: 60, First: 5}))
	_, _, err = other.part(t.Context(), store, other.unit(0, 23), nil)
	testkit.Refused(t, err, "as it was before", "another seed under the name")
}

// Under conditions samples are counted for each row of them, and their numbers must all fit in 64 bits.
func TestGenerationUnderConditions(t *testing.T) {
	pool := testkit.Pool(t, 1)
	r := testkit.Must(experiment.OpenToDraw(t.Context(), testrun.Conditional(t), "", pool, nil))
	file := filepath.Join(t.TempDir(), "given.csv")
	testkit.OK(t, os.WriteFile(file, []byte("r,c\n1.2,0.5\n1.9,1.5\n"), 0o666))
	for _, c := range []struct {
		condition string
		rows      uint64
	}{{"r=1.2,c=0.5", 1}, {file, 2}} {
		const each = 3
		last := math.MaxUint64 - each*c.rows
		l, err := Generation(t.Context(), r, GenerateOptions{Condition: c.condition, Count: each, First: last})
		testkit.OK(t, err)
		if g := l.of; l.Count != each*c.rows || g.Each != each {
			t.Errorf("%d samples, %d of each; expected %d of %d rows", l.Count, g.Each, each, c.rows)
		}
		_, err = Generation(t.Context(), r, GenerateOptions{Condition: c.condition, Count: each, First: last + 1})
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("numbers beyond 64 bits: %v", err)
		}
	}
}

// A task that names no rows of its list is refused by name.
func TestTaskRefused(t *testing.T) {
	list := &List{Count: 9}
	for want, change := range map[string]func(u *work.Unit){
		"something behind":             func(u *work.Unit) { u.Task = append(u.Task, "{}"...) },
		"unknown field":                func(u *work.Unit) { u.Task = json.RawMessage(`{"firts":0}`) },
		"its rows are 10 from 0 on":    func(u *work.Unit) { *u = *list.unit(0, 10) },
		"its rows are 1 from 9 on":     func(u *work.Unit) { *u = *list.unit(9, 10) },
		"its rows are 0 from 3 on":     func(u *work.Unit) { *u = *list.unit(3, 3) },
		"rows are 1844674407370955161": func(u *work.Unit) { *u = *list.unit(5, 3) },
	} {
		u := list.unit(0, 9)
		change(u)
		testkit.Refused(t, testkit.Err(read(u)), want)
	}
}

// A part that is interrupted leaves no file, and is claimed again.
func TestInterrupted(t *testing.T) {
	broke := errors.New("broke")
	l := listOf(t, trained(t, "demo", "prior=uniform"), 0, 2*blockNumbers/3, 1)
	begin, times := l.begin, 0
	l.begin = func(ctx context.Context, count uint64, out *Drawn) (fill, error) {
		draw, err := begin(ctx, count, out)
		return func(x []float64, first uint64, tick func(k int)) error {
			if times++; times == 2 {
				return broke
			}
			return draw(x, first, tick)
		}, err
	}
	s, u := &work.Store{Dir: t.TempDir()}, l.unit(0, l.Count)
	if _, _, err := l.part(t.Context(), s, u, nil); !errors.Is(err, broke) {
		t.Fatal(err)
	}
	if st, err := s.Status(u); err != nil || st.State != work.Begun {
		t.Errorf("%+v, %v", st, err)
	}
	entries, err := os.ReadDir(filepath.Join(s.Dir, u.Name))
	for _, e := range entries {
		if e.Name()[0] != '.' && !strings.HasSuffix(e.Name(), ".json") {
			t.Errorf("left %s", e.Name())
		}
	}
	testkit.OK(t, err)
	if p, st, err := l.part(t.Context(), s, u, nil); err != nil || st.State != work.Begun ||
		p.Result.Files[0].Bytes != int64(128+24*l.Count) {
		t.Errorf("%+v, %+v, %v", p, st, err)
	}
}

// A run that needs its data has it among the inputs; one with a complete folder needs no data.
func TestNeedsData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "points.csv")
	testkit.OK(t, os.WriteFile(file, []byte(strings.Repeat("1,0,0\n0,1,0\n0,0,1\n0.6,0.8,0\n0,0.6,0.8\n", 8)), 0o666))
	on := []string{"data.kind=points", "data.path=" + file}
	runs := map[string]*experiment.Run{"uniform": trained(t, "demo", append(on, "prior=uniform")...),
		"empirical": trained(t, "demo", append(on, "prior=empirical")...)}
	for _, c := range []struct {
		prior string
		redo  []string
		keeps string // is removed from the folder, whose run no case after this one may use
		needs bool
	}{
		{"uniform", nil, "", false}, {"empirical", nil, "", false}, {"empirical", nil, run.EndsFile, true},
		{"uniform", []string{"prior=empirical"}, "", true}, {"uniform", []string{"prior=auto"}, "", true},
	} {
		r := runs[c.prior]
		if c.keeps != "" {
			testkit.OK(t, os.Remove(r.Folder.Path(c.keeps)))
		}
		l := testkit.Must(Generation(t.Context(), r, GenerateOptions{Count: 5, Settings: c.redo}))
		if got := l.inputs["data.csv"]; (got != "") != c.needs {
			t.Errorf("%+v: data is %q", c, got)
		}
		if c.needs {
			continue
		}
		x := drawn(t, r, 5, 0, r.Problem.Seed)
		gone := file + ".gone"
		testkit.OK(t, os.Rename(file, gone))
		a := readRows(t, filepath.Join(makeParts(t, l, 1), "generate-0-5"))
		testkit.OK(t, os.Rename(gone, file))
		testkit.EqualSlices(t, a.Float64, x, "%+v: without data other samples are drawn", c)
	}
}
