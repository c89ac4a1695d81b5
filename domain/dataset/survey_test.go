package dataset

import (
	"archive/zip"
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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
	for text, fault := range map[string]string{"": "is empty", "a,b\n": "no data", "a,b\nc,d\n": "no numbers"} {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		testkit.Refused(t, testkit.Err(ReadSurvey(path, Reading{})), fault, text)
	}
	if _, err := ReadSurvey("a.csv", Reading{Array: "x"}); !errors.As(err, new(*Error)) {
		t.Errorf("an array of a table: %v", err)
	}
}
