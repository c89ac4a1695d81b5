package choose

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// docs/auto.md has the numbers of the code.
func TestDocs(t *testing.T) {
	page := testkit.Must(os.ReadFile("../../docs/auto.md"))
	text := strings.Join(strings.Fields(string(page)), " ")
	for _, want := range []string{
		fmt.Sprintf("γS = %v;", memory),
		fmt.Sprintf("from %v to %v |", nearest, farthest),
		fmt.Sprintf("τ_max ≤ min(%v R/√m, w/%v); from %d to %d |", arc, 1/inside, fewestSteps, mostSteps),
		fmt.Sprintf("it turns by at most %v,", arc),
		fmt.Sprintf("τ_max ≤ %v R₁/√m; up to %d |", thin, mostThin),
		fmt.Sprintf("τ_0 = δ/%v; from σ_max/%v to σ_max/%v |", 1/start, 1/steepest, 1/flattest),
		fmt.Sprintf("R/(√m + %v)", tail),
		fmt.Sprintf("v is below %v ℓ²", short),
		fmt.Sprintf("| %v R; at most √v |", windowArc),
		fmt.Sprintf("as many (%d to %d) as give a shortest wave of %v δ", fewOctaves, manyOctaves, finest),
		fmt.Sprintf("up to %d coordinates: D,", widest),
		fmt.Sprintf("Molecules with `coordinates: internal`: %v, %d, `point`", torsionWave, torsionOctaves),
		fmt.Sprintf("| %d, or all rows;", batchRows),
		fmt.Sprintf("(up to %d 000 coordinates)", centred/1000),
		"more than four times as long as Σ bears",
	} {
		testkit.Contains(t, text, want, "docs/auto.md")
	}
	testkit.Equal(t, overstep, 4, "docs/auto.md says four times")
}
