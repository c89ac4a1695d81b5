package verdict

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// docs/verdict.md has a row for every code, with the threshold and the level of the code.
func TestDocs(t *testing.T) {
	page := string(testkit.Must(os.ReadFile("../../docs/verdict.md")))
	for code, m := range measures {
		row := regexp.MustCompile("(?m)^\\| `" + string(code) + "` \\|.*$").FindString(page)
		if row == "" {
			t.Errorf("docs/verdict.md has no row for %s", code)
			continue
		}
		want := "| always |"
		switch {
		case math.IsNaN(m.fault):
			want = "| never |"
		case m.unit == shares && m.fault > 0:
			want = fmt.Sprintf("| %g %% of the samples |", 100*m.fault)
		case m.unit == functions:
			want = fmt.Sprintf("| distribution functions %g apart |", m.fault)
		}
		testkit.Contains(t, row, want, "the row of %s", code)
		if l := Level(code); l > 0 && code != AnotherLaw {
			testkit.Contains(t, row, fmt.Sprintf("(%g", l), "the row of %s", code)
		}
	}
	testkit.Contains(t, page, fmt.Sprintf("add up to %g", Alarm), "docs/verdict.md")
	for _, g := range []Grade{Good, Usable, NotGood, NotDecided} {
		testkit.Contains(t, page, "| "+string(g)+" |", "docs/verdict.md")
	}
}
