package metric_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

var update = flag.Bool("update", false, "write counts.json anew, from the paper's data")

// counts are the histograms behind golden distances, as counts.json holds them: all that
// a distance knows of the data, which are not in this repository.
type counts struct {
	Earth  map[string]map[string][][2]int // by catalogue and part: bin and points in it
	Lo, Hi [4]float64                     // of each power trace, in all
	Traces map[string][4][]int            // by part: points in each of 100 bins
	Faces  [][2]int                       // of the first 20 000 of the bunny's points
}

// sparse lists the numbers that are not 0.
func sparse(h []float64) (out [][2]int) {
	for i, v := range h {
		if v != 0 {
			out = append(out, [2]int{i, int(v)})
		}
	}
	return out
}

// parts of a catalogue are its first half, all of it, its test rows and the first hundred.
func parts(t *testing.T, name string) map[string][]float64 {
	t.Helper()
	points := testkit.Must(dataset.ReadEarth(testkit.Shared(t, "data/earth/"+name+".csv")))
	x, test := points.X, []float64(nil)
	for _, i := range golden.Read(t, "s2_splits.npz")[name+"_test"].Int64 {
		test = append(test, x[3*i:3*i+3]...)
	}
	return map[string][]float64{"first_half": x[:3*(len(x)/3/2)], "full": x, "test": test, "first100": x[:300]}
}

// catalogues are those of the Earth. The earthquakes are looser: 231 of their 6120 coordinates lie on the edge of a
// bin, where the published code goes by the last bits of its sines. With another library's sines and no allowance at
// the edges the same formula moves these values by up to 2.5e-3.
var catalogues = map[string]float64{"volcano": 1e-12, "earthquake": 3e-3, "flood": 1e-12, "fire": 1e-12}

var earthPairs = [][2]string{{"first_half", "full"}, {"test", "full"}, {"first100", "test"}}

func checkEarth(t *testing.T, name string, part map[string][]float64) {
	t.Helper()
	values := golden.Read(t, "s2_jsd.npz")
	for _, p := range earthPairs {
		what := name + "_jsd_" + p[0] + "_vs_" + p[1]
		want, got := values[what].AsFloat64()[0], metric.EarthJSD(part[p[0]], part[p[1]])
		testkit.Near(t, got, want, catalogues[name], "%s", what)
	}
}

// traces are the power traces of the first 1000 of SO10_circle.npy, and of all.
func traces(t *testing.T) map[string][]float64 {
	t.Helper()
	a := testkit.Must(arrayfile.ReadNPY(testkit.Shared(t, "data/so10/SO10_circle.npy")))
	all := metric.PowerTraces(nil, a.AsFloat64(), 10)
	return map[string][]float64{"first1000": all[:4*1000], "full": all}
}

func checkTraces(t *testing.T, part map[string][]float64) {
	t.Helper()
	g := golden.Read(t, "so10_jsd.npz")
	each, mean := metric.TraceJSD(part["first1000"], part["full"])
	for k, name := range []string{"trace1", "trace2", "trace4", "trace5"} {
		testkit.Near(t, each[k], g[name].AsFloat64()[0], 1e-12, "%s: JSD", name)
	}
	testkit.Near(t, mean, g["trace_avg"].AsFloat64()[0], 1e-12, "mean JSD")
}

func checkFaces(t *testing.T, first, all []float64) {
	t.Helper()
	want := golden.Read(t, "mesh_bunny.npz")["jsd_sq_first20000_vs_full"].AsFloat64()[0]
	testkit.Near(t, metric.FaceJSD(first, all, 5000), want, 1e-14, "divergence")
}

// The published evaluation's values, in float64, on points that have the counts of the data in every bin.
func TestGoldenDistancesOfCounts(t *testing.T) {
	var c counts
	golden.ReadJSON(t, "counts.json", &c)
	for name := range catalogues {
		part := map[string][]float64{}
		for p, bins := range c.Earth[name] {
			for _, b := range bins {
				lat, lon := (float64(b[0]/30)*6-87)*math.Pi/180, (float64(b[0]%30)*12-174)*math.Pi/180
				for range b[1] {
					part[p] = append(part[p], math.Cos(lat)*math.Cos(lon), math.Cos(lat)*math.Sin(lon), math.Sin(lat))
				}
			}
		}
		checkEarth(t, name, part)
	}
	part := map[string][]float64{}
	for p, bins := range c.Traces {
		n := 0
		for _, v := range bins[0] {
			n += v
		}
		x := make([]float64, 4*n)
		for k := range 4 {
			row := 0
			for b, v := range bins[k] {
				for range v {
					at := (float64(b) + 0.5) / 100
					if p == "full" && (b == 0 && row == 0) {
						at = 0 // the bins reach from the smallest to the largest of all
					} else if p == "full" && row == n-1 {
						at = 1
					}
					x[4*row+k] = c.Lo[k]*(1-at) + c.Hi[k]*at
					row++
				}
			}
		}
		part[p] = x
	}
	checkTraces(t, part)
	var first, all []float64
	for _, b := range c.Faces {
		for range b[1] {
			first = append(first, float64(b[0]))
		}
	}
	for f, v := range golden.Read(t, "mesh_bunny.npz")["counts"].AsFloat64() {
		for range int(v) {
			all = append(all, float64(f))
		}
	}
	checkFaces(t, first, all)
}

// The same values on the paper's data themselves. With -update their counts are written.
func TestGoldenDistances(t *testing.T) {
	c := counts{Earth: map[string]map[string][][2]int{}, Traces: map[string][4][]int{}}
	for name := range catalogues {
		c.Earth[name] = map[string][][2]int{}
		part := parts(t, name)
		for p, x := range part {
			c.Earth[name][p] = sparse(metric.EarthHistogram(x))
		}
		checkEarth(t, name, part)
	}
	part := traces(t)
	checkTraces(t, part)
	for k := range 4 {
		bins := metric.TraceBinning.Over(metric.Column(part["full"], k, 4))
		c.Lo[k], c.Hi[k] = bins.Lo, bins.Hi
		for p, x := range part {
			h := c.Traces[p]
			h[k] = make([]int, bins.N)
			for _, v := range metric.Column(x, k, 4) {
				h[k][bins.Bin(v)]++
			}
			c.Traces[p] = h
		}
	}
	m := testkit.Must(mesh.Read(testkit.Shared(t, "data/mesh/bunny.ply")))
	data := testkit.Must(arrayfile.ReadNPY(testkit.Shared(t, "data/mesh/bunny_eigfn100.npy")))
	x := data.AsFloat64()
	faces := make([]float64, len(x)/3)
	metric.NearestFaces(faces, x, mesh.NewTree(m))
	checkFaces(t, faces[:20_000], faces)
	h := make([]float64, 5000)
	for _, f := range faces[:20_000] {
		h[int(f)]++
	}
	c.Faces = sparse(h)
	if *update {
		b := testkit.Must(json.Marshal(c))
		testkit.OK(t, os.WriteFile("../../tools/testkit/golden/testdata/counts.json", append(b, '\n'), 0o666))
	}
}
