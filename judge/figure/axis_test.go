package figure

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		log    bool
		want   string
	}{
		{0, 200, false, "0 50 100 150 200"},
		{-1, 1, false, "−1.0 −0.5 0 0.5 1.0"},
		{0, 0.3, false, "0 0.1 0.2 0.3"},
		{0, 40000, false, "0 10_000 20_000 30_000 40_000"},
		{0, 4e7, false, "0 1×10^7 2×10^7 3×10^7 4×10^7"},
		{-2e-9, 2e-9, false, "−2×10^−9 −1×10^−9 0 1×10^−9 2×10^−9"},
		{0.01, 100, true, "0.01 0.1 1 10 100"},
		{1e-12, 1e-4, true, "10^−12 10^−10 10^−8 10^−6 10^−4"},
		{2, 6, true, "2 3 4 5 6"},
	} {
		var got []string
		for _, k := range newAxis(c.lo, c.hi, 0, c.log).ticks(5) {
			s := strings.ReplaceAll(k.text, space, "_")
			if k.sup != "" {
				s += "^" + k.sup
			}
			got = append(got, s)
		}
		testkit.Equal(t, strings.Join(got, " "), c.want, "[%g, %g] log %t", c.lo, c.hi, c.log)
	}
}

// Whatever the range, ticks lie on the axis, in order, and are neither missing nor a crowd.
func TestTicksOfAnyRange(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 5000 {
		log := r.IntN(2) == 0
		lo := math.Pow(10, 40*r.Float64()-20)
		hi := lo * math.Pow(10, math.Pow(10, 3*r.Float64()-2))
		if !log && r.IntN(2) == 0 {
			lo, hi = -hi, -lo
		}
		ticks := newAxis(lo, hi, 0.05, log).ticks(5)
		if len(ticks) < 2 || len(ticks) > 12 {
			t.Fatalf("[%g, %g] log %t: %d ticks", lo, hi, log, len(ticks))
		}
		for i, k := range ticks {
			if k.at < -1e-6 || k.at > 1+1e-6 || i > 0 && k.at <= ticks[i-1].at {
				t.Fatalf("[%g, %g] log %t: tick %d at %g", lo, hi, log, i, k.at)
			}
			if i > 0 && k.text == ticks[i-1].text && k.sup == ticks[i-1].sup {
				t.Fatalf("[%g, %g] log %t: the label %s^%s twice", lo, hi, log, k.text, k.sup)
			}
		}
	}
}

func TestAxisAlwaysHasASpan(t *testing.T) {
	for _, r := range [][2]float64{{0, 0}, {3, 3}, {-1e9, -1e9}, {1, 1 + 1e-15}, {5e-324, 1e-323}, {-largest, largest},
		{math.Inf(1), math.Inf(-1)}} {
		for _, log := range []bool{false, true} {
			if log && r[0] <= 0 {
				continue
			}
			if a := newAxis(r[0], r[1], 0.05, log); !(a.lo < a.hi) || math.IsInf(a.lo, 0) || math.IsInf(a.hi, 0) {
				t.Errorf("range %v, log %t: axis %v", r, log, a)
			} else if n := len(a.ticks(5)); n > 12 {
				t.Errorf("range %v, log %t: %d ticks", r, log, n)
			}
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		v    float64
		n    int
		want string
	}{
		{1703, 0, "1703"}, {12345, 0, "12_345"}, {-1234567.5, 1, "−1_234_567.5"}, {-0.0004, 2, "0.00"},
		{0.25, 2, "0.25"},
	} {
		testkit.Equal(t, strings.ReplaceAll(decimal(c.v, c.n), space, "_"), c.want, "decimal(%g, %d)", c.v, c.n)
	}
	testkit.Equal(t, strings.ReplaceAll(count(1703), space, "_"), "1_703", "count(1703)")
}

// Labels of ticks stay clear of the axis's name beside them in a font wider by three tenths, as browsers may have.
func TestAxisNamesStandClear(t *testing.T) {
	names := 0
	for name, d := range gallery() {
		var up []float64
		for _, i := range d.(*Chart).scene.items {
			if l, ok := i.(label); ok && l.up {
				up = append(up, l.at.x+0.25*l.size) // below its baseline
			}
		}
		names += len(up)
		for _, i := range d.(*Chart).scene.items {
			l, ok := i.(label)
			if !ok || l.anchor != end || l.up {
				continue
			}
			left := l.at.x - 1.3*(textWidth(l.text, l.size)+supScale*textWidth(l.sup, l.size))
			for _, x := range up {
				if x < l.at.x && x > left {
					t.Errorf("%s: %q begins at %.1f, the axis's name ends at %.1f", name, l.text, left, x)
				}
			}
		}
	}
	if names == 0 {
		t.Error("no axis has a name")
	}
}

// The extent of the unit sphere's map, from the published coefficients.
func TestEqualEarthExtent(t *testing.T) {
	testkit.Near(t, eeWidth, 2.7066299836960748, 1e-12, "half width")
	testkit.Near(t, eeHeight, 1.3173627591574132, 1e-12, "half height")
	// The paper: poles are lines 0.59 times as long as the equator.
	x, _ := equalEarth(math.Pi/2, math.Pi)
	testkit.Near(t, x/eeWidth, 0.59, 0.005, "pole to equator")
}

func TestEqualEarthSymmetry(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		phi, lambda := (r.Float64()-0.5)*math.Pi, (r.Float64()-0.5)*2*math.Pi
		x, y := equalEarth(phi, lambda)
		if u, v := equalEarth(-phi, lambda); u != x || v != -y {
			t.Fatalf("φ → −φ at (%g, %g): (%g, %g) and (%g, %g)", phi, lambda, x, y, u, v)
		}
		if u, v := equalEarth(phi, -lambda); u != -x || v != y {
			t.Fatalf("λ → −λ at (%g, %g): (%g, %g) and (%g, %g)", phi, lambda, x, y, u, v)
		}
	}
}

