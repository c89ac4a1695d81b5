package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func unit(name, task string) *Unit {
	return &Unit{Name: name, Kind: "test", Task: json.RawMessage(task), Inputs: map[string]string{"data": "00"},
		Version: "1"}
}

func nothing() error { return nil }

// A unit is identified by what it does on what: white space, name and the order of inputs do not count, each of the
// others does.
func TestIdentity(t *testing.T) {
	u := unit("a", `{"x": 1}`)
	same := unit("b", `{ "x":1 }`)
	if u.Content() != same.Content() || u.Key() != same.Key() || u.Differs(same) != "" {
		t.Error("name and white space count")
	}
	seen := map[string]string{u.Content(): "itself"}
	for what, change := range map[string]func(v *Unit){
		"kind": func(v *Unit) { v.Kind = "other" }, "task": func(v *Unit) { v.Task = json.RawMessage(`{"x":2}`) },
		"bytes": func(v *Unit) { v.Inputs = map[string]string{"data": "01"} },
		"input": func(v *Unit) { v.Inputs = map[string]string{"date": "00"} },
		"more":  func(v *Unit) { v.Inputs = map[string]string{"data": "00", "set": "00"} },
		"none":  func(v *Unit) { v.Inputs = nil },
		// as text all of it could be read as another unit
		"quote": func(v *Unit) { v.Kind, v.Inputs = `test" "1`, map[string]string{`data" "00`: ""} },
	} {
		v := unit("a", `{"x": 1}`)
		change(v)
		if other, ok := seen[v.Content()]; ok {
			t.Errorf("another %s has the content of %s", what, other)
		}
		seen[v.Content()] = what
		want := map[string]string{"kind": "another kind of task", "task": "another task (x is 2, was 1)",
			"bytes": "other bytes of data", "more": "other bytes of set",
			"input": "other bytes of data, other bytes of date", "none": "other bytes of data"}[what]
		if got := v.Differs(u); got == "" || want != "" && got != want {
			t.Errorf("another %s: %q, want %q", what, got, want)
		}
	}
	long := unit("a", fmt.Sprintf(`{"of": {"a": 1, "seed": [8], "text": %q}, "b": 0, "c": 0}`, strings.Repeat("x", 50)))
	was := unit("a", `{"of":{"seed":[ 9 ],"text":"y"},"b": 0}`)
	if got := long.Differs(was); got != "another task (c is 0, was not set; of.a is 1, was not set; of.seed is [8], "+
		"was [9]; …)" {
		t.Errorf("got %q", got)
	}
	other := unit("a", "{\n \"x\": 1}")
	other.Inputs = nil
	if got := u.Differs(other); got != "other bytes of data" { // white space is no other task
		t.Errorf("got %q", got)
	}
	v := unit("a", `{"x": 1}`)
	if v.Version = "2"; v.Content() != u.Content() || v.Key() == u.Key() {
		t.Error("a version is a part of the key and not of the content")
	}
}

