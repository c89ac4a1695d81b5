package serve

import (
	"bytes"
	_ "embed" // for the page and its style sheet
	"encoding/json"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.html
var docsHTML string

//go:embed docs.css
var docsStyle []byte

var docsTemplate = template.Must(template.New("docs").Funcs(template.FuncMap{
	"type": typeOf, "has": slices.Contains[[]string],
}).Parse(docsHTML))

// docsPage renders a description as a page, which loads nothing but its style sheet.
func docsPage(api *huma.OpenAPI) []byte {
	var b bytes.Buffer
	if err := docsTemplate.Execute(&b, map[string]any{"API": api, "Schemas": api.Components.Schemas.Map(),
		"Kinds": kinds}); err != nil {
		panic("serve: " + err.Error()) // the template and the description are ours
	}
	return b.Bytes()
}

// typeOf tells the type of a value in a few words.
func typeOf(s *huma.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		return path.Base(s.Ref)
	case s.OneOf != nil:
		var parts []string
		for _, o := range s.OneOf {
			parts = append(parts, typeOf(o))
		}
		return strings.Join(parts, ", or ")
	case s.Type == huma.TypeArray:
		return "rows of " + typeOf(s.Items)
	case s.Minimum != nil:
		least, _ := json.Marshal(*s.Minimum)
		return fmt.Sprintf("%s from %s on", s.Type, least)
	}
	return s.Type
}
