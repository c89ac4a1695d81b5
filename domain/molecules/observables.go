package molecules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/judge/metric"
)

// A coordinate is an internal coordinate as people look at it: in degrees, Å or Å³.
type coordinate struct {
	conformation.Coordinate
	name   string
	middle float64    // a dihedral's values are within 180° of it
	window [2]float64 // values that the set allows, counterclockwise; empty: any
	fixed  bool       // the set allows window[0] alone
}

func (c *coordinate) angular() bool {
	return c.Kind == conformation.Angle || c.Kind == conformation.Dihedral
}

func (c *coordinate) unit() string {
	switch {
	case c.angular():
		return "°"
	case c.Kind == conformation.Volume:
		return "Å³"
	}
	return "Å"
}

// value returns the coordinate at a conformation; NaN where it has none.
func (c *coordinate) value(x []float64) float64 {
	v := c.Value(x)
	if c.angular() {
		v *= 180 / math.Pi
	}
	if c.Kind == conformation.Dihedral {
		v = c.middle + math.Remainder(v-c.middle, 360)
	}
	return v
}

// bins are those that values are compared in: 60, over the window and a quarter of it on both sides, which for the
// window [130°, 170°] of the published distance is its [120°, 180°]; of a dihedral without a window, the circle.
func (c *coordinate) bins() metric.Bins {
	b := metric.Bins{N: domain.DefaultBins, Empty: emptyDensity}
	width := c.window[1] - c.window[0]
	circle := c.Kind == conformation.Dihedral && (width == 0 || width*1.5 >= 360)
	switch {
	case circle:
		b.Lo, b.Hi, b.Circular = c.middle-180, c.middle+180, true
	case width > 0:
		b.Lo, b.Hi = c.window[0]-width/4, c.window[1]+width/4
	}
	return b
}

// emptyDensity is what published distances on molecules add to the density of a bin, per degree and per Å.
const emptyDensity = 1e-6

// Bounds of what is compared one by one.
const (
	mostWindows  = 12
	mostTorsions = 16
	alike        = 1.  // degrees between angles that count as equal: heat moves them by 3 and more
	mostRows     = 200 // training rows that decide whether a ring is flat
)

func (g *guide) of(c conformation.Condition) coordinate {
	out := coordinate{Coordinate: c.Coordinate, name: c.Name, window: [2]float64{c.Low, c.High}}
	out.fixed = c.Low == c.High && !c.Given && c.Windows == nil
	if out.name == "" {
		out.name = g.spelled(c.Coordinate)
	}
	if out.angular() {
		for k, v := range out.window { // 130, where radians say 130.00000000000003
			out.window[k] = math.Round(v*180/math.Pi*1e9) / 1e9
		}
	}
	out.middle = (out.window[0] + out.window[1]) / 2
	return out
}

// torsion returns the dihedral of four atoms, on the whole circle.
func (g *guide) torsion(atoms [4]int) coordinate {
	c := conformation.Coordinate{Kind: conformation.Dihedral, Atoms: atoms[:]}
	return coordinate{Coordinate: c, name: g.spelled(c)}
}

func (g *guide) spelled(c conformation.Coordinate) string {
	labels := make([]string, len(c.Atoms))
	for i, a := range c.Atoms {
		labels[i] = g.molecule.Label(a)
	}
	return c.Kind.String() + " " + strings.Join(labels, " – ")
}

// choose finds what is compared: coordinates with a window in the set; torsions of rings that are not flat in the
// training rows; and torsions about bonds that can turn, where there is neither or the set fixes bond lengths. It also
// finds the torsions that the set leaves free, and two dihedrals to draw against each other.
func (g *guide) choose(train []float64) {
	var dihedrals []coordinate // of conditions
	turning := false           // conformations differ in torsions alone
	if g.set != nil {
		for _, c := range g.set.Conditions() {
			v := g.of(c)
			if c.Kind == conformation.Dihedral {
				dihedrals = append(dihedrals, v)
			}
			turning = turning || c.Kind == conformation.Distance && v.fixed
			bounded := !math.IsInf(c.Low, 0) && !math.IsInf(c.High, 0) && c.Kind != conformation.Volume
			if !v.fixed && bounded && len(g.seen) < mostWindows {
				g.seen = append(g.seen, v)
			}
		}
	}
	var all [][4]int
	for _, ring := range g.molecule.Rings() {
		if t := molecule.RingTorsions(ring); len(ring) > 4 && !g.flat(t, train) {
			all = append(all, t...)
		}
	}
	rings, torsions := len(all), 0
	for k, t := range append(all, g.rotatable()...) {
		own := slices.IndexFunc(dihedrals, func(c coordinate) bool { return same(c.Atoms, t) })
		turning = turning || k == rings && len(g.seen) == 0
		if own < 0 && (k < rings || turning) && torsions < mostTorsions {
			g.seen = append(g.seen, g.torsion(t))
			torsions++
		}
		if (own < 0 || !dihedrals[own].fixed) && len(g.turns) < mostTorsions {
			g.turns = append(g.turns, g.torsion(t))
		}
	}
	g.plane = g.pair(dihedrals)
}

