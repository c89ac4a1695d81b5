package text

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

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
