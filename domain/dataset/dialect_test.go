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
	} {
		testkit.OK(t, os.WriteFile(path, []byte(c.text), 0o666))
		s, err := ReadSurvey(path, Reading{})
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
		";;\n;;\n": "no numbers", "a,b\r1,2\r": "carriage returns"} {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		testkit.Refused(t, testkit.Err(ReadSurvey(path, Reading{})), fault, text)
	}
	// A column without a number is told as one, and its rows are none of the faulty.
	testkit.OK(t, os.WriteFile(path, []byte("a,b,c\n1,,x\n2,,y\n"), 0o666))
	s, err := ReadSurvey(path, Reading{})
	if err != nil || !slices.Equal(s.Text, []int{1, 2}) || !slices.Equal(s.Empty, []int{1}) || len(s.Faulty) > 0 {
		t.Errorf("%v, %+v", err, s)
	}
}
