package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Networks that are assumed; no figure of theirs was measured here.
var networks = []Network{{"10 Gbit/s Ethernet", 30e-6, 1.1e9}, {"100 Gbit/s InfiniBand", 2e-6, 11e9}}

var (
	ranksShown   = []int{1, 2, 4, 8, 16, 32, 64}
	workersShown = []int{1, 10, 100, 300, 1000}
)

// Samples of the tables of generation, by name.
var wanted = map[string]float64{"volcano": 1e9, "alanine": 1e8, "arm L = 40": 1e6}

// unitSeconds is how long units are made.
const unitSeconds = 60

// Tables writes the tables of docs/scale.md.
func Tables(w io.Writer, costs []Costs) error {
	var b strings.Builder
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	head := func(cells ...string) {
		row(cells...)
		row(strings.Split(strings.TrimSuffix(strings.Repeat("---,", len(cells)), ","), ",")...)
	}
	fmt.Fprintf(&b, "<!-- units -->\n")
	head("problem", "parameters", "d", "steps", "µs a forward step", "µs a network row",
		"ms an update beside its rows", "rows an update", "ms a sample", "bytes a sample", "KiB a gradient",
		"MB of paths a refresh")
	for _, c := range costs {
		row(c.Name, fmt.Sprint(c.Parameters), fmt.Sprint(c.Dim), fmt.Sprint(c.Steps), f3(c.Step*1e6), f3(c.Row*1e6),
			f3(c.Update*1e3), fmt.Sprint(c.Rows), f3(c.Sample*1e3), fmt.Sprint(8*c.Dim),
			fmt.Sprint((4*c.Parameters+1023)/1024), f3(8e-6*float64(c.Dim)*float64(c.Paths)*float64(c.Steps+1)))
	}
	fmt.Fprintf(&b, "<!-- training -->\n")
	cells := []string{"problem", "network", "sums"}
	for _, r := range ranksShown {
		cells = append(cells, fmt.Sprint(r))
	}
	head(append(cells, "what an epoch at 16 and 64 ranks is: rows, updates, paths, network")...)
	for _, c := range costs {
		for _, net := range networks {
			for _, exact := range []bool{true, false} {
				cells := []string{c.Name, net.Name, map[bool]string{true: "exact", false: "all-reduce"}[exact]}
				for _, r := range ranksShown {
					cells = append(cells, percent(c.Efficiency(r, 1, exact, net)))
				}
				row(append(cells, shares(c.Epoch(16, 1, exact, net))+"; "+shares(c.Epoch(64, 1, exact, net)))...)
			}
		}
	}
	fmt.Fprintf(&b, "<!-- samples -->\n")
	cells = []string{"problem", "samples", "by"}
	for _, n := range workersShown {
		cells = append(cells, plural(n))
	}
	head(cells...)
	for _, c := range costs {
		n := wanted[c.Name]
		for _, by := range farms {
			cells := []string{c.Name, fmt.Sprintf("%.0g", n), by.name}
			for _, workers := range workersShown {
				unit := math.Floor(unitSeconds / c.Sample)
				if by.Serve == 0 { // a shard is all that a worker does
					unit = math.Ceil(n / float64(workers))
				}
				s := by.Samples(c, n, unit, workers)
				cells = append(cells, fmt.Sprintf("%s, %s", clock(s), percent(n*c.Sample/s/float64(workers))))
			}
			row(cells...)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func f3(v float64) string { return fmt.Sprintf("%.3g", v) }

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func shares(s Share) string {
	t := s.Total() / 100
	return fmt.Sprintf("%.0f, %.0f, %.0f, %.0f %%", s.Rows/t, s.Updates/t, s.Paths/t, s.Network/t)
}

// clock writes seconds in a unit that fits.
func clock(s float64) string {
	switch {
	case s < 120:
		return fmt.Sprintf("%.3g s", s)
	case s < 7200:
		return fmt.Sprintf("%.3g min", s/60)
	case s < 2*86400:
		return fmt.Sprintf("%.3g h", s/3600)
	}
	return fmt.Sprintf("%.3g d", s/86400)
}

// farms are what was measured of generation by parts and by a queue: docs/scale.md has the commands.
var farms = []struct {
	name string
	Farm
}{
	{"shards", Farm{Start: 0.08, Merge: 217e6}},
	{"queue", Farm{Start: 0.08, Unit: 0.011, Serve: 0.0020, Merge: 217e6}},
}

func plural(workers int) string {
	if workers == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", workers)
}
