// Package inventory finds run folders below some folders and says how each is: its state, its problem, how near its
// samples are to the data, its age and its size.
//
// It only reads, and neither data nor weights: what it says of a run is what the run's files say.
package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/study/compare"
)

// How far run folders may lie below those that are named.
const (
	DefaultDepth = 3
	MostDepth    = 32
)

// A List is what was found.
type List struct {
	Runs  []Entry  `json:"runs"`
	Notes []string `json:"notes"` // what was left out, and why
}

// Find lists the runs at folders and down to a depth below, in the order of their paths. Symbolic links, hidden folders
// and the insides of runs are not entered. A folder of dirs that cannot be read is an *fs.PathError; what lies below
// and cannot be is a note.
func Find(dirs []string, depth int) (*List, error) {
	w := &walk{depth: depth, seen: map[string]bool{}, List: List{Runs: []Entry{}, Notes: []string{}}}
	for _, dir := range dirs {
		if err := w.enter(filepath.Clean(dir), 0); err != nil {
			return nil, err
		}
	}
	if w.deep != "" {
		w.note("%s and what is as deep was not looked at; --depth goes further than %d", w.deep, depth)
	}
	return &w.List, nil
}

// walk is one call of Find.
type walk struct {
	List
	depth int
	deep  string          // the first folder that is too deep
	seen  map[string]bool // runs, by absolute path: folders that are named may overlap
}

func (w *walk) note(format string, v ...any) { w.Notes = append(w.Notes, fmt.Sprintf(format, v...)) }

// enter lists a folder at a depth.
func (w *walk) enter(dir string, depth int) error {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return err
	}
	names, folders := map[string]bool{}, []string(nil)
	for _, e := range entries {
		names[e.Name()] = true
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, e.Name())
		}
	}
	if isRun(names) {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		if !w.seen[abs] {
			w.seen[abs] = true
			e := Of(dir)
			e.Bytes = w.size(dir)
			w.Runs = append(w.Runs, e)
		}
		return nil
	}
	if len(folders) > 0 && depth == w.depth {
		w.deep = cmp.Or(w.deep, filepath.Join(dir, folders[0]))
		return nil
	}
	if names[compare.ListFile] && slices.Contains(folders, compare.RunsDir) { // units of a sweep are no runs
		folders = []string{compare.RunsDir}
	}
	for _, name := range folders {
		if err := w.enter(filepath.Join(dir, name), depth+1); err != nil {
			w.note("%v", err)
		}
	}
	return nil
}

// size adds up the files below a folder.
func (w *walk) size(dir string) (bytes int64) {
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // a file of a training that is gone already
				w.note("%v", err)
			}
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// Orders are the names of the orders of Sort.
func Orders() []string { return []string{"name", "state", "problem", "distance", "age", "size"} }

// Sort puts runs in an order, of equal ones by name: distance from the smallest, runs without one last; age from the
// youngest; size from the largest. An order that is not one of Orders panics.
func Sort(runs []Entry, order string) {
	slices.SortStableFunc(runs, func(a, b Entry) int {
		return cmp.Or(before(&a, &b, order), strings.Compare(a.Run, b.Run))
	})
}

func before(a, b *Entry, order string) int {
	switch order {
	case "name":
		return 0
	case "state":
		return slices.Index(States(), a.State) - slices.Index(States(), b.State)
	case "problem":
		return strings.Compare(a.Problem, b.Problem)
	case "distance":
		return cmp.Compare(a.far(), b.far())
	case "age":
		return b.Updated.Compare(a.Updated)
	case "size":
		return cmp.Compare(b.Bytes, a.Bytes)
	}
	panic("inventory: no order " + order)
}

// far is the distance, +Inf where there is none.
func (e *Entry) far() float64 {
	if e.Distance == nil || e.Distance.Value.IsNaN() {
		return math.Inf(1)
	}
	return float64(e.Distance.Value)
}
