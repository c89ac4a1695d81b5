package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A suite is the tests of a folder, all or those that -short leaves.
type suite struct {
	folder string
	short  bool
}

func (s suite) String() string {
	if s.short {
		return s.folder + " short"
	}
	return s.folder
}

// A baseline is what the tests do on the sound code: how long they take and which code
// they come to. It is kept in a file, for the next sample of the same code.
type baseline struct {
	Seconds map[string]float64 // by suite
	Work    map[string]float64 // of processors, in seconds, by suite
	Quick   map[string]string  // by suite, a pattern of the tests to run first
	Blocks  map[string][]block // by suite and file, "folder short file"
}

// A block is a stretch of code without branches that a suite runs or not.
type block struct {
	From, To [2]int // line and column
	Run      bool
}

// suites lists the tests that may see a fault of a folder, in the order that finds it
// soonest.
func (t *trial) suites(own string) []suite {
	var out []suite
	for _, f := range t.dependents[own] {
		if f != own {
			out = append(out, suite{f, true})
		}
	}
	slices.SortStableFunc(out, func(a, b suite) int {
		return cmp.Compare(t.sound.Seconds[a.String()], t.sound.Seconds[b.String()])
	})
	if len(t.dependents[own]) > 0 && t.dependents[own][0] == own {
		out = append(append([]suite{{own, true}}, out...), suite{own, false})
	}
	return out
}

// reaches reports whether a suite runs the code where the fault is. Code that is in no
// block, such as the cases of a switch, counts as run, and so does a fault written down.
func (b *baseline) reaches(s suite, m *mutant) bool {
	known, run := false, m.Column == 0
	for _, k := range b.Blocks[s.String()+" "+m.Path] {
		at := [2]int{m.Line, m.Column}
		if slices.Compare(k.From[:], at[:]) <= 0 && slices.Compare(at[:], k.To[:]) < 0 {
			known, run = true, run || k.Run
		}
	}
	return run || !known
}

// patience is the time after which a suite on faulty code is taken for endless: many
// times what it takes on sound code, at most the time given but for slow suites.
func (b *baseline) patience(s suite, most time.Duration) time.Duration {
	takes := time.Duration(b.Seconds[s.String()] * float64(time.Second))
	return max(min(20*time.Second+8*takes, most), 4*takes)
}

// measure fills t.sound, from the file of an earlier run if the code is the same. It is an
// error if a test fails on sound code: it would see faults where there are none.
func (t *trial) measure(progress io.Writer) error {
	key, err := t.key()
	if err != nil {
		return err
	}
	file := ""
	if cache, err := os.UserCacheDir(); err == nil {
		file = filepath.Join(cache, "landing", "planted-"+key+".json")
	}
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &t.sound) == nil {
		return nil
	}
	t.sound = &baseline{
		Seconds: map[string]float64{}, Work: map[string]float64{}, Quick: map[string]string{},
		Blocks: map[string][]block{},
	}
	of := map[suite][]string{} // the planted folders that it may see faults of
	for _, p := range t.packages {
		for _, s := range t.suites(p) {
			if !t.near || s.folder == p {
				of[s] = append(of[s], p)
			}
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	next := make(chan suite)
	for range t.workers {
		wg.Go(func() {
			for s := range next {
				start := time.Now()
				quick, work, blocks, err := t.profile(s, of[s])
				mu.Lock()
				errs = append(errs, err)
				seconds := time.Since(start).Seconds()
				t.sound.Seconds[s.String()], t.sound.Work[s.String()], t.sound.Quick[s.String()] = seconds, work, quick
				for file, k := range blocks {
					t.sound.Blocks[s.String()+" "+file] = k
				}
				fmt.Fprintf(progress, "%s: %.1f s\n", s, seconds)
				mu.Unlock()
			}
		})
	}
	for s := range of {
		next <- s
	}
	close(next)
	wg.Wait()
	if err := errors.Join(errs...); err != nil || file == "" {
		return err
	}
	data, err := json.Marshal(t.sound)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}

// profile runs a suite on the sound code and returns a pattern of its quick tests, the
// seconds of processors that it takes and what it runs of the folders, by file.
func (t *trial) profile(s suite, folders []string) (
	quick string, work float64, blocks map[string][]block, err error,
) {
	dir, err := os.MkdirTemp("", "planted-*")
	if err != nil {
		return "", 0, nil, err
	}
	defer os.RemoveAll(dir)
	var covered []string
	for _, f := range folders {
		covered = append(covered, path.Join(t.module, f))
	}
	binary, profile := filepath.Join(dir, "sound.test"), filepath.Join(dir, "profile")
	if err := t.compile(binary, s.folder, "-cover", "-coverpkg="+strings.Join(covered, ",")); err != nil {
		return "", 0, nil, fmt.Errorf("the tests of %s do not build: %w", s.folder, err)
	}
	log, work, err := t.run(binary, s, time.Hour, "-test.v", "-test.coverprofile="+profile)
	if err != nil {
		return "", 0, nil, fmt.Errorf("the tests of %s fail before any fault is planted: %w", s, err)
	}
	blocks, err = readProfile(profile, t.module)
	return quickTests(log), work, blocks, err
}

var passed = regexp.MustCompile(`(?m)^--- PASS: (\w+) \(([0-9.]+)s\)$`)

// quickTests returns a pattern of the tests of a log that took less than a tenth of a
// second; none, if they are all.
func quickTests(log []byte) string {
	var names []string
	slow := false
	for _, m := range passed.FindAllSubmatch(log, -1) {
		if s, err := strconv.ParseFloat(string(m[2]), 64); err == nil && s < 0.1 {
			names = append(names, string(m[1]))
		} else {
			slow = true
		}
	}
	if !slow || names == nil {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// readProfile reads what go test -coverprofile writes, by file from the module's root.
func readProfile(name, module string) (map[string][]block, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string][]block{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		file, rest, ok := strings.Cut(strings.TrimPrefix(lines.Text(), module+"/"), ":")
		if file == "mode" || !ok {
			continue
		}
		var b block
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.From[0], &b.From[1], &b.To[0], &b.To[1], &statements,
			&count); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, lines.Text(), err)
		}
		b.Run = count > 0
		out[file] = append(out[file], b)
	}
	return out, lines.Err()
}

// key identifies what a baseline depends on: the module's files and the packages.
func (t *trial) key() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, t.packages, t.near)
	err := filepath.WalkDir(t.root, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && p != t.root && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintln(h, p)
		_, err = io.Copy(h, f)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), err
}
