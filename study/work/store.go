package work

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
)

// A State says how far a unit is.
type State string

// States.
const (
	Waiting State = "waiting" // nobody has begun it
	Begun   State = "begun"   // somebody has: it is running, or was interrupted
	Running State = "running" // a process holds it
	Done    State = "done"
	Failed  State = "failed"
)

// A Status is what a store knows of a unit.
type Status struct {
	State   State           `json:"state"`
	Reason  string          `json:"reason,omitempty"`  // of Failed
	Version string          `json:"version,omitempty"` // of the program that got so far, where it is another one
	By      *Holder         `json:"by,omitempty"`      // of Begun and Running: who claimed it last
	Result  json.RawMessage `json:"-"`                 // of Done
}

// A Holder is who claimed a unit.
type Holder struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// A Store keeps units in a folder, each in one of its own name: what it is, who claimed it, and its result or why
// it failed. Processes of one machine, and of several where the file system locks across them, may share it.
type Store struct{ Dir string }

// Files of a unit.
const (
	unitFile   = "unit.json"
	holderFile = "claim.json"
	resultFile = "result.json"
	failedFile = "failed.json"
)

// A BusyError says that another process holds a unit.
type BusyError struct {
	Name string
	By   *Holder // nil: not known
}

func (e *BusyError) Error() string {
	if e.By == nil {
		return e.Name + ": another process is at it"
	}
	return fmt.Sprintf("%s: process %d on %s is at it since %s", e.Name, e.By.PID, e.By.Host,
		e.By.Since.Format(time.RFC3339))
}

func (*BusyError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// ended is result.json and failed.json.
type ended struct {
	Content string          `json:"content_sha256"` // Unit.Content
	Version string          `json:"version"`
	Reason  string          `json:"reason,omitempty"`
	Check   string          `json:"result_sha256,omitempty"` // of Result without white space
	Result  json.RawMessage `json:"result,omitempty"`
}

func (s *Store) folder(name string) *run.Folder { return &run.Folder{Dir: filepath.Join(s.Dir, name)} }

// Names returns the names of the units that were ever claimed, in order.
func (s *Store) Names() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(s.Dir, e.Name(), unitFile)); err == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Unit returns a unit that was claimed.
func (s *Store) Unit(name string) (*Unit, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	var u Unit
	f := s.folder(name)
	if err := f.ReadJSON(unitFile, &u); err != nil {
		return nil, err
	}
	if u.Name != name || u.Check() != nil {
		return nil, Damaged(f.Path(unitFile), "is not that of %s", name)
	}
	return &u, nil
}

// Damaged says that a file of a store is not what was written.
func Damaged(path, format string, v ...any) error {
	return fault.Errorf(fault.Config, path, "is damaged: %s", fmt.Sprintf(format, v...))
}

// conflict says that the store has a unit of the name with other content.
func (s *Store) conflict(name, what string) error {
	return fault.Errorf(fault.Config, s.Dir, "holds %s as it was before: now with %s; expected the same, or another "+
		"folder", name, what)
}

// Status returns what is known of a unit, without asking who is at work: Begun, not Running. Errors are
// those of units with other content, of Damaged and of files.
func (s *Store) Status(u *Unit) (Status, error) {
	if err := checkName(u.Name); err != nil {
		return Status{}, err
	}
	f := s.folder(u.Name)
	for _, end := range []State{Done, Failed} {
		st, err := s.ended(f, u, end)
		if err != nil || st.State == end {
			return st, err
		}
	}
	was, err := s.Unit(u.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return Status{State: Waiting}, nil
	}
	if err != nil {
		return Status{}, err
	}
	st := Status{State: Begun, By: holder(f)}
	if what := u.Differs(was); what != "" {
		return st, s.conflict(u.Name, what)
	}
	if was.Version != u.Version {
		st.Version = was.Version
	}
	return st, nil
}

