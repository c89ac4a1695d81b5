// Package fault says what kind of thing went wrong, and where: exit codes and JSON errors follow from it.
//
// An error type that carries more than text has a method Place. [Errorf] makes other errors.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// A Kind says what is at fault. Other programs read these words in JSON: they stay.
type Kind string

// The kinds. Where an error holds several, the first of this list counts.
const (
	Usage       Kind = "usage"       // the command line
	Internal    Kind = "internal"    // the program: a panic
	Time        Kind = "time"        // a time limit ended the command
	Interrupted Kind = "interrupted" // the user ended the command
	Check       Kind = "check"       // a check of constraints, samples or chains failed
	Diverged    Kind = "diverged"    // numbers left the finite range
	Write       Kind = "write"       // output found no room or no reader
	Problem     Kind = "problem"     // a key or line of a problem file
	Data        Kind = "data"        // a data file
	Exists      Kind = "exists"      // a file or folder would be written over
	Run         Kind = "run"         // a run folder
	File        Kind = "file"        // any other file
	Config      Kind = "configuration"
	Failure     Kind = "failure" // an error without a kind
)

// Kinds returns all kinds, in their order.
func Kinds() []Kind {
	return []Kind{Usage, Internal, Time, Interrupted, Check, Diverged, Write, Problem, Data, Exists, Run, File,
		Config, Failure}
}

// A Place is the kind of an error and where it arose, as far as that is known.
type Place struct {
	Kind Kind   `json:"kind"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // from 1
	Key  string `json:"key,omitempty"`  // of a problem file
}

// A placed error knows its place.
type placed interface {
	error
	Place() Place
}

// An Error is a message with a place.
type Error struct {
	At Place
	error
}

// Errorf returns an error of a kind, as fmt.Errorf does. The message begins with the file, if one is named.
func Errorf(kind Kind, file, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if file != "" {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return &Error{Place{Kind: kind, File: file}, err}
}

// At returns an error about a file, and about a line of it above 0, which the message names in its own way.
func At(kind Kind, file string, line int, message string) error {
	return &Error{Place{Kind: kind, File: file, Line: line}, errors.New(message)}
}

// Place returns the error's kind and file.
func (e *Error) Place() Place { return e.At }

// Unwrap returns what was wrapped by %w.
func (e *Error) Unwrap() error { return e.error }

// Of returns the place of an error. Only configuration and output that cannot be written have a file, line or key.
func Of(err error) Place {
	known := places(err, nil)
	if errors.Is(err, context.Canceled) {
		known = append(known, Place{Kind: Interrupted})
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		p := Place{Kind: File, File: e.Path}
		if strings.Contains(e.Path, ".tmp-") { // a name that no user gave
			p = Place{Kind: Config}
		}
		known = append(known, p)
	}
	if Unwritten(err) {
		known = append(known, Place{Kind: Write})
	}
	if len(known) == 0 {
		return Place{Kind: Failure}
	}
	rank := func(p Place) int { return slices.Index(Kinds(), p.Kind) }
	slices.SortStableFunc(known, func(a, b Place) int { return rank(a) - rank(b) })
	first := known[0]
	if first.Kind == Write && len(known) > 1 { // what could not be written
		first = known[1]
		first.Kind = Write
	}
	return first
}

// KindOf returns the kind of an error.
func KindOf(err error) Kind { return Of(err).Kind }

// places appends the places of an error and of the errors that it wraps, the outermost first.
func places(err error, known []Place) []Place {
	if p, ok := err.(placed); ok {
		known = append(known, p.Place())
	}
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		if inner := w.Unwrap(); inner != nil {
			return places(inner, known)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range w.Unwrap() {
			known = places(inner, known)
		}
	}
	return known
}

// Unwritten reports whether an error is that of output that found no room or no reader.
func Unwritten(err error) bool {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EPIPE} {
		if errors.Is(err, errno) {
			return true
		}
	}
	var e *fs.PathError
	return errors.As(err, &e) && (e.Op == "write" || e.Op == "sync" || e.Op == "close")
}
