package run

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
)

const (
	checkpointDir = "checkpoints"
	weightsFile   = "weights.safetensors"
	stateFile     = "state.json"
	keepFile      = "keep"   // marks a checkpoint that stays
	bestFile      = "best"   // marks the one that stays since it is the best
	keepCount     = 3        // checkpoints kept
	maxWeights    = 64 << 30 // bytes of the weights of one
)

// Checkpoints are those of a run folder.
type Checkpoints struct{ dir string }

// Checkpoints returns the checkpoints of the folder.
func (f *Folder) Checkpoints() Checkpoints { return Checkpoints{f.Dir} }

// path returns the path of a file of the checkpoints; "" is their folder.
func (c Checkpoints) path(name string) string {
	return filepath.Join(c.dir, checkpointDir, filepath.FromSlash(name))
}

// mark puts a mark on a checkpoint.
func (c Checkpoints) mark(name, mark string) error {
	if err := inside(c.dir, checkpointDir+"/"+name+"/"+mark); err != nil {
		return err
	}
	return WriteFile(c.path(name+"/"+mark), nil, true)
}

// envelope is state.json: the trainer's state, and what it belongs to.
type envelope struct {
	Weights string          `json:"weights_sha256"`
	Config  string          `json:"config_sha256"`
	Check   string          `json:"state_sha256"` // of State without white space
	State   json.RawMessage `json:"state"`
}

// Save writes checkpoint number step of a run whose config.yaml has
// the hash config, then removes the oldest ones. The caller holds the lock.
func (c Checkpoints) Save(step int, arrays []arrayfile.Named, state any, config string) error {
	var weights bytes.Buffer
	if err := arrayfile.EncodeSafetensors(&weights, arrays,
		map[string]string{"format": "landing-checkpoint-1"}); err != nil {
		return err
	}
	raw, err := json.Marshal(state)
	if err != nil {
		return err
	}
	meta, err := marshal(envelope{Hash(weights.Bytes()), config, Hash(raw), raw})
	if err != nil {
		return err
	}
	if err := inside(c.dir, checkpointDir); err != nil {
		return err
	}
	parent := c.path("")
	stale, err := fs.Glob(os.DirFS(parent), ".tmp-*") // of a process that was killed while saving
	if err != nil {
		return err
	}
	for _, name := range stale {
		if err := os.RemoveAll(filepath.Join(parent, name)); err != nil {
			return err
		}
	}
	dir, files := filepath.Join(parent, CheckpointName(step)), map[string][]byte{weightsFile: weights.Bytes(),
		stateFile: meta}
	for _, mark := range []string{keepFile, bestFile} {
		if marked(dir, mark) {
			files[mark] = nil
		}
	}
	tmp, err := newFolder(parent, ".tmp-*", files)
	defer os.RemoveAll(tmp) // gone after the rename
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // the same step, made again after a resume
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	if err := syncDir(parent); err != nil {
		return err
	}
	all, err := c.Names()
	all = slices.DeleteFunc(all, func(name string) bool { return kept(filepath.Join(parent, name)) })
	for i := 0; err == nil && i < len(all)-keepCount; i++ {
		err = os.RemoveAll(filepath.Join(parent, all[i]))
	}
	return err
}

// kept reports whether a checkpoint is marked as one that stays.
func kept(dir string) bool { return marked(dir, keepFile) || marked(dir, bestFile) }

func marked(dir, mark string) bool {
	_, err := os.Lstat(filepath.Join(dir, mark))
	return err == nil
}

// CheckpointName returns the name of checkpoint number step.
func CheckpointName(step int) string { return fmt.Sprintf("%0*d", numberDigits, step) }

