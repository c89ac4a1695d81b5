package run

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// Of a release; its build sets them (-ldflags -X), since it compiles an export of the commit, which has no .git.
var (
	released  string // v1.2.3
	commit    string // SHA of the commit
	committed string // its time, RFC 3339
)

// A Build says which program this is.
type Build struct {
	Version  string `json:"version"`            // of a release, or one that Go makes of the commit
	Commit   string `json:"commit,omitempty"`   // SHA; empty where it is not known
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // files differed from the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// ThisBuild describes the program that runs.
func ThisBuild() Build {
	b := Build{Version: released, Commit: commit, Time: committed, Go: runtime.Version(), OS: runtime.GOOS,
		Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, "unknown")
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Time = cmp.Or(b.Time, s.Value)
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	switch v := info.Main.Version; {
	case b.Version != "":
	case v != "" && v != "(devel)":
		b.Version = v
	case b.Commit == "":
		b.Version = Development
	default:
		if b.Version = b.Commit[:min(12, len(b.Commit))]; b.Modified {
			b.Version += "+changes"
		}
	}
	return b
}

// Development is the version of a build that knows no commit.
const Development = "development"

// Program returns twelve digits of the SHA-256 of the program that runs, which tell builds apart that know no commit;
// empty where it cannot be read.
var Program = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
})

// Version returns the program's version: that of the release, the module's, or the commit it was
// built from.
func Version() string { return ThisBuild().Version }
