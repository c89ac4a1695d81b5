package main

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

//go:embed page.html style.css
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

// Write writes the site into a folder and returns the number of its files. What else is in the folder stays.
func (s *Site) Write(out string) (int, error) {
	const sheet = "style.css"
	style, err := own.ReadFile(sheet)
	if err != nil {
		return 0, err
	}
	files := map[string][]byte{sheet: style}
	order := s.order()
	for _, at := range order {
		if files[place(at)], err = s.render(s.pages[at], order); err != nil {
			return 0, fmt.Errorf("%s: %w", at, err)
		}
	}
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

// place is where the page of a place is in the site.
func place(at string) string {
	if dir, file := path.Split(at); file == "README.md" {
		return dir + "index.html"
	}
	return strings.TrimSuffix(at, ".md") + ".html"
}

// relative is the way from a page to another place of the site.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// render makes the HTML of a page.
func (s *Site) render(p *page, order []string) ([]byte, error) {
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
	nav := make([]group, len(groups))
	for i, title := range groups {
		nav[i].Title = title
	}
	for _, at := range order {
		in := &nav[rank(at)]
		in.Links = append(in.Links, link{s.pages[at].title, relative(here, place(at)), at == p.at})
	}
	nav = slices.DeleteFunc(nav, func(g group) bool { return len(g.Links) == 0 })
	var b bytes.Buffer
	err := pageLayout.Execute(&b, map[string]any{"Title": p.title, "Style": relative(here, "style.css"), "Nav": nav,
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
