package run

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The processor's name on x86, and the numbers that ARM has instead.
func TestModel(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel name\t: EPYC: 2\nflags: fma\n": "EPYC: 2",
		"CPU implementer\t: 0x41\nCPU part\t: 0xd40\n":        "CPU part 0xd40 of implementer 0x41",
		"Hardware\t: BCM2835\n":                               "unknown",
	} {
		testkit.Equal(t, modelIn(strings.NewReader(text)), want, "%q", text)
	}
}

// A build is named by its release, else by its module's version, else by its commit.
func TestBuilds(t *testing.T) {
	git := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "noon"},
		{Key: "vcs.modified", Value: "false"}, {Key: "GOOS", Value: "plan9"}}
	for _, version := range []string{"", "(devel)", "v1.2.3"} {
		for _, b := range []Build{{}, {Commit: "abc", Time: "then"}, {Version: "v9"}} {
			for _, modified := range []string{"", "false", "true"} {
				info := &debug.BuildInfo{Main: debug.Module{Version: version}}
				if git[2].Value = modified; modified != "" {
					info.Settings = git
				}
				testkit.Keep(t, "%q %v %s: %+v", version, b, modified, b.with(info))
			}
		}
	}
}

func TestNothingIsWrittenOver(t *testing.T) {
	dir := t.TempDir()
	f := testkit.Must(CreateNumbered(dir, "x"))
	g, err := CreateNumbered(dir, "x")
	if err != nil || f.Dir == g.Dir || filepath.Base(g.Dir) != "x-002" {
		t.Fatalf("%v and %v, %v", f, g, err)
	}
	testkit.OK(t, f.Write("a/b.txt", []byte("one")))
	var exists *ExistsError
	if err := f.Write("a/b.txt", []byte("two")); !errors.As(err, &exists) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("got %v", err)
	}
	if data, _ := f.Read("a/b.txt"); string(data) != "one" {
		t.Errorf("the file now holds %q", data)
	}
	f.Force = true
	testkit.OK(t, f.Write("a/b.txt", []byte("two")))
	if data, _ := f.Read("a/b.txt"); string(data) != "two" {
		t.Errorf("the file now holds %q", data)
	}
	if _, err := Create(f.Dir, false); !errors.As(err, &exists) {
		t.Errorf("got %v", err)
	}
	if _, err := Create(f.Dir, true); fault.KindOf(err) != fault.Run || !strings.Contains(err.Error(), "not a run "+
		"folder") {
		t.Errorf("a folder that is no run is moved: %v", err)
	}
	for _, name := range []string{ConfigFile, ManifestFile} {
		testkit.OK(t, f.Write(name, []byte("{}")))
	}
	testkit.OK(t, f.Lock())
	if _, err := Create(f.Dir, true); fault.KindOf(err) != fault.Run || !strings.Contains(err.Error(), "another "+
		"process") {
		t.Errorf("a run at work is moved: %v", err)
	}
	f.Unlock()
	testkit.OK(t, os.Remove(f.Path(".lock")))
	made, err := Create(f.Dir, true)
	if err != nil || made.Moved != f.Dir+".old-001" {
		t.Fatalf("%v, %v", made, err)
	}
	testkit.OK(t, os.Remove(made.Moved+"/.lock"))
	if data, err := os.ReadFile(f.Dir + ".old-001/a/b.txt"); string(data) != "two" {
		t.Errorf("the old run is gone: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*", ".*"))
	if len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o666))
	for path, want := range map[string]string{
		filepath.Join(dir, "nosuch"): "there is no such run folder",
		file:                         "is a file",
		dir:                          "has no config.yaml",
	} {
		testkit.Refused(t, testkit.Err(Open(path)), want, path)
	}
}

func TestLock(t *testing.T) {
	f := testkit.Must(Create(filepath.Join(t.TempDir(), "r"), false))
	g := &Folder{Dir: f.Dir}
	testkit.OK(t, f.Lock())
	if err := g.Lock(); err == nil {
		t.Error("two locks at once")
	}
	f.Unlock()
	testkit.OK(t, g.Lock())
	g.Unlock()
}

type state struct{ Epoch int }

