package dataset

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/landing-diffusion/landing/base/arrayfile"
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

// Tables that training does not read are read as they are written, and that is said; those that it does
// are never taken for others.
func TestDialects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	survey := func(text string, how Reading) (*Survey, error) {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		return ReadSurvey(path, how)
	}
	testkit.Cases(t, func(text string) string {
		s, err := survey(testkit.Must(strconv.Unquote(text)), Reading{})
		if err != nil {
			return strings.ReplaceAll(err.Error(), path, "t.csv")
		}
		return fmt.Sprintf("%q %v, faulty %v; %s %s", s.Header, s.X, s.Faulty, s.Foreign, s.Remarks)
	})
	late := testkit.Must(survey("a,b\n"+strings.Repeat("0.5,1.5\n", 99)+"\"2,500\",\"7.5\"\n", Reading{}))
	testkit.EqualSlices(t, late.X, append(slices.Repeat([]float64{0.5, 1.5}, 99), 2500, 7.5))
	testkit.Contains(t, late.Foreign, "in quotes and some")
	// Codes are no numbers, nor is a line of units below another; a quote that nothing closes hides no later one.
	for text, want := range map[string][]int{"a,b\n12D34,1\n1.5D4,2\n4d+12,3\n": {3, 0, 1},
		"a,b\nm,s\nk,g\n1,2\n3,4\n": {3, 1, 0},
		"a,b\n\"1,2\n" + strings.Repeat("1,2\n", 48) + "\"3\",\"4\n\"\n5,6\n": {51, 1, 0}} {
		s := testkit.Must(survey(text, Reading{}))
		testkit.EqualSlices(t, []int{s.N, len(s.Faulty), len(s.Text)}, want, text)
	}
	// What the user says decides.
	for how, x := range map[Reading][]float64{{Decimal: "point"}: {1234, 2, 3456, 4}, {Decimal: "comma"}: {1.234, 2,
		3.456, 4}, {Decimal: "point", Header: "yes"}: {3456, 4}} {
		testkit.EqualSlices(t, testkit.Must(survey("\"1,234\",2\n\"3,456\",4\n", how)).X, x, "%+v", how)
	}
	// The report names a column without a number, and its rows do not count as faulty.
	s, err := survey("a,b,c\n1,,x\n2,,y\n", Reading{})
	if err != nil || !slices.Equal(s.Text, []int{1, 2}) || !slices.Equal(s.Empty, []int{1}) || len(s.Faulty) > 0 {
		t.Errorf("%v, %+v", err, s)
	}
}

// archive writes an archive of arrays of 3×2, whose first number is their place.
func archive(t *testing.T, names ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.npz")
	var all bytes.Buffer
	z := zip.NewWriter(&all)
	for k, name := range names {
		w := testkit.Must(z.Create(name + ".npy"))
		testkit.OK(t, arrayfile.EncodeNPY(w, arrayfile.Of([]float64{float64(k), 1, 2, 3, 4, 5}, 3, 2)))
	}
	testkit.OK(t, z.Close())
	testkit.OK(t, os.WriteFile(path, all.Bytes(), 0o666))
	return path
}

// Of an archive the only array is read, or the one with a name of points; two such, or none, are
// an error that tells what there is.
func TestReadPointsNPZ(t *testing.T) {
	for _, c := range []struct {
		names []string
		first float64
		fault string
	}{
		{[]string{"anything"}, 0, ""}, {[]string{"labels", "points"}, 1, ""}, {[]string{"a", "X", "b"}, 1, ""},
		{[]string{"a", "b"}, 0, "it holds the arrays a, b"}, {[]string{"x", "X"}, 0, "it holds the arrays x, X"},
	} {
		path := archive(t, c.names...)
		p, err := ReadPoints(path)
		if c.fault != "" {
			testkit.Refused(t, err, c.fault)
			continue
		}
		if err != nil || p.N != 3 || p.D != 2 || p.X[0] != c.first || p.X[5] != 5 || p.Name != "a.npz" ||
			len(p.SHA256) != 64 {
			t.Errorf("%v: %+v, %v", c.names, p, err)
		}
	}
	s, err := ReadSurvey(archive(t, "a", "b"), Reading{Array: "b"})
	if err != nil || s.X[0] != 1 || s.Array != "b" || s.Format != "NPZ, float64" {
		t.Errorf("the array b: %+v, %v", s, err)
	}
}

