// Package run keeps what a training run leaves on disk: one folder with the
// configuration, manifest, status, metrics, checkpoints, samples and figures.
//
// Files appear whole or not at all (temporary file, fsync, rename). Nothing that is there is written over unless the
// caller forces it, but for status.json and metrics.jsonl, which change as a run goes on, and for a report's files that
// nobody changed (Renew). Nothing read from a folder is executed.
package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
)

// Names of the files in a run folder.
const (
	ConfigFile   = "config.yaml"   // every key, resolved
	ProblemFile  = "problem.yaml"  // the problem file as it was given
	ManifestFile = "manifest.json" // what ran, where, on which data
	StatusFile   = "status.json"   // how far it is
	MetricsFile  = "metrics.jsonl" // one JSON object an epoch or evaluation
	SamplesFile  = "samples.npy"   // those of the report
	PriorFile    = "prior.npy"     // draws of a uniform prior without a closed form
	EndsFile     = "ends.npy"      // ends of forward paths: the empirical prior draws from these

	ConditionFile = "condition.json" // mean, spread and range of the condition in the training rows
	ReportFile    = "report.html"

	EvaluationFile = "evaluation.json" // how good samples are
	DrawnDir       = "drawn"           // samples and reports by other keys of generation

	writtenFile = ".written.json" // of what Renew wrote, hashes by name
)

// A Folder is a run folder.
type Folder struct {
	Dir   string
	Force bool   // write over files that are there
	Moved string // where Create put the run that was there

	lock *os.File
}

// An ExistsError says that a file or folder would be written over.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s exists already; it is not written over without --force", e.Path)
}

func (e *ExistsError) Place() fault.Place { return fault.Place{Kind: fault.Exists, File: e.Path} }

// Create makes the folder dir. If it holds a run and force is set, that run is moved to dir.old-001 and so on, not
// deleted; a run that another process works on, and a folder that is not a run, stay where they are.
func Create(dir string, force bool) (*Folder, error) {
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(dir, 0o777)
	}
	if errors.Is(err, fs.ErrExist) {
		if entries, e := os.ReadDir(dir); e == nil && len(entries) == 0 {
			return &Folder{Dir: dir}, nil
		}
		if !force {
			return nil, &ExistsError{dir}
		}
		old, err := Open(dir)
		if err != nil {
			return nil, fault.Errorf(fault.Run, dir, "exists and is not a run folder; --force moves only runs aside")
		}
		if err := old.Lock(); err != nil {
			return nil, err
		}
		defer old.Unlock()
		moved, err := moveAside(dir)
		if err != nil {
			return nil, err
		}
		return &Folder{Dir: dir, Moved: moved}, os.Mkdir(dir, 0o777)
	}
	if err != nil {
		return nil, err
	}
	return &Folder{Dir: dir}, nil
}

// moveAside renames a folder to the first free name with .old-001, .old-002, …
func moveAside(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		old := fmt.Sprintf("%s.old-%03d", abs, i)
		if _, err := os.Lstat(old); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(abs, old); err != nil {
				return "", fault.Errorf(fault.Run, dir, "cannot be moved aside: %v", err)
			}
			return old, nil
		}
	}
}

// CreateNumbered makes the first free folder parent/name-001, parent/name-002, …
func CreateNumbered(parent, name string) (*Folder, error) {
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, err
	}
	for i := 1; ; i++ {
		dir := filepath.Join(parent, fmt.Sprintf("%s-%03d", name, i))
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			return &Folder{Dir: dir}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// Open opens an existing run folder.
func Open(dir string) (*Folder, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fault.Errorf(fault.Run, dir, "there is no such run folder")
	}
	if !info.IsDir() {
		return nil, fault.Errorf(fault.Run, dir, "is a file; expected a run folder")
	}
	for _, name := range []string{ConfigFile, ManifestFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return nil, fault.Errorf(fault.Run, dir, "is not a run folder: it has no %s", name)
		} else if err != nil {
			return nil, err
		}
	}
	return &Folder{Dir: dir}, nil
}

// Path returns the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir, filepath.FromSlash(name)) }

// maxText bounds the files of a folder that are read whole, but for weights.
const maxText = 1 << 30

