package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment/run"
)

// badFlag is the usage error of a flag that has a value it cannot have.
func badFlag(flag string, value any, want string) error {
	if s, ok := value.(string); ok {
		value = fmt.Sprintf("%q", s)
	}
	return &usageError{fmt.Errorf("%s is %v; expected %s", dashed(flag), value, want)}
}

// dashed is a flag as messages write it.
func dashed(flag string) string {
	switch flag {
	case "number":
		return "-n"
	case "output":
		return "-o"
	}
	return "--" + flag
}

// A bound is what the value of a flag must keep.
type bound struct {
	flag  string
	ok    bool
	value any
	want  string
}

// bounds returns the usage error of the first bound that is not kept.
func bounds(all ...bound) error {
	for _, b := range all {
		if !b.ok {
			return badFlag(b.flag, b.value, b.want)
		}
	}
	return nil
}

func positive[T ~int | ~int64 | float64](flag string, v T) bound {
	return bound{flag, v > 0, v, "a number above 0"}
}

// extension returns how the name of an output file ends, in lower case, if it is one of known.
func extension(flag, path string, known ...string) (string, error) {
	ext := strings.ToLower(filepath.Ext(path))
	if !slices.Contains(known, ext) {
		return "", badFlag(flag, path, "a file that ends in "+strings.Join(known, " or "))
	}
	return ext, nil
}

// noWriter is the usage error of an output file that a kind of data is not written to.
func noWriter(path string) error {
	return &usageError{fmt.Errorf("-o is %q; this kind of data is not written to such files, but to .npy or .csv",
		path)}
}

// output checks that a file may be written.
func output(path, ext string, force bool) error {
	if _, err := extension("output", path, ext); err != nil {
		return err
	}
	if force {
		return nil
	}
	return run.Free(path)
}

// save writes a file by the given function, whole or not at all, and returns its bytes.
func save(path string, write func(io.Writer) error, force bool) ([]byte, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), run.WriteFile(path, b.Bytes(), force)
}

// saveStory writes how data was made to a JSON file.
func saveStory(path string, story any, force bool) error {
	text, err := json.MarshalIndent(story, "", "  ")
	if err != nil {
		return err
	}
	return run.WriteFile(path, append(text, '\n'), force)
}

// saveNPY writes an array to an NPY file, whole or not at all, and returns its bytes.
func saveNPY(path string, shape []int, x []float64, force bool) ([]byte, error) {
	return save(path, func(w io.Writer) error {
		return arrayfile.EncodeNPY(w, arrayfile.Array{Shape: shape, Float64: x})
	}, force)
}
