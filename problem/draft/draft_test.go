package draft

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/parquetfile"
	"github.com/landing-diffusion/landing/langevin/evidence"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/discover"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func normals(n int) []float64 {
	z := make([]float64, n)
	keyed.New(4, keyed.Probe, 0).Normals(z, 0, 0)
	return z
}

// spheres are n unit vectors in R³.
func spheres(n int) []float64 {
	z := normals(3 * n)
	for i := range n {
		u := z[3*i : 3*i+3]
		s := math.Sqrt(u[0]*u[0] + u[1]*u[1] + u[2]*u[2])
		for k := range u {
			u[k] /= s
		}
	}
	return z
}

func save(t *testing.T, name, text string) {
	t.Helper()
	testkit.OK(t, os.WriteFile(name, []byte(text), 0o666))
}

func saveArray(t *testing.T, name string, x []float64, shape ...int) {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: shape, Float64: x}))
	save(t, name, b.String())
}

// table writes n rows by a function of their number.
func table(header string, n int, row func(i int) []any) string {
	var b strings.Builder
	if header != "" {
		b.WriteString(header + "\n")
	}
	for i := range n {
		var cells []string
		for _, v := range row(i) {
			cells = append(cells, fmt.Sprint(v))
		}
		b.WriteString(strings.Join(cells, ",") + "\n")
	}
	return b.String()
}

func draft(t *testing.T, o Options) *Draft {
	t.Helper()
	d := testkit.Must(New(o))
	testkit.Keep(t, "%s\n%s", strings.Join(d.Lines(), "\n"), d.YAML)
	if d.Cleaned != nil {
		testkit.Keep(t, "# cleaned: %d rows of %d, %.8x\n", d.Cleaned.Rows, d.Cleaned.Columns,
			sha256.Sum256(d.Cleaned.Bytes))
	}
	return d
}

