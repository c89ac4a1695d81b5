package arrayfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/landing-diffusion/landing/internal/input"
)

// readBytes reads n bytes, of what, without trusting n.
func readBytes(r io.Reader, what string, n int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(b) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, readError(what+" ends", len(b), n, err)
	}
	return b, nil
}

// readError describes a failure to read after got of want bytes.
func readError(what string, got, want int, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrTruncated
	}
	return fmt.Errorf("%s after %d of %d bytes: %w", what, got, want, err)
}

// expectEnd returns an error unless r is at its end.
func expectEnd(r io.Reader) error {
	var b [1]byte
	switch _, err := io.ReadFull(r, b[:]); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("more bytes follow the data, expected the end of the file")
	default:
		return err
	}
}

// maxFile bounds the files that are read by name: no array in this project comes near.
const maxFile = 64 << 30

func open(path string) (*os.File, error) { return input.Open(path, maxFile) }

// withFile calls decode on the named file and puts its name before an error.
func withFile(path string, decode func(f *os.File) error) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := decode(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// excerpt quotes s, cut to a length that suits a message.
func excerpt(s string) string {
	const limit = 40
	if len(s) > limit {
		return strconv.Quote(s[:limit]) + "…"
	}
	return strconv.Quote(s)
}
