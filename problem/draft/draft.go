// Package draft writes a problem file for a data file: what was seen of the data as comments, a
// set that the rows lie on, and what they nearly keep, commented out with its residual.
//
// What is written is read back before it is handed out: the set is built and every row is held
// against it. It is not for choosing how to learn: every other key is left to its default.
package draft

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/domain/molecules"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/langevin/evidence"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/discover"
)

// Options are what a user says beside the file.
type Options struct {
	Path     string   // of the data
	Folder   string   // of the problem file; "" is the current one
	Array    string   // of an archive; "" the only one
	Decimal  string   // point or comma, in numbers of a table; "" as all of them tell
	Header   string   // yes or no: the first line of a table names the columns; "" as the table tells
	Formulas []string // to be measured, and added where they hold
	Drop     []string // columns to leave out, by name or number from 0
	Keep     []string // columns that are coordinates though they look like times or numbers of rows
	Given    []string // columns that are given with each point: a condition
	MaxLoss  float64  // the largest share of rows that may be left out for one reason; 0: none but one
	Template string   // of conformations in an array: a file with their atoms; "" the data
	Atoms    string   // of molecules: heavy or all; "" heavy ones, where these turn about a bond
	Angles   []string // columns that are angles, likewise: their cosines and sines are points of circles
	Base     string   // of a robot's file: the first link of the arm; "": by its longest chain
	Tip      string   // likewise the last
	NoVolume bool     // of a robot's file: no spheres
	Clean    string   // a file for the rows and columns that can be used; "": one of its own, where no row is lost
}

// A Draft is a problem file and what it was made of.
type Draft struct {
	Data     string     `json:"data"`
	Format   string     `json:"format"`
	Read     string     `json:"read"` // what the numbers were understood to be, with their ranges
	Rows     int        `json:"rows"`
	Shape    []int      `json:"shape"`
	Columns  []Column   `json:"columns"`
	Kind     string     `json:"kind"`
	Faulty   Rows       `json:"faulty_rows"`
	Repeats  Rows       `json:"repeated_rows"`
	Outlier  []Outlier  `json:"outliers"`
	Holds    []Proposal `json:"holds"`    // to round-off: active
	Nearly   []Proposal `json:"nearly"`   // commented out
	Bounds   []Proposal `json:"bounds"`   // commented out
	Given    []Proposal `json:"formulas"` // those of the user
	Observe  []Observed `json:"observe"`  // numbers that are compared
	Set      string     `json:"set"`      // in words
	SetDim   int        `json:"set_dimension"`
	Molecule *Chemistry `json:"molecule,omitempty"`
	Fills    *float64   `json:"fills"` // dimensions that the rows fill; nil: not known
	Notes    []string   `json:"notes"`
	Name     string     `json:"name"`
	YAML     string     `json:"-"`
	Cleaned  *Cleaned   `json:"cleaned,omitempty"`
	Robot    []string   `json:"robot,omitempty"` // of a robot's file: what was understood, and what comes next
	report   *discover.Report
	symbols  []string // names of coordinates in formulas of the set; nil: they have none

	keepable []string // dropped columns that --keep keeps
}

