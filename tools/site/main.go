// Command site makes a web site of README, docs and examples, with no request to any other place:
//
//	go run ./cmd/landing dev man --markdown /tmp/commands
//	go run ./tools/site -commands /tmp/commands /tmp/site
//
// Pages, their links, anchors and pictures are checked first; a link that leads nowhere is an error with its file and
// line, and nothing is written. The same files give the same bytes.
package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

func main() {
	commands := flag.String("commands", "", "folder of landing dev man --markdown, for pages of verbs")
	root := flag.String("root", ".", "folder of the repository")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: site [-commands DIR] [-root DIR] OUT")
		os.Exit(2)
	}
	s, faults := Read(*root, *commands)
	for _, f := range faults {
		fmt.Fprintln(os.Stderr, f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
	n, err := s.Write(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("wrote %d files to %s\n", n, flag.Arg(0))
}

//go:embed page.html style.css search.js
var own embed.FS

var pageLayout = template.Must(template.ParseFS(own, "page.html"))

// A link of the navigation.
type link struct {
	Title, To string
	Here      bool
}

// A group of links.
type group struct {
	Title string
	Links []link
}

// An entry of search.json: a page and its text, for the search in the reader's browser.
type entry struct {
	Title string `json:"title"`
	To    string `json:"to"`
	Text  string `json:"text"`
}

// Write writes the site into a folder and returns the number of its files. What else is in the folder stays.
func (s *Site) Write(out string) (int, error) {
	files := map[string][]byte{}
	for _, name := range []string{"style.css", "search.js"} {
		data, err := own.ReadFile(name)
		if err != nil {
			return 0, err
		}
		files[name] = data
	}
	parts, _ := s.sections()
	var found []entry
	var err error
	for _, at := range s.places() {
		p := s.pages[at]
		if files[place(at)], err = s.render(p, parts); err != nil {
			return 0, fmt.Errorf("%s: %w", at, err)
		}
		if !strings.HasPrefix(at, "docs/history/") {
			found = append(found, entry{p.title, place(at), strings.Join(strings.Fields(string(p.source)), " ")})
		}
	}
	if files["search.json"], err = json.Marshal(found); err != nil {
		return 0, err
	}
	files["llms.txt"] = s.overview(parts)
	for at := range s.files {
		if files[at], err = os.ReadFile(filepath.Join(s.root, filepath.FromSlash(at))); err != nil {
			return 0, err
		}
	}
	for at, data := range files {
		file := filepath.Join(out, filepath.FromSlash(at))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return 0, err
		}
		if err := os.WriteFile(file, data, 0o666); err != nil {
			return 0, err
		}
	}
	return len(files), nil
}

// overview is llms.txt: the first paragraph of the entrance and the pages of the navigation, for assistants that read
// documentation (https://llmstxt.org).
func (s *Site) overview(parts []section) []byte {
	var b bytes.Buffer
	home := s.pages["README.md"]
	fmt.Fprintf(&b, "# %s\n", home.title)
	if p, ok := home.tree.FirstChild().NextSibling().(*ast.Paragraph); ok {
		fmt.Fprintf(&b, "\n> %s\n", strings.Join(strings.Fields(string(p.Lines().Value(home.source))), " "))
	}
	for _, part := range parts {
		fmt.Fprintf(&b, "\n## %s\n\n", cmp.Or(part.title, "Start"))
		for _, at := range part.pages {
			fmt.Fprintf(&b, "- [%s](%s)\n", s.pages[at].title, place(at))
		}
	}
	return b.Bytes()
}

// place is where the page of a place is in the site.
func place(at string) string {
	if dir, file := path.Split(at); file == "README.md" {
		return dir + "index.html"
	}
	return strings.TrimSuffix(at, ".md") + ".html"
}

// relative is the way from a page to another place of the site.
func relative(from, to string) string { return strings.Repeat("../", strings.Count(from, "/")) + to }

// render makes the HTML of a page.
func (s *Site) render(p *page, parts []section) ([]byte, error) {
	here := place(p.at)
	p = parse(p.at, p.source) // links are changed below
	ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(s.moved(p, here, string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(s.moved(p, here, string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
		return nil, err
	}
	var nav []group
	for _, part := range parts {
		g := group{Title: part.title}
		for _, at := range part.pages {
			g.Links = append(g.Links, link{s.pages[at].title, relative(here, place(at)), at == p.at})
		}
		if len(g.Links) > 0 {
			nav = append(nav, g)
		}
	}
	var b bytes.Buffer
	err := pageLayout.Execute(&b, map[string]any{"Title": p.title, "Root": relative(here, ""), "Nav": nav,
		"Body": template.HTML(body.String())}) // of goldmark, which lets no HTML of a page through
	return b.Bytes(), err
}

// moved is a link of a page as it is in the site.
func (s *Site) moved(p *page, here, link string) string {
	at, anchor, why := s.target(p, link)
	if why != "" || at == "" {
		return link
	}
	to := at
	if s.packages[at] {
		return packageDocs + at
	}
	if q := s.pageOf(at); q != nil {
		to = place(q.at)
	}
	if to = relative(here, to); anchor != "" {
		to += "#" + anchor
	}
	return to
}
