package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// All faults are built at once: each function begins with the faulty copies of its body, and runs the one whose number
// the environment names, so that every test is compiled and linked once for a whole sample.
const (
	faultKey   = "PLANTED_FAULT"   // in the environment: the number of the fault
	numberMark = "PlantedMARK"     // behind labels of a copy: replaced by the number
	chooser    = "plantedfault.go" // the file that reads the environment, added to a package
)

// chooserText is that of chooser. Other names would clash with those of a package.
const chooserText = `package %s

import (
	plantedos "os"
	plantedstrconv "strconv"
)

var plantedFault = func() int { n, _ := plantedstrconv.Atoi(plantedos.Getenv("` + faultKey + `")); return n }()
`

// weave returns a file's source with the faults that are planted in it. The lines of a copy are in faultN.go, as the
// compiler sees it.
func weave(source []byte, faults []*mutant) []byte {
	copies := map[int]string{} // by the offset of the brace before
	for _, m := range faults {
		end := "return"
		if m.returns {
			end = `panic("planted: no return")`
		}
		copies[m.brace] += fmt.Sprintf("case %d:\n//line fault%[1]d.go:1\n%s\n%s\n", m.number,
			strings.ReplaceAll(m.body, numberMark, strconv.Itoa(m.number)), end)
	}
	var out bytes.Buffer
	from := 0
	for _, brace := range slices.Sorted(maps.Keys(copies)) {
		fmt.Fprintf(&out, "%s\nswitch plantedFault {\n%s}\n", source[from:brace], copies[brace])
		from = brace
	}
	out.Write(source[from:])
	return out.Bytes()
}

// A built is a sample of faults whose tests are built when they are asked for.
type built struct {
	dir     string
	overlay string           // the list that tells go which file stands in for which
	unbuilt map[*mutant]bool // those that do not build
	mu      sync.Mutex
	once    map[string]func() error // by folder
}

// build weaves faults into an overlay in dir.
func (t *trial) build(dir string, faults []*mutant) (b *built, err error) {
	b = &built{dir: dir, overlay: filepath.Join(dir, "overlay.json"), unbuilt: map[*mutant]bool{},
		once: map[string]func() error{}}
	for {
		packages, err := b.weave(t.root, faults)
		if err != nil || packages == nil {
			return b, err
		}
		args := []string{"build", "-gcflags=-e", "-o", os.DevNull, "-overlay", b.overlay}
		said, err := t.command(append(args, packages...)...)
		if err == nil {
			return b, nil
		}
		before := len(b.unbuilt)
		for _, at := range lineOfCopy.FindAllSubmatch(said, -1) {
			if i, err := strconv.Atoi(string(at[1])); err == nil && i <= len(faults) {
				b.unbuilt[faults[i-1]] = true
			}
		}
		if t.ctx.Err() != nil || len(b.unbuilt) == before {
			return nil, fmt.Errorf("the faults do not build together: %w\n%s", err, said)
		}
	}
}

var lineOfCopy = regexp.MustCompile(`fault(\d+)\.go:`)

// weave writes the overlay of the faults that may build, and returns the packages that they are in.
func (b *built) weave(root string, faults []*mutant) (packages []string, err error) {
	files, names := map[string][]*mutant{}, map[string]string{}
	for _, m := range faults {
		if !b.unbuilt[m] {
			files[m.Path] = append(files[m.Path], m)
			names[path.Dir(m.Path)] = m.Package
		}
	}
	texts := map[string][]byte{}
	for file, of := range files {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		texts[file] = weave(source, of)
	}
	for folder, name := range names {
		packages = append(packages, "./"+folder)
		texts[path.Join(folder, chooser)] = fmt.Appendf(nil, chooserText, name)
	}
	replace := map[string]string{}
	for file, text := range texts {
		by := filepath.Join(b.dir, strconv.Itoa(len(replace))+".go")
		replace[filepath.Join(root, filepath.FromSlash(file))] = by
		if err := os.WriteFile(by, text, 0o600); err != nil {
			return nil, err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	return packages, os.WriteFile(b.overlay, list, 0o600)
}

// tests returns the tests of a folder, built with the faults.
func (b *built) tests(t *trial, folder string) (binary string, err error) {
	binary = filepath.Join(b.dir, strings.ReplaceAll(folder, "/", "-")+".test")
	b.mu.Lock()
	if b.once[folder] == nil {
		b.once[folder] = sync.OnceValue(func() error { return t.compile(binary, folder, "-overlay", b.overlay) })
	}
	compile := b.once[folder]
	b.mu.Unlock()
	return binary, compile()
}
