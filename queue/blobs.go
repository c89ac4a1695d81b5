package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/landing-diffusion/landing/run"
)

// A File is a file of an input or a result: a name with / between folders, and its content.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Files is a place where files are kept by their SHA-256, each once. What is there is not written over.
type Files interface {
	// Put stores what r holds, which has the SHA-256 and the size that are given: a *DamagedError where it has another.
	Put(ctx context.Context, sum string, size int64, r io.ReaderAt) error
	// Get writes what is stored to w. Errors are *MissingError and *DamagedError, which is told at the end: what
	// was written is no use then.
	Get(ctx context.Context, sum string, w io.Writer) error
}

// partSize is that of the parts in which a file is stored on the server: what is sent again when a connection breaks,
// and what the client holds in memory.
const partSize = 4 << 20

// partTime is how long one try to send or get a part may take: 0.6 Mbit/s.
const partTime = time.Minute

// maxFile bounds files in bytes.
const maxFile = 1 << 40

// objects are files on the server: one object for each part, named by the file's SHA-256, and one object without
// content, written last, that says how many there are.
type objects struct{ q *Queue }

const (
	partsKey = "parts"
	sizeKey  = "size"
)

func partName(sum string, i int) string { return sum + "." + strconv.Itoa(i) }

func (o objects) Put(ctx context.Context, sum string, size int64, r io.ReaderAt) error {
	if size > maxFile {
		return &SizeError{"the file of SHA-256 " + sum, size, maxFile}
	}
	if _, _, err := o.head(ctx, sum); err == nil || !errors.As(err, new(*MissingError)) {
		return err
	}
	parts, whole := int((size+partSize-1)/partSize), sha256.New()
	buffer := make([]byte, min(partSize, size))
	for i := range parts {
		at := int64(i) * partSize
		part := buffer[:min(partSize, size-at)]
		if _, err := io.ReadFull(io.NewSectionReader(r, at, int64(len(part))), part); err != nil {
			return err
		}
		whole.Write(part)
		h := sha256.New()
		h.Write(part)
		digest := jetstream.GetObjectDigestValue(h)
		err := o.q.retryFor(ctx, partTime, func(ctx context.Context) error {
			info, err := o.q.objects.GetInfo(ctx, partName(sum, i))
			if err == nil && info.Size == uint64(len(part)) && info.Digest == digest { // of an earlier try
				return nil
			}
			if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
				return err
			}
			_, err = o.q.objects.Put(ctx, jetstream.ObjectMeta{Name: partName(sum, i)}, bytes.NewReader(part))
			return err
		})
		if err != nil {
			return err
		}
	}
	if got := hex.EncodeToString(whole.Sum(nil)); got != sum { // without the last object it is not there
		return changed(sum, got)
	}
	return o.q.retry(ctx, func(ctx context.Context) error {
		_, err := o.q.objects.Put(ctx, jetstream.ObjectMeta{Name: sum, Metadata: map[string]string{
			partsKey: strconv.Itoa(parts), sizeKey: strconv.FormatInt(size, 10)}}, bytes.NewReader(nil))
		return err
	})
}

// changed says that a file is another one than it was when its SHA-256 was taken.
func changed(sum, got string) error {
	return &DamagedError{"what was handed over", sum, "it changed meanwhile: it has " + got}
}

