package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// A Record says of a file of samples how they were drawn. It lies beside the file,
// under RecordName.
type Record struct {
	SHA256  string          `json:"sha256"`        // of the file
	Version string          `json:"version"`       // of the program
	Run     string          `json:"run"`           // folder
	Config  string          `json:"config_sha256"` // of its config.yaml
	Epoch   int             `json:"epoch"`         // of the network
	Drawn   []problem.Drawn `json:"drawn_by"`      // keys of generation that were set
	Under   *Asked          `json:"condition,omitempty"`
	Seed    uint64          `json:"seed"`
	First   uint64          `json:"first"`            // number of the first sample
	Samples int             `json:"samples"`          // asked for
	Failed  []uint64        `json:"failed_samples"`   // numbers of those that are not in the file
	Wrong   int             `json:"wrong_component"`  // of them
	Broken  int             `json:"broken,omitempty"` // of them, whose simulation broke down
	Seconds float64         `json:"seconds"`          // of generation
	Steps   *judge.Steps    `json:"steps,omitempty"`  // of Diagnose
}

// Asked is the conditions that samples were drawn under: Rows of them, by names or from a
// file as they were given, Each samples a row.
type Asked struct {
	Names []string `json:"names"`
	Given string   `json:"given"`
	Rows  int      `json:"rows"`
	Each  int      `json:"each"`
}

// Settings returns what Run.Redraw takes to draw as the samples were.
func (rec *Record) Settings() []string {
	var out []string
	for _, s := range rec.Drawn {
		if s.Value != nil {
			out = append(out, s.String())
		}
	}
	return out
}

// RecordName returns the name of the record of a file of samples.
func RecordName(file string) string { return file + ".json" }

// Record returns the record of samples that are written as file.
func (r *Run) Record(s *judge.Samples, state train.State, first, seed uint64, file []byte) *Record {
	rec := &Record{SHA256: run.Hash(file), Version: run.Version(), Run: r.Folder.Dir, Config: r.Config,
		Epoch: state.Epoch, Drawn: append([]problem.Drawn{}, r.Drawn...), Seed: seed, First: first,
		Samples: s.N(), Failed: []uint64{}, Wrong: s.Wrong, Broken: s.Broken,
		Seconds: s.Time.Seconds(), Steps: s.Steps}
	for i, lost := range s.Lost {
		if lost {
			rec.Failed = append(rec.Failed, first+uint64(i))
		}
	}
	return rec
}

// Write writes the record of a file, over what is there if it may.
func (rec *Record) Write(file string, force bool) error {
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return run.WriteFile(RecordName(file), append(data, '\n'), force)
}

// maxRecord bounds a record, of which the numbers of failed samples are the most.
const maxRecord = 1 << 28

// ReadRecord reads the record of a file of samples; nil if there is none. It need not be of
// this file: Samples says.
func ReadRecord(file string) (*Record, error) {
	name := RecordName(file)
	data, err := input.Read(name, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rec := &Record{}
	if err := json.Unmarshal(data, rec); err != nil || rec.SHA256 == "" {
		return nil, &DataError{name, "is no record of samples, which landing generate writes beside them"}
	}
	return rec, nil
}

// ReadSamples reads samples that Generate made and a file holds, and their record; nil if
// there is none. The samples that failed are marked, and nothing else is known of them.
func (r *Run) ReadSamples(file string) (*judge.Samples, *Record, error) {
	read := dataset.ReadPoints
	var fit func(set constraint.Set, data *dataset.Points) (*dataset.Points, error)
	if ext := strings.ToLower(filepath.Ext(file)); ext != ".npy" && ext != ".parquet" { // the domain's own files
		names := r.Problem.Condition.Columns
		free := constraint.At(r.Process.Set, make([]float64, len(names)))
		own, _ := kinds.Of(r.Problem.Data.Kind, free)
		for _, kind := range kinds.All { // the data itself may be in the binary
			if kind.Name == own.Name && !kind.Bundled {
				if read, fit = kind.Read, kind.Fit; len(names) > 0 && kind.ReadGiven != nil {
					read = func(path string) (*dataset.Points, error) { return readGiven(kind, free, path, names) }
					fit = nil
				}
				if len(names) > 0 && kind.Open != nil {
					fit = func(set constraint.Set, data *dataset.Points) (*dataset.Points, error) {
						return kind.Open(set, data, names)
					}
				}
			}
		}
	}
	points, err := read(file)
	if err != nil {
		return nil, nil, err
	}
	if fit != nil {
		if points, err = fit(r.Process.Set, points); err != nil {
			return nil, nil, &DataError{file, err.Error()}
		}
	}
	d := r.Process.Set.Dim()
	if points.D != d || points.N < 1 {
		return nil, nil, &DataError{file, fmt.Sprintf("has %d points of %d coordinates; expected points of %d",
			points.N, points.D, d)}
	}
	rec, err := ReadRecord(file)
	if err != nil {
		return nil, nil, err
	}
	s := &judge.Samples{X: points.X, Dim: d, Lost: make([]bool, points.N)}
	if rec == nil {
		s.Reject(r.Process.Set, 0, points.N)
		return s, nil, nil
	}
	switch {
	case rec.SHA256 != points.SHA256:
		return nil, nil, &DataError{file, fmt.Sprintf("is not the file that %s describes: its SHA-256 is %.12s…, "+
			"expected %.12s…", RecordName(file), points.SHA256, rec.SHA256)}
	case rec.Config != r.Config:
		return nil, nil, &DataError{file, fmt.Sprintf("holds samples of another run, %s", rec.Run)}
	case rec.Samples < 0 || rec.Samples != points.N+len(rec.Failed):
		return nil, nil, &DataError{RecordName(file), fmt.Sprintf("says that %d of %d samples failed; the file has %d",
			len(rec.Failed), rec.Samples, points.N)}
	}
	all := &judge.Samples{X: make([]float64, rec.Samples*d), Dim: d, Lost: make([]bool, rec.Samples), Wrong: rec.Wrong,
		Broken: rec.Broken,
		Steps:  rec.Steps}
	for _, number := range rec.Failed {
		if number < rec.First || number-rec.First >= uint64(rec.Samples) || all.Lost[number-rec.First] {
			return nil, nil, &DataError{RecordName(file), fmt.Sprintf("says that sample %d failed; expected each "+
				"once, from %d on", number, rec.First)}
		}
		i := int(number - rec.First)
		all.Lost[i] = true
		for j := range d {
			all.X[i*d+j] = math.NaN()
		}
	}
	next := 0
	for i, lost := range all.Lost {
		if !lost {
			copy(all.X[i*d:(i+1)*d], s.X[next*d:(next+1)*d])
			next++
		}
	}
	return all, rec, nil
}
