package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Platforms are GOOS/GOARCH of what is released; wheels are of the same.
var Platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// toldPackage is the package whose variables say which version the program is.
const toldPackage = "github.com/landing-diffusion/landing/experiment/run"

// A Release is what is to be built.
type Release struct {
	Repo, Out string
	Version   string // v1.2.3
	Commit    string // empty: that of the tag Version
	Wheels    string // interpreter of Python; empty: no wheels
	Platforms []string
	Env       []string // beside the process's; tests give caches of their own
	Say       func(string)

	sha  string
	time time.Time // of the commit
	env  []string  // of the Go command
}

var version = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// Make builds everything.
func (r *Release) Make(ctx context.Context) error {
	if !version.MatchString(r.Version) {
		return fmt.Errorf("the version is %q; expected one like v1.2.3", r.Version)
	}
	for _, p := range r.Platforms {
		if !slices.Contains(Platforms, p) {
			return fmt.Errorf("there is no platform %q; expected some of %s", p, strings.Join(Platforms, ", "))
		}
	}
	if entries, err := os.ReadDir(r.Out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: nothing is written over", r.Out)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := filepath.Abs(r.Out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	source := filepath.Join(work, "source")
	if err := r.export(ctx, source); err != nil {
		return err
	}
	if err := r.told(source); err != nil {
		return err
	}
	if r.env, err = r.goEnv(ctx, source); err != nil {
		return err
	}
	r.Say(fmt.Sprintf("%s: commit %s of %s", r.Version, r.sha, r.time.Format(time.RFC3339)))
	beside, err := r.beside(ctx, source, work)
	if err != nil {
		return err
	}
	for _, p := range r.Platforms {
		if err := r.platform(ctx, source, work, out, p, beside); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if r.Wheels != "" {
		args := append([]string{"python/build_wheels.py", "--out", out, "--version",
			strings.TrimPrefix(r.Version, "v")}, r.Platforms...)
		if _, err := r.run(ctx, source, r.env, r.Wheels, args...); err != nil {
			return err
		}
	}
	return sums(out)
}

// run runs a program in a folder and returns what it prints; the error holds what it says beside that.
func (r *Release) run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), r.Env...), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// export makes a clone of the repository at the commit.
func (r *Release) export(ctx context.Context, source string) error {
	repo, err := filepath.Abs(r.Repo)
	if err != nil {
		return err
	}
	at := r.Commit
	if at == "" {
		at = "refs/tags/" + r.Version
	}
	if r.sha, err = r.run(ctx, repo, nil, "git", "rev-parse", "--verify", "--quiet", at+"^{commit}"); err != nil {
		return fmt.Errorf("there is no commit %s here; git tag makes a tag: %w", at, err)
	}
	if _, err := r.run(ctx, repo, nil, "git", "clone", "--quiet", "--no-checkout", "--shared", "--config",
		"core.autocrlf=false", repo, source); err != nil {
		return err
	}
	if _, err := r.run(ctx, source, nil, "git", "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach",
		r.sha); err != nil {
		return err
	}
	when, err := r.run(ctx, source, nil, "git", "log", "-1", "--no-show-signature",
		"--format=%cI")
	if err != nil {
		return err
	}
	r.time, err = time.Parse(time.RFC3339, when)
	r.time = r.time.UTC()
	return err
}

// told refuses a version of which the changes do not tell: its tag would be that of a commit before they did. A commit
// that is named is a trial.
func (r *Release) told(source string) error {
	changes, err := os.ReadFile(filepath.Join(source, changesFile))
	if err != nil || r.Commit != "" {
		return err
	}
	heading := "## " + strings.TrimPrefix(r.Version, "v")
	for line := range strings.Lines(string(changes)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), heading); ok && (rest == "" || rest[0] == ',') {
			return nil
		}
	}
	return fmt.Errorf("%s of the commit has no heading %q: move what is under Unreleased below it, commit, and tag "+
		"that commit", changesFile, heading)
}

// changesFile says what changed.
const changesFile = "CHANGELOG.md"

// goEnv is what the Go command is to take for its settings, whatever those of this machine and user are: of theirs
// stay only those that say where modules come from, where they are kept, and which Go it is.
func (r *Release) goEnv(ctx context.Context, source string) ([]string, error) {
	keep := []string{"GOPROXY", "GOPRIVATE", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPATH", "GOMODCACHE", "GOCACHE",
		"GOTOOLCHAIN"}
	set, err := r.settings(ctx, source, nil, keep...)
	if err != nil {
		return nil, err
	}
	env := []string{"GOENV=off", "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GOEXPERIMENT=", "GOFIPS140=off",
		"GOAMD64=v1", "GOARM64=v8.0"}
	for _, name := range keep {
		env = append(env, name+"="+set[name])
	}
	return env, nil
}

