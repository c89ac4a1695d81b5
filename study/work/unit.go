// Package work holds units of work: what to do, on which inputs by hash, and where the result goes. A unit
// is done once, by whichever process claims it, and its result appears whole or not at all.
//
//	for i, u := range units {
//		if !shard.Takes(i) {
//			continue
//		}
//		c, status, err := store.Claim(u, false, clear)
//		switch {
//		case errors.As(err, new(*work.BusyError)): // another process is at it
//		case err != nil:
//			return err
//		case c == nil: // done before, or failed: status says
//		default:
//			result, err := do(u) // resumes from the files that are there
//			…c.Finish(result), c.Fail(reason), or c.Release() if it was interrupted
//		}
//	}
//
// The package does not know what a unit does, and runs nothing: who gave a unit its Kind does. A process that is
// killed leaves no claim behind, since the lock goes with it: what was half done is claimed again, and goes on if
// it can.
package work

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/experiment/run"
)

// MaxShards bounds the parts of a list.
const MaxShards = 100_000

// A Shard is part I of N of a list, 1 ≤ I ≤ N. Of a list of units it is those whose number is I − 1 modulo N
// (Takes); of numbered rows it is a range (Range). The zero value is the whole list.
type Shard struct{ I, N int }

// ParseShard reads i/n; empty text is the whole list.
func ParseShard(s string) (Shard, error) {
	if s == "" {
		return Shard{}, nil
	}
	first, last, ok := strings.Cut(s, "/")
	i, n := digits(first), digits(last)
	if !ok || n < 1 || n > MaxShards || i < 1 || i > n {
		return Shard{}, fmt.Errorf("the part is %q; expected i/n with 1 ≤ i ≤ n ≤ %d, "+
			"such as 2/4 for the second of four", s, MaxShards)
	}
	return Shard{i, n}, nil
}

// digits returns the number that text of digits alone is; 0 for other text.
func digits(s string) int {
	if strings.Trim(s, "0123456789") != "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// Takes reports whether unit number i, from 0, is in the part. Every unit is in one of the parts 1/n … n/n.
func (s Shard) Takes(i int) bool { return s.N == 0 || i%s.N == s.I-1 }

// ByName returns Takes for things that go together by name: the names are numbered in the order in which they are
// asked for.
func (s Shard) ByName() func(name string) bool {
	numbers := map[string]int{}
	return func(name string) bool {
		n, ok := numbers[name]
		if !ok {
			n = len(numbers)
			numbers[name] = n
		}
		return s.Takes(n)
	}
}

// Range returns the part of n numbered rows, lo … hi−1, that the shard makes: the parts 1/n, 2/n, … follow each
// other, and their sizes differ by one at most. More parts than rows leave some empty.
func (s Shard) Range(n uint64) (lo, hi uint64) {
	if s.N == 0 {
		return 0, n
	}
	cut := func(i int) uint64 { // ⌊i n/N⌋
		high, low := bits.Mul64(uint64(i), n)
		q, _ := bits.Div64(high, low, uint64(s.N)) // i ≤ N: the quotient fits
		return q
	}
	return cut(s.I - 1), cut(s.I)
}

func (s Shard) String() string {
	if s.N == 0 {
		return "1/1"
	}
	return fmt.Sprintf("%d/%d", s.I, s.N)
}

// Variables that schedulers set, and CountVariable, which is ours.
const (
	// CountVariable is the number of parts where the scheduler does not tell it, as Kubernetes does not, or where only
	// some parts are made (again).
	CountVariable = "LANDING_SHARDS"

	slurmID    = "SLURM_ARRAY_TASK_ID"
	slurmCount = "SLURM_ARRAY_TASK_COUNT"
	slurmMin   = "SLURM_ARRAY_TASK_MIN"
	slurmStep  = "SLURM_ARRAY_TASK_STEP"
	kubeIndex  = "JOB_COMPLETION_INDEX" // from 0; no variable has the number of completions
)

// ShardOf is ParseShard, but that "auto" takes the part from the environment (os.Getenv): of an array of Slurm, its
// elements in order, or an Indexed Job of Kubernetes. Where LANDING_SHARDS says how many parts there are, the part is
// the number of the element.
func ShardOf(s string, env func(string) string) (Shard, error) {
	if s != "auto" {
		return ParseShard(s)
	}
	number := func(name string) int { // far below 0 where it is none
		n, err := strconv.Atoi(env(name))
		if err != nil || n < 0 {
			return math.MinInt32
		}
		return n
	}
	var i, n int // from 0
	var used []string
	want := "the index of an Indexed Job, and its number of completions (1 to %d) in " + CountVariable
	slurm := env(slurmID) != ""
	switch {
	case slurm && env(CountVariable) != "":
		used = []string{slurmID, CountVariable}
		i, n = number(slurmID)-1, number(CountVariable)
	case slurm:
		used = []string{slurmID, slurmMin, slurmCount, slurmStep}
		from, step := number(slurmID)-number(slurmMin), max(1, number(slurmStep))
		if i, n = from/step, number(slurmCount); from < 0 || from%step != 0 {
			i = -1
		}
	case env(kubeIndex) != "":
		used = []string{kubeIndex, CountVariable}
		i, n = number(kubeIndex), number(CountVariable)
	default:
		return Shard{}, fmt.Errorf("auto: neither %s (an array of Slurm) nor %s (an Indexed Job of Kubernetes) is "+
			"set; expected one of them, or i/n instead of auto", slurmID, kubeIndex)
	}
	if i >= 0 && i < n && n <= MaxShards {
		return Shard{i + 1, n}, nil
	}
	if slurm {
		want = "an array without holes, as in --array=1-8, of at most %d; for some parts of 8: " + CountVariable +
			"=8 and --array=3,5"
	}
	var given []string
	for _, name := range used {
		given = append(given, fmt.Sprintf("%s is %q", name, env(name)))
	}
	return Shard{}, fmt.Errorf("auto: %s; expected "+want, strings.Join(given, ", "), MaxShards)
}

// A Unit is a piece of work that does not depend on the others of its list.
type Unit struct {
	Name    string            `json:"name"`             // unique in its list; names the unit's folder
	Kind    string            `json:"kind"`             // who knows how to do it
	Task    json.RawMessage   `json:"task"`             // what to do, without paths: it is the same on any machine
	Inputs  map[string]string `json:"inputs,omitempty"` // SHA-256 of the files it reads, by what they are
	Version string            `json:"version"`          // of the program: another may give other bytes
}

// Content returns the SHA-256 of what is done on what: of all but name and version. It panics unless the task is JSON,
// which Check says of a unit that comes from elsewhere.
func (u *Unit) Content() string {
	var task bytes.Buffer
	if json.Compact(&task, u.Task) != nil {
		panic(fmt.Sprintf("work: the task of %s is not JSON", u.Name))
	}
	return u.hash(task.Bytes(), "")
}

// Key returns the SHA-256 that identifies the unit's result: of what is done on what by which version.
func (u *Unit) Key() string { return u.hash([]byte(u.Content()), u.Version) }

func (u *Unit) hash(task []byte, version string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%q %q %q", u.Kind, version, task)
	for _, name := range slices.Sorted(maps.Keys(u.Inputs)) {
		fmt.Fprintf(&b, " %q %q", name, u.Inputs[name])
	}
	return run.Hash(b.Bytes())
}

// Differs says in words what of the content of two units is not the same; empty if all is.
func (u *Unit) Differs(v *Unit) string {
	if u.Content() == v.Content() {
		return ""
	}
	var what []string
	names := maps.Clone(u.Inputs)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, v.Inputs)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if u.Inputs[name] != v.Inputs[name] {
			what = append(what, "other bytes of "+name)
		}
	}
	if told := differ(u.Task, v.Task); told != "" {
		what = append(what, "another task ("+told+")")
	}
	if u.Kind != v.Kind {
		what = append(what, "another kind of task")
	}
	if len(what) == 0 { // such as the same values in another order
		what = append(what, "another task")
	}
	return strings.Join(what, ", ")
}

