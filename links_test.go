package landing

import (
	"bytes"
	"fmt"
	"image"
	_ "image/png" // pictures of pages
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	mdparser "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// sources are the files and folders that pages come from; those that are not there are left out.
var sources = []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "examples", "python",
	"tools/bench/rivals"}

// contents is the page that leads to all others of docs and examples, but for docs/history.
const contents = "docs/README.md"

// A site is the pages of a repository by their place.
type site struct {
	root  string
	pages map[string]*page
}

// A page is a file of Markdown.
type page struct {
	at      string // in the repository: docs/auto.md
	source  []byte
	tree    ast.Node
	anchors map[string]bool
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
	goldmark.WithParserOptions(mdparser.WithAutoHeadingID()))

// readSite reads the pages of a repository.
func readSite(t *testing.T, root string) *site {
	t.Helper()
	s := &site{root, map[string]*page{}}
	for _, from := range sources {
		testkit.OK(t, fs.WalkDir(os.DirFS(root), from, func(at string, e fs.DirEntry, err error) error {
			switch {
			case err != nil && at == from:
				return fs.SkipDir
			case err != nil:
				return err
			case e.IsDir() && (e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".")):
				return fs.SkipDir
			case !e.IsDir() && path.Ext(at) == ".md":
				source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(at)))
				s.pages[at] = parsePage(at, source)
				return err
			}
			return nil
		}))
	}
	return s
}

// faults says what is wrong with the links of pages, each with its file and line.
func (s *site) faults() (all []string) {
	for _, at := range slices.Sorted(maps.Keys(s.pages)) {
		all = append(all, s.check(s.pages[at])...)
	}
	return append(all, s.unlisted()...)
}

func parsePage(at string, source []byte) *page {
	p := &page{at: at, source: source, anchors: map[string]bool{}}
	ids := &githubIDs{taken: p.anchors}
	p.tree = markdown.Parser().Parse(text.NewReader(source), mdparser.WithContext(mdparser.NewContext(
		mdparser.WithIDs(ids))))
	return p
}

// plain is the text of a node.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// githubIDs name headings as GitHub does, so that anchors lead to the same place here and there.
type githubIDs struct{ taken map[string]bool }

var linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// Generate implements parser.IDs.
func (g *githubIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(linkText.ReplaceAllString(string(value), "$1"))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	id := b.String()
	for i := 1; g.taken[id]; i++ {
		id = fmt.Sprintf("%s-%d", b.String(), i)
	}
	g.taken[id] = true
	return []byte(id)
}

// Put implements parser.IDs.
func (g *githubIDs) Put(value []byte) { g.taken[string(value)] = true }

// check follows the links and pictures of a page.
func (s *site) check(p *page) (faults []string) {
	fault := func(n ast.Node, format string, v ...any) {
		faults = append(faults, fmt.Sprintf("%s:%d: %s", p.at, lineOf(n, p.source), fmt.Sprintf(format, v...)))
	}
	ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.RawHTML:
			fault(n, "HTML, of which pages have none")
		case *ast.HTMLBlock:
			if n.HTMLBlockType != ast.HTMLBlockType2 { // a comment
				fault(n, "HTML, of which pages have none")
			}
		case *ast.Link:
			if why := s.follow(p, string(n.Destination)); why != "" {
				fault(n, "the link to %s leads nowhere: %s", n.Destination, why)
			}
		case *ast.Image:
			if why := s.picture(p, string(n.Destination)); why != "" {
				fault(n, "the picture %s: %s", n.Destination, why)
			} else if plain(n, p.source) == "" {
				fault(n, "the picture %s has no words for those who do not see it", n.Destination)
			}
		}
		return ast.WalkContinue, nil
	})
	return faults
}

// lineOf is the line of the block that a node is in.
func lineOf(n ast.Node, source []byte) int {
	for ; n != nil; n = n.Parent() {
		if t, ok := n.(*ast.Text); ok {
			return 1 + bytes.Count(source[:t.Segment.Start], []byte("\n"))
		}
		if t, ok := n.FirstChild().(*ast.Text); ok {
			return 1 + bytes.Count(source[:t.Segment.Start], []byte("\n"))
		}
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			return 1 + bytes.Count(source[:n.Lines().At(0).Start], []byte("\n"))
		}
	}
	return 1
}

