package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// All mutations are built at once: beside each function stand its faulty copies, and it
// calls the one whose number the environment names, so that every test is compiled and
// linked once for a whole sample.
const (
	faultKey  = "PLANTED_FAULT"   // in the environment: the number of the fault
	faultMark = "faultMARKin"     // in a faulty copy's name: replaced by the number
	chooser   = "plantedfault.go" // the file that reads the environment, added to a package
)

// chooserText is that of chooser. Other names would clash with those of a package.
const chooserText = `package %s

import (
	plantedos "os"
	plantedstrconv "strconv"
)

var plantedFault = func() int { n, _ := plantedstrconv.Atoi(plantedos.Getenv("` + faultKey + `")); return n }()
`

// A hook is what a function needs in order to call its faulty copies.
type hook struct {
	body    int    // offset of the source after the body's brace
	names   []edit // that parameters lack
	call    string // of the faulty copy, with faultMark
	returns bool   // something
}

// An edit puts text at an offset, in place of some bytes.
type edit struct {
	at, bytes int
	text      string
}

// newHook describes the call of f's faulty copies.
func newHook(f *ast.FuncDecl, set *token.FileSet) *hook {
	h := &hook{
		body: set.Position(f.Body.Lbrace).Offset + 1, returns: f.Type.Results != nil && len(f.Type.Results.List) > 0,
	}
	n := 0
	named := func(list *ast.FieldList) (names []string) {
		if list == nil {
			return nil
		}
		fresh := func(at token.Pos, bytes int, space string) {
			name := "planted" + strconv.Itoa(n)
			n++
			h.names = append(h.names, edit{set.Position(at).Offset, bytes, name + space})
			names = append(names, name)
		}
		for _, p := range list.List {
			for _, id := range p.Names {
				if id.Name == "_" {
					fresh(id.Pos(), 1, "")
				} else {
					names = append(names, id.Name)
				}
			}
			if p.Names == nil {
				fresh(p.Type.Pos(), 0, " ")
			}
			if _, ok := p.Type.(*ast.Ellipsis); ok {
				names[len(names)-1] += "..."
			}
		}
		return names
	}
	h.call = faultMark + f.Name.Name
	if r := named(f.Recv); r != nil {
		h.call = r[0] + "." + h.call
	}
	if f.Type.TypeParams != nil {
		h.call += "[" + strings.Join(named(f.Type.TypeParams), ", ") + "]"
	}
	h.call += "(" + strings.Join(named(f.Type.Params), ", ") + ")"
	return h
}

// faultyCopy prints f, in which a fault stands, as a function of its own.
func faultyCopy(f *ast.FuncDecl, set *token.FileSet) (string, error) {
	name, doc := f.Name.Name, f.Doc
	defer func() { f.Name.Name, f.Doc = name, doc }()
	f.Name.Name, f.Doc = faultMark+name, nil
	var b bytes.Buffer
	err := printer.Fprint(&b, set, f)
	return b.String(), err
}

