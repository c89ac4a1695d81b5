package arrayfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ReadNPZ reads all arrays of the named NPZ file, by name (without ".npy").
func ReadNPZ(path string) (map[string]Array, error) {
	var arrays map[string]Array
	err := withFile(path, func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		arrays, err = DecodeNPZ(f, info.Size())
		return err
	})
	return arrays, err
}

// DecodeNPZ reads all arrays of an NPZ archive of the given size: a zip file,
// its entries stored or deflated, with an NPY file in each. It returns them by
// name, without ".npy".
func DecodeNPZ(r io.ReaderAt, size int64) (map[string]Array, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("expected an NPZ file, a zip archive of arrays: %w", err)
	}
	// Entries that share their bytes are the means by which a small archive
	// becomes a huge one. Without them, deflate expands at most 1032-fold.
	left := uint64(size)
	for _, f := range z.File {
		if f.CompressedSize64 > left {
			return nil, fmt.Errorf("entries claim more bytes than the %d of the file: it is truncated or its entries overlap", size)
		}
		left -= f.CompressedSize64
	}

	arrays := make(map[string]Array)
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("entry %s is not an array, expected a name that ends in .npy", excerpt(f.Name))
		}
		if _, ok := arrays[name]; ok {
			return nil, fmt.Errorf("entry %s is there twice", excerpt(f.Name))
		}
		a, err := decodeEntry(f)
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", excerpt(f.Name), err)
		}
		arrays[name] = a
	}
	return arrays, nil
}

func decodeEntry(f *zip.File) (Array, error) {
	r, err := f.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return Array{}, fmt.Errorf("compression method %d, expected 0 (stored) or 8 (deflated)", f.Method)
	}
	if err != nil {
		return Array{}, err
	}
	defer r.Close()
	a, err := DecodeNPY(r)
	if err != nil {
		return Array{}, err
	}
	// The end is also where the checksum is compared.
	return a, expectEnd(r)
}
