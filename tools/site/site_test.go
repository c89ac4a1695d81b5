package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// The site is the same bytes again, asks nothing of other places, and its own links lead to its own files.
func TestWrite(t *testing.T) {
	repo := small(t)
	s, faults := Read(repo, "")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	one, two := t.TempDir(), t.TempDir()
	n, err := s.Write(one)
	testkit.OK(t, err)
	if s, faults = Read(repo, ""); len(faults) > 0 {
		t.Fatal(faults)
	}
	if m, err := s.Write(two); err != nil || m != n {
		t.Fatalf("%d files, then %d: %v", n, m, err)
	}
	files := map[string]string{}
	err = filepath.WalkDir(one, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(one, path)
		a, _ := os.ReadFile(path)
		b, err := os.ReadFile(filepath.Join(two, name))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not the same again: %v", name, err)
		}
		files[filepath.ToSlash(name)] = string(a)
		return nil
	})
	if err != nil || len(files) != n {
		t.Fatalf("%d files of %d: %v", len(files), n, err)
	}
	if order := s.places(); order[0] != "README.md" || order[1] != "CHANGELOG.md" {
		t.Errorf("the order is %v", order)
	}
	parts, _ := s.sections()
	testkit.Equal(t, fmt.Sprint(parts), "[{ [README.md CHANGELOG.md docs/README.md]} {Parts [docs/page.md "+
		"examples/one/README.md]} {Commands []}]", "the navigation")
	testkit.Contains(t, files["search.json"], `"title":"Page","to":"docs/page.html"`, "the index of the search")
	if strings.Contains(files["search.json"], "diary") || !strings.Contains(files["docs/history/old.html"], "diary") {
		t.Error("pages of docs/history are pages, but neither in the navigation nor in the search")
	}
	for _, c := range []struct{ file, want string }{
		{"index.html", `<a href="docs/page.html#two-words-%CF%80--x_y">`},
		{"index.html", `<a href="https://pkg.go.dev/github.com/landing-diffusion/landing/kit">`},
		{"index.html", `<a href="examples/one/index.html">`},
		{"index.html", `<a href="index.html" aria-current="page">Home</a>`},
		{"docs/page.html", `<a href="../index.html#home">`},
		{"docs/page.html", `<img src="../picture.png" alt="dots">`},
		{"docs/page.html", `<h2 id="two-words-π--x_y">`},
		{"docs/page.html", `<h2 id="again-1">`},
		{"docs/page.html", `href="../style.css"`},
		{"docs/page.html", `<a href="https://example.org/x">`},
		{"docs/page.html", `1 &lt; 2 &amp; <code>&lt;b&gt;</code>`},
		{"LICENSE", "free"},
		{"llms.txt", "## Parts\n\n- [Page](docs/page.html)\n"},
	} {
		testkit.Contains(t, files[c.file], c.want, "%s", c.file)
	}
}

// What leads nowhere is named with its file and line.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"[a](nothing.md)":            "bad.md:3: the link to nothing.md leads nowhere: there is no docs/nothing.md",
		"[a](page.md#nowhere)":       "the page has no heading nowhere",
		"[a](#nowhere)":              "the page has no heading nowhere",
		"[a](../../out.md)":          "outside of the repository",
		"[a](/etc/passwd)":           "expected a place from this page",
		"[a](javascript:x)":          "expected a place from this page",
		"[a](../void)":               "void is a folder without README.md and without Go",
		"[a](../LICENSE#x)":          "a file has no headings",
		"![a](none.png)":             "there is no docs/none.png",
		"![a](../LICENSE)":           "is no picture",
		"![](../picture.png)":        "has no words",
		"![a](https://a.b/c.png)":    "it is elsewhere",
		"text <b>bold</b>":           "HTML",
		"| a |\n| --- |\n| [x](y) |": "the link to y leads nowhere",
	} {
		repo := small(t)
		put(t, repo, "docs/bad.md", "# Bad\n\n"+text+"\n")
		_, faults := Read(repo, "")
		if len(faults) == 0 || !strings.Contains(faults[0].Error(), want) ||
			!strings.HasPrefix(faults[0].Error(), "docs/bad.md:") {
			t.Errorf("%s: %v, want %q", text, faults, want)
		}
	}
	repo := small(t)
	put(t, repo, "docs/lost.md", "# Lost\n")
	_, faults := Read(repo, "")
	testkit.Equal(t, fmt.Sprint(faults), "[docs/lost.md: no link of docs/README.md leads to it]", "no link")
	if _, faults := Read(small(t), t.TempDir()); len(faults) == 0 {
		t.Error("a folder without pages of verbs has no fault")
	}
}

// small is a repository of a few pages.
func small(t *testing.T) string {
	t.Helper()
	repo := t.TempDir()
	put(t, repo, "README.md", "# Home\n\n<!-- note -->\n\n[two](docs/page.md#two-words-π--x_y) [kit](kit) "+
		"[one](examples/one) [l](LICENSE)\n")
	put(t, repo, "LICENSE", "free")
	put(t, repo, "CHANGELOG.md", "# Changes\n")
	put(t, repo, "docs/page.md", "# Page\n\n[home](../README.md#home) ![dots](../picture.png) "+
		"[x](https://example.org/x)\n\n1 < 2 & `<b>`\n\n## Two words: π = `x_y`\n\n## Again\n\n## Again\n")
	put(t, repo, "docs/README.md", "# Pages\n\n## Parts\n\n[page](page.md) [again](page.md#again) "+
		"[one](../examples/one)\n")
	put(t, repo, "docs/history/old.md", "# Old\n\ndiary\n")
	put(t, repo, "examples/one/README.md", "# One\n")
	put(t, repo, "kit/kit.go", "// Package kit does one thing to an [io.Reader].\npackage kit\n")
	put(t, repo, "void/x.txt", "")
	picture := testkit.Must(os.ReadFile("../../docs/images/arm.png"))
	put(t, repo, "picture.png", string(picture))
	return repo
}

func put(t *testing.T, repo, at, text string) {
	t.Helper()
	file := filepath.Join(repo, filepath.FromSlash(at))
	testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o777))
	testkit.OK(t, os.WriteFile(file, []byte(text), 0o666))
}

// Every link, anchor and picture of the repository's pages leads somewhere.
func TestLinks(t *testing.T) {
	s, faults := Read("../..", "")
	for _, f := range faults {
		t.Error(f)
	}
	if len(s.pages) < 30 || len(s.files) < 5 {
		t.Errorf("only %d pages and %d files", len(s.pages), len(s.files))
	}
}