// windows tells the share of samples, and of the data, in each window of a dihedral that has several.
func (g *guide) windows(x, data []float64) (out []domain.Finding) {
	if g.set == nil {
		return nil
	}
	for _, c := range g.set.Conditions() {
		f := domain.Finding{Name: "windows of " + g.of(c).name, Verdict: "Each sample is in one of the windows"}
		for _, w := range c.Windows {
			one := conformation.Condition{Coordinate: c.Coordinate, Low: w[0], High: w[1]}
			share := func(x []float64) metric.Float {
				n := 0
				for row := range slices.Chunk(x, g.molecule.Dim()) {
					if one.Excess(row) < edge {
						n++
					}
				}
				return metric.Float(float64(n*g.molecule.Dim()) / float64(len(x)))
			}
			f.Measures = append(f.Measures, domain.Measure{Samples: share(x), Data: share(data), Noise: metric.NaN,
				PValue: metric.NaN, Name: fmt.Sprintf("%.5g° to %.5g°", w[0]*180/math.Pi, w[1]*180/math.Pi)})
		}
		if f.Measures != nil {
			out = append(out, f)
		}
	}
	return out
}

// edge is how far outside of a window, in radians, a sample counts as in it: 1 % of a coordinate's spread or less.
const edge = 0.01

// same reports whether a dihedral is that of four atoms, from either end.
func same(a []int, b [4]int) bool {
	back := b
	slices.Reverse(back[:])
	return slices.Equal(a, b[:]) || slices.Equal(a, back[:])
}

// flat reports whether torsions of a ring are all small in the training rows, as those of an aromatic one.
func (g *guide) flat(torsions [][4]int, train []float64) bool {
	const small = 20 * math.Pi / 180
	d := g.molecule.Dim()
	n := len(train) / d
	for i := 0; i < n; i += (n + mostRows - 1) / mostRows {
		x := train[i*d : (i+1)*d]
		for _, t := range torsions {
			if math.Abs(molecule.Torsion(x, t[0], t[1], t[2], t[3])) > small {
				return false
			}
		}
	}
	return true
}

// rotatable returns a torsion for each bond in no ring whose ends have other neighbours than hydrogens.
func (g *guide) rotatable() [][4]int {
	m := g.molecule
	ringed := map[molecule.Bond]bool{}
	for _, r := range m.Rings() {
		for k, a := range r {
			b := r[(k+1)%len(r)]
			ringed[molecule.Bond{min(a, b), max(a, b)}] = true
		}
	}
	var out [][4]int
	last := molecule.Bond{-1, -1}
	for _, t := range m.Torsions() { // by their bonds
		middle := molecule.Bond{t[1], t[2]}
		if middle != last && !ringed[middle] && m.Atoms[t[0]].Element != "H" && m.Atoms[t[3]].Element != "H" {
			out, last = append(out, t), middle
		}
	}
	return out
}

// pair returns two dihedrals to draw against each other: φ and ψ by their names in the
// set, or those of a residue's backbone; else the first two of the set, or of those that
// are compared, or that can turn. It is nil if there are no two.
func (g *guide) pair(dihedrals []coordinate) []coordinate {
	var φψ [2]*coordinate
	for k := range dihedrals {
		switch strings.ToLower(dihedrals[k].name) {
		case "φ", "phi":
			φψ[0] = &dihedrals[k]
		case "ψ", "psi":
			φψ[1] = &dihedrals[k]
		}
	}
	if φψ[0] != nil && φψ[1] != nil {
		return []coordinate{*φψ[0], *φψ[1]}
	}
	find := func(t [4]int, name string) coordinate {
		for _, c := range dihedrals {
			if same(c.Atoms, t) {
				return c
			}
		}
		c := g.torsion(t)
		c.name = name
		return c
	}
	if φ, ψ, residue, ok := g.backbone(); ok {
		return []coordinate{find(φ, "φ of "+residue), find(ψ, "ψ of "+residue)}
	}
	all := slices.DeleteFunc(slices.Clone(dihedrals), func(c coordinate) bool { return c.fixed })
	all = slices.Concat(all, g.turns, dihedrals)
	for _, c := range all {
		if !same(c.Atoms, [4]int(all[0].Atoms)) {
			return []coordinate{all[0], c}
		}
	}
	return nil
}

