package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/run"
	"github.com/landing-diffusion/landing/tensorboard"
)

// EventsFile is the file of TensorBoard.
const EventsFile = "events.out.tfevents.0000000001.landing"

// TensorBoard returns the run as a folder for TensorBoard: the numbers of its metrics by epoch, and of its
// samples and figures, if it has any, the violation of each constraint as a histogram and the pictures. Events
// have the time at which the run was begun. Errors are those of the file system.
func (s *Source) TensorBoard() (Files, error) {
	r := s.Run
	var m run.Manifest
	if err := r.Folder.ReadJSON(run.ManifestFile, &m); err != nil {
		return nil, err
	}
	records, err := r.Folder.Metrics()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	at := float64(m.Created.Unix())
	w := tensorboard.NewWriter(&b, at, 0)
	for _, rec := range records {
		var numbers map[string]any
		if json.Unmarshal(rec.Data, &numbers) != nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(numbers)) {
			if v, ok := numbers[key].(float64); ok && key != "epoch" {
				w.Scalar(at, int64(rec.Epoch), rec.Kind+"/"+key, v)
			}
		}
	}
	epoch := int64(s.Trained.State.Epoch)
	samples, _, err := r.ReadSamples(r.Folder.Path(run.SamplesFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		names, set := constraint.Components(r.Process.Set), r.Process.Set
		values := constraint.Values(set, samples.Good())
		metric.Excess(values, len(names), len(set.Equalities()))
		for j, name := range names {
			w.Histogram(at, epoch, "violation/"+name, metric.Column(values, j, len(names)))
		}
	}
	pictures, err := filepath.Glob(filepath.Join(r.Folder.Dir, "figures", "*.png"))
	if err != nil {
		return nil, err
	}
	for _, path := range pictures {
		name := filepath.Base(path)
		file, err := r.Folder.Read("figures/" + name)
		if err != nil {
			return nil, err
		}
		size, err := png.DecodeConfig(bytes.NewReader(file))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		w.Image(at, epoch, "figure/"+strings.TrimSuffix(name, ".png"), file, size.Width, size.Height)
	}
	return Files{EventsFile: b.Bytes()}, w.Err()
}
