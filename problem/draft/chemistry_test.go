package draft

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A molecule's draft keeps its hands, rings, double bonds and amides by the conformations, and leaves free what they
// disagree about.
func TestChemistry(t *testing.T) {
	inputs := os.DirFS(testkit.Must(filepath.Abs("testdata")))
	crown := testkit.Must(os.ReadFile(filepath.FromSlash("../../examples/ring/ring.xyz")))
	t.Chdir(t.TempDir())
	testkit.OK(t, os.CopyFS(".", inputs)) // a draft names its files
	testkit.OK(t, os.WriteFile("crown.xyz", crown, 0o666))
	for _, o := range []Options{{Path: "amide.sdf"}, {Path: "amide.sdf", Atoms: "all"}, {Path: "ez.sdf"},
		{Path: "alike.sdf"}, {Path: "ring.sdf"}, {Path: "ideal.sdf"}} {
		testkit.Keep(t, "%+v", *draft(t, o).Molecule)
	}
	// An array has no elements: a template names them. One conformation, and another unit, are refused.
	f := testkit.Must(files.Read("amide.sdf"))
	dim := f.Molecule.Dim()
	save := func(name string, x []float64, shape ...int) {
		w := testkit.Must(os.Create(name))
		testkit.OK(t, arrayfile.EncodeNPY(w, arrayfile.Array{Shape: shape, Float64: x}))
		testkit.OK(t, w.Close())
	}
	save("frames.npy", f.X, f.N, f.Molecule.N(), 3)
	d := draft(t, Options{Path: "frames.npy", Template: "amide.sdf"})
	if d.Molecule == nil || d.Molecule.LeftOut != 15 || d.Molecule.Formula != "C11H15NO2" {
		t.Errorf("with a template: %s", d.YAML)
	}
	// Heat bends flat rings; relaxed conformations repeat each other, which a note says.
	for _, heat := range []float64{1e-4, 0.05} {
		var x []float64
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range 20 * f.N {
			for _, v := range f.Frame(i % f.N) {
				x = append(x, v+heat*rng.NormFloat64())
			}
		}
		save("hot.npy", x, 20*f.N, f.Molecule.N(), 3)
		d = draft(t, Options{Path: "hot.npy", Template: "amide.sdf"})
		said := strings.Contains(strings.Join(d.Notes, " "), "they were relaxed to minima")
		if len(d.Molecule.Rings) != 1 || said != (heat < 0.01) {
			t.Errorf("heat %v: %v %+v", heat, d.Notes, *d.Molecule)
		}
	}
	// A bond that tilts in the plane of a ring is left free, as that of an aryl ether.
	var x []float64
	for i := range 20 * f.N {
		frame := slices.Clone(f.Frame(i % f.N))
		for k := range 3 {
			frame[3*7+k] += 0.06 * float64(1-i/f.N%2*2) * (frame[3*13+k] - frame[3*9+k])
		}
		x = append(x, frame...)
	}
	save("tilted.npy", x, 20*f.N, f.Molecule.N(), 3)
	d = draft(t, Options{Path: "tilted.npy", Template: "amide.sdf"})
	testkit.Contains(t, d.YAML, "    - [8, 9, 10, 11, 12, 13]\n", "a ring without the bond that tilts")
	testkit.Contains(t, d.YAML, `{name: "flat C8", atoms: [13, 8, 7, 9], value: 180}`, "the bond in its plane")
	// The bond that closes a ring of twelve makes angles that are no coordinates: they have the range of the rows.
	ring, rng := testkit.Must(files.Read("crown.xyz")), rand.New(rand.NewPCG(1, 1))
	for x = nil; len(x) < 20*len(ring.X); {
		for _, v := range ring.X {
			x = append(x, v+0.02*rng.NormFloat64())
		}
	}
	save("crown.npy", x, 20, ring.Molecule.N(), 3)
	d = draft(t, Options{Path: "crown.npy", Template: "crown.xyz"})
	if d.Molecule.Apart != 4.3 { // of the crown 4.47
		t.Errorf("atoms more than three bonds apart come within %v Å", d.Molecule.Apart)
	}
	testkit.Contains(t, d.YAML, "  angles:\n    - {atoms: [5, 6, 7], range: [", "where the ring closes")
	if d = draft(t, Options{Path: "frames.npy"}); d.Kind != "points" ||
		!strings.Contains(strings.Join(d.Notes, " "), "--template FILE") {
		t.Errorf("without one: %v", d.Notes)
	}
	var one, bohr strings.Builder
	for i := range 3 {
		frame := &bohr
		for _, unit := range []float64{1 / 0.529177, 1} {
			if unit == 1 && i > 0 {
				break
			} else if unit == 1 {
				frame = &one
			}
			fmt.Fprintf(frame, "%d\n\n", dim/3)
			for k, a := range f.Molecule.Atoms {
				p := f.Frame(i)[3*k : 3*k+3]
				fmt.Fprintf(frame, "%s %.5f %.5f %.5f\n", a.Element, p[0]*unit, p[1]*unit, p[2]*unit)
			}
		}
	}
	for name, c := range map[string][2]string{"one.xyz": {one.String(), "it holds one conformation of C11H15NO2"},
		"bohr.xyz": {bohr.String(), "are these bohr? Ångström are expected: multiply by 0.529177"}} {
		testkit.OK(t, os.WriteFile(name, []byte(c[0]), 0o666))
		_, err := New(Options{Path: name})
		if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
