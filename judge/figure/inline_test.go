package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// svgElements are the elements that this package's figures consist of. None of them runs a script or loads anything.
var svgElements = []string{"svg", "g", "path", "circle", "text", "tspan"}

// Inline reports why doc is not a figure of this package that is safe to inline in a page. It must be well-formed XML
// with one svg root and nothing beside it, the elements above only, no attributes that run or fetch something, and none
// of the constructs that HTML reads otherwise than XML does.
func Inline(doc []byte) error {
	d := xml.NewDecoder(bytes.NewReader(doc))
	if bytes.Contains(doc, []byte("<!")) {
		return errors.New("declarations, comments and CDATA have no place in a figure")
	}
	depth, roots := 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && roots == 1 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not an SVG document: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				roots++
			}
			if isRoot := depth == 0 && roots == 1; isRoot != (t.Name.Local == "svg") {
				return fmt.Errorf("element <%s> is out of place", t.Name.Local)
			}
			if err := checkElement(t); err != nil {
				return err
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && len(bytes.TrimSpace(t)) > 0 {
				return errors.New("text beside the svg element")
			}
		case xml.ProcInst:
			return errors.New("processing instructions have no place in a figure")
		}
	}
}

func checkElement(e xml.StartElement) error {
	if !slices.Contains(svgElements, e.Name.Local) {
		return fmt.Errorf("element <%s> has no place in a figure", e.Name.Local)
	}
	for _, a := range e.Attr {
		key := strings.ToLower(a.Name.Local)
		if strings.HasPrefix(key, "on") || key == "href" || key == "style" {
			return fmt.Errorf("attribute %s of <%s> has no place in a figure", key, e.Name.Local)
		}
	}
	return nil
}
