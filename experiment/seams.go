package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/problem/discover"
)

// seams says which coordinates of plain points take all angles of a circle, which the model does not know to come
// round, and the command that mends it; the coordinates are empty where there are none. A coordinate that an
// equality is about is none: Σ says what it is.
func seams(p *problem.Problem, set constraint.Set, data *dataset.Points) (coordinates []int, says string) {
	if p.Data.Kind != "points" || len(set.Equalities()) > 0 || len(p.Condition.Columns) > 0 || p.Data.Path == "" {
		return nil, ""
	}
	var names, columns []string
	unit := ""
	for _, s := range discover.Seams(data.X, data.N, data.D) {
		coordinates = append(coordinates, s.Column)
		names = append(names, fmt.Sprintf("x[%d]", s.Column))
		columns = append(columns, fmt.Sprint(s.Column))
		unit = s.Unit
	}
	if coordinates == nil {
		return nil, ""
	}
	const shown = 4
	if more := len(names) - shown; more > 0 {
		names = append(slices.Clone(names[:shown]), fmt.Sprintf("%d more", more))
	}
	are, they := "take", "they come"
	if len(coordinates) == 1 {
		are, they = "takes", "it comes"
	}
	base := strings.TrimSuffix(filepath.Base(p.Data.Path), filepath.Ext(p.Data.Path)) + "-angles"
	return coordinates, fmt.Sprintf("%s %s all angles of a circle, in %s, and the set does not know that %s round: "+
		"what lies across the seam is far apart. If they are angles: landing init %s --angles %s --clean %s -o %s",
		strings.Join(names, ", "), are, unit, they, text.Shell(p.Data.Path), strings.Join(columns, ","),
		text.Shell(base+".csv"), text.Shell(base+".yaml"))
}

// seamFindings is what the doctor says of them.
func seamFindings(p *problem.Problem, set constraint.Set, data *dataset.Points) []check.Finding {
	coordinates, says := seams(p, set, data)
	if coordinates == nil {
		return nil
	}
	return []check.Finding{{Check: "angles", Status: check.Warn, Message: says,
		Numbers: check.Numbers{"columns": float64(len(coordinates))}}}
}
