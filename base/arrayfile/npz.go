package arrayfile

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/internal/fault"
)

// An NPZ is an open archive: a zip file, its entries stored or deflated, with an NPY
// file in each. Nothing is inflated but the arrays that are read.
type NPZ struct {
	names   []string // in the archive's order, without ".npy"
	entries map[string]*zip.File
	file    *os.File // to close; nil if there is none
}

// OpenNPZ opens the named archive. Close closes it.
func OpenNPZ(path string) (*NPZ, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	var z *NPZ
	info, err := f.Stat()
	if err == nil {
		z, err = NewNPZ(f, info.Size())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	z.file = f
	return z, nil
}

// NewNPZ opens an archive of the given size.
func NewNPZ(r io.ReaderAt, size int64) (*NPZ, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("expected an NPZ file, a zip archive of arrays: %w", err)
	}
	// Entries that share their bytes are the means by which a small archive
	// becomes a huge one. Without them, deflate expands at most 1032-fold.
	left := uint64(size)
	for _, f := range z.File {
		if f.CompressedSize64 > left {
			return nil, fmt.Errorf("entries claim more bytes than the %d of the file: it is truncated or its entries "+
				"overlap", size)
		}
		left -= f.CompressedSize64
	}
	npz := &NPZ{entries: map[string]*zip.File{}}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("entry %s is not an array, expected a name that ends in .npy", excerpt(f.Name))
		}
		if npz.entries[name] != nil {
			return nil, fmt.Errorf("entry %s is there twice", excerpt(f.Name))
		}
		npz.names, npz.entries[name] = append(npz.names, name), f
	}
	return npz, nil
}

// Close closes the file of OpenNPZ.
func (z *NPZ) Close() error {
	if z.file == nil {
		return nil
	}
	return z.file.Close()
}

// Names returns the names of the arrays, without ".npy", in the archive's order.
func (z *NPZ) Names() []string { return slices.Clone(z.names) }

// Read reads an array of at most `most` elements. If the header promises more, Read returns an error before it inflates
// any.
func (z *NPZ) Read(name string, most int) (Array, error) {
	a, err := z.read(name, most)
	if err != nil {
		err = fmt.Errorf("entry %s: %w", excerpt(name+".npy"), err)
		if z.file != nil {
			err = fmt.Errorf("%s: %w", z.file.Name(), err)
		}
		return Array{}, err
	}
	return a, nil
}

func (z *NPZ) read(name string, most int) (Array, error) {
	f := z.entries[name]
	if f == nil {
		return Array{}, errors.New("there is none")
	}
	r, err := f.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return Array{}, fmt.Errorf("compression method %d, expected 0 (stored) or 8 (deflated)", f.Method)
	}
	if err != nil {
		return Array{}, err
	}
	defer r.Close()
	a, err := decodeNPY(r, most)
	if err != nil {
		return Array{}, err
	}
	// The end is also where the checksum is compared.
	return a, expectEnd(r)
}

// Pick reads an array of at most `most` elements from an open NPY or NPZ file; messages use the file's path. From an
// NPZ file Pick takes the array called name. If name is empty, it takes the only array, or the only array with a usual
// name. Pick also returns the array's name (NPZ files only), and the SHA-256 of the whole file in hexadecimal.
func Pick(f *os.File, most int, name string, usual ...string) (a Array, called, digest string, err error) {
	a, called, err = pick(f, most, name, usual)
	sum := sha256.New()
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(sum, f)
	}
	if err != nil {
		return Array{}, "", "", fault.Errorf(fault.Data, f.Name(), "%w", err)
	}
	return a, called, hex.EncodeToString(sum.Sum(nil)), nil
}

func pick(f *os.File, most int, name string, usual []string) (a Array, called string, err error) {
	if strings.ToLower(filepath.Ext(f.Name())) != ".npz" {
		if a, err = decodeNPY(f, most); err == nil {
			err = expectEnd(f)
		}
		return a, "", err
	}
	info, err := f.Stat()
	if err != nil {
		return a, "", err
	}
	z, err := NewNPZ(f, info.Size())
	if err != nil {
		return a, "", err
	}
	var fit []string
	for _, s := range z.names {
		if s == name || name == "" && (len(z.names) == 1 || slices.Contains(usual, s)) {
			fit = append(fit, s)
		}
	}
	if len(fit) != 1 {
		want := fmt.Sprintf("one called %q", name)
		if name == "" {
			want = "one alone, or one of them called one of " + strings.Join(usual, ", ")
		}
		return a, "", fmt.Errorf("it holds the arrays %s, expected %s", excerpts(z.names), want)
	}
	a, err = z.Read(fit[0], most)
	return a, fit[0], err
}

// excerpts lists names, but not too many of them.
func excerpts(names []string) string {
	const most = 200
	list := strings.Join(names, ", ")
	if len(list) > most {
		list = list[:most] + "…"
	}
	return list
}