// backbone returns φ (C–N–CA–C) and ψ (N–CA–C–N) of the first residue that has both.
func (g *guide) backbone() (φ, ψ [4]int, residue string, ok bool) {
	m := g.molecule
	near := m.Neighbours()
	bonded := func(i int, name string, but int) int {
		for _, j := range near[i] {
			if j != but && m.Atoms[j].Name == name {
				return j
			}
		}
		return -1
	}
	for ca, a := range m.Atoms {
		if a.Name != "CA" {
			continue
		}
		n, c := bonded(ca, "N", -1), bonded(ca, "C", -1)
		if n < 0 || c < 0 {
			continue
		}
		before, after := bonded(n, "C", ca), bonded(c, "N", ca)
		if before >= 0 && after >= 0 {
			return [4]int{before, n, ca, c}, [4]int{n, ca, c, after}, fmt.Sprintf("%s%d", a.Residue, a.ResidueNumber),
				true
		}
	}
	return φ, ψ, "", false
}

// The range of RMSDs that distances are published with, where it holds the data.
const publishedLow, publishedHigh = -0.05, 0.6 // Å

// observables are what is compared: the coordinates, and the RMSD to a reference that comes from origin.
func (g *guide) observables(data []float64, origin string) *domain.Observables {
	o := &domain.Observables{}
	files := map[string]bool{}
	for k := range g.seen {
		c := &g.seen[k]
		seen := domain.Observable{Name: c.name, Unit: c.unit(), File: file(c.name, k, files), Bins: c.bins(),
			Feasible: c.window}
		if c.angular() {
			seen.Close = alike
		}
		o.List = append(o.List, seen)
	}
	if g.reference != nil {
		b := metric.Bins{N: domain.DefaultBins, Empty: emptyDensity}
		d := g.molecule.Dim()
		farthest := 0.0
		for i := 0; i < len(data); i += d {
			farthest = max(farthest, g.reference.RMSD(data[i:i+d]))
		}
		if farthest <= publishedHigh {
			b.Lo, b.Hi = publishedLow, publishedHigh
		}
		o.List = append(o.List, domain.Observable{Name: "RMSD", Unit: "Å", File: "rmsd", Bins: b})
		o.Note = "RMSD of all atoms after alignment to " + origin + "."
	}
	n := len(o.List)
	o.Values = func(dst, x []float64, rows int) {
		d := g.molecule.Dim()
		for i := range rows {
			g.values(dst[i*n:(i+1)*n], x[i*d:(i+1)*d])
		}
	}
	return o
}

// values writes the coordinates of a conformation, then its RMSD.
func (g *guide) values(dst, x []float64) {
	for k := range g.seen {
		dst[k] = g.seen[k].value(x)
	}
	if g.reference != nil {
		dst[len(g.seen)] = g.reference.RMSD(x)
	}
}

var latin = strings.NewReplacer("φ", "phi", "ψ", "psi", "ω", "omega", "χ", "chi", "θ", "theta")

// file makes a file's name of a coordinate's, which no other has.
func file(name string, k int, taken map[string]bool) string {
	s := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, latin.Replace(name))
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	s = strings.Trim(s, "-")
	if s == "" || s == "rmsd" || taken[s] || len(s) > 60 {
		s = fmt.Sprintf("coordinate-%d", k)
	}
	taken[s] = true
	return s
}

// A guide knows what to look at in conformations.
type guide struct {
	molecule  *molecule.Molecule
	set       *conformation.Set    // nil: another kind of set
	reference *superpose.Reference // nil: none
	seen      []coordinate         // what is compared
	turns     []coordinate         // torsions that differ between conformations
	plane     []coordinate         // two dihedrals to draw against each other; nil: there are none
}
