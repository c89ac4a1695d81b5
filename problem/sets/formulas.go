package sets

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/urdf"
	"github.com/landing-diffusion/landing/internal/input"
)

// Formulas is a set of formulas; package formula says what they are.
type Formulas struct {
	Dim        int                 `yaml:"dim,omitempty" default:"all {names}" bounds:"[1,1000000]" doc:"coordinates"`
	Names      []string            `yaml:"names,omitempty" doc:"names of coordinates in formulas, figures and files"`
	Let        formula.Definitions `yaml:"let,omitempty" doc:"names for formulas, lists and files of numbers, in order"`
	Equality   []formula.Component `yaml:"equality,omitempty" doc:"constraints left = right"`
	Inequality []formula.Component `yaml:"inequality,omitempty" doc:"constraints left <= right"`
	URDF       File                `yaml:"urdf,omitempty" doc:"a robot's file, for fk(link) and fk_rotation(link)"`
	Base       string              `yaml:"base,omitempty" doc:"first link of {urdf}; its root unless given"`
	Tip        string              `yaml:"tip,omitempty" doc:"last link of {urdf}; the only leaf unless given"`
}

// read returns the keys with what they are read from: the names of a robot's joints, and definitions in Go.
func (k Formulas) read() (Formulas, error) {
	var own formula.Definitions
	if k.URDF != "" {
		arm, _, err := urdf.Read(string(k.URDF), urdf.Options{Base: k.Base, Tip: k.Tip})
		if err != nil {
			return k, &Error{Key: "urdf", Fault: err.Error()}
		}
		own = links(arm)
		if k.Dim == 0 && k.Names == nil {
			for _, j := range arm.Joints {
				if j.Free() {
					k.Names = append(k.Names, variable(j.Name))
				}
			}
		}
	}
	if k.Dim == 0 {
		if k.Dim = len(k.Names); k.Dim == 0 {
			return k, Bad("dim", nil, "a number in [1, 1000000], or names of the coordinates in {names}")
		}
	}
	if k.Names != nil && len(k.Names) != k.Dim {
		return k, Bad("names", k.Names, fmt.Sprintf("%d names, one for each coordinate ({dim})", k.Dim))
	}
	for j, name := range k.Names {
		own = append(own, formula.Definition{Name: name,
			Make: func(s *expr.Scope) error { return s.Coordinate(name, j) }})
	}
	k.Let = append(own, read(k.Let)...)
	return k, nil
}

// read returns definitions that read their files.
func read(let formula.Definitions) formula.Definitions {
	let = slices.Clone(let)
	for i, d := range let {
		if d.File != "" {
			let[i].Make = func(s *expr.Scope) error {
				x, shape, err := constants(d.File)
				if err != nil {
					return err
				}
				return s.Define(d.Name, s.Graph().Array(x, shape...))
			}
		}
	}
	return let
}

// maxConstants bounds a file of constants, in bytes.
const maxConstants = 16 << 20

// constants reads a vector or matrix of at most expr.MaxElements finite numbers: an array of an NPY file in its shape,
// or a table of comma-separated numbers, of one column as a vector.
func constants(path string) (x []float64, shape []int, err error) {
	f, err := input.Open(path, maxConstants)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npy":
		a, _, _, err := arrayfile.Pick(f, expr.MaxElements, "")
		if err != nil {
			return nil, nil, err
		}
		if n := len(a.Shape); n < 1 || n > 2 || a.Truth || a.Len() == 0 {
			return nil, nil, fmt.Errorf("%s: an array of shape %d; expected a vector or matrix of numbers", path,
				a.Shape)
		}
		x = a.AsFloat64()
		for i, v := range x {
			if c := a.Len() / a.Shape[0]; math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, nil, fmt.Errorf("%s: row %d, column %d (both from 0) is %v; expected a finite number", path,
					i/c, i%c, v)
			}
		}
		return x, a.Shape, nil
	case ".csv", ".txt":
		p, err := dataset.ReadPoints(path)
		if err != nil {
			return nil, nil, err
		}
		if len(p.X) > expr.MaxElements {
			return nil, nil, fmt.Errorf("%s: %d numbers; at most %d are allowed", path, len(p.X), expr.MaxElements)
		}
		if shape = []int{p.N, p.D}; p.D == 1 {
			shape = shape[:1]
		}
		return p.X, shape, nil
	}
	return nil, nil, fmt.Errorf("%s: expected a file of numbers, .npy, .csv or .txt", path)
}

// unusual are signs of joints' names that names in formulas do not have.
var unusual = regexp.MustCompile(`[^\pL\pN]`)

func variable(joint string) string { return unusual.ReplaceAllString(joint, "_") }

// links are fk(link), the origin of a link in the frame of the base, and fk_rotation(link), its rotation, by the values
// q of the joints, which formulas know by the joints' names: with O_j, o_j the place of joint j in the frame before,
//
//	p_j = p_{j−1} + R_{j−1} (o_j + q_j O_j a_j of a sliding joint)    R_j = R_{j−1} O_j Z_j
//	Z_j = cos q_j (I − a aᵀ) + a aᵀ + sin q_j [a]× of a turning joint about the axis a
func links(arm *robot.Arm) formula.Definitions {
	place := func(s *expr.Scope, link string) (p, r expr.Value, err error) {
		last, err := arm.Link(link)
		if err != nil {
			return p, r, err
		}
		g := s.Graph()
		p, r = g.Array(make([]float64, 3)), g.Identity(3)
		for _, j := range arm.Joints[:last+1] {
			p = p.Add(r.Mul(g.Array(j.Origin.P[:])))
			r = r.Mul(g.Array(j.Origin.R[:], 3, 3))
			if j.Kind == robot.Fixed {
				continue
			}
			name := j.Name
			if j.Follow != nil {
				name = arm.Joints[j.Follow.Of].Name
			}
			q, ok := s.Named(variable(name))
			if !ok || !q.IsScalar() {
				return p, r, fmt.Errorf("the joint %q has no value; expected a coordinate or definition %s", name,
					variable(name))
			}
			if f := j.Follow; f != nil {
				q = q.Mul(g.Const(f.Multiplier)).Add(g.Const(f.Offset))
			}
			a := j.Axis
			if j.Kind == robot.Prismatic {
				p = p.Add(r.Mul(q.Mul(g.Array(a[:]))))
				continue
			}
			aa := g.Array(a[:], 3, 1).Mul(g.Array(a[:], 1, 3))
			cross := g.Array([]float64{0, -a[2], a[1], a[2], 0, -a[0], -a[1], a[0], 0}, 3, 3)
			r = r.Mul(expr.Cos(q).Mul(g.Identity(3).Sub(aa)).Add(aa).Add(expr.Sin(q).Mul(cross)))
		}
		return p, r, nil
	}
	words := func(name string, of func(p, r expr.Value) expr.Value) formula.Definition {
		return formula.Definition{Name: name, Make: func(s *expr.Scope) error {
			return s.Words(name, func(s *expr.Scope, link string) (expr.Value, error) {
				p, r, err := place(s, link)
				return of(p, r), err
			})
		}}
	}
	return formula.Definitions{words("fk", func(p, _ expr.Value) expr.Value { return p }),
		words("fk_rotation", func(_, r expr.Value) expr.Value { return r })}
}
