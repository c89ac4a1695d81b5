package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// What the program is linked of has its terms in the file: modules, parts of them that have others, and Go.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	var files [2][]byte
	for i := range files {
		path := filepath.Join(dir, "out")
		testkit.OK(t, write("../..", path, []string{"linux/amd64", "windows/amd64"}))
		files[i] = testkit.Must(os.ReadFile(path))
	}
	testkit.EqualSlices(t, files[0], files[1], "the bytes differ from call to call")
	for _, want := range []string{"github.com/spf13/cobra v", "github.com/parquet-go/parquet-go v",
		"codeberg.org/go-fonts/liberation v", "github.com/klauspost/compress v", ": snappy/LICENSE", // of a part
		"github.com/inconshreveable/mousetrap v", // on Windows alone
		"Go, its runtime and standard library, go1.", "Redistribution and use in source and binary forms",
		"SIL OPEN FONT LICENSE", "The FreeType Project LICENSE", ": licenses/ftl.txt",
		"Permission is hereby granted, free of charge"} {
		if !bytes.Contains(files[0], []byte(want)) {
			t.Errorf("there is no %q", want)
		}
	}
	if !utf8.Valid(files[0]) {
		t.Error("the file is not in UTF-8")
	}
	notice := testkit.Must(os.ReadFile("../../NOTICE"))
	for _, m := range regexp.MustCompile(`(?m)^(\S+) v[0-9]\S*: \S+$`).FindAllSubmatch(files[0], -1) {
		if !bytes.Contains(notice, m[1]) {
			t.Errorf("NOTICE does not name %s", m[1])
		}
	}
	if n := bytes.Count(files[0], []byte("TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION")); n > 6 {
		t.Errorf("the Apache License stands there %d times", n)
	}
}

// A module that says nothing of its terms is an error, and so is one that is not at hand.
func TestNoTerms(t *testing.T) {
	repo := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/a\n\ngo 1.24\n\nrequire example.com/b v1.0.0\n\n" +
			"replace example.com/b v1.0.0 => ./b\n",
		"cmd/landing/main.go": "package main\n\nimport _ \"example.com/b/c\"\n\nfunc main() {}\n",
		"b/go.mod":            "module example.com/b\n",
		"b/c/c.go":            "package c\n",
		"b/c/LICENSE":         "of a part alone",
		"b/license.go":        "package b\n",
	} {
		path := filepath.Join(repo, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	testkit.Refused(t, write(repo, filepath.Join(repo, "out"), []string{"linux/amd64"}), "b holds no licence")
	if _, err := os.Stat(filepath.Join(repo, "out")); err == nil {
		t.Error("a file was written all the same")
	}
	testkit.OK(t, os.WriteFile(filepath.Join(repo, "b", "COPYING.txt"), []byte("as you like\r\n"), 0o600))
	testkit.OK(t, write(repo, filepath.Join(repo, "out"), []string{"linux/amd64"}))
	out, err := os.ReadFile(filepath.Join(repo, "out"))
	if err != nil || !bytes.Contains(out, []byte(": COPYING.txt\n")) || !bytes.Contains(out, []byte("c/LICENSE\n")) ||
		bytes.Contains(out, []byte("\r")) {
		t.Errorf("%v\n%.500s", err, out)
	}
}

// A text that several works share stands there once.
func TestShared(t *testing.T) {
	var b strings.Builder
	testkit.OK(t, writeTexts(&b, map[string]string{"a 1: LICENSE": "as you\r\nlike\n", "b 2: LICENSE": "as you\nlike",
		"c 3: NOTICE": "thanks"}))
	line := strings.Repeat("=", 79)
	want := "\n" + line + "\na 1: LICENSE\nb 2: LICENSE\n" + line + "\n\nas you\nlike\n"
	if !strings.Contains(b.String(), want) || strings.Count(b.String(), "like") != 1 {
		t.Errorf("got\n%s", b.String())
	}
}
