package draft

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/text"
)

// circles puts the cosine and the sine of each column that is asked for in its place: a point of a circle, which
// has no seam where an angle comes round. Numbers beyond ±2π are degrees.
func (l *loaded) circles(asked []string) error {
	if len(asked) == 0 {
		return nil
	}
	s := l.survey
	if l.molecule != nil {
		return &OptionError{"--angles", "files of molecules are taken as they are; expected an array or a table"}
	}
	unit := map[int]float64{} // radians in that of a column
	for _, want := range asked {
		j := column(s, want)
		if j < 0 || slices.Contains(s.Text, j) {
			return &OptionError{"--angles", noColumn(s, want)}
		}
		most := 0.0
		for i := range s.N {
			if v := math.Abs(s.X[i*s.D+j]); v-v == 0 {
				most = max(most, v)
			}
		}
		name, of := "radians", 1.0
		if most > 2*math.Pi+1e-6 {
			name, of = "degrees", math.Pi/180
		}
		if unit[j] == 0 {
			l.turned = append(l.turned, fmt.Sprintf("%s is an angle, taken as %s", columnName(s, j), name))
		}
		unit[j] = of
	}
	l.survey = turned(s, unit)
	return nil
}

// turned is a survey with cosine and sine in place of some columns; unit has the radians in the unit of each.
func turned(s *dataset.Survey, unit map[int]float64) *dataset.Survey {
	out := *s
	at := make([]int, s.D) // where a column goes
	for j := range at {
		at[j] = out.D - s.D + j
		if unit[j] != 0 {
			out.D++
		}
	}
	out.Shape, out.X, out.Header = []int{out.D}, make([]float64, 0, s.N*out.D), nil
	for i := range s.N {
		for j := range s.D {
			if v := s.X[i*s.D+j]; unit[j] == 0 {
				out.X = append(out.X, v)
			} else {
				sin, cos := math.Sincos(v * unit[j])
				out.X = append(out.X, cos, sin)
			}
		}
	}
	for j, name := range s.Header {
		if unit[j] == 0 {
			out.Header = append(out.Header, name)
		} else {
			out.Header = append(out.Header, "cos_"+name, "sin_"+name)
		}
	}
	move := func(columns []int) (moved []int) {
		for _, j := range columns {
			moved = append(moved, at[j])
		}
		return moved
	}
	out.Text, out.Empty, out.Faults = move(s.Text), move(s.Empty), slices.Clone(s.Faults)
	for k, f := range out.Faults {
		if f.Column >= 0 {
			out.Faults[k].Column = at[f.Column]
		}
	}
	return &out
}

// columnName is that of a column of the file.
func columnName(s *dataset.Survey, j int) string {
	if h := s.Header; h != nil && h[j] != "" {
		return h[j]
	}
	return fmt.Sprintf("column %d", j)
}

// said is how an option names a column of the file.
func said(s *dataset.Survey, j int) string {
	if h := s.Header; h != nil && h[j] != "" && !strings.Contains(h[j], ",") {
		return text.Shell(h[j])
	}
	return fmt.Sprint(j)
}

// column finds a column of the file by its name or number from 0; −1: there is none.
func column(s *dataset.Survey, want string) int {
	if j := slices.Index(s.Header, want); j >= 0 {
		return j
	}
	k := -1
	if _, err := fmt.Sscanf(want, "%d", &k); err == nil && fmt.Sprint(k) == want && k >= 0 && k < s.D {
		return k
	}
	return -1
}

func noColumn(s *dataset.Survey, want string) string {
	return fmt.Sprintf("there is no column %q of numbers; expected a name of the header or a number from 0 to %d", want,
		s.D-1)
}
