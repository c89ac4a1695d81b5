package experiment

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/fault"
)

// Data of a set of its own unit trains in every unit, and data of another unit in none: the
// default asks for nearness in spreads of the data. The error names row, component, value,
// distance in the data's unit and share; data.tolerance is in the component's unit.
func TestDataOfAnyUnit(t *testing.T) {
	circle := func(r, at, off float64) [][]float64 { // the last of 100 rows is off by a share of r
		rows := [][]float64{}
		for i := range 100 {
			s, c := math.Sincos(2 * math.Pi * float64(i) / 100)
			if i == 99 {
				s, c = s*(1+off), c*(1+off)
			}
			rows = append(rows, []float64{float64(float32(at + r*c)), float64(float32(at + r*s))})
		}
		return rows
	}
	set := func(r, at float64) string {
		return fmt.Sprintf("set: {dim: 2, equality: [{name: round, expr: \"(x[0]-%g)^2 + (x[1]-%g)^2 = %g\"}]}\n",
			at, at, r*r)
	}
	for _, c := range []struct {
		name, set, key string
		rows           [][]float64
		fault, remark  string
	}{
		{"one", set(1, 0), "", circle(1, 0, 0), "", ""},
		{"thousand", set(1e3, 0), "", circle(1e3, 0, 0), "", ""},
		{"thousandth", set(1e-3, 0), "", circle(1e-3, 0, 0), "", ""},
		{"shifted", set(1, 1e3), "", circle(1, 1e3, 0), "", ""},
		{"a thousand in a set of one", set(1, 0), "", circle(1e3, 0, 0), "row 0 (from 0) violates \"round\" by " +
			"1e+06: " +
			"about 500 from it, 70.7 % of the spread of a coordinate (707); expected at most 1 %. Of 100 rows 100 " +
			"are " +
			"further, row ", ""},
		{"a thousandth in a set of one", set(1, 0), "", circle(1e-3, 0, 0), "row 0 (from 0) violates \"round\" by 1: " +
			"about 500 from it, 7.07e+05 times the spread of a coordinate (0.000707); expected at most 1 %. Of 100 ",
			""},
		{"shifted, in a set that is not", set(1, 0), "", circle(1, 1e3, 0), "times the spread of a coordinate (0.707)",
			""},
		{"a row off", set(1e3, 0), "", circle(1e3, 0, 0.02), "row 99 (from 0) violates \"round\" by 4.04e+04: about " +
			"19.8 " +
			"from it, 2.8 % of the spread of a coordinate (707); expected at most 1 %. Are the set's numbers in the " +
			"data's " +
			"unit, and its coordinates in the order of the columns? landing refine brings rows that are near " +
			"the set " +
			"to it; a data.tolerance, in the unit of the constraint, allows more", ""},
		{"a row hardly off", set(1e-3, 0), "", circle(1e-3, 0, 1e-3), "", "1 of 100 rows are beside the set, more " +
			"than " +
			"rounding of numbers explains; row 99 (from 0) the most, \"round\" by 2e-09: about 9.99e-07 from it, " +
			"0.141 % of " +
			"the spread of a coordinate (0.000707). Samples will lie on it; landing refine brings rows"},
		{"a tolerance is absolute", set(1e-3, 0), "data: {tolerance: 1e-8}\n", circle(1e-3, 0, 0.1),
			"row 99 (from 0) violates \"round\" by 2.1e-07; expected at most data.tolerance = 1e-08; landing", ""},
		{"a tolerance allows", set(1e-3, 0), "data: {tolerance: 1e-3}\n", circle(1e-3, 0, 0.1), "", ""},
		{"auto is the default", set(1e-3, 0), "data: {tolerance: auto}\n", circle(1e-3, 0, 0.02), "2.8 %", ""},
	} {
		l, err := written(t, c.key+c.set, c.rows)
		switch {
		case c.fault == "" && err != nil, c.fault != "" && (fault.KindOf(err) != fault.Data ||
			!strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: %v", c.name, err)
		case err == nil:
			got := strings.Join(l.Domain.Faults, "\n")
			if c.remark == "" && got != "" || !strings.Contains(got, c.remark) {
				t.Errorf("%s: remarks %q", c.name, got)
			}
		}
	}
}

// A frequent point gives a warning, wherever its rows stand. Rows that repeat in pairs, and few rows, give none.
func TestAtOnePoint(t *testing.T) {
	for _, c := range []struct {
		n, every int
		want     string
	}{
		{1000, 3, "334 of 1000 rows are one and the same point (row 0"},
		{1000, 15, "67 of 1000 rows are one and the same point (row 0"},
		{1000, 30, ""},
		{20, 7, ""},
	} {
		d := &dataset.Points{N: c.n, D: 2}
		for i := range c.n {
			x := []float64{float64(i / 2), 1}
			if i%c.every == 0 {
				x = []float64{-7, 0}
			}
			d.X = append(d.X, x...)
		}
		if got := atOnePoint(d); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("every %d: %q, want %q", c.every, got, c.want)
		}
	}
}
