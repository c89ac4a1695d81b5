package ring_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/examples/internal/trial"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The whole way of the commands, small: chains to an SDF file of conformers, training on it, and samples that have
// every bond and angle of the template, that of the closure too, to 1e-10, none lost.
func TestExample(t *testing.T) {
	source := testkit.Must(os.ReadFile("problem.yaml"))
	p, err := problem.Load(source, "problem.yaml", "energy", problem.ParseSettings("sample.draws=10", "sample.burn=100",
		"sample.thin=5", "sample.max_rhat=100"))
	testkit.OK(t, err)
	pool := parallel.New(2)
	defer pool.Close()
	r := testkit.Must(experiment.Sample(context.Background(), p, pool, nil))
	conformers := filepath.Join(t.TempDir(), "conformers.sdf")
	testkit.OK(t, r.Write(conformers, false))
	template := testkit.Must(filepath.Abs("ring.xyz"))
	short := filepath.Join(t.TempDir(), "problem.yaml") // half of the steps
	text := strings.NewReplacer("steps: 40", "steps: 20", "ring.xyz", template).Replace(string(source))
	testkit.OK(t, os.WriteFile(short, []byte(text), 0o644))
	s := trial.Run(t, short, conformers)
	if s.Failed() != 0 {
		t.Errorf("%d samples failed", s.Failed())
	}
	ring := testkit.Must(files.Read("ring.xyz"))
	m := ring.Molecule
	if len(m.Bonds) != 12 || len(m.Angles()) != 12 {
		t.Fatalf("%d bonds and %d angles", len(m.Bonds), len(m.Angles()))
	}
	bent := 0.0
	for i := 0; i < len(s.X); i += 36 {
		x := s.X[i : i+36]
		for _, b := range m.Bonds {
			if e := molecule.Distance(x, b[0], b[1]) - 1.54; math.Abs(e) > 1e-10 {
				t.Fatalf("sample %d: bond %v is off by %.3g Å", i/36, b, e)
			}
		}
		for _, a := range m.Angles() {
			if e := molecule.Angle(x, a[0], a[1], a[2]) - 114*math.Pi/180; math.Abs(e) > 1e-10 {
				t.Fatalf("sample %d: angle %v is off by %.3g", i/36, a, e)
			}
		}
		for _, q := range m.Torsions() {
			bent = max(bent, math.Abs(molecule.Torsion(x, q[0], q[1], q[2], q[3])-
				molecule.Torsion(s.X, q[0], q[1], q[2], q[3])))
		}
	}
	if bent < 0.5 {
		t.Errorf("no torsion differs by more than %.3g: the ring does not turn", bent)
	}
}
