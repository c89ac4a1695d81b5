package experiment

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/domain/grid"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// BenchmarkPath times forward paths from rows of large sets, in milliseconds of processor time a path: a ring of buses,
// chains of flat rings, and the problem file that the environment variable LANDING_PROBLEM names.
func BenchmarkPath(b *testing.B) {
	for _, c := range []struct {
		name  string
		write func(b *testing.B) (file string)
	}{
		{"buses=118", func(b *testing.B) string { return ringGrid(b, 118) }},
		{"atoms=15", func(b *testing.B) string { return flatRings(b, 2, 3) }},
		{"atoms=100", func(b *testing.B) string { return flatRings(b, 16, 4) }},
		{"atoms=250", func(b *testing.B) string { return flatRings(b, 41, 4) }},
		{"file", func(*testing.B) string { return os.Getenv("LANDING_PROBLEM") }},
	} {
		b.Run(c.name, func(b *testing.B) {
			file := c.write(b)
			if file == "" {
				b.Skip("LANDING_PROBLEM names no problem file")
			}
			data, origin, err := problem.Source(file)
			testkit.OK(b, err)
			pool := testkit.Pool(b, 1)
			l := testkit.Must(Load(b.Context(), testkit.Must(problem.Load(data, origin, "", nil)), pool, nil))
			d := l.Data.D
			n := max(4, min(64, 10000/d))
			simulator, paths := langevin.NewSimulator(l.Process, pool, 64), langevin.Paths{}
			x0 := langevin.Starts(l.TrainRows, d, n)
			from := processor.Seconds()
			for b.Loop() {
				testkit.Must(simulator.Forward(b.Context(), &paths, x0, 1, 0))
			}
			b.ReportMetric((processor.Seconds()-from)*1e3/float64(b.N*n), "ms/path")
		})
	}
}

// ringGrid writes rows of a grid of n buses in a ring with chords, and returns the file of the problem.
func ringGrid(b *testing.B, n int) string {
	var buses, generators, branches strings.Builder
	for i := range n {
		kind := 1
		if i%3 == 0 {
			kind = max(2, 3-i)
			fmt.Fprintf(&generators, "%d 90 0 60 -60 1 100 1 180 0;\n", i+1)
		}
		fmt.Fprintf(&buses, "%d %d 30 8 0 0 1 1 0 110 1 1.06 0.94;\n", i+1, kind)
		fmt.Fprintf(&branches, "%d %d 0.01 0.05 0.02 0 0 0 0 0 1 -360 360;\n", i+1, (i+1)%n+1)
		if i%2 == 0 {
			fmt.Fprintf(&branches, "%d %d 0.02 0.1 0.02 0 0 0 0 0 1 -360 360;\n", i+1, (i+9)%n+1)
		}
	}
	dir := b.TempDir()
	at := filepath.Join(dir, "ring.m")
	testkit.OK(b, os.WriteFile(at, fmt.Appendf(nil, "function mpc = ring\nmpc.version = '2';\nmpc.baseMVA = 100;\n"+
		"mpc.bus = [\n%s];\nmpc.gen = [\n%s];\nmpc.branch = [\n%s];\n", &buses, &generators, &branches), 0o600))
	draw := grid.Draw{Grid: testkit.Must(grid.Read(at)), Count: 128, Seed: 1, Loads: 0.05, Generation: 0.05,
		Voltage: 0.003}
	drawn := testkit.Must(draw.Run(b.Context(), testkit.Pool(b, 1)))
	rows := testkit.Must(os.Create(filepath.Join(dir, "rows.npy")))
	testkit.OK(b, arrayfile.EncodeNPY(rows, arrayfile.Of(drawn.X, draw.Count, drawn.Set.Dim())))
	testkit.OK(b, rows.Close())
	file := filepath.Join(dir, "problem.yaml")
	testkit.OK(b, os.WriteFile(file, fmt.Appendf(nil, "data: {path: %s}\nset: {kind: grid, case: %s}\n"+
		"process: {steps: 50}\n", rows.Name(), at), 0o600))
	return file
}

// flatRings writes conformers of a chain of flat rings of six atoms that turn about the bonds between them, with a tail
// of some atoms, and returns the file of the problem.
func flatRings(b *testing.B, rings, tail int) string {
	n, dir := 6*rings+tail, b.TempDir()
	var bonds, rows, rigid, turns strings.Builder
	count, last := 0, 0
	bond := func(i, j int) { count++; fmt.Fprintf(&bonds, "%3d%3d  1  0\n", i+1, j+1) }
	for r := range rings {
		for k := range 6 {
			bond(6*r+k, 6*r+(k+1)%6)
		}
		fmt.Fprintf(&rigid, "    - [%d, %d, %d, %d, %d, %d]\n", 6*r, 6*r+1, 6*r+2, 6*r+3, 6*r+4, 6*r+5)
		if last = 6*r + 3; r+1 < rings {
			bond(last, last+3)
			fmt.Fprintf(&turns, "    - {name: turn%d, atoms: [%d, %d, %d, %d], range: [10, 80]}\n", r, last-1, last,
				last+3, last+4)
		}
	}
	for k := range tail {
		bond(last, 6*rings+k)
		last = 6*rings + k
	}
	u := make([]float64, rings+1)
	for c := range 120 {
		fmt.Fprintf(&rows, "rings\n\n\n%3d%3d  0  0  0  0  0  0  0  0999 V2000\n", n, count)
		keyed.OwnData.Stream(7, 0).Uniforms(u, uint64(c), 0)
		x, angle := 0.0, 0.0
		atom := func(x, out, angle float64) {
			fmt.Fprintf(&rows, "%10.4f%10.4f%10.4f C   0  0\n", x, out*math.Cos(angle), out*math.Sin(angle))
		}
		for r := range rings {
			angle += (25 + 40*u[r]) * math.Pi / 180
			for _, p := range [][2]float64{{0, 0}, {0.7, 1.2124}, {2.1, 1.2124}, {2.8, 0}, {2.1, -1.2124},
				{0.7, -1.2124}} {
				atom(x+p[0], p[1], angle)
			}
			x += 4.3
		}
		for k := range tail {
			atom(x+1.27*float64(k), 0.85*float64(k%2), (40+100*u[rings])*math.Pi/180)
		}
		rows.WriteString(bonds.String() + "M  END\n$$$$\n")
	}
	at, file := filepath.Join(dir, "rings.sdf"), filepath.Join(dir, "problem.yaml")
	testkit.OK(b, os.WriteFile(at, []byte(rows.String()), 0o600))
	testkit.OK(b, os.WriteFile(file, fmt.Appendf(nil, "data: {kind: molecule, path: %s, tolerance: 2}\nset:\n"+
		"  kind: molecule\n  template: %s\n  bonds: template\n  rigid:\n%s  dihedrals:\n%sprocess: {steps: 100}\n",
		at, at, &rigid, &turns), 0o600))
	return file
}