// head returns how many parts a file has, and its size.
func (o objects) head(ctx context.Context, sum string) (parts int, size int64, err error) {
	var info *jetstream.ObjectInfo
	err = o.q.retry(ctx, func(ctx context.Context) (err error) {
		info, err = o.q.objects.GetInfo(ctx, sum)
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return 0, 0, &MissingError{o.where(), sum}
	case err != nil:
		return 0, 0, err
	}
	parts, err = strconv.Atoi(info.Metadata[partsKey])
	if err == nil {
		size, err = strconv.ParseInt(info.Metadata[sizeKey], 10, 64)
	}
	if err != nil || parts < 0 || size < 0 || size > maxFile || int64(parts) != (size+partSize-1)/partSize {
		return 0, 0, &DamagedError{o.where(), sum, "it is not said of how many parts it is"}
	}
	return parts, size, nil
}

func (o objects) where() string { return "the queue's store" }

func (o objects) Get(ctx context.Context, sum string, w io.Writer) error {
	parts, size, err := o.head(ctx, sum)
	if err != nil {
		return err
	}
	h := sha256.New()
	w = io.MultiWriter(w, h)
	var part bytes.Buffer
	for i := range parts {
		n := min(partSize, size-int64(i)*partSize)
		err := o.q.retryFor(ctx, partTime, func(ctx context.Context) error {
			part.Reset()
			r, err := o.q.objects.Get(ctx, partName(sum, i))
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(&part, io.LimitReader(r, n+1))
			return err
		})
		switch {
		case errors.Is(err, jetstream.ErrObjectNotFound), errors.Is(err, jetstream.ErrDigestMismatch):
			return &DamagedError{o.where(), sum, fmt.Sprintf("part %d: %v", i+1, err)}
		case err != nil:
			return err
		case int64(part.Len()) != n:
			return &DamagedError{o.where(), sum, fmt.Sprintf("part %d has %d bytes; expected %d", i+1, part.Len(), n)}
		}
		if _, err := w.Write(part.Bytes()); err != nil {
			return err
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return &DamagedError{o.where(), sum, "what is there has " + got}
	}
	return nil
}

// drop removes a file.
func (o objects) drop(ctx context.Context, sum string) error {
	parts, _, err := o.head(ctx, sum)
	if errors.As(err, new(*MissingError)) {
		return nil
	}
	if err != nil && !errors.As(err, new(*DamagedError)) {
		return err
	}
	names := []string{sum}
	for i := range parts {
		names = append(names, partName(sum, i))
	}
	for _, name := range names { // the head first: without it the file is not there
		err := o.q.retry(ctx, func(ctx context.Context) error { return o.q.objects.Delete(ctx, name) })
		if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return err
		}
	}
	return nil
}

// A shared folder holds files for machines that all see it.
type shared struct{ dir string }

func (s shared) path(sum string) string { return filepath.Join(s.dir, "objects", sum[:2], sum) }

func (s shared) Put(ctx context.Context, sum string, size int64, r io.ReaderAt) error {
	path := s.path(sum)
	if check(path, sum) == nil {
		return nil
	}
	if err := writeWhole(path, sum, io.NewSectionReader(r, 0, size)); err != nil {
		return err
	}
	return ctx.Err()
}

func (s shared) Get(ctx context.Context, sum string, w io.Writer) error {
	f, err := os.Open(s.path(sum))
	if errors.Is(err, fs.ErrNotExist) {
		return &MissingError{s.dir, sum}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, h), f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return &DamagedError{s.dir, sum, "what is there has " + got}
	}
	return ctx.Err()
}

func (s shared) drop(_ context.Context, sum string) error {
	err := os.Remove(s.path(sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// store returns where the files of a submission are: on the server, or in a shared folder.
func (q *Queue) store(folder string) (Files, error) {
	if folder == "" {
		return objects{q}, nil
	}
	if _, err := os.Stat(filepath.Join(folder, sharedMark)); err != nil {
		return nil, &FolderError{folder, "is not the shared folder that the submission names: this machine does not " +
			"see it, or sees another"}
	}
	return shared{folder}, nil
}

// sharedMark is a file by which a shared folder is known.
const sharedMark = "landing-shared"

// share makes a folder a shared one.
func share(dir string) error {
	if !filepath.IsAbs(dir) {
		return &FolderError{dir, "expected an absolute path, which means the same on all machines"}
	}
	mark := filepath.Join(dir, sharedMark)
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	err := run.WriteFile(mark, []byte("files of landing by SHA-256\n"), false)
	if errors.As(err, new(*run.ExistsError)) { // another submission was first
		return nil
	}
	return err
}

// writeWhole writes a file whole or not at all: a *DamagedError where it does not have the SHA-256.
func writeWhole(path, sum string, r io.Reader) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails harmlessly after the rename
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(tmp, h), r)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return changed(sum, got)
	}
	return os.Rename(tmp.Name(), path)
}