// Areas are true: the Jacobian's determinant is cos φ everywhere. Since y depends on φ alone and x is linear in λ, it
// is ∂x/∂λ · dy/dφ; dy/dφ is taken by a central difference of eighth order.
func TestEqualEarthArea(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const h = 5e-3
	weights := []float64{4. / 5, -1. / 5, 4. / 105, -1. / 280}
	for range 500 {
		phi, lambda := (r.Float64()-0.5)*(math.Pi-0.1), (r.Float64()-0.5)*2*math.Pi
		var dy float64
		for i, w := range weights {
			step := float64(i+1) * h
			_, up := equalEarth(phi+step, lambda)
			_, down := equalEarth(phi-step, lambda)
			dy += w * (up - down) / h
		}
		right, _ := equalEarth(phi, lambda+1)
		left, _ := equalEarth(phi, lambda-1)
		if got := (right - left) / 2 * dy; math.Abs(got-math.Cos(phi)) > 1e-9 {
			t.Fatalf("at φ = %g: area scale %.12g, want %.12g", phi, got, math.Cos(phi))
		}
	}
}

func ringArea(ring []geo) float64 {
	var sum float64
	for i := 1; i < len(ring); i++ {
		sum += ring[i-1].lon*ring[i].lat - ring[i].lon*ring[i-1].lat
	}
	return sum / 2
}

func TestCoastlineRings(t *testing.T) {
	rings := coastline()
	if len(rings) < 100 {
		t.Fatalf("%d rings, want the world's", len(rings))
	}
	holes := 0
	for n, ring := range rings {
		if len(ring) < 4 || ring[0] != ring[len(ring)-1] {
			t.Errorf("ring %d is not closed", n)
		}
		for i, p := range ring {
			if !(math.Abs(p.lat) <= 90 && math.Abs(p.lon) <= 180) {
				t.Errorf("ring %d, point %d: %v is off the map", n, i, p)
			}
			if i > 0 && math.Abs(p.lon-ring[i-1].lon) > 20 && !onFrame(p, ring[i-1]) {
				t.Errorf("ring %d jumps from %v to %v", n, ring[i-1], p)
			}
		}
		if ringArea(ring) < 0 {
			holes++
		}
	}
	if holes != 1 {
		t.Errorf("%d rings run clockwise, want one, the Caspian Sea", holes)
	}
}

// The land's area on the unit sphere is known: 29 % of it, Antarctica included. The
// map is equal-area, so it can be measured on the map.
func TestCoastlineLandArea(t *testing.T) {
	p := plate{scale: 1}
	var area, antarctica float64
	for _, ring := range coastline() {
		line := p.line(ring)
		var sum float64
		for i := 1; i < len(line); i++ {
			sum -= (line[i-1].x*line[i].y - line[i].x*line[i-1].y) / 2 // y runs down
		}
		area += sum
		for _, g := range ring {
			if g.lat == -90 {
				antarctica = sum
			}
		}
	}
	if share := area / (4 * math.Pi); math.Abs(share-0.29) > 0.01 {
		t.Errorf("land covers %.3f of the sphere, want 0.29", share)
	}
	// 14 million of 510 million square kilometres.
	if share := antarctica / (4 * math.Pi); math.Abs(share-0.0275) > 0.004 {
		t.Errorf("Antarctica covers %.4f of the sphere, want 0.0275", share)
	}
}

func TestShoresHaveNoStreaks(t *testing.T) {
	for n, ring := range coastline() {
		for _, piece := range shores(ring) {
			for i := 1; i < len(piece); i++ {
				if math.Abs(piece[i].lon-piece[i-1].lon) > 20 || onFrame(piece[i], piece[i-1]) {
					t.Errorf("ring %d: stroke from %v to %v", n, piece[i-1], piece[i])
				}
			}
		}
	}
	ring := []geo{{0, 180}, {1, 180}, {1, 170}, {0, 170}, {0, 180}}
	if got := shores(ring); len(got) != 1 || len(got[0]) != 4 {
		t.Errorf("shores of a square at the antimeridian: %v", got)
	}
}
