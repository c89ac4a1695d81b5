package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readPatches reads faults that are written down: blocks of a line with the file,
// lines "- what is there" and lines "+ what to plant", an empty line after each.
// The text to be replaced, its lines without surrounding white space, must stand in
// the file once.
func readPatches(root, file string) (out []*mutant, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var at, was, is []string
	first := 0
	for i, line := range append(strings.Split(string(text), "\n"), "") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "-"):
			was = append(was, strings.TrimSpace(line[1:]))
		case strings.HasPrefix(line, "+"):
			is = append(is, strings.TrimSpace(line[1:]))
		case line != "":
			at, first = append(at, line), i+1
		case at == nil && was == nil && is == nil:
		case len(at) != 1 || was == nil:
			return nil, fmt.Errorf("%s:%d: expected a line with a file, lines that begin with - and lines that begin "+
				"with +", file, max(first, 1))
		default:
			m, err := replace(root, at[0], was, is)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, first, err)
			}
			out, at, was, is = append(out, m), nil, nil, nil
		}
	}
	return out, nil
}

// replace returns the mutant in which lines stand for others.
func replace(root, at string, was, is []string) (*mutant, error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(at)))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(source), "\n")
	found := -1
	for i := 0; i+len(was) <= len(lines); i++ {
		if !slices.EqualFunc(lines[i:i+len(was)], was, func(a, b string) bool { return strings.TrimSpace(a) == b }) {
			continue
		}
		if found >= 0 {
			return nil, fmt.Errorf("%q stands in %s more than once", was[0], at)
		}
		found = i
	}
	if found < 0 {
		return nil, fmt.Errorf("%q does not stand in %s", was[0], at)
	}
	planted := slices.Concat(lines[:found], is, lines[found+len(was):])
	return &mutant{
		Path: at, Line: found + 1, Function: "patch", Kind: "text", Was: strings.Join(was, " "),
		Is:     strings.Join(is, " "),
		source: []byte(strings.Join(planted, "\n")),
	}, nil
}
