package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// askedRows returns n rows (x, p̃, t) at points and times of a run.
func askedRows(r *Run, n int) []float64 {
	d := r.Data.D
	var rows []float64
	for i := range n {
		x := r.Data.X[i%r.Data.N*d : (i%r.Data.N+1)*d]
		rows = append(rows, x...)
		for j := range d {
			rows = append(rows, 0.1*float64(i+j)-0.3)
		}
		rows = append(rows, r.Process.Schedule.Time(1+i%r.Process.Schedule.N))
	}
	return rows
}

// The score at rows is what samplers see at a block of one time, row by row, whatever rows stand beside; and what a
// network describes is the network: gains, starts, and arrays that are in the file that it names.
func TestNetworkOfRun(t *testing.T) {
	r, model := trainedRun(t, "network.octaves=2", "network.octaves_of=start", "network.output=balanced")
	n := testkit.Must(Describe(r, ""))
	const many = 2*scoreRows + 7
	rows, d := askedRows(r, many), r.Data.D
	w := 2*d + 1
	got := testkit.Must(Scores(context.Background(), r, model, model.Model.Precision(), "", rows, w, false))
	f, want := score.NewField(model.Model, 1), make([]float64, d)
	for i := range many {
		row := rows[i*w : (i+1)*w]
		f.Eval(want, row[:d], row[d:2*d], 1, row[w-1])
		if !slices.Equal(got[i*d:(i+1)*d], want) {
			t.Fatalf("row %d: %v; samplers see %v", i, got[i*d:(i+1)*d], want)
		}
	}
	start := r.network().Start
	for k, at := range n.Times {
		b, v := start(at)
		if n.Gain[k] != model.Model.Gain(at) || n.Start[k] != [2]float64{b, v} {
			t.Fatalf("at %v: gain %v, start %v", at, n.Gain[k], n.Start[k])
		}
	}
	if len(n.Times) != r.Process.Schedule.N || n.Gain[0] == n.Gain[5] || n.Start[0] == n.Start[5] || !n.Momentum {
		t.Errorf("the network is %+v", n)
	}
	data := testkit.Must(os.ReadFile(n.File))
	arrays, _, err := arrayfile.DecodeSafetensors(bytes.NewReader(data))
	testkit.OK(t, err)
	found := 0
	for _, want := range model.Model.Tensors(model.Model.Parameters()) {
		for _, a := range arrays {
			if a.Name == n.Prefix+want.Name && slices.Equal(a.Array.Float32, want.Array.Float32) {
				found++
			}
		}
	}
	if found != len(model.Model.Tensors(model.Model.Parameters())) {
		t.Errorf("%d arrays of the network are in %s", found, n.File)
	}

	if _, err := Scores(context.Background(), r, model, kernel.Float32, "a.npy", rows, w-1, false); err == nil ||
		err.Error() != fmt.Sprintf("a.npy: rows have %d numbers; expected %d: a point, its momentum if the process "+
			"has "+
			"one, and the time", w-1, w) {
		t.Errorf("rows without a time: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Scores(ended, r, model, kernel.Float32, "a.npy", rows, w, false); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

// A molecule whose atoms are on a line has no score, and the row is named. Another precision keeps the reference.
func TestScoreOfAligned(t *testing.T) {
	r := testkit.Must(conformations(t, chains(t, t.TempDir(), 40, -1)))
	model := testkit.Must(r.Trained(""))
	rows, d := askedRows(r, 3), r.Data.D
	own := testkit.Must(Scores(context.Background(), r, model, kernel.Float32, "a.npy", rows, 2*d+1, false))
	low, err := Scores(context.Background(), r, model, kernel.BFloat16, "a.npy", rows, 2*d+1, false)
	testkit.OK(t, err)
	for i := range own {
		if math.Abs(own[i]-low[i]) > 0.1*(1+math.Abs(own[i])) {
			t.Fatalf("number %d is %v, in bfloat16 %v", i, own[i], low[i])
		}
	}
	for j := range d {
		rows[2*d+1+j] = float64(j / 3)
	}
	_, err = Scores(context.Background(), r, model, kernel.Float32, "a.npy", rows, 2*d+1, false)
	if err == nil || !strings.HasPrefix(err.Error(), "a.npy: row 1 (from 0) has no score") {
		t.Errorf("atoms on a line: %v", err)
	}
}
