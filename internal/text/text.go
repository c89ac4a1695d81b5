// Package text writes numbers for people, as reports and messages show them.
package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

var superscript = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷",
	"8", "⁸", "9", "⁹", "-", "⁻")

// Superscript writes an exponent: 12 is ¹².
func Superscript(n int) string { return superscript.Replace(strconv.Itoa(n)) }

// Count groups digits by three with thin spaces.
func Count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// Plural writes how many of a thing there are: 1 row, 3 rows.
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Counted is Plural for things whose plural is not the name with an s: 1 vertex, 3 vertices.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Number writes three digits, and small and large numbers as 2.2×10⁻¹⁶.
func Number[F ~float64](f F) string {
	v := float64(f)
	if v == 0 || math.Abs(v) >= 0.01 && math.Abs(v) < 1e4 || v-v != 0 {
		return fmt.Sprintf("%.3g", v)
	}
	mantissa, exp, _ := strings.Cut(fmt.Sprintf("%.1e", v), "e")
	power, err := strconv.Atoi(exp)
	if err != nil {
		panic("text: " + err.Error()) // %e always has a whole exponent
	}
	return mantissa + "×10" + Superscript(power)
}

// Measured is Number, or a dash where nothing was measured.
func Measured[F ~float64](f F) string {
	if math.IsNaN(float64(f)) {
		return "–"
	}
	return Number(f)
}

// Fixed writes four decimals, or a dash where nothing was measured.
func Fixed[F ~float64](f F) string {
	if math.IsNaN(float64(f)) {
		return "–"
	}
	return fmt.Sprintf("%.4f", float64(f))
}

// Percent writes a share.
func Percent[F ~float64](share F) string { return fmt.Sprintf("%.1f %%", 100*float64(share)) }

// Shell returns a path as a shell takes it.
func Shell(path string) string {
	if path == "" || strings.ContainsAny(path, " \t\n'\"\\$&;|<>()*?[]{}#~`!") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// Edits returns the Levenshtein distance of two names: how many characters are put in, left out, changed or swapped
// with a neighbour between them.
func Edits(a, b string) int {
	u, v := []rune(a), []rune(b)
	rows := make([][]int, len(u)+1)
	for i := range rows {
		rows[i] = make([]int, len(v)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(u); i++ {
		for j := 1; j <= len(v); j++ {
			cost := 1
			if u[i-1] == v[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && u[i-1] == v[j-2] && u[i-2] == v[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(u)][len(v)]
}

// Suggest asks for the option nearest to a mistyped name, if one is near: "; did you mean …?" or nothing.
func Suggest(name string, options []string) string {
	best, at := 3, ""
	for _, o := range options {
		if d := Edits(name, o); d < best {
			best, at = d, o
		}
	}
	if at == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", at)
}

// Printable returns text that a terminal takes for text: control characters other than
// tabs and line ends, characters that turn the direction of writing, and bytes that are
// not UTF-8 become escapes as in Go's strings.
func Printable(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !unprintable(r):
			b.WriteString(s[:n])
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

func unprintable(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

// Line is Printable of text that is a part of a line.
func Line(s string) string { return strings.ReplaceAll(Printable(s), "\n", `\n`) }

// Short cuts lines of more than 2000 bytes, such as those that quote a long formula: their middles are left out.
func Short(s string) string {
	const most, head, tail = 2000, 1200, 600
	if len(s) <= most {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if len(l) > most {
			lines[i] = strings.ToValidUTF8(fmt.Sprintf("%s … (%d bytes left out) … %s", l[:head], len(l)-head-tail,
				l[len(l)-tail:]), "")
		}
	}
	return strings.Join(lines, "\n")
}

// Clock writes seconds as 1:02:03 or 2:03.
func Clock(seconds float64) string {
	s := int(seconds + 0.5)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// SI writes a number with three digits and a prefix.
func SI(v float64) string {
	unit := ""
	for _, u := range []string{"k", "M", "G", "T"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g%s", v, unit))
}

// Age writes a time that has gone by in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}
