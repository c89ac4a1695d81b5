package amber

import (
	"fmt"

	"github.com/landing-diffusion/landing/internal/fault"
)

// A FileError is a fault of a prmtop or coordinate file.
type FileError struct {
	Path    string
	Section string // of a prmtop file: the name after %FLAG; may be empty
	Line    int    // from 1; 0 if the fault is of no one line
	Problem string // what is there, and what was expected
}

func (e *FileError) Error() string {
	s := e.Path
	if e.Line > 0 {
		s += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Section != "" {
		s += ", section " + e.Section
	}
	return s + ": " + e.Problem
}

func (e *FileError) Place() fault.Place {
	return fault.Place{Kind: fault.Data, File: e.Path, Line: e.Line}
}
