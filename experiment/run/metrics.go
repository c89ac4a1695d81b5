package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// A Record is one line of metrics.jsonl. Kind is "epoch", "evaluation", "held-out" or "prior".
type Record struct {
	Kind  string          `json:"kind"`
	Epoch int             `json:"epoch"`
	Data  json.RawMessage `json:"data"`
}

// AppendMetric adds a line to metrics.jsonl, and returns it.
func (f *Folder) AppendMetric(kind string, epoch int, data any) (Record, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return Record{}, err
	}
	r := Record{kind, epoch, raw}
	line, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	file, err := f.open(MetricsFile, os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return r, err
	}
	_, err = file.Write(append(line, '\n'))
	if e := file.Close(); err == nil {
		err = e
	}
	return r, err
}

// Metrics returns the records of metrics.jsonl. Lines that are none, such as a last one
// that was cut off by a crash, are left out.
func (f *Folder) Metrics() ([]Record, error) {
	data, err := f.Read(MetricsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Record
	for line := range bytes.Lines(data) {
		var r Record
		if json.Unmarshal(line, &r) == nil {
			out = append(out, r)
		}
	}
	return out, nil
}

// Decode returns the data of the records of a kind; what is damaged is left out.
func Decode[T any](records []Record, kind string) (out []T) {
	for _, r := range records {
		var v T
		if r.Kind == kind && json.Unmarshal(r.Data, &v) == nil {
			out = append(out, v)
		}
	}
	return out
}

// RewindMetrics drops the records after the given epoch, and others that drop is true of, if it is not nil: a resumed
// run will make them again.
func (f *Folder) RewindMetrics(epoch int, drop func(Record) bool) error {
	records, err := f.Metrics()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, r := range records {
		if r.Epoch <= epoch && (drop == nil || !drop(r)) {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			b.Write(append(line, '\n'))
		}
	}
	return f.replace(MetricsFile, b.Bytes())
}
