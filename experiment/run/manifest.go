package run

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// A Manifest says what ran, where, and on which data.
type Manifest struct {
	Version string    `json:"version"`
	Go      string    `json:"go"`
	Created time.Time `json:"created"`
	Command []string  `json:"command"`
	Asked   *Asked    `json:"asked,omitempty"` // nil in folders of older versions
	Seed    uint64    `json:"seed"`
	Data    Data      `json:"data"`
	Config  string    `json:"config_sha256"` // of config.yaml
	// SHA-256 of the files that the set is read from, by key; and the names of their
	// copies in the folder, which older versions did not make
	Files  map[string]string `json:"files_sha256,omitempty"`
	Kept   map[string]string `json:"files,omitempty"`
	Chosen []choose.Choice   `json:"chosen,omitempty"`
	Given  []problem.Given   `json:"given,omitempty"` // what was not; missing in folders of older versions
	Clock  []Clocked         `json:"clock,omitempty"` // as of the newest checkpoint
	// what the run was gone on with, in order
	Extensions []Extension `json:"extensions,omitempty"`
	Stopped    *Stopped    `json:"stopped,omitempty"` // that held-out distances end the training
	Weights    *Weights    `json:"weights,omitempty"` // that they chose
	Trained    *train.Cost `json:"trained,omitempty"` // what that took; missing in folders of earlier versions
	Teacher    *Teacher    `json:"teacher,omitempty"` // of a run that learned another run's samples
	Machine    Machine     `json:"machine"`
	Ranks      *Ranks      `json:"ranks,omitempty"` // of the MPI job that trained last
}

// Asked is what somebody asked for beside a problem file.
type Asked struct {
	Variant  string   `json:"variant,omitempty"`
	Settings []string `json:"settings,omitempty"` // key=value, but for train.max_seconds
	Timed    bool     `json:"timed,omitempty"`    // the training had a budget in seconds
}

// Ranks says among how many processes a training was divided. The weights depend on it unless it was exact.
type Ranks struct {
	Count int  `json:"count"`
	Exact bool `json:"exact"`
}

// A Teacher is a run whose samples another run has learned: what made them, so that they can be made again.
type Teacher struct {
	Run        string  `json:"run"`
	Method     string  `json:"method"`
	Config     string  `json:"config_sha256"`     // of its config.yaml
	Manifest   string  `json:"manifest_sha256"`   // of its manifest.json
	Checkpoint string  `json:"checkpoint"`        // that it drew with
	Weights    string  `json:"checkpoint_sha256"` // of its weights
	Samples    int     `json:"samples"`           // that were asked for
	Failed     int     `json:"failed"`            // of them, which nothing learns
	First      uint64  `json:"first"`             // number of the first
	Seed       uint64  `json:"seed"`
	Each       float64 `json:"evaluations"` // network evaluations of a sample
	Seconds    float64 `json:"seconds"`     // that they took
}

// Stopped says why a training ends before its bound.
type Stopped struct {
	Epochs int    `json:"epochs"`      // that it has
	After  int    `json:"after_epoch"` // that this was known
	Reason string `json:"reason"`
	Repeat string `json:"repeat,omitempty"` // settings that give the same weights, if any do
}

// Weights says with which checkpoint samples are drawn, if no other is named.
type Weights struct {
	Checkpoint string  `json:"checkpoint"` // which stays
	Epoch      int     `json:"epoch"`
	Seconds    float64 `json:"seconds,omitempty"` // of the epochs to this one; 0: not known
	Reason     string  `json:"reason"`
}

// A Clocked is a number that came from a clock during training. Another machine, or another day, may give another
// number. Checkpoints hold it too.
type Clocked struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	After  int    `json:"after_epoch"`
	Reason string `json:"reason"`
	Repeat string `json:"repeat,omitempty"` // settings that give the same training without a clock, if any do
}

// An Extension is settings with which a run goes on, over those of config.yaml and of earlier ones.
type Extension struct {
	Settings   []string  `json:"settings"`    // key=value
	After      int       `json:"after_epoch"` // when it was asked for
	Checkpoint string    `json:"checkpoint"`  // of then, which stays; empty: there was none
	Created    time.Time `json:"created"`
	Command    []string  `json:"command"`
	Clock      []Clocked `json:"clock,omitempty"` // of before
}

// Manifest returns manifest.json.
func (f *Folder) Manifest() (Manifest, error) { return read[Manifest](f, ManifestFile) }

func read[T any](f *Folder, name string) (v T, err error) {
	if err = f.ReadJSON(name, &v); err != nil {
		v = *new(T)
	}
	return v, err
}

// AmendManifest changes manifest.json.
func (f *Folder) AmendManifest(change func(m *Manifest)) error {
	m, err := f.Manifest()
	if err != nil {
		return err
	}
	change(&m)
	data, err := marshal(m)
	if err != nil {
		return err
	}
	return f.write(ManifestFile, data, true)
}