func (s state) Validate() error {
	if s.Epoch < 0 {
		return fmt.Errorf("epoch is %d", s.Epoch)
	}
	return nil
}

func checkpoint(t *testing.T) *Folder {
	t.Helper()
	f := testkit.Must(Create(filepath.Join(t.TempDir(), "r"), false))
	for i := 1; i <= 5; i++ {
		arrays := []arrayfile.Named{{Name: "w",
			Array: arrayfile.Array{Shape: []int{3}, Float32: []float32{float32(i), 2, 3}}}}
		testkit.OK(t, f.Checkpoints().Save(10*i, arrays, state{i}, "abc"))
	}
	return f
}

func TestCheckpoint(t *testing.T) {
	f := checkpoint(t)
	if names, _ := f.Checkpoints().Names(); strings.Join(names, " ") != "00000030 00000040 00000050" {
		t.Errorf("kept %v", names)
	}
	var s state
	arrays, err := f.Checkpoints().Load("", "abc", &s)
	if err != nil || s.Epoch != 5 || arrays[0].Array.Float32[0] != 5 {
		t.Errorf("%v %v %v", s, arrays, err)
	}
	if _, err := f.Checkpoints().Load("00000030", "abc", &s); err != nil || s.Epoch != 3 {
		t.Errorf("%v %v", s, err)
	}
	if _, err := f.Checkpoints().Load("", "other", &s); fault.KindOf(err) != fault.Run ||
		!strings.Contains(err.Error(), "belongs to another problem") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"00000031", "../checkpoints/00000030", "/00000030"} {
		if _, err := f.Checkpoints().Load(name, "abc", &s); fault.KindOf(err) != fault.Run ||
			!strings.Contains(err.Error(), "it has 00000030") {
			t.Errorf("got %v", err)
		}
	}
	testkit.OK(t, f.Checkpoints().SetAside("00000030"))
	if names, _ := f.Checkpoints().Names(); strings.Join(names, " ") != "00000030" {
		t.Errorf("left %v", names)
	}
	if _, err := os.Stat(f.Path("checkpoints/.set-aside-00000050/" + weightsFile)); err != nil {
		t.Error("a checkpoint set aside is gone")
	}
}

// What a process left that was killed while it saved is removed, also in a folder whose name is a pattern.
func TestStaleCheckpoint(t *testing.T) {
	f := &Folder{Dir: filepath.Join(t.TempDir(), "run[1]")}
	stale := f.Path("checkpoints/.tmp-7/state.json")
	testkit.OK(t, os.MkdirAll(filepath.Dir(stale), 0o777))
	testkit.OK(t, os.WriteFile(stale, []byte("{"), 0o666))
	testkit.OK(t, f.Checkpoints().Save(10, nil, state{}, "abc"))
	entries, err := os.ReadDir(f.Path("checkpoints"))
	if err != nil || len(entries) != 1 || entries[0].Name() != CheckpointName(10) {
		t.Errorf("left %v, %v", entries, err)
	}
}

// One checkpoint is the best and stays until another one is; one that is kept stays, whatever it was,
// and both marks survive a checkpoint of the same step.
func TestBestCheckpoint(t *testing.T) {
	f := checkpoint(t) // 30, 40, 50
	save := func(steps ...int) {
		t.Helper()
		for _, step := range steps {
			arrays := []arrayfile.Named{{Name: "w", Array: arrayfile.Array{Shape: []int{1}, Float32: []float32{1}}}}
			testkit.OK(t, f.Checkpoints().Save(step, arrays, state{step}, "abc"))
		}
	}
	have := func(want string) {
		t.Helper()
		if names, err := f.Checkpoints().Names(); err != nil || strings.Join(names, " ") != want {
			t.Errorf("checkpoints %v, %v; want %s", names, err, want)
		}
	}
	mark := func(name string, how func(string) error) {
		t.Helper()
		testkit.OK(t, how(name))
	}
	mark("00000030", f.Checkpoints().MarkBest)
	save(60, 70, 80, 90)
	have("00000030 00000070 00000080 00000090")
	mark("00000070", f.Checkpoints().MarkBest)
	mark("00000070", f.Checkpoints().MarkBest)
	save(70, 100, 110, 120)
	have("00000070 00000100 00000110 00000120")
	mark("00000070", f.Checkpoints().Keep)
	mark("00000110", f.Checkpoints().MarkBest)
	save(110, 130, 140, 150)
	have("00000070 00000110 00000130 00000140 00000150")
	if err := f.Checkpoints().MarkBest("00000999"); err == nil {
		t.Error("a checkpoint that is not there is the best")
	}
}

