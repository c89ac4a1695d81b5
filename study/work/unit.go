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
	"slices"
	"strings"
	"unicode"

	"github.com/landing-diffusion/landing/experiment/run"
)

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
