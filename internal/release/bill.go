package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
)

// A bom is of CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json) what a Go program has to say.
type bom struct {
	Schema   string `json:"$schema"`
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Serial   string `json:"serialNumber"`
	Version  int    `json:"version"`
	Metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	} `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

// A component is a program or a module.
type component struct {
	Ref  string `json:"bom-ref"`
	Type string `json:"type"`
	named
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

// named is a module and its version, in words and as a package URL.
type named struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Purl    string `json:"purl"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A dependency is what a component, by its Ref, is made with.
type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn,omitempty"`
}

// Bill returns the bill of materials of a program: the modules that Go wrote into it (go version -m), Go itself, and
// the program's hash. The serial number follows from the program's bytes.
func Bill(program io.ReaderAt, data []byte, version string, when time.Time) ([]byte, error) {
	info, err := buildinfo.Read(program)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	main := component{Type: "application", named: named{"landing", version, purl(info.Main.Path, version)},
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}}
	main.Ref = main.Purl
	for _, s := range info.Settings { // how it was compiled
		if s.Key != "-ldflags" { // version and commit, told already
			main.Properties = append(main.Properties, property{"build:" + s.Key, s.Value})
		}
	}
	b := bom{Schema: "http://cyclonedx.org/schema/bom-1.5.schema.json", Format: "CycloneDX", Spec: "1.5",
		Serial: "urn:uuid:" + uuid(sum), Version: 1}
	b.Metadata.Timestamp, b.Metadata.Component = when.Format(time.RFC3339), main
	add := func(path, version, sum string) {
		c := component{Type: "library", named: named{path, version, purl(path, version)}}
		c.Ref = c.Purl
		if sum != "" {
			c.Properties = []property{{"go:sum", sum}} // of the module's files, as in go.sum
		}
		b.Components = append(b.Components, c)
	}
	add("std", strings.TrimPrefix(info.GoVersion, "go"), "")
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		add(d.Path, d.Version, d.Sum)
	}
	of := dependency{Ref: main.Ref}
	for _, c := range b.Components {
		of.On = append(of.On, c.Ref)
		b.Dependencies = append(b.Dependencies, dependency{Ref: c.Ref})
	}
	b.Dependencies = append([]dependency{of}, b.Dependencies...)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(b)
	return out.Bytes(), err
}

// purl is the name of a Go module in all ecosystems.
func purl(path, version string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return fmt.Sprintf("pkg:golang/%s@%s", strings.Join(parts, "/"), url.PathEscape(version))
}

// uuid makes a UUID (version 8, of the maker's own kind) of a hash.
func uuid(sum [32]byte) string {
	u := sum
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