// Data identifies the data of a run.
type Data struct {
	Path   string `json:"path"` // empty for data that ships in the binary
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Points int    `json:"points"`
	Dim    int    `json:"dim"`
	// names of the coordinates, under which samples are written; missing in folders of older versions
	Columns []string `json:"columns,omitempty"`
}

// A Machine is what figures of speed depend on.
type Machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"` // with ", fused" where Go's compiler fused multiply-adds
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`  // that Go may use
	Kernel string `json:"kernel"` // loops of the network: results have the same bits only with the same
	// Products says what each precision of the network's products runs as.
	Products map[string]string `json:"products"`
}

// ThisMachine describes the machine that runs.
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: kernel.Arch(), CPU: cpuModel(), Cores: runtime.GOMAXPROCS(0),
		Kernel: kernel.Name(), Products: map[string]string{}}
	for p := kernel.Float32; p <= kernel.BFloat16; p++ {
		m.Products[p.String()] = kernel.Effective(p).String()
	}
	return m
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return cmp.Or(brand(), "unknown")
	}
	defer f.Close()
	return modelIn(f)
}

// modelIn returns the processor that Linux lists: its name, or on ARM the numbers of its maker and of its design.
func modelIn(cpuinfo io.Reader) string {
	maker := "unknown"
	for s := bufio.NewScanner(cpuinfo); s.Scan(); {
		key, value, _ := strings.Cut(s.Text(), ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "model name":
			return value
		case "CPU implementer":
			maker = value
		case "CPU part":
			return "CPU part " + value + " of implementer " + maker
		}
	}
	return "unknown"
}

// Repeat returns the settings that give the same weights without a clock, and whether they replace held-out distances
// too; empty where there are none.
func (m *Manifest) Repeat() (settings string, judged bool) {
	n := len(m.Clock)
	if m.Stopped != nil && m.Stopped.Repeat != "" && (n == 0 || m.Clock[n-1].After <= m.Stopped.After) {
		return m.Stopped.Repeat, true
	}
	if n == 0 {
		return "", false
	}
	return m.Clock[n-1].Repeat, false
}

// A Status says how far a run is.
type Status struct {
	State   string `json:"state"` // training, interrupted, trained or failed
	Epoch   int    `json:"epoch"` // completed
	Epochs  int    `json:"epochs"`
	Message string `json:"message,omitempty"` // why it failed
	// why a training that held-out distances judge has ended, and the checkpoint that they chose
	Stopped    string      `json:"stopped,omitempty"`
	Checkpoint string      `json:"checkpoint,omitempty"`
	Trained    *train.Cost `json:"trained,omitempty"` // missing in folders of earlier versions
	Updated    time.Time   `json:"updated"`
}

// Status returns status.json.
func (f *Folder) Status() (Status, error) { return read[Status](f, StatusFile) }

// SetStatus writes status.json.
func (f *Folder) SetStatus(s Status) error {
	s.Updated = time.Now().UTC().Round(time.Second)
	data, err := marshal(s)
	if err != nil {
		return err
	}
	return f.write(StatusFile, data, true)
}

// Of a release; its build sets them (-ldflags -X), since it compiles an export of the commit, which has no .git.
var (
	released  string // v1.2.3
	commit    string // SHA of the commit
	committed string // its time, RFC 3339
)

// A Build says which program this is.
type Build struct {
	Version  string `json:"version"`            // of a release, or one that Go makes of the commit
	Commit   string `json:"commit,omitempty"`   // SHA; empty where it is not known
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // files differed from the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// ThisBuild describes the program that runs.
func ThisBuild() Build {
	b := Build{Version: released, Commit: commit, Time: committed, Go: runtime.Version(), OS: runtime.GOOS,
		Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{Main: debug.Module{Version: "unknown"}}
	}
	return b.with(info)
}

// with fills in what Go recorded of the build, where the linker set nothing else.
func (b Build) with(info *debug.BuildInfo) Build {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Time = cmp.Or(b.Time, s.Value)
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	switch v := info.Main.Version; {
	case b.Version != "":
	case v != "" && v != "(devel)":
		b.Version = v
	case b.Commit == "":
		b.Version = Development
	default:
		if b.Version = b.Commit[:min(12, len(b.Commit))]; b.Modified {
			b.Version += "+changes"
		}
	}
	return b
}

// Development is the version of a build that knows no commit.
const Development = "development"

// Program returns twelve digits of the SHA-256 of the program that runs, which tell builds apart that know no commit;
// empty where it cannot be read.
var Program = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
})

// Version returns the program's version: that of the release, the module's, or the commit it was built from.
func Version() string { return ThisBuild().Version }

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
	return f.write(MetricsFile, b.Bytes(), true)
}
