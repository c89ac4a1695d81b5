package problem

import (
	"errors"
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

// checkVariants checks keys and types of every variant in a file, whether it is applied or not, and notes where each
// of its keys was written. p holds what the file says beside them.
func checkVariants(p *Problem, file ast.Node, where func(line int) string) error {
	top, _ := pairs(file)
	for _, v := range top {
		if v.Key.GetToken().Value != "variants" {
			continue
		}
		variants, _ := pairs(v.Value)
		p.written = map[string]map[string]string{}
		for _, v := range variants {
			name := v.Key.GetToken().Value
			w := walker{map[string]string{}, p.Set.Is(), where}
			err := w.walk(v.Value, reflect.TypeFor[Problem](), "")
			if at, ok := w.origin["variants"]; ok && err == nil {
				err = &KeyError{Origin: at, Key: "variants", Fault: "a variant has no variants of its own"}
			}
			var e *KeyError
			if errors.As(err, &e) {
				inside := *e
				if inside.Key = "variants." + name; e.Key != "the file" {
					inside.Key += "." + e.Key
				}
				return &inside
			}
			if err != nil {
				return err
			}
			p.written[name] = w.origin
		}
	}
	return nil
}
