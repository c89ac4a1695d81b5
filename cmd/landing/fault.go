package main

import (
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/levelset"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/export"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/mesh"
	"github.com/landing-diffusion/landing/molecule/amber"
	"github.com/landing-diffusion/landing/molecule/files"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/draft"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/score"
	"github.com/landing-diffusion/landing/train"
)

// A fault is an error as --json prints it, with what is known of its place.
type fault struct {
	Code    int       `json:"code"` // exit code
	Kind    faultKind `json:"kind"`
	File    string    `json:"file,omitempty"`
	Line    int       `json:"line,omitempty"`
	Key     string    `json:"key,omitempty"`
	Message string    `json:"message"`
}

// A faultKind says what is at fault. Other programs read these words: they stay.
type faultKind string

// faultKinds are kinds of faults by exit code; describe says more of some.
var faultKinds = map[int]faultKind{
	exitFailure: "failure", exitUsage: "usage", exitConfig: "configuration", exitCheck: "check",
	exitDiverged: "diverged", exitTime: "time", exitInterrupted: "interrupted",
}

// placedKinds are the kinds that describe tells apart by the type of an error.
var placedKinds = []faultKind{"internal", "write", "problem", "data", "exists", "run", "file"}

// describe tells a fault's kind and place by the type of the error.
func describe(err error, code int) fault {
	f := fault{Code: code, Kind: faultKinds[code], Message: strings.ToValidUTF8(err.Error(), "\ufffd")}
	if code == exitInterrupted {
		f.Message = "interrupted"
	}
	if code == exitFailure {
		switch {
		case errors.As(err, new(*internalError)):
			f.Kind = "internal"
		case unwritten(err):
			f.Kind = "write"
		}
	}
	if code != exitConfig && code != exitFailure {
		return f
	}
	place := func(kind faultKind, file string, line int, key string) {
		if code == exitConfig {
			f.Kind = kind
		}
		f.File, f.Line, f.Key = file, line, key
	}
	var (
		key         *problem.KeyError
		syntax      *problem.SyntaxError
		row         *dataset.Error
		data        *experiment.DataError
		unfit       *draft.UnfitError
		absent      *experiment.AbsentError
		exists      *run.ExistsError
		folder      *run.FolderError
		hub         *export.HubError
		checkpoint  *run.CheckpointError
		triangles   *mesh.Error
		frames      *files.Error
		parameters  *amber.FileError
		network     *levelset.NetworkError
		setting     *langevin.ConfigError
		unsupported *constraint.UnsupportedError
		path        *fs.PathError
	)
	switch {
	case errors.As(err, &key):
		file, line := origin(key.Origin)
		place("problem", file, line, key.Key)
	case errors.As(err, &syntax):
		file, line := origin(syntax.Origin)
		place("problem", file, line, "")
	case errors.As(err, &setting):
		place("problem", "", 0, setting.Field)
	case errors.As(err, &unsupported):
		place("problem", "", 0, "")
	case errors.As(err, &row):
		place("data", row.File, row.Line, "")
	case errors.As(err, &data):
		place("data", data.Path, 0, "")
	case errors.As(err, &unfit):
		place("data", unfit.Path, 0, "")
	case errors.As(err, &absent):
		place("data", absent.Path, 0, "")
	case errors.As(err, &triangles):
		place("data", triangles.File, 0, "")
	case errors.As(err, &parameters):
		place("data", parameters.Path, parameters.Line, "")
	case errors.As(err, &frames):
		place("data", frames.File, frames.Line, "")
	case errors.As(err, &network):
		place("data", network.File, 0, "")
	case errors.As(err, &exists):
		place("exists", exists.Path, 0, "")
	case errors.As(err, &hub):
		place("run", hub.Dir, 0, "")
	case errors.As(err, new(*score.GraphError)):
		place("run", "", 0, "network.kind")
	case errors.As(err, &folder):
		place("run", folder.Dir, 0, "")
	case errors.As(err, &checkpoint):
		place("run", checkpoint.Path, 0, "")
	case errors.As(err, new(*train.SnapshotError)):
		place("run", "", 0, "")
	case errors.As(err, &path) && !strings.Contains(path.Path, ".tmp-"): // one that nobody named
		place("file", path.Path, 0, "")
	}
	return f
}

var numbered = regexp.MustCompile(`^(.*):([0-9]+)$`)

// origin takes the origin of a key apart. A setting of the command line and a recipe
// are no files.
func origin(s string) (file string, line int) {
	if strings.HasPrefix(s, "--set") || strings.HasPrefix(s, "recipe ") {
		return "", 0
	}
	if m := numbered.FindStringSubmatch(s); m != nil {
		line, _ = strconv.Atoi(m[2]) // too long to be a line: 0
		return m[1], line
	}
	return s, 0
}