// What lies beside the checkpoints is no checkpoint, and stays; numbers of more digits come after those of fewer.
func TestStrayNames(t *testing.T) {
	f := checkpoint(t)
	for _, name := range []string{"notes", "00000060-old", "60", "0000000060", "00000061.bak"} {
		testkit.OK(t, os.Mkdir(f.Path(checkpointDir+"/"+name), 0o777))
	}
	testkit.OK(t, os.WriteFile(f.Path(checkpointDir+"/00000070"), nil, 0o666))
	var s state
	if _, err := f.Checkpoints().Load("", "abc", &s); err != nil || s.Epoch != 5 {
		t.Errorf("%v, %v", s, err)
	}
	arrays := []arrayfile.Named{{Name: "w", Array: arrayfile.Array{Shape: []int{1}, Float32: []float32{1}}}}
	for _, step := range []int{99_999_999, 100_000_000} {
		testkit.OK(t, f.Checkpoints().Save(step, arrays, state{step}, "abc"))
	}
	if names, _ := f.Checkpoints().Names(); strings.Join(names, " ") != "00000050 99999999 100000000" {
		t.Errorf("kept %v", names)
	}
	testkit.OK(t, f.Checkpoints().SetAside("99999999"))
	if names, _ := f.Checkpoints().Names(); strings.Join(names, " ") != "00000050 99999999" {
		t.Errorf("left %v", names)
	}
	if _, err := os.Stat(f.Path(checkpointDir + "/notes")); err != nil {
		t.Error("what was beside the checkpoints is gone")
	}
}