// Limits of the values that a message about different tasks has, and of the bytes of each.
const (
	mostTold    = 3
	longestTold = 40
)

// differ tells values of a task that are not those of another one, by their keys; empty if all are.
func differ(task, was json.RawMessage) string {
	now, before := map[string]string{}, map[string]string{}
	values("", task, now)
	values("", was, before)
	all := maps.Clone(now)
	maps.Copy(all, before)
	var told []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		a, b := cmp.Or(now[key], "not set"), cmp.Or(before[key], "not set")
		switch {
		case a == b:
		case len(told) == mostTold:
			return strings.Join(told, "; ") + "; …"
		case max(len(a), len(b)) > longestTold:
			told = append(told, "another "+key)
		default:
			told = append(told, fmt.Sprintf("%s is %s, was %s", key, a, b))
		}
	}
	return strings.Join(told, "; ")
}

// values gathers the values of a task by their keys, as in of.seed; what is no object is one value, called "it".
func values(key string, task json.RawMessage, to map[string]string) {
	var object map[string]json.RawMessage
	if json.Unmarshal(task, &object) != nil || len(object) == 0 {
		var text bytes.Buffer
		json.Compact(&text, task)
		to[cmp.Or(key, "it")] = text.String()
		return
	}
	for name, value := range object {
		values(strings.TrimPrefix(key+"."+name, "."), value, to)
	}
}

// A ListError says why units are no list.
type ListError struct{ Problem string }

func (e *ListError) Error() string { return e.Problem }

// maxName bounds a unit's name in bytes: it is that of a folder.
const maxName = 200

// Check returns a *ListError unless all names can be those of folders and no two units share a name, in upper or
// lower case, or a content.
func Check(units []*Unit) error {
	names, contents := map[string]string{}, map[string]string{}
	for _, u := range units {
		if err := u.Check(); err != nil {
			return err
		}
		low := strings.ToLower(u.Name)
		if other, ok := names[low]; ok {
			return &ListError{fmt.Sprintf("two units are called %s and %s; expected names that differ in more than "+
				"upper and lower case", other, u.Name)}
		}
		names[low] = u.Name
		content := u.Content()
		if other, ok := contents[content]; ok {
			return &ListError{fmt.Sprintf("%s and %s are the same work twice", other, u.Name)}
		}
		contents[content] = u.Name
	}
	return nil
}

// Check returns a *ListError unless the unit has a name that can be a folder's and a task that is JSON: a unit that
// comes from elsewhere may have neither, and Content panics without a task.
func (u *Unit) Check() error {
	if err := checkName(u.Name); err != nil {
		return err
	}
	if !json.Valid(u.Task) {
		return &ListError{"the task of unit " + u.Name + " is not JSON"}
	}
	return nil
}

// checkName returns a *ListError unless the name can be that of a folder.
func checkName(name string) error {
	bad := func(r rune) bool {
		return r == '/' || r == '\\' || unicode.IsControl(r) || r == unicode.ReplacementChar
	}
	if name == "" || len(name) > maxName || name[0] == '.' || strings.ContainsFunc(name, bad) {
		return &ListError{fmt.Sprintf("a unit is called %q; expected a name for a folder, of at most %d bytes", name,
			maxName)}
	}
	return nil
}
