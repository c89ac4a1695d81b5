package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

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
	hang, next := len(line)-len(bare)+2, "\n"
	command := strings.HasPrefix(bare, "landing ")
	if command {
		next, width = " \\\n", width-2
	}
	for at := 0; !command; { // the last column that begins in the left half
		gap := strings.Index(line[at:], "  ")
		if gap < 0 {
			break
		}
		at += gap
		at += len(line[at:]) - len(strings.TrimLeft(line[at:], " "))
		if column := seen(line[:at]); column > width/2 {
			break
		} else if column > hang-2 {
			hang = column
		}
	}
	hang = min(hang, width/2)
	at, begun := 0, false
	put := func(space int, word string) {
		n := seen(word)
		if !begun {
			space = min(space, max(width-n, 0))
		}
		if begun && at+space+n > width {
			b.WriteString(next + strings.Repeat(" ", hang))
			at = hang + n
		} else {
			b.WriteString(strings.Repeat(" ", space))
			at += space + n
		}
		b.WriteString(word)
		begun = true
	}
	for line = strings.TrimRight(line, " "); line != ""; { // cell by cell, and a cell that is too long by its words
		cell := strings.TrimLeft(line, " ")
		space := len(line) - len(cell)
		if end := strings.Index(cell, "  "); end >= 0 {
			cell = cell[:end]
		}
		line = line[space+len(cell):]
		if seen(cell) <= width-hang && space > 1 {
			put(space, cell)
			continue
		}
		for word := range strings.SplitSeq(cell, " ") {
			put(space, word)
			space = 1
		}
	}
}