// A survey refuses no cell: it lists bad ones, by row and column.
func TestSurvey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	text := "\ufeff# c\nname,x,y\nann,1,2\n\nbob,,3\ncy,nan,1e999\ndi,5,6,7\n,8,9\n"
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
	s := testkit.Must(ReadSurvey(path, Reading{}))
	if s.N != 5 || s.D != 3 || !slices.Equal(s.Text, []int{0}) || !slices.Equal(s.Lines, []int{3, 5, 6, 7, 8}) ||
		!slices.Equal(s.Faulty, []int{1, 2, 3}) || !slices.Equal(s.Header, []string{"name", "x", "y"}) {
		t.Errorf("%+v", s)
	}
	want := []Fault{{1, 1, `""`}, {2, 1, "nan"}, {2, 2, "1e999"}, {3, -1, "4 columns"}}
	testkit.EqualSlices(t, s.Faults, want, "faults")
	if s.X[1] != 1 || s.X[2] != 2 || s.X[13] != 8 || !math.IsNaN(s.X[4]) || s.X[5] != 3 || !math.IsNaN(s.X[10]) {
		t.Errorf("numbers %v", s.X)
	}
	for text, fault := range map[string]string{"": "is empty", "a,b\n": "no data", "a,b\nc,d\n": "no data",
		"a,b\n" + strings.Repeat("c,d\n", 1e5): "there are no numbers"} { // in time
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		testkit.Refused(t, testkit.Err(ReadSurvey(path, Reading{})), fault, text)
	}
	// A last row with the sums of all columns is no row; one of whose sums is another is, and one among others.
	rows, even := strings.Repeat("1,0.5\n2,-0.25\n", 6), strings.Repeat("1,-2\n-1,2\n", 6)
	for rows, want := range map[string]int{rows + "18,1.5\n": 1, rows + "18,1.6\n": 0, rows + "0,0\n": 0,
		even + "0,0\n": 0} {
		testkit.OK(t, os.WriteFile(path, []byte("a,b\n"+rows), 0o666))
		s := testkit.Must(ReadSurvey(path, Reading{}))
		testkit.Equal(t, len(s.Faulty), want, rows)
		testkit.Equal(t, s.N, 13, rows)
	}
	if _, err := ReadSurvey("a.csv", Reading{Array: "x"}); !errors.As(err, new(*Error)) {
		t.Errorf("an array of a table: %v", err)
	}
}

// Tables with the columns of a condition, read in each way: what is read, what is said of it, and what is refused.
func TestGivenColumns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.csv")
	for _, text := range []string{"1,2,3\n4,5,6\n7,8,9.5\n", "a,b,c\n1,2,3\n4,5,6\n",
		"b,a,u,c,d,e,f\n1,2,3,4,5,6,7\n2,2,3,4,5,6,0\n",
		"1\n2\n", "u,v\n1,2\n3,4\n", "10,20,3,4\n-90,180,5,6\n", "91,20,3,4\n", "1,2,x\n", "1,2,1e999\n", "",
		"latitude,longitude,u,v\n1,2,3,4\n"} {
		testkit.OK(t, os.WriteFile(file, []byte(text), 0o666))
		for _, names := range [][]string{{"u"}, {"a"}, {"u", "v"}, {"b", "c", "d"}} {
			say := func(how string, p *Points, c []float64, err error) {
				if err != nil {
					testkit.Keep(t, "%q %q %s: %s", text, names, how, strings.ReplaceAll(err.Error(), file, "FILE"))
					return
				}
				said := ""
				if p != nil {
					lines, doubts := p.Described()
					said = fmt.Sprintf("%d rows of %d: %.9g, header %q, %q, %q, %q",
						p.N, p.D, p.X, p.Header, p.Names,
						lines, doubts)
				}
				testkit.Keep(t, "%q %q %s: %s; condition %.9g", text, names, how, said, c)
			}
			p, c, err := ReadPointsGiven(file, names)
			say("points", p, c, err)
			p, c, err = ReadEarthGiven(file, names)
			say("earth", p, c, err)
			c, err = ReadGiven(file, names, 2)
			say("condition", nil, c, err)
		}
	}
}
