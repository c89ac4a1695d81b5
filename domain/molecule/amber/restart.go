package amber

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/internal/input"
)

// ReadCoordinates reads the positions of atoms from an inpcrd or restart file in text: a
// title, the number of atoms, six numbers of twelve characters a line. Velocities and
// box after them are not read. The error is of kind fault.Data or an *fs.PathError.
func ReadCoordinates(path string, atoms int) ([]float64, error) {
	data, err := input.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	return DecodeCoordinates(path, data, atoms)
}

// DecodeCoordinates is ReadCoordinates of the bytes of a file; path is for messages.
func DecodeCoordinates(path string, data []byte, atoms int) ([]float64, error) {
	fail := func(line int, format string, v ...any) ([]float64, error) {
		return nil, faulty(path, "", line, format, v...)
	}
	for _, magic := range []string{"CDF", "\x89HDF"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return fail(0, "a NetCDF file; expected text (cpptraj: trajout FILE.rst7 restart; tleap: saveamberparm "+
				"writes text)")
		}
	}
	if bytes.HasPrefix(data, []byte("%")) {
		return fail(1, "a prmtop file; expected coordinates (inpcrd or rst7)")
	}
	lines := strings.Split(string(data), "\n")
	if len(lines) < 2 {
		return fail(1, "the file ends here; expected a title and the number of atoms")
	}
	head := strings.Fields(lines[1])
	if len(head) == 0 {
		return fail(2, "empty; expected the number of atoms")
	}
	if n, err := strconv.Atoi(head[0]); err != nil || n < 1 {
		return fail(2, "%q; expected the number of atoms", clip([]byte(lines[1])))
	} else if n != atoms {
		return fail(2, "%d atoms; expected %d, as the parameters are of", n, atoms)
	}
	x := make([]float64, 0, 3*atoms)
	for k := 2; len(x) < 3*atoms; k++ {
		if k >= len(lines) || k == len(lines)-1 && strings.TrimSpace(lines[k]) == "" {
			return fail(k+1, "the file ends here, within atom %d of %d: it is truncated", len(x)/3, atoms)
		}
		row := section{per: 6, width: 12}
		row.cut(strings.TrimRight(lines[k], " \r"), k)
		if got, want := len(row.fields), min(row.per, 3*atoms-len(x)); got != want {
			return fail(k+1, "%d fields of %d characters, at atom %d of %d; expected %d", got, row.width, len(x)/3,
				atoms,
				want)
		}
		for _, f := range row.fields {
			v, err := real64(f.text)
			if err != nil {
				return fail(k+1, "coordinate %d of atom %d is %q; expected a finite number", len(x)%3, len(x)/3, f.text)
			}
			x = append(x, v)
		}
	}
	return x, nil
}
