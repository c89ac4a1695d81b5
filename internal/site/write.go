package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

var pageLayout = template.Must(template.New("page").Parse(layout))

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
func (s *Site) Write(out string) (n int, err error) {
	write := func(at string, data []byte) {
		if err != nil {
			return
		}
		file := filepath.Join(out, filepath.FromSlash(at))
		if err = os.MkdirAll(filepath.Dir(file), 0o777); err == nil {
			err = os.WriteFile(file, data, 0o666)
		}
		n++
	}
	write("style.css", style)
	order := s.order()
	for _, at := range order {
		data, e := s.render(s.pages[at], order)
		if e != nil {
			return n, e
		}
		write(place(at), data)
	}
	var files []string
	for at := range s.files {
		files = append(files, at)
	}
	slices.Sort(files)
	for _, at := range files {
		data, e := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(at)))
		if e != nil {
			return n, e
		}
		write(at, data)
	}
	return n, err
}

// place is where the page of a place is in the site.
func place(at string) string {
	dir, file := path.Split(at)
	switch file {
	case "README.md", folderName:
		return dir + "index.html"
	}
	return strings.TrimSuffix(at, ".md") + ".html"
}

// relative is the way from a page to another place of the site.
func relative(from, to string) string {
	up := strings.Repeat("../", strings.Count(from, "/"))
	return up + to
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
	if q := s.pageOf(at); q != nil {
		to = place(q.at)
	}
	if to = relative(here, to); anchor != "" {
		to += "#" + anchor
	}
	return to
}
