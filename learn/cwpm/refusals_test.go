package cwpm

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func refusal(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

// More terms than there is room for, windows that nobody gave, and fewer or more of them than terms
// are refused by name; as many as there is room for are taken.
func TestRefusedUses(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 3}, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 4, T: 0.2, SigmaMin: 0.5, SigmaMax: 1}}
	starts := []float64{0, 0, 1, 0, 1, 0, 1, 0, 0}
	paths, last := forward(t, p, starts, 1)
	terms := []Term{{Item: 0, K: 1, Weight: 1}, {Item: 1, K: 2, Weight: 1}, {Item: 2, K: 3, Weight: 1}}
	prepare := func(o Options, rows int, windows []Window) string {
		l := NewLoss(p, reads[float64](p), rows, o)
		return refusal(func() {
			if windows != nil {
				l.SetWindows(windows)
			}
			if _, err := l.Prepare(paths, terms, last); err != nil {
				t.Error(err)
			}
		})
	}
	window := Options{Window: 0.1}
	for _, c := range []struct {
		got, want string
	}{
		{prepare(Options{}, 3, nil), ""}, {prepare(Options{}, 2, nil), "cwpm: 3 terms in a loss for 2"},
		{prepare(window, 3, nil), "cwpm: Prepare without SetWindows"},
		{prepare(window, 3, make([]Window, 3)), "cwpm: 3 windows for 4 terms"},
		{prepare(window, 3, make([]Window, 5)), "cwpm: 5 windows for 4 terms"},
		{prepare(window, 3, make([]Window, 4)), ""}, {prepare(Options{}, 5, nil), ""},
	} {
		testkit.Equal(t, c.got, c.want)
	}
}

// The error of a state without a geometry names the row of the term, also with windows, and the path of a window.
func TestStatesThatCannotBeRead(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 3}, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 4, T: 0.2, SigmaMin: 0.5, SigmaMax: 1}}
	starts := []float64{0, 0, 1, 0, 1, 0, 1, 0, 0}
	paths, last := forward(t, p, starts, 1)
	paths.At(1, 3)[0] = math.NaN()
	for _, length := range []float64{0, 0.3} {
		l := NewLoss(p, reads[float64](p), 3, Options{Window: length})
		if length > 0 {
			l.SetWindows(make([]Window, 4))
		}
		var e *geometry.NonFiniteError
		terms := []Term{{Item: 0, K: 2}, {Item: 2, K: 2}, {Item: 1, K: 2}}
		if _, err := l.Prepare(paths, terms, last); !errors.As(err, &e) || e.Row != 2 {
			t.Errorf("window %v: %v", length, err)
		}
		if _, err := l.Prepare(paths, terms[:2], last); err != nil {
			t.Errorf("window %v, states that can be read: %v", length, err)
		}
		if length > 0 {
			if _, err := l.FitWindow(paths, 2, last); !errors.As(err, &e) ||
				!strings.Contains(err.Error(), "not finite") {
				t.Errorf("a fit: %v", err)
			}
			paths.Failed[1] = true
			if _, err := l.FitWindow(paths, 2, last); err != nil {
				t.Errorf("a fit without the path: %v", err)
			}
		}
	}
}
