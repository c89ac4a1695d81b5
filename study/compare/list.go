package compare

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
)

// A List is sweep.json in the folder of a sweep: its cells in order.
type List struct {
	Name  string   `json:"name"`
	Title string   `json:"title,omitempty"`
	Cells []Listed `json:"cells"`
}

// A Listed is a cell of a sweep.
type Listed struct {
	Name    string `json:"name"`
	Run     string `json:"run,omitempty"` // its run folder in RunsDir, where cells share it; empty: that of its name
	Label   Label  `json:"label"`
	Skipped string `json:"skipped,omitempty"` // why it is left out
}

// ListFile is the name of a List in a sweep's folder.
const ListFile = "sweep.json"

// maxList bounds a list in bytes.
const maxList = 1 << 26

// ReadList returns the list of a sweep's folder; nil if the folder is none.
func ReadList(dir string) (*List, error) {
	path := filepath.Join(dir, ListFile)
	data, err := input.Read(path, maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l List
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fault.Errorf(fault.Run, path, "is damaged: %v", err)
	}
	return &l, nil
}
