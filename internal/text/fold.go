package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	colours = regexp.MustCompile("\x1b\\[[0-9;]*m")
	gaps    = regexp.MustCompile("  +")
	words   = regexp.MustCompile("( *)([^ ]+)")
	command = regexp.MustCompile(`^( *\w+: +| +)landing( [^ ]+)*$`) // indented, or behind a label
)

// seen is how many characters of a line a terminal shows.
func seen(s string) int { return utf8.RuneCountInString(colours.ReplaceAllString(s, "")) }

// Fold breaks lines that are wider than a terminal at words. What follows stands below the last column of a table, or
// indented. A command line goes on behind a backslash, as shells read it. A word that is wider than the terminal stays
// whole. A width of 0 folds nothing.
func Fold(s string, width int) string {
	if width <= 0 {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		body, end := strings.CutSuffix(line, "\n")
		fold(&b, body, width)
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func fold(b *strings.Builder, line string, width int) {
	if seen(line) <= width {
		b.WriteString(line)
		return
	}
	bare := strings.TrimLeft(line, " ")
	hang, next := min(len(line)-len(bare)+2, width/2), "\n"
	if command.MatchString(line) {
		next, width = " \\\n", width-2
	} else {
		for _, gap := range gaps.FindAllStringIndex(line, -1) { // columns that leave enough room
			if column := seen(line[:gap[1]]); column <= width*3/5 {
				hang = max(hang, column)
			}
		}
	}
	wrap(b, line, width, hang, next)
}

// wrap breaks a line at words; what follows a break is indented by hang.
func wrap(b *strings.Builder, line string, width, hang int, next string) {
	at := 0
	for _, m := range words.FindAllStringSubmatch(line, -1) {
		space, word := m[1], m[2]
		if at > 0 && at+len(space)+seen(word) > width {
			b.WriteString(next)
			space, at = strings.Repeat(" ", hang), 0
		}
		b.WriteString(space + word)
		at += len(space) + seen(word)
	}
}
