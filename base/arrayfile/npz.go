package arrayfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
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

// DecodeNPZ reads all arrays of an NPZ archive of the given size, by name.
func DecodeNPZ(r io.ReaderAt, size int64) (map[string]Array, error) {
	z, err := NewNPZ(r, size)
	if err != nil {
		return nil, err
	}
	return z.all()
}

func (z *NPZ) all() (map[string]Array, error) {
	arrays := make(map[string]Array)
	for _, name := range z.names {
		a, err := z.Read(name, math.MaxInt)
		if err != nil {
			return nil, err
		}
		arrays[name] = a
	}
	return arrays, nil
}
