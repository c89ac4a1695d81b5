package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testkit.OK(t, os.WriteFile(path, data, 0o600))
	return path
}

func npy(t *testing.T, a arrayfile.Array) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, arrayfile.EncodeNPY(&b, a))
	return b.Bytes()
}

func TestRandomSplitGolden(t *testing.T) {
	splits := golden.Read(t, "s2_splits.npz")
	for name, n := range map[string]int{"volcano": 827, "earthquake": 6120, "flood": 4875, "fire": 12809} {
		s := RandomSplit(n, 1)
		for part, rows := range map[string][]int{"train": s.Train, "val": s.Val, "test": s.Test} {
			want, ok := splits[name+"_"+part]
			if !ok {
				t.Fatalf("no array %s_%s", name, part)
			}
			same := slices.EqualFunc(rows, want.Int64, func(a int, b int64) bool { return a == int(b) })
			if !same {
				t.Errorf("%s_%s differs from the reference", name, part)
			}
		}
	}
}

func TestRandomSplitIsPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "n")
		s := RandomSplit(n, rapid.Uint64().Draw(t, "seed"))
		if len(s.Val) != n/10 || len(s.Test) != n/10 {
			t.Fatalf("%d and %d rows held out of %d", len(s.Val), len(s.Test), n)
		}
		all := slices.Sorted(slices.Values(slices.Concat(s.Train, s.Val, s.Test)))
		if len(all) != n {
			t.Fatalf("%d rows of %d", len(all), n)
		}
		for i, r := range all {
			if r != i {
				t.Fatalf("row %d is missing or twice", i)
			}
		}
		val := slices.Clone(s.Val)
		_ = append(s.Train, -1)
		if !slices.Equal(val, s.Val) {
			t.Fatal("appending to one part changed another")
		}
	})
}

func TestReadEarthCatalogues(t *testing.T) {
	for name, n := range map[string]int{"volcano": 827, "earthquake": 6120, "flood": 4875, "fire": 12809} {
		p := testkit.Must(ReadEarth(testkit.Shared(t, "data/earth/"+name+".csv")))
		if p.N != n || p.D != 3 || len(p.X) != 3*n || p.Name != name+".csv" {
			t.Errorf("%s: N = %d, D = %d, %d numbers; want %d rows of 3", p.Name, p.N, p.D, len(p.X), n)
		}
		for i := range p.N {
			x, y, z := p.X[3*i], p.X[3*i+1], p.X[3*i+2]
			if r := x*x + y*y + z*z; !(math.Abs(r-1) < 1e-15) {
				t.Fatalf("%s: row %d has squared norm %v", name, i, r)
			}
		}
	}
	p := testkit.Must(ReadEarth(testkit.Shared(t, "data/earth/volcano.csv")))
	if lat, lon := LatLon(p.X[0], p.X[1], p.X[2]); math.Abs(lat+30.2) > 1e-12 || math.Abs(lon+178.47) > 1e-12 {
		t.Errorf("first volcano at %v, %v; want -30.2, -178.47", lat, lon)
	}
}

func TestFromLatLon(t *testing.T) {
	for _, c := range []struct {
		lat, lon float64
		want     [3]float64
	}{
		{0, 0, [3]float64{1, 0, 0}},
		{0, 90, [3]float64{0, 1, 0}},
		{0, -90, [3]float64{0, -1, 0}},
		{0, 180, [3]float64{-1, 0, 0}},
		{90, 77, [3]float64{0, 0, 1}},
		{-90, 0, [3]float64{0, 0, -1}},
		{30, 60, [3]float64{math.Sqrt(3) / 4, 0.75, 0.5}},
		{30, 60 - 360, [3]float64{math.Sqrt(3) / 4, 0.75, 0.5}},
	} {
		got := FromLatLon(c.lat, c.lon)
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-15 {
				t.Errorf("FromLatLon(%v, %v) = %v, want %v", c.lat, c.lon, got, c.want)
				break
			}
		}
	}
}