// set returns the lines of a draft that are not comments, from set on.
func set(d *Draft) string {
	_, after, _ := strings.Cut(d.YAML, "\nset:")
	after, _, _ = strings.Cut(after, "\nobserve:")
	var out []string
	for line := range strings.SplitSeq(after, "\n") {
		code, _, _ := strings.Cut(line, "  #")
		if code = strings.TrimRight(code, " "); code != "" && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			out = append(out, code)
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// Where a ready-made set fits it is taken; else formulas are.
func TestSets(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 300
	z := normals(12 * n)
	sum := func(v []float64) (s float64) {
		for _, u := range v {
			s += u
		}
		return s
	}
	for _, c := range []struct {
		name string
		row  func(z []float64) []float64
	}{
		{"sphere", func(z []float64) []float64 { return unit(z[:3], 1) }},
		{"large sphere", func(z []float64) []float64 { return unit(z[:5], 250) }},
		{"product", func(z []float64) []float64 {
			return slices.Concat(unit(z[:3], 1), z[3:5], unit(z[5:7], 2), z[7:8])
		}},
		{"simplex", func(z []float64) []float64 {
			x := []float64{math.Exp(z[0]), math.Exp(z[1]), math.Exp(z[2])}
			s := sum(x)
			return []float64{x[0] / s, x[1] / s, x[2] / s}
		}},
		{"sum of what may be negative", func(z []float64) []float64 { return []float64{z[0], z[1], 1 - z[0] - z[1]} }},
		{"SO(2)", func(z []float64) []float64 {
			u := unit(z[:2], 1)
			return []float64{u[0], -u[1], u[1], u[0]}
		}},
		{"O(2)", func(z []float64) []float64 {
			u, s := unit(z[:2], 1), math.Copysign(1, z[2])
			return []float64{u[0], -s * u[1], u[1], s * u[0]}
		}},
		{"ellipsoid", func(z []float64) []float64 {
			u := unit(z[:3], 1)
			return []float64{u[0], 2 * u[1], 0.5 * u[2]}
		}},
		{"curve", func(z []float64) []float64 { return []float64{z[0], z[0] * z[0] * z[0]} }},
		{"torus", func(z []float64) []float64 {
			ρ := 3 + math.Cos(3*z[1])
			return []float64{ρ * math.Cos(3*z[0]), ρ * math.Sin(3*z[0]), math.Sin(3 * z[1])}
		}},
		{"chain", func(z []float64) []float64 {
			u, v := unit(z[:3], 1.5), unit(z[3:6], 2)
			return []float64{0, 0, 0, u[0], u[1], u[2], u[0] + v[0], u[1] + v[1], u[2] + v[2]}
		}},
		{"constant", func(z []float64) []float64 { return []float64{z[0], 4, z[1]} }},
		{"nothing", func(z []float64) []float64 { return z[:3] }},
		{"circles with a sum of sines", func(z []float64) []float64 {
			s := math.Sin(z[0]) / 2
			c := math.Sqrt(1 - s*s)
			u, v := unit(z[1:3], 1), []float64{c, s}
			w := 0.2 - u[1]/4 - s/4 // a third sine
			return []float64{u[0], u[1], v[0], v[1], math.Sqrt(1 - w*w), w}
		}},
	} {
		var x []float64
		d := 0
		for i := range n {
			row := c.row(slices.Clone(z[12*i : 12*i+12]))
			d = len(row)
			x = append(x, row...)
		}
		saveArray(t, "data.npy", x, n, d)
		testkit.Keep(t, "%s:", c.name)
		draft(t, Options{Path: "data.npy"})
	}
}

// Formulas use the names of columns where they can; parts of a whole are not negative; rounded rows are within 1 % of
// the set, and a note says how refine brings them there.
func TestTablesOfFormulas(t *testing.T) {
	t.Chdir(t.TempDir())
	z := normals(1200)
	parts := func(i int, of float64) (a, b, c float64) {
		a, b, c = math.Exp(z[3*i]), math.Exp(z[3*i+1]), math.Exp(z[3*i+2])
		return of * a / (a + b + c), of * b / (a + b + c), of * c / (a + b + c)
	}
	for _, c := range []struct {
		header string
		row    func(i int) []any
	}{
		{"SiO2,FeO,MgO", func(i int) []any {
			a, b, c := parts(i, 100)
			return []any{fmt.Sprintf("%.1f", a), fmt.Sprintf("%.1f", b), fmt.Sprintf("%.1f", c)}
		}},
		{"a,b,c", func(i int) []any { // single precision, of eight digits
			a, b, c := parts(i, 1)
			return []any{fmt.Sprintf("%.8g", float32(a)), fmt.Sprintf("%.8g", float32(b)), fmt.Sprintf("%.8g",
				float32(c))}
		}},
		{"Bx,By,Cx,Cy,y", func(i int) []any {
			s, c := math.Sincos(3 * z[3*i])
			u, v := math.Sincos(3 * z[3*i+1])
			return []any{1 + c, s, 1 + c + 2*v, s + 2*u, z[3*i+2]}
		}},
		{"dir,wind speed,u,sin", func(i int) []any { // names that formulas cannot use
			a, v := math.Mod(900+100*z[3*i], 360), 5+2*math.Tanh(z[3*i+1])
			return []any{a, v, v * math.Sin(a*math.Pi/180), z[3*i+2]}
		}},
	} {
		save(t, "data.csv", table(c.header, 400, c.row))
		draft(t, Options{Path: "data.csv"})
	}
}

// A formula of the user may call columns by their names. Whoever says that parts have a sum, they are not negative.
func TestFormulaOfColumns(t *testing.T) {
	t.Chdir(t.TempDir())
	save(t, "soil.csv", table("sand,silt,clay,depth", 200, func(i int) []any {
		a, b, c := 1+math.Sin(float64(i)), 1+math.Sin(1.3*float64(i)), 1+math.Sin(1.7*float64(i))
		return []any{a / (a + b + c), b / (a + b + c), c / (a + b + c), math.Sqrt(float64(i))}
	}))
	for _, text := range []string{"sand + silt + clay = 1", "x[0] + x[1] + x[2] = 1", "2 - 2*sand = 2*(silt + clay)"} {
		d := draft(t, Options{Path: "soil.csv", Formulas: []string{text, "depth <= 15"}})
		testkit.Equal(t, d.Set, "formulas: 1 equation, 4 inequalities")
		testkit.Contains(t, d.YAML, `for: "i in 0..2", expr: "x[i] >= 0"}  # parts of a whole`, text)
		testkit.Contains(t, d.YAML, `expr: "depth <= 15"}  # all rows keep it`, text)
	}
	for _, text := range []string{"sand^2 + silt^2 + clay^2 >= 0", "sand + silt + clay <= 1.5", "sand + 2*silt = 1"} {
		d := draft(t, Options{Path: "soil.csv", Formulas: []string{text}})
		if strings.Contains(d.Set, "4 inequalities") == strings.Contains(text, "2*") {
			t.Errorf("%s: %s", text, d.Set)
		}
	}
	save(t, "feed.csv", table("Maize (kg),Wet hay [kg]", 200, func(i int) []any {
		return []any{math.Sqrt(float64(i)), 20 - math.Sqrt(float64(i))}
	}))
	testkit.Contains(t, draft(t, Options{Path: "feed.csv", Formulas: []string{"Maize + Wet_hay = 20"}}).YAML,
		`expr: "Maize + Wet_hay = 20"}  # round-off`)
	_, err := New(Options{Path: "feed.csv", Formulas: []string{"Maiz = 2"}})
	testkit.Contains(t, fmt.Sprint(err), "Maize; Wet_hay; x[0] is Maize (kg), x[1] is Wet hay [kg]")
}

func unit(v []float64, r float64) []float64 {
	s := 0.0
	for _, u := range v {
		s += u * u
	}
	out := make([]float64, len(v))
	for k, u := range v {
		out[k] = u * r / math.Sqrt(s)
	}
	return out
}

// Active constraints hold on the rows in any unit without data.tolerance, and not on rows that are off the set by a
// hundredth.
func TestTolerance(t *testing.T) {
	t.Chdir(t.TempDir())
	pool := testkit.Pool(t, 1)
	const n = 300
	u := spheres(n)
	for _, scale := range []float64{1, 1e6, 1e-6} {
		x := slices.Clone(u)
		for k := range x {
			x[k] = float64(float32(x[k] * scale))
		}
		saveArray(t, "data.npy", x, n, 3)
		d := draft(t, Options{Path: "data.npy"})
		p := testkit.Must(problem.Load([]byte(d.YAML), "p.yaml", "", nil))
		process := testkit.Must(p.Build())
		f := evidence.Feasible(t.Context(), process.Set, x, pool)
		if _, worst, rows := f.Beyond(f.Rounded()); rows > 0 || !p.Data.Tolerance.IsAuto() {
			t.Errorf("times %g: tolerance %v, %d rows beside the set, row %d %s", scale, p.Data.Tolerance, rows, worst,
				f.Tell(worst))
		}
		for k := range x {
			x[k] *= 1.01
		}
		if _, _, rows := evidence.Feasible(t.Context(), process.Set, x, pool).Beyond(evidence.Far); rows != n {
			t.Errorf("times %g: of %d rows that are a hundredth off %d are told", scale, n, rows)
		}
	}
}

// Errors name columns that are no coordinates, and the lines of cells that are no numbers. Training and init refuse the
// file as it is, and accept the cleaned one.
func TestUnfit(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 200
	u := spheres(n)
	save(t, "messy.csv", "# a comment\n"+table("id,name,x,y,z,class", n, func(i int) []any {
		row := []any{i + 5, fmt.Sprint("p", i), u[3*i], u[3*i+1], u[3*i+2], i % 3}
		switch i {
		case 17:
			row[4] = ""
		case 40:
			row[3] = "inf"
		case 50:
			row = row[:4]
		}
		return row
	}))
	_, err := New(Options{Path: "messy.csv"})
	if fault.KindOf(err) != fault.Data {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		`3 of 200 rows have a cell that is no finite number: line 20 (z is empty), line 43 (y is `,
		"line 53 (4 columns)", "id is no coordinate: it numbers the rows", "name is no coordinate: it holds words",
		"--clean"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	d := draft(t, Options{Path: "messy.csv", Clean: "clean.csv"})
	if d.Rows != n || d.Cleaned.Rows != n-3 || d.Cleaned.Columns != 4 || set(d) != "{kind: sphere, dim: 3}" ||
		!strings.Contains(d.YAML, `condition: {columns: ["class"]}`) || !strings.Contains(d.YAML, `path: "clean.csv"`) {
		t.Errorf("%+v\n%s", d.Cleaned, d.YAML)
	}
	save(t, "clean.csv", string(d.Cleaned.Bytes))
	p, given, err := dataset.ReadPointsGiven("clean.csv", []string{"class"})
	if err != nil || p.N != n-3 || p.D != 3 || given[16] != 1 || given[17] != 0 || p.X[3*17] != u[3*18] {
		t.Errorf("cleaned: %d rows of %d, %v", p.N, p.D, err)
	}
	d = draft(t, Options{Path: "messy.csv", Clean: "clean.npy", Drop: []string{"class", "2"}})
	if d.Cleaned.Columns != 2 || strings.Contains(d.YAML, "condition:") {
		t.Errorf("with class and column 2 dropped: %+v\n%s", d.Cleaned, d.YAML)
	}
	for _, o := range []Options{{Path: "messy.csv", Drop: []string{"colour"}}, {Path: "messy.csv", Drop: []string{"6"}},
		{Path: "messy.csv", Clean: "clean.txt"}} {
		if _, err := New(o); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v", o, err)
		}
	}
	save(t, "none.csv", "x,y\n1,nan\nnan,2\n3,4\n")
	if _, err := New(Options{Path: "none.csv", Clean: "c.csv"}); fault.KindOf(err) != fault.Data {
		t.Errorf("one good row: %v", err)
	}
}

// A family of relations names each row that one of them does not hold in once, and the first ten.
func TestExceptions(t *testing.T) {
	t.Chdir(t.TempDir())
	const n, circles = 1500, 3
	z, want := normals(2*circles*n), []string{}
	for i := range n {
		for c := range circles {
			r := math.Hypot(z[2*(circles*i+c)], z[2*(circles*i+c)+1])
			if first := 100 + 4*c; i >= first && i < first+8 {
				r *= 1.3
			}
			z[2*(circles*i+c)] /= r
			z[2*(circles*i+c)+1] /= r
		}
	}
	saveArray(t, "circles.npy", z, n, 2*circles)
	for i := range listed {
		want = append(want, fmt.Sprint("row ", 100+i))
	}
	d := draft(t, Options{Path: "circles.npy"})
	if len(d.Nearly) != 1 || !slices.Equal(d.Nearly[0].Rows, want) || d.Nearly[0].Note == "" {
		t.Errorf("%+v", d.Nearly)
	}
}

// Labels that are the last columns, or named, are a condition of the file as it is; others are
// not, and names that formulas cannot use are replaced where a file is written.
func TestLabels(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 200
	u := spheres(n)
	row := func(i int) []any { return []any{u[3*i], u[3*i+1], u[3*i+2], i % 7} }
	save(t, "last.csv", table("", n, row))
	if d := draft(t, Options{Path: "last.csv"}); !strings.Contains(d.YAML, `condition: {columns: ["label0"]}`) {
		t.Errorf("no header: %s", d.YAML)
	}
	first := func(i int) []any { v := row(i); return []any{v[3], v[0], v[1], v[2]} }
	save(t, "first.csv", table("", n, first))
	if d := draft(t, Options{Path: "first.csv"}); !strings.Contains(d.YAML, "last columns") || d.Cleaned.File !=
		"first-clean.csv" || !strings.Contains(d.YAML, `path: "first-clean.csv"`) {
		t.Errorf("labels first: %s", d.YAML)
	}
	save(t, "named.csv", table("kind,x,y,z", n, first))
	if d := draft(t, Options{Path: "named.csv"}); !strings.Contains(d.YAML, `condition: {columns: ["kind"]}`) ||
		set(d) != "{kind: sphere, dim: 3}" {
		t.Errorf("named: %s", d.YAML)
	}
	save(t, "odd.csv", table("the kind,x,y,z", n, first))
	if d := draft(t, Options{Path: "odd.csv"}); !strings.HasPrefix(string(d.Cleaned.Bytes), "x,y,z,label0\n") ||
		!strings.Contains(d.YAML, `"the kind" is no name`) {
		t.Errorf("cleaned: %.40s", d.Cleaned.Bytes)
	}
	// Where all columns are whole numbers none of them are labels.
	save(t, "whole.csv", table("", n, func(i int) []any { return []any{i % 5, (i * i) % 11} }))
	if d := draft(t, Options{Path: "whole.csv"}); len(d.Notes) == 0 || !strings.Contains(d.YAML, "whole numbers") ||
		strings.Contains(d.YAML, "condition:") {
		t.Errorf("whole numbers: %s", d.YAML)
	}
}

// Columns that a header calls latitude and longitude are places, in whatever order;
// without a header that is a remark.
func TestEarth(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 200
	u := spheres(n)
	place := func(i int) (lat, lon float64) { return dataset.LatLon(u[3*i], u[3*i+1], u[3*i+2]) }
	both := func(i int) []any { lat, lon := place(i); return []any{lat, lon} }
	save(t, "earth.csv", table("Latitude,lon", n, both))
	d := draft(t, Options{Path: "earth.csv"})
	if d.Kind != "earth" || set(d) != "{kind: sphere, dim: 3}" || !strings.Contains(d.YAML, "kind: earth") {
		t.Errorf("%s", d.YAML)
	}
	save(t, "radians.csv", table("lat (rad),lon (rad)", n, func(i int) []any {
		lat, lon := place(i)
		return []any{lat * math.Pi / 180, lon * math.Pi / 180}
	}))
	testkit.Refused(t, testkit.Err(New(Options{Path: "radians.csv"})), "multiply them by 180/π")
	turned := func(i int) []any { lat, lon := place(i); return []any{lon, lat} }
	cm := func(i int) []any { return []any{18 + i%70, 150 + float64(i%50)/2} }
	for _, c := range []struct {
		header     string
		row        func(i int) []any
		kind, note string
	}{
		{"", both, "points", "could be latitude and longitude"},
		{"", turned, "points", "could be latitude and longitude"},
		{"x,y", turned, "points", "x and y are taken for places in a plane"},
		{"phi,lambda", both, "points", "could be latitude and longitude"},
		{"phi (deg),lambda (deg)", both, "points", "could be latitude and longitude"},
		{"a [Degrees],b [µm]", both, "points", ""},
		{"age,height", cm, "points", ""},
		{"decimalLongitude,decimalLatitude", turned, "earth", ""},
		{"Breitengrad,Längengrad", both, "earth", ""},
		{"долгота,широта", turned, "earth", ""},
		{"Breite [m],Höhe [°]", both, "points", ""}, // widths
		{"latitudine,longitudine", both, "earth", ""},
	} {
		save(t, "named.csv", table(c.header, n, c.row))
		d := draft(t, Options{Path: "named.csv"})
		if notes := strings.Join(d.Notes, ""); d.Kind != c.kind || !strings.Contains(notes, c.note) ||
			c.note == "" && strings.Contains(notes, "could be") {
			t.Errorf("%q: kind %s, %q", c.header, d.Kind, d.Notes)
		}
	}
	save(t, "other.csv", table("depth,lng,lat,year", n, func(i int) []any {
		lat, lon := place(i)
		return []any{u[3*i] * 10, lon, lat, 2000 + i%9}
	}))
	if d = draft(t, Options{Path: "other.csv"}); d.Cleaned == nil || d.Cleaned.Columns != 2 {
		t.Errorf("cleaned: %+v\n%s", d.Cleaned, d.YAML)
	}
	asked := []string{"depth", "year"}
	d = draft(t, Options{Path: "other.csv", Given: asked})
	save(t, "c.csv", string(d.Cleaned.Bytes))
	if p, given, err := dataset.ReadEarthGiven("c.csv", asked); err != nil || p.N != n ||
		math.Abs(p.X[4]-u[4]) > 1e-12 || given[3] != 2001 {
		t.Errorf("cleaned: %v\n%s", err, d.YAML)
	}
	// Of a Parquet file columns are found by their names: it is taken as it is, and made too.
	d = draft(t, Options{Path: "other.csv", Clean: "c.parquet", Given: asked})
	save(t, "c.parquet", string(d.Cleaned.Bytes))
	x := testkit.Must(dataset.ReadPoints("c.parquet"))
	var b bytes.Buffer
	w := parquetfile.NewWriter(&b, []string{"depth", "lng", "lat", "year"})
	for i := range n {
		row := x.X[4*i : 4*i+4]
		testkit.OK(t, w.Write([]float64{row[2], row[1], row[0], row[3]}))
	}
	testkit.OK(t, w.Close())
	save(t, "other.parquet", b.String())
	d = draft(t, Options{Path: "other.parquet", Given: asked})
	problem, err := problem.Load([]byte(d.YAML), "p.yaml", "", nil)
	if err != nil || d.Kind != "earth" {
		t.Fatalf("%v\n%s", err, d.YAML)
	}
	if p, given, err := dataset.ReadEarthGiven("other.parquet", problem.Condition.Columns); err != nil || p.N != n ||
		math.Abs(p.X[4]-u[4]) > 1e-12 || len(given) != 2*n {
		t.Errorf("a Parquet file: %v\n%s", err, d.YAML)
	}
	if _, err := New(Options{Path: "earth.csv", Formulas: []string{"x[0] = 1"}}); fault.KindOf(err) != fault.Usage {
		t.Errorf("a formula of places: %v", err)
	}
}

// Relations with a condition call it by its name; those of the condition alone are not of the set.
func TestOnCondition(t *testing.T) {
	t.Chdir(t.TempDir())
	u, z := spheres(300), normals(300)
	save(t, "c.csv", table("a,b,c,d,size,twice", 300, func(i int) []any {
		r := 2 + 0.3*math.Tanh(z[i])
		return []any{r * u[3*i], r * u[3*i+1], r * u[3*i+2], z[i] - r, r, 2 * r}
	}))
	d := draft(t, Options{Path: "c.csv", Given: []string{"size", "twice"}})
	for _, want := range []string{"dim: 4", "b^2 + ", "twice^2 = 0", `columns: ["size", "twice"]`} {
		if !strings.Contains(d.YAML, want) {
			t.Errorf("no %q in\n%s", want, d.YAML)
		}
	}
	if d.SetDim != 3 || strings.Contains(d.YAML, "x[4]") {
		t.Errorf("dimension %d\n%s", d.SetDim, d.YAML)
	}
	d = draft(t, Options{Path: "c.csv", Given: []string{"size", "twice"}, Formulas: []string{"norm(x[0:3]) = size",
		"x[0] <= 2*twice", "norm(x[0:3]) = twice"}})
	for _, want := range []string{`"norm([a, b, c]) = size"`, `"a <= 2*twice"`} {
		testkit.Contains(t, d.YAML, want, "formulas of a condition")
	}
	if d.SetDim != 3 || len(d.Given) != 2 { // beside the equality that holds
		t.Errorf("%+v\n%s", d.Given, d.YAML)
	}
	save(t, "c.csv", table("a,b,c,maß", 300, func(i int) []any {
		r := 2 + 0.3*math.Tanh(z[i])
		return []any{r * u[3*i], r * u[3*i+1], r * u[3*i+2], r}
	}))
	d = testkit.Must(New(Options{Path: "c.csv", Given: []string{"maß"},
		Formulas: []string{"x[0]^2 + x[1]^2 + x[2]^2 = maß^2"}}))
	testkit.Contains(t, d.YAML, `= maß^2"`, "a name beyond ASCII")
}

// Columns of Parquet files that are not read are named by what they hold; with numbers they are not left out unasked.
func TestParquetKinds(t *testing.T) {
	t.Chdir(t.TempDir())
	type row struct {
		A float64 `parquet:"a"`
		W string  `parquet:"w"`
	}
	type priced struct {
		A float64 `parquet:"a"`
		P int64   `parquet:"p,decimal(2:18)"`
	}
	z := normals(100)
	words, prices := make([]row, len(z)), make([]priced, len(z))
	for i, v := range z {
		words[i], prices[i] = row{v, "b"}, priced{v, int64(i)}
	}
	testkit.OK(t, parquet.WriteFile("w.parquet", words))
	testkit.OK(t, parquet.WriteFile("p.parquet", prices))
	d := testkit.Must(New(Options{Path: "w.parquet"}))
	testkit.Contains(t, strings.Join(d.Notes, "\n"), "it holds a string, which is not read", "words")
	testkit.Refused(t, testkit.Err(New(Options{Path: "p.parquet"})), "it holds a decimal, which is not read", "prices")
	d = testkit.Must(New(Options{Path: "p.parquet", Clean: "c.csv"}))
	testkit.Equal(t, d.Cleaned.Columns, 1, "columns without decimals")
}

// Angles become points of circles, whatever else the table has.
func TestAngles(t *testing.T) {
	t.Chdir(t.TempDir())
	z := normals(300)
	save(t, "t.csv", table("name,phi,h,psi", 150, func(i int) []any {
		return []any{"r", 100 * z[2*i], 3 * z[2*i], math.Remainder(2*z[2*i+1], 2*math.Pi)}
	}))
	o := Options{Path: "t.csv", Angles: []string{"psi", "1"}}
	d := draft(t, o)
	if !strings.HasPrefix(string(d.Cleaned.Bytes), "cos_phi,sin_phi,h,cos_psi,sin_psi\n") ||
		strings.Count(d.YAML, "{kind: sphere, dim: 2}") != 2 || !strings.Contains(d.YAML, "name is no coordinate") ||
		!strings.Contains(d.YAML, "psi is an angle, taken as radians") ||
		!strings.Contains(d.YAML, "phi is an angle, taken as degrees") {
		t.Errorf("%s\n%.200s", d.YAML, d.Cleaned.Bytes)
	}
	save(t, "c.csv", string(d.Cleaned.Bytes))
	p := testkit.Must(dataset.ReadPoints("c.csv"))
	for i := range 150 {
		x, phi := p.X[5*i:5*i+5], 100*z[2*i]*math.Pi/180
		if math.Abs(x[0]-math.Cos(phi))+math.Abs(x[1]-math.Sin(phi))+math.Abs(x[2]-3*z[2*i]) > 1e-12 ||
			math.Abs(math.Remainder(math.Atan2(x[4], x[3])-2*z[2*i+1], 2*math.Pi)) > 1e-12 {
			t.Fatalf("row %d is %v", i, x)
		}
	}
	o.Drop = []string{"2", "name"} // numbers are those of the file
	if d := draft(t, o); !strings.HasPrefix(string(d.Cleaned.Bytes), "cos_phi,sin_phi,cos_psi,sin_psi\n") {
		t.Errorf("%.200s", d.Cleaned.Bytes)
	}
	for _, bad := range []string{"name", "4", "chi"} {
		if _, err := New(Options{Path: "t.csv", Angles: []string{bad}, Clean: "d.csv"}); fault.KindOf(err) !=
			fault.Usage {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Names of files and columns cannot break out of comments and quotes.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	name := "a \"b\"\n: {c}#.csv"
	u := spheres(100)
	save(t, name, table("x: [,y\v# \x1b[31m,\"z\u2028", 100, func(i int) []any {
		return []any{u[3*i], u[3*i+1], u[3*i+2]}
	}))
	d := draft(t, Options{Path: name, Folder: filepath.Join(dir, "sub")})
	p, err := problem.Load([]byte(d.YAML), "p.yaml", "", nil)
	if err != nil || p.Data.Path != "../"+name || p.Name != "a--b-----c" || set(d) != "{kind: sphere, dim: 3}" {
		t.Errorf("%v, path %q, name %q\n%s", err, p.Data.Path, p.Name, d.YAML)
	}
	if strings.ContainsAny(d.YAML, "\x1b\v") {
		t.Error("control characters in the file")
	}
}

// An archive of several arrays asks which; a molecule's file is one; a formula that is given is reported.
func TestOthers(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 120
	var xyz strings.Builder
	z := normals(3 * n)
	for i := range n {
		u := unit(z[3*i:3*i+3], 1.09)
		fmt.Fprintf(&xyz, "3\nframe\nO 0 0 0\nH %.12f %.12f %.12f\nH 0 0 0.95\n", u[0], u[1], -math.Abs(u[2]))
	}
	save(t, "water.xyz", xyz.String())
	d := draft(t, Options{Path: "water.xyz"})
	if d.Kind != "molecule" || !strings.Contains(set(d), `template: "water.xyz"`) || !strings.Contains(set(d),
		"  bonds: template") {
		t.Errorf("%s", d.YAML)
	}
	u := spheres(n)
	saveArray(t, "u.npy", u, n, 3)
	d = draft(t, Options{Path: "u.npy", Formulas: []string{"dot(x, x) = 1", "x[0] = 0", "x[2] <= 0.9"}})
	if len(d.Given) != 3 || !strings.Contains(d.YAML, `    - {name: "given_1", expr: "dot(x, x) = 1"}  # round-off`) ||
		!strings.Contains(d.YAML, `#   - {name: "given_2", expr: "x[0] = 0"}  # does not hold`) {
		t.Errorf("%+v\n%s", d.Given, d.YAML)
	}
	var e *discover.GivenError
	if _, err := New(Options{Path: "u.npy", Formulas: []string{"x[3] = 0"}}); !errors.As(err, &e) {
		t.Errorf("x[3] of three: %v", err)
	}
	if _, err := New(Options{Path: "u.npy", Array: "a"}); !errors.As(err, new(*dataset.Error)) {
		t.Errorf("an array of an .npy: %v", err)
	}
}

// Lines of comments have at most 110 characters, and are as long as that allows.
func TestComment(t *testing.T) {
	long := strings.Repeat("é", 105)
	for text, want := range map[string]string{
		"of\na few\x7fwords": "  # of a few words\n",
		"abc " + long[:210]:  "  # abc\n  #   " + long[:210] + "\n",
		strings.Repeat("x", 50) + " " + strings.Repeat("é", 55) + " end": "  # " + strings.Repeat("x", 50) + " " +
			strings.Repeat("é", 55) + "\n  #   end\n",
		strings.Repeat("x", 50) + " " + strings.Repeat("é", 56): "  # " + strings.Repeat("x", 50) + "\n  #   " +
			strings.Repeat("é", 56) + "\n",
	} {
		testkit.Equal(t, comment("  ", "%s", text), want, text)
	}
}

// Times and numbers of rows are left out unless they are kept, large losses are errors unless they are allowed.
func TestWhatIsLeftOut(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 120
	z := normals(2 * n)
	motion := func(i int) []any { return []any{i / 8, i % 8, float64(i%8) / 10, z[2*i], z[2*i+1]} }
	for _, c := range []struct {
		header  string
		row     func(i int) []any
		o       Options
		columns string // that are left; "": refused
		want    string // in the error, or in the notes
	}{
		{"trajectory,waypoint,time,a,b", motion, Options{}, "a,b", "time is no coordinate"},
		{"date,at,a", func(i int) []any { return []any{"2024-01-02T10:00Z", "A1", z[i]} }, Options{}, "a", "words"},
		{"date,a", func(i int) []any { return []any{"1/2/2024 1:05 PM", z[i]} }, Options{}, "a", "words"},
		{"date,a", func(i int) []any { return []any{"5 Jan 2024", z[i]} }, Options{}, "a", "words"},
		{"date,a", func(i int) []any { return []any{"2024-September-5", z[i]} }, Options{}, "a", "words"},
		{"noise,a", func(i int) []any { return []any{"12 decibel", z[i]} }, Options{}, "", `such as "12 decibel"`},
		{"price,a", func(i int) []any { return []any{"5 marks", z[i]} }, Options{}, "", `such as "5 marks"`},
		{"price,a", func(i int) []any { return []any{"5 mar km", z[i]} }, Options{}, "", `such as "5 mar km"`},
		{"length,a,b", func(i int) []any { return []any{"12 pm", z[i], z[n+i]} }, Options{}, "", `such as "12 pm"`},
		{"length,a,b", func(i int) []any { return []any{"12 km", z[i], z[n+i]} }, Options{}, "", `such as "12 km"`},
		{"trajectory,waypoint,time,a,b", motion, Options{Clean: "c.csv"}, "a,b", "--keep trajectory,waypoint,time"},
		{"trajectory,waypoint,time,a,b", motion, Options{Clean: "c.csv", Keep: []string{"time"}}, "time,a,b", ""},
		{"", func(i int) []any { return []any{1305031098 + 0.0333*float64(i), z[i], z[n+i]} }, Options{Clean: "c.csv"},
			"column 1,column 2", "it is a time"},
		{"x,y", func(i int) []any { return []any{float64(i) / 10, z[i]} }, Options{}, "x,y", "--drop x"},
		{"time,y", func(i int) []any { return []any{z[n+i], z[i]} }, Options{}, "time,y", ""}, // of reactions, say
		{"id,y", func(i int) []any { return []any{n - i, z[i]} }, Options{Clean: "c.csv"}, "y", "id is no coordinate"},
		{"a,b", func(i int) []any {
			if i%20 == 3 {
				return []any{"?", z[i]}
			}
			return []any{z[n+i], z[i]}
		}, Options{Clean: "c.csv"}, "", `6 of 120 rows have no value in a cell: line 5 (a is "?")`},
		{"a,b", func(i int) []any {
			if i%20 == 3 {
				return []any{"?", z[i]}
			}
			return []any{z[n+i], z[i]}
		}, Options{Clean: "c.csv", MaxLoss: 0.05}, "a,b", "6 of 120 rows"},
	} {
		save(t, "t.csv", table(c.header, n, c.row))
		c.o.Path = "t.csv"
		d, err := New(c.o)
		if c.columns == "" {
			testkit.Refused(t, err, c.want, c.header)
			continue
		}
		testkit.OK(t, err)
		var left []string
		for _, col := range d.Columns {
			if col.Role == "coordinate" {
				left = append(left, col.Name)
			}
		}
		if got := strings.Join(left, ","); got != c.columns || !strings.Contains(strings.Join(d.Notes, "\n"), c.want) {
			t.Errorf("%s: %s is left, want %s and %q in %q", c.header, got, c.columns, c.want, d.Notes)
		}
	}
}