// PutFile stores a file of the disk and returns it under the given name.
func PutFile(ctx context.Context, to Files, name, path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return File{}, err
	}
	out := File{name, hex.EncodeToString(h.Sum(nil)), size}
	return out, to.Put(ctx, out.SHA256, size, f)
}

// A ticking place tells that files come and go: large ones take long.
type ticking struct {
	Files
	step func()
}

func (t ticking) Put(ctx context.Context, sum string, size int64, r io.ReaderAt) error {
	return t.Files.Put(ctx, sum, size, tickingReader{r, t.step})
}

func (t ticking) Get(ctx context.Context, sum string, w io.Writer) error {
	return t.Files.Get(ctx, sum, tickingWriter{w, t.step})
}

type tickingReader struct {
	io.ReaderAt
	step func()
}

func (r tickingReader) ReadAt(b []byte, at int64) (int, error) {
	r.step()
	return r.ReaderAt.ReadAt(b, at)
}

type tickingWriter struct {
	io.Writer
	step func()
}

func (w tickingWriter) Write(b []byte) (int, error) {
	w.step()
	return w.Writer.Write(b)
}

// GetFile fetches a file to a path, whole or not at all, over what is there. Errors are those of Files.Get, and a
// *DamagedError of one of another size than is said.
func GetFile(ctx context.Context, from Files, file File, path string) error {
	if !validSum(file.SHA256) {
		return &DamagedError{"the queue", file.SHA256, "it is no SHA-256"}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if err = from.Get(ctx, file.SHA256, tmp); err == nil {
		var info fs.FileInfo
		if info, err = tmp.Stat(); err == nil && file.Size != anySize && info.Size() != file.Size {
			err = &DamagedError{"the queue", file.SHA256, fmt.Sprintf("it has %d bytes; expected %d", info.Size(),
				file.Size)}
		}
	}
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// anySize is the Size of a File of which the SHA-256 alone is known.
const anySize = -1

// validSum reports whether text is a SHA-256.
func validSum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// A cache keeps files of inputs on a worker's disk, by content.
type cache struct {
	dir     string
	checked map[string]bool // by this process
}

// keepInputs is how long an input that nobody used stays in a cache.
const keepInputs = 7 * 24 * time.Hour

func (c *cache) path(sum string) string { return filepath.Join(c.dir, sum[:2], sum) }

// get returns the path of a file of the given content, fetched if it is not there or damaged.
func (c *cache) get(ctx context.Context, from Files, sum string) (string, error) {
	if !validSum(sum) {
		return "", &DamagedError{"the unit", sum, "it is no SHA-256"}
	}
	path := c.path(sum)
	if c.checked[sum] {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	if err := check(path, sum); err != nil {
		os.Remove(path) // damaged, or not there
		if err := GetFile(ctx, from, File{SHA256: sum, Size: anySize}, path); err != nil {
			return "", err
		}
	}
	now := time.Now()
	os.Chtimes(path, now, now) // that it was used; a cache that cannot tell is tidied too early
	c.checked[sum] = true
	return path, nil
}

// check reads a file and returns an error unless it has the content.
func check(path, sum string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != sum {
		return &DamagedError{path, sum, "it has other content"}
	}
	return nil
}

// tidy removes files that nobody used for long.
func (c *cache) tidy() {
	old := time.Now().Add(-keepInputs)
	filepath.WalkDir(c.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(old) {
			os.Remove(path)
		}
		return nil
	})
}