// A forged checkpoint, its hashes right, is damaged if its state or its numbers cannot be.
func TestForgedCheckpoint(t *testing.T) {
	f := checkpoint(t)
	nan := float32(math.NaN())
	arrays := []arrayfile.Named{{Name: "w", Array: arrayfile.Array{Shape: []int{2}, Float32: []float32{1, nan}}}}
	testkit.OK(t, f.Checkpoints().Save(60, arrays, state{6}, "abc"))
	damaged := func(want string) {
		t.Helper()
		var s state
		if _, err := f.Checkpoints().Load("", "abc", &s); fault.KindOf(err) != fault.Run ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	damaged(`weights.safetensors: is damaged: element 1 of "w" is not a finite number; the one before it is 00000050`)
	arrays[0].Array.Float32[1] = 2
	testkit.OK(t, f.Checkpoints().Save(61, arrays, state{-1}, "abc"))
	damaged("state.json: is damaged: epoch is -1; the one before it is 00000060")
}

// Nothing is written through a symbolic link out of the folder; one that stays in it is as good as a folder.
func TestLinksOut(t *testing.T) {
	arrays := []arrayfile.Named{{Name: "w", Array: arrayfile.Array{Shape: []int{1}, Float32: []float32{1}}}}
	for name, write := range map[string]func(*Folder) error{
		"figures":     func(f *Folder) error { return f.Write("figures/map.svg", nil) },
		checkpointDir: func(f *Folder) error { return f.Checkpoints().Save(1, arrays, state{1}, "abc") },
		lockName:      func(f *Folder) error { return f.Lock() },
		MetricsFile: func(f *Folder) error {
			_, err := f.AppendMetric("epoch", 1, 1)
			return err
		},
		StatusFile: func(f *Folder) error { return f.SetStatus(Status{}) },
	} {
		f := testkit.Must(Create(filepath.Join(t.TempDir(), "r"), false))
		out := t.TempDir()
		if err := os.Symlink(filepath.Join(out, "x"), f.Path(name)); err != nil {
			t.Skip(err)
		}
		for _, there := range []bool{false, true} { // where the link leads
			if there {
				testkit.OK(t, os.Mkdir(filepath.Join(out, "x"), 0o777))
			}
			if err := write(f); fault.KindOf(err) != fault.Run || !strings.Contains(err.Error(), name) ||
				!strings.Contains(err.Error(), "out of the run folder") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(out, "x", "*")); len(left) > 0 {
			t.Errorf("%s: written outside: %v", name, left)
		}
		testkit.OK(t, os.Remove(f.Path(name)))
		if name != "figures" {
			continue
		}
		testkit.OK(t, os.Mkdir(f.Path("drawn"), 0o777))
		testkit.OK(t, os.Symlink("drawn", f.Path(name)))
		if err := write(f); err != nil {
			t.Errorf("a link within the folder: %v", err)
		}
	}
}

// A flip of any bit of a checkpoint's files is noticed, unless it changes
// nothing that is read (white space of the JSON).
func TestFlippedBits(t *testing.T) {
	f := checkpoint(t)
	for _, name := range []string{weightsFile, stateFile} {
		path := f.Path(checkpointDir + "/00000050/" + name)
		data := testkit.Must(os.ReadFile(path))
		for i := range data {
			for _, bit := range []byte{1, 0x10, 0x80} {
				broken := append([]byte(nil), data...)
				broken[i] ^= bit
				testkit.OK(t, os.WriteFile(path, broken, 0o666))
				var s state
				arrays, err := f.Checkpoints().Load("", "abc", &s)
				switch {
				case err == nil && s.Epoch == 5 && arrays[0].Array.Float32[0] == 5 && name == stateFile:
				case fault.KindOf(err) != fault.Run:
					t.Fatalf("%s: a flip in byte %d passes: %v", name, i, err)
				case !strings.Contains(err.Error(), "00000050"):
					t.Fatalf("%s: the message does not name the checkpoint: %v", name, err)
				}
			}
		}
		testkit.OK(t, os.WriteFile(path, data[:len(data)/2], 0o666))
		testkit.Refused(t, testkit.Err(f.Checkpoints().Load("", "abc", &state{})), "--checkpoint 00000040", name)
		testkit.OK(t, os.WriteFile(path, data, 0o666))
	}
}

func TestMetrics(t *testing.T) {
	f := testkit.Must(Create(filepath.Join(t.TempDir(), "r"), false))
	for i := range 5 {
		testkit.Must(f.AppendMetric("epoch", i, map[string]int{"v": i}))
	}
	file := testkit.Must(os.OpenFile(f.Path(MetricsFile), os.O_APPEND|os.O_WRONLY, 0))
	if _, err := file.WriteString(`{"kind":"epo`); err != nil { // a crash while writing
		t.Fatal(err)
	}
	file.Close()
	// no records
	for _, line := range []string{"\n", strings.Repeat("a", 1<<25) + "\n", "\x00\xff\n", "[]\n", `{"kind":3}` + "\n"} {
		testkit.OK(t, os.WriteFile(f.Path(MetricsFile), append(intact(t, f), line...), 0o666))
	}
	testkit.OK(t, f.RewindMetrics(2, func(r Record) bool { return r.Epoch == 1 }))
	records, err := f.Metrics()
	if err != nil || len(records) != 2 || string(records[1].Data) != `{"v":2}` {
		t.Errorf("%v %v", records, err)
	}
}

// intact returns the bytes of metrics.jsonl.
func intact(t *testing.T, f *Folder) []byte {
	t.Helper()
	return testkit.Must(os.ReadFile(f.Path(MetricsFile)))
}

// A folder of scratch is one process's, and is empty, whatever a process left there that was killed.
func TestScratch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".x.parts")
	testkit.OK(t, os.MkdirAll(filepath.Join(dir, "left"), 0o777))
	held := testkit.Must(Scratch(dir))
	if _, err := os.Stat(held.Path("left")); err == nil {
		t.Error("what was left is there")
	}
	if _, err := Scratch(dir); err == nil {
		t.Error("two processes have the folder")
	}
	testkit.OK(t, held.Drop())
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder is there")
	}
	testkit.OK(t, testkit.Must(Scratch(dir)).Drop())
}
