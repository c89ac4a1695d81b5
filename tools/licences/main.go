// Command licences writes the licences of all that is linked into the landing program: those of the modules that it is
// built of, and Go's own. Most of them ask to go along with a binary, so releases and wheels hold the file.
//
//	go run ./tools/licences [-o FILE] [GOOS/GOARCH…]
//
// Without platforms it is of those that are released, together. It needs Go and the modules, and no network where they
// are at hand. The same modules give the same bytes.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

const program = "./cmd/landing"

// platforms are those that are released.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// names are those of files that say under which terms a work may be used.
var names = regexp.MustCompile(`(?i)^(licen[cs]es?|unlicen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

// A text is a file of terms, and the works that hold it: as "module version", with the path of a file in it.
type text struct {
	of   []string
	body string
}

func main() {
	out := flag.String("o", "", "file to write (default: standard output)")
	flag.Parse()
	if err := write(".", *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func write(repo, out string, of []string) error {
	if len(of) == 0 {
		of = platforms
	}
	works := map[string]string{} // files by module, version and path
	for _, p := range of {
		if err := linked(repo, p, works); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	var b bytes.Buffer
	if err := writeTexts(&b, works); err != nil {
		return err
	}
	if out == "" {
		_, err := os.Stdout.Write(b.Bytes())
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o666)
}

// A listed package is what go list tells of one.
type listed struct {
	ImportPath, Dir string
	Standard        bool
	Module          *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version string }
	}
}

// linked adds the files of terms of all packages that the program of a platform is linked of: those beside each package
// and above it in its module. A module without any is an error.
func linked(repo, platform string, works map[string]string) error {
	system, machine, ok := strings.Cut(platform, "/")
	if !ok {
		return fmt.Errorf("expected GOOS/GOARCH")
	}
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,Module", program)
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0", "GOFLAGS=")
	var said bytes.Buffer
	cmd.Stderr = &said
	told, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, said.Bytes())
	}
	terms := map[string]bool{} // modules that have any
	standard := false
	for d := json.NewDecoder(bytes.NewReader(told)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		switch m := p.Module; {
		case p.Standard:
			standard = true
		case m == nil:
			return fmt.Errorf("%s is of no module", p.ImportPath)
		case m.Main:
		case m.Dir == "":
			return fmt.Errorf("the module %s is not at hand: go mod download", m.Path)
		default:
			name := strings.TrimSpace(m.Path + " " + m.Version)
			if m.Replace != nil {
				name = strings.TrimSpace(m.Replace.Path + " " + m.Replace.Version)
			}
			found, err := above(name, m.Dir, p.Dir, works)
			if err != nil {
				return err
			}
			terms[name] = terms[name] || found
		}
	}
	for name, has := range terms {
		if !has {
			return fmt.Errorf("%s holds no licence that is known by its name", name)
		}
	}
	if !standard {
		return nil
	}
	told, err = exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(told)), "\n")
	found, err := above("Go, its runtime and standard library, "+version, root, root, works)
	if err == nil && !found {
		err = fmt.Errorf("%s holds no LICENSE of Go", root)
	}
	return err
}

// above adds the files of terms in a folder and those above it, to that of the module, and reports whether the module's
// own folder has one.
func above(name, module, dir string, works map[string]string) (own bool, err error) {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return false, err
		}
		in, err := filepath.Rel(module, dir)
		if err != nil || strings.HasPrefix(in, "..") {
			return false, fmt.Errorf("%s lies outside of its module, %s", dir, module)
		}
		for _, e := range entries {
			if in == "." && e.IsDir() && names.MatchString(e.Name()) { // that the module's LICENSE names
				if err := folder(name, filepath.Join(dir, e.Name()), works); err != nil {
					return false, err
				}
			}
			if !e.Type().IsRegular() || !names.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			body, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return false, err
			}
			works[name+": "+path.Join(filepath.ToSlash(in), e.Name())] = inUTF8(body)
			own = own || in == "."
		}
		if in == "." {
			return own, nil
		}
		dir = filepath.Dir(dir)
	}
}

// folder adds all files of a module's folder of terms.
func folder(name, dir string, works map[string]string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	for _, file := range files {
		body, e := os.ReadFile(file)
		works[name+": "+path.Join(filepath.Base(dir), filepath.Base(file))] = inUTF8(body)
		err = errors.Join(err, e)
	}
	return err
}

// inUTF8 returns a text in UTF-8 as it is, and another one as Latin-1, in which a byte is a character.
func inUTF8(body []byte) string {
	if !utf8.Valid(body) {
		body, _ = charmap.ISO8859_1.NewDecoder().Bytes(body)
	}
	return string(body)
}

// writeTexts writes each text once, below the works that hold it.
func writeTexts(w io.Writer, works map[string]string) error {
	var texts []*text
	at := map[string]*text{}
	for _, name := range slices.Sorted(maps.Keys(works)) {
		body := strings.TrimSpace(strings.ReplaceAll(works[name], "\r\n", "\n"))
		t := at[body]
		if t == nil {
			t = &text{body: body}
			at[body], texts = t, append(texts, t)
		}
		t.of = append(t.of, name)
	}
	var b strings.Builder
	b.WriteString("The landing program is linked of its own code, whose terms are in LICENSE and NOTICE, and of the\n" +
		"works below, each under the terms that stand below it.\n")
	line := strings.Repeat("=", 79)
	for _, t := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(t.of, "\n"), line, t.body)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
