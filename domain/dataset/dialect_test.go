package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

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
	} {
		testkit.OK(t, os.WriteFile(path, []byte(c.text), 0o666))
		s, err := ReadSurvey(path, Reading{})
		dates := strings.HasPrefix(c.text, "2024-01")
		if err == nil && dates != (len(s.Remarks) > 0 && c.header[0] > "1") {
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