// A Column is one of the file's.
type Column struct {
	Name string  `json:"name"`
	Role string  `json:"role"` // coordinate, condition, dropped
	Why  string  `json:"why,omitempty"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	SD   float64 `json:"sd"`
}

// Rows are some rows of the file.
type Rows struct {
	Count int      `json:"count"`
	First []string `json:"first"` // in words: "line 17" of tables, "row 3" (from 0) of arrays
}

// An Outlier is a number far from the others of its column.
type Outlier struct {
	Row    string  `json:"row"`
	Column string  `json:"column"`
	Value  float64 `json:"value"`
}

// A Proposal is a formula with its residual on the rows.
type Proposal struct {
	Name string   `json:"name"`
	For  string   `json:"for,omitempty"`
	Expr string   `json:"expr"`
	Max  float64  `json:"max"` // residuals, relative to the rows' spread
	RMS  float64  `json:"rms"`
	Note string   `json:"note,omitempty"`
	Rows []string `json:"except_rows,omitempty"`

	yaml string // as it is written, where that is no formula
}

// unfit is the error of a file that training would refuse, and for which --clean does not help.
func (o Options) unfit(format string, v ...any) error {
	return fault.At(fault.Data, o.Path, 0, o.Path+" cannot be trained on: "+fmt.Sprintf(format, v...))
}

// New looks at a file and drafts a problem. Errors are those of dataset.ReadSurvey and
// molecules.Read, *discover.GivenError, of kind fault.Data about rows, and of kind fault.Usage about an option.
func New(o Options) (*Draft, error) {
	l, err := read(o)
	if err != nil {
		return nil, err
	}
	defer input.Spare(len(l.survey.X))()
	if l.molecule == nil {
		var drop []int
		for _, want := range o.Drop {
			if j := column(l.survey, want); j >= 0 {
				drop = append(drop, j)
			}
		}
		l.survey.Judge(drop)
	}
	l.find = func(want string) int { return column(l.survey, want) }
	if err := l.circles(o.Angles); err != nil {
		return nil, err
	}
	d := &Draft{Data: o.Path, Format: l.survey.Format, Rows: l.survey.N, Shape: l.survey.Shape, Name: name(o.Path),
		Holds: []Proposal{}, Nearly: []Proposal{}, Bounds: []Proposal{}, Given: []Proposal{}, Outlier: []Outlier{}}
	if err := l.roles(o, d); err != nil {
		return nil, err
	}
	if err := l.clean(&o, d); err != nil {
		return nil, err
	}
	return d, l.draft(o, d)
}

// name makes a run's name of the file's.
func name(path string) string {
	base := filepath.Base(path)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, base)
	return cmp.Or(strings.Trim(safe, "-"), "run")
}

// loaded is the file on its way to a draft.
type loaded struct {
	sheet
	seam      map[int]bool            // coordinates that look like angles
	find      func(column string) int // of the survey, by its name or number in the file; −1: none
	molecule  *molecule.Molecule
	formula   string   // of all its atoms
	hydrogens int      // that are left out
	template  bool     // the file has names or elements of the atoms
	turned    []string // columns that are written as cosine and sine, in words
	data      string   // path of the file
	folder    string   // of the problem file

	kind  string   // of data
	given []string // names of the condition, as the problem file has them
	earth [2]int   // latitude and longitude
}

// A sheet is the rows of a file, and what its columns are.
type sheet struct {
	survey     *dataset.Survey
	names      []string // of all columns
	coordinate []int    // columns that are a point, in order
	condition  []int
	dropped    []int
	x          []float64
	n          int
	rows       []int // of the file, that x has
	columns    []discover.Column
	notes      []string
}

// read reads the file: frames of molecules by the formats that only they have, all else as a table or an array.
func read(o Options) (*loaded, error) {
	l := &loaded{kind: "points", data: o.Path, folder: o.Folder}
	ext := strings.ToLower(filepath.Ext(o.Path))
	if (o.Template != "" || ext != ".npy" && ext != ".npz") && slices.Contains(files.Extensions, ext) {
		p, err := molecules.Read(o.Path)
		if err != nil {
			return nil, err
		}
		if o.Template != "" {
			of, err := molecules.Read(o.Template)
			if err != nil {
				return nil, err
			}
			if of.D != p.D {
				return nil, fault.Errorf(fault.Data, o.Path, "its frames have %d atoms; expected the %d of %s", p.D/3,
					of.D/3, o.Template)
			}
			p.Molecule = of.Molecule
		}
		if p.Molecule.Atoms[0] == (molecule.Atom{}) {
			return nil, o.unfit("it names no atoms: --template FILE does, a PDB, SDF or XYZ file")
		}
		l.formula, l.template, l.kind, l.notes = p.Molecule.Formula(), true, "molecule", p.Remarks
		if _, doubt := p.Molecule.Described(p.X); strings.Contains(doubt, "are these") { // in another unit
			return nil, o.unfit("%s", doubt)
		}
		kept := p.Molecule.Heavy()
		if n := p.Molecule.N() - len(kept); o.Atoms != "all" && n > 0 && len(kept) > 0 {
			m, x := p.Molecule.Part(kept), make([]float64, 0, p.N*3*len(kept))
			for i := range p.N {
				x = append(x, molecule.Picked(p.X[i*p.D:(i+1)*p.D], kept)...)
			}
			if c := look(m, x); o.Atoms == "heavy" || len(c.Rotors)+len(c.Loose) > 0 {
				p.Molecule, p.X, p.D, l.hydrogens = m, x, m.Dim(), n
			}
		}
		l.survey = &dataset.Survey{Points: *p, Format: strings.ToUpper(ext[1:]), Shape: []int{p.Molecule.N(), 3}}
		l.molecule = p.Molecule
		return l, nil
	}
	s, err := dataset.ReadSurvey(o.Path, dataset.Reading{Array: o.Array, Decimal: o.Decimal, Header: o.Header})
	if err != nil && strings.Contains(err.Error(), "it holds the arrays") {
		return nil, fmt.Errorf("%w; --array NAME says which", err)
	}
	if err != nil {
		return nil, err
	}
	if s.D > discover.MaxDim {
		l.note("%d columns are more than the %d in which relations are looked for", s.D, discover.MaxDim)
	}
	l.survey, l.notes = s, append(l.notes, s.Remarks...)
	return l, nil
}

func (d *Draft) note(format string, v ...any) { d.Notes = append(d.Notes, fmt.Sprintf(format, v...)) }

func (t *sheet) note(format string, v ...any) { t.notes = append(t.notes, fmt.Sprintf(format, v...)) }

// row names a row of the file.
func (t *sheet) row(i int) string {
	if t.survey.Lines != nil {
		return fmt.Sprintf("line %d", t.survey.Lines[i])
	}
	return fmt.Sprintf("row %d", i)
}

const listed = 10 // rows that are named

func (t *sheet) some(rows []int, count int) Rows {
	out := Rows{Count: count, First: []string{}}
	for _, i := range rows[:min(len(rows), listed)] {
		out.First = append(out.First, t.row(i))
	}
	return out
}

// used names rows of those that are looked at.
func (t *sheet) used(rows []int) (names []string) {
	for _, i := range rows {
		names = append(names, t.row(t.rows[i]))
	}
	return names
}

// usable reports whether a name is one that formulas can use for a condition.
func usable(names []string) bool {
	_, err := expr.NewScopeOf(expr.NewGraph(len(names)), names)
	return err == nil
}

// roles says of each column whether it is a coordinate, a condition or none.
func (l *loaded) roles(o Options, d *Draft) error {
	s := l.survey
	for j := range s.D {
		l.names = append(l.names, columnName(s, j))
	}
	asked, kept, given := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, f := range []struct {
		flag  string
		names []string
		of    map[int]bool
	}{{"drop", o.Drop, asked}, {"keep", o.Keep, kept}, {"condition", o.Given, given}} {
		for _, want := range f.names {
			j := l.find(want)
			if j < 0 || l.molecule != nil || f.flag != "drop" && slices.Contains(s.Text, j) {
				return fault.Errorf(fault.Usage, "", "--%s: %s", f.flag, noColumn(s, want))
			}
			if asked[j] && f.flag != "drop" || kept[j] && f.flag == "condition" {
				return fault.Errorf(fault.Usage, "", "--%s: %q is in --drop or --keep, too; expected it in one of them",
					f.flag, want)
			}
			f.of[j] = true
		}
	}
	for i := range s.N {
		if _, bad := slices.BinarySearch(s.Faulty, i); !bad {
			l.rows = append(l.rows, i)
		}
	}
	if len(l.rows) == 1 && l.molecule != nil {
		return o.unfit("it holds one conformation of %s, and training takes many: make some (RDKit, molecular "+
			"dynamics), and give this file as --template if they are an array", l.formula)
	}
	if len(l.rows) < 2 {
		why := fmt.Sprintf("%d of its %d rows have numbers alone, and training takes two", len(l.rows), s.N)
		for _, f := range s.Faults[:min(1, len(s.Faults))] {
			where := "the row"
			if f.Column >= 0 {
				where = l.names[f.Column]
			}
			why += fmt.Sprintf(" (%s: %s is %s)", l.row(f.Row), where, f.Value)
		}
		return o.unfit("%s", why)
	}
	d.Faulty = l.some(s.Faulty, len(s.Faulty))
	for k := range d.Faulty.First {
		for _, f := range s.Faults {
			if f.Row == s.Faulty[k] {
				what := f.Value
				if what == `""` {
					what = "empty"
				}
				if f.Column >= 0 {
					what = l.names[f.Column] + " is " + what
				}
				d.Faulty.First[k] += " (" + what + ")"
				break
			}
		}
	}
	all := s.X // which may be large: it is not copied unless something is left out
	if len(l.rows) < s.N || len(s.Text) > 0 || len(asked) > 0 {
		all = make([]float64, 0, len(l.rows)*s.D)
		for _, i := range l.rows {
			for _, v := range s.X[i*s.D : (i+1)*s.D] {
				if v-v != 0 { // of columns that are left out
					v = 0
				}
				all = append(all, v)
			}
		}
	}
	columns := discover.Columns(all, len(l.rows), s.D)
	wholes := 0
	for j, c := range columns {
		if c.Whole && !slices.Contains(s.Text, j) && !c.Constant() {
			wholes++
		}
	}
	latitude, longitude := latLon(s, columns)
	if latitude >= 0 && (radians.MatchString(l.names[latitude]) || radians.MatchString(l.names[longitude])) {
		return o.unfit("%s and %s are in radians, and places on Earth take degrees: multiply them by 180/π",
			l.names[latitude], l.names[longitude])
	}
	orders := make([]string, s.D)
	for j, c := range columns {
		if l.molecule == nil && !slices.Contains(s.Text, j) {
			orders[j] = l.order(j, c, all)
		}
	}
	for j, c := range columns {
		col := Column{Name: l.names[j], Role: "coordinate", Min: c.Min, Max: c.Max, SD: c.SD}
		switch {
		case asked[j]:
			col.Role, col.Why = "dropped", "as --drop says"
		case slices.Contains(s.Text, j):
			col.Role, col.Why, col.Min, col.Max, col.SD = "dropped", "it holds words", 0, 0, 0
			if slices.Contains(s.Empty, j) {
				col.Why = "it holds no number"
			} else if v := s.Word(j); v != "" {
				col.Why += " such as " + v
			} else if s.Kinds[j] != "" {
				col.Why = fmt.Sprintf("it holds %s, which is not read", s.Kinds[j])
			} else if slices.Contains(s.Beyond, j) {
				col.Why = "its whole numbers lie beyond 2^53, which float64 rounds: they are names"
			}
		case given[j]:
			col.Role, col.Why = "condition", "as --condition says"
		case l.molecule != nil, kept[j], j == latitude, j == longitude:
		case orders[j] != "":
			col.Role, col.Why = "dropped", orders[j]
			d.keepable = append(d.keepable, said(s, j))
		case latitude >= 0 && longitude >= 0:
			col.Role, col.Why = "dropped", fmt.Sprintf("beside latitude and longitude, unless --condition %s",
				said(s, j))
		case wholes < s.D-len(s.Text) && c.Label(len(l.rows)):
			col.Role, col.Why = "condition", fmt.Sprintf("%d whole numbers: labels or counts, no coordinate",
				c.Distinct)
		}
		switch col.Role {
		case "coordinate":
			l.coordinate = append(l.coordinate, j)
		case "condition":
			l.condition = append(l.condition, j)
		default:
			l.dropped = append(l.dropped, j)
		}
		d.Columns = append(d.Columns, col)
	}
	if len(l.coordinate) == 0 {
		return o.unfit("no column looks like a coordinate")
	}
	if latitude >= 0 && longitude >= 0 {
		l.kind, l.earth = "earth", [2]int{latitude, longitude}
		l.coordinate = []int{latitude, longitude}
	} else if at := l.coordinate; len(at) == 2 {
		a, b := columns[at[0]], columns[at[1]]
		unit := slices.ContainsFunc(at, func(j int) bool { return lengths.MatchString(l.names[j]) })
		if !unit && (degrees(a, b, s.Header) || degrees(b, a, s.Header)) {
			l.note("%s and %s are taken for places in a plane, but could be latitude and longitude in degrees: if "+
				"they are, call them so in the first line of the file", l.names[at[0]], l.names[at[1]])
		}
	}
	if wholes > 0 && wholes == s.D-len(s.Text) && l.molecule == nil {
		l.note("all columns hold whole numbers: samples will lie between them")
	}
	varies := false
	for _, j := range l.coordinate {
		l.columns = append(l.columns, columns[j])
		varies = varies || !columns[j].Constant()
	}
	if !varies {
		l.note("no coordinate varies: there is nothing to learn")
	}
	l.n = len(l.rows)
	if l.x = all; len(l.coordinate) < s.D || !slices.IsSorted(l.coordinate) {
		l.x = make([]float64, 0, l.n*len(l.coordinate))
		for i := range l.n {
			for _, j := range l.coordinate {
				l.x = append(l.x, all[i*s.D+j])
			}
		}
	}
	if l.kind != "earth" {
		if l.atoms(); l.molecule == nil {
			l.seams(columns)
		}
	}
	return nil
}

// radians are in names of columns in this unit.
var radians = regexp.MustCompile(`(?i)(^|[^a-z])rad(ians?)?([^a-z]|$)`)

// lengths are units in brackets that are no angle's, as [m/s], with a letter for thousands at most: (deg) is none.
var lengths = regexp.MustCompile(`[\[(] *[a-zA-Zµ]?[mskgCKW][a-zA-Z/^0-9]* *[\])]`)

// latLon finds columns that the header calls latitude and longitude and that can be; −1: none.
func latLon(s *dataset.Survey, columns []discover.Column) (latitude, longitude int) {
	latitude, longitude = -1, -1
	for j, name := range s.Header {
		switch c, place := columns[j], dataset.Place(name); {
		case slices.Contains(s.Text, j):
		case place == "latitude" && c.Min >= -90 && c.Max <= 90 && latitude < 0:
			latitude = j
		case place == "longitude" && c.Min >= -180 && c.Max <= 360 && longitude < 0:
			longitude = j
		}
	}
	if latitude < 0 || longitude < 0 {
		return -1, -1
	}
	return latitude, longitude
}

// degrees reports whether two columns have the ranges of latitude and longitude, well used. Named ones must use more.
func degrees(lat, lon discover.Column, names []string) bool {
	return lat.Min >= -90 && lat.Max <= 90 && lat.Max-lat.Min > 20 && lon.Min >= -180 && lon.Max <= 360 &&
		(lon.Min < -90 || lon.Max > 90) && lon.Max-lon.Min > 40 && (names == nil || lon.Max-lon.Min > 180)
}

// seams finds columns that take all of a circle's angles.
func (l *loaded) seams(columns []discover.Column) {
	l.seam = map[int]bool{}
	for k, j := range l.coordinate {
		if unit := columns[j].Circle(); unit != "" {
			l.seam[k] = true
			l.note("x[%d] (%s) looks like an angle in %s: the model does not know that "+
				"it comes round; as cosine and sine it has no seam (--angles %s)", k, l.names[j], unit,
				said(l.survey, j))
		}
	}
}

// atoms takes arrays of n×A×3 numbers for a molecule's conformations if they can be: every atom
// is bonded to others in the first frame, as carbons are, and the bonds hold in all frames.
func (l *loaded) atoms() {
	shape := l.survey.Shape
	if l.molecule != nil || len(shape) != 2 || shape[1] != 3 || shape[0] < 4 || len(l.condition)+len(l.dropped) > 0 ||
		shape[0]*3 > discover.MaxDim {
		return
	}
	m := molecule.Anonymous(shape[0])
	bonds := m.GuessBonds(l.x[:m.Dim()])
	if m.SetBonds(bonds) != nil {
		return
	}
	const shortest, hydrogen, longest, most = 0.8, 1.15, 2.1, 4
	near := m.Neighbours()
	if len(bondsFrom(0, near)) < m.N() || slices.ContainsFunc(near, func(of []int) bool { return len(of) > most }) {
		return
	}
	step := max(1, l.n/1000)
	for i := 0; i < l.n; i += step {
		x := l.x[i*m.Dim() : (i+1)*m.Dim()]
		for _, b := range bonds {
			switch r := molecule.Distance(x, b[0], b[1]); {
			case i == 0 && r > shortest && r < hydrogen:
				l.note("if these are atoms with hydrogens, as near as %.2f to others, --template FILE tells which: a "+
					"PDB, SDF or XYZ file of the molecule", r)
				return
			case r < shortest || r > longest:
				return
			}
		}
	}
	l.molecule, l.kind, l.formula = m, "molecule", m.Formula()
	l.note("the numbers can be atoms of a molecule in ångström: %d bonds were guessed "+
		"as between carbons. If they are not, say data.kind: points", len(bonds))
}

// bondsFrom returns how many bonds there are from a point to each of those that bonds join it to.
func bondsFrom(from int, near [][]int) map[int]int {
	bonds := map[int]int{from: 0}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, j := range near[queue[0]] {
			if _, reached := bonds[j]; !reached {
				bonds[j], queue = bonds[queue[0]]+1, append(queue, j)
			}
		}
	}
	return bonds
}

// draft looks for relations and writes the file.
func (l *loaded) draft(o Options, d *Draft) error {
	d.Kind = l.kind
	repeats := discover.Duplicates(l.everything())
	var rows []int
	for _, pair := range repeats.First {
		rows = append(rows, l.rows[pair[0]])
	}
	d.Repeats = l.some(rows, repeats.Count)
	if repeats.Looked < l.n {
		d.note("equal rows were looked for among the first %d", repeats.Looked)
	}
	points := dataset.Points{N: l.n, D: len(l.coordinate), X: l.x, Molecule: l.molecule}
	for _, j := range l.coordinate {
		points.Names = append(points.Names, l.names[j])
	}
	if l.kind == "earth" {
		points.Place = fmt.Sprintf("latitude is %s, longitude is %s: %s", points.Names[0], points.Names[1],
			dataset.Ranges([]string{"latitude", "longitude"}, l.x, 2))
	}
	said, doubts := points.Described()
	d.Read, d.Notes = strings.Join(said, "; "), append(append(d.Notes, doubts...), l.notes...)
	if l.kind == "earth" {
		if len(o.Formulas) > 0 {
			return fault.Errorf(fault.Usage, "", "--formula: places on Earth lie on the sphere in R³; a formula "+
				"would be of unit vectors, which the file does not hold")
		}
		d.SetDim, d.Set = 2, "the sphere, of latitude and longitude in degrees"
		return l.write(o, d, []string{"{kind: sphere, dim: 3}"})
	}
	if lines, ok := l.motions(o, d); ok {
		d.Kind = l.kind
		text := "data: {kind: trajectory}\nset:" + strings.Join(lines, "\n") + "\n"
		p, err := problem.Load([]byte(text), "the draft", "", nil)
		if err != nil {
			return err
		}
		process, err := p.Build()
		if err != nil {
			return err
		}
		d.SetDim = process.Set.Dim() - len(process.Set.Equalities())
		if arm, ok := constraint.As[*trajectory.Set](process.Set); ok {
			said, _ := arm.Spec().Arm.Described()
			d.Read = said + "; " + d.Read
		}
		return l.write(o, d, lines)
	}
	dim := len(l.coordinate)
	r := &discover.Report{Rows: l.n, Dim: dim, Fills: math.NaN()}
	if dim <= discover.MaxDim {
		t := discover.Table{X: l.x, N: l.n, D: dim, Molecule: l.molecule}
		for _, j := range l.coordinate {
			if l.survey.Header != nil {
				t.Names = append(t.Names, l.names[j])
			}
		}
		if dim == l.survey.D && len(l.survey.Shape) > 1 {
			t.Shape = l.survey.Shape
		}
		var err error
		var own []string
		for _, text := range o.Formulas {
			if _, given := l.ofCondition(text); !given {
				own = append(own, l.ofColumns(text))
			}
		}
		if r, err = discover.Look(t, own...); err != nil {
			return fmt.Errorf("%w; %s", err, strings.Join(slices.Concat(l.symbols(), l.columnLines(d)), "; "))
		}
	} else if len(o.Formulas) > 0 {
		return fault.Errorf(fault.Usage, "", "--formula: the rows have more than %d numbers", discover.MaxDim)
	}
	d.report = r
	if l.molecule == nil {
		d.Notes = append(d.Notes, r.Remarks...)
	}
	if r.Distinct < discover.FewestRows && len(o.Formulas) == 0 && l.molecule == nil {
		d.note("what you know of the set can be said: --formula \"…\" is held against the rows")
	}
	if r.Fills-r.Fills == 0 {
		fills := r.Fills
		d.Fills = &fills
	}
	for _, q := range r.Outliers {
		if l.molecule != nil { // where a conformation lies says nothing
			break
		}
		d.Outlier = append(d.Outlier, Outlier{l.row(l.rows[q.Row]), l.names[l.coordinate[q.Column]], q.Value})
	}
	set := l.compose(o, d, r)
	if note := roundedNote(r); note != "" {
		d.Notes = slices.Insert(d.Notes, 0, note)
	}
	d.Observe = l.observe(d, r)
	return l.write(o, d, set)
}

// everything returns the coordinates and conditions of the rows.
func (t *sheet) everything() (x []float64, n, dim int) {
	if len(t.condition) == 0 {
		return t.x, t.n, len(t.coordinate)
	}
	of := slices.Concat(t.coordinate, t.condition)
	for _, i := range t.rows {
		for _, j := range of {
			x = append(x, t.survey.X[i*t.survey.D+j])
		}
	}
	return x, t.n, len(of)
}

// build builds the set that a problem file in a folder describes.
func build(text []byte, folder string) (constraint.Set, error) {
	p, err := problem.Load(text, "the draft", "", nil)
	if err != nil {
		return nil, err
	}
	for key, path := range p.Files() {
		if path != "" && !filepath.IsAbs(path) {
			p.SetFile(key, filepath.Join(folder, path))
		}
	}
	process, err := p.Build()
	if err != nil {
		return nil, err
	}
	return process.Set, nil
}

// built builds the set that a problem file describes and holds all rows against it: 0 if training
// takes them without data.tolerance, else the largest violation of a component.
func (l *loaded) built(text []byte) (tolerance float64, err error) {
	set, err := build(text, l.folder)
	if err != nil || l.kind == "earth" {
		return 0, err
	}
	x, n, dim := l.everything()
	if kind, ok := kinds.Of(l.kind, set); ok && (l.kind == "trajectory" || l.molecule != nil) {
		// joints' values become coordinates, and so do conformations
		points, err := kind.Fit(set, &dataset.Points{X: x, N: n, D: dim, Molecule: l.molecule})
		if err != nil {
			return 0, err
		}
		x, dim = points.X, points.D
	}
	if set.Dim() != dim {
		return 0, fmt.Errorf("the set lies in R^%d; expected R^%d", set.Dim(), dim)
	}
	m := len(set.Equalities())
	e, ruler, far := set.NewEvaluator(1), geometry.NewRuler(set), evidence.FarOf(set, x)
	h := make([]float64, len(constraint.Components(set)))
	if len(h) == 0 {
		return 0, nil
	}
	worst, beyond := 0.0, false
	for i := range n {
		e.Values(h, x[i*dim:(i+1)*dim], 1)
		v, _ := constraint.Worst(h, m)
		if math.IsNaN(v) {
			return 0, fmt.Errorf("the set has no value at %s", l.row(l.rows[i]))
		}
		worst = max(worst, v)
		beyond = beyond || slices.Max(ruler.Singles(x[i*dim:(i+1)*dim])) > far
	}
	if !beyond && (l.molecule == nil || worst < 1e-6) { // rings of conformations close by bonds that vary
		worst = 0
	}
	return worst, nil
}
