package serve

import (
	_ "embed" // for the page
	"net/http"

	"github.com/landing-diffusion/landing/judge/figure"
)

//go:embed page/index.html
var indexHTML []byte

//go:embed page/page.css
var pageStyle []byte

//go:embed page/page.js
var pageScript []byte

// pages are all files of the page, by path: what turns by hand is what reports show.
func pages(mux *http.ServeMux) {
	for path, p := range map[string]struct {
		media string
		text  []byte
	}{
		"/{$}":            {"text/html; charset=utf-8", indexHTML},
		"/page/page.css":  {"text/css; charset=utf-8", pageStyle},
		"/page/page.js":   {"text/javascript; charset=utf-8", pageScript},
		"/page/scene.css": {"text/css; charset=utf-8", []byte(figure.Style())},
		"/page/scenes.js": {"text/javascript; charset=utf-8", figure.Scripts()},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { page(w, p.media, p.text) })
	}
}
