package text

import (
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		9.97e-14: "1.0×10⁻¹³", 2.2e-16: "2.2×10⁻¹⁶", -3e5: "-3.0×10⁵", 0: "0", 0.25: "0.25",
	} {
		testkit.Equal(t, Number(v), want, "%v", v)
	}
	if Measured(math.NaN()) != "–" || Fixed(math.NaN()) != "–" || Fixed(0.12345) != "0.1235" ||
		Percent(0.125) != "12.5 %" {
		t.Error("what was not measured is no dash, or what was is not written")
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{7: "7", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567"} {
		testkit.Equal(t, Count(n), want, "%d", n)
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 2: "2 rows"} {
		testkit.Equal(t, Plural(n, "row"), want)
	}
}

func TestSuggest(t *testing.T) {
	options := []string{"steps", "stops", "seed"}
	for name, want := range map[string]string{"stips": `; did you mean "steps"?`, "sted": `; did you mean "seed"?`,
		"horizon": "", "": ""} {
		testkit.Equal(t, Suggest(name, options), want, "%q", name)
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "norm", 4}, {"kitten", "sitting", 3}, {"norm", "norm", 0}, {"nomr", "norm", 1},
		{"nnorm", "norm", 1}, {"nom", "norm", 1}, {"nerm", "norm", 1}, {"norms", "nrom", 2}, {"abcdef", "def", 3},
		{"ab", "ba", 1}, {"abc", "cab", 2}, {"φ", "ψ", 1},
	} {
		testkit.Equal(t, Edits(c.a, c.b), c.want, "%q to %q", c.a, c.b)
		testkit.Equal(t, Edits(c.b, c.a), c.want, "%q to %q", c.b, c.a)
	}
}

// Seconds are rounded, and an hour is one.
func TestClock(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0:00", 59.4: "0:59", 59.5: "1:00", 3599.4: "59:59",
		3599.6: "1:00:00", 3600: "1:00:00", 3723: "1:02:03", 36000: "10:00:00"} {
		if got := Clock(seconds); got != want {
			t.Errorf("%v s: %s, want %s", seconds, got, want)
		}
	}
}

// Lines wider than a terminal are broken at words, never within one, and what follows stands below its column.
func TestFold(t *testing.T) {
	long := strings.Repeat("a word and another ", 12)
	for _, width := range []int{50, 60, 80, 120} {
		for _, s := range []string{long, "note: " + long, "row   1.23  " + long, "  landing train " + long,
			"\x1b[31mred\x1b[0m " + long,
			long + "\n" + long, "ééé " + long} {
			got := Fold(s, width)
			for line := range strings.Lines(got) {
				if n := seen(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d characters of %d: %q", n, width, line)
				}
			}
			joined := strings.ReplaceAll(got, " \\\n", " ")
			if strings.Join(strings.Fields(joined), " ") != strings.Join(strings.Fields(s), " ") {
				t.Errorf("%q became %q", s, got)
			}
		}
	}
	for _, c := range []struct{ s, want string }{
		{"key  a reason that is long", "key  a reason that\n     is long"}, {"short", "short"},
		{"  landing check a b c d", "  landing check a \\\n    b c d"},
		{"  landing check   examines x", "  landing check\n    examines x"},
		{"landing trains a model of x", "landing trains a\n  model of x"},
		{"averyveryverylongwordthatdoesnotfit x", "averyveryverylongwordthatdoesnotfit\n  x"},
	} {
		testkit.Equal(t, Fold(c.s, 20), c.want)
	}
	testkit.Equal(t, Fold(long, 0), long)
}

// Tables fit: their long cells are folded, or they come in blocks, each with the first column. A word that is wider
// than the terminal has a block of its own.
func TestLayout(t *testing.T) {
	const s = "two tables:\nrun\tdistance to data\tverdict\n  runs/a-001\t0.1131 ± 0.0956\tgood\n  b\t\t" +
		"one of many reasons\n\nkey\tvalue that is long and has words\nno table that is wider than the terminal\nx\t" +
		"averyveryverylongwordthatdoesnotfit\ty"
	for _, width := range []int{0, 60, 50, 40, 30} {
		testkit.Keep(t, "%d columns\n%s\n", width, Layout(s, width))
	}
}
