package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/landing-diffusion/landing/judge/metric"
)

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

// A progress shows one changing line on a terminal, a plain line now and then elsewhere, and
// events where these are asked for.
type progress struct {
	w        io.Writer
	events   bool
	terminal bool
	width    int
	color    bool
	quiet    bool
	last     time.Time
	shown    bool
}

const (
	terminalPause = 100 * time.Millisecond
	plainPause    = 5 * time.Second
)

func (c *console) progress() *progress {
	p := &progress{w: c.stderr, quiet: c.quiet, events: c.said == sayJSON}
	if f, ok := c.stderr.(*os.File); ok && !p.events && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.terminal = true
		p.color = os.Getenv("NO_COLOR") == ""
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			p.width = w
		}
	}
	return p
}

// columns returns how wide the terminal is that results are written to; 0 where they are written elsewhere.
func (c *console) columns() int {
	if f, ok := c.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}

// update shows a new state if it is time to, or if it is the last.
func (p *progress) update(last bool, text func() string) { p.show(last, nil, text) }

// count is update of a part of a whole that is done.
func (p *progress) count(done, of int, text func() string) {
	p.show(done >= of, &at{Done: done, Of: of}, text)
}

// show is update with numbers for programs that read them; nil: none.
func (p *progress) show(last bool, numbers *at, text func() string) {
	pause := plainPause
	if p.terminal || p.events {
		pause = terminalPause
	}
	if p.quiet || !last && time.Since(p.last) < pause {
		return
	}
	p.last = time.Now()
	s := oneLine(text())
	if p.events {
		emit(p.w, event{Event: eventProgress, Message: s, at: numbers})
		return
	}
	if !p.terminal {
		fmt.Fprintln(p.w, s)
		return
	}
	if r := []rune(s); p.width > 1 && len(r) >= p.width {
		s = string(r[:p.width-1])
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
		emit(p.w, event{Event: eventMessage, Level: levelInfo, Message: oneLine(s)})
		return
	}
	fmt.Fprintln(p.w, oneLine(s))
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

// clock writes seconds as 1:02:03 or 2:03.
func clock(seconds float64) string {
	s := int(seconds + 0.5)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// si writes a number with three digits and a prefix.
func si(v float64) string {
	unit := ""
	for _, u := range []string{"k", "M", "G"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g%s", v, unit))
}
