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
	"slices"
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
// each comes to. It is kept in a file, for the next sample of the same code.
type baseline struct {
	Tests  map[string][]test  // by suite
	Blocks map[string][]block // by suite and file, "folder short file"
}

// A test is one function of a suite, with what it takes.
type test struct {
	Name          string
	Seconds, Work float64 // by the clock, and of processors
}

// A block is a stretch of code without branches, with the numbers of the tests that run it.
type block struct {
	From, To [2]int // line and column
	Tests    []int
}

// suites lists the tests that may see a fault of a folder, in the order that finds it
// soonest; of m, if it is given, those that come to it.
func (t *trial) suites(own string, m *mutant) (out []suite) {
	work := map[suite]float64{}
	add := func(s suite) {
		if m == nil {
			out = append(out, s)
		} else if tests := t.sound.reach(s, m); tests != nil {
			out = append(out, s)
			for _, k := range tests {
				work[s] += k.Work
			}
		}
	}
	if len(t.dependents[own]) > 0 && t.dependents[own][0] == own {
		defer add(suite{own, false})
		add(suite{own, true})
	}
	n := len(out)
	for _, f := range t.dependents[own] {
		if f != own {
			add(suite{f, true})
		}
	}
	slices.SortStableFunc(out[n:], func(a, b suite) int { return cmp.Compare(work[a], work[b]) })
	return out
}

// reach returns the tests of a suite that run the code where a fault is. Code that is in
// no block, such as the cases of a switch, counts as run, and so does a fault written down.
func (b *baseline) reach(s suite, m *mutant) (out []test) {
	all := b.Tests[s.String()]
	known, run := false, make([]bool, len(all))
	for _, k := range b.Blocks[s.String()+" "+m.Path] {
		at := [2]int{m.Line, m.Column}
		if m.hook != nil && slices.Compare(k.From[:], at[:]) <= 0 && slices.Compare(at[:], k.To[:]) < 0 {
			known = true
			for _, i := range k.Tests {
				run[i] = true
			}
		}
	}
	for i, k := range all {
		if run[i] || !known {
			out = append(out, k)
		}
	}
	return out
}

// patience is the time after which tests on faulty code are taken for endless: many times
// what they take on sound code, at most the time given but for slow ones.
func patience(seconds float64, most time.Duration) time.Duration {
	takes := time.Duration(seconds * float64(time.Second))
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
	t.sound = &baseline{Tests: map[string][]test{}, Blocks: map[string][]block{}}
	of := map[suite][]string{} // the planted folders that it may see faults of
	for _, p := range t.packages {
		for _, s := range t.suites(p, nil) {
			of[s] = append(of[s], p)
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
				tests, blocks, err := t.profile(s, of[s])
				mu.Lock()
				errs = append(errs, err)
				t.sound.Tests[s.String()] = tests
				for file, k := range blocks {
					t.sound.Blocks[s.String()+" "+file] = k
				}
				fmt.Fprintf(progress, "%s: %.1f s\n", s, time.Since(start).Seconds())
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

// profile runs the tests of a suite on the sound code, each alone, and returns what each
// takes and, by file, what they run of the folders.
func (t *trial) profile(s suite, folders []string) (tests []test, blocks map[string][]block, err error) {
	dir, err := os.MkdirTemp("", "planted-*")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	var covered []string
	for _, f := range folders {
		covered = append(covered, path.Join(t.module, f))
	}
	binary, profile := filepath.Join(dir, "sound.test"), filepath.Join(dir, "profile")
	if err := t.compile(binary, s.folder, "-cover", "-coverpkg="+strings.Join(covered, ",")); err != nil {
		return nil, nil, fmt.Errorf("the tests of %s do not build: %w", s.folder, err)
	}
	list, _, err := t.run(binary, s, time.Minute, 0, "-test.list=^(Test|Example|Fuzz)")
	if err != nil {
		return nil, nil, fmt.Errorf("the tests of %s cannot be listed: %w", s, err)
	}
	blocks = map[string][]block{}
	for _, name := range strings.Fields(string(list)) {
		start := time.Now()
		said, work, err := t.run(binary, s, time.Hour, 0, "-test.run=^"+name+"$", "-test.coverprofile="+profile)
		if err != nil {
			return nil, nil, fmt.Errorf("%s of %s fails before any fault is planted: %w\n%s", name, s, err, said)
		}
		if err := readProfile(blocks, profile, t.module, len(tests)); err != nil {
			return nil, nil, err
		}
		tests = append(tests, test{name, time.Since(start).Seconds(), work})
	}
	return tests, blocks, nil
}

// readProfile adds what go test -coverprofile wrote of a test to blocks, by file from the
// module's root.
func readProfile(blocks map[string][]block, name, module string, test int) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	at := map[string]int{} // how many of a file's blocks were read
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
			return fmt.Errorf("%s: %q: %w", name, lines.Text(), err)
		}
		i := at[file]
		if at[file]++; i == len(blocks[file]) {
			blocks[file] = append(blocks[file], b)
		} else if have := blocks[file][i]; have.From != b.From || have.To != b.To {
			return fmt.Errorf("%s: the blocks of %s are in another order than before", name, file)
		}
		if count > 0 {
			blocks[file][i].Tests = append(blocks[file][i].Tests, test)
		}
	}
	return lines.Err()
}

// key identifies what a baseline depends on: the module's files and the packages.
func (t *trial) key() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, t.packages)
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
