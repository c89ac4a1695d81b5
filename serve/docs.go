package serve

import (
	"bytes"
	_ "embed" // for the page and its style sheet
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.html
var docsHTML string

//go:embed docs.css
var docsStyle []byte

var docsTemplate = template.Must(template.New("docs").Parse(docsHTML))

type docsOperation struct {
	Method, Path, Summary, Says string
	Parameters                  []docsField
	Bodies, Answers             []docsBody
}

type docsBody struct {
	Status, Says string
	Media        []string
	Schema       string // name
}

type docsField struct {
	Name, Type, Says string
	Required         bool
}

type docsSchema struct {
	Name   string
	Fields []docsField
}

// docsPage renders a description as a page, which loads nothing but its style sheet.
func docsPage(api *huma.OpenAPI) []byte {
	var page struct {
		Title, Version, Says string
		Operations           []docsOperation
		Schemas              []docsSchema
		Kinds                []struct {
			Status            int
			Code, Title, Says string
		}
	}
	page.Title, page.Version, page.Says = api.Info.Title, api.Info.Version, api.Info.Description
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		item := api.Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Post} {
			if op == nil {
				continue
			}
			o := docsOperation{Method: op.Method, Path: path, Summary: op.Summary, Says: op.Description}
			for _, p := range op.Parameters {
				o.Parameters = append(o.Parameters, docsField{p.Name + " (" + p.In + ")", typeOf(p.Schema),
					p.Description, p.Required})
			}
			if op.RequestBody != nil {
				o.Bodies = append(o.Bodies, bodyOf("", "", op.RequestBody.Content))
			}
			for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
				r := op.Responses[status]
				o.Answers = append(o.Answers, bodyOf(status, r.Description, r.Content))
			}
			page.Operations = append(page.Operations, o)
		}
	}
	all := api.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := docsSchema{Name: name}
		for _, field := range slices.Sorted(maps.Keys(all[name].Properties)) {
			p := all[name].Properties[field]
			s.Fields = append(s.Fields, docsField{field, typeOf(p), p.Description,
				slices.Contains(all[name].Required, field)})
		}
		page.Schemas = append(page.Schemas, s)
	}
	for _, k := range kinds {
		page.Kinds = append(page.Kinds, struct {
			Status            int
			Code, Title, Says string
		}{k.status, k.code, k.title, k.says})
	}
	var b bytes.Buffer
	if err := docsTemplate.Execute(&b, page); err != nil {
		panic("serve: " + err.Error()) // the template and the description are ours
	}
	return b.Bytes()
}

func bodyOf(status, says string, content map[string]*huma.MediaType) docsBody {
	b := docsBody{Status: status, Says: says}
	for _, media := range slices.Sorted(maps.Keys(content)) {
		if b.Media = append(b.Media, media); content[media].Schema != nil && content[media].Schema.Ref != "" {
			b.Schema = content[media].Schema.Ref[strings.LastIndex(content[media].Schema.Ref, "/")+1:]
		}
	}
	return b
}

// typeOf tells the type of a value in a few words.
func typeOf(s *huma.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
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
