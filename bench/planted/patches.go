package main

import (
	"bufio"
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
func readPatches(root, file string) ([]*mutant, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []*mutant
	var at, was, is []string
	number, first := 0, 0
	flush := func() error {
		defer func() { at, was, is = nil, nil, nil }()
		if at == nil && was == nil && is == nil {
			return nil
		}
		if len(at) != 1 || len(was) == 0 {
			return fmt.Errorf("%s:%d: expected a line with a file, lines that begin with - and lines that begin with +",
				file, first)
		}
		m, err := replace(root, at[0], was, is)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, first, err)
		}
		out = append(out, m)
		return nil
	}
	s := bufio.NewScanner(f)
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		number++
		switch {
		case line == "":
			if err := flush(); err != nil {
				return nil, err
			}
			continue
		case line[0] == '#':
			continue
		}
		if at == nil && was == nil {
			first = number
		}
		switch line[0] {
		case '-':
			was = append(was, strings.TrimSpace(line[1:]))
		case '+':
			is = append(is, strings.TrimSpace(line[1:]))
		default:
			at = append(at, line)
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return out, flush()
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
		same := true
		for j, w := range was {
			same = same && strings.TrimSpace(lines[i+j]) == w
		}
		if same && found >= 0 {
			return nil, fmt.Errorf("%q stands in %s more than once", was[0], at)
		}
		if same {
			found = i
		}
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
