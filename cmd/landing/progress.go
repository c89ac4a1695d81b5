package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// A progress shows one changing line on a terminal, and a plain line now and
// then elsewhere.
type progress struct {
	w        io.Writer
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

func (a *app) progress() *progress {
	p := &progress{w: a.stderr, quiet: a.quiet}
	if f, ok := a.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.terminal = true
		p.color = os.Getenv("NO_COLOR") == ""
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			p.width = w
		}
	}
	return p
}

// update shows a new state if it is time to, or if it is the last.
func (p *progress) update(last bool, text func() string) {
	pause := plainPause
	if p.terminal {
		pause = terminalPause
	}
	if p.quiet || !last && time.Since(p.last) < pause {
		return
	}
	p.last = time.Now()
	s := oneLine(text())
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
