package dataset

import (
	"fmt"
	"io"
	"math"
	"os"
)

// earthColumns are those of a catalogue. Longitudes come in two conventions, from −180 and from 0; both are taken.
var earthColumns = []column{
	{name: "latitude", min: -90, max: 90, want: "[-90, 90]"},
	{name: "longitude", min: -180, max: 360, want: "[-180, 360]"},
}

// ReadEarth reads a catalogue from the named file; see DecodeEarth. A .parquet file has columns latitude and
// longitude among others.
func ReadEarth(path string) (*Points, error) {
	t, err := readFile(path, func(f *os.File) (*Points, error) { return decodeColumns(f, earthColumns) })
	if err != nil {
		return nil, err
	}
	return places(t), nil
}

// DecodeEarth reads a catalogue of places, one "latitude,longitude" in degrees on each line, and returns them as unit
// vectors (see FromLatLon). Blank lines and lines that begin with # are skipped, and the first line of the others may
// be a header. Longitudes may run from −180 or from 0. Errors call the input name.
func DecodeEarth(name string, r io.Reader) (*Points, error) {
	t, err := decodeTable(name, r, earthColumns)
	if err != nil {
		return nil, err
	}
	return places(t), nil
}

func places(t *Points) *Points {
	x := make([]float64, 0, 3*t.N)
	t.Place = Ranges([]string{"latitude", "longitude"}, t.X, t.D)
	if len(t.Header) > 1 {
		t.Place = fmt.Sprintf("latitude is %s, longitude is %s: %s", t.Header[0], t.Header[1], t.Place)
	}
	for i := range t.N {
		u := FromLatLon(t.X[2*i], t.X[2*i+1])
		x = append(x, u[:]...)
	}
	t.X, t.D, t.Header = x, 3, nil
	return t
}

// FromLatLon returns the unit vector (cos φ cos λ, cos φ sin λ, sin φ) of the
// latitude φ and the longitude λ, in degrees.
func FromLatLon(lat, lon float64) [3]float64 {
	sinLat, cosLat := math.Sincos(lat * (math.Pi / 180))
	sinLon, cosLon := math.Sincos(lon * (math.Pi / 180))
	return [3]float64{cosLat * cosLon, cosLat * sinLon, sinLat}
}

// LatLon returns the latitude in [−90, 90] and the longitude in [−180, 180],
// in degrees, of the direction (x, y, z), which need not have unit length.
func LatLon(x, y, z float64) (lat, lon float64) {
	return math.Atan2(z, math.Hypot(x, y)) * (180 / math.Pi), math.Atan2(y, x) * (180 / math.Pi)
}
