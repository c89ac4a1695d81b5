package figure

import (
	"math"
	"testing"
)

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
