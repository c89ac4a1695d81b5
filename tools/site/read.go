package main

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
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	mdparser "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// sources are the files and folders that pages come from; those that are not there are left out.
var sources = []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "examples", "python",
	"tools/bench/rivals"}

// commandsDir is where pages of verbs are in the site.
const commandsDir = "commands"

// packageDocs is where the documentation of a folder of Go is that has no README.md.
const packageDocs = "https://pkg.go.dev/github.com/landing-diffusion/landing/"

// A Site is pages by their place in the repository, and the files and folders of Go that they lead to.
type Site struct {
	root     string
	pages    map[string]*page
	files    map[string]bool // to be copied
	packages map[string]bool
}

// A page is a file of Markdown.
type page struct {
	at      string // in the repository: docs/auto.md
	title   string
	source  []byte
	tree    ast.Node
	anchors map[string]bool
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
	goldmark.WithParserOptions(mdparser.WithAutoHeadingID()))

// Read reads the pages of a repository, and of a folder of verbs if one is named. Faults say what is wrong with links,
// each with its file and line.
func Read(root, commands string) (*Site, []error) {
	s := &Site{root: root, pages: map[string]*page{}, files: map[string]bool{}, packages: map[string]bool{}}
	var faults []error
	for _, from := range sources {
		err := fs.WalkDir(os.DirFS(root), from, func(at string, e fs.DirEntry, err error) error {
			switch {
			case err != nil && at == from:
				return fs.SkipDir
			case err != nil:
				return err
			case e.IsDir() && (e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") && at != "."):
				return fs.SkipDir
			case !e.IsDir() && path.Ext(at) == ".md":
				return s.add(at, filepath.Join(root, filepath.FromSlash(at)))
			}
			return nil
		})
		if err != nil {
			return s, []error{err}
		}
	}
	if commands != "" {
		files, err := filepath.Glob(filepath.Join(commands, "*.md"))
		if err != nil || len(files) == 0 {
			return s, []error{fmt.Errorf("%s: no pages of verbs: landing dev man --markdown writes them", commands)}
		}
		for _, file := range files {
			if err := s.add(path.Join(commandsDir, filepath.Base(file)), file); err != nil {
				return s, []error{err}
			}
		}
	}
	for _, at := range s.places() {
		faults = append(faults, s.check(s.pages[at])...)
	}
	_, unlisted := s.sections()
	return s, append(faults, unlisted...)
}

func (s *Site) add(at, file string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s.pages[at] = parse(at, source)
	return nil
}

func parse(at string, source []byte) *page {
	p := &page{at: at, source: source, anchors: map[string]bool{}, title: at}
	ids := &githubIDs{taken: p.anchors}
	p.tree = markdown.Parser().Parse(text.NewReader(source), mdparser.WithContext(mdparser.NewContext(
		mdparser.WithIDs(ids))))
	if h, ok := p.tree.FirstChild().(*ast.Heading); ok {
		p.title = plain(h, source)
	}
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

var linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// Generate implements parser.IDs.
func (g *githubIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(linked.ReplaceAllString(string(value), "$1"))) {
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

// check follows the links and pictures of a page, and notes the files and folders that they lead to.
func (s *Site) check(p *page) (faults []error) {
	fault := func(n ast.Node, format string, v ...any) {
		faults = append(faults, fmt.Errorf("%s:%d: %s", p.at, line(n, p.source), fmt.Sprintf(format, v...)))
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

// line is the line of the block that a node is in.
func line(n ast.Node, source []byte) int {
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
func (s *Site) target(p *page, link string) (at, anchor, why string) {
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

func (s *Site) follow(p *page, link string) string {
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
		s.packages[at] = true
	case path.Ext(at) == ".md":
		return at + " is no page of the site"
	default:
		s.files[at] = true
	}
	if anchor != "" {
		return "a file has no headings"
	}
	return ""
}

// pageOf returns the page of a place: a file, or a folder with a page of its own.
func (s *Site) pageOf(at string) *page {
	if p := s.pages[at]; p != nil {
		return p
	}
	return s.pages[path.Join(at, "README.md")]
}

func (s *Site) picture(p *page, link string) string {
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
	s.files[at] = true
	return ""
}

// contents is the page whose headings and links are the navigation.
const contents = "docs/README.md"

// A section of the navigation: a heading, and the places of its pages.
type section struct {
	title string
	pages []string
}

// sections returns the navigation: the pages of the root, those that docs/README.md lists by its headings, and the
// commands. Links to parts of pages do not count. A page that no section lists is a fault, but for docs/history.
func (s *Site) sections() ([]section, []error) {
	root, commands := section{}, section{title: "Commands"}
	rest := map[string]bool{}
	for _, at := range s.places() {
		switch dir, _, in := strings.Cut(at, "/"); {
		case !in:
			root.pages = append(root.pages, at)
		case dir == commandsDir:
			commands.pages = append(commands.pages, at)
		case at != contents && !strings.HasPrefix(at, "docs/history/"):
			rest[at] = true
		}
	}
	parts := []section{root}
	if p := s.pages[contents]; p != nil {
		parts[0].pages = append(parts[0].pages, contents)
		ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			switch n := n.(type) {
			case *ast.Heading:
				if entering && n.Level == 2 {
					parts = append(parts, section{title: plain(n, p.source)})
				}
			case *ast.Link:
				at, anchor, _ := s.target(p, string(n.Destination))
				if q := s.pageOf(at); entering && anchor == "" && q != nil && rest[q.at] {
					in := &parts[len(parts)-1]
					in.pages = append(in.pages, q.at)
					delete(rest, q.at)
				}
			}
			return ast.WalkContinue, nil
		})
	}
	var faults []error
	for _, at := range slices.Sorted(maps.Keys(rest)) {
		faults = append(faults, fmt.Errorf("%s: no link of %s leads to it", at, contents))
	}
	return append(parts, commands), faults
}

// places returns the places of all pages in order, the entrance first.
func (s *Site) places() []string {
	all := slices.Sorted(maps.Keys(s.pages))
	if i := slices.Index(all, "README.md"); i > 0 {
		all = slices.Insert(slices.Delete(all, i, i+1), 0, "README.md")
	}
	return all
}
