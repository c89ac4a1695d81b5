package paper

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/run"
)

// A DataError says that a file behind a cell is not there, and where to get it.
type DataError struct {
	Recipe string
	File   string
	Folder string // that was looked in; empty: none was named
}

func (e *DataError) Error() string {
	where := "is not in " + e.Folder + " nor in its folders earth, mesh, alanine, robot"
	if e.Folder == "" {
		where = "is needed: --data names the folder that has it"
	}
	return fmt.Sprintf("recipe %s: %s %s. It is in the data folder of github.com/KraitGit/"+
		"efficient-constrained-diffusion (docs/data.md)", e.Recipe, e.File, where)
}

func (*DataError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// files returns the data file of a cell, empty for data in the binary, and the settings that name other files.
// Mixtures of rotations, which the paper's authors drew and did not publish, are drawn into the folder made.
// Errors are *DataError and those of files.
func (c *Cell) files(folder, made string) (data string, settings []string, err error) {
	find := func(name string) string {
		path, e := lookup(folder, name)
		if e != nil && err == nil {
			err = e
			if errors.Is(e, fs.ErrNotExist) {
				err = &DataError{c.Recipe, name, folder}
			}
		}
		return path
	}
	switch {
	case c.Recipe == "demo":
		return "", nil, nil
	case strings.HasPrefix(c.Recipe, "so10-"):
		data, err = rotations(made, c.Recipe)
	case c.Recipe == "alanine":
		data = find("dipeptide_refined_phi_psiwin.npy")
		settings = []string{"data.reference=" + find("dipeptide_center.npy")}
	case c.Recipe == "arm":
		waypoints := "10"
		for _, s := range c.Settings {
			if w, ok := strings.CutPrefix(s, "set.waypoints="); ok {
				waypoints = w
			}
		}
		data = find("L" + waypoints + "_paths.npy")
	case strings.HasPrefix(c.Recipe, "bunny"), strings.HasPrefix(c.Recipe, "spot"):
		body := strings.TrimRight(c.Recipe, "0123456789")
		data = find(body + "_eigfn" + c.Recipe[len(body):] + ".npy")
		settings = []string{"set.weights=" + find(body+"_sdf.npz"), "set.mesh=" + find(body+".ply")}
	default:
		data = find(c.Recipe + ".csv")
	}
	return data, settings, err
}

// lookup finds a file in a folder, or in the folders that the paper's repository has.
func lookup(folder, name string) (string, error) {
	if folder == "" {
		return "", fs.ErrNotExist
	}
	for _, in := range []string{"", "earth", "mesh", "alanine", "robot"} {
		path := filepath.Join(folder, in, name)
		if _, err := os.Stat(path); err == nil {
			return filepath.Abs(path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fs.ErrNotExist
}

// rotations returns the file of a mixture on SO(10), as landing make so draws it by default; none without a folder.
func rotations(made, recipe string) (string, error) {
	if made == "" {
		return "", nil
	}
	file, err := filepath.Abs(filepath.Join(made, recipe+".npy"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	p, _, err := dataset.RotationMixture{Modes: map[string]int{"so10-3": 3, "so10-5": 5}[recipe], Seed: 1}.Generate()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{p.N, 10, 10}, Float64: p.X}); err != nil {
		return "", err
	}
	if err := os.MkdirAll(made, 0o777); err != nil {
		return "", err
	}
	return file, run.WriteFile(file, b.Bytes(), true)
}
