package problem

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

// checkVariants checks keys and types of every variant in a file, whether it is applied or not, and notes where each
// of its keys was written. p holds what the file says beside them.
func (p *Problem) checkVariants(file ast.Node, where func(line int) string) error {
	top, _ := pairs(file)
	for _, v := range top {
		if v.Key.GetToken().Value != "variants" {
			continue
		}
		variants, _ := pairs(v.Value)
		p.written = map[string]map[string]string{}
		for _, v := range variants {
			name := v.Key.GetToken().Value
			as := *p
			as.origin = map[string]string{}
			err := as.walk(v.Value, reflect.TypeFor[Problem](), "", where)
			if at, ok := as.origin["variants"]; ok && err == nil {
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
			p.written[name] = as.origin
		}
	}
	return nil
}

// apply decodes a variant over p.
func (p *Problem) apply(name string, layer []byte) error {
	if err := p.merge(layer, func(int) string { return fmt.Sprintf("%s, variant %s", p.file, name) }); err != nil {
		return err
	}
	maps.Copy(p.origin, p.written[name])
	return nil
}
