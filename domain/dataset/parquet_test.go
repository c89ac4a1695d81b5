package dataset

import (
	"archive/zip"
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	for _, c := range []struct {
		text    string
		header  []string
		x       []float64
		foreign string
	}{
		{"a,b\n1.5,2\n3,4\n", []string{"a", "b"}, []float64{1.5, 2, 3, 4}, ""},
		{"a b, c d\n1, 2\n3, 4\n", []string{"a b", "c d"}, []float64{1, 2, 3, 4}, ""},
		{"1\n2\n", nil, []float64{1, 2}, ""},
		{"a;b,c\n1,2;3\n", []string{"a", "b,c"}, []float64{1.2, 3}, "semicolons and its numbers have decimal commas"},
		{"a;b\n1.5;2\n3;4", []string{"a", "b"}, []float64{1.5, 2, 3, 4}, "semicolons, where"},
		{"1,5\t-2\r\n3\t4e1\r\n", nil, []float64{1.5, -2, 3, 40}, "tabs and its numbers have decimal commas"},
		{"first column  b\n1.5   2\n3 4\n", []string{"first", "column", "b"}, nil, "blanks"},
		{"\"x\",\"y\"\n\"1.5\",\"-2\"\n\"3\",4\n", []string{"x", "y"}, []float64{1.5, -2, 3, 4}, "in quotes, where"},
		{"\"x,\"\"m\"\"\",\"y\"\n1.5,2\n3,4\n", []string{`x,"m"`, "y"}, []float64{1.5, 2, 3, 4}, "in quotes, where"},
		{"x,y\n\"1,5\", \"2\"\n3,4\n", []string{"x", "y"}, []float64{1.5, 2, 3, 4}, "in quotes and its numbers have"},
		{"\"x;\";y\n\"1.5\";2\n3;4\n", []string{"x;", "y"}, []float64{1.5, 2, 3, 4}, "semicolons, where"},
		{"\"x\", 'y'\n1.5,2\n3,4\n", []string{"x", "y"}, []float64{1.5, 2, 3, 4}, ""},
		{"# a\na  b\n1.5   2\n 3 4\n", []string{"a", "b"}, []float64{1.5, 2, 3, 4}, "blanks"},
		{"a,b\n\u22121.5,2\n3,\u22124e\u22121\n", []string{"a", "b"}, []float64{-1.5, 2, 3, -0.4}, ""},
		{"a;b\n1.234,5;2\n3;1.234.567\n", []string{"a", "b"}, []float64{1234.5, 2, 3, 1234567}, "thousands"},
		{"a,b\n\"1,234.5\",2\n3,\"4,000\"\n", []string{"a", "b"}, []float64{1234.5, 2, 3, 4000}, "thousands"},
		{"a\tb\n1 234,5\t2\n3\t1\u00a0000,25\n", []string{"a", "b"}, []float64{1234.5, 2, 3, 1000.25}, "thousands"},
		{"a;b\n1'234.5;2\n3;4\n", []string{"a", "b"}, []float64{1234.5, 2, 3, 4}, "thousands"},
		{"\x80;b\n1\xa0234,5;2\n3;4\n", []string{"€", "b"}, []float64{1234.5, 2, 3, 4}, "thousands"}, // Windows-1252
		{"1.5\u00a02\n3\u00a04\n", nil, []float64{1.5, 2, 3, 4}, "blanks"},
		{"sep=;\na;b\n1,5;2\n3;4\n", []string{"a", "b"}, []float64{1.5, 2, 3, 4}, "semicolons"},
		{"% c\n// c\na,b\n1,2\n3,4\n", []string{"a", "b"}, []float64{1, 2, 3, 4}, ""},
		{"\xff\xfea\x00,\x00b\x00\n\x001\x00,\x002\x00", []string{"a", "b"}, []float64{1, 2}, ""},
		{"\xfe\xff\x00a\x00,\x00b\x00\n\x001\x00,\x002", []string{"a", "b"}, []float64{1, 2}, ""},
		{"Station: 5\n\na,b\n1,2\n3,4\n", []string{"a", "b"}, []float64{1, 2, 3, 4}, "begins in line 3"},
		{"a,b\n" + strings.Repeat("0.5,1.5\n", 99) + "\"2,500\",\"7.5\"\n", []string{"a", "b"},
			append(slices.Repeat([]float64{0.5, 1.5}, 99), 2500, 7.5), "in quotes and some"}, // late in the file
		{"0,1,2\n1.5,2.5,3\n0.5,4.5,1\n", []string{"0", "1", "2"}, []float64{1.5, 2.5, 3, 0.5, 4.5, 1}, ""},
		{",0,1\n0,1.5,2.5\n1,4.5,1.5\n", []string{"", "0", "1"}, []float64{0, 1.5, 2.5, 1, 4.5, 1.5}, ""},
		{"0,1,2\n3,4,5\n6,7,8\n", nil, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}, ""},
		{"0,1\n1.5,2\n0,4.5\n", nil, []float64{0, 1, 1.5, 2, 0, 4.5}, ""},
		{"lat,lon\n47.5N,-8 E\n1.5° S,170.25°W\n", []string{"lat", "lon"}, []float64{47.5, -8, -1.5, -170.25},
			"a mark"},
		{"a;b\n12,5 %;2\n3,0%;4\n", []string{"a", "b"}, []float64{12.5, 2, 3, 4}, "decimal commas and some"},
		{"2024-01,2024-02\n1.5,2\n3,4\n", []string{"2024-01", "2024-02"}, []float64{1.5, 2, 3, 4}, ""},
		{"1,2\n30,05\n4,-06\n", nil, []float64{1, 2, 30, 5, 4, -6}, ""},
		{"a|b\n1.5|2\n3|4\n", []string{"a", "b"}, []float64{1.5, 2, 3, 4}, "bars"},
		{"1.5D-01 2\n3 -4.25d02\n", nil, []float64{0.15, 2, 3, -425}, "blanks"},
		{"a;b\n$1.50;2 €\n-£3;$-4.5\n", []string{"a", "b"}, []float64{1.5, 2, -3, -4.5}, "a mark beside"},
		{"a\x00,\x00b\x00\n\x001\x00,\x002\x00", []string{"a", "b"}, []float64{1, 2}, ""}, // no byte order mark
		{"\x00a\x00,\x00b\x00\n\x001\x00,\x002", []string{"a", "b"}, []float64{1, 2}, ""},
		{"\"a\n(m)\",b\n1,2\n3,4\n", []string{"a (m)", "b"}, []float64{1, 2, 3, 4}, "in quotes"}, // lines in a cell
		{"a,b\n1,\"2\n\"\n\"\n\n3\",4\n", []string{"a", "b"}, []float64{1, 2, 3, 4}, "in quotes"},
		{"5\" pipe,b\n1,2\n3,4\n", []string{"5\" pipe", "b"}, []float64{1, 2, 3, 4}, ""}, // no opening quote
		{"Wind;\n;\na;b\n1;2\n;\n3;4\n;\n", []string{"a", "b"}, []float64{1, 2, 3, 4},
			"no value; its table begins in line 3"},
		{"p,p\nx,y\n1,2\n3,4\n", []string{"x", "y"}, []float64{1, 2, 3, 4}, "begins in line 2"},
		{"a,b\n[m/s],°\n1,2\n3,4\n", []string{"a", "b"}, []float64{1, 2, 3, 4}, "line 2 has units"},
	} {
		testkit.OK(t, os.WriteFile(path, []byte(c.text), 0o666))
		s, err := ReadSurvey(path, Reading{})
		dates := strings.HasPrefix(c.text, "2024-01")
		if err == nil && !strings.Contains(c.foreign, "units") && dates != (len(s.Remarks) > 0 && c.header[0] > "1") {
			t.Errorf("%q: remarks %q", c.text, s.Remarks)
		}
		if c.x == nil { // a header of other names than there are columns: every row is at fault
			if err == nil && len(s.Faulty) != s.N {
				t.Errorf("%q: %+v", c.text, s)
			}
			continue
		}
		if err != nil || !slices.Equal(s.X, c.x) || !slices.Equal(s.Header, c.header) ||
			(c.foreign == "") != (s.Foreign == "") || !strings.Contains(s.Foreign, c.foreign) {
			t.Errorf("%q: %v, %+v", c.text, err, s)
		}
	}
	for text, fault := range map[string]string{"\xff\xfea\x00": "no data", "a b c": "no data",
		";;\n;;\n": "no numbers", "a,b\r1,2\r": "carriage returns",
		"a;b\n1,234;2\n3;4\n":                  `column 0 is "1,234", expected a number without doubt`,
		"a,b\n\"1,234\",2\n3,\"4,000\"\n":      "--decimal point or --decimal comma",
		"a;b\n1.234;2\n3;4\n":                  "--decimal point",
		"2001,2002,2003\n.1,.2,.3\n.2,.1,.4\n": "can be a header of whole numbers or a row",
		"x\n1,5\n2,5\n4,5\n1,5\n":              "1 column, expected 2",
		"1,5,-0,25\n3,0,4,05\n":                ":1: numbers seem to have decimal commas, and commas stand between",
		"a,b\n1,5,-0,25\n3,0,4,05\n":           "numbers seem to have decimal commas",
		"power\n470N\n-48S\n":                  `a cell is "470N"`} {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		testkit.Refused(t, testkit.Err(ReadSurvey(path, Reading{})), fault, text)
	}
	// Rows that end in a separator, and rows that begin with names of their own, have a column without a name.
	for text, header := range map[string][]string{"a,b\n1,2,\n3,4,\n": {"a", "b", ""},
		"a b\nr1 1 2\nr2 3 4\n": {"", "a", "b"}, "a,b,\n1,2\n3,4\n": {"a", "b"}} {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		testkit.EqualSlices(t, testkit.Must(ReadSurvey(path, Reading{})).Header, header, text)
	}
	// Codes are no numbers, nor is a line of units below another; a quote that nothing closes hides no later one.
	for text, want := range map[string][]int{"a,b\n12D34,1\n1.5D4,2\n4d+12,3\n": {3, 0, 1},
		"a,b\nm,s\nk,g\n1,2\n3,4\n": {3, 1, 0},
		"a,b\n\"1,2\n" + strings.Repeat("1,2\n", 48) + "\"3\",\"4\n\"\n5,6\n": {51, 1, 0}} {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		s := testkit.Must(ReadSurvey(path, Reading{}))
		testkit.EqualSlices(t, []int{s.N, len(s.Faulty), len(s.Text)}, want, text)
	}
	// What the user says decides.
	testkit.OK(t, os.WriteFile(path, []byte("\"1,234\",2\n\"3,456\",4\n"), 0o666))
	for how, x := range map[Reading][]float64{{Decimal: "point"}: {1234, 2, 3456, 4}, {Decimal: "comma"}: {1.234, 2,
		3.456, 4}, {Decimal: "point", Header: "yes"}: {3456, 4}} {
		testkit.EqualSlices(t, testkit.Must(ReadSurvey(path, how)).X, x, "%+v", how)
	}
	// The report names a column without a number, and its rows do not count as faulty.
	testkit.OK(t, os.WriteFile(path, []byte("a,b,c\n1,,x\n2,,y\n"), 0o666))
	s, err := ReadSurvey(path, Reading{})
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
