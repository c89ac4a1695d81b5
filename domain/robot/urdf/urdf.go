// Package urdf reads a serial arm from URDF, the XML that ROS describes robots in: the chain of revolute, continuous,
// prismatic and fixed joints between two links, with their limits, and, if asked for, its volume as spheres.
//
// What does not bear on where links are is passed over: inertial and visual elements, meshes, materials, transmissions,
// simulators' elements. It is not for xacro macros (expand them first), nor for what hangs off the chain.
package urdf

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
)

// Options say which chain to read. The zero value takes the root of the tree and its only leaf, and no volume.
type Options struct {
	Base string // "": the root
	Tip  string // "": the only leaf below the base

	// Longest takes, where Base or Tip is not given, the chain of most free joints: below joints that are floating or
	// planar, and up to the hand rather than to a finger.
	Longest bool

	// Volume asks for the collision shapes of the chain, and of what is fixed to it, as spheres. A sphere stays one.
	// Capsules, cylinders and boxes are covered by spheres that stand out by at most Excess metres, 0: 0.02; at the
	// flat ends of a cylinder by up to its radius. Meshes are left out, and a note says so.
	Volume bool
	Excess float64

	// Cover, above 0, asks for the volume as at most Cover spheres a link, meshes included.
	Cover int
}

// The sizes that a file may have.
const (
	MostBytes   = 16 << 20
	MostLinks   = 4096 // and as many joints
	MostSpheres = 4096
)

// Read reads the arm of a file, and notes, in words, on what was left out (Arm.Notes too). The error is
// an *fs.PathError, or one of kind fault.Config with a file and a line.
func Read(path string, o Options) (*robot.Arm, []string, error) {
	d, arm, err := decodeFile(path, o)
	if err != nil {
		return nil, nil, err
	}
	return arm, d.notes, nil
}

// Covered reads the arm of a file with at most o.Cover spheres for each link, and says how they cover it.
func Covered(path string, o Options) (*robot.Arm, []Cover, error) {
	d, arm, err := decodeFile(path, o)
	if err != nil {
		return nil, nil, err
	}
	return arm, d.covers, nil
}

func decodeFile(path string, o Options) (*document, *robot.Arm, error) {
	data, err := input.Read(path, MostBytes)
	if err != nil {
		return nil, nil, err
	}
	return decode(data, path, o)
}

func decode(data []byte, name string, o Options) (*document, *robot.Arm, error) {
	if o.Excess == 0 {
		o.Excess = 0.02
	}
	if !(o.Excess > 0) || o.Excess > most {
		return nil, nil, wrong(name, 0, "", "covers that stand out by %v m; expected a number above 0", o.Excess)
	}
	o.Volume = o.Volume || o.Cover > 0
	p := &parser{file: name, volume: o.Volume}
	d, err := p.parse(bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	if d.name == "" {
		d.name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	arm, err := d.arm(o)
	if err != nil {
		return nil, nil, err
	}
	arm.Notes = d.notes
	return d, arm, nil
}

// wrong is an error about an element of a file, such as joint "elbow" <axis>, on a line; either may be missing.
func wrong(file string, line int, element, format string, v ...any) error {
	s := file
	if line > 0 {
		s = fmt.Sprintf("%s:%d", s, line)
	}
	if element != "" {
		s += ": " + element
	}
	return fault.At(fault.Config, file, line, s+": "+fmt.Sprintf(format, v...))
}