// ended returns the status of a unit that ended in the given state; another if it did not.
func (s *Store) ended(f *run.Folder, u *Unit, end State) (Status, error) {
	name := map[State]string{Done: resultFile, Failed: failedFile}[end]
	var e ended
	if err := f.ReadJSON(name, &e); errors.Is(err, fs.ErrNotExist) {
		return Status{}, nil
	} else if err != nil {
		return Status{}, err
	}
	if e.Content != u.Content() {
		what := "another task, or other bytes of what it reads"
		if was, err := s.Unit(u.Name); err == nil {
			what = cmp.Or(u.Differs(was), what)
		}
		return Status{}, s.conflict(u.Name, what)
	}
	st := Status{State: end, Reason: e.Reason, Result: e.Result}
	if e.Version != u.Version {
		st.Version = e.Version
	}
	if end == Done && checksum(e.Result) != e.Check {
		return Status{}, Damaged(f.Path(name), "its result does not have the SHA-256 that it names")
	}
	return st, nil
}

// checksum returns the SHA-256 of JSON without white space.
func checksum(result json.RawMessage) string {
	b, err := json.Marshal(result) // which compacts
	if err != nil {
		return ""
	}
	return run.Hash(b)
}

func holder(f *run.Folder) *Holder {
	var h Holder
	if f.ReadJSON(holderFile, &h) != nil {
		return nil
	}
	return &h
}

// A Claim is the right to do a unit, until it ends or the process does.
type Claim struct {
	Unit    *Unit
	Resumes bool // it was begun before, by the same version: what is there is to be gone on with
	folder  *run.Folder
}

// Claim takes a unit up. There is no claim on one that is done, nor on one that failed unless retry is set: its
// status then says how it ended. A unit that is not gone on with begins with clear, which puts aside what is there
// of an earlier try: one that failed, or was made by another version. Errors are *BusyError, that of clear, and
// those of Status.
func (s *Store) Claim(u *Unit, retry bool, clear func() error) (*Claim, Status, error) {
	if err := checkName(u.Name); err != nil {
		return nil, Status{}, err
	}
	f := s.folder(u.Name)
	if err := os.MkdirAll(f.Dir, 0o777); err != nil {
		return nil, Status{}, err
	}
	err := f.Lock()
	if fault.KindOf(err) == fault.Run {
		by := holder(f)
		return nil, Status{State: Running, By: by}, &BusyError{u.Name, by}
	}
	if err != nil {
		return nil, Status{}, err
	}
	c, st, err := s.claim(f, u, retry, clear)
	if c == nil {
		f.Unlock()
	}
	return c, st, err
}

// claim is Claim under the lock.
func (s *Store) claim(f *run.Folder, u *Unit, retry bool, clear func() error) (*Claim, Status, error) {
	st, err := s.Status(u)
	if err != nil || st.State == Done || st.State == Failed && !retry {
		return nil, st, err
	}
	if err := f.Tidy(); err != nil {
		return nil, st, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	c := &Claim{u, st.State == Begun && st.Version == "", f}
	if !c.Resumes { // before it counts as begun, for a process may be killed here
		if err := clear(); err != nil {
			return nil, st, err
		}
	}
	f.Force = true
	if err := f.WriteJSON(unitFile, u); err != nil {
		return nil, st, err
	}
	if err := f.WriteJSON(holderFile, Holder{host, os.Getpid(), time.Now().UTC().Round(time.Second)}); err != nil {
		return nil, st, err
	}
	if st.State == Failed {
		if err := os.Remove(f.Path(failedFile)); err != nil {
			return nil, st, err
		}
	}
	f.Force = false
	return c, st, nil
}

// Finish records the result, which JSON can hold, and ends the claim.
func (c *Claim) Finish(result any) error {
	raw, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return c.end(resultFile, ended{Content: c.Unit.Content(), Version: c.Unit.Version, Check: run.Hash(raw),
		Result: raw})
}

// Fail records why there will be no result, and ends the claim.
func (c *Claim) Fail(reason string) error {
	return c.end(failedFile, ended{Content: c.Unit.Content(), Version: c.Unit.Version, Reason: reason})
}

func (c *Claim) end(name string, e ended) error {
	defer c.Release()
	return c.folder.WriteJSON(name, e)
}

// Release ends the claim and leaves the unit as one that was interrupted.
func (c *Claim) Release() { c.folder.Unlock() }