// Names that cannot be folders, names and contents that are there twice are refused.
func TestCheck(t *testing.T) {
	for want, units := range map[string][]*Unit{
		"":                        {unit("a", "1"), unit("b", "2"), unit("α β", "3")},
		"upper and lower":         {unit("a", "1"), unit("A", "2")},
		"the same work":           {unit("a", "1"), unit("b", "1")},
		`called ""`:               {unit("", "1")},
		`called "../up"`:          {unit("../up", "1")},
		`called ".hidden"`:        {unit(".hidden", "1")},
		`called "a\\b"`:           {unit(`a\b`, "1")},
		`called "a\nb"`:           {unit("a\nb", "1")},
		"expected a name for a f": {unit(strings.Repeat("x", 201), "1")},
		"the task of unit a is":   {unit("a", "")},
		"of unit b is not JSON":   {unit("b", "{")},
	} {
		err := Check(units)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// Every unit is in exactly one of n parts, whose sizes differ by one at most.
func TestShards(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for units := range 20 {
			least, most := units, 0
			owners := make([]int, units)
			for i := 1; i <= n; i++ {
				s := testkit.Must(ParseShard(fmt.Sprintf("%d/%d", i, n)))
				size := 0
				for k := range owners {
					if s.Takes(k) {
						owners[k]++
						size++
					}
				}
				least, most = min(least, size), max(most, size)
			}
			for k, o := range owners {
				testkit.Equal(t, o, 1, "of %d units in %d parts, %d", units, n, k)
			}
			if most-least > 1 {
				t.Errorf("%d units in %d parts of %d to %d", units, n, least, most)
			}
		}
	}
	for _, bad := range []string{"0/3", "4/3", "0/0", "1/0", "1/100001", "100001/100001", "-1/2", "+1/2", "1", "1/",
		"/1", "1/2/3", "a/b", " 1/2", "1/99999999999999999999", "99999999999999999999/1"} {
		if s, err := ParseShard(bad); err == nil || !strings.Contains(err.Error(), strconv.Quote(bad)) {
			t.Errorf("%q: %v, %v", bad, s, err)
		}
	}
	if last, err := ParseShard("100000/100000"); err != nil || !last.Takes(99_999) || last.String() != "100000/100000" {
		t.Errorf("the last of many: %v, %v", last, err)
	}
	if whole, err := ParseShard(""); err != nil || !whole.Takes(0) || !whole.Takes(17) {
		t.Errorf("the whole: %v, %v", whole, err)
	}
}

// A unit goes from waiting to done by one claim at a time. A unit that was begun is resumed. A failed unit is claimed
// again only on request, and then begins anew.
func TestClaims(t *testing.T) {
	s := &Store{filepath.Join(t.TempDir(), "units")}
	u := unit("a", `{"x":1}`)
	state := func(want State) Status {
		t.Helper()
		st, err := s.Status(u)
		if err != nil || st.State != want {
			t.Fatalf("%+v, %v; want %s", st, err, want)
		}
		return st
	}
	state(Waiting)
	cleared := 0
	clear := func() error { cleared++; return nil }
	c, _, err := s.Claim(u, false, clear)
	if err != nil || c == nil || c.Resumes || cleared != 1 {
		t.Fatalf("%+v, %v, cleared %d times", c, err, cleared)
	}
	if st := state(Begun); st.By == nil || st.By.PID != os.Getpid() {
		t.Errorf("by %+v", st.By)
	}
	other := &Store{s.Dir}
	var busy *BusyError
	if c, st, err := other.Claim(u, false, clear); c != nil || st.State != Running || !errors.As(err, &busy) ||
		!strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("two claims at once: %v, %+v, %v", c, st, err)
	}
	c.Release()
	half := filepath.Join(s.Dir, "a", ".rows.npy.tmp-1") // of a process that was killed
	testkit.OK(t, os.WriteFile(half, []byte("half"), 0o666))
	c, _, err = s.Claim(u, false, clear)
	if err != nil || !c.Resumes || cleared != 1 {
		t.Fatalf("gone on with: %+v, %v, cleared %d times", c, err, cleared)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("what was half written stays")
	}
	testkit.OK(t, c.Fail("it broke"))
	if st := state(Failed); st.Reason != "it broke" {
		t.Errorf("%+v", st)
	}
	if c, st, err := s.Claim(u, false, clear); c != nil || st.State != Failed || err != nil {
		t.Errorf("what failed is claimed: %v, %+v, %v", c, st, err)
	}
	if _, _, err := s.Claim(u, true, func() error { return errors.New("no") }); err == nil || err.Error() != "no" {
		t.Errorf("got %v", err)
	}
	state(Failed) // as before: a process may be killed while it clears
	c, _, err = s.Claim(u, true, clear)
	if err != nil || c.Resumes || cleared != 2 {
		t.Fatalf("again: %+v, %v, cleared %d times", c, err, cleared)
	}
	state(Begun)
	testkit.OK(t, c.Finish(map[string]int{"y": 7}))
	if st := state(Done); string(st.Result) == "" || !strings.Contains(string(st.Result), "7") {
		t.Errorf("%+v", st)
	}
	if c, st, err := s.Claim(u, true, clear); c != nil || st.State != Done || err != nil {
		t.Errorf("what is done is claimed: %v, %+v, %v", c, st, err)
	}
	if names, err := s.Names(); err != nil || len(names) != 1 || names[0] != "a" {
		t.Errorf("%v, %v", names, err)
	}
	if got, err := s.Unit("a"); err != nil || got.Key() != u.Key() {
		t.Errorf("%+v, %v", got, err)
	}

	u.Version = "2" // the result of another version stays, and the status names the version
	if st := state(Done); st.Version != "1" {
		t.Errorf("%+v", st)
	}
	u.Task = json.RawMessage(`{"x":2}`)
	testkit.Refused(t, testkit.Err(s.Status(u)), "now with another task")
	_, _, err = s.Claim(u, true, nothing)
	testkit.Refused(t, err, "now with another task")
	testkit.Equal(t, fault.KindOf(err), fault.Config)
}

// What another version has begun is not gone on with.
func TestAnotherVersion(t *testing.T) {
	s := &Store{t.TempDir()}
	u := unit("a", "1")
	c, _, err := s.Claim(u, false, nothing)
	testkit.OK(t, err)
	c.Release()
	u.Version = "2"
	if st, err := s.Status(u); err != nil || st.State != Begun || st.Version != "1" {
		t.Errorf("%+v, %v", st, err)
	}
	cleared := false
	c, _, err = s.Claim(u, false, func() error { cleared = true; return nil })
	if err != nil || c.Resumes || !cleared {
		t.Fatalf("%+v, %v, %v", c, err, cleared)
	}
	c.Release()
	if c, _, err = s.Claim(u, false, nothing); err != nil || !c.Resumes {
		t.Errorf("%+v, %v", c, err)
	}
}