// settings asks the Go command for settings of its own.
func (r *Release) settings(ctx context.Context, dir string, env []string, names ...string) (map[string]string, error) {
	text, err := r.run(ctx, dir, env, "go", append([]string{"env", "-json"}, names...)...)
	if err != nil {
		return nil, err
	}
	set := map[string]string{}
	return set, json.Unmarshal([]byte(text), &set)
}

// flags tell the program what it is; the linker passes over variables that toldPackage does not have.
func (r *Release) flags() string {
	return fmt.Sprintf("-s -w -X %[1]s.released=%[2]s -X %[1]s.commit=%[3]s -X %[1]s.committed=%[4]s",
		toldPackage, r.Version, r.sha, r.time.Format(time.RFC3339))
}

// build compiles the program for a platform: the same bytes in any folder. Wheels are built with the same flags.
func (r *Release) build(ctx context.Context, source, platform, to string) error {
	system, machine, _ := strings.Cut(platform, "/")
	_, err := r.run(ctx, source, append([]string{"GOOS=" + system, "GOARCH=" + machine}, r.env...), "go", "build",
		"-trimpath", "-buildvcs=false", "-ldflags="+r.flags(), "-o", to, "./cmd/landing")
	return err
}

// program is the name of the program on a platform.
func program(platform string) string {
	if strings.HasPrefix(platform, "windows/") {
		return "landing.exe"
	}
	return "landing"
}

// A file of an archive.
type file struct {
	name string // with slashes
	mode fs.FileMode
	data []byte
}

// beside makes what stands beside the program in each archive, by the program for this machine.
func (r *Release) beside(ctx context.Context, source, work string) (files []file, err error) {
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", changesFile} {
		data, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, data})
	}
	here := filepath.Join(work, program(runtime.GOOS+"/"))
	if err := r.build(ctx, source, runtime.GOOS+"/"+runtime.GOARCH, here); err != nil {
		return nil, err
	}
	man := filepath.Join(work, "man")
	if _, err := r.run(ctx, work, nil, here, "dev", "man", man); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(man) // sorted
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		data, err := os.ReadFile(filepath.Join(man, p.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{"man/man1/" + p.Name(), 0o644, data})
	}
	for _, c := range []struct{ shell, name string }{{"bash", "landing.bash"}, {"fish", "landing.fish"},
		{"powershell", "landing.ps1"}, {"zsh", "_landing"}} {
		script, err := r.run(ctx, work, nil, here, "completion", c.shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"completions/" + c.name, 0o644, []byte(script + "\n")})
	}
	return files, nil
}

// platform writes the archive of a platform, and its bill of materials.
func (r *Release) platform(ctx context.Context, source, work, out, platform string, beside []file) error {
	name := fmt.Sprintf("landing_%s_%s", strings.TrimPrefix(r.Version, "v"), strings.ReplaceAll(platform, "/", "_"))
	binary := filepath.Join(work, name)
	if err := r.build(ctx, source, platform, binary); err != nil {
		return err
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	licences := filepath.Join(work, name+"-"+licencesFile)
	if _, err := r.run(ctx, source, r.env, "go", "run", "./tools/licences", "-o", licences, platform); err != nil {
		return err
	}
	terms, err := os.ReadFile(licences)
	if err != nil {
		return err
	}
	files := append([]file{{program(platform), 0o755, data}, {licencesFile, 0o644, terms}}, beside...)
	for i := range files {
		files[i].name = name + "/" + files[i].name
	}
	archive, write := name+".tar.gz", tarball
	if strings.HasPrefix(platform, "windows/") {
		archive, write = name+".zip", zipped
	}
	var b bytes.Buffer
	if err := write(&b, files, r.time); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, archive), b.Bytes(), 0o666); err != nil {
		return err
	}
	r.Say(fmt.Sprintf("%s  %.1f MB", archive, float64(b.Len())/1e6))
	_, err = r.run(ctx, source, r.env, "go", "run", "-trimpath", billMaker, "bin", "-json", "-std", "-noserial",
		"-notimestamp", "-version", r.Version, "-output", filepath.Join(out, name+".cdx.json"), binary)
	return err
}

// billMaker writes the bill of materials (CycloneDX) of the modules that Go wrote into a program.
const billMaker = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"

// licencesFile has the terms of all that is linked into the program of a platform.
const licencesFile = "THIRD_PARTY_LICENSES"

const sumsFile = "SHA256SUMS"

// sums writes the hashes of all files in a folder, as sha256sum --check reads them.
func sums(out string) error {
	entries, err := os.ReadDir(out) // sorted
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() == sumsFile {
			continue
		}
		f, err := os.Open(filepath.Join(out, e.Name()))
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", h.Sum(nil), e.Name())
	}
	return os.WriteFile(filepath.Join(out, sumsFile), []byte(b.String()), 0o666)
}
