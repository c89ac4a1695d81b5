package dataset

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/landing-diffusion/landing/internal/parquetfile"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// parquetOf writes rows to a file.
func parquetOf[T any](t *testing.T, rows ...T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.parquet")
	testkit.OK(t, parquet.WriteFile(path, rows))
	return path
}

type place struct {
	Magnitude float64 `parquet:"magnitude"`
	Lon       float64 `parquet:"lon"`
	Lat       float32 `parquet:"Latitude"`
}

// Points are all columns in order, places and conditions columns by their names.
func TestParquet(t *testing.T) {
	path := parquetOf(t, place{5, 20, 10}, place{6, -30, 40})
	p, err := ReadPoints(path)
	if err != nil || !slices.Equal(p.X, []float64{5, 20, 10, 6, -30, 40}) || p.N != 2 ||
		!slices.Equal(p.Header, []string{"magnitude", "lon", "Latitude"}) || len(p.SHA256) != 64 {
		t.Errorf("%+v, %v", p, err)
	}
	e, c, err := ReadEarthGiven(path, []string{"magnitude"})
	testkit.OK(t, err)
	want := FromLatLon(10, 20)
	if !slices.Equal(e.X[:3], want[:]) || !slices.Equal(c, []float64{5, 6}) {
		t.Errorf("places %v, magnitudes %v", e.X, c)
	}
	if e, err := ReadEarth(path); err != nil || e.N != 2 || e.D != 3 {
		t.Errorf("%+v, %v", e, err)
	}
	q, c, err := ReadPointsGiven(path, []string{"lon"})
	if err != nil || !slices.Equal(q.X, []float64{5, 10, 6, 40}) || !slices.Equal(c, []float64{20, -30}) {
		t.Errorf("%+v, %v, %v", q, c, err)
	}
	// The same numbers as of a CSV file.
	var b bytes.Buffer
	w := parquetfile.NewWriter(&b, []string{"a", "b"})
	testkit.OK(t, errors.Join(w.Write([]float64{0.1, 1e-300, math.Pi, -0}), w.Close()))
	path = filepath.Join(t.TempDir(), "x.parquet")
	testkit.OK(t, os.WriteFile(path, b.Bytes(), 0o600))
	if p, err := ReadPoints(path); err != nil || !slices.Equal(p.X, []float64{0.1, 1e-300, math.Pi, 0}) {
		t.Errorf("%+v, %v", p, err)
	}
}

// What is no number is refused by name; a survey takes it for words or faults.
func TestParquetFaults(t *testing.T) {
	type word struct {
		X float64 `parquet:"x"`
		W string  `parquet:"w"`
	}
	type list struct {
		X []float64 `parquet:"x"`
	}
	type gap struct {
		X float64  `parquet:"x"`
		Y *float64 `parquet:"y,optional"`
	}
	type named struct {
		ID int64    `parquet:"it's an \"id\""`
		X  float64  `parquet:"x"`
		No *float64 `parquet:"no,optional"`
	}
	one := 1.0
	ids := parquetOf(t, named{1 << 60, 1, nil}, named{1<<60 + 1, 2, nil}, named{7, 3, nil})
	words := parquetOf(t, word{1, "a"}, word{2, "b"})
	gaps := parquetOf(t, gap{1, &one}, gap{2, nil})
	damaged := filepath.Join(t.TempDir(), "d.parquet")
	testkit.OK(t, os.WriteFile(damaged, []byte("PAR1 and no more, for long PAR1"), 0o600))
	for path, want := range map[string]string{
		words:                            `column "w" is a string, expected numbers`,
		parquetOf(t, list{[]float64{1}}): `column "x" is a list, expected numbers`,
		gaps:                             `row 1 (from 0), column "y" is NaN or missing, expected a finite number`,
		parquetOf[gap](t):                "the file has no data",
		damaged:                          "expected a Parquet file",
		parquetOf(t, gap{1, &one}, gap{math.Inf(1), &one}): `row 1 (from 0), column "x" is +Inf, expected a finite`,
		ids: `row 0 (from 0), column "it's an \"id\"" is 1152921504606846976, expected a whole number`,
	} {
		_, err := ReadPoints(path)
		if e := new(Error); !errors.As(err, &e) || !strings.Contains(err.Error(), want) || e.File != path {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	testkit.Refused(t, testkit.Err(ReadEarth(parquetOf(t, place{5, 20, 95}))), "is outside [-90, 90]", "latitude 95")
	type several struct {
		Lattice string  `parquet:"lattice"`
		Latency string  `parquet:"latency"`
		Lat     float64 `parquet:"Latitude"`
		Lng     float64 `parquet:"lng"`
	}
	if e, err := ReadEarth(parquetOf(t, several{"a", "b", 10, 20})); err != nil || e.N != 1 {
		t.Errorf("a whole name beside a beginning, and lng: %v", err)
	}
	type twice struct {
		A   float64 `parquet:"lat_a"`
		B   float64 `parquet:"lat_b"`
		Lon float64 `parquet:"lon"`
	}
	testkit.Refused(t, testkit.Err(ReadEarth(parquetOf(t, twice{1, 2, 3}))),
		`columns "lat_a" and "lat_b", expected one latitude`, "two latitudes")
	testkit.Refused(t, testkit.Err(ReadEarth(words)), "expected latitude", "no latitude")
	s, err := ReadSurvey(words, Reading{})
	if err != nil || !slices.Equal(s.Text, []int{1}) || s.X[2] != 2 || s.Format != "Parquet, float64" {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = ReadSurvey(gaps, Reading{})
	if err != nil || !slices.Equal(s.Faulty, []int{1}) || s.Faults[0].Column != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = ReadSurvey(ids, Reading{}); err != nil || !slices.Equal(s.Text, []int{0, 2}) ||
		!slices.Equal(s.Empty, []int{2}) || !slices.Equal(s.Beyond, []int{0}) || len(s.Faults) > 0 {
		t.Errorf("%+v, %v", s, err)
	}
	few := parquetOf(t, named{1 << 60, 1, &one}, named{2, 2, &one}, named{7, 3, &one})
	if s, err = ReadSurvey(few, Reading{}); err != nil || len(s.Text) > 0 || len(s.Faults) != 1 ||
		s.Faults[0] != (Fault{0, 0, "1152921504606846976"}) {
		t.Errorf("%+v, %v", s, err)
	}
}
