package experiment

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// A run keeps the files of its formulas, and names of coordinates are the columns of its files. Columns of the data in
// another order than the names are refused.
func TestRunOfFormulasWithFiles(t *testing.T) {
	dir := t.TempDir()
	rows := func(header string) string {
		text := header + "\n"
		for i := range 40 {
			text += fmt.Sprintf("%.17g,%.17g\n", 2*math.Cos(float64(i)), math.Sin(float64(i)))
		}
		path := filepath.Join(dir, strings.ReplaceAll(header, ",", "")+".csv")
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	form := filepath.Join(dir, "form.csv")
	testkit.OK(t, os.WriteFile(form, []byte("0.25,0\n0,1\n"), 0o666))
	text := []byte(fmt.Sprintf("set: {names: [u, v], let: {A: {file: %q}}, equality: [{name: ellipse, "+
		"expr: 'dot(x, A*x) = 1'}], inequality: [{name: cut, expr: u <= 3}]}\n", form) + bareText)
	r := job.New[*Run](t, Load, text, "e.yaml", "data.path="+rows("p,q"))
	testkit.OK(t, os.Remove(form))
	again := testkit.Must(Open(t.Context(), r.Folder.Dir, "", r.Pool, nil))
	testkit.Equal(t, again.Problem.Files()["set.let.A"], again.Folder.Path("set.let.A.csv"), "A is read from")
	testkit.Equal(t, fmt.Sprint(again.Data.Names), "[u v]", "columns")
	testkit.OK(t, os.WriteFile(form, []byte("0.25,0\n0,1\n"), 0o666))
	p := testkit.Must(problem.Load(text, "e.yaml", "", problem.ParseSettings("data.path="+rows("v,u"))))
	testkit.Refused(t, testkit.Err(Load(t.Context(), p, r.Pool, nil)),
		"column 0 (from 0) is v, which is coordinate 1 of the set;", "columns in another order")
}
