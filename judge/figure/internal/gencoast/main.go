// Command gencoast decodes the land of a TopoJSON world map into rings of longitude and latitude, one ring per line. It
// is run by go generate in package figure.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"
	"strconv"
)

// topology is the part of the TopoJSON format that is read.
type topology struct {
	Transform struct {
		Scale     [2]float64
		Translate [2]float64
	}
	Objects struct {
		Land struct {
			Type string
			Arcs [][][]int // polygon, ring, arc
		}
	}
	Arcs [][][2]float64
}

type point struct{ lon, lat float64 }

func main() {
	log.SetFlags(0)
	log.SetPrefix("gencoast: ")
	in := flag.String("in", "world-110m.json", "TopoJSON `file` with an object named land")
	out := flag.String("out", "coastline.csv", "CSV `file` to write")
	flag.Parse()

	raw, err := os.ReadFile(*in)
	if err != nil {
		log.Fatal(err)
	}
	var topo topology
	if err := json.Unmarshal(raw, &topo); err != nil {
		log.Fatal(err)
	}
	rings, err := topo.land()
	if err != nil {
		log.Fatal(err)
	}
	dst, err := os.Create(*out)
	if err != nil {
		log.Fatal(err)
	}
	if err := write(dst, rings); err != nil {
		log.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		log.Fatal(err)
	}
}

// land returns the closed rings of the land polygons: outer rings run
// anticlockwise on the map (north up), holes clockwise.
func (t *topology) land() ([][]point, error) {
	if t.Objects.Land.Type != "MultiPolygon" {
		return nil, fmt.Errorf("land is a %q, want a MultiPolygon", t.Objects.Land.Type)
	}
	var rings [][]point
	for p, polygon := range t.Objects.Land.Arcs {
		for r, arcs := range polygon {
			ring, err := closePole(t.ring(arcs))
			if err != nil {
				return nil, fmt.Errorf("polygon %d, ring %d: %w", p, r, err)
			}
			if outer := r == 0; (area(ring) > 0) != outer {
				slices.Reverse(ring)
			}
			rings = append(rings, ring)
		}
	}
	return rings, nil
}

// ring joins arcs end to end. Index ^i stands for arc i reversed, and each arc's
// first point repeats the last point of the arc before it.
func (t *topology) ring(arcs []int) []point {
	var ring []point
	for _, i := range arcs {
		part := t.arc(max(i, ^i))
		if i < 0 {
			slices.Reverse(part)
		}
		if len(ring) > 0 {
			part = part[1:]
		}
		ring = append(ring, part...)
	}
	return ring
}

// arc undoes the delta coding and quantisation of arc i, and rounds to two
// decimals (about one kilometre; the map is drawn for 1:110 million).
func (t *topology) arc(i int) []point {
	var x, y float64
	arc := make([]point, len(t.Arcs[i]))
	for k, delta := range t.Arcs[i] {
		x, y = x+delta[0], y+delta[1]
		arc[k] = point{
			lon: round(x*t.Transform.Scale[0] + t.Transform.Translate[0]),
			lat: round(y*t.Transform.Scale[1] + t.Transform.Translate[1]),
		}
	}
	return arc
}

// round keeps two decimals; adding 0 turns −0 into 0.
func round(v float64) float64 { return math.Round(v*100)/100 + 0 }

// closePole leaves a ring within ±180° as it is. A ring that crosses the antimeridian once goes around a pole
// (Antarctica): it is cut there, and led along the antimeridian to the pole and back on the other side.
func closePole(ring []point) ([]point, error) {
	cut := -1
	for i := 1; i < len(ring); i++ {
		if math.Abs(ring[i].lon-ring[i-1].lon) <= 180 {
			continue
		}
		if cut >= 0 {
			return nil, fmt.Errorf("crosses the antimeridian more than once, at points %d and %d", cut, i)
		}
		cut = i
	}
	if cut < 0 {
		return ring, nil
	}
	a, b := ring[cut-1], ring[cut]
	edge := math.Copysign(180, a.lon)
	gapA, gapB := math.Abs(edge-a.lon), math.Abs(-edge-b.lon)
	lat := a.lat
	if gapA+gapB > 0 {
		lat = round(a.lat + (b.lat-a.lat)*gapA/(gapA+gapB))
	}
	pole := math.Copysign(90, lat)
	return slices.Insert(slices.Clone(ring), cut,
		point{edge, lat}, point{edge, pole}, point{-edge, pole}, point{-edge, lat}), nil
}

// area is the signed area in the (lon, lat) plane, positive when anticlockwise.
func area(ring []point) float64 {
	var sum float64
	for i := 1; i < len(ring); i++ {
		sum += ring[i-1].lon*ring[i].lat - ring[i].lon*ring[i-1].lat
	}
	return sum / 2
}

func write(dst io.Writer, rings [][]point) error {
	w := bufio.NewWriter(dst)
	fmt.Fprintln(w, "# Land, 1:110 million, from Natural Earth (naturalearthdata.com). Public domain.")
	fmt.Fprintln(w, "# One closed ring per line: longitude,latitude,longitude,latitude,… in degrees;")
	fmt.Fprintln(w, "# outer rings anticlockwise, holes clockwise.")
	for _, ring := range rings {
		for i, p := range ring {
			if i > 0 {
				w.WriteByte(',')
			}
			w.WriteString(strconv.FormatFloat(p.lon, 'f', -1, 64))
			w.WriteByte(',')
			w.WriteString(strconv.FormatFloat(p.lat, 'f', -1, 64))
		}
		w.WriteByte('\n')
	}
	return w.Flush()
}
