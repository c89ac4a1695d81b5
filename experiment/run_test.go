package experiment

import (
	"bytes"
	"encoding/json"
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
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
	"github.com/landing-diffusion/landing/tools/testkit/octahedron"
)

// levelSetRun makes a run on the octahedron of files in a folder of their own.
func levelSetRun(t *testing.T) (e *Run, files string) {
	t.Helper()
	s := octahedron.Surface()
	files = t.TempDir()
	write := func(name string, encode func(b *bytes.Buffer) error) {
		t.Helper()
		var b bytes.Buffer
		testkit.OK(t, encode(&b))
		testkit.OK(t, os.WriteFile(filepath.Join(files, name), b.Bytes(), 0o666))
	}
	write("net.npz", func(b *bytes.Buffer) error { return octahedron.Network().Write(b) })
	write("mesh.ply", func(b *bytes.Buffer) error { return ball.Mesh(0).WritePLY(b) })
	const n = 60
	x := make([]float64, 3*n)
	for i := range n {
		s.SampleUniform(x[3*i:3*i+3], keyed.New(1, keyed.Probe, 0), uint64(i))
	}
	write("x.npy", func(b *bytes.Buffer) error {
		return arrayfile.EncodeNPY(b, arrayfile.Array{Shape: []int{n, 3}, Float64: x})
	})
	text := []byte("data: {path: " + filepath.Join(files, "x.npy") +
		", tolerance: 0.1}\nset: {kind: level-set, weights: " + filepath.Join(files, "net.npz") + ", mesh: " +
		filepath.Join(files, "mesh.ply") + "}\nnetwork: {width: 8, layers: 1}\n")
	p := testkit.Must(problem.Load(text, "p.yaml", "", nil))
	pool := parallel.New(1)
	t.Cleanup(pool.Close)
	l := testkit.Must(Load(t.Context(), p, pool, nil))
	f := testkit.Must(run.Create(filepath.Join(t.TempDir(), "r"), false))
	e = testkit.Must(l.Begin(f, text, []string{"test"}))
	f.Unlock()
	return e, files
}

// changeManifest rewrites manifest.json.
func changeManifest(t *testing.T, f *run.Folder, change func(m *run.Manifest)) {
	t.Helper()
	var m run.Manifest
	testkit.OK(t, f.ReadJSON(run.ManifestFile, &m))
	change(&m)
	data := testkit.Must(json.Marshal(m))
	testkit.OK(t, os.WriteFile(f.Path(run.ManifestFile), data, 0o666))
}

// A run folder holds the files of its set: with the data it can be moved to where
// the files it was started with are not. A copy that was changed is refused.
func TestRunOnALevelSetMoves(t *testing.T) {
	e, files := levelSetRun(t)
	there := t.TempDir()
	moved, data := filepath.Join(there, "r"), filepath.Join(there, "x.npy")
	for from, to := range map[string]string{e.Folder.Dir: moved, filepath.Join(files, "x.npy"): data} {
		testkit.OK(t, os.Rename(from, to))
	}
	testkit.OK(t, os.RemoveAll(files))
	again := testkit.Must(Open(t.Context(), moved, data, e.Pool, nil))
	if again.Config != e.Config || !slices.Equal(again.distance.Full, e.distance.Full) {
		t.Error("the moved run is another one")
	}
	mesh := filepath.Join(moved, "set.mesh.ply")
	text := testkit.Must(os.ReadFile(mesh))
	testkit.OK(t, os.WriteFile(mesh, append(text, '\n'), 0o666))
	if _, err := Open(t.Context(), moved, data, e.Pool, nil); fault.KindOf(err) != fault.Data ||
		fault.Of(err).File != mesh ||
		!strings.Contains(err.Error(), "is not the set.mesh of this run") {
		t.Errorf("a changed copy: %v", err)
	}
}

// Runs of versions that kept no files open from where config.yaml says.
func TestRunThatKeptNoFiles(t *testing.T) {
	e, files := levelSetRun(t)
	changeManifest(t, e.Folder, func(m *run.Manifest) {
		for key, name := range m.Kept {
			if err := os.Remove(e.Folder.Path(name)); err != nil {
				t.Fatal(key, err)
			}
		}
		m.Kept = nil
	})
	again := testkit.Must(Open(t.Context(), e.Folder.Dir, "", e.Pool, nil))
	testkit.Equal(t, again.Problem.Files()["set.mesh"], filepath.Join(files, "mesh.ply"), "the mesh is read from")
}

// A manifest that names what this version does not know, or a file outside the folder, is refused.
func TestManifestFaults(t *testing.T) {
	e, _ := levelSetRun(t)
	for _, c := range []struct {
		want   string
		change func(m *run.Manifest)
	}{
		{`names a file for "set.atlas"`, func(m *run.Manifest) { m.Files["set.atlas"] = "00" }},
		{`keeps "set.mesh" as "../m.ply"`, func(m *run.Manifest) {
			delete(m.Files, "set.atlas")
			m.Kept["set.mesh"] = "../m.ply"
		}},
	} {
		changeManifest(t, e.Folder, c.change)
		if _, err := Open(t.Context(), e.Folder.Dir, "", e.Pool, nil); fault.KindOf(err) != fault.Run ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}
