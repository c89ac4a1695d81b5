package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/tensorboard"
)

// A Board writes what a training tells as events while it goes, for TensorBoard to show. Each call of Train writes a
// file of its own behind those of earlier ones, and has TensorBoard drop what these have of epochs that come again: a
// training that was killed has each epoch once. Where there are no earlier ones it begins with the records of
// metrics.jsonl.
type Board struct {
	Dir string // of the events

	r     *experiment.Run
	own   bool        // Dir is in the run folder
	fault func(error) // is told of the first error, after which nothing is written
	file  *os.File
	to    *events
	err   error
}

// NewBoard returns a board of a run whose folder is locked. Its events go where the manifest says, if dir is nil; else
// into the run folder, or, where dir names one, into a new folder of the run's name in that one. The manifest keeps
// where. It returns nil if nobody asked for events. Errors are those of the file system; later ones go to fault, and
// the training goes on.
func NewBoard(r *experiment.Run, dir *string, fault func(error)) (*Board, error) {
	var m run.Manifest
	if err := r.Folder.ReadJSON(run.ManifestFile, &m); err != nil {
		return nil, err
	}
	to := m.Events
	switch {
	case dir == nil:
	case *dir == "":
		to = run.EventsDir
	default:
		under, err := filepath.Abs(*dir)
		if err != nil {
			return nil, err
		}
		if filepath.Dir(to) != under {
			if to, err = folderOf(r, under); err != nil {
				return nil, err
			}
		}
	}
	if to == "" {
		return nil, nil
	}
	if to != m.Events {
		if err := r.Folder.AmendManifest(func(m *run.Manifest) { m.Events = to }); err != nil {
			return nil, err
		}
	}
	b := &Board{Dir: to, r: r, own: to == run.EventsDir, fault: fault}
	if b.own {
		b.Dir = r.Folder.Path(to)
	}
	return b, nil
}

// folderOf makes a folder for the events of a run: of its name, or that with a number.
func folderOf(r *experiment.Run, under string) (string, error) {
	if err := os.MkdirAll(under, 0o777); err != nil {
		return "", err
	}
	name, err := filepath.Abs(r.Folder.Dir)
	if err != nil {
		return "", err
	}
	name = filepath.Join(under, filepath.Base(name))
	for i, free := 1, name; ; i++ {
		if err := os.Mkdir(free, 0o777); !errors.Is(err, fs.ErrExist) {
			return free, err
		}
		free = fmt.Sprintf("%s-%d", name, i+1)
	}
}

// Observer returns o with From, Record and Drawn of the board, for one call of Train.
func (b *Board) Observer(o experiment.Observer) experiment.Observer {
	o.From = func(epoch int) { b.try(func(at float64) error { return b.from(at, epoch) }) }
	o.Record = func(line run.Record) {
		b.try(func(at float64) error {
			b.to.record(at, line)
			return b.to.Flush()
		})
	}
	o.Drawn = func(epoch int, points []float64) {
		b.try(func(at float64) error {
			b.to.drawn(at, epoch, points)
			return b.to.Flush()
		})
	}
	return o
}

// try does something at the present time unless something failed before.
func (b *Board) try(do func(at float64) error) {
	if b.err != nil {
		return
	}
	if b.err = do(float64(time.Now().UnixMicro()) / 1e6); b.err != nil {
		b.fault(b.err)
	}
}

// from goes on after an epoch: in a new file if it is the first time.
func (b *Board) from(at float64, epoch int) error {
	if b.file != nil {
		b.to.Restart(at, int64(epoch+1))
		return b.to.Flush()
	}
	number, held, err := sessions(b.Dir)
	if err != nil {
		return err
	}
	made, err := begun(b.r)
	if err != nil {
		return err
	}
	if b.file, err = b.create(eventsFile(number + 1)); err != nil {
		return err
	}
	b.to = &events{set: b.r.Process.Set, begun: made}
	if held {
		b.to.Writer = tensorboard.NewWriter(b.file, at)
		b.to.Restart(at, int64(epoch+1))
		return b.to.Flush()
	}
	b.to.Writer = tensorboard.NewWriter(b.file, made)
	records, err := b.r.Folder.Metrics()
	if err != nil {
		return err
	}
	b.to.kept(records)
	return b.to.Flush()
}

// sessions returns the largest number of a file of events in a folder, 0 if there is none, and whether any of them
// holds something.
func sessions(dir string) (largest int, held bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, false, err
	}
	for _, e := range entries {
		var n int
		if fmt.Sscanf(e.Name(), "events.out.tfevents.%d.landing", &n); e.Name() != eventsFile(n) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return 0, false, err
		}
		largest, held = max(largest, n), held || info.Size() > 0
	}
	return largest, held, nil
}

func (b *Board) create(name string) (*os.File, error) {
	if b.own {
		return b.r.Folder.NewFile(path.Join(run.EventsDir, name))
	}
	if err := os.MkdirAll(b.Dir, 0o777); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(b.Dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
}

// Close ends the board's file. Its errors are told as others are.
func (b *Board) Close() {
	if b.file == nil {
		return
	}
	if err := b.file.Close(); err != nil && b.err == nil {
		b.err = err
		b.fault(err)
	}
}
