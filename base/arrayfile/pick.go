package arrayfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/internal/fault"
)

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