// target is where a link of a page leads: the place in the repository and the anchor, or why there is none. Links to
// other places have neither.
func (s *site) target(p *page, link string) (at, anchor, why string) {
	u, err := url.Parse(link)
	switch {
	case err != nil:
		return "", "", err.Error()
	case u.Scheme == "https" || u.Scheme == "http" || u.Scheme == "mailto":
		return "", "", ""
	case u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/"):
		return "", "", "expected a place from this page, or https"
	case u.Path == "":
		return p.at, u.Fragment, ""
	}
	at = path.Join(path.Dir(p.at), u.Path)
	if strings.HasPrefix(at, "../") {
		return "", "", "it is outside of the repository"
	}
	return at, u.Fragment, ""
}

func (s *site) follow(p *page, link string) string {
	at, anchor, why := s.target(p, link)
	if why != "" || at == "" {
		return why
	}
	if to := s.pageOf(at); to != nil {
		if anchor != "" && !to.anchors[anchor] {
			return "the page has no heading " + anchor
		}
		return ""
	}
	info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(at)))
	switch {
	case err != nil:
		return "there is no " + at
	case info.IsDir():
		if code, _ := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(at), "*.go")); len(code) == 0 {
			return at + " is a folder without README.md and without Go"
		}
	case path.Ext(at) == ".md":
		return at + " is no page of the site"
	}
	if anchor != "" {
		return "a file has no headings"
	}
	return ""
}

// pageOf returns the page of a place: a file, or a folder with a page of its own.
func (s *site) pageOf(at string) *page {
	if p := s.pages[at]; p != nil {
		return p
	}
	return s.pages[path.Join(at, "README.md")]
}

func (s *site) picture(p *page, link string) string {
	at, _, why := s.target(p, link)
	if why != "" {
		return why
	}
	if at == "" {
		return "it is elsewhere; expected a file beside the pages"
	}
	f, err := os.Open(filepath.Join(s.root, filepath.FromSlash(at)))
	if err != nil {
		return "there is no " + at
	}
	defer f.Close()
	if _, _, err := image.DecodeConfig(f); err != nil {
		return "is no picture: " + err.Error()
	}
	return ""
}

// unlisted names the pages to which contents has no link. Links to parts of pages do not count.
func (s *site) unlisted() (faults []string) {
	rest := maps.Clone(s.pages)
	maps.DeleteFunc(rest, func(at string, _ *page) bool {
		return at == contents || !strings.Contains(at, "/") || strings.HasPrefix(at, "docs/history/")
	})
	if p := s.pages[contents]; p != nil {
		ast.Walk(p.tree, func(n ast.Node, _ bool) (ast.WalkStatus, error) {
			if l, ok := n.(*ast.Link); ok {
				if at, anchor, _ := s.target(p, string(l.Destination)); anchor == "" && s.pageOf(at) != nil {
					delete(rest, s.pageOf(at).at)
				}
			}
			return ast.WalkContinue, nil
		})
	}
	for _, at := range slices.Sorted(maps.Keys(rest)) {
		faults = append(faults, fmt.Sprintf("%s: no link of %s leads to it", at, contents))
	}
	return faults
}

// Links, anchors and pictures of all pages lead somewhere, and docs/README.md leads to all pages.
func TestLinks(t *testing.T) {
	s := readSite(t, ".")
	for _, f := range s.faults() {
		t.Error(f)
	}
	if len(s.pages) < 30 {
		t.Errorf("only %d pages", len(s.pages))
	}
}

// What leads nowhere is named with its file and line.
func TestLinkFaults(t *testing.T) {
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
		repo := smallSite(t)
		put(t, repo, "docs/bad.md", "# Bad\n\n"+text+"\n")
		faults := readSite(t, repo).faults()
		if len(faults) == 0 || !strings.Contains(faults[0], want) || !strings.HasPrefix(faults[0], "docs/bad.md:") {
			t.Errorf("%s: %v, want %q", text, faults, want)
		}
	}
	repo := smallSite(t)
	put(t, repo, "docs/lost.md", "# Lost\n")
	faults := readSite(t, repo).faults()
	testkit.Equal(t, fmt.Sprint(faults), "[docs/lost.md: no link of docs/README.md leads to it]", "no link")
	testkit.Equal(t, len(readSite(t, smallSite(t)).faults()), 0, "faults of pages that have none")
}

// smallSite is a repository of a few pages.
func smallSite(t *testing.T) string {
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
	picture := testkit.Must(os.ReadFile("docs/images/arm.png"))
	put(t, repo, "picture.png", string(picture))
	return repo
}

func put(t *testing.T, repo, at, text string) {
	t.Helper()
	file := filepath.Join(repo, filepath.FromSlash(at))
	testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o777))
	testkit.OK(t, os.WriteFile(file, []byte(text), 0o666))
}