// weave returns a file's source with the faults that are planted in it. Lines that are
// not of faulty copies keep their numbers; those of a copy are in faultN.go.
func weave(source []byte, faults []*mutant) []byte {
	var edits []edit
	var copies strings.Builder
	of := map[*hook][]*mutant{}
	for _, m := range faults {
		of[m.hook] = append(of[m.hook], m)
		fmt.Fprintf(&copies, "\n//line fault%d.go:1\n%s\n", m.number, strings.Replace(m.copy, "MARK",
			strconv.Itoa(m.number), 1))
	}
	for h, all := range of {
		var cases strings.Builder
		for _, m := range all {
			call := strings.Replace(h.call, "MARK", strconv.Itoa(m.number), 1)
			if h.returns {
				fmt.Fprintf(&cases, "case %d: return %s; ", m.number, call)
			} else {
				fmt.Fprintf(&cases, "case %d: %s; return; ", m.number, call)
			}
		}
		edits = append(edits, h.names...)
		edits = append(edits, edit{h.body, 0, " if plantedFault > 0 { switch plantedFault { " +
			cases.String() + "} };"})
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var out bytes.Buffer
	from := 0
	for _, e := range edits {
		out.Write(source[from:e.at])
		out.WriteString(e.text)
		from = e.at + e.bytes
	}
	out.Write(source[from:])
	out.WriteString(copies.String())
	return out.Bytes()
}

// A built is a sample of faults whose tests are built when they are asked for.
type built struct {
	dir     string
	overlay string           // of all mutations
	unbuilt map[*mutant]bool // those that do not build
	mu      sync.Mutex
	once    map[string]func() error // by binary
}

// build weaves faults into an overlay in dir.
func (t *trial) build(dir string, faults []*mutant) (b *built, err error) {
	b = &built{dir: dir, unbuilt: map[*mutant]bool{}, once: map[string]func() error{}}
	for {
		if err := b.weave(t.root, faults); err != nil {
			return nil, err
		}
		var packages []string
		for _, m := range faults {
			if p := "./" + path.Dir(m.Path); m.hook != nil && !b.unbuilt[m] && !slices.Contains(packages, p) {
				packages = append(packages, p)
			}
		}
		if packages == nil {
			return b, nil
		}
		said, err := t.command("go", append([]string{"build", "-overlay", b.overlay}, packages...)...)
		if err == nil {
			return b, nil
		}
		if bytes.Contains(said, []byte("too many errors")) {
			said, _ = t.command("go", append([]string{"build", "-gcflags=-e", "-overlay", b.overlay}, packages...)...)
		}
		before := len(b.unbuilt)
		for _, at := range ofCopy.FindAllSubmatch(said, -1) {
			if i, err := strconv.Atoi(string(at[1])); err == nil && i <= len(faults) {
				b.unbuilt[faults[i-1]] = true
			}
		}
		if t.ctx.Err() != nil || len(b.unbuilt) == before {
			return nil, fmt.Errorf("the faults do not build together: %w\n%s", err, said)
		}
	}
}

var ofCopy = regexp.MustCompile(`fault(\d+)\.go:`)

// weave writes the overlay of the mutations that may build.
func (b *built) weave(root string, faults []*mutant) error {
	files := map[string][]*mutant{}
	for _, m := range faults {
		if m.hook != nil && !b.unbuilt[m] {
			files[m.Path] = append(files[m.Path], m)
		}
	}
	replace := map[string]string{}
	put := func(file string, text []byte) error {
		at := filepath.Join(b.dir, strconv.Itoa(len(replace))+".go")
		replace[filepath.Join(root, filepath.FromSlash(file))] = at
		return os.WriteFile(at, text, 0o600)
	}
	for file, of := range files {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return err
		}
		if err := put(file, weave(source, of)); err != nil {
			return err
		}
		key := path.Join(path.Dir(file), chooser)
		if _, ok := replace[filepath.Join(root, filepath.FromSlash(key))]; ok {
			continue // of another file of the package
		}
		if err := put(key, fmt.Appendf(nil, chooserText, of[0].Package)); err != nil {
			return err
		}
	}
	b.overlay = filepath.Join(b.dir, "overlay.json")
	return writeOverlay(b.overlay, replace)
}

// tests returns the tests of a folder that know a fault.
func (b *built) tests(t *trial, folder string, m *mutant) (binary string, err error) {
	name, overlay := "all", b.overlay
	if m.hook == nil {
		name = strconv.Itoa(m.number)
		overlay = filepath.Join(b.dir, name+".json")
	}
	binary = filepath.Join(b.dir, strings.ReplaceAll(folder, "/", "-")+"."+name+".test")
	b.mu.Lock()
	if b.once[binary] == nil {
		b.once[binary] = sync.OnceValue(func() error {
			if m.hook == nil {
				faulty := filepath.Join(b.dir, name+".go")
				if err := errors.Join(os.WriteFile(faulty, m.source, 0o600), writeOverlay(overlay, map[string]string{
					filepath.Join(t.root, filepath.FromSlash(m.Path)): faulty,
				})); err != nil {
					return err
				}
			}
			return t.compile(binary, folder, "-overlay", overlay)
		})
	}
	compile := b.once[binary]
	b.mu.Unlock()
	return binary, compile()
}

// writeOverlay writes the list that tells go which file stands in for which.
func writeOverlay(file string, replace map[string]string) error {
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(file, list, 0o600)
}
