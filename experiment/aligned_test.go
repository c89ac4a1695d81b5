package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

const atoms = `name: atoms
set: {kind: chain, bonds: [1.5, 1.5, 1.5]}
process: {steps: 6, horizon: 0.2, sigma: {min: 0.5, max: 1}}
prior: empirical
network: {kind: aligned, width: 8, layers: 2, octaves: 1}
train: {epochs: 3, batch: 20, times_per_path: 3}
observe: [{name: ends, expr: "(x[0]-x[9])^2 + (x[1]-x[10])^2 + (x[2]-x[11])^2"}]
`

// chains writes n chains of four atoms to a folder and returns the file; straight is the
// number of one whose atoms lie on a line.
func chains(t *testing.T, dir string, n, straight int) string {
	t.Helper()
	var csv strings.Builder
	csv.WriteString("a,b,c,d,e,f,g,h,i,j,k,l\n")
	z := make([]float64, 12)
	for i := range n {
		keyed.OwnData.Stream(2, 0).Normals(z, uint64(i), 0)
		for a := 3; a < 12; a += 3 {
			if i == straight {
				copy(z[a:], []float64{1, 0, 0})
			}
			r := math.Sqrt(z[a]*z[a] + z[a+1]*z[a+1] + z[a+2]*z[a+2])
			for j := range 3 {
				z[a+j] = z[a-3+j] + 1.5*z[a+j]/r
			}
		}
		fields := make([]string, 12)
		for j, v := range z {
			fields[j] = fmt.Sprint(v)
		}
		csv.WriteString(strings.Join(fields, ",") + "\n")
	}
	path := filepath.Join(dir, "chains.csv")
	testkit.OK(t, os.WriteFile(path, []byte(csv.String()), 0o600))
	return path
}

// conformations is a run of the problem over a file of data.
func conformations(t *testing.T, data string, settings ...string) (*Run, error) {
	t.Helper()
	pool := parallel.New(2)
	t.Cleanup(pool.Close)
	p := testkit.Must(problem.Load([]byte(atoms), "atoms.yaml", "",
		problem.ParseSettings(append([]string{"data.path=" + data}, settings...)...)))
	l, err := Load(t.Context(), p, pool, nil)
	if err != nil {
		return nil, err
	}
	f := testkit.Must(run.Create(filepath.Join(t.TempDir(), "r"), false))
	t.Cleanup(f.Unlock)
	r, err := l.Begin(f, []byte(atoms), []string{"test"})
	if err != nil {
		return nil, err
	}
	return r, r.Train(context.Background(), "", Observer{})
}

func reference(m score.Model[float32]) []float64 {
	return m.(score.Constant[float32]).Constants()[0].Array.Float64
}

// A run learns with a reference from its training rows, which its checkpoint keeps; a run
// that was stopped goes on bit for bit; samples are drawn. A reference of the user's is kept in the
// folder, and what the checkpoint holds is what is used.
func TestAlignedRun(t *testing.T) {
	dir := t.TempDir()
	data := chains(t, dir, 60, -1)
	r := testkit.Must(conformations(t, data))
	trained := testkit.Must(r.Trained(""))
	y := reference(trained.Model)
	if !slices.ContainsFunc(r.Split.Train, func(i int) bool { return slices.Equal(r.Data.X[12*i:12*i+12], y) }) {
		t.Errorf("the reference %v is no training row", y)
	}
	if s, err := drawn(t, r, trained, 40); err != nil || len(s.Good()) != 40*12 {
		t.Errorf("samples: %v", err)
	}

	// A trainer of a network with another reference does not go on from it.
	var state train.State
	arrays := testkit.Must(r.Folder.Checkpoints().Load("", r.Config, &state))
	c := r.network()
	for i := range 60 {
		if x := r.Data.X[12*i : 12*i+12]; !slices.Equal(x, y) {
			c.Reference = x
		}
	}
	other := &training{run: r}
	other.trains(testkit.Must(networks.New(c)))
	if err := other.trainer.Restore(arrays, state); fault.KindOf(err) != fault.Run {
		t.Errorf("another reference: %v", err)
	}

	// Training continues from the checkpoint of the first epoch.
	half := testkit.Must(conformations(t, data, "train.epochs=3", "train.checkpoint_every=0"))
	names, err := half.Folder.Checkpoints().Names()
	if err != nil || len(names) < 2 {
		t.Fatalf("checkpoints %v, %v", names, err)
	}
	testkit.OK(t, half.Train(context.Background(), names[0], Observer{}))
	again := testkit.Must(half.Trained(""))
	testkit.EqualSlices(t, again.Model.Parameters(), trained.Model.Parameters(),
		"a run that was gone on with has other weights")

	// A reference of one's own: the second frame of two is not read.
	given := filepath.Join(dir, "reference.npy")
	write := func(values []float64, shape ...int) {
		f := testkit.Must(os.Create(given))
		defer f.Close()
		testkit.OK(t, arrayfile.EncodeNPY(f, arrayfile.Of(values, shape...)))
	}
	write(r.Data.X[24:48], 2, 4, 3)
	own, err := conformations(t, data, "network.reference="+given)
	testkit.OK(t, err)
	testkit.OK(t, testkit.Err(os.Stat(own.Folder.Path("network.reference.npy"))))
	testkit.OK(t, os.Remove(given))
	if trained, err = own.Trained(""); err != nil || !slices.Equal(reference(trained.Model), r.Data.X[24:36]) {
		t.Errorf("%v: reference %v, want %v", err, reference(trained.Model), r.Data.X[24:36])
	}

	// References that cannot be.
	line := make([]float64, 15)
	for i := range line {
		line[i] = 1.5 * float64(i/3)
	}
	for want, values := range map[string][]float64{
		"a frame has 5 atoms; expected 4": line,
		"its atoms lie on one line":       line[:12],
	} {
		write(values, len(values)/3, 3)
		var key *problem.KeyError
		if _, err := conformations(t, data, "network.reference="+given); !errors.As(err, &key) ||
			key.Key != "network.reference" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q at network.reference", err, want)
		}
	}
	var key *problem.KeyError
	if _, err := conformations(t, data, "network.reference="+given, "network.kind=mlp"); !errors.As(err, &key) ||
		key.Key != "network.reference" {
		t.Errorf("a reference of an MLP: %v", err)
	}
}

// A set or a potential that sees how points lie in space is none for a network that does not, and is named.
func TestAlignedSeesNothingFixed(t *testing.T) {
	data := chains(t, t.TempDir(), 60, -1)
	for want, settings := range map[string][]string{
		`"anchor`:       {"set.anchored=true", "data.tolerance=100"},
		"the potential": {"potential.kind=quadratic"},
	} {
		var key *problem.KeyError
		if _, err := conformations(t, data, settings...); !errors.As(err, &key) || key.Key != "network.kind" ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %s to be named", err, want)
		}
	}
}

// A frame without an alignment is an error that names it, as it is numbered in the data.
func TestAlignedFrames(t *testing.T) {
	data := chains(t, t.TempDir(), 60, 17)
	r, err := conformations(t, data, "data.split_seed=2")
	if fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), "frame 17 (from 0) has no alignment") {
		t.Errorf("%v; expected frame 17 to be named", err)
	}
	if r != nil && !slices.Contains(r.Split.Train, 17) {
		t.Error("frame 17 is not trained on: another seed")
	}
}
