package paper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/study/sweep"
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
		where = "is needed: --data-dir names the folder that has it"
	}
	return fmt.Sprintf("recipe %s: %s %s. It is in the data folder of github.com/KraitGit/"+
		"efficient-constrained-diffusion (docs/data.md)", e.Recipe, e.File, where)
}

func (*DataError) Place() fault.Place { return fault.Place{Kind: fault.Config} }

// find names the files of a problem of the paper's sweeps in it. Mixtures of rotations, which the paper's authors drew
// and did not publish, are drawn into the folder made. Errors are *DataError and those of files.
func (c *Config) find(p *sweep.Problem, made string) (err error) {
	file := func(name string) string {
		path, e := lookup(c.Data, name)
		if errors.Is(e, fs.ErrNotExist) {
			e = &DataError{p.Name, name, c.Data}
		}
		if err == nil {
			err = e
		}
		return path
	}
	set := func(key, name string) {
		p.Set = append(p.Set, sweep.Setting{Text: key + "=" + strconv.Quote(file(name))})
	}
	body := strings.TrimRight(p.Name, "0123456789")
	switch {
	case p.Name == "demo":
	case strings.HasPrefix(p.Name, "so10-"):
		p.Data, err = rotations(made, p.Name)
	case p.Name == "alanine":
		p.Data = file("dipeptide_refined_phi_psiwin.npy")
		set("data.reference", "dipeptide_center.npy")
	case body == "arm":
		p.Data = file("L" + p.Name[len(body):] + "_paths.npy")
	case body == "bunny" || body == "spot":
		p.Data = file(body + "_eigfn" + p.Name[len(body):] + ".npy")
		set("set.weights", body+"_sdf.npz")
		set("set.mesh", body+".ply")
	default:
		p.Data = file(p.Name + ".csv")
	}
	return err
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

// rotations returns the file of a mixture on SO(10), as landing make so draws it by default.
func rotations(made, recipe string) (string, error) {
	file, err := filepath.Abs(filepath.Join(made, recipe+".npy"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	mixture := dataset.RotationMixture{Modes: map[string]int{"so10-3": 3, "so10-5": 5}[recipe], Seed: 1}
	p, _, err := mixture.Generate(context.Background())
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
