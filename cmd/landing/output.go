package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/landing-diffusion/landing/judge/metric"
)

// printable returns text that a terminal takes for text: control characters other than
// tabs and line ends, characters that turn the direction of writing, and bytes that are
// not UTF-8 become escapes as in Go's strings.
func printable(s string) string {
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

// oneLine is printable of text that is a part of a line.
func oneLine(s string) string { return strings.ReplaceAll(printable(s), "\n", `\n`) }

// lines returns an error's message, a line for each of errors that were joined.
func lines(err error) []string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts := joined.Unwrap()
		if err.Error() == errors.Join(parts...).Error() {
			var all []string
			for _, e := range parts {
				all = append(all, lines(e)...)
			}
			return all
		}
	}
	if errors.As(err, new(*internalError)) { // its stack
		return []string{printable(err.Error())}
	}
	return []string{oneLine(err.Error())}
}

// A console is where the program writes: results to standard output, messages and progress to standard error.
type console struct {
	stdout, stderr io.Writer
	json, quiet    bool
	told           bool   // standard output has its JSON object
	said           string // how standard error is written
}

// say writes a line for people to standard error. What cannot be written there is
// dropped: a training goes on when nobody reads its messages.
func (c *console) say(format string, v ...any) {
	for i := range v {
		switch x := v[i].(type) {
		case string:
			v[i] = oneLine(x)
		case error:
			v[i] = strings.Join(lines(x), "\n")
		case fmt.Stringer:
			v[i] = oneLine(x.String())
		}
	}
	if c.said == sayJSON {
		emit(c.stderr, messageOf(fmt.Sprintf(format, v...)))
		return
	}
	fmt.Fprintf(c.stderr, format+"\n", v...)
}

// messageOf is the event of a line that say writes. Its first word tells its level.
func messageOf(line string) event {
	for _, of := range []level{levelNote, levelWarning} {
		if rest, ok := strings.CutPrefix(line, string(of)+": "); ok {
			return event{Event: eventMessage, Level: of, Message: rest}
		}
	}
	return event{Event: eventMessage, Level: levelInfo, Message: line}
}

// working tells other programs which run folder a verb works on, as soon as there is one.
func (c *console) working(dir string) {
	if c.said == sayJSON {
		emit(c.stderr, event{Event: eventRun, Run: dir})
	}
}

// result prints v as JSON if asked to, and the text otherwise.
func (c *console) result(v any, text func(w io.Writer)) error {
	if c.json {
		return c.object(v)
	}
	var b bytes.Buffer
	text(&b)
	_, err := io.WriteString(c.stdout, printable(b.String()))
	return err
}

// object prints v as the one JSON object of standard output.
func (c *console) object(v any) error {
	c.told = true
	e := json.NewEncoder(c.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// A keeper is a writer that keeps its first error, for writers that drop theirs.
type keeper struct {
	io.Writer
	err error
}

func (k *keeper) Write(b []byte) (int, error) {
	n, err := k.Writer.Write(b)
	if k.err == nil {
		k.err = err
	}
	return n, err
}

// sayRounded says that a file keeps fewer digits than points have, where that takes them further
// from Σ than they are, worst.
func (c *console) sayRounded(file string, off metric.Violation, worst float64) {
	if float64(off.Worst) > worst {
		c.say("note: %s rounds coordinates: in it %q is violated by up to %.2g. A .npy file keeps all digits",
			file, off.Component, float64(off.Worst))
	}
}
