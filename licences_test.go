package landing

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// licencesFile has the terms of all that is linked into the program on the platforms that are released: of the modules
// that it is built of, and of Go. Most of them ask to go along with a binary, so releases, wheels and images hold it.
const licencesFile = "THIRD_PARTY_LICENSES"

// THIRD_PARTY_LICENSES has the terms of what is linked, and NOTICE names each module. With LANDING_UPDATE=1 the file is
// written anew.
func TestLicences(t *testing.T) {
	works := map[string]string{} // texts of terms, by module, version and path
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64",
		"windows/arm64"} {
		linked(t, platform, works)
	}
	root := strings.TrimSpace(string(testkit.Must(exec.Command("go", "env", "GOROOT").Output())))
	if !terms(t, "Go, its runtime and standard library", root, root, works) {
		t.Errorf("%s holds no LICENSE of Go", root)
	}
	want := joinedTexts(works)
	if os.Getenv("LANDING_UPDATE") != "" {
		testkit.OK(t, os.WriteFile(licencesFile, want, 0o666))
	}
	if got := testkit.Must(os.ReadFile(licencesFile)); !bytes.Equal(got, want) {
		t.Errorf("%s is not what is linked: LANDING_UPDATE=1 go test -run Licences . writes it", licencesFile)
	}
	notice := string(testkit.Must(os.ReadFile("NOTICE")))
	for name := range works {
		if module, _, ok := strings.Cut(name, " v"); ok && !strings.Contains(notice, module) {
			t.Errorf("NOTICE does not name %s", module)
		}
	}
	for _, of := range []string{": snappy/LICENSE", "github.com/inconshreveable/mousetrap v", ": licenses/ftl.txt"} {
		testkit.Contains(t, string(want), of) // of a part of a module, on Windows alone, and named by a LICENSE
	}
}

// linked adds the terms of all packages that the program of a platform is linked of: those beside each package and
// above it in its module.
func linked(t *testing.T, platform string, works map[string]string) {
	system, machine, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,Module", "./cmd/landing")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0", "GOFLAGS=")
	var said bytes.Buffer
	cmd.Stderr = &said
	told, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v\n%s", platform, err, said.Bytes())
	}
	has := map[string]bool{} // modules, whether they have any
	for d := json.NewDecoder(bytes.NewReader(told)); ; {
		var p struct {
			ImportPath, Dir string
			Standard        bool
			Module          *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if m := p.Module; !p.Standard && !m.Main {
			name := m.Path + " " + m.Version
			found := terms(t, name, m.Dir, p.Dir, works)
			has[name] = has[name] || found
		}
	}
	for name, has := range has {
		if !has {
			t.Errorf("%s holds no licence that is known by its name", name)
		}
	}
}

// termsNames are those of files that say under which terms a work may be used.
var termsNames = regexp.MustCompile(`(?i)^(licen[cs]es?|unlicen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

// terms adds the files of terms in a folder and those above it, to that of the module, with what lies in a folder of
// such a name there. It reports whether the module's own folder has one.
func terms(t *testing.T, name, module, dir string, works map[string]string) (own bool) {
	add := func(file string) {
		body := testkit.Must(os.ReadFile(file))
		if !utf8.Valid(body) { // Latin-1, in which a byte is a character
			body = testkit.Must(charmap.ISO8859_1.NewDecoder().Bytes(body))
		}
		in := filepath.ToSlash(testkit.Must(filepath.Rel(module, file)))
		works[name+": "+in] = strings.TrimSpace(strings.ReplaceAll(string(body), "\r\n", "\n"))
	}
	for ; ; dir = filepath.Dir(dir) {
		for _, e := range testkit.Must(os.ReadDir(dir)) {
			switch file := filepath.Join(dir, e.Name()); {
			case !termsNames.MatchString(e.Name()) || path.Ext(e.Name()) == ".go":
			case e.IsDir() && dir == module:
				for _, file := range testkit.Must(filepath.Glob(filepath.Join(file, "*.txt"))) {
					add(file)
				}
			case e.Type().IsRegular():
				add(file)
				own = own || dir == module
			}
		}
		if dir == module {
			return own
		}
	}
}

// joinedTexts returns each text once, below the works that hold it.
func joinedTexts(works map[string]string) []byte {
	var texts []string
	of := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(works)) {
		text := works[name]
		if of[text] == nil {
			texts = append(texts, text)
		}
		of[text] = append(of[text], name)
	}
	b := bytes.NewBufferString("The landing program is linked of its own code, whose terms are in LICENSE and " +
		"NOTICE, and of the\nworks below, each under the terms that stand below it.\n")
	line := strings.Repeat("=", 79)
	for _, text := range texts {
		fmt.Fprintf(b, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(of[text], "\n"), line, text)
	}
	return b.Bytes()
}
