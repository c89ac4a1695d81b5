package draft

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Whatever a table holds, it is drafted, and the draft loads, or refused in words; with --clean what is
// left of it is. Nothing panics.
func FuzzTable(f *testing.F) {
	circle := func(format string) string {
		return table("", 40, func(i int) []any {
			u := unit([]float64{float64(i%7) - 3.2, float64(i%11) - 4.7}, 1)
			return []any{math.Round(1e9*u[0]) / 1e9, math.Round(1e9*u[1]) / 1e9}
		}) + format
	}
	for _, text := range []string{
		circle(""), "x,y\n" + circle(""), circle("1,2,3\n"), circle("1e300,-1e300\n"), circle("nan,\n"),
		strings.ReplaceAll(circle(""), ",", ";"),
		strings.ReplaceAll(strings.ReplaceAll(circle(""), ",", ";"), ".", ","),
		"id,lat,lon,kind\n1,2,3,a\n2,5,7,b\n3,9,1,a\n", "a\n1\n1\n1\n", "\xff\xfex\x00",
		"\ufeffa,b\n1,2\n3,4\n", "1 2\n3 4\n",
		"a\tb\n1\t2\n2\t1\n",
		circle("-0.5547e91,0.8\n"), circle("1e19,2e19\n"),
		"trajectory,waypoint,j\n0,0,1\n0,1,2\n", "x,x\n5e-324,0\n0,1\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<11 {
			return
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "t.csv")
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		for _, clean := range []string{"", filepath.Join(dir, "clean.csv")} {
			d, err := New(Options{Path: path, Clean: clean})
			if err != nil {
				if err.Error() == "" || strings.HasPrefix(err.Error(), "draft:") {
					t.Fatalf("clean %q: %v", clean, err)
				}
				continue
			}
			if _, err := problem.Load([]byte(d.YAML), "fuzz", "", nil); err != nil {
				t.Fatalf("%v\n%s", err, d.YAML)
			}
			break // a file that is not refused needs no cleaning
		}
	})
}
