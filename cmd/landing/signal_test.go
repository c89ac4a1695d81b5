package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// slowCommands are commands that would go on for minutes, and what each may leave when it is ended: folders that it
// works in. They run in a folder with what slowProblems writes.
var slowCommands = []struct {
	args []string
	may  string
}{
	{[]string{"check", "dense.yaml"}, ""},
	{[]string{"check", "so16.yaml"}, ""},
	{[]string{"refine", "dense.yaml", "--within", "1e9", "-o", "near.csv"}, ""},
	{[]string{"mcmc", "so16.yaml", "-o", "draws.npy"}, ""},
	{[]string{"train", "demo", "--variant=fixed", "--out", "learned"}, "learned"},
	{[]string{"train", "so16.yaml", "--out", "rotated"}, "rotated"},
	{[]string{"generate", "run", "-n", "100000000", "-o", "samples.npy"}, ""},
	{[]string{"report", "run", "-n", "10000000"}, "run"},
	{[]string{"distill", "run", "--out", "student"}, "student"},
	{[]string{"make", "so", "--size", "20", "-n", "200000", "-o", "rotations.npy"}, ""},
	{[]string{"make", "arm", "--set", "set.waypoints=60", "-n", "1000", "-o", "paths.npy"}, ""},
	{[]string{"make", "alanine", "-n", "1000000", "-o", "alanine.npy"}, ""},
	{[]string{"make", "level-set", "octahedron.obj", "-o", "fitted.npz"}, ""},
	{[]string{"init", "rows.csv", "-o", "rows.yaml"}, ""},
	{[]string{"sweep", "rivals-demo", "--out", "grid"}, "grid"},
	{[]string{"paper", "demo", "--out", "printed"}, "printed"},
}

// slowProblems writes dense.yaml, whose constraints all touch all 200 coordinates, so16.yaml, a mesh, and a run.
func slowProblems(t *testing.T, dir string) {
	t.Helper()
	const d, m = 200, 80
	r := rand.New(rand.NewPCG(1, 2))
	list := func(n int) string {
		v := make([]string, n)
		for i := range v {
			v[i] = fmt.Sprintf("%.3f", r.NormFloat64())
		}
		return strings.Join(v, ",")
	}
	rows, a := make([]string, 1+2000), make([]string, m)
	for j := range d {
		rows[0] += fmt.Sprintf(",x%d", j)
	}
	rows[0] = rows[0][1:]
	for i := range rows[1:] {
		rows[1+i] = list(d)
	}
	for i := range a {
		a[i] = "[" + list(d) + "]"
	}
	for name, text := range map[string]string{
		"rows.csv": strings.Join(rows, "\n") + "\n",
		"dense.yaml": fmt.Sprintf("name: dense\nset: {kind: affine, a: [%s], b: [%s]}\nprocess: {method: ULLA-P}\n"+
			"data: {path: rows.csv}\n", strings.Join(a, ","), strings.Repeat("0,", m-1)+"0"),
		"so16.yaml": "name: so16\nset: {kind: special_orthogonal, n: 16}\nprior: auto\ndata: {path: so16.npy}\n" +
			"sample: {draws: 100000}\n",
		"octahedron.obj": "v 1 0 0\nv -1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\nf 1 3 5\nf 3 2 5\nf 2 4 5\n" +
			"f 4 1 5\nf 3 1 6\nf 2 3 6\nf 4 2 6\nf 1 4 6\n",
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, args := range [][]string{{"make", "so", "--size", "16", "-n", "500", "-o", "so16.npy"},
		{"train", "demo", "--variant=fixed", "--out", "run", "--set", "train.epochs=2", "--set", "network.width=16"}} {
		if got := do(t, dir, args...); got.code != 0 {
			t.Fatalf("%v: exit %d\n%s", args, got.code, got.stderr)
		}
	}
}

// A command that is sent SIGTERM at a random moment ends within two seconds of processor time, with exit code 130, and
// leaves no file but in the folders that it works in, and there none that is half written. Moments are counted in
// processor time too, so that a busy machine changes nothing. LANDING_SIGNAL_SEED repeats the moments of a failure.
func TestCommandsEndSoon(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("starts processes, and reads their processor time from /proc")
	}
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("LANDING_SIGNAL_SEED"); v != "" {
		seed, _ = strconv.ParseUint(v, 10, 64)
	}
	t.Logf("LANDING_SIGNAL_SEED=%d", seed)
	moments := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	scratch := t.TempDir()
	slowProblems(t, dir)
	for _, c := range slowCommands {
		before := append(filesBelow(t, dir), filesBelow(t, scratch)...)
		after := time.Duration((0.1 + 0.7*moments.Float64()) * float64(time.Second))
		cmd := self(t, dir, append(c.args, "--workers", "1")...)
		cmd.Env = append(cmd.Env, "TMPDIR="+scratch)
		child := startProcess(t, cmd)
		for spent(child.Process.Pid) < after && !child.Ended(5*time.Millisecond) {
		}
		at := spent(child.Process.Pid)
		if err := child.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("%v ended by itself: %v\n%s", c.args, child.Wait(), child.Said.String())
			continue
		}
		_ = child.Wait()
		took := child.ProcessState.UserTime() + child.ProcessState.SystemTime() - at
		if code := child.ProcessState.ExitCode(); code != exitInterrupted || took > 2*time.Second {
			t.Errorf("%v, sent SIGTERM after %v: exit %d after %v more of processor time\n%s", c.args, at, code, took,
				child.Said.String())
		}
		for _, name := range append(filesBelow(t, dir), filesBelow(t, scratch)...) {
			inside := c.may != "" && strings.HasPrefix(name, c.may+"/")
			if !slices.Contains(before, name) && (!inside || strings.Contains(name, ".tmp-")) {
				t.Errorf("%v, sent SIGTERM after %v, left %s", c.args, at, name)
			}
		}
	}
}

// filesBelow returns the paths of all files below dir, relative to it.
func filesBelow(t *testing.T, dir string) (all []string) {
	t.Helper()
	testkit.OK(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all = append(all, path)
		}
		return err
	}))
	return all
}

// spent returns the processor time of a process, which the kernel counts in hundredths of a second; 0 once the process
// has ended.
func spent(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