func TestLatLonInvertsFromLatLon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lat := rapid.Float64Range(-89.9, 89.9).Draw(t, "lat")
		lon := rapid.Float64Range(-179.9, 179.9).Draw(t, "lon")
		scale := rapid.Float64Range(0.1, 10).Draw(t, "scale")
		u := FromLatLon(lat, lon)
		gotLat, gotLon := LatLon(scale*u[0], scale*u[1], scale*u[2])
		if math.Abs(gotLat-lat) > 1e-12 || math.Abs(gotLon-lon) > 1e-12 {
			t.Fatalf("(%v, %v) came back as (%v, %v)", lat, lon, gotLat, gotLon)
		}
	})
}

func TestLatLonRange(t *testing.T) {
	for _, v := range [][3]float64{{0, 0, 1}, {0, 0, -1}, {-1, 0, 0}, {-1, math.Copysign(0, -1), 0}} {
		lat, lon := LatLon(v[0], v[1], v[2])
		if !(math.Abs(lat) <= 90 && math.Abs(lon) <= 180) {
			t.Errorf("LatLon(%v) = %v, %v", v, lat, lon)
		}
	}
}

func TestDecodeEarthAccepts(t *testing.T) {
	want := FromLatLon(-30.2, 200)
	for name, text := range map[string]string{
		"plain":       "-30.2,200\n",
		"no line end": "-30.2,200",
		"CRLF":        "# c\r\nlat,lon\r\n\r\n-30.2,200\r\n",
		"BOM":         "\ufefflat,lon\n-30.2,200\n",
		"BOM comment": "\ufeff# c\n-30.2,200\n",
		"BOM number":  "\ufeff-30.2,200\n",
		"spaces":      "  lat , lon\n\n \t\n -30.2 ,\t200 \n # c\n",
		"exponent":    "-3.02e1,2E2\n",
	} {
		p, err := DecodeEarth("x.csv", strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.N != 1 || p.D != 3 || !slices.Equal(p.X, want[:]) || p.Name != "x.csv" {
			t.Errorf("%s: got %+v", name, p)
		}
		sum := sha256.Sum256([]byte(text))
		testkit.Equal(t, p.SHA256, hex.EncodeToString(sum[:]), "%s: SHA256", name)
	}
}

func TestDecodeEarthRefuses(t *testing.T) {
	testkit.Cases(t, func(text string) string {
		_, err := DecodeEarth("x.csv", strings.NewReader(testkit.Must(strconv.Unquote(text))))
		var typed *Error
		if !errors.As(err, &typed) || typed.File != "x.csv" {
			t.Errorf("%s: error %#v is no *Error of x.csv", text, err)
		}
		return fmt.Sprint(err)
	})
}

func TestErrorFields(t *testing.T) {
	_, err := DecodeEarth("volcano.csv", strings.NewReader("lat,lon\n95,3\n"))
	var got *Error
	want := Error{File: "volcano.csv", Line: 2, Column: "latitude", Value: "95", Want: "[-90, 90]"}
	if !errors.As(err, &got) || *got != want {
		t.Errorf("got %#v, want %#v", err, want)
	}
}

func TestDecodeCSV(t *testing.T) {
	p := testkit.Must(decodeAny("p.csv", strings.NewReader("# c\nx,y,z\n1,2,3\n4,5,-6e-3\n")))
	if p.N != 2 || p.D != 3 || !slices.Equal(p.X, []float64{1, 2, 3, 4, 5, -6e-3}) {
		t.Errorf("got %+v", p)
	}
	for _, text := range []string{"0,1\n.5,-1.5\n.5,2.5\n", "x,1\n.5,\u22121.5\n.5,2.5\n",
		"a,b\n5.D-01,-1.5D+00\n.5,0.25d01\n"} {
		if p, err := decodeAny("p.csv", strings.NewReader(text)); err != nil || p.Header == nil ||
			!slices.Equal(p.X, []float64{0.5, -1.5, 0.5, 2.5}) {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
	testkit.Cases(t, func(text string) string {
		_, err := decodeAny("p.csv", strings.NewReader(testkit.Must(strconv.Unquote(text))))
		return fmt.Sprint(err)
	})
}

func TestDecodeCSVLongLine(t *testing.T) {
	text := "1,2\n" + strings.Repeat("1", maxLine+1)
	_, err := decodeAny("p.csv", strings.NewReader(text))
	want := fmt.Sprintf("p.csv:2: a line of more than %d bytes, expected a shorter one", maxLine)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestReadPointsNPY(t *testing.T) {
	data := npy(t, arrayfile.Array{Shape: []int{2, 3, 2}, Float32: []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}})
	p := testkit.Must(ReadPoints(write(t, "p.npy", data)))
	if p.Name != "p.npy" || p.N != 2 || p.D != 6 ||
		!slices.Equal(p.X, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
		t.Errorf("got %+v", p)
	}
	sum := sha256.Sum256(data)
	testkit.Equal(t, p.SHA256, hex.EncodeToString(sum[:]), "SHA256")
	testkit.EqualSlices(t, p.Rows([]int{1, 0, 1}), slices.Concat(p.X[6:], p.X[:6], p.X[6:]), "Rows")
}

func TestReadPointsNPYRefuses(t *testing.T) {
	nan := npy(t, arrayfile.Array{Shape: []int{2, 2}, Float64: []float64{0, 1, 2, math.NaN()}})
	inf := npy(t, arrayfile.Array{Shape: []int{2, 2}, Float32: []float32{0, float32(math.Inf(-1)), 2, 3}})
	flat := npy(t, arrayfile.Array{Shape: []int{5}, Float64: make([]float64, 5)})
	none := npy(t, arrayfile.Array{Shape: []int{0, 3}, Float64: []float64{}})
	thin := npy(t, arrayfile.Array{Shape: []int{3, 0}, Float64: []float64{}})
	mask := fmt.Appendf(nil, "\x93NUMPY\x01\x00\x46\x00%-69s\n\x01",
		"{'descr': '|b1', 'fortran_order': False, 'shape': (1, 1)}")
	for _, c := range []struct {
		data []byte
		want string
	}{
		{nan, "row 1, column 1 (both from 0) is NaN, expected a finite number"},
		{inf, "row 0, column 1 (both from 0) is -Inf, expected a finite number"},
		{flat, "an array of shape [5], expected [n d], both at least 1"},
		{none, "an array of shape [0 3], expected [n d], both at least 1"},
		{thin, "an array of shape [3 0], expected [n d], both at least 1"},
		{mask, "an array of booleans, expected numbers"},
		{nan[:len(nan)-3], "data end after 29 of 32 bytes: the file is truncated"},
		{append(slices.Clone(mask), 1, 2), "more bytes follow the data, expected the end of the file"},
	} {
		path := write(t, "p.npy", c.data)
		if _, err := ReadPoints(path); err == nil || err.Error() != path+": "+c.want {
			t.Errorf("\n got %v\nwant %s: %s", err, path, c.want)
		}
	}
}

func TestReadPointsExtension(t *testing.T) {
	p, err := ReadPoints(write(t, "P.TXT", []byte("1\n2\n")))
	if err != nil || p.N != 2 || p.D != 1 {
		t.Errorf("P.TXT: %+v, %v", p, err)
	}
	_, err = ReadPoints("p.xyz")
	want := `p.xyz: extension ".xyz", expected .npy, .npz, .csv, .tsv, .txt or .parquet`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := ReadPoints(filepath.Join(t.TempDir(), "p.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
}

func TestReadPointsReferenceData(t *testing.T) {
	p := testkit.Must(ReadPoints(testkit.Shared(t, "data/alanine/dipeptide_refined_phi_psiwin.npy")))
	if p.N != 6029 || p.D != 30 {
		t.Errorf("%d points in R^%d, want 6029 in R^30", p.N, p.D)
	}
}

func TestRowsPanics(t *testing.T) {
	p := &Points{N: 2, D: 1, X: []float64{1, 2}}
	for _, i := range []int{-1, 2} {
		func() {
			defer func() {
				if got, want := recover(), fmt.Sprintf("dataset: row %d of 2", i); got != want {
					t.Errorf("panic %v, want %s", got, want)
				}
			}()
			p.Rows([]int{i})
		}()
	}
}

// check holds what every successful reading promises.
func check(t *testing.T, p *Points, err error, file string) {
	t.Helper()
	if err != nil {
		if !strings.HasPrefix(err.Error(), file) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000 {
			t.Fatalf("error %q is not one line that begins with the file", err)
		}
		return
	}
	if p.N < 1 || p.D < 1 || len(p.X) != p.N*p.D {
		t.Fatalf("N = %d, D = %d, %d numbers", p.N, p.D, len(p.X))
	}
	for _, v := range p.X {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("%v passed", v)
		}
	}
}

func FuzzDecodeEarth(f *testing.F) {
	for _, s := range []string{"", "# c\nLatitude,Longitude\n-30.2,-178.47\n", "\ufefflat,lon\r\n1,2\r\n", "95,0\n",
		"1\n", "nan,inf", "lon,lat\n", ",,,"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := DecodeEarth("x.csv", bytes.NewReader(data))
		check(t, p, err, "x.csv:")
		if err != nil {
			return
		}
		for i := range p.N {
			x, y, z := p.X[3*i], p.X[3*i+1], p.X[3*i+2]
			if math.Abs(x*x+y*y+z*z-1) > 1e-14 {
				t.Fatalf("row %d is no unit vector", i)
			}
		}
	})
}

func FuzzDecodeCSV(f *testing.F) {
	for _, s := range []string{"", "a,b\n1,2\n", "1,2\n3\n", "0x1p-2,1_0\n", "1e999\n", "#\n\n1\n",
		"a,1\n", "\ufeff1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodeAny("p.csv", bytes.NewReader(data))
		check(t, p, err, "p.csv:")
		if err == nil && len(p.X) > len(data) {
			t.Fatalf("%d numbers out of %d bytes", len(p.X), len(data))
		}
	})
}

func TestReadErrorsAreKept(t *testing.T) {
	broken := errors.New("the disk is gone")
	for name, decode := range map[string]func(string, io.Reader) (*Points, error){
		"earth": DecodeEarth, "csv": decodeAny,
	} {
		if _, err := decode("x", iotest.ErrReader(broken)); !errors.Is(err, broken) ||
			!strings.HasPrefix(err.Error(), "x: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A quoted first row is refused, not skipped as a header.
func TestQuotedRowIsNoHeader(t *testing.T) {
	_, err := DecodeEarth("q.csv", strings.NewReader("\"1\",\"2\"\n3,4\n"))
	var e *Error
	if !errors.As(err, &e) || e.Line != 1 {
		t.Errorf("got %v", err)
	}
}

// A file of too many numbers is refused: text of two bytes a number takes eight in memory.
func TestTooManyNumbers(t *testing.T) {
	defer func() { maxNumbers = MaxNumbers }()
	maxNumbers = 6
	for _, c := range []struct {
		name  string
		bytes []byte
		fits  bool
	}{
		{"a.csv", []byte("0,1\n0,1\n0,1\n"), true}, {"b.csv", []byte("0,1\n0,1\n0,1\n0,1\n"), false},
		{"c.npy", npy(t, arrayfile.Of(make([]float32, 6), 6, 1)), true},
		{"d.npy", npy(t, arrayfile.Of(make([]float32, 7), 7, 1)), false},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		testkit.OK(t, os.WriteFile(path, c.bytes, 0o666))
		_, err := ReadPoints(path)
		if c.fits != (err == nil) || err != nil && !strings.Contains(err.Error(), " 6") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Whole numbers that float64 rounds are refused by their place, the largest that it holds are not.
func TestBeyondFloat64(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	for last, want := range map[int64]string{1 << 53: "", -1 << 53: "", 1<<53 + 1: "row 1, column 2 (both from 0) is " +
		"9007199254740993, expected a whole number of at most 2^53", math.MinInt64: "is -9223372036854775808"} {
		var b bytes.Buffer
		testkit.OK(t, arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{2, 3}, Int64: []int64{1, 2, 3, 4, 5, last}}))
		testkit.OK(t, os.WriteFile(path, b.Bytes(), 0o666))
		for _, read := range []func() error{func() error { _, err := ReadPoints(path); return err },
			func() error { _, err := ReadSurvey(path, Reading{}); return err }} {
			if err := read(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%d: %v, want %q", last, err, want)
			}
		}
	}
}

func decodeAny(name string, r io.Reader) (*Points, error) { return decodeTable(name, r, nil) }