// Files that are damaged are named, and nothing is made of them.
func TestDamage(t *testing.T) {
	s := &Store{t.TempDir()}
	u := unit("a", "1")
	c, _, err := s.Claim(u, false, nothing)
	testkit.OK(t, err)
	testkit.OK(t, c.Finish([]int{1234}))
	path := filepath.Join(s.Dir, "a", resultFile)
	whole := testkit.Must(os.ReadFile(path))
	for _, damage := range []string{strings.Replace(string(whole), "1234", "1235", 1), string(whole[:len(whole)/2]), "",
		strings.Replace(string(whole), `"result_sha256"`, `"result_shaX56"`, 1)} {
		testkit.OK(t, os.WriteFile(path, []byte(damage), 0o666))
		if st, err := s.Status(u); err == nil || !strings.Contains(err.Error(), resultFile) {
			t.Errorf("%q: %+v, %v", damage, st, err)
		}
		if c, _, err := s.Claim(u, true, nothing); c != nil || err == nil {
			t.Errorf("%q: claimed, %v", damage, err)
		}
	}
	testkit.OK(t, os.WriteFile(filepath.Join(s.Dir, "a", unitFile), []byte(`{"name":"b","task":1}`), 0o666))
	testkit.Refused(t, testkit.Err(s.Unit("a")), "is damaged: is not that of a")
}

// Parts of numbered rows follow each other, hold each row once, and differ in size by one at most, at counts whose
// products are beyond 64 bits too.
func TestRanges(t *testing.T) {
	for _, n := range []uint64{0, 1, 2, 7, 100, 1 << 40, math.MaxUint64 - 1} {
		for _, parts := range []int{1, 2, 3, 7, 97, 101, MaxShards} {
			at, least, most := uint64(0), n/uint64(parts), n/uint64(parts)+1
			for i := 1; i <= parts; i++ {
				lo, hi := Shard{i, parts}.Range(n)
				if lo != at || hi < lo || hi-lo < least || hi-lo > most {
					t.Fatalf("part %d of %d of %d rows is %d to %d, behind %d", i, parts, n, lo, hi, at)
				}
				at = hi
			}
			if at != n {
				t.Fatalf("%d parts of %d rows end at %d", parts, n, at)
			}
		}
	}
	if lo, hi := (Shard{}).Range(9); lo != 0 || hi != 9 {
		t.Errorf("the whole is %d to %d", lo, hi)
	}
}

// The part comes from the variables of an array of Slurm or an Indexed Job. The error of an incomplete environment
// names the variables.
func TestAuto(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"", "neither SLURM_ARRAY_TASK_ID (an array of Slurm) nor JOB_COMPLETION_INDEX"},
		{"LANDING_SHARDS=3", "neither SLURM_ARRAY_TASK_ID"},
		{"SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=8 " +
			"SLURM_ARRAY_TASK_STEP=1", "1/8"},
		{"SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=0", "8/8"},
		{"SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_STEP=3", "3/4"},
		{"SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_STEP=3",
			"without holes"},
		{"SLURM_ARRAY_TASK_ID=31 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1", "without holes"},
		{"SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1", "without holes"},
		{"SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=0 SLURM_ARRAY_TASK_MIN=1", "without holes"},
		{"SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=1000000000 SLURM_ARRAY_TASK_MIN=1", "at most 100000"},
		{"SLURM_ARRAY_TASK_ID=1", `SLURM_ARRAY_TASK_COUNT is ""`},
		{"SLURM_ARRAY_TASK_ID=x SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1", `SLURM_ARRAY_TASK_ID is "x"`},
		{"SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=3 LANDING_SHARDS=8", "5/8"},
		{"SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=0 LANDING_SHARDS=8", "--array=1-8"},
		{"SLURM_ARRAY_TASK_ID=9 LANDING_SHARDS=8", "--array=1-8"},
		{"SLURM_ARRAY_TASK_ID=1 LANDING_SHARDS=0", `LANDING_SHARDS is "0"`},
		{"JOB_COMPLETION_INDEX=0 LANDING_SHARDS=4", "1/4"},
		{"JOB_COMPLETION_INDEX=3 LANDING_SHARDS=4", "4/4"},
		{"JOB_COMPLETION_INDEX=4 LANDING_SHARDS=4", `JOB_COMPLETION_INDEX is "4", LANDING_SHARDS is "4"`},
		{"JOB_COMPLETION_INDEX=0", `LANDING_SHARDS is ""`},
		{"JOB_COMPLETION_INDEX=0 LANDING_SHARDS=1000000000", "1 to 100000"},
		{"JOB_COMPLETION_INDEX=-1 LANDING_SHARDS=4", `JOB_COMPLETION_INDEX is "-1"`},
	} {
		env := func(name string) string {
			for pair := range strings.FieldsSeq(c.set) {
				if key, value, _ := strings.Cut(pair, "="); key == name {
					return value
				}
			}
			return ""
		}
		s, err := ShardOf("auto", env)
		if strings.Contains(c.want, "/") && !strings.Contains(c.want, " ") {
			if err != nil || s.String() != c.want {
				t.Errorf("%s: %v, %v; want %s", c.set, s, err, c.want)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want an error of %q", c.set, s, err, c.want)
		}
		if s, err := ShardOf("2/3", env); err != nil || s.String() != "2/3" {
			t.Errorf("2/3 beside it: %v, %v", s, err)
		}
	}
}
