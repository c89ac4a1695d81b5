package sweep

import (
	"embed"
	"path"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/internal/input"
)

//go:embed shipped/*.yaml
var shipped embed.FS

// Shipped returns the names of the sweeps in the binary.
func Shipped() (names []string) {
	files, err := shipped.ReadDir("shipped")
	if err != nil {
		panic("sweep: " + err.Error()) // the folder is in the binary
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// maxFile bounds a sweep file in bytes; what it may have is less.
const maxFile = 1 << 24

// Read parses a sweep of the binary by its name, or a file; - is standard input. Errors are those of Parse and of
// files.
func Read(name string) (*File, error) {
	var data []byte
	var err error
	if slices.Contains(Shipped(), name) {
		data, err = shipped.ReadFile(path.Join("shipped", name+".yaml"))
	} else {
		data, err = input.ReadStream(name, maxFile)
	}
	if err != nil {
		return nil, err
	}
	return Parse(data, name)
}