// Drawn returns the names of the folders in DrawnDir, in order.
func (f *Folder) Drawn() ([]string, error) {
	entries, err := os.ReadDir(f.Path(DrawnDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Read returns a file of the folder.
func (f *Folder) Read(name string) ([]byte, error) { return input.Read(f.Path(name), maxText) }

// Write creates a file of the folder. It fails with an *ExistsError if the file is there, unless Force is set.
func (f *Folder) Write(name string, data []byte) error { return f.write(name, data, f.Force) }

// Renew is Write, and replaces a file that Renew wrote and that nobody changed since.
func (f *Folder) Renew(name string, data []byte) error {
	if err := f.Renewable(name); err != nil {
		return err
	}
	replaced, _ := HashFile(f.Path(name)) // counts until the new file is there: the process may end before
	hashes := f.written()
	hashes[name] = []string{Hash(data), replaced}
	if err := f.ReplaceJSON(writtenFile, hashes); err != nil {
		return err
	}
	return f.write(name, data, true)
}

// Renewable returns an error if Renew of one of the files would fail.
func (f *Folder) Renewable(names ...string) error {
	hashes := f.written()
	for _, name := range names {
		hash, err := HashFile(f.Path(name))
		if !f.Force && !errors.Is(err, fs.ErrNotExist) && (err != nil || !slices.Contains(hashes[name], hash)) {
			return fault.Errorf(fault.Exists, f.Path(name), "was changed since landing report wrote it, or an "+
				"earlier version or another program wrote it; it is not written over without --force")
		}
	}
	return nil
}

// written returns hashes of what Renew wrote, by name; none where the file that keeps them is damaged.
func (f *Folder) written() map[string][]string {
	hashes := map[string][]string{}
	if f.ReadJSON(writtenFile, &hashes) != nil || hashes == nil {
		return map[string][]string{}
	}
	return hashes
}

// ReplaceJSON is WriteJSON over a file of the program's own.
func (f *Folder) ReplaceJSON(name string, v any) error {
	return (&Folder{Dir: f.Dir, Force: true}).WriteJSON(name, v)
}

// write is Write, over the file that is there if force is set: one that changes as the run goes on.
func (f *Folder) write(name string, data []byte, force bool) error {
	if err := inside(f.Dir, name); err != nil {
		return err
	}
	return WriteFile(f.Path(name), data, force)
}

// open opens a file of the folder, which it makes if it is not there.
func (f *Folder) open(name string, flag int) (*os.File, error) {
	if err := inside(f.Dir, name); err != nil {
		return nil, err
	}
	path := f.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|flag, 0o666)
}

// Free returns an *ExistsError if Write would.
func (f *Folder) Free(name string) error {
	if f.Force {
		return nil
	}
	return Free(f.Path(name))
}

// Free returns an *ExistsError if path is there.
func Free(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return &ExistsError{path}
	}
	return nil
}

// WriteFile creates path with the given bytes, whole or not at all, and syncs
// it. Without force it fails with an *ExistsError if path is there.
func WriteFile(path string, data []byte, force bool) error {
	return WriteStream(path, force, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteStream is WriteFile of the bytes that write writes. If that fails, path stays as it was.
func WriteStream(path string, force bool, write func(w io.Writer) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if !force {
		if err := Free(path); err != nil {
			return err
		}
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails harmlessly after the rename
	if err = write(tmp); err == nil {
		err = cmp.Or(tmp.Chmod(0o666&^umask), tmp.Sync())
	}
	if err = cmp.Or(err, tmp.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return place(tmp.Name(), path, force)
}

// place gives a file that is written its name. Without force it fails with an *ExistsError if that is there.
func place(tmp, path string, force bool) (err error) {
	if force {
		err = os.Rename(tmp, path)
	} else if err = os.Link(tmp, path); errors.Is(err, fs.ErrExist) { // unlike Rename, Link does not replace
		return &ExistsError{path}
	} else if err != nil { // a file system without links
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// WriteFolder makes the folder dir with files of these contents, whole or not at all. It fails with an
// *ExistsError if anything is there.
func WriteFolder(dir string, files map[string][]byte) error {
	dir = filepath.Clean(dir)
	if err := Free(dir); err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	tmp, err := newFolder(parent, "."+filepath.Base(dir)+".tmp-*", files)
	defer os.RemoveAll(tmp) // gone after the rename
	if err != nil {
		return err
	}
	if err := Free(dir); err != nil { // of somebody meanwhile, which Rename might replace
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	return syncDir(parent)
}

// newFolder makes a folder with files of these contents, whose name follows a pattern of os.MkdirTemp.
func newFolder(parent, pattern string, files map[string][]byte) (dir string, err error) {
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(parent, pattern); err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := WriteFile(filepath.Join(dir, name), files[name], false); err != nil {
			return dir, err
		}
	}
	return dir, os.Chmod(dir, 0o777&^umask)
}

// Tidy removes what processes left that were killed while they wrote a file of the folder, of its figures, or of
// samples by other keys and theirs. The caller holds the lock.
func (f *Folder) Tidy() error {
	folders := []string{".", "figures"}
	drawn, err := f.Drawn()
	if err != nil {
		return err
	}
	for _, name := range drawn {
		folders = append(folders, path.Join(DrawnDir, name), path.Join(DrawnDir, name, "figures"))
	}
	for _, in := range folders {
		entries, err := os.ReadDir(f.Path(in))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if name := e.Name(); name[0] != '.' || !strings.Contains(name, ".tmp-") || !e.Type().IsRegular() {
				continue
			}
			if err := os.Remove(filepath.Join(f.Path(in), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteJSON creates a JSON file of the folder, indented.
func (f *Folder) WriteJSON(name string, v any) error {
	data, err := marshal(v)
	if err != nil {
		return err
	}
	return f.Write(name, data)
}

// ReadJSON decodes a JSON file of the folder.
func (f *Folder) ReadJSON(name string, v any) error {
	data, err := f.Read(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fault.Errorf(fault.Run, f.Path(name), "is damaged: %w", err)
	}
	return nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

const lockName = ".lock"

// inside returns an error if a file of a folder leads out of it, by itself or
// by a folder above it that is a symbolic link: nothing is written there.
func inside(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	_, err = root.Stat(filepath.FromSlash(name))
	if errno := syscall.Errno(0); err == nil || errors.Is(err, fs.ErrNotExist) || errors.As(err, &errno) {
		return nil // what the system says of it, writing will say too
	}
	return fault.Errorf(fault.Run, filepath.Join(dir, filepath.FromSlash(name)), "is a symbolic link out "+
		"of the run folder, or lies behind one; nothing is written there")
}

// Lock keeps other processes from working on the folder until Unlock or the end of the process.
func (f *Folder) Lock() error {
	file, err := f.open(lockName, os.O_RDWR)
	if err != nil {
		return err
	}
	for try := range lockTries {
		if try > 0 {
			time.Sleep(lockPause)
		}
		if err = lockFile(file); err == nil {
			f.lock = file
			return nil
		}
	}
	file.Close()
	return fault.Errorf(fault.Run, f.Dir, "another process is working on this run")
}

// Who looks whether a run is being worked on (Busy) has its lock for an instant: Lock tries again.
const (
	lockTries = 5
	lockPause = 20 * time.Millisecond
)

// Occupied says whether a process is working on a folder.
type Occupied int

// What Busy may say.
const (
	Unknown Occupied = iota // this system, or file system, has no such locks
	NotHeld
	Held
)

// Busy reports whether some process holds the lock of the folder. It changes nothing.
func (f *Folder) Busy() Occupied {
	file, err := input.Open(f.Path(lockName), maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return NotHeld
	}
	if err != nil {
		return Unknown
	}
	defer file.Close()
	return lockHeld(file)
}

// Unlock releases Lock.
func (f *Folder) Unlock() {
	if f.lock != nil {
		f.lock.Close()
		f.lock = nil
	}
}

// Scratch makes an empty folder for what a process works on, and holds its lock. What a process left there that was
// killed is removed; while another process works there it fails.
func Scratch(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir}
	if err := f.Lock(); err != nil {
		return nil, err
	}
	left, err := os.ReadDir(dir)
	for _, e := range left {
		if e.Name() != lockName && err == nil {
			err = os.RemoveAll(f.Path(e.Name()))
		}
	}
	if err != nil {
		f.Unlock()
		return nil, err
	}
	return f, nil
}

// Drop removes a folder of Scratch.
func (f *Folder) Drop() error {
	f.Unlock()
	return os.RemoveAll(f.Dir)
}
