package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/study/work"
)

// badFlag is the usage error of a flag that has a value it cannot have.
func badFlag(flag string, value any, want string) error {
	if s, ok := value.(string); ok {
		value = fmt.Sprintf("%q", s)
	}
	return usage("%s is %v; expected %s", dashed(flag), value, want)
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

// oneOfWords bounds a flag to some words.
func oneOfWords(flag, v string, words ...string) bound {
	return bound{flag, slices.Contains(words, v), v, "one of " + strings.Join(words, ", ")}
}

// rangeOf reads LOW:HIGH.
func rangeOf(given string) (lo, hi float64, ok bool) {
	low, high, _ := strings.Cut(given, ":")
	lo, badLow := strconv.ParseFloat(strings.TrimSpace(low), 64)
	hi, badHigh := strconv.ParseFloat(strings.TrimSpace(high), 64)
	return lo, hi, badLow == nil && badHigh == nil && lo <= hi
}

// An outFile is -o with --force: the file that a verb writes.
type outFile struct {
	path  string
	force bool
}

func (o *outFile) flags(f *pflag.FlagSet, path, usage string) {
	f.StringVarP(&o.path, "output", "o", path, usage)
	f.BoolVar(&o.force, "force", false, "write over files that exist")
}

// extension returns how the file's name ends, in lower case, if it is one of known.
func (o *outFile) extension(known ...string) (string, error) {
	ext := strings.ToLower(filepath.Ext(o.path))
	if !slices.Contains(known, ext) {
		return "", badFlag("output", o.path, "a file that ends in "+strings.Join(known, " or "))
	}
	return ext, nil
}

// ready is extension of a file that may be written.
func (o *outFile) ready(known ...string) (string, error) {
	ext, err := o.extension(known...)
	if err == nil && !o.force {
		err = run.Free(o.path)
	}
	return ext, err
}

// beside is the file of the same name with another end.
func (o *outFile) beside(ext string) *outFile {
	return &outFile{strings.TrimSuffix(o.path, filepath.Ext(o.path)) + ext, o.force}
}

// save writes the file by the given function, whole or not at all, and returns its bytes.
func (o *outFile) save(write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), run.WriteFile(o.path, b.Bytes(), o.force)
}

// saveNPY writes an array, whole or not at all, and returns the bytes of the file.
func (o *outFile) saveNPY(x []float64, shape ...int) ([]byte, error) {
	return o.save(func(w io.Writer) error {
		return arrayfile.EncodeNPY(w, arrayfile.Array{Shape: shape, Float64: x})
	})
}

// saveStory writes how data was made to a JSON file.
func (o *outFile) saveStory(story any) error {
	data, err := json.MarshalIndent(story, "", "  ")
	if err != nil {
		return err
	}
	return run.WriteFile(o.path, append(data, '\n'), o.force)
}

// shardFlag is --shard of verbs that can do a part of their work.
func shardFlag(f *pflag.FlagSet, to *work.Shard, what string) {
	f.Var(shardValue{to}, "shard", "i/n: "+what+"; auto: as an array of Slurm or an Indexed Job of Kubernetes numbers "+
		"this process")
}

type shardValue struct{ to *work.Shard }

func (shardValue) String() string { return "" }

func (shardValue) Type() string { return "i/n" }

func (v shardValue) Set(given string) (err error) {
	*v.to, err = work.ShardOf(given, os.Getenv)
	return err
}

// keeps says of a file or folder that is there that a verb writes over none. A hint names the flag for another.
func keeps(verb, hint string, err error) error {
	if e := new(run.ExistsError); errors.As(err, &e) {
		return fault.Errorf(fault.Exists, e.Path, "exists already; %s writes over nothing: remove it or name another%s",
			verb, hint)
	}
	return err
}

// noWriter is the usage error of an output file that a kind of data is not written to.
func noWriter(path string) error {
	return usage("-o is %q; this kind of data is not written to such files, but to .npy or .csv", path)
}

func plural(n int, what string) string { return text.Plural(n, what) }