// MarkBest marks a checkpoint as the best one, instead of the last best one; later checkpoints do not remove it. The
// caller holds the lock.
func (c Checkpoints) MarkBest(name string) error {
	dir := c.path(name)
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	if !marked(dir, bestFile) {
		if err := c.mark(name, bestFile); err != nil {
			return err
		}
	}
	names, err := c.Names()
	if err != nil {
		return err
	}
	for _, other := range names {
		if other == name {
			continue
		}
		err := os.Remove(c.path(other + "/" + bestFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Keep marks a checkpoint as one that stays when later ones come. The caller holds the lock.
func (c Checkpoints) Keep(name string) error {
	return c.mark(name, keepFile)
}

// SetAside hides the checkpoints after the one named, so that a run that goes on
// from it does not meet them again. They are kept as checkpoints/.set-aside-….
func (c Checkpoints) SetAside(after string) error {
	names, err := c.Names()
	if err != nil {
		return err
	}
	if err := inside(c.dir, checkpointDir); err != nil {
		return err
	}
	for _, name := range names {
		if compareNumbers(name, after) <= 0 {
			continue
		}
		hidden := c.path(".set-aside-" + name)
		if err := os.RemoveAll(hidden); err != nil {
			return err
		}
		if err := os.Rename(c.path(name), hidden); err != nil {
			return err
		}
	}
	return nil
}

// numberDigits is the least number of digits in a checkpoint's name.
const numberDigits = 8

// isNumber reports whether Save gives a checkpoint that name.
func isNumber(name string) bool {
	step, err := strconv.ParseUint(name, 10, 63)
	return err == nil && CheckpointName(int(step)) == name
}

// compareNumbers orders names of checkpoints by their numbers.
func compareNumbers(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// Names returns the names of the checkpoints, oldest first. What else lies in their folder is left alone.
func (c Checkpoints) Names() ([]string, error) {
	entries, err := os.ReadDir(c.path(""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && isNumber(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, compareNumbers)
	return names, err
}

// Whole returns an error if a file of a checkpoint is missing or empty. Load verifies them.
func (c Checkpoints) Whole(name string) error {
	for _, file := range []string{stateFile, weightsFile} {
		path := c.path(name + "/" + file)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			return fault.Errorf(fault.Run, path, "is missing or empty")
		}
	}
	return nil
}

// Load reads a checkpoint by name, or the newest if name is empty, and verifies it. It decodes the state, and
// calls the state's method Validate if there is one. Numbers that are not finite are damage. config is the hash of the
// config.yaml that the checkpoint must belong to. The error is of kind fault.Run.
func (c Checkpoints) Load(name, config string, state any) ([]arrayfile.Named, error) {
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	if name == "" {
		if len(names) == 0 {
			return nil, fault.Errorf(fault.Run, c.dir, "has no checkpoint yet")
		}
		name = names[len(names)-1]
	}
	at := slices.Index(names, name)
	if at < 0 {
		return nil, fault.Errorf(fault.Run, c.dir, "has no checkpoint %q; it has %s", name, strings.Join(names, ", "))
	}
	dir := filepath.Join(c.path(""), name)
	refuse := func(file, format string, v ...any) error {
		says := fmt.Sprintf(format, v...)
		if at > 0 {
			says += fmt.Sprintf("; the one before it is %s (--checkpoint %s)", names[at-1], names[at-1])
		}
		return fault.Errorf(fault.Run, filepath.Join(dir, file), "%s", says)
	}
	meta, err := input.Read(filepath.Join(dir, stateFile), maxText)
	if err != nil {
		return nil, refuse("", "has no readable %s", stateFile)
	}
	var e envelope
	if err := json.Unmarshal(meta, &e); err != nil {
		return nil, refuse(stateFile, "is damaged: %v", err)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, e.State) != nil || Hash(compact.Bytes()) != e.Check {
		return nil, refuse(stateFile, "is damaged: its state does not have the SHA-256 that it names")
	}
	if e.Config != config {
		return nil, fault.Errorf(fault.Run, dir, "belongs to another problem: it was made with a config.yaml of "+
			"SHA-256 %.12s…, this run's is %.12s…", e.Config, config)
	}
	data, err := input.Read(filepath.Join(dir, weightsFile), maxWeights)
	if err != nil {
		return nil, refuse(weightsFile, "cannot be read")
	}
	if got := Hash(data); got != e.Weights {
		return nil, refuse(weightsFile, "is damaged: its SHA-256 is %.12s…, expected %.12s…", got, e.Weights)
	}
	arrays, _, err := arrayfile.DecodeSafetensors(bytes.NewReader(data))
	if err != nil {
		return nil, refuse(weightsFile, "%v", err)
	}
	for _, a := range arrays {
		i := max(slices.IndexFunc(a.Array.Float32, notFinite), slices.IndexFunc(a.Array.Float64, notFinite))
		if i >= 0 {
			return nil, refuse(weightsFile, "is damaged: element %d of %q is not a finite number", i, a.Name)
		}
	}
	if err = json.Unmarshal(e.State, state); err == nil {
		if s, ok := state.(interface{ Validate() error }); ok {
			err = s.Validate()
		}
	}
	if err != nil {
		return nil, refuse(stateFile, "is damaged: %v", err)
	}
	return arrays, nil
}

func notFinite[T float32 | float64](v T) bool { return v-v != 0 }

// Hash returns the SHA-256 of data in hexadecimal.
func Hash(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// maxHashed bounds the size of a file to hash, in bytes.
const maxHashed = 1 << 40

// HashFile returns the SHA-256 of a file.
func HashFile(path string) (string, error) {
	f, err := input.Open(path, maxHashed)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// CheckpointFiles returns the names in a run folder of the files of a checkpoint that Load reads.
func CheckpointFiles(name string) []string {
	at := checkpointDir + "/" + name + "/"
	return []string{at + stateFile, at + weightsFile}
}

// WeightsPath returns the path of the arrays of a checkpoint, a safetensors file.
func (c Checkpoints) WeightsPath(name string) string {
	return c.path(name + "/" + weightsFile)
}

// WeightsHash returns the SHA-256 of the weights of a checkpoint.
func (c Checkpoints) WeightsHash(name string) (string, error) {
	data, err := input.Read(c.WeightsPath(name), maxWeights)
	return Hash(data), err
}
