// Package text writes numbers for people, as reports and messages show them.
package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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
