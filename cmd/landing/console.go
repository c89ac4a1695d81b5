package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

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
	if fault.KindOf(err) == fault.Internal { // its stack
		return []string{text.Printable(err.Error())}
	}
	return []string{text.Short(text.Line(err.Error()))}
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
			v[i] = text.Line(x)
		case error:
			v[i] = strings.Join(lines(x), "\n")
		case fmt.Stringer:
			v[i] = text.Line(x.String())
		}
	}
	if c.said == sayJSON {
		emit(c.stderr, messageOf(fmt.Sprintf(format, v...)))
		return
	}
	io.WriteString(c.stderr, text.Fold(fmt.Sprintf(format, v...), columns(c.stderr))+"\n")
}

// notes says what else there is to know.
func (c *console) notes(notes []string) {
	for _, note := range notes {
		c.say("note: %s", note)
	}
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

// result prints v as JSON if asked to, and otherwise what write writes, tables in lines with tabs.
func (c *console) result(v any, write func(w io.Writer)) error {
	if c.json {
		return c.object(v)
	}
	var b bytes.Buffer
	write(&b)
	_, err := io.WriteString(c.stdout, text.Layout(text.Printable(b.String()), columns(c.stdout)))
	return unlessLeft(err)
}

// unlessLeft drops the error of a reader who left, as head does: what the command did is done.
func unlessLeft(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// object prints v as the one JSON object of standard output.
func (c *console) object(v any) error {
	c.told = true
	e := json.NewEncoder(c.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return unlessLeft(e.Encode(v))
}

// A keeper is a writer that keeps its first error, for writers that drop theirs.
type keeper struct {
	io.Writer
	err error
}

func (k *keeper) Write(b []byte) (int, error) {
	n, err := k.Writer.Write(b)
	if err = unlessLeft(err); err == nil {
		n = len(b)
	}
	if k.err == nil {
		k.err = err
	}
	return n, err
}

// Ways to write to standard error.
const (
	sayText = "text"
	sayJSON = "json" // an event a line
)

// An event is a line of standard error with --progress json. Other programs read these lines: keys and words stay.
type event struct {
	Event   eventKind `json:"event"`
	Level   level     `json:"level,omitempty"`   // of a message
	Message string    `json:"message,omitempty"` // in words
	Run     string    `json:"run,omitempty"`     // of a run: the folder that the verb works on
	*at
	Error *errorObject `json:"error,omitempty"` // of an error: what --json prints of it
}

// An eventKind says what an event is of.
type eventKind string

const (
	eventMessage  eventKind = "message"
	eventProgress eventKind = "progress"
	eventRun      eventKind = "run" // a run folder that there is now
	eventError    eventKind = "error"
)

// A level is how much a message matters.
type level string

const (
	levelInfo    level = "info"
	levelNote    level = "note"
	levelWarning level = "warning"
)

// at says how far a verb is, in numbers.
type at struct {
	Done int `json:"done"`
	Of   int `json:"of"` // 0: nobody knows yet
	// Of a training; missing elsewhere.
	Loss      *metric.Float `json:"loss,omitempty"`
	Violation *metric.Float `json:"violation,omitempty"` // the worst on forward paths
	Failed    int           `json:"failed,omitempty"`    // paths
}

// emit writes an event. As with say, what cannot be written is dropped.
func emit(w io.Writer, e event) {
	line, err := json.Marshal(e) // of strings and numbers: cannot fail
	if err != nil {
		panic(fmt.Sprintf("an event that is no JSON: %v", err))
	}
	w.Write(append(line, '\n'))
}

// A progress shows one changing line on a terminal, a plain line now and then elsewhere, and events with JSON output.
type progress struct {
	w      io.Writer
	events bool
	width  int // of the terminal; 0: there is none
	color  bool
	quiet  bool
	last   time.Time
	shown  bool
}

const (
	terminalPause = 100 * time.Millisecond
	plainPause    = 5 * time.Second
)

func (c *console) progress() *progress {
	p := &progress{w: c.stderr, quiet: c.quiet, events: c.said == sayJSON, color: colored(c.stderr)}
	if !p.events && os.Getenv("TERM") != "dumb" {
		p.width = columns(c.stderr)
	}
	return p
}

// columns returns how wide a terminal is; 0 of a stream that is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 { // as shells say
		return width
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// colored reports whether a stream is a terminal that takes colours.
func colored(w io.Writer) bool {
	return columns(w) > 0 && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
}

// update shows a new state if it is time to, or if it is the last.
func (p *progress) update(last bool, line func() string) { p.show(last, nil, line) }

// count is update of a part of a whole that is done.
func (p *progress) count(done, of int, line func() string) {
	p.show(done >= of, &at{Done: done, Of: of}, line)
}

// counting shows work in numbered parts, as in "generated 3 of 10". tick says how many are done; end leaves the last
// state in view.
func counting[N int | uint64](c *console, doing string) (tick func(done, of N), end func()) {
	bar := c.progress()
	return func(done, of N) {
		bar.show(done >= of, &at{Done: int(done), Of: int(of)},
			func() string { return fmt.Sprintf("%s %d of %d", doing, done, of) })
	}, bar.done
}

// show is update with numbers for programs that read them; nil: none.
func (p *progress) show(last bool, numbers *at, line func() string) {
	pause := plainPause
	if p.width > 0 || p.events {
		pause = terminalPause
	}
	if p.quiet || !last && time.Since(p.last) < pause {
		return
	}
	p.last = time.Now()
	s := text.Line(line())
	if p.events {
		emit(p.w, event{Event: eventProgress, Message: s, at: numbers})
		return
	}
	if p.width == 0 {
		fmt.Fprintln(p.w, s)
		return
	}
	if r := []rune(s); len(r) >= p.width {
		s = string(r[:p.width-1])
		if at := strings.LastIndexByte(s, ' '); at > 0 { // at a word
			s = s[:at]
		}
	}
	if p.color {
		s = "\x1b[36m" + s + "\x1b[0m"
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", s)
	p.shown = true
}

// line writes a line that stays.
func (p *progress) line(s string) {
	if p.quiet {
		return
	}
	p.clear()
	if p.events {
		emit(p.w, event{Event: eventMessage, Level: levelInfo, Message: text.Line(s)})
		return
	}
	fmt.Fprintln(p.w, text.Fold(text.Line(s), p.width))
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// done leaves the last state in view.
func (p *progress) done() {
	if p.shown {
		fmt.Fprintln(p.w)
		p.shown = false
	}
}

// patience is how long preparation is silent.
const patience = 500 * time.Millisecond

// preparing shows what is done before a call has progress of its own, if it takes longer than a moment. report says
// what comes next; done ends the display.
func (c *console) preparing() (report func(doing string), done func()) {
	var mu sync.Mutex
	bar, doing, late := c.progress(), "", false
	show := func() {
		if late && doing != "" {
			bar.update(true, func() string { return doing })
		}
	}
	timer := time.AfterFunc(patience, func() {
		mu.Lock()
		defer mu.Unlock()
		late = true
		show()
	})
	report = func(next string) {
		mu.Lock()
		defer mu.Unlock()
		doing = next
		show()
	}
	return report, func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		late = false
		bar.clear()
	}
}
